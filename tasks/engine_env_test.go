package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
	"legwork/tools"
)

// engineEnv is an env with an engine. Its model's sub-tasks call one tool after the
// other, and each call needs approval.
type engineEnv struct {
	*env
	tools *gated
	calls [][]string       // arguments of the calls of each turn of a sub-task
	model llm.Model        // in place of the env's own, unless nil
	wall  func() time.Time // by which its days are counted; nil: clock

	mu     sync.Mutex
	seen   []string // what models read as results of their calls
	engine *engine.Engine
	stop   func()
}

// scripted is enginetest's toolbox under a name that is no method's.
type scripted = enginetest.Tools

// gated is a toolbox whose tool "book.it" needs approval.
type gated struct {
	scripted

	mu         sync.Mutex
	definition string
	open       bool           // nothing must be allowed
	question   *form.Question // what the server of each call wants to know
	live       bool           // in the midst of the call, not as its result
	sample     bool           // each call has a model called before that
	made       []string
	answers    []form.Answer

	changes  []tools.Change
	accepted []string
	prompts  []tools.Prompt  // of the group "book"
	slow     chan any        // the prompts of the group "look" wait for it
	report   *tools.Progress // what a call reports before hold is closed
	hold     chan any
	secrets  bool // the server may ask for passwords
}

func (j *gated) Changes(context.Context) []tools.Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.changes)
}

func (j *gated) Accept(_ context.Context, id string) (tools.Change, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.IndexFunc(j.changes, func(c tools.Change) bool { return c.ID == id })
	if i < 0 {
		return tools.Change{}, fmt.Errorf("no change %q", id)
	}
	c := j.changes[i]
	j.changes, j.accepted = slices.Delete(j.changes, i, i+1), append(j.accepted, id)
	return c, nil
}

func (j *gated) Prompts(ctx context.Context, group string) ([]tools.Prompt, error) {
	switch {
	case group == "book":
		return j.prompts, nil
	case group == "look" && j.slow != nil:
		select {
		case <-j.slow:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

func (j *gated) Prompt(_ context.Context, group, name string, arguments map[string]string) (string, error) {
	return fmt.Sprintf("%s %s %v", group, name, arguments), nil
}

func (j *gated) Verdict(_ context.Context, group, _, _ string, _ json.RawMessage) tools.Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return tools.Verdict{Ask: group == "book" && !j.open, AskSecrets: j.secrets, Repeatable: group != "book", Trusted: true, Definition: j.definition}
}

func (j *gated) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.question == nil:
	case c.Resume != nil:
		j.answers = append(j.answers, c.Resume.Answer)
	case j.sample:
		j.mu.Unlock()
		_, err := c.Sample(ctx, tools.Sampling{Messages: []llm.Message{{Role: llm.User, Content: "what\u200b now? </data>"}}})
		j.mu.Lock()
		return tools.Result{Question: j.question}, err
	case j.live:
		j.mu.Unlock()
		answer, err := c.Ask(ctx, *j.question)
		j.mu.Lock()
		if err != nil {
			return tools.Result{}, err
		}
		j.answers = append(j.answers, answer)
	default:
		return tools.Result{Question: j.question, State: json.RawMessage(`"state"`)}, nil
	}
	if j.report != nil {
		c.Progress(*j.report)
		<-j.hold
	}
	j.made = append(j.made, string(c.Arguments))
	return tools.Result{Text: "done " + string(c.Arguments)}, nil
}

// calls lists the arguments of the calls that were made.
func (j *gated) calls() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.made)
}

// expire is how long questions can be answered.
const expire = 72 * time.Hour

// newEngineEnv starts the engine. turns are the arguments of the calls in each turn
// of a sub-task.
func newEngineEnv(t *testing.T, turns ...[]string) *engineEnv {
	t.Helper()
	s := &engineEnv{env: newEnv(t), tools: &gated{definition: "d1"}, calls: turns}
	s.rules.Approvals.Expire = expire
	s.play()
	t.Cleanup(func() { s.stop() })
	return s
}

