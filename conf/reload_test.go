package conf_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"legwork/conf"
	"legwork/internal/test/watch"
)

// TestWatch: a change of the config file or of .env is told, however it is
// written; other files are not.
func TestWatch(t *testing.T) {
	t.Parallel()
	replace := func(path, text string) error {
		fresh := path + ".new"
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(fresh, path)
	}
	write := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for _, test := range []struct {
		name, file string
		change     func(path, text string) error
		want       bool
	}{
		{"written over", "config.yaml", write, true},
		{"replaced", "config.yaml", replace, true},
		{"variables", ".env", write, true},
		{"another file", "notes.txt", write, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "config.yaml")
			if err := write(path, "language: en\n"); err != nil {
				t.Fatal(err)
			}
			changed := make(chan struct{}, 1)
			w, err := conf.Watch(path, slog.New(slog.DiscardHandler), changed)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := test.change(filepath.Join(folder, test.file), "language: ru\n"); err != nil {
				t.Fatal(err)
			}
			if !test.want { // the messages come after it
				if err := write(path, "language: zh\n"); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-changed:
			case <-time.After(watch.Patience):
				t.Fatal("the change was not told")
			}
			select {
			case <-changed:
				t.Error("one change was told twice")
			case <-time.After(500 * time.Millisecond):
			}
		})
	}
}

// TestWatchImports: imported files are watched as long as they are imported,
// and the config file all the time.
func TestWatchImports(t *testing.T) {
	t.Parallel()
	folder, other := t.TempDir(), t.TempDir()
	path, imported := filepath.Join(folder, "config.yaml"), filepath.Join(other, "mcp.json")
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	write(imported)
	changed := make(chan struct{}, 1)
	w, err := conf.Watch(path, slog.New(slog.DiscardHandler), changed)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	told := func(what string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(watch.Patience):
			t.Fatalf("a change of %s was not told", what)
		}
	}
	w.Also(imported, filepath.Join(folder, "more.json"))
	write(imported)
	told("the imported file")
	write(filepath.Join(folder, "more.json"))
	told("a file beside the config")
	write(path)
	told("the config file")
	w.Also()
	write(imported)
	write(filepath.Join(folder, "more.json"))
	select {
	case <-changed:
		t.Error("a change of a file that is no longer imported was told")
	case <-time.After(600 * time.Millisecond):
	}
	write(path)
	told("the config file")
}

