package conf

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/tailscale/hujson"
)

// input is a value that another program asks its user for. legwork takes it
// from the environment.
type input struct {
	fallback string
	has      bool // a fallback
}

// reference is a placeholder, as programs with such files know them.
var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// expand replaces ${env:NAME}, ${NAME}, ${NAME:-default}, ${input:ID} and the
// names of folders. What cannot be resolved is a mistake and left out.
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

// resolve is what a reference stands for, and whether that came from outside of
// the file.
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

// variable is one of the environment, or its default.
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
		f.fail(m.at, m.key, "needs an input, which legwork cannot ask for; set the environment variable %s to it", name)
	default:
		f.fail(m.at, m.key, "the environment variable %s is not set; set it", name)
	}
	return "", false, false
}

// inputPrefix keeps inputs apart from variables that mean something else, such
// as an input named path.
const inputPrefix = "INPUT_"

var unfitVariable = regexp.MustCompile(`[^A-Z0-9]+`)

// inputVariable is the environment variable that an input is taken from:
// INPUT_GITHUB_TOKEN for github-token.
func inputVariable(id string) string {
	return inputPrefix + strings.Trim(unfitVariable.ReplaceAllString(strings.ToUpper(id), "_"), "_")
}

// readInputs reads VS Code's list of what to ask the user for.
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
