package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWrongConfig: every mistake is named with its place, and nothing starts.
func TestWrongConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		want   []string
	}{
		"wrong keys and values": {"models:\n  main: {model: fake, timeuot: 5s, tool_calls: maybe}\nlog: {level: loud}\n", []string{
			`config.yaml:3:23: models.main.timeuot`, `timeout`, `config.yaml:3:48: models.main.tool_calls`, `native`, `config.yaml:4:14: log.level`, `debug`,
		}},
		"a missing variable":      {"models:\n  main: {model: fake, api_key: \"${NO_SUCH_KEY}\"}\n", []string{"config.yaml:3:32: models.main.api_key", "NO_SUCH_KEY"}},
		"a missing file":          {"models:\n  main: {model: fake, api_key: \"${file:no/such}\"}\n", []string{"models.main.api_key", "no/such"}},
		"no YAML":                 {"models: [\n", []string{"config.yaml:"}},
		"no model":                {"language: en\n", []string{"models"}},
		"a group without servers": {"models: {main: {model: fake}}\ngroups: {desk: {servers: [dsek]}}\nservers: {desk: {builtin: math}}\n", []string{"groups.desk.servers", "dsek", "desk"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{})
			w.configure(c.config)
			for _, args := range [][]string{{"chat", "hello"}, {"chat", "--json", "--config", "config.yaml"}} {
				p := w.start(args...)
				if code := p.code(); code != 1 || p.out.String() != "" {
					t.Errorf("%q: got exit code %d, stdout %q; want 1 and nothing", args, code, p.out.String())
				}
				for _, want := range c.want {
					if got := p.err.String(); !strings.Contains(got, want) {
						t.Errorf("%q: got %q, want it to hold %q", args, got, want)
					}
				}
			}
			if n := len(w.models.Requests()); n > 0 {
				t.Errorf("the model was called %d times", n)
			}
		})
	}
}

// TestNoConfig: without a config file and variables, the sentence says what to
// set.
func TestNoConfig(t *testing.T) {
	t.Parallel()
	w := &env{t: t, dir: t.TempDir()}
	p := w.start("chat", "hello")
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "OPENAI_API_KEY") || !strings.Contains(p.err.String(), "legwork demo") {
		t.Errorf("got exit code %d, %q; want 1 and what to set", code, p.err.String())
	}
	p = w.start("chat", "--config", "nowhere.yaml", "hello")
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "nowhere.yaml") {
		t.Errorf("got exit code %d, %q; want 1 and the file", code, p.err.String())
	}
}

// TestEnvironmentAlone: two variables are enough to chat.
func TestEnvironmentAlone(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	models := w.models.URL
	w.dir = t.TempDir()
	cmd := w.command("chat", "first:", "math 6*7;", "clock Tokyo")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret-e2e", "OPENAI_BASE_URL="+models, "OPENAI_MODEL=of-the-environment")
	p := w.launch(cmd)
	p.end()
	if !strings.Contains(p.out.String(), "[first]") || w.models.Requests()[0].Model != "of-the-environment" {
		t.Errorf("got %q by the model %q, want an answer by the one named", p.out.String(), w.models.Requests()[0].Model)
	}
}

// TestLocked: a second process says who holds the data, changes nothing, and
// works when the first one is gone.
func TestLocked(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	first := w.start("chat", "--json")
	first.says(first.ask("q", "first: hello"), false, "first: hello")
	second := w.start("chat", "hello")
	want := fmt.Sprintf("in use by pid %d (legwork chat, since ", first.cmd.Process.Pid)
	if code := second.code(); code != 1 || !strings.Contains(second.err.String(), want) || second.out.String() != "" {
		t.Errorf("got exit code %d, stdout %q, stderr %q; want 1 and %q", code, second.out.String(), second.err.String(), want)
	}
	first.goesOn()
	third := w.start("chat", "later: hello")
	third.end()
	if got, want := third.out.String(), "[later] answers: later: hello\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
