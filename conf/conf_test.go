package conf_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/llm"
)

const minimal = "models: {main: {model: m}}\n"

// write puts a config into a folder of its own and returns its path.
func write(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// variables looks up names in a map.
func variables(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := m[name]
		return value, ok
	}
}

// problems are the lines of Load's error without the folder.
func problems(t testing.TB, path string, env map[string]string) []string {
	t.Helper()
	_, err := conf.Load(path, variables(env))
	if err == nil {
		return nil
	}
	if !errors.As(err, new(conf.Errors)) {
		t.Fatalf("Load(%s) returned a %T, want Errors: %v", path, err, err)
	}
	return strings.Split(strings.ReplaceAll(err.Error(), filepath.Dir(path)+string(filepath.Separator), ""), "\n")
}

func TestDefaults(t *testing.T) {
	path := write(t, minimal)
	got, err := conf.Load(path, variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := conf.Default()
	want.DataDir = filepath.Join(filepath.Dir(path), "data")
	want.LLM.Models = got.LLM.Models
	want.Budget.DayTokens = 2_000_000 // the model has no price
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(conf.Config{})); diff != "" {
		t.Errorf("config with nothing but a model (-want +got):\n%s", diff)
	}
	if task := got.Limits.Task(); task.Rounds != 6 || task.TaskTimeout != 15*time.Minute || task.MalformedReplies == 0 {
		t.Errorf("limits of a task are %+v, want 6 rounds, 15m and the machine's own garbles", task)
	}
}

func TestEverything(t *testing.T) {
	path := write(t, `
language: zh
timezone: Asia/Tokyo
data_dir: /var/lib/legwork
instructions: |
  Be brief.
log: {level: debug, format: json}
models:
  main: &main
    base_url: http://127.0.0.1:9/v1
    api_key: ${KEY}
    model: big
    timeout: 90s
    extra_body: {top_k: 4, think: {on: true}, gone: null, seed: "${SEED:-7}", top: "${SEED:-7}"}
    price: {input: 1, output: 2.5}
    fallback: [spare]
  spare:
    <<: *main
    model: small
    fallback: []
roles: {plan: main, work: spare}
servers:
  clock: {builtin: clock}
  files: {command: npx, args: [-y, files], env: {ROOT: "${HOME}/x"}}
groups:
  time: {servers: [clock], tools: ["*"], approve: never, tool_timeout: 2s}
  files: {approve: [create_*], read_only: ["get_*"]}
chats:
  "terminal:alice": {groups: [time], model: spare, instructions: hi}
limits: {rounds: 2, task_timeout: 1h30m}
`)
	got, err := conf.Load(path, variables(map[string]string{"KEY": "sk-1", "HOME": "/home/a"}))
	if err != nil {
		t.Fatal(err)
	}
	main, spare := got.LLM.Models["main"], got.LLM.Models["spare"]
	check := func(what string, got, want any) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("language", got.Language, "zh")
	check("data_dir", got.DataDir, "/var/lib/legwork")
	check("instructions", got.Instructions, "Be brief.\n")
	check("log", got.Log, conf.Log{Level: "debug", Format: "json"})
	check("api_key", main.APIKey, "sk-1")
	check("timeout", main.Timeout, 90*time.Second)
	check("extra_body", main.ExtraBody, map[string]any{
		"top_k": 4, "think": map[string]any{"on": true}, "gone": nil, "seed": "7", "top": "7",
	})
	check("price", main.Price.Output, 2.5)
	check("merged model", spare.Model, "small")
	check("merged base_url", spare.BaseURL, main.BaseURL)
	check("overridden fallback", len(spare.Fallback), 0)
	check("server env", got.Tools.Servers["files"].Env, map[string]string{"ROOT": "/home/a/x"})
	check("approve word", []string(got.Tools.Groups["time"].Approve), []string{"never"})
	check("approve patterns", []string(got.Tools.Groups["files"].Approve), []string{"create_*"})
	check("chats", got.Chats["terminal:alice"], conf.Chat{Groups: []string{"time"}, Model: "spare", Instructions: "hi"})
	check("limits", got.Limits.Task().TaskTimeout, 90*time.Minute)
	check("limits left alone", got.Limits.Subtasks, 12)
}

func TestFromEnv(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		want string // of the error; empty for none
	}{
		{"a key is enough", map[string]string{"OPENAI_API_KEY": "sk-1"}, ""},
		{"an endpoint without a key", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "x"}, ""},
		{"nothing", nil, `environment: no model is configured; set OPENAI_API_KEY, or OPENAI_BASE_URL for any OpenAI-compatible endpoint (and OPENAI_MODEL), or name a config file with --config; "legwork init" writes one; "legwork demo" needs none of them`},
		{"an endpoint for searches", map[string]string{"OPENAI_API_KEY": "sk-1", "LEGWORK_SEARCH_URL": "https://searx.example.com/search"}, ""},
		{"a bad endpoint for searches", map[string]string{"OPENAI_API_KEY": "sk-1", "LEGWORK_SEARCH_URL": "searx"}, "environment: LEGWORK_SEARCH_URL: is missing or no address; give that of a SearXNG search, such as https://searx.example.com/search"},
		{"a bad address", map[string]string{"OPENAI_BASE_URL": "ftp://secret-host"}, "environment: OPENAI_BASE_URL: is not an address; allowed: http://... or https://..."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := conf.FromEnv(variables(test.env))
			if test.want != "" {
				if err == nil || err.Error() != test.want {
					t.Errorf("FromEnv(%v) failed with %v\nwant %s", test.env, err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("FromEnv(%v): %v", test.env, err)
			}
			main := got.LLM.Models["main"]
			if main.APIKey != test.env["OPENAI_API_KEY"] || main.BaseURL != test.env["OPENAI_BASE_URL"] || main.Model == "" {
				t.Errorf("FromEnv(%v) made the model %+v", test.env, main)
			}
			want := []string{"clock", "math", "web"}
			if test.env["LEGWORK_SEARCH_URL"] != "" {
				want = []string{"clock", "math", "search", "web"}
			}
			if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got.Tools.Servers))); diff != "" {
				t.Errorf("FromEnv(%v): servers (-want +got):\n%s", test.env, diff)
			}
		})
	}
}

