package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
)

// mistake is a request with one mistake.
type mistake struct {
	name string
	request
}

// mistakes returns the requests that the schemas of a call do not allow.
func mistakes(c *contract, good request, one call) []mistake {
	var all []mistake
	for _, p := range one.Parameters {
		for name, value := range outside(p.Schema) {
			text := strings.Trim(fmt.Sprint(value), "[]")
			r := good
			switch p.In {
			case "query":
				r.path += "?" + p.Name + "=" + url.QueryEscape(text)
			case "header":
				r.header = map[string]string{p.Name: text}
			case "path":
				if p.Name == "id" {
					continue // an unknown task gets 404
				}
				r.path = strings.TrimSuffix(r.path, "1") + text
			}
			all = append(all, mistake{p.Name + " " + name, r})
		}
	}
	body, ok := good.body.(map[string]any)
	if !ok {
		return all
	}
	with := func(name string, change func(map[string]any)) {
		r, changed := good, maps.Clone(body)
		change(changed)
		r.body = changed
		all = append(all, mistake{name, r})
	}
	s := c.resolve(one.RequestBody.Content["application/json"].Schema)
	for _, field := range s.Required {
		with(field+" left out", func(b map[string]any) { delete(b, field) })
	}
	for field, p := range s.Properties {
		for name, value := range outside(c.resolve(p)) {
			with(field+" "+name, func(b map[string]any) { b[field] = value })
		}
		if p = c.resolve(p); p.Type != nil {
			with(field+" of another type", func(b map[string]any) { b[field] = another(p) })
			with(field+" null", func(b map[string]any) { b[field] = nil })
		}
	}
	if len(s.Properties) > 0 {
		with("an unknown field", func(b map[string]any) { b["unknown"] = 1 })
	}
	if s.MinProperties != nil {
		with("too few fields", func(b map[string]any) { clear(b) })
	}
	if s.MaxProperties != nil {
		with("too many fields", func(b map[string]any) {
			for i := range *s.MaxProperties + 1 {
				b[fmt.Sprint("k", i)] = i
			}
		})
	}
	return all
}

// outside returns values that a schema does not allow, by their mistake.
func outside(s schema) map[string]any {
	values := map[string]any{}
	kind, _ := s.Type.(string)
	switch kind {
	case "string":
		if s.Enum != nil {
			values["that is not listed"] = "none-of-those"
		}
		if s.MinLength != nil && *s.MinLength > 0 {
			values["too short"] = ""
		}
		if s.MaxLength != nil {
			values["too long"] = strings.Repeat("x", *s.MaxLength+1)
		}
		if s.Format == "date" {
			values["that is not a day"] = "2026-13-01"
		}
	case "integer":
		values["that is not a number"] = "many"
		if s.Minimum != nil {
			values["too low"] = *s.Minimum - 1
		}
		if s.Maximum != nil {
			values["too high"] = *s.Maximum + 1
		}
	case "array":
		for name, value := range outside(*s.Items) {
			if text, ok := value.(string); ok && text != "" {
				values["with one "+name] = []string{text}
			}
		}
	}
	return values
}

// another returns a value of another type than that of a schema.
func another(s schema) any {
	if s.Type == "object" {
		return "text"
	}
	return map[string]any{"a": 1}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 300 {
		raw = append(raw[:300:300], "..."...)
	}
	return string(raw)
}
