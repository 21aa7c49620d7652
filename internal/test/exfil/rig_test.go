// Package exfil tests that private data leaves a task only after a person has been
// asked. Executor, policy, store and engine are real, and so are the rules of the
// tools. A model that obeys every injection tries to send canaries out.
package exfil

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// call is a tool call that the model makes, and what its server returns.
type call struct {
	tool   string
	args   any
	result tools.Result
}

// script is what the model and the servers of one task do.
type script struct {
	plan  string              // arguments of the tool plan; empty: one sub-task of "look"
	turns map[string][][]call // the turns of a sub-task, by its description
	// during runs while the first call of the task is under way.
	during func(tasks.ID)
	allow  bool // the person allows what is asked
}

// rig is a legwork with a scripted model. It runs one task at a time.
type rig struct {
	*enginetest.Env
	t testing.TB

	mu     sync.Mutex
	script script
	ran    []string // calls that ran, without those of the script that read
	asked  int      // calls that a person was asked about
	n      int
}

// newRig starts a legwork whose group "look" has these tools.
func newRig(t testing.TB, set *tools.Set, group string) *rig {
	r := &rig{Env: enginetest.NewEnv(t, memory.New(nil)), t: t}
	list, err := set.Tools(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	r.Tools.Many = list
	r.Tools.Judge = func(g, tool string) tools.Verdict {
		if g == "look" {
			g = group
		}
		return set.ToolVerdict(context.Background(), g, tool)
	}
	r.Tools.Serve = r.serve
	r.Tools.Written = func(string, map[string]string) (string, error) { return injection, nil }
	r.Model.Answer = r.answer
	r.Platform.Keeps = true
	r.Use(r.Store)
	r.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	t.Cleanup(r.Stop)
	return r
}

// answer is the model: it follows the script of the task.
func (r *rig) answer(_ context.Context, q llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch q.Role {
	case llm.RolePlan:
		plan := r.script.plan
		if plan == "" {
			plan = `{"plan":[{"name":"look","description":"main"}]}`
		}
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: plan}}}, nil
	case llm.RoleWork:
		turns := r.script.turns[taskOf(q)]
		if n := turnsOf(q); n < len(turns) {
			return calls(turns[n]), nil
		}
		// A value of tag characters alone is empty here: prompts hold none of them.
		if strings.HasPrefix(taskOf(q), "hand ") && taskOf(q) != "hand |" && turnsOf(q) == 0 {
			return calls([]call{{tool: "book.it", args: map[string]any{"q": strings.TrimSuffix(strings.TrimPrefix(taskOf(q), "hand "), "|")}}}), nil
		}
	}
	return llm.Reply{Text: "done: " + injection}, nil
}

func taskOf(q llm.Request) string {
	for _, m := range q.Messages {
		if task := enginetest.Between(m.Content, "task"); m.Role == llm.User && task != "" {
			return task
		}
	}
	return ""
}

func turnsOf(q llm.Request) (n int) {
	for _, m := range q.Messages {
		if len(m.ToolCalls) > 0 {
			n++
		}
	}
	return n
}

func calls(list []call) (reply llm.Reply) {
	for i, c := range list {
		args, err := json.Marshal(c.args)
		if err != nil {
			panic(err) // scripts hold values that encode
		}
		name := strings.Replace(c.tool, ".", "__", 1)
		if c.tool == "book.it" {
			name = "book"
		}
		reply.ToolCalls = append(reply.ToolCalls, llm.ToolCall{ID: string(rune('a'+i/26)) + string(rune('a'+i%26)), Name: name, Arguments: string(args)})
	}
	return reply
}

