package e2e_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
)

// outsider is who calls the API with a token.
type outsider struct {
	t     *testing.T
	url   string
	token string
}

// tokenOf is the token of a name in these tests, and tokenLine its line in the
// config. Agents see the tasks of all programs, so that they can work together.
func tokenOf(name string) string { return "lw_" + strings.Repeat("x", 40) + name }

func tokenLine(name, role string) string {
	chats := ""
	if role == "agent" {
		chats = `, chats: ["api:*"]`
	}
	return fmt.Sprintf("{name: %s, sha256: %x, role: %s%s}", name, sha256.Sum256([]byte(tokenOf(name))), role, chats)
}

// calls sends a request whose answer must have one of the codes; none: 200 or 201.
func (o outsider) calls(method, path, body string, into any, codes ...int) {
	o.t.Helper()
	code, text := o.sends(method, path, body)
	if len(codes) == 0 {
		codes = []int{http.StatusOK, http.StatusCreated}
	}
	if !slices.Contains(codes, code) {
		o.t.Fatalf("%s %s as %s gave %d %s, want %d", method, path, strings.TrimPrefix(o.token, tokenOf("")), code, text, codes)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		o.t.Fatalf("%s %s gave %s: %v", method, path, text, err)
	}
}

func (o outsider) sends(method, path, body string) (code int, text []byte) {
	o.t.Helper()
	reply := o.asks(method, path, body)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	return reply.StatusCode, text
}

// asks sends a request whose reply is the caller's to read and close.
func (o outsider) asks(method, path, body string) *http.Response {
	o.t.Helper()
	r, err := http.NewRequestWithContext(o.t.Context(), method, o.url+path, strings.NewReader(body))
	if err != nil {
		o.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodGet {
		r.Header.Set("Prefer", "wait=10") // the agents that can
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		o.t.Fatal(err)
	}
	return reply
}

// outcome waits until a task is over, and reads it.
func (o outsider) outcome(task string, into any) {
	o.t.Helper()
	for late := time.Now().Add(patience); ; {
		var seen json.RawMessage
		o.calls(http.MethodGet, "/v1/tasks/"+task, "", &seen)
		var t struct {
			Finished *time.Time `json:"finished_at"`
		}
		if err := errors.Join(json.Unmarshal(seen, &t), json.Unmarshal(seen, into)); err != nil {
			o.t.Fatal(err)
		}
		if t.Finished != nil {
			return
		}
		if time.Now().After(late) {
			o.t.Fatalf("the task is not over: %s", seen)
		}
	}
}

// shared is the state of a context as the example's agents use it.
type shared struct {
	State struct {
		Status string `json:"status"`
		Draft  struct {
			Number int    `json:"number"`
			Text   string `json:"text"`
		} `json:"draft"`
	} `json:"state"`
	Version int `json:"version"`
}

// review waits until a person is asked about a draft, and returns the draft and
// the id of the question.
func (o outsider) review(task string) (draft, approval string) {
	o.t.Helper()
	after := -1
	for late := time.Now().Add(patience); ; {
		var s shared
		path := "/v1/tasks/" + task + "/state"
		if after >= 0 {
			path += fmt.Sprintf("?keys=status&after=%d", after)
		}
		o.calls(http.MethodGet, path, "", &s)
		if s.State.Status == "NEEDS_HUMAN_REVIEW" {
			break
		}
		if after = s.Version; time.Now().After(late) {
			o.t.Fatalf("no review was asked for: %+v", s)
		}
	}
	var waiting struct {
		Items []struct {
			ID   string `json:"id"`
			Kind string `json:"kind"`
		} `json:"items"`
	}
	o.calls(http.MethodGet, "/v1/approvals?task="+task, "", &waiting)
	if len(waiting.Items) != 1 || waiting.Items[0].Kind != "review" {
		o.t.Fatalf("of the task there wait %+v, want one review", waiting.Items)
	}
	var s shared
	o.calls(http.MethodGet, "/v1/tasks/"+task+"/state", "", &s)
	return s.State.Draft.Text, waiting.Items[0].ID
}

// library is a legwork with the example's agents.
type library struct {
	*env
	front *webhookProxy
	ann   outsider // a person
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	w := newEnv(t, options{more: fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s, %s, %s]}\n",
		tokenLine("ann", "operator"), tokenLine("reviewer", "agent"), tokenLine("writer", "agent"))})
	l := &library{env: w, front: newWebhookProxy(t)}
	l.ann = outsider{t, l.front.URL, tokenOf("ann")}
	return l
}

// opens starts legwork.
func (l *library) opens() *serving {
	l.t.Helper()
	s := l.serve(tokenOf("ann"), tokenOf("reviewer"), tokenOf("writer"))
	l.front.leads(s.address)
	return s
}

