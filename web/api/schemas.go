package api

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/contexts"
)

// schemaName names the schema of a type, as programs call it.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	return strings.NewReplacer("Listed", "TaskSummary", "Shared", "State", "Content", "ContentPart", "ProblemError", "Problem", "Wrong", "ProblemDetail").Replace(name)
}

// complete finishes the document when all calls are registered.
func complete(d *huma.OpenAPI) {
	all := d.Components.Schemas
	for _, t := range []reflect.Type{reflect.TypeFor[ProblemError](), reflect.TypeFor[contexts.FeedMessage](), reflect.TypeFor[Lost]()} {
		all.Schema(t, true, "")
	}
	delete(all.Map(), "ErrorModel")
	delete(all.Map(), "ErrorDetail")
	for name, s := range all.Map() {
		s.Description = descriptions()[name]
		finish(name, s)
	}
}

// finish describes the fields of a schema, and says of lists that they are never
// null.
func finish(name string, s *huma.Schema) {
	for field, p := range s.Properties {
		if text := descriptions()[name+"."+field]; text != "" {
			p.Description = text
		}
		if p.Type == huma.TypeArray {
			p.Nullable = false
		}
		if name == "Problem" && field == "code" {
			for _, one := range slices.Sorted(maps.Keys(kinds())) {
				p.Enum = append(p.Enum, one)
			}
		}
	}
}
