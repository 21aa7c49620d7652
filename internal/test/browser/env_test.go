package browser_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/watch"
)

// env is a legwork serve with a fake model and a fake tool server, and a proxy in front
// of it: the address of the page stays when legwork is started again, and connections
// can be cut.
type env struct {
	t      *testing.T
	dir    string
	models *llmfake.Server
	URL    string // of the proxy, without a slash at its end

	cmd     *exec.Cmd
	ended   chan struct{}
	log     *watch.Log // of the present process
	to      atomic.Pointer[url.URL]
	mu      sync.Mutex
	streams map[*http.Request]func() // open streams of events, and how to cut them
	opened  int                      // streams so far
	away    atomic.Bool              // browsers do not reach legwork
}

// The people who sign in, by role.
var roles = []string{"admin", "operator", "viewer"}

// token is the token of a role.
func token(role string) string { return "lw_" + strings.Repeat("x", 40) + role }

// newEnv starts legwork. more are further keys of the config file.
func newEnv(t *testing.T, more string) *env {
	t.Helper()
	e := &env{t: t, dir: t.TempDir(), streams: map[*http.Request]func(){}}
	e.models = llmfake.New(t, llmfake.Options{Key: "sk-secret-page", Respond: think})
	var tokens []string
	for _, role := range roles {
		tokens = append(tokens, fmt.Sprintf("{name: %s, sha256: %x, role: %[1]s}", role, sha256.Sum256([]byte(token(role)))))
	}
	server := programs.Path(t, "legwork/internal/test/fakes/mcpserver")
	e.write("config.yaml", fmt.Sprintf(`# The config of a test.
data_dir: data
backup: {every: 0}
models:
  main: {base_url: %q, api_key: sk-secret-page, model: fake}
servers:
  desk: {command: %q, args: [-full]}
groups:
  desk: {description: Looks things up., servers: [desk], tools: [lookup, slow], read_only: ["*"], tool_timeout: 10m}
  shop: {description: Buys things., servers: [desk], tools: [book]}
http: {listen: "127.0.0.1:0", tokens: [%s]}
%s`, e.models.URL, server, strings.Join(tokens, ", "), more))
	proxy := httptest.NewServer(http.HandlerFunc(e.serve))
	t.Cleanup(proxy.Close)
	e.URL = proxy.URL
	e.start()
	t.Cleanup(func() {
		e.kill()
		if t.Failed() {
			text := e.log.String()
			t.Logf("legwork logged:\n%s", text[max(0, len(text)-6000):])
		}
	})
	return e
}

// shop is what the answer of a plan with a purchase holds.
const shop = "You have **a boat** now."