func TestSecrets(t *testing.T) {
	path := write(t, `
models:
  main: {model: m, api_key: "${KEY}", base_url: "https://user:pass-of-url@example.com/v1", extra_body: {user: me, auth: {token: body-token}}}
telegram: {token: "${TELEGRAM}", webhook: {secret: webhook-secret}}
slack: {bot_token: xoxb-1-2-bot, app_token: xapp-1-app, signing_secret: signing}
servers:
  math: {builtin: math}
  shell: {command: "true", args: [--password, "${SHELL_PASSWORD}", "${NAME}"], env: {API_TOKEN: env-token, COLOUR: blue, LOGIN: "${file:login-secret.txt}"}}
instructions: "${NAME} ${KEY}"
`)
	writeFile(t, filepath.Join(filepath.Dir(path), "login-secret.txt"), []byte("from-a-file\n"))
	config, err := conf.Load(path, variables(map[string]string{
		"KEY": "sk-1", "TELEGRAM": botToken, "SHELL_PASSWORD": "shell-password", "NAME": "harmless",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		botToken, "body-token", "env-token", "from-a-file", "pass-of-url", "shell-password", "signing", "sk-1",
		"webhook-secret", "xapp-1-app", "xoxb-1-2-bot",
	}
	if diff := cmp.Diff(want, config.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
}

func TestSecretsOfHeaders(t *testing.T) {
	config := demo(t)
	server := config.Tools.Servers["math"]
	server.Headers = map[string]string{"Authorization": "Bearer abc", "X-Api": "def"}
	server.URL = "https://u:url-password@example.com/?api_key=in+query&author=somebody"
	server.Args = []string{"--api-key", "spaced", "--auth-token=joined", "--key-size", "4096", "--password", "--quiet", "secret"}
	server.Args = append(server.Args, "https://u:argument-password@example.com/?token=in-argument", "--header", "Authorization: Bearer of-a-proxy", "--header=X-Api-Key:joined-header", "-H", "Accept: text/plain", "-e", "API_KEY=of-a-container", "--db=postgres://u:joined-password@db/x")
	server.Env = map[string]string{"DATABASE_URL": "postgres://u:database-password@localhost/db", "HOME": "/home/somebody"}
	server.Options = map[string]any{"headers": map[string]any{"X-Way": "in"}, "url": "https://u:option-password@example.com"}
	config.Tools.Servers["math"] = server
	config.Telemetry.OTLPEndpoint = "https://collector.example.com/?token=of-traces"
	config.Telemetry.OTLPHeaders = map[string]string{"Authorization": "Bearer collector-key", "X-Scope": "tenant-of-the-team"}
	if diff := cmp.Diff([]string{
		"Bearer abc", "Bearer collector-key", "Bearer of-a-proxy", "abc", "argument-password", "collector-key", "database-password", "def", "in",
		"in query", "in-argument", "joined", "joined-header", "joined-password", "of-a-container", "of-a-proxy", "of-traces", "option-password", "spaced", "tenant-of-the-team", "url-password",
	}, config.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"Bearer collector-key", "Bearer of-a-proxy", "argument-password", "collector-key", "database-password", "joined-header", "joined-password", "of-a-container",
		"option-password", "url-password",
	}, config.Credentials()); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
}

func TestChanges(t *testing.T) {
	const before = `
data_dir: /var/lib/legwork
models: {main: {model: m}}
telegram: {token: "${TOKEN}"}
limits: {rounds: 3}
servers: {math: {builtin: math}}
`
	tests := []struct {
		name, text       string
		changed, restart []string
	}{
		{"nothing", before, nil, nil},
		{"a default written down", before + "language: en\nhttp: {listen: \"127.0.0.1:8080\"}\nroles: {plan: main}\n", nil, nil},
		{"a default within a platform", strings.Replace(before, `"${TOKEN}"`, `"${TOKEN}", mode: poll`, 1), nil, nil},
		{"approvals and imports", before + "approvals: {show_in: private}\nimport_servers: []\n", []string{"approvals"}, nil},
		{"budgets", before + "budget: {day_tokens: 5}\n", []string{"budget"}, nil},
		{"the care of the data", before + "backup: {keep: 3}\nretention: {tasks: 1d}\n", []string{"backup", "retention"}, []string{"backup", "retention"}},
		{"access", before + "access: {telegram: {users: [1]}}\n", []string{"access"}, nil},
		{"a model", strings.Replace(before, "model: m", "model: n", 1), []string{"models"}, nil},
		{"limits", strings.Replace(before, "rounds: 3", "rounds: 4, concurrent_tasks: 8", 1), []string{"limits", "limits.concurrent_tasks"}, []string{"limits.concurrent_tasks"}},
		{"a token", strings.Replace(before, "TOKEN", "OTHER", 1), []string{"telegram"}, []string{"telegram"}},
		{"tokens", before + "http: {rate: 5, tokens: [{name: a, role: viewer, sha256: " + strings.Repeat("a", 64) + "}]}\n", []string{"http"}, nil},
		{"an address", before + "http: {listen: \"127.0.0.1:1\"}\n", []string{"http.listen"}, []string{"http.listen"}},
		{"a platform more", before + "slack: {bot_token: xoxb-1, app_token: xapp-1}\n", []string{"slack"}, []string{"slack"}},
		{"a folder and a server", strings.Replace(strings.Replace(before, "/var/lib/legwork", "/srv", 1), "math: {builtin: math}", "clock: {builtin: clock}", 1), []string{"data_dir", "servers"}, []string{"data_dir"}},
	}
	load := func(t *testing.T, text string) *conf.Config {
		t.Helper()
		config, err := conf.Load(write(t, text), variables(map[string]string{"TOKEN": botToken, "OTHER": botToken + "x"}))
		if err != nil {
			t.Fatalf("%v\nin %s", err, text)
		}
		return config
	}
	old := load(t, before)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			young := load(t, test.text)
			if diff := cmp.Diff(test.changed, conf.Changed(old, young)); diff != "" {
				t.Errorf("changed keys (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.restart, conf.Restart(old, young), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("keys that need a restart (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCredentials: what only names something, or is short, may stand in what a
// tool returns.
func TestCredentials(t *testing.T) {
	config := demo(t)
	server := config.Tools.Servers["math"]
	server.Headers = map[string]string{"Authorization": "Bearer abcdefghijkl", "Accept": "application/json", "X-Api-Key": "short"}
	server.Env = map[string]string{"API_KEY": "key-of-the-server", "HOME": "/home/of/the/server"}
	config.Tools.Servers["math"] = server
	if diff := cmp.Diff([]string{"Bearer abcdefghijkl", "abcdefghijkl", "key-of-the-server"}, config.Credentials()); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
}
