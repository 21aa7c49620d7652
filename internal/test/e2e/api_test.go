package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/bot"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
	"legwork/internal/test/servers"
)

// TestAPITour types what docs/api.md tells a newcomer to type, in a fresh folder
// and with nothing but what it names, and looks at what comes back.
func TestAPITour(t *testing.T) {
	t.Parallel()
	follows(t, "docs/api.md", "api-tour", "go build -o legwork ./cmd/legwork", `ln -s "$LEGWORK" legwork`,
		`"name":"ops","role":"operator"`, `"state":"done"`, `"type":"goal"`, "event: goal", "event: end", `"type":"thought"`, `"sender_id":"agent:scout"`,
		`"version":1`, `"code":"precondition_failed"`, `"version":2`, `"draft":"Tides are ..."`, `NEEDS_HUMAN_REVIEW`, `"code":"forbidden"`,
		`"answer":"Tides follow the moon."`, `"state":"done"`, `"answer":"Tides follow the moon."`)
}

// TestAgentsTour does the same with the example's README.
func TestAgentsTour(t *testing.T) {
	t.Parallel()
	need.Command(t, "python3", "apt-get install python3")
	follows(t, "examples/agents/README.md", "agents-tour", "go build -o agents-tour/ ./cmd/legwork ./examples/agents/reviewer", `ln -s "$LEGWORK" agents-tour/legwork && ln -s "$REVIEWER" agents-tour/reviewer && ln -s "$ROOT/examples" .`,
		`"status":"NEEDS_HUMAN_REVIEW"`, `"state":"working"`, `"state":"done"`, "## Cost", `"sender_id":"agent:reviewer"`, `"type":"delegation"`, `"sender_id":"agent:writer"`, `"comment":"Say what they cost, too."`)
}

// follows runs the shell script of a page, with the programs of the tests in place
// of those that it builds, and looks for what it must say, in that order.
func follows(t *testing.T, page, folder, build, instead string, says ...string) {
	t.Helper()
	dir := t.TempDir()
	address, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := address.Addr().(*net.TCPAddr).Port
	if err := address.Close(); err != nil { // so that legwork can have it
		t.Fatal(err)
	}
	script := exec.CommandContext(t.Context(), "sh", "-eu", "-c", typed(t, page, build, instead))
	script.Dir = dir
	script.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + os.TempDir(), "PYTHONDONTWRITEBYTECODE=1",
		"LEGWORK=" + legwork(t), "REVIEWER=" + programs.Path(t, "legwork/examples/agents/reviewer"), "ROOT=" + need.Root(t),
		fmt.Sprint("PORT=", port),
	}
	var told strings.Builder
	script.Stderr = &told
	out, err := script.Output()
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, folder, "legwork.log"))
		t.Fatalf("%v: the tour said:\n%s\n%s\nlegwork logged:\n%s", err, out, told.String(), log)
	}
	rest := string(out)
	for _, want := range says {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the tour does not say %q where it should; it said:\n%s", want, out)
		}
		rest = after
	}
}

// typed is the shell script of a page.
func typed(t *testing.T, page, build, instead string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(need.Root(t), page))
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	blocks := strings.Split(string(text), "```sh\n")[1:]
	for i, block := range blocks {
		lines, _, _ := strings.Cut(block, "```")
		if i == 0 {
			if !strings.Contains(lines, build+"\n") {
				t.Fatalf("the tour does not begin with %q", build)
			}
			lines = strings.Replace(lines, build, instead, 1) + "daemon=$!\ntrap 'kill $daemon; wait $daemon' EXIT\n"
		}
		script.WriteString(lines)
	}
	return script.String()
}

// event is a line that legwork chat --json writes.
type event struct {
	Type    string       `json:"type"`
	Message string       `json:"message"`
	Task    string       `json:"task"`
	ID      string       `json:"id"`
	ReplyTo string       `json:"reply_to"`
	Text    string       `json:"text"`
	Failed  bool         `json:"failed"`
	Footer  string       `json:"footer"`
	Board   *bot.Board   `json:"board"`
	Buttons []bot.Button `json:"buttons"`
	Line    int          `json:"line"`
}

