package conf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"legwork/internal/nearest"
	"legwork/tools"
)

// importServers adds the servers of the files in import_servers. A server of the
// config file wins over an imported one of the same name, and an earlier file wins
// over a later one.
func (d *decoder) importServers(c *Config, folder string) {
	sources := map[string]importedServer{} // by their names here
	for i, path := range c.ImportServers {
		key := fmt.Sprintf("import_servers[%d]", i)
		if d.failed[key] {
			continue
		}
		full := beside(folder, d.home(path))
		c.imported = append(c.imported, full)
		f, err := readImport(full, d.expander.env)
		if err != nil {
			d.imported = append(d.imported, Error{File: full, Problem: fmt.Sprintf("%v; it is named by %s at %s:%d:%d", err, key, d.file, d.places[key].line, d.places[key].column)})
			continue
		}
		c.imported = append(c.imported, f.envFiles...)
		d.imported = append(d.imported, f.errors...)
		c.warnings = append(c.warnings, f.warnings...)
		d.secrets = append(d.secrets, f.secrets...)
		for _, s := range f.servers {
			d.importServer(c, s, sources)
		}
	}
	c.warnings = c.warnings.sorted()
}

// importServer adds one server under a name that fits.
func (d *decoder) importServer(c *Config, s importedServer, sources map[string]importedServer) {
	name := fitName(s.name)
	warn := func(format string, values ...any) {
		e := s.at
		e.Problem = fmt.Sprintf(format, values...)
		c.warnings = append(c.warnings, e)
	}
	if known := nameOf(s.name, sources); known != "" {
		name = known
	} else if _, taken := sources[name]; taken {
		name = numbered(name, func(n string) bool { _, taken := c.Tools.Servers[n]; return taken })
	}
	before, imported := sources[name]
	_, taken := c.Tools.Servers[name]
	switch {
	case name == "":
		e := s.at
		e.Problem = "has a name without letters and digits; rename it"
		d.imported = append(d.imported, e)
		return
	case strings.EqualFold(name, "legwork"):
		warn("is skipped: legwork uses this name itself")
		return
	case imported && reflect.DeepEqual(before.config, s.config):
		return
	case imported:
		warn("is skipped: another server of this name in %s comes first", before.at.File)
		return
	case taken:
		warn("is skipped: %s has a server of this name", d.file)
		return
	case name != s.name:
		warn("is called %q here", name)
	}
	if c.Tools.Servers == nil {
		c.Tools.Servers = map[string]tools.ServerConfig{}
	}
	c.Tools.Servers[name], sources[name] = s.config, s
	d.places["servers."+name] = placeOf(s.at)
	for key, at := range s.places {
		d.places["servers."+name+"."+key] = placeOf(at)
	}
	d.failed["servers."+name] = d.failed["servers."+name] || s.failed
}

// nameOf is the name that an imported server has here; empty when there is none.
func nameOf(original string, sources map[string]importedServer) string {
	for name, s := range sources {
		if s.name == original {
			return name
		}
	}
	return ""
}

func placeOf(e Error) place { return place{e.Line, e.Column, e.File, e.Key} }

