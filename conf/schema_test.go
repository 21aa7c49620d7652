package conf_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	invopop "github.com/invopop/jsonschema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/llm"
	"legwork/tools"
)

// compiled is the schema as a validator.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text := conf.Schema()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("config.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatalf("the schema is not a schema: %v\n%s", err, text)
	}
	return schema
}

// instance is a YAML text as the validator wants it.
func instance(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	value, err = jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// exampleVariables are those that config.example.yaml needs.
func exampleVariables() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY":     "sk-1",
		"TELEGRAM_BOT_TOKEN": botToken,
		"SLACK_BOT_TOKEN":    "xoxb-1-2-a",
		"SLACK_APP_TOKEN":    "xapp-1-A1-2-a",
	}
}

// botToken has the shape of a token of Telegram.
const botToken = "123456:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDD"

// TestExample holds config.example.yaml to the loader and to the schema, and to
// naming every key.
func TestExample(t *testing.T) {
	const path = "../config.example.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conf.Load(path, variables(exampleVariables())); err != nil {
		t.Errorf("the example does not load:\n%v", err)
	}
	if err := compiled(t).Validate(instance(t, text)); err != nil {
		t.Errorf("the example does not fit the schema:\n%v", err)
	}
	for name := range keysOf(reflect.TypeFor[conf.Config]()) {
		if !strings.Contains(string(text), name+":") {
			t.Errorf("the example does not show the key %s", name)
		}
	}
}

// TestExampleShowsDefaults holds the values of config.example.yaml to what its
// first lines promise.
func TestExampleShowsDefaults(t *testing.T) {
	got, err := conf.Load("../config.example.yaml", variables(exampleVariables()))
	if err != nil {
		t.Fatal(err)
	}
	want := conf.Default()
	want.DataDir = "../data"
	want.LLM, want.Tools, want.Chats, want.Access, want.Schedules = got.LLM, got.Tools, got.Chats, got.Access, got.Schedules
	bareTelegram := telegram.Config{Token: got.Telegram.Token, Webhook: got.Telegram.Webhook}.WithDefaults()
	bareSlack := slack.Config{BotToken: got.Slack.BotToken, AppToken: got.Slack.AppToken, SigningSecret: got.Slack.SigningSecret}.WithDefaults()
	want.Telegram, want.Slack = &bareTelegram, &bareSlack
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(conf.Config{})); diff != "" {
		t.Errorf("values that are not the defaults (-want +got):\n%s", diff)
	}
	main := got.LLM.Models["main"]
	bareModel := llm.ModelConfig{Model: main.Model, APIKey: main.APIKey, Price: main.Price, Fallback: main.Fallback}
	filled := llm.Config{Models: map[string]llm.ModelConfig{"main": bareModel}}.WithDefaults()
	if diff := cmp.Diff(filled.Models["main"], main, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("values of models.main that are not the defaults (-want +got):\n%s", diff)
	}
	group := got.Tools.Groups["time"]
	if group.ToolTimeout != tools.DefaultToolTimeout || group.MaxResultBytes != tools.DefaultMaxResultBytes || group.ShowResultBytes != tools.DefaultShowResultBytes {
		t.Errorf("the bounds of groups.time are not the defaults: %+v", group)
	}
}

// keysOf names every key of a config type, with those of the types in it.
func keysOf(typ reflect.Type) map[string]bool {
	keys := map[string]bool{}
	for _, owner := range structsIn(typ, nil) {
		for i := range owner.NumField() {
			name, _, _ := strings.Cut(owner.Field(i).Tag.Get("yaml"), ",")
			if name != "" {
				keys[name] = true
			}
		}
	}
	return keys
}

// structsIn lists the struct types that make up typ, each once.
func structsIn(typ reflect.Type, known []reflect.Type) []reflect.Type {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return structsIn(typ.Elem(), known)
	case reflect.Struct:
		for _, k := range known {
			if k == typ {
				return known
			}
		}
		known = append(known, typ)
		for i := range typ.NumField() {
			known = structsIn(typ.Field(i).Type, known)
		}
	}
	return known
}