// events are the events so far.
func (p *program) events() []event {
	p.t.Helper()
	text := p.out.String()
	text = text[:strings.LastIndexByte(text, '\n')+1]
	var all []event
	for line := range strings.Lines(text) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.t.Fatalf("the event %q cannot be read: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

// see waits for an event.
func (p *program) see(what string, fits func(event) bool) event {
	p.t.Helper()
	var found event
	p.until(what, func() bool {
		all := p.events()
		i := slices.IndexFunc(all, fits)
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// send writes a message with an id of its own.
func (p *program) send(id, text string) {
	p.t.Helper()
	line, err := json.Marshal(map[string]string{"id": id, "text": text})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(line) + "\n")
}

// guide sends a message that may be guidance for a running task.
func (p *program) guide(id, text string) {
	p.t.Helper()
	line, err := json.Marshal(map[string]any{"id": id, "text": text, "standalone": false})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(line) + "\n")
}

// ask sends a question and waits for its answer.
func (p *program) ask(id, text string) event {
	p.t.Helper()
	p.send(id, text)
	return p.answer(id)
}

// answer waits for the answer to a question.
func (p *program) answer(id string) event {
	p.t.Helper()
	return p.see("the answer to "+id, func(e event) bool { return e.Type == "answer" && e.ReplyTo == id })
}

// notice waits for a sentence that is no answer.
func (p *program) notice(text string) event {
	p.t.Helper()
	return p.see("the notice "+text, func(e event) bool { return e.Type == "notice" && strings.Contains(e.Text, text) })
}

// says checks an answer.
func (p *program) says(got event, failed bool, want string) {
	p.t.Helper()
	if got.Failed != failed || !strings.Contains(got.Text, want) {
		p.t.Errorf("answer to %s: got failed %v, %.500q; want failed %v, %q", got.ReplyTo, got.Failed, got.Text, failed, want)
	}
}

// goesOn checks that the same process still answers, with and without a plan,
// and that it ends after every task was answered exactly once.
func (p *program) goesOn() {
	p.t.Helper()
	p.alive()
	p.says(p.ask("later1", "later1: say hello"), false, "later1: say hello")
	p.says(p.ask("later2", "later2: safe again"), false, "value of later2 safe again")
	p.end()
	answers := map[string]int{}
	for _, e := range p.events() {
		switch e.Type {
		case "board":
			answers[e.Task] += 0
		case "answer":
			answers[e.Task]++
		}
	}
	for task, n := range answers {
		if n != 1 {
			p.t.Errorf("task %s was answered %d times, want once", task, n)
		}
	}
}

// served is a legwork whose model takes a moment for each reply.
func served(t *testing.T) (*env, *serving) {
	t.Helper()
	w := newEnv(t, options{
		think: func(llmfake.Request) llmfake.Response {
			answer := llmfake.Say("The answer is 42.")
			answer.First = 300 * time.Millisecond
			return answer
		},
		more: fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s]}\n", tokenLine("bot", "agent")),
	})
	return w, w.serve(tokenOf("bot"))
}

// TestMCPOfficialClients has the official clients of both eras start a task of the
// real binary, follow it and read its answer.
func TestMCPOfficialClients(t *testing.T) {
	t.Parallel()
	node := need.Command(t, "node", "apt-get install nodejs npm")
	need.NPMPackage(t, "@modelcontextprotocol/sdk")
	need.NPMPackage(t, "@modelcontextprotocol/client")
	_, s := served(t)
	for _, era := range []string{"older", "auto"} {
		script := asJSON(t, map[string]any{"era": era, "url": "http://" + s.address + "/mcp", "token": tokenOf("bot"), "steps": []map[string]any{
			{"call": "start_task", "arguments": map[string]any{"goal": "What is the answer?"}},
			{"call": "get_task", "arguments": map[string]any{"task_id": "$id", "wait_seconds": 20}, "progress": true},
		}})
		program, err := os.Open(filepath.Join(need.Root(t), "web", "mcp", "testdata", "client.mjs"))
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-")
		cmd.Dir, cmd.Stdin, cmd.Env = filepath.Join(need.Root(t), "internal", "test", "npm"), program, append(os.Environ(), "SCRIPT="+string(script))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("the client of %s: %v: %s", era, err, out)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		for _, want := range []string{`"state":"done"`, "The answer is 42.", `"from":"agent:bot"`, `"progress":[{`} {
			if last := lines[len(lines)-1]; !strings.Contains(last, want) {
				t.Errorf("the client of %s read %s, want %s", era, last, want)
			}
		}
	}
	s.stops()
}

// TestMCPGoesOnAfterRestart: a client that was connected before legwork was
// killed goes on with the next one, and with the task.
func TestMCPGoesOnAfterRestart(t *testing.T) {
	t.Parallel()
	w, s := served(t)
	f := newWebhookProxy(t)
	f.leads(s.address)
	c, err := client.NewStreamableHttpClient(f.URL+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + tokenOf("bot")}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{}); err != nil {
		t.Fatal(err)
	}
	started, err := servers.Call(t.Context(), c, "start_task", map[string]any{"goal": "What is the answer?"}, nil)
	if err != nil || started.IsError {
		t.Fatalf("starting a task: %+v, %v", started, err)
	}
	var task struct {
		ID     string `json:"id"`
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal([]byte(servers.Text(started)), &task); err != nil {
		t.Fatal(err)
	}
	s.kill()
	s = w.serve(tokenOf("bot"))
	f.leads(s.address)
	got, err := servers.Call(t.Context(), c, "get_task", map[string]any{"task_id": task.ID, "wait_seconds": 20}, nil)
	if err != nil || got.IsError {
		t.Fatalf("after the restart: %+v, %v", got, err)
	}
	if err := json.Unmarshal([]byte(servers.Text(got)), &task); err != nil || task.Answer != "The answer is 42." {
		t.Errorf("after the restart the task is %s, want its answer", servers.Text(got))
	}
	s.stops()
}

// TestMCPNeedsAToken: a token is needed, and a waiting client learns the state
// of its task when legwork stops.
func TestMCPNeedsAToken(t *testing.T) {
	t.Parallel()
	_, s := served(t)
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, token := range []string{"", "lw_wrong", tokenOf("bot")[:30]} {
		if code, text := (outsider{t, "http://" + s.address, token}).sends(http.MethodPost, "/mcp", list); code != http.StatusUnauthorized || strings.Contains(string(text), "start_task") {
			t.Errorf("with the token %q: got %d %s, want 401", token, code, text)
		}
	}
	bot := outsider{t, "http://" + s.address, tokenOf("bot")}
	var task struct {
		ID string `json:"id"`
	}
	bot.calls(http.MethodPost, "/v1/tasks", `{"goal":"Write something","run":false}`, &task)
	reply := bot.asks(http.MethodPost, "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":%q,"wait_seconds":300},"_meta":{"progressToken":1}}}`, task.ID))
	defer reply.Body.Close()
	events := bufio.NewReader(reply.Body)
	for line := ""; !strings.Contains(line, "notifications/progress"); { // it waits now
		var err error
		if line, err = events.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	s.stops()
	if rest, err := io.ReadAll(events); err != nil || !strings.Contains(string(rest), `"state":"working"`) {
		t.Errorf("at the end of legwork who waits read %q and %v, want the task as it stands", rest, err)
	}
}