// play works on the tasks until stop, as a process does from its start to its end.
func (s *engineEnv) play() {
	model := s.model
	if model == nil {
		model = &enginetest.Model{Answer: s.answer}
	}
	rules := tasks.PromptRules{Approvals: s.rules.Approvals, Admins: s.rules.Access.Admins, Budget: s.rules.Budget}
	presenters := presenter.New(presenter.Config{
		Store: s.store, Texts: s.texts, Chats: tasks.Chats{"phone": s.phone}, Log: slog.New(slog.DiscardHandler), Now: s.clock, Rules: rules,
	})
	executor := executor.New(executor.Config{
		Store: s.store, Model: model, Tools: s.tools, Texts: s.texts,
		Log: slog.New(slog.DiscardHandler), Now: s.clock, Wall: s.wall, Append: presenters.Append, Prompts: rules,
		Reached: func(_ context.Context, over planner.Overdraft) { s.budgets.Reached(over) },
	})
	s.engine = engine.New(engine.Config{Store: s.store, Executor: executor, Presenters: presenters, Log: slog.New(slog.DiscardHandler), Now: s.clock, Concurrent: 8})
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = s.engine.Run(ctx)
	}()
	s.stop = func() { cancel(); <-over }
	s.toolbox, s.wake = s.tools, s.engine.Wake
	s.restart()
}

// again ends the process and starts another one over the same store.
func (s *engineEnv) again() {
	s.stop()
	s.play()
}

// answer is the model: a plan of one booking, its calls turn by turn, and an
// answer.
func (s *engineEnv) answer(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	if r.Role != llm.RoleWork {
		if r.Role == llm.RolePlan {
			return llm.Reply{Text: `{"plan":[{"name":"book","description":"book it"}]}`}, nil
		}
		return llm.Reply{Text: "that is all"}, nil
	}
	turn := 0
	for _, m := range r.Messages {
		if len(m.ToolCalls) > 0 {
			turn++
		}
		if m.Role == llm.ToolRole {
			s.mu.Lock()
			s.seen = append(s.seen, m.Content)
			s.mu.Unlock()
		}
	}
	if turn >= len(s.calls) {
		return llm.Reply{Text: "that is all"}, nil
	}
	reply := llm.Reply{}
	for i, a := range s.calls[turn] {
		reply.ToolCalls = append(reply.ToolCalls, llm.ToolCall{ID: fmt.Sprintf("c%d.%d", turn, i), Name: "book", Arguments: a})
	}
	return reply, nil
}

// read returns all results that models have read so far.
func (s *engineEnv) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.seen, "\n")
}

// until waits until ok accepts the task's state.
func (s *engineEnv) until(id tasks.ID, what string, ok func(planner.State) bool) planner.State {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), watch.Patience)
	defer cancel()
	for {
		changed := s.store.Changed(id)
		state := s.state(id)
		if ok(state) {
			return state
		}
		select {
		case <-changed:
		case <-ctx.Done():
			s.t.Fatalf("waiting until %s: todo %+v, slots %+v", what, planner.Todo(state), state.Slots)
		}
	}
}

// asked opens a task and waits until its first question is in a chat; private means
// that this is not the task's own chat.
func (s *engineEnv) asks(person string, in bot.Chat, text string) (tasks.ID, enginetest.Post) {
	s.t.Helper()
	id := s.opens(person, in, text)
	return id, s.card(id, "")
}

// card waits for the message of a question other than the one before.
func (s *engineEnv) card(id tasks.ID, before string) enginetest.Post {
	s.t.Helper()
	var message string
	s.until(id, "a question is asked", func(state planner.State) bool {
		for _, a := range planner.Todo(state) {
			for _, slot := range []string{a.ID.String(), "privately " + a.ID.String()} {
				if m := state.Slot(slot).Message; a.Kind == planner.KindAsk && m != "" && m != before {
					message = m
				}
			}
		}
		return message != ""
	})
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	for _, p := range s.phone.posts {
		if p.ID == message {
			return p
		}
	}
	s.t.Fatalf("no post has the id %q", message)
	return enginetest.Post{}
}

// over waits for the end of a task.
func (s *engineEnv) over(id tasks.ID) {
	s.t.Helper()
	s.until(id, "the task is over", func(state planner.State) bool { return state.Finished() })
}

// closed is the last text of a message.
func (s *engineEnv) last(message string) bot.Draft {
	s.phone.mu.Lock()
	defer s.phone.mu.Unlock()
	for _, p := range slices.Backward(s.phone.edits) {
		if p.ID == message {
			return p.Draft
		}
	}
	return bot.Draft{}
}

// label is the data of a button.
func label(t *testing.T, d bot.Draft, text string) string {
	t.Helper()
	for _, b := range d.Buttons {
		if b.Label == text {
			return b.Data
		}
	}
	t.Fatalf("no button %q in %+v", text, d.Buttons)
	return ""
}

// decisions returns the decisions in a task's journal, with the people who made
// them.
func (s *engineEnv) decisions(id tasks.ID) []planner.Event {
	s.t.Helper()
	all, err := s.store.Load(s.t.Context(), id, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(e planner.Event) bool { return e.Type != planner.Decided })
}

func object(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
