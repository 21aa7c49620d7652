package conf

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"legwork/tools"
)

// importFile is a file of MCP servers of another program: JSON, perhaps with comments.
type importFile struct {
	path      string
	folder    string // of the file, from the root
	workspace string // the value of ${workspaceFolder}
	text      []byte
	env       func(string) (string, bool)
	inputs    map[string]input

	servers  []importedServer
	envFiles []string
	errors   Errors
	warnings Errors
	secrets  []secret
}

// importedServer is one entry of the file.
type importedServer struct {
	name   string // in the file
	config tools.ServerConfig
	at     Error            // its place, without a problem
	places map[string]Error // of its keys, as servers.NAME has them
	failed bool             // has mistakes
}

// maxNotes bounds the mistakes, and the warnings, of one file.
const maxNotes = 100

// readImport reads a file of servers. The error is set when the file cannot be read;
// mistakes in it are in the result.
func readImport(path string, env func(string) (string, bool)) (*importFile, error) {
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	f := &importFile{path: path, folder: folder, workspace: folder, env: env, inputs: map[string]input{}}
	switch filepath.Base(folder) {
	case ".vscode", ".cursor":
		f.workspace = filepath.Dir(folder)
	}
	f.text = bytes.TrimPrefix(text, []byte("\ufeff"))
	f.parse()
	return f, nil
}

var hujsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`)

// maxDepth bounds how deep values may be nested: the parser calls itself.
const maxDepth = 100

func (f *importFile) parse() {
	if at := invalidUTF8(f.text); at >= 0 {
		f.fail(at, "", "is not UTF-8 text from here on")
		return
	}
	if at := tooDeep(f.text); at >= 0 {
		f.fail(at, "", "is nested more than %d deep", maxDepth)
		return
	}
	root, err := hujson.Parse(f.text)
	if err != nil {
		at, problem := 0, err.Error()
		if m := hujsonPlace.FindStringSubmatch(problem); m != nil {
			at, problem = f.offset(m[1], m[2]), m[3]
		}
		f.fail(at, "", "is not valid JSON: %s", problem)
		return
	}
	if !f.sections(&root, "") && len(f.errors) == 0 {
		f.fail(root.StartOffset, "", `has no servers; they belong under "mcpServers", or under "servers" as in VS Code`)
	}
}

// offset converts a place of the parser, which counts lines that end in \n and
// columns in bytes.
func (f *importFile) offset(line, column string) int {
	n, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(column)
	at := 0
	for range n - 1 {
		at += bytes.IndexByte(f.text[at:], '\n') + 1
	}
	return min(max(at+c-1, 0), len(f.text))
}

// tooDeep is the offset where brackets are nested too deep, or -1. Brackets in texts
// and comments count too; no real file has that many open ones.
func tooDeep(text []byte) int {
	depth := 0
	for i, b := range text {
		switch b {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

// sections reads the lists of servers and reports whether there was one.
func (f *importFile) sections(v *hujson.Value, key string) bool {
	found := false
	members := f.members(v, key)
	for _, m := range members {
		if m.name == "inputs" {
			f.readInputs(m)
		}
	}
	for _, m := range members {
		switch {
		case m.name == "mcpServers" || m.name == "servers":
			found = true
			for _, s := range f.members(m.value, m.key) {
				f.server(s)
			}
		case m.name == "mcp" && key == "": // settings of VS Code
			found = f.sections(m.value, m.key) || found
		case m.name != "inputs" && m.name != "$schema":
			f.warn(m.at, m.key, "unknown key; it is skipped")
		}
	}
	return found
}

// member is one key of an object with its value.
type member struct {
	name  string
	key   string // with those around it: mcpServers.github.url
	at    int    // offset for messages
	value *hujson.Value
}

// members lists the keys of an object; anything else is a mistake.
func (f *importFile) members(v *hujson.Value, key string) []member {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		f.fail(v.StartOffset, key, "want keys and values below it, not %s", jsonKind(v))
		return nil
	}
	list := make([]member, 0, len(object.Members))
	seen := map[string]bool{}
	for i := range object.Members {
		m := &object.Members[i]
		name := m.Name.Value.(hujson.Literal).String()
		at := m.Value.StartOffset
		if k := m.Value.Value.Kind(); k == '{' || k == '[' {
			at = m.Name.StartOffset
		}
		if seen[name] {
			f.fail(m.Name.StartOffset, join(key, name), "is set twice")
			continue
		}
		seen[name] = true
		list = append(list, member{name, join(key, name), at, &m.Value})
	}
	return list
}

func (f *importFile) fail(at int, key, format string, values ...any) {
	if len(f.errors) < maxNotes {
		f.errors = append(f.errors, f.errorAt(at, key, fmt.Sprintf(format, values...)))
	}
}

func (f *importFile) warn(at int, key, format string, values ...any) {
	if len(f.warnings) < maxNotes {
		f.warnings = append(f.warnings, f.errorAt(at, key, fmt.Sprintf(format, values...)))
	}
}

func (f *importFile) errorAt(at int, key, problem string) Error {
	e := errorAt(f.path, f.text, at, problem)
	e.Key = key
	return e
}

// jsonKind names the kind of a value.
func jsonKind(v *hujson.Value) string {
	return cmp.Or(map[hujson.Kind]string{
		'{': "keys and values", '[': "a list", '"': "a text", 't': "true or false", 'f': "true or false", 'n': "null",
	}[v.Value.Kind()], "a number")
}

// isNull reports a null, which means the default.
func isNull(v *hujson.Value) bool { return v.Value.Kind() == 'n' }

// written is a value that must be a text.
func (f *importFile) written(m member) string {
	literal, ok := m.value.Value.(hujson.Literal)
	if !ok || literal.Kind() != '"' {
		f.fail(m.at, m.key, "want a text, not %s", jsonKind(m.value))
		return ""
	}
	return literal.String()
}

// phrase is a value that must be a text, with its references replaced.
func (f *importFile) phrase(m member) string { return f.expand(f.written(m), m) }

// texts is a value that must be a list of texts.
func (f *importFile) texts(m member) []string {
	array, ok := m.value.Value.(*hujson.Array)
	if !ok {
		f.fail(m.at, m.key, "want a list of texts, not %s", jsonKind(m.value))
		return nil
	}
	list := make([]string, 0, len(array.Elements))
	for i := range array.Elements {
		e := &array.Elements[i]
		list = append(list, f.phrase(member{key: m.key + "[" + strconv.Itoa(i) + "]", at: e.StartOffset, value: e}))
	}
	return list
}

// named is a value that must be texts by names. Numbers and booleans become texts;
// names without a value are skipped.
func (f *importFile) named(m member) map[string]string {
	texts := map[string]string{}
	for _, one := range f.members(m.value, m.key) {
		literal, ok := one.value.Value.(hujson.Literal)
		switch {
		case isNull(one.value):
		case ok && literal.Kind() != '"':
			texts[one.name] = strings.TrimSpace(literal.String())
		default:
			texts[one.name] = f.phrase(one)
		}
	}
	return texts
}

// flag is a value that must be true or false.
func (f *importFile) flag(m member) bool {
	literal, ok := m.value.Value.(hujson.Literal)
	if !ok || literal.Kind() != 't' && literal.Kind() != 'f' {
		f.fail(m.at, m.key, "want true or false, not %s", jsonKind(m.value))
		return false
	}
	return literal.Bool()
}

// input is a value that VS Code asks its user for. legwork reads it from the
// environment.
type input struct {
	fallback string
	has      bool // a fallback
}

// reference is a placeholder of other programs.
var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// expand replaces ${env:NAME}, ${NAME}, ${NAME:-default}, ${input:ID} and the names
// of folders. A reference that cannot be resolved is a mistake.
func (f *importFile) expand(text string, m member) string {
	return reference.ReplaceAllStringFunc(text, func(whole string) string {
		inside := whole[2 : len(whole)-1]
		value, outside, ok := f.resolve(inside, whole, m)
		if ok && outside {
			f.secrets = append(f.secrets, secret{m.key, expanded{whole, value}})
		}
		return value
	})
}

// resolve returns the value of a reference, and whether it came from outside the
// file.
func (f *importFile) resolve(inside, whole string, m member) (value string, outside, ok bool) {
	switch inside {
	case "userHome":
		return f.variable("HOME", "", false, m)
	case "workspaceFolder":
		return f.workspace, false, true
	case "workspaceFolderBasename":
		return filepath.Base(f.workspace), false, true
	case "pathSeparator", "/":
		return string(os.PathSeparator), false, true
	}
	if id, found := strings.CutPrefix(inside, "input:"); found {
		in, known := f.inputs[id]
		if !known {
			f.fail(m.at, m.key, "%s is not among the inputs", shown(whole))
			return "", false, false
		}
		return f.variable(inputVariable(id), in.fallback, in.has, m)
	}
	name, fallback, has := strings.Cut(strings.TrimPrefix(inside, "env:"), ":-")
	if name == "" || leadingName(name) != name {
		f.fail(m.at, m.key, "%s is none of ${NAME}, ${NAME:-default}, ${env:NAME}, ${input:ID}, ${workspaceFolder} and ${userHome}", shown(whole))
		return "", false, false
	}
	return f.variable(name, fallback, has, m)
}

// variable returns a variable of the environment, or its default.
func (f *importFile) variable(name, fallback string, has bool, m member) (value string, outside, ok bool) {
	value, set := f.env(name)
	switch {
	case has && value == "":
		return fallback, false, true
	case set:
		return value, true, true
	case name == "HOME":
		home, err := os.UserHomeDir()
		return home, false, err == nil
	case strings.HasPrefix(name, inputPrefix):
		f.fail(m.at, m.key, "needs an input, and legwork cannot ask for it; set the environment variable %s to its value", name)
	default:
		f.fail(m.at, m.key, "the environment variable %s is not set; set it", name)
	}
	return "", false, false
}

// inputPrefix separates inputs from other variables: an input may be named path.
const inputPrefix = "INPUT_"

var unfitVariable = regexp.MustCompile(`[^A-Z0-9]+`)

// inputVariable is the environment variable of an input: INPUT_GITHUB_TOKEN for
// github-token.
func inputVariable(id string) string {
	return inputPrefix + strings.Trim(unfitVariable.ReplaceAllString(strings.ToUpper(id), "_"), "_")
}

// readInputs reads VS Code's list of inputs.
func (f *importFile) readInputs(m member) {
	array, ok := m.value.Value.(*hujson.Array)
	if !ok {
		f.fail(m.at, m.key, "want a list, not %s", jsonKind(m.value))
		return
	}
	for i := range array.Elements {
		var id string
		var in input
		for _, one := range f.members(&array.Elements[i], m.key) {
			literal, isText := one.value.Value.(hujson.Literal)
			isText = isText && literal.Kind() == '"'
			switch {
			case one.name == "id" && isText:
				id = literal.String()
			case one.name == "default" && isText:
				in.fallback, in.has = literal.String(), true
			}
		}
		if id != "" {
			f.inputs[id] = in
		}
	}
}
