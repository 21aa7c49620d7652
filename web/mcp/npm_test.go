package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/tasks/enginetest"
)

// step is a step for testdata/client.mjs. The argument "$id" stands for the task of the
// step before.
type step struct {
	List      bool           `json:"list,omitempty"`
	Call      string         `json:"call,omitempty"`
	Arguments map[string]any `json:"arguments,omitempty"`
	Progress  bool           `json:"progress,omitempty"`
}

// outcome is the result of a step.
type outcome struct {
	Server struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"server"`
	Version      string `json:"version"`
	Instructions string `json:"instructions"`
	Tools        []struct {
		Name         string          `json:"name"`
		OutputSchema json.RawMessage `json:"outputSchema"`
	} `json:"tools"`
	IsError    bool            `json:"isError"`
	Structured json.RawMessage `json:"structuredContent"`
	Content    []struct {
		Text string `json:"text"`
	} `json:"content"`
	Progress []struct {
		Progress int    `json:"progress"`
		Message  string `json:"message"`
	} `json:"progress"`
	Thrown string `json:"thrown"`
}

// official runs steps with an official client of the protocol.
func (e *env) official(t *testing.T, era, token string, steps ...step) []outcome {
	t.Helper()
	node := need.Command(t, "node", "apt-get install nodejs npm")
	need.NPMPackage(t, "@modelcontextprotocol/sdk")
	need.NPMPackage(t, "@modelcontextprotocol/client")
	program, err := os.Open("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--input-type=module", "-")
	cmd.Dir, cmd.Stdin = filepath.Join(need.Root(t), "internal", "test", "npm"), program
	cmd.Env = append(os.Environ(), "SCRIPT="+string(asJSON(t, map[string]any{"era": era, "url": e.url, "token": token, "steps": steps})))
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the client of %s: %v\n%s\n%s", era, err, out, log.String())
	}
	var outcomes []outcome
	for line := range strings.Lines(string(out)) {
		var o outcome
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("reading %s: %v", line, err)
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) != len(steps)+1 {
		t.Fatalf("%d steps gave %d outcomes: %s", len(steps), len(outcomes)-1, out)
	}
	return outcomes
}

// TestOfficialClients lets the official clients of both eras start a task, follow it
// and read its answer. They check results against the output schemas.
func TestOfficialClients(t *testing.T) {
	e := newEnvWith(t, func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		select { // a model takes its time, so that there is something to wait for
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
		return enginetest.Plain("hello")(ctx, r, stream)
	})
	for era, version := range map[string]string{"older": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			got := e.official(t, era, "operator",
				step{List: true},
				step{Call: "start_task", Arguments: map[string]any{"goal": "Say hello", "idempotency_key": era}},
				step{Call: "get_task", Arguments: map[string]any{"task_id": "$id", "wait_seconds": 20}, Progress: true},
				step{Call: "start_task", Arguments: map[string]any{"goal": "Say hello", "idempotency_key": era}},
				step{Call: "get_state", Arguments: map[string]any{"task_id": "$id"}},
				step{Call: "list_tasks", Arguments: map[string]any{"state": "done", "limit": 1}},
				step{Call: "get_task", Arguments: map[string]any{"task_id": "unknown"}},
				step{Call: "add_message", Arguments: map[string]any{"task_id": "$id", "type": "gossip", "content": 1}},
			)
			if got[0].Version != version || got[0].Server.Name != "legwork" || got[0].Server.Version != "1.2.3" || got[0].Instructions == "" {
				t.Errorf("the client connected as %+v, want revision %s of legwork 1.2.3", got[0], version)
			}
			schemas := map[string]*jsonschema.Schema{}
			for _, tool := range got[1].Tools {
				schemas[tool.Name] = compiled(t, tool.Name, tool.OutputSchema)
			}
			for i, tool := range map[int]string{2: "start_task", 3: "get_task", 5: "get_state", 6: "list_tasks"} {
				var value any
				if err := json.Unmarshal(got[i].Structured, &value); err != nil || got[i].Thrown != "" || got[i].IsError {
					t.Fatalf("%s gave %+v", tool, got[i])
				}
				if err := schemas[tool].Validate(value); err != nil {
					t.Errorf("%s gave %s, which its schema does not allow: %v", tool, got[i].Structured, err)
				}
			}
			if text := string(got[3].Structured); !strings.Contains(text, `"state":"done"`) || !strings.Contains(text, `"answer":"hello"`) {
				t.Errorf("after waiting the task is %s, want it done with the answer hello", text)
			}
			e.progressed(t, got[3])
			if first, again := taskID(t, got[2]), taskID(t, got[4]); first != again {
				t.Errorf("the same idempotency key started %s and %s", first, again)
			}
			for i, want := range map[int]string{7: "list_tasks", 8: "/type"} {
				if !got[i].IsError || len(got[i].Content) == 0 || !strings.Contains(got[i].Content[0].Text, want) {
					t.Errorf("step %d gave %+v, want an error that says what to do (%s)", i, got[i], want)
				}
			}
		})
	}
}

// progressed checks the progress that a client got while it waited.
func (e *env) progressed(t *testing.T, o outcome) {
	t.Helper()
	if len(o.Progress) == 0 {
		t.Error("the client heard of no progress")
	}
	last := 0
	for _, p := range o.Progress {
		if p.Progress <= last || p.Message == "" {
			t.Errorf("progress came as %+v, want it to grow and to say something", o.Progress)
		}
		last = p.Progress
	}
}

func taskID(t *testing.T, o outcome) string {
	t.Helper()
	var task struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(o.Structured, &task); err != nil || task.ID == "" {
		t.Fatalf("%+v tells no task", o)
	}
	return task.ID
}