// agent starts one of the example's agents.
func (l *library) agent(name, task string) *program {
	l.t.Helper()
	cmd := exec.Command(programs.Path(l.t, "legwork/examples/agents/reviewer"), "-task", task, "-url", l.front.URL)
	if name == "writer" {
		python := need.Command(l.t, "python3", "apt-get install python3")
		cmd = exec.Command(python, filepath.Join(need.Root(l.t), "examples", "agents", "writer.py"), "--task", task, "--url", l.front.URL)
	}
	cmd.Dir = l.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PYTHONDONTWRITEBYTECODE=1", "LEGWORK_TOKEN=" + tokenOf(name)}
	return l.launch(cmd)
}

func (l *library) context(goal string) string {
	l.t.Helper()
	var task struct {
		ID string `json:"id"`
	}
	l.ann.calls(http.MethodPost, "/v1/tasks", string(asJSON(l.t, map[string]any{"goal": goal, "run": false})), &task)
	return task.ID
}

// published waits for the answer.
func (l *library) published(task string) string {
	l.t.Helper()
	var over struct {
		State  string `json:"state"`
		Answer string `json:"answer"`
	}
	l.ann.outcome(task, &over)
	if over.State != "done" {
		l.t.Fatalf("the task is %+v, want it done", over)
	}
	return over.Answer
}

// exits waits until an agent has ended by itself.
func exits(agents ...*program) {
	for _, p := range agents {
		p.t.Helper()
		if code := p.code(); code != 0 {
			p.t.Errorf("an agent ended with %d, want 0: %s", code, p.err.String())
		}
	}
}

// TestAgentsWriteTogether is the example as its README has it, with a person who
// likes the first draft.
func TestAgentsWriteTogether(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	s := l.opens()
	task := l.context("How do street trees cool a city in summer heat?")
	writer, reviewer := l.agent("writer", task), l.agent("reviewer", task)

	draft, approval := l.ann.review(task)
	for _, agent := range []string{"reviewer", "writer"} {
		as := outsider{t, l.front.URL, tokenOf(agent)}
		as.calls(http.MethodPost, "/v1/approvals/"+approval, `{"decision":"approve"}`, nil, http.StatusForbidden)
		as.calls(http.MethodPost, "/v1/tasks/"+task+"/answer", `{"text":"mine"}`, nil, http.StatusConflict)
		as.calls(http.MethodPatch, "/v1/tasks/"+task+"/state", `{"status":"APPROVED"}`, nil, http.StatusConflict)
	}
	l.ann.calls(http.MethodPost, "/v1/approvals/"+approval, `{"decision":"approve"}`, nil)
	exits(reviewer, writer)
	if answer := l.published(task); answer != draft || !strings.Contains(answer, "[arlen2019]") {
		t.Errorf("the answer is %q, want the draft that was approved, %q", answer, draft)
	}
	l.told(task)
	s.stops()
}

// told looks at the context of a finished task: each step is there once, by whom
// it was.
func (l *library) told(task string) {
	l.t.Helper()
	var page struct {
		Messages []struct {
			Seq     int    `json:"seq"`
			Sender  string `json:"sender_id"`
			Type    string `json:"type"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	l.ann.calls(http.MethodGet, "/v1/tasks/"+task+"/context?limit=1000", "", &page)
	seen := map[string]int{}
	for i, m := range page.Messages {
		if m.Seq != i+1 {
			l.t.Errorf("message %d has seq %d", i+1, m.Seq)
		}
		seen[m.Sender+" "+m.Type]++
	}
	for _, want := range []string{
		"api:ann goal", "agent:reviewer thought", "agent:reviewer action", "agent:reviewer delegation", "agent:writer action", "agent:writer observation", "api:ann approval", "agent:reviewer answer",
	} {
		if seen[want] == 0 {
			l.t.Errorf("the context holds %v, but no %s", seen, want)
		}
	}
	if seen["agent:reviewer thought"] != 1 || seen["agent:reviewer answer"] != 1 {
		l.t.Errorf("the context holds steps twice: %v", seen)
	}
}

// TestAgentsAreAskedForChanges has a person ask for more, while legwork and each
// of the agents are killed and started again.
func TestAgentsAreAskedForChanges(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	s := l.opens()
	task := l.context("How do street trees cool a city in summer heat?")
	writer, reviewer := l.agent("writer", task), l.agent("reviewer", task)
	first, approval := l.ann.review(task)
	reviewer.kill()
	l.ann.calls(http.MethodPost, "/v1/approvals/"+approval, `{"decision":"deny","comment":"Say what they cost, too."}`, nil)
	s.kill()
	reviewer = l.agent("reviewer", task)
	l.opens()
	writer.kill()
	writer = l.agent("writer", task)

	second, approval := l.ann.review(task)
	if strings.Contains(first, "## Cost") || !strings.Contains(second, "## Cost") || !strings.Contains(second, "[ekman2018]") {
		t.Errorf("the drafts are %q and %q, want what it costs in the second alone", first, second)
	}
	l.ann.calls(http.MethodPost, "/v1/approvals/"+approval, `{"decision":"approve"}`, nil)
	exits(reviewer, writer)
	if answer := l.published(task); answer != second {
		t.Errorf("the answer is %q, want the second draft", answer)
	}
	l.told(task)
}