// home replaces a ~ at the start of a path.
func (d *decoder) home(path string) string {
	rest, found := strings.CutPrefix(path, "~/")
	if home, ok := d.expander.env("HOME"); found && ok {
		return filepath.Join(home, rest)
	}
	return path
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// maxName is the longest name of a server.
const maxName = 32

// fitName turns a name of another program into a server's name. It is empty when
// nothing is left.
func fitName(name string) string {
	name = strings.Trim(unfit.ReplaceAllString(name, "-"), "-_")
	return strings.TrimRight(name[:min(len(name), maxName)], "-_")
}

// numbered adds the first free number to a name.
func numbered(name string, taken func(string) bool) string {
	for i := 2; ; i++ {
		end := fmt.Sprintf("-%d", i)
		if n := name[:min(len(name), maxName-len(end))] + end; !taken(n) {
			return n
		}
	}
}

// Files lists the files that have mistakes, each once.
func (e Errors) Files() []string {
	var files []string
	for _, one := range e {
		if !slices.Contains(files, one.File) {
			files = append(files, one.File)
		}
	}
	return files
}

// importTypes are the names of server types in other programs.
func importTypes() map[string]string {
	return map[string]string{
		"stdio": "stdio", "local": "stdio", "sse": "sse",
		"http": "http", "streamable-http": "http", "streamable_http": "http", "streamableHttp": "http", "streamableHTTP": "http",
	}
}

// leftOut lists known keys that are skipped, with the setting that replaces them.
func leftOut() map[string]string {
	return map[string]string{
		"autoApprove":   "groups.GROUP.approve says which tools need no approval",
		"alwaysAllow":   "groups.GROUP.approve says which tools need no approval",
		"trust":         "groups.GROUP.approve says which tools need no approval",
		"timeout":       "groups.GROUP.tool_timeout says how long a call may take",
		"description":   "groups.GROUP.description is what the planner chooses by",
		"tools":         "groups.GROUP.tools says which tools are used",
		"includeTools":  "groups.GROUP.tools says which tools are used",
		"excludeTools":  "groups.GROUP.tools says which tools are used",
		"disabledTools": "groups.GROUP.tools says which tools are used",
	}
}

// importEntry is a server that is being read.
type importEntry struct {
	*importFile
	importedServer
	envFile member
}

// server reads one entry. It skips a disabled one.
func (f *importFile) server(m member) {
	e := importEntry{importFile: f, importedServer: importedServer{name: m.name, at: f.errorAt(m.at, m.key, ""), places: map[string]Error{}}}
	before := len(f.errors)
	members := f.members(m.value, m.key)
	if f.disabled(members) {
		return
	}
	for _, key := range members {
		if !isNull(key.value) {
			e.key(key)
		}
	}
	if len(f.errors) == before && e.config.Command == "" && e.config.URL == "" {
		perhaps := ""
		for _, key := range members {
			if near := nearest.Typo(key.name, []string{"command", "url"}); near != "" {
				perhaps = fmt.Sprintf("; %q is perhaps meant to be %s", key.name, near)
			}
		}
		f.fail(m.at, m.key, "has neither command nor url%s", perhaps)
	}
	e.finish()
	e.failed = len(f.errors) > before
	f.servers = append(f.servers, e.importedServer)
}

func (f *importFile) disabled(members []member) bool {
	off := false
	for _, m := range members {
		if m.name == "disabled" {
			off = f.flag(m) || off
		}
		if m.name == "enabled" {
			off = !f.flag(m) || off
		}
	}
	return off
}

// key reads one key of the entry.
func (e *importEntry) key(m member) {
	c := &e.config
	name := m.name // as servers.NAME has it
	switch m.name {
	case "command":
		c.Command = e.phrase(m)
	case "args":
		c.Args = e.texts(m)
	case "env":
		c.Env = e.named(m)
	case "cwd":
		c.Cwd = e.phrase(m)
	case "type", "transport", "transportType":
		name, c.Type = "type", e.kind(m)
	case "url", "serverUrl", "httpUrl":
		if c.URL != "" {
			e.fail(m.at, m.key, "the server has an address under another key already")
		}
		name, c.URL = "url", e.phrase(m)
		if m.name == "httpUrl" && c.Type == "" {
			c.Type = "http"
		}
	case "headers", "http_headers":
		name, c.Headers = "headers", e.named(m)
	case "envFile":
		e.envFile = m
	case "disabled", "enabled", "name", "gallery", "version": // not needed
	default:
		e.unknown(m)
	}
	e.places[name] = e.errorAt(m.at, m.key, "")
}

func (e *importEntry) unknown(m member) {
	if why, known := leftOut()[m.name]; known {
		e.warn(m.at, m.key, "is skipped: %s", why)
		return
	}
	known := []string{"args", "command", "cwd", "disabled", "env", "envFile", "headers", "type", "url"}
	e.warn(m.at, m.key, "unknown key, the nearest known one is %s; it is skipped", nearest.Of(m.name, known))
}

func (e *importEntry) kind(m member) string {
	written := e.written(m)
	kind, known := importTypes()[written]
	if !known && written != "" {
		e.fail(m.at, m.key, "unknown type %s; allowed: stdio, http, streamable-http, sse", shown(written))
	}
	return kind
}

// finish fills in the defaults of other programs.
func (e *importEntry) finish() {
	c := &e.config
	if c.URL != "" && c.Type == "" && strings.HasSuffix(strings.TrimRight(c.URL, "/"), "/sse") {
		c.Type = "sse"
	}
	if c.Command == "" {
		return
	}
	if filepath.Base(c.Command) != c.Command {
		c.Command = beside(e.folder, c.Command)
	}
	c.Cwd = cmp.Or(c.Cwd, e.workspace)
	c.Cwd = beside(e.folder, c.Cwd)
	if e.envFile.value != nil {
		e.readEnvFile()
	}
}

// readEnvFile adds the variables of a file. Those of env win.
func (e *importEntry) readEnvFile() {
	m := e.envFile
	path := e.phrase(m)
	if path == "" {
		return
	}
	path = beside(e.folder, path)
	if !slices.Contains(e.envFiles, path) {
		e.envFiles = append(e.envFiles, path)
	}
	text, err := readBounded(path)
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("is larger than %d bytes", maxEnvFile)
	}
	if err != nil {
		e.fail(m.at, m.key, "%s %v", shown(e.written(m)), err)
		return
	}
	values, wrong := parseEnv(path, string(text))
	if wrong != nil {
		e.errors = append(e.errors, *wrong)
		return
	}
	if e.config.Env == nil {
		e.config.Env = map[string]string{}
	}
	for name, value := range values {
		if _, set := e.config.Env[name]; !set {
			e.config.Env[name] = value
		}
	}
}