// serve is all servers: a call of the script gets its result.
func (r *rig) serve(ctx context.Context, c tools.Call) (tools.Result, error) {
	r.mu.Lock()
	during, s := r.script.during, r.script
	r.script.during = nil
	r.mu.Unlock()
	if during != nil {
		live, err := r.Store.Live(ctx, "")
		if err != nil || len(live) != 1 {
			r.t.Errorf("live = %v, %v; want one task", live, err)
		} else {
			during(live[0].Task)
		}
	}
	for _, turns := range s.turns {
		for _, turn := range turns {
			for _, want := range turn {
				if want.tool == c.Tool && want.result.Text != "" && same(want.args, c.Arguments) {
					if want.result.Question != nil {
						_, err := c.Ask(ctx, *want.result.Question)
						return tools.Result{Text: want.result.Text}, err
					}
					return want.result, nil
				}
			}
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ran = append(r.ran, c.Tool+" "+string(c.Arguments))
	return tools.Result{Text: "ok"}, nil
}

func same(args any, raw json.RawMessage) bool {
	want, _ := json.Marshal(args)
	var a, b any
	return json.Unmarshal(want, &a) == nil && json.Unmarshal(raw, &b) == nil && string(encoded(a)) == string(encoded(b))
}

func encoded(v any) []byte {
	out, _ := json.Marshal(v)
	return out
}

// message is a question in the rig's present chat.
func (r *rig) message(text string) bot.Message {
	r.n++
	m := enginetest.Message("k"+time.Duration(r.n).String(), text, r.Now())
	return m
}

// ask runs a task to its end and returns the calls that ran beside those that read,
// and how many calls a person was asked about.
func (r *rig) ask(m bot.Message, s script) (ran []string, asked int) {
	r.begin(s)
	r.Ask(r.t, m)
	return r.finish()
}

func (r *rig) begin(s script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script, r.ran, r.asked = s, nil, 0
}

// finish decides about all questions until the task is over.
func (r *rig) finish() (ran []string, asked int) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var done []planner.ActionID
	for {
		live, err := r.Store.Live(ctx, "")
		if err != nil {
			r.t.Fatal(err)
		}
		if len(live) == 0 {
			r.mu.Lock()
			defer r.mu.Unlock()
			return slices.Clone(r.ran), r.asked
		}
		id := live[0].Task
		changed := r.Store.Changed(id)
		state, err := r.Store.State(ctx, id)
		if err != nil {
			r.t.Fatal(err)
		}
		if state.Finished() {
			continue
		}
		decided := false
		for _, a := range planner.Todo(state) {
			if a.Kind != planner.KindAsk || slices.Contains(done, a.ID) {
				continue
			}
			done, decided = append(done, a.ID), true
			q, err := r.Store.Event(ctx, id, a.ID.Seq)
			if err != nil {
				r.t.Fatal(err)
			}
			r.mu.Lock()
			if q.Question != nil {
				r.asked += len(q.Question.Calls)
			}
			allow := r.script.allow
			r.mu.Unlock()
			err = r.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Decided, Action: a.ID, By: enginetest.Person.Key(), Decision: &planner.Decision{Approve: allow}})
			if err != nil {
				r.t.Fatal(err)
			}
			if err := r.Engine.Wake(ctx, id); err != nil {
				r.t.Fatal(err)
			}
		}
		if decided {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			r.t.Fatalf("the task does not end: %+v", planner.Todo(state))
		}
	}
}

// newSet starts the servers of a config. Servers without a builtin are one server by
// HTTP with tools of these names. Each takes the parameters.
func newSet(t testing.TB, cfg tools.Config, names []string, parameters string) *tools.Set {
	t.Helper()
	s := server.NewMCPServer("any", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, false))
	s.AddResource(mcp.NewResource("note://1", "a note"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) { return nil, nil })
	properties := map[string]any{}
	for _, p := range strings.Fields(parameters) {
		properties[p] = map[string]any{}
	}
	schema := encoded(map[string]any{"type": "object", "properties": properties})
	for _, name := range names {
		hint := strings.HasPrefix(name, "get") || strings.HasPrefix(name, "list") || strings.HasPrefix(name, "find")
		tool := mcp.NewToolWithRawSchema(name, "A tool. "+injection, schema)
		tool.Annotations.ReadOnlyHint = &hint
		s.AddTool(tool, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("not called"), nil
		})
	}
	h := httptest.NewServer(server.NewStreamableHTTPServer(s))
	for name, c := range cfg.Servers {
		if c.Builtin == "" {
			c.URL = h.URL + "/mcp"
			cfg.Servers[name] = c
		}
	}
	m, err := tools.New(cfg, tools.Options{Data: t.TempDir(), Base: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		h.CloseClientConnections()
		h.Close()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return m.Set()
}
