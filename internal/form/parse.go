package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"legwork/internal/plainjson"
)

// Bounds on what one form may ask.
const (
	maxFields  = 50
	maxChoices = 200
	maxSchema  = 64 << 10
)

// property is one entry of the restricted JSON Schema of elicitation.
type property struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Default     json.RawMessage   `json:"default"`
	Enum        []json.RawMessage `json:"enum"`
	EnumNames   []string          `json:"enumNames"`
	OneOf       []option          `json:"oneOf"`
	AnyOf       []option          `json:"anyOf"`
	Items       *property         `json:"items"`
}

type option struct {
	Const json.RawMessage `json:"const"`
	Title string          `json:"title"`
}

// Parse reads the schema of a form as MCP restricts it: an object of strings,
// numbers, booleans, choices and lists of choices. The order of the properties
// is kept. Everything else is an error, since people could not fill it in.
func Parse(schema json.RawMessage) ([]Field, error) {
	if len(schema) > maxSchema {
		return nil, fmt.Errorf("the form has %d bytes; the limit is %d", len(schema), maxSchema)
	}
	if n, found := plainjson.HugeNumber(schema); found {
		return nil, fmt.Errorf("the form has the number %.20s, which is too large or too long", n)
	}
	var s struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("reading the form: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("the form is of type %q, not object", s.Type)
	}
	required := map[string]bool{}
	for _, name := range s.Required {
		required[name] = true
	}
	var fields []Field
	err := members(s.Properties, func(name string, raw json.RawMessage) error {
		f, err := parseField(name, raw)
		if err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		f.Required = required[name]
		fields = append(fields, f)
		if len(fields) > maxFields {
			return fmt.Errorf("the form has more than %d fields", maxFields)
		}
		return nil
	})
	return fields, err
}

// members calls each with the members of an object, in their order. A name that
// comes twice is an error.
func members(object json.RawMessage, each func(string, json.RawMessage) error) error {
	if len(bytes.TrimSpace(object)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the properties of the form are not an object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("reading the form: %w", err)
		}
		name, _ := t.(string)
		if seen[name] {
			return fmt.Errorf("the form has the field %q twice", name)
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("reading the form: %w", err)
		}
		if err := each(name, raw); err != nil {
			return err
		}
	}
	return nil
}

func parseField(name string, raw json.RawMessage) (Field, error) {
	var p property
	if err := json.Unmarshal(raw, &p); err != nil {
		return Field{}, fmt.Errorf("reading it: %w", err)
	}
	f := Field{Name: name, Title: p.Title, Description: p.Description, Schema: raw}
	switch p.Type {
	case "string":
		f.Choices = p.choices()
	case "number", "integer", "boolean":
		if len(p.Enum) > 0 || len(p.OneOf) > 0 {
			return Field{}, fmt.Errorf("choices of type %q are not known", p.Type)
		}
	case "array":
		if p.Items == nil {
			return Field{}, errors.New("a list without choices is not known")
		}
		if f.Choices, f.Many = p.Items.choices(), true; len(f.Choices) == 0 {
			return Field{}, errors.New("a list without choices is not known")
		}
	default:
		return Field{}, fmt.Errorf("type %q is not known", p.Type)
	}
	if len(f.Choices) > maxChoices {
		return Field{}, fmt.Errorf("it has %d choices; the limit is %d", len(f.Choices), maxChoices)
	}
	if _, err := compiled(raw); err != nil {
		return Field{}, err
	}
	if len(p.Default) > 0 && string(p.Default) != "null" && f.Check(p.Default) == nil {
		f.Default = p.Default
	}
	return f, nil
}

// choices are the only values that a property has; none: it has others.
func (p property) choices() []Choice {
	var all []Choice
	for i, v := range p.Enum {
		label := text(v)
		if i < len(p.EnumNames) && p.EnumNames[i] != "" {
			label = p.EnumNames[i]
		}
		all = append(all, Choice{Value: v, Label: label})
	}
	for _, o := range append(p.OneOf, p.AnyOf...) {
		if len(o.Const) == 0 {
			continue
		}
		label := o.Title
		if label == "" {
			label = text(o.Const)
		}
		all = append(all, Choice{Value: o.Const, Label: label})
	}
	return all
}

// text is a value as people read it.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}
