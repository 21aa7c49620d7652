package api

import (
	"io"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

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

// inexact lists the fields of an object and of those in it that are not of its
// schema.
func inexact(all huma.Registry, s *huma.Schema, raw []byte, at string) []problem.Wrong {
	s = resolved(all, s)
	fields, ok := object(raw)
	if !ok || s.AdditionalProperties != false {
		return nil
	}
	var wrong []problem.Wrong
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, known := s.Properties[name]
		switch {
		case !known:
			wrong = append(wrong, problem.Wrong{Location: at + "." + name, Message: "unexpected property; " + allowed(slices.Sorted(maps.Keys(s.Properties)))})
		case string(fields[name]) == "null" && resolved(all, field).Type != "" && !field.Nullable:
			wrong = append(wrong, problem.Wrong{Location: at + "." + name, Message: "expected " + resolved(all, field).Type + ", not null; leave it out"})
		default:
			wrong = append(wrong, inexact(all, field, fields[name], at+"."+name)...)
		}
	}
	return wrong
}

// resolved is the schema that one refers to, or itself.
func resolved(all huma.Registry, s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return all.SchemaFromRef(s.Ref)
	}
	return s
}