func TestPlatformsFromEnv(t *testing.T) {
	const bot, app = "xoxb-1-2-abcdefabcdef", "xapp-1-A1-1-abcdefabcdef"
	viaPoll := conf.Platforms{Telegram: &telegram.Config{Token: botToken}}
	tests := []struct {
		name string
		env  map[string]string
		want conf.Platforms
	}{
		{"nothing", nil, conf.Platforms{}},
		{"Telegram", map[string]string{"TELEGRAM_BOT_TOKEN": botToken + "\n"}, viaPoll},
		{"empty variables", map[string]string{"TELEGRAM_BOT_TOKEN": botToken, "SLACK_BOT_TOKEN": "", "LEGWORK_ADMINS": " , "}, viaPoll},
		{
			"a secret alone does not ask for deliveries",
			map[string]string{"TELEGRAM_BOT_TOKEN": botToken, "TELEGRAM_WEBHOOK_SECRET": "s"},
			conf.Platforms{Telegram: &telegram.Config{Token: botToken, Webhook: telegram.Webhook{Secret: "s"}}},
		},
		{
			"Slack by Socket Mode",
			map[string]string{"SLACK_BOT_TOKEN": bot, "SLACK_APP_TOKEN": app, "SLACK_SIGNING_SECRET": "abc"},
			conf.Platforms{Slack: &slack.Config{BotToken: bot, AppToken: app, SigningSecret: "abc"}},
		},
		{
			"Slack by deliveries",
			map[string]string{"SLACK_BOT_TOKEN": bot, "SLACK_SIGNING_SECRET": "abc"},
			conf.Platforms{Slack: &slack.Config{BotToken: bot, SigningSecret: "abc", Mode: slack.ModeHTTP}},
		},
		{
			"admins",
			map[string]string{"LEGWORK_ADMINS": "telegram:123, slack:U1,"},
			conf.Platforms{Access: conf.Access{Admins: []string{"telegram:123", "slack:U1"}}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			env := map[string]string{"OPENAI_API_KEY": "sk-1"}
			maps.Copy(env, test.env)
			got, err := conf.FromEnv(variables(env))
			if err != nil {
				t.Fatalf("FromEnv(%v): %v", env, err)
			}
			test.want.HTTP = conf.Default().HTTP
			if diff := cmp.Diff(test.want, got.Platforms); diff != "" {
				t.Errorf("platforms from %v (-want +got):\n%s", env, diff)
			}
		})
	}
}

// TestMistakesInVariables holds that every mistake names its variable and shows
// no token.
func TestMistakesInVariables(t *testing.T) {
	env := map[string]string{
		"OPENAI_API_KEY":          "sk-1",
		"TELEGRAM_BOT_TOKEN":      "not-of-that-shape",
		"TELEGRAM_WEBHOOK_SECRET": "with spaces in it",
		"SLACK_BOT_TOKEN":         "xoxp-somebodys-own-token",
		"LEGWORK_ADMINS":          "telegram:123,telegram:@alice,U1",
	}
	_, err := conf.FromEnv(variables(env))
	var got conf.Errors
	if !errors.As(err, &got) {
		t.Fatalf("FromEnv returned %v, want Errors", err)
	}
	var keys []string
	for _, e := range got {
		keys = append(keys, e.Key)
	}
	want := []string{"TELEGRAM_BOT_TOKEN", "TELEGRAM_WEBHOOK_SECRET", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "LEGWORK_ADMINS", "LEGWORK_ADMINS"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Errorf("variables with mistakes (-want +got):\n%s\n%v", diff, got)
	}
	for _, name := range []string{"TELEGRAM_BOT_TOKEN", "TELEGRAM_WEBHOOK_SECRET", "SLACK_BOT_TOKEN"} {
		if strings.Contains(got.Error(), env[name]) {
			t.Errorf("the value of %s is in the errors:\n%v", name, got)
		}
	}
}

// TestDemo: the config of the demo has no mistakes and no warnings, and names the model
// that answers.
func TestDemo(t *testing.T) {
	config := demo(t)
	if w := config.Warnings(); len(w) > 0 {
		t.Errorf("warnings about the config of the demo: %v", w)
	}
	if config.Timezone != "Asia/Kathmandu" {
		t.Errorf("timezone is %q, want Asia/Kathmandu", config.Timezone)
	}
	if name := config.LLM.WithDefaults().Roles[llm.RoleAnswer]; !config.LLM.Models[name].Offline {
		t.Errorf("the model %q answers in the demo, want the offline stand-in", name)
	}
}

// demo is the config of the demo.
func demo(t *testing.T) *conf.Config {
	t.Helper()
	path, err := conf.WriteDemo(t.TempDir(), "Asia/Kathmandu")
	if err != nil {
		t.Fatal(err)
	}
	config, err := conf.Load(path, func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
