package conf

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"legwork/tools"
)

// importServers adds the servers of the files that import_servers names.
// Servers of the config file win over imported ones of the same name, and those
// of one file over those of the files after it.
func (d *decoder) importServers(c *Config, folder string) {
	sources := map[string]importedServer{} // by the name that it has here
	for i, path := range c.ImportServers {
		key := fmt.Sprintf("import_servers[%d]", i)
		if d.failed[key] {
			continue
		}
		full := beside(folder, d.home(path))
		c.imported = append(c.imported, full)
		f, err := readImport(full, d.expander.env)
		if err != nil {
			d.imported = append(d.imported, Error{File: full, Problem: fmt.Sprintf("%v; it is named by %s in %s", err, key, d.file)})
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
	c.warnings = c.warnings.byFile()
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
		e.Problem = "has a name without letters and digits; give it another one"
		d.imported = append(d.imported, e)
		return
	case strings.EqualFold(name, "legwork"):
		warn("is left out: this name is legwork's own")
		return
	case imported && reflect.DeepEqual(before.config, s.config):
		return
	case imported:
		warn("is left out: %s has another server of this name, which comes first", before.at.File)
		return
	case taken:
		warn("is left out: %s has a server of this name, which takes its place", d.file)
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

// nameOf is what an imported server is called here; empty when there is none.
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

// maxName is how long the name of a server may be.
const maxName = 32

// fitName makes a server's name of what other programs allow; empty when
// nothing is left of it.
func fitName(name string) string {
	name = strings.Trim(unfit.ReplaceAllString(name, "-"), "-_")
	return strings.TrimRight(name[:min(len(name), maxName)], "-_")
}

// numbered is a name with the first number behind it that is free.
func numbered(name string, taken func(string) bool) string {
	for i := 2; ; i++ {
		end := fmt.Sprintf("-%d", i)
		if n := name[:min(len(name), maxName-len(end))] + end; !taken(n) {
			return n
		}
	}
}

// byFile orders mistakes of several files by file and place.
func (e Errors) byFile() Errors {
	slices.SortStableFunc(e, func(a, b Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(e)
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
