package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
	"legwork/internal/test/servers"
)

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