// think is the model: a goal with the word "boat" gets a plan that looks things up and
// buys one, "wait" one that works until it is stopped, "long" an answer of 200 kB.
func think(r llmfake.Request) llmfake.Response {
	goal, _ := r.Tagged("goal")
	step, _ := llmfake.StepOf(r)
	switch {
	case step == llmfake.StepPlan && strings.Contains(goal, "boat"):
		return llmfake.Call("plan", `{"plan": [{"id": "a", "name": "desk", "description": "look boats up"}, {"id": "b", "name": "shop", "description": "buy a boat", "after": ["a"]}]}`)
	case step == llmfake.StepPlan && strings.Contains(goal, "wait"):
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "wait for the tide"}]}`)
	case step == llmfake.StepPlan && strings.Contains(goal, "huge"):
		return llmfake.Call("plan", `{"plan": [{"id": "a", "name": "evil", "description": "huge"}]}`)
	case step == llmfake.StepPlan && strings.Contains(goal, "hostile"):
		name, words := "evil", encoded("hostile "+strings.Join(hostile()[:20], " "))
		if len(r.Messages) < 4 { // the first try; it is refused
			name = hostile()[1]
		}
		return llmfake.Call("plan", fmt.Sprintf(`{"plan": [{"id": "a", "name": %s, "description": %s}, {"id": "b", "name": %[1]s, "description": "broken"}]}`, encoded(name), words))
	case step == llmfake.StepPlan && strings.Contains(goal, "report"):
		return llmfake.Call("plan", `{"plan": [], "wants_file": true}`)
	case strings.Contains(goal, "report"):
		if r.Messages[len(r.Messages)-1].Role != "tool" {
			return llmfake.Call("make_file", `{"name": "report.docx", "text": "# Sales\n\nThey rose."}`)
		}
		return llmfake.Say("Here is the report.")
	case step == llmfake.StepReview:
		return llmfake.Call("plan", `{"plan": []}`)
	case step == llmfake.StepWork:
		return work(r)
	case strings.Contains(goal, "long"):
		return llmfake.Say(strings.Repeat("A sentence that is one of very many. ", 200<<10/37))
	case strings.Contains(goal, "boat"):
		return llmfake.Say("# Boats\n\n" + shop + "\n\n| part | price |\n|---|---|\n| oar | 7 |\n")
	}
	return llmfake.Say("You said: " + goal)
}

// work calls the tool that a sub-task is about, and then tells its result.
func work(r llmfake.Request) llmfake.Response {
	for _, m := range r.Messages {
		if m.Role == "tool" {
			return llmfake.Say("The tool said: " + m.Content)
		}
	}
	task, _ := r.Tagged("task")
	for words, call := range map[string][2]string{
		"look": {"lookup", `{"key":"boats"}`}, "buy": {"book", `{"item":"a boat"}`}, "wait": {"slow", `{"ms":600000}`},
		"hostile": {"tell", "{}"}, "broken": {"fail", "{}"}, "huge": {"huge", "{}"},
	} {
		for _, tool := range r.Tools {
			if strings.Contains(task, words) && strings.HasSuffix(tool.Name, call[0]) {
				return llmfake.Call(tool.Name, call[1])
			}
		}
	}
	return llmfake.Say("There is no tool for this.")
}

func (e *env) write(name, text string) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), []byte(text), 0o600); err != nil {
		e.t.Fatal(err)
	}
}

var listening = regexp.MustCompile(`(?m)msg=listening address=(\S+)`)

// start starts legwork, and returns when the proxy leads to it.
func (e *env) start() {
	e.t.Helper()
	e.log = &watch.Log{}
	e.cmd = exec.Command(programs.Path(e.t, "legwork/cmd/legwork"), "serve", "--config", "config.yaml")
	e.cmd.Dir = e.dir
	e.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + e.dir, "USER=tester", "TMPDIR=" + os.TempDir()}
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	ended := make(chan struct{})
	e.ended = ended
	go func(cmd *exec.Cmd) {
		defer close(ended)
		_ = cmd.Wait() // its outcome is in ProcessState
	}(e.cmd)
	e.logs("msg=listening address=")
	e.logs("msg=serving")
	e.to.Store(&url.URL{Scheme: "http", Host: listening.FindStringSubmatch(e.log.String())[1]})
}

// logs waits until the log holds text.
func (e *env) logs(text string) {
	e.t.Helper()
	watch.Until(e.t, fmt.Sprintf("legwork logs %q", text), func() bool {
		select {
		case <-e.ended:
			e.t.Fatalf("legwork ended before it logged %q", text)
		default:
		}
		return strings.Contains(e.log.String(), text)
	})
}

func (e *env) kill() {
	_ = e.cmd.Process.Signal(syscall.SIGKILL) // it may have ended
	<-e.ended
}

// restart kills legwork and starts it again.
func (e *env) restart() {
	e.t.Helper()
	e.kill()
	e.start()
}

// serve passes a request on, and keeps streams so that they can be cut.
func (e *env) serve(w http.ResponseWriter, r *http.Request) {
	proxy := httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(e.to.Load())
			p.Out.Host = p.In.Host // Origin and Host have to be the same
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	if e.away.Load() && r.Header.Get("Authorization") == "" {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	if strings.HasSuffix(r.URL.Path, "/events") {
		ctx, cut := context.WithCancel(r.Context())
		defer cut()
		e.mu.Lock()
		e.streams[r] = cut
		e.opened++
		e.mu.Unlock()
		defer func(r *http.Request) {
			e.mu.Lock()
			delete(e.streams, r)
			e.mu.Unlock()
		}(r)
		r = r.WithContext(ctx)
	}
	proxy.ServeHTTP(w, r)
}

// cut cuts all open streams and returns how many there were.
func (e *env) cut() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, cut := range e.streams {
		cut()
	}
	return len(e.streams)
}

// open is how many streams are open and how many were opened so far.
func (e *env) open() (now, ever int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.streams), e.opened
}

// call sends a request of a role's token and returns status and body.
func (e *env) call(role, method, path string, body any) (int, string) {
	e.t.Helper()
	var sent io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			e.t.Fatal(err)
		}
		sent = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(e.t.Context(), method, e.URL+path, sent)
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token(role))
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// gets is what a call returns for a role.
func (e *env) gets(role, path string, into any) {
	e.t.Helper()
	code, text := e.call(role, http.MethodGet, path, nil)
	if code != http.StatusOK {
		e.t.Fatalf("GET %s for %s: got %d %s", path, role, code, text)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		e.t.Fatalf("GET %s: %v", path, err)
	}
}

// follow reads a stream of events until one has the data that is wanted.
func (e *env) follow(role, path string, wanted func(data string) bool) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.t.Context(), watch.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, e.URL+path, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token(role))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is && wanted(data) {
			return
		}
	}
	e.t.Fatalf("%s ended before the event that was wanted: %v", path, lines.Err())
}

// enter opens a tab and signs a role in. Before that, the page asks who is signed in.
func (e *env) enter(role string, v browser.View) *browser.Tab {
	e.t.Helper()
	tab := chromium.Browser(e.t).Tab(e.t, v)
	tab.Allow(`status of 401 .*/v1/session$`)
	tab.Go(e.URL + "/console/")
	tab.Fill(browser.Box("Token"), token(role))
	tab.Click(browser.Button("Sign in"))
	tab.Gone(browser.Button("Sign in"))
	return tab
}
