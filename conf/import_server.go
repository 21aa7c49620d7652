package conf

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"legwork/internal/nearest"
)

// importTypes are the names that programs have for a server's type.
func importTypes() map[string]string {
	return map[string]string{
		"stdio": "stdio", "local": "stdio", "sse": "sse",
		"http": "http", "streamable-http": "http", "streamable_http": "http", "streamableHttp": "http", "streamableHTTP": "http",
	}
}

// leftOut says of known keys why they are left out.
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

// server reads one entry. One that is disabled is none.
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
		f.fail(m.at, m.key, "has neither command nor url")
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
			e.fail(m.at, m.key, "the server has an address already, under another key")
		}
		name, c.URL = "url", e.phrase(m)
		if m.name == "httpUrl" && c.Type == "" {
			c.Type = "http"
		}
	case "headers", "http_headers":
		name, c.Headers = "headers", e.named(m)
	case "envFile":
		e.envFile = m
	case "disabled", "enabled", "name", "gallery", "version": // say nothing that matters here
	default:
		e.unknown(m)
	}
	e.places[name] = e.errorAt(m.at, m.key, "")
}

func (e *importEntry) unknown(m member) {
	if why, known := leftOut()[m.name]; known {
		e.warn(m.at, m.key, "is left out: %s", why)
		return
	}
	known := []string{"args", "command", "cwd", "disabled", "env", "envFile", "headers", "type", "url"}
	e.warn(m.at, m.key, "unknown key, the nearest known one is %s; it is left out", nearest.Of(m.name, known))
}

func (e *importEntry) kind(m member) string {
	written := e.written(m)
	kind, known := importTypes()[written]
	if !known && written != "" {
		e.fail(m.at, m.key, "unknown type %s; allowed: stdio, http, streamable-http, sse", shown(written))
	}
	return kind
}

// finish fills in what other programs take for granted.
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
	if c.Cwd == "" {
		c.Cwd = e.workspace
	}
	c.Cwd = beside(e.folder, c.Cwd)
	if e.envFile.value != nil {
		e.readEnvFile()
	}
}

// readEnvFile adds the variables of a file; those of env win.
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
