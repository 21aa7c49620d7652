package e2e_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestRemote: servers over HTTP and HTTP+SSE are called in every era, and are
// reached again after they forgot their sessions and after they were gone.
func TestRemote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flag   string
		more   string // further keys of the server
		flags  []string
		forget []string // flags that have it forget a session; nil: it has none
	}{
		"HTTP, modern": {"-http", "", []string{"-era", "modern"}, nil},
		"HTTP, legacy": {"-http", "", []string{"-era", "legacy"}, []string{"-fault", "session", "-after", "1", "-times", "1"}},
		"SSE":          {"-sse", ", type: sse", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: orders{}.think, limit: 5 * time.Second, wait: patience})
			address, stop := w.stoppable(append(append([]string{c.flag, "127.0.0.1:0"}, c.flags...), c.forget...)...)
			w.serves(address, c.more)
			p := w.start("chat", "--json")
			for i := range 3 {
				id := fmt.Sprintf("q%d", i)
				p.says(p.ask(id, fmt.Sprintf(`%s: desk lookup {"key":"k%d"}`, id, i)), false, fmt.Sprintf("value of k%d", i))
			}
			if log := w.read("calls.jsonl"); c.forget != nil && !strings.Contains(log, `"note":"session"`) {
				t.Errorf("no session was forgotten: %s", log)
			}
			if log := w.read("calls.jsonl"); strings.Contains(log, `"event":"violation"`) {
				t.Errorf("the server accuses the client: %s", log)
			}

			stop()
			p.says(p.ask("gone", `gone: desk lookup {"key":"missing"}`), false, "The tools said: ")
			at, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			w.stoppable(append([]string{c.flag, at.Host}, c.flags...)...)
			late := time.Now().Add(patience)
			for i := 0; ; i++ {
				id := fmt.Sprintf("again%d", i)
				if answer := p.ask(id, id+`: desk lookup {"key":"again"}`); strings.Contains(answer.Text, "value of again") {
					break
				} else if time.Now().After(late) {
					t.Fatalf("after %v the server was not reached again: %q", patience, answer.Text)
				}
			}
			p.end()
		})
	}
}

// TestRemoteToken: a server that wants a token says so to the model and in the
// log, with the key that is to be set; with it, it works, and no person or
// model reads the token.
func TestRemoteToken(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: orders{}.think, limit: 5 * time.Second, wait: patience})
	const token = "token-of-the-tools-e2e"
	address := w.remote("-http", "127.0.0.1:0", "-token", token, "-full")
	w.serves(address, "")
	p := w.start("chat", `q1: desk lookup {"key":"x"}`)
	p.end()
	if told := p.out.String() + p.err.String(); !strings.Contains(told, "401") || !strings.Contains(told, "headers") {
		t.Errorf("without a token: got %q, want 401 and the key headers", told)
	}
	w.configure(strings.Replace(w.config, address+`"`, address+`", headers: {Authorization: "Bearer `+token+`"}`, 1))
	p = w.start("chat", "--json")
	p.says(p.ask("q2", `q2: desk lookup {"key":"x"}`), false, "value of x")
	p.end()
	prompts := ""
	for _, r := range w.models.Requests() {
		prompts += string(r.Raw)
	}
	if strings.Contains(p.out.String()+p.err.String()+prompts, token) {
		t.Error("the token went out")
	}
}
