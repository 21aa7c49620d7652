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

// arguments are what a tool takes. The library can check them, too, but what it
// says about them is for Go programmers.
type arguments struct {
	tool  string
	names []string
	rules *jsonschema.Schema
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
	rules, err := c.Compile(tool)
	if err != nil {
		return arguments{}, fmt.Errorf("compiling the schema of %s: %w", tool, err)
	}
	return arguments{tool: tool, names: slices.Sorted(maps.Keys(rules.Properties)), rules: rules}, nil
}

// check tells a model in words what it must change, as an *InvalidError.
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
		err := a.rules.Validate(given)
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

// The bounds of what is held against a schema, since each item that does not fit is
// an error of its own, and of what is said about it, in bytes.
const (
	maxItems  = 100
	maxDetail = 1000
)

// excess says of what there is too much; empty for nothing.
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
		if n > maxItems && name != "content" { // which is any JSON
			return fmt.Sprintf("/%s: has %d items; at most %d are allowed", name, n, maxItems)
		}
	}
	return ""
}

// reasons are the innermost ones, at most five.
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