// TestSchemaAgrees holds the schema and the loader to the same opinion of
// shapes.
func TestSchemaAgrees(t *testing.T) {
	const models = "models: {main: {model: m}}\n"
	tests := []struct {
		name, text string
		fits       bool
	}{
		{"minimal", models, true},
		{"a variable for a number", models + "limits: {rounds: \"${N}\"}\n", true},
		{"approve as a word", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: never}}\n", true},
		{"approve as patterns", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: [\"x*\"]}}\n", true},
		{"a duration", models + "limits: {task_timeout: 1h30m}\n", true},
		{"no models", "language: en\n", false},
		{"empty models", "models: {}\n", false},
		{"ids as numbers", models + "access: {telegram: {users: [12345, \"*\"], chats: [-100987]}}\n", true},
		{"a platform", models + "telegram: {token: \"${TOKEN}\"}\n", true},
		{"a platform without its token", models + "slack: {mode: socket}\n", false},
		{"an unknown mode", models + "telegram: {token: \"${TOKEN}\", mode: push}\n", false},
		{"a fraction for an id", models + "access: {telegram: {users: [1.5]}}\n", false},
		{"an unknown key", models + "langwij: en\n", false},
		{"an unknown key in a model", "models: {main: {model: m, mdl: x}}\n", false},
		{"an unknown role", models + "roles: {boss: main}\n", false},
		{"a number for a text", models + "data_dir: 5\n", false},
		{"a text for a number", models + "limits: {rounds: many}\n", false},
		{"too many", models + "limits: {rounds: 1000}\n", false},
		{"a number for a duration", models + "limits: {task_timeout: 90}\n", false},
		{"an unknown level", models + "log: {level: loud}\n", false},
		{"a list for a mapping", models + "servers: []\n", false},
		{"approve as one pattern", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: \"x*\"}}\n", true},
		{"true for approve", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: true}}\n", false},
		{"another word for approve", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: ask}}\n", false},
		{"a mapping for approve", models + "servers: {math: {builtin: math}}\ngroups: {math: {approve: {a: b}}}\n", false},
	}
	schema := compiled(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			schemaError := schema.Validate(instance(t, []byte(test.text)))
			if got := schemaError == nil; got != test.fits {
				t.Errorf("schema fits = %v, want %v, for\n%s%v", got, test.fits, test.text, schemaError)
			}
			lines := problems(t, write(t, test.text), map[string]string{"N": "3", "TOKEN": botToken})
			if got := lines == nil; got != test.fits {
				t.Errorf("Load accepts = %v, want %v, for\n%s%s", got, test.fits, test.text, strings.Join(lines, "\n"))
			}
		})
	}
}

// TestEveryKeyIsDescribed holds the schema to saying what each key is for.
func TestEveryKeyIsDescribed(t *testing.T) {
	text := conf.Schema()
	type object struct {
		Properties map[string]struct{ Description string } `json:"properties"`
	}
	var schema struct {
		object
		Version     string            `json:"$schema"`
		Definitions map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if want := "https://json-schema.org/draft/2020-12/schema"; schema.Version != want {
		t.Errorf("$schema is %q, want %q", schema.Version, want)
	}
	schema.Definitions["the config"] = schema.object
	for owner, o := range schema.Definitions {
		for name, property := range o.Properties {
			if property.Description == "" {
				t.Errorf("%s: the key %s has no description", owner, name)
			}
		}
	}
}

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
	reflector := invopop.Reflector{
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
	reflector := invopop.Reflector{}
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
func special(t reflect.Type) *invopop.Schema {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &invopop.Schema{Type: "string", Pattern: durationPattern}
	case reflect.TypeFor[tools.Approve]():
		return &invopop.Schema{OneOf: []*invopop.Schema{
			{Enum: []any{tools.ApproveNever, tools.ApproveWrites, tools.ApproveAlways}},
			{Type: "string", Pattern: `[*?[.]|\$\{`},
			{Type: "array", Items: &invopop.Schema{Type: "string"}},
		}}
	case reflect.TypeFor[conf.IDs]():
		return &invopop.Schema{Type: "array", Items: &invopop.Schema{AnyOf: []*invopop.Schema{{Type: "string"}, {Type: "integer"}}}}
	}
	return nil
}

// nameRoles replaces the free names under roles by the roles that exist.
func nameRoles(schema *invopop.Schema) {
	roles, ok := schema.Properties.Get("roles")
	if !ok {
		return
	}
	roles.AdditionalProperties = invopop.FalseSchema
	roles.Properties = invopop.NewProperties()
	for _, role := range llm.Roles() {
		roles.Properties.Set(role, &invopop.Schema{Type: "string"})
	}
}

// allowFilled lets every property of a restricted type be a ${NAME} too.
func allowFilled(schema *invopop.Schema) {
	if schema.Properties == nil {
		return
	}
	for pair := schema.Properties.Oldest(); pair != nil; pair = pair.Next() {
		p := pair.Value
		if !restricted(p) {
			continue
		}
		about := &invopop.Schema{Description: p.Description, Default: p.Default, Examples: p.Examples}
		p.Description, p.Default, p.Examples = "", nil, nil
		about.AnyOf = []*invopop.Schema{p, {Type: "string", Pattern: filledPattern}}
		pair.Value = about
	}
}

// restricted tells whether a plain ${NAME} would not fit a scalar's schema.
func restricted(p *invopop.Schema) bool {
	switch p.Type {
	case "integer", "number", "boolean":
		return true
	case "string":
		return len(p.Enum) > 0 || p.Pattern != "" || p.MinLength != nil
	}
	return false
}
