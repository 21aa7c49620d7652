package setup_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/app/probe"
	"legwork/app/setup"
	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/conf"
	"legwork/i18n"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// env is a folder and the services that answers are tried on.
type env struct {
	t       *testing.T
	folder  string
	model   string // its address
	search  string // its address
	options setup.Options
	vars    map[string]string
	out     bytes.Buffer
	columns uint16 // of the pseudo-terminal; 0: it does not say
}

func newEnv(t *testing.T) *env {
	t.Helper()
	models := llmfake.New(t, llmfake.Options{Models: []string{"big"}, Key: key, Respond: func(llmfake.Request) llmfake.Response {
		return llmfake.Say("ok")
	}})
	people := telegramfake.New(t, telegramfake.Options{Token: botToken})
	team := slackfake.New(t, slackfake.Options{})
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"results": [{"url": "https://example.com/", "title": "Weather"}]}`)
	}))
	t.Cleanup(pages.Close)
	b := &env{t: t, folder: t.TempDir(), model: models.URL, search: pages.URL + "/search?key=a$b", vars: map[string]string{"LANG": "en_US.UTF-8", "TZ": "Asia/Tokyo"}}
	b.options = setup.Options{
		Out: &b.out, Texts: texts, Config: b.file("config.yaml"), EnvFile: conf.EnvFile,
		Environment: func(name string) (string, bool) { value, ok := b.vars[name]; return value, ok },
		TelegramAPI: people.URL, SlackAPI: team.APIURL, Admin: conf.AdminProblem, SearchProblem: probe.SearchProblem,
		Schema: conf.Schema(), NewToken: func() (string, string) {
			return apiToken, `- {name: "init", sha256: "` + conf.HashToken(apiToken) + `", role: operator}`
		},
		Try: setup.Try{Models: probe.Models, Model: probe.Model, Window: probe.Window, Telegram: telegram.Try, Slack: slack.Try, Search: probe.Search},
	}
	return b
}

func (b *env) file(name string) string { return filepath.Join(b.folder, name) }

func (b *env) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(b.file(name), []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *env) read(name string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.file(name))
	if err != nil {
		b.t.Fatalf("%v; the talk was\n%s", err, b.out.String())
	}
	return string(text)
}

// run answers with lines over a pipe.
func (b *env) run(lines ...string) (setup.Outcome, error) {
	b.t.Helper()
	saved, _, err := conf.WithEnvFile(b.folder, func(string) (string, bool) { return "", false })
	if err != nil {
		b.t.Fatal(err)
	}
	b.options.Saved = saved
	in, pipe, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	defer in.Close()
	if _, err := io.WriteString(pipe, strings.Join(lines, "\n")+"\n"); err != nil {
		b.t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.options.In = in
	return setup.Run(b.t.Context(), b.options)
}

// load reads what was written as serve does.
func (b *env) load() *conf.Config {
	b.t.Helper()
	env, warning, err := conf.WithEnvFile(b.folder, b.options.Environment)
	if err != nil || warning != "" {
		b.t.Fatalf("reading .env: warning %q, error %v", warning, err)
	}
	config, err := conf.Load(b.file("config.yaml"), env)
	if err != nil {
		b.t.Fatalf("the written file does not load: %v\n%s", err, b.read("config.yaml"))
	}
	return config
}

// golden compares got with a file of testdata, without what differs from run to
// run.
func (b *env) golden(name, got string) {
	b.t.Helper()
	got = strings.NewReplacer(b.model, "MODEL_URL", strings.ReplaceAll(b.search, "$", "$$"), "SEARCH_URL", b.search, "SEARCH_URL", b.options.TelegramAPI, "TELEGRAM_URL", b.options.SlackAPI, "SLACK_URL", b.folder, "FOLDER").Replace(got)
	path := filepath.Join("testdata", name)
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
			b.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		b.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
