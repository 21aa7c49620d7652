package conf_test

import (
	"encoding/json"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"legwork/conf"
	"legwork/llm"
	"legwork/tools"
)

// TestSchemaIsCurrent keeps schema.json equal to the types and their comments;
// -update rewrites it. The generator is not linked into the program.
func TestSchemaIsCurrent(t *testing.T) {
	want := generate(t)
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(want), string(conf.Schema())); diff != "" {
		t.Errorf("schema.json is not what the source says; run \"go test ./conf -run TestSchemaIsCurrent -update\" (-want +got):\n%s", diff)
	}
}

// filledPattern matches a value that comes from the environment or a file:
// what it will be is known only when the config is loaded.
const filledPattern = `\$\{.+\}`

// durationPattern matches what time.ParseDuration takes, but for a sign, and days.
const durationPattern = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h|d)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h|d))*$`

// generate makes the JSON Schema of the config file from the types and the
// comments of their fields.
func generate(t *testing.T) []byte {
	t.Helper()
	reflector := jsonschema.Reflector{
		Anonymous:                  true,
		ExpandedStruct:             true,
		FieldNameTag:               "yaml",
		RequiredFromJSONSchemaTags: true,
		CommentMap:                 comments(t),
		Mapper:                     special,
		Namer:                      definitionName,
	}
	schema := reflector.Reflect(&conf.Config{})
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
		t.Fatal(err)
	}
	return append(out, '\n')
}

// comments are those of the config's fields by Go name, such as
// "legwork/llm.ModelConfig.Fallback".
func comments(t *testing.T) map[string]string {
	t.Helper()
	reflector := jsonschema.Reflector{}
	for _, folder := range []string{".", "../tasks/alerts", "../llm", "../tools", "../bot/telegram", "../bot/slack"} {
		if err := reflector.AddGoComments("legwork/conf", folder); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]string{}
	for _, typ := range structsIn(reflect.TypeFor[conf.Config](), nil) {
		name := typ.PkgPath() + "." + typ.Name()
		found[name] = reflector.CommentMap[name]
		for i := range typ.NumField() {
			field := typ.Field(i)
			comment := reflector.CommentMap[name+"."+field.Name]
			if comment != "" && field.Tag.Get("jsonschema_description") == "" {
				found[name+"."+field.Name] = strings.Join(strings.Fields(comment), " ")
			}
		}
	}
	return found
}

// definitionName keeps the types apart that several packages call Config.
func definitionName(t reflect.Type) string {
	if t.Name() == "Config" && t != reflect.TypeFor[conf.Config]() {
		return path.Base(t.PkgPath()) + "." + t.Name()
	}
	return t.Name()
}

// special gives the schema of types whose YAML differs from their Go shape.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: durationPattern}
	case reflect.TypeFor[tools.Approve]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Enum: []any{tools.ApproveNever, tools.ApproveWrites, tools.ApproveAlways}},
			{Type: "string", Pattern: `[*?[.]|\$\{`},
			{Type: "array", Items: &jsonschema.Schema{Type: "string"}},
		}}
	case reflect.TypeFor[conf.IDs]():
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "integer"}}}}
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
