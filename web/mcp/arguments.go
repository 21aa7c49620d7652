package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"legwork/internal/clip"
	"legwork/internal/plainjson"
	"legwork/tasks/api"
)

// arguments checks the arguments of a tool. The library can check them too, but its
// messages are for Go programmers.
type arguments struct {
	tool   string
	names  []string
	schema *jsonschema.Schema
}

func newArguments(tool string, schema json.RawMessage) (arguments, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return arguments{}, fmt.Errorf("reading the schema of %s: %w", tool, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(tool, doc); err != nil {
		return arguments{}, fmt.Errorf("reading the schema of %s: %w", tool, err)
	}
	compiled, err := c.Compile(tool)
	if err != nil {
		return arguments{}, fmt.Errorf("compiling the schema of %s: %w", tool, err)
	}
	return arguments{tool: tool, names: slices.Sorted(maps.Keys(compiled.Properties)), schema: compiled}, nil
}

// check returns an *api.InvalidError that tells a model what to change.
func (a arguments) check(sent json.RawMessage) error {
	if odd := plainjson.Oddity(sent); odd != "" {
		return &api.InvalidError{Field: "arguments", Detail: odd}
	}
	var given any
	if len(sent) > 0 {
		if err := json.Unmarshal(sent, &given); err != nil {
			return &api.InvalidError{Field: "arguments", Detail: err.Error()}
		}
	}
	if given == nil {
		given = map[string]any{}
	}
	detail := a.excess(given)
	if detail == "" {
		err := a.schema.Validate(given)
		if err == nil {
			return nil
		}
		detail = err.Error()
		if bad, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
			detail = strings.Join(reasons(bad, nil), "; ")
		}
	}
	return &api.InvalidError{Field: "arguments", Detail: fmt.Sprintf("%s; %s takes %s", clip.Marked(detail, maxDetail), a.tool, strings.Join(a.names, ", "))}
}

// maxItems limits what is validated against a schema, since each wrong item is an
// error of its own; maxDetail limits the text about the errors, in bytes.
const (
	maxItems  = 100
	maxDetail = 1000
)

// excess names arguments that are too many or too long; empty if there are none.
func (a arguments) excess(given any) string {
	object, _ := given.(map[string]any)
	if len(object) > maxItems {
		return fmt.Sprintf("there are %d arguments", len(object))
	}
	for _, name := range a.names {
		n := 0
		switch value := object[name].(type) {
		case []any:
			n = len(value)
		case map[string]any:
			n = len(value)
		}
		if n > maxItems && name != "content" { // content may be any JSON
			return fmt.Sprintf("/%s: has %d items; at most %d are allowed", name, n, maxItems)
		}
	}
	return ""
}

// reasons are the innermost reasons, at most five.
func reasons(e *jsonschema.ValidationError, sofar []string) []string {
	for _, cause := range e.Causes {
		sofar = reasons(cause, sofar)
	}
	if len(e.Causes) > 0 || len(sofar) >= 5 {
		return sofar
	}
	at := "" // of all arguments
	if len(e.InstanceLocation) > 0 {
		at = "/" + strings.Join(e.InstanceLocation, "/") + ": "
	}
	return append(sofar, at+e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
}
