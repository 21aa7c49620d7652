package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/internal/clip"
	"legwork/web/problem"
)

// exact refuses fields whose names differ from those of the document in case
// alone, and a null for what is no null. The library takes the ones for the same,
// and of two would take one, and the other for a field that is left out.
func exact(d *huma.OpenAPI) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		raw, err := io.ReadAll(r.Body) // which checkBody has read already
		r.Body = readOnce(raw)
		media := ctx.Operation().RequestBody.Content["application/json"]
		if err == nil {
			if wrong := inexact(d.Components.Schemas, media.Schema, raw, "body"); len(wrong) > 0 {
				p := invalid("", "")
				p.Errors = wrong
				p.Write(w)
				return
			}
		}
		next(ctx)
	}
}

// Bounds of what the library looks at. It lists every mistake that there is, and of
// what is of no use it makes values first.
const (
	maxWrong = 20       // mistakes that are told
	maxAny   = 64 << 10 // bytes of a field of any kind
)

// inexact lists the fields of an object and of those in it that are not of its
// schema, and what is longer than it may be; at most so many as are told.
func inexact(all huma.Registry, s *huma.Schema, raw []byte, at string) []problem.Wrong {
	s = resolved(all, s)
	fields, ok := object(raw)
	switch {
	case s.MaxItems != nil && longer(raw, *s.MaxItems):
		return []problem.Wrong{{Location: at, Message: fmt.Sprintf("expected at most %d values", *s.MaxItems)}}
	case s.MaxProperties != nil && len(fields) > *s.MaxProperties:
		return []problem.Wrong{{Location: at, Message: fmt.Sprintf("expected object with at most %d properties", *s.MaxProperties)}}
	case !ok || s.AdditionalProperties != false:
		return nil
	}
	var wrong []problem.Wrong
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if len(wrong) >= maxWrong {
			break
		}
		field, known := s.Properties[name]
		value, at := fields[name], at+"."+clip.Line(name, 100)
		switch {
		case !known:
			wrong = append(wrong, problem.Wrong{Location: at, Message: "unexpected property; " + allowed(slices.Sorted(maps.Keys(s.Properties)))})
		case string(value) == "null" && resolved(all, field).Type != "" && !field.Nullable:
			wrong = append(wrong, problem.Wrong{Location: at, Message: "expected " + resolved(all, field).Type + ", not null; leave it out"})
		case resolved(all, field).Type == "" && len(value) > maxAny:
			wrong = append(wrong, problem.Wrong{Location: at, Message: fmt.Sprintf("has %d bytes; at most %d are allowed", len(value), maxAny)})
		default:
			wrong = append(wrong, inexact(all, field, value, at)...)
		}
	}
	return wrong
}

// longer reports whether raw is a list of more than so many values.
func longer(raw []byte, most int) bool {
	list := json.NewDecoder(bytes.NewReader(raw))
	if t, err := list.Token(); err != nil || t != json.Delim('[') {
		return false
	}
	n := 0
	for n <= most && list.More() && list.Decode(new(json.RawMessage)) == nil {
		n++
	}
	return n > most
}

// resolved is the schema that one refers to, or itself.
func resolved(all huma.Registry, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return all.SchemaFromRef(s.Ref)
	}
	return s
}
