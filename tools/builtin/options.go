package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"legwork/internal/nearest"

	"github.com/mark3labs/mcp-go/server"
)

// OptionError is a mistake in one option of a built-in server.
type OptionError struct {
	Key     string // empty when it is not that of a single key
	Problem string // the mistake and the allowed values
}

func (e *OptionError) Error() string {
	if e.Key == "" || strings.HasPrefix(e.Problem, e.Key+" ") {
		return e.Problem
	}
	return e.Key + ": " + e.Problem
}

// options are what a config says under options: of a server.
type options struct {
	server string
	values map[string]any
}

// none is an error when there are any.
func (o options) none() error {
	if len(o.values) == 0 {
		return nil
	}
	return &OptionError{slices.Sorted(maps.Keys(o.values))[0], fmt.Sprintf("the built-in server %q has no options; remove it", o.server)}
}

// build reads the options into a struct and makes the server of them. A mistake
// whose text begins with the name of an option belongs to that option.
func build[T any](o options, makeServer func(T) (*server.MCPServer, error)) (*server.MCPServer, error) {
	into, err := decode[T](o)
	if err != nil {
		return nil, err
	}
	s, err := makeServer(into)
	if err != nil {
		key, problem, _ := strings.Cut(err.Error(), " ")
		if _, set := o.values[key]; !set {
			key, problem = "", err.Error()
		}
		return nil, &OptionError{key, problem}
	}
	return s, nil
}

// decode reads the options into a struct with json tags. A key without a value
// has its default.
func decode[T any](o options) (T, error) {
	var into T
	known := keysOf(reflect.TypeFor[T]())
	for _, key := range slices.Sorted(maps.Keys(o.values)) {
		value := o.values[key]
		if !slices.Contains(known, key) {
			return into, &OptionError{key, fmt.Sprintf("unknown option of the built-in server %q, the nearest known one is %s; allowed: %s",
				o.server, nearest.Of(key, known), strings.Join(known, ", "))}
		}
		one, err := json.Marshal(map[string]any{key: value})
		if err != nil {
			return into, &OptionError{key, "is not a value that an option can have"}
		}
		decoder := json.NewDecoder(bytes.NewReader(one))
		decoder.DisallowUnknownFields()
		var kind *json.UnmarshalTypeError
		if err := decoder.Decode(&into); errors.As(err, &kind) {
			return into, &OptionError{key, fmt.Sprintf("want %s, not %s", wanted(kind.Type), given(kind.Value))}
		} else if err != nil {
			return into, &OptionError{key, strings.TrimPrefix(err.Error(), "json: ")}
		}
	}
	return into, nil
}

// keysOf lists the options that a struct takes, sorted.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	return keys
}

// wanted names a type for people.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list such as [a, b]"
	case reflect.Map, reflect.Struct:
		return "keys and values below it"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// given names a JSON value as package json calls it.
func given(value string) string {
	switch kind, _, _ := strings.Cut(value, " "); kind {
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "keys and values"
	}
	return "such a number"
}
