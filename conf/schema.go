package conf

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/invopop/jsonschema"

	"legwork/llm"
	"legwork/tools"
)

// descriptions are the comments of the config's fields by Go name, such as
// "legwork/llm.ModelConfig.Fallback". A test keeps them equal to the source.
//
//go:embed descriptions.json
var descriptions []byte

// filledPattern matches a value that comes from the environment or a file:
// what it will be is known only when the config is loaded.
const filledPattern = `\$\{.+\}`

// durationPattern matches what time.ParseDuration takes, but for a sign.
const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))*$`

// Schema is the JSON Schema (draft 2020-12) of the config file, indented.
// Every config that Load accepts fits it, but for merge keys and keys without a
// value; it knows nothing of names that must exist elsewhere in the file.
func Schema() ([]byte, error) {
	comments := map[string]string{}
	if err := json.Unmarshal(descriptions, &comments); err != nil {
		return nil, fmt.Errorf("reading the descriptions of config keys: %w", err)
	}
	reflector := jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		CommentMap:                 comments,
		Mapper:                     special,
	}
	schema := reflector.Reflect(&Config{})
	schema.Title = "legwork config"
	schema.Required = []string{"models"}
	if models, ok := schema.Properties.Get("models"); ok {
		one := uint64(1)
		models.MinProperties = &one
	}
	nameRoles(schema)
	for _, definition := range schema.Definitions {
		allowFilled(definition)
	}
	allowFilled(schema)
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// special gives the schema of types whose YAML differs from their Go shape.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case durationType:
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case reflect.TypeFor[tools.Approve]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "string"},
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		}}
	}
	return nil
}

// nameRoles replaces the free names under roles by the roles that exist.
func nameRoles(schema *jsonschema.Schema) {
	roles, ok := schema.Properties.Get("roles")
	if !ok {
		return
	}
	roles.AdditionalProperties = jsonschema.FalseSchema
	roles.Properties = jsonschema.NewProperties()
	for _, role := range llm.Roles() {
		roles.Properties.Set(role, &jsonschema.Schema{Type: "string"})
	}
}

// allowFilled lets every property of a restricted type be a ${NAME} too.
func allowFilled(schema *jsonschema.Schema) {
	if schema.Properties == nil {
		return
	}
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		p := pair.Value
		if !restricted(p) {
			continue
		}
		about := &jsonschema.Schema{Description: p.Description, Default: p.Default, Examples: p.Examples}
		p.Description, p.Default, p.Examples = "", nil, nil
		about.AnyOf = []*jsonschema.Schema{p, {Type: "string", Pattern: filledPattern}}
		pair.Value = about
	}
}

// restricted tells whether a plain ${NAME} would not fit a scalar's schema.
func restricted(p *jsonschema.Schema) bool {
	switch p.Type {
	case "integer", "number", "boolean":
		return true
	case "string":
		return len(p.Enum) > 0 || p.Pattern != "" || p.MinLength != nil
	}
	return false
}
