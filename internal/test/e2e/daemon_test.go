package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// serving is a running legwork serve whose http.listen is a port of its choice.
type serving struct {
	*program
	w       *env
	address string // of the first listener: "127.0.0.1:40000"
}

// serve starts legwork serve and waits until it listens. What it writes must
// hold none of secrets, which is looked at when the test is over.
func (w *env) serve(secrets ...string) *serving {
	w.t.Helper()
	s := &serving{program: w.start("serve"), w: w}
	secrets = append(secrets, "sk-secret-e2e")
	w.t.Cleanup(func() {
		for _, secret := range secrets {
			for name, text := range map[string]string{"stdout": s.out.String(), "stderr": s.err.String()} {
				for _, hidden := range []string{secret, url.QueryEscape(secret), strings.Trim(string(asJSON(w.t, secret)), `"`)} {
					if i := strings.Index(text, hidden); i >= 0 {
						w.t.Errorf("a secret is on %s: %s", name, text[max(0, i-200):min(len(text), i+200)])
					}
				}
			}
		}
	})
	s.address = s.listens(1)[0]
	return s
}

var listening = regexp.MustCompile(`(?m)msg=listening address=(\S+)`)

// listens waits for n listeners and returns their addresses in order.
func (s *serving) listens(n int) []string {
	s.t.Helper()
	var found [][]string
	s.until("the addresses in the log", func() bool {
		found = listening.FindAllStringSubmatch(s.err.String(), -1)
		return len(found) >= n && strings.Contains(s.err.String(), "msg=serving")
	})
	var list []string
	for _, f := range found {
		list = append(list, f[1])
	}
	return list
}

// stops ends it by SIGTERM, which must be clean. It is not where that takes more
// than 10 s.
func (s *serving) stops() {
	s.t.Helper()
	s.signal(syscall.SIGTERM)
	if code := s.code(); code != 0 {
		s.t.Errorf("SIGTERM: got exit code %d, want 0", code)
	}
	if text := s.err.String(); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic") {
		s.t.Errorf("the log of the end: %s", text[max(0, len(text)-3000):])
	}
}

func (s *serving) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// readiness is what /readyz says.
type readiness struct {
	Code   int               `json:"-"`
	Status string            `json:"status"`
	Parts  map[string]string `json:"parts"`
}

// ready asks /readyz.
func (s *serving) ready() readiness {
	s.t.Helper()
	code, body := s.get("/readyz")
	r := readiness{Code: code}
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		s.t.Fatalf("/readyz: got %d %q: %v", code, body, err)
	}
	return r
}

// becomes waits until /readyz says something. Nothing tells when that changes,
// so it is asked again and again.
func (s *serving) becomes(what string, within time.Duration, fits func(readiness) bool) {
	s.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.After(within)
	for {
		r := s.ready()
		if fits(r) {
			return
		}
		select {
		case <-tick.C:
		case <-s.ended:
			s.t.Fatalf("waiting until it is %s: legwork ended", what)
		case <-late:
			s.t.Fatalf("/readyz is not %s within %v: got %+v", what, within, r)
		}
	}
}

// readyAgain waits until it receives; what it can do without may still be down.
func (s *serving) readyAgain(within time.Duration) {
	s.t.Helper()
	s.becomes("ready", within, func(r readiness) bool { return r.Code == http.StatusOK })
}

func (s *serving) get(path string) (code int, body string) {
	s.t.Helper()
	response, err := http.Get("http://" + s.address + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// webhookProxy is a proxy in front of legwork, as webhooks come by one: its address is
// known before legwork listens, and stays when legwork is started again.
type webhookProxy struct {
	URL string
	to  atomic.Pointer[url.URL]
}

func newWebhookProxy(t *testing.T) *webhookProxy {
	t.Helper()
	f := &webhookProxy{}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(f.to.Load()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.to.Load() == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// leads has the proxy lead to an address.
func (f *webhookProxy) leads(address string) {
	f.to.Store(&url.URL{Scheme: "http", Host: address})
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

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
