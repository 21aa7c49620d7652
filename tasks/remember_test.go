package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/watch"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tasks/presenter"
	"legwork/tools"
)

// memoryEnv is an env whose tasks are worked on by a model with a memory: it
// summarises, and otherwise answers "answer to" and the question.
type memoryEnv struct {
	*env
	model    *enginetest.Model
	tools    *enginetest.Tools
	executor *executor.Executor
	put      chan error // gets what became of each summary
	working  sync.Mutex
	work     func(llm.Request) (llm.Reply, bool) // one call at a time
	hold     chan any                            // unless nil, it gets a value when a summary is wanted, and another lets it be made
	usage    llm.Usage                           // of each answer
	logged   chan string                         // gets what is logged
}

// hearing is a log that tells what is written.
type hearing struct {
	slog.Handler
	heard chan string
}

func (h hearing) Enabled(context.Context, slog.Level) bool { return true }

func (h hearing) Handle(_ context.Context, r slog.Record) error {
	select {
	case h.heard <- r.Message:
	default:
	}
	return nil
}

// noting is a store that tells what became of summaries.
type noting struct {
	*memory.Store
	put chan error
}

func (s noting) PutSummary(ctx context.Context, conversation string, before uint64, v tasks.Summary) error {
	err := s.Store.PutSummary(ctx, conversation, before, v)
	s.put <- err
	return err
}

func newMemoryEnv(t *testing.T, rules tasks.PromptRules) *memoryEnv {
	t.Helper()
	m := &memoryEnv{env: newEnv(t), tools: &enginetest.Tools{}, put: make(chan error, 1000), logged: make(chan string, 1000)}
	m.model = &enginetest.Model{Answer: m.answer}
	m.tools.Make = func(context.Context, string, string) (tools.Result, error) {
		return tools.Result{Text: "found"}, nil
	}
	store := noting{m.store, m.put}
	presenters := presenter.New(presenter.Config{
		Store: store, Texts: m.texts, Chats: tasks.Chats{"phone": m.phone}, Log: slog.New(slog.DiscardHandler), Now: m.clock, Rules: rules,
	})
	m.executor = executor.New(executor.Config{
		Store: store, Model: m.model, Tools: m.tools, Texts: m.texts,
		Log: slog.New(hearing{slog.DiscardHandler, m.logged}), Now: m.clock, Append: presenters.Append, Prompts: rules,
	})
	listed := make(chan any)
	engine := engine.New(engine.Config{Store: listing{m.store, sync.OnceFunc(func() { close(listed) })}, Executor: m.executor, Presenters: presenters, Log: slog.New(slog.DiscardHandler), Now: m.clock, Concurrent: 4})
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	for _, run := range []func(context.Context) error{engine.Run, m.executor.Summarise} {
		over.Go(func() {
			if err := run(ctx); err != nil {
				t.Errorf("running: %v", err)
			}
		})
	}
	t.Cleanup(func() { cancel(); over.Wait() })
	m.toolbox, m.wake = m.tools, engine.Wake
	m.restart()
	<-listed
	return m
}

// listing tells that an engine has seen which tasks there are when it begins: of
// those that a test stores from then on it knows nothing.
type listing struct {
	tasks.Store
	done func()
}

func (l listing) Live(ctx context.Context, conversation string) ([]tasks.Live, error) {
	defer l.done()
	return l.Store.Live(ctx, conversation)
}

// summarises reports that a request is for a summary.
func summarises(r llm.Request) bool {
	return strings.HasPrefix(r.Messages[0].Content, "You keep the memory")
}

// text is all of a request's messages.
func text(r llm.Request) string {
	var b strings.Builder
	for _, m := range r.Messages[1:] {
		b.WriteString(m.Role + ": " + m.Content + "\n")
	}
	return b.String()
}

// canaries are words like "turn-17", each once, in order.
func canaries(s string) []string {
	var list []string
	for _, c := range regexp.MustCompile(`[a-z]+-\d+\b`).FindAllString(s, -1) {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

// between is what stands between two marks of a text.
func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

func (m *memoryEnv) answer(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	if summarises(r) {
		if m.hold != nil {
			for range 2 {
				select {
				case m.hold <- nil:
				case <-ctx.Done():
					return llm.Reply{}, ctx.Err()
				}
			}
		}
		return llm.Reply{Text: "remembered: " + strings.Join(canaries(text(r)), " "), Usage: llm.Usage{Input: 1000, Output: 100, Cost: 77}}, nil
	}
	if m.work != nil {
		m.working.Lock()
		defer m.working.Unlock()
		if reply, ok := m.work(r); ok {
			return reply, nil
		}
	}
	return llm.Reply{Text: "answer to " + goalOf(r), Usage: m.usage}, nil
}

// goalOf is the question that a prompt is about.
func goalOf(r llm.Request) string {
	all := text(r)
	if i := strings.LastIndex(all, "<goal>\n"); i >= 0 {
		return between(all[i:], "<goal>\n", "\n</goal>")
	}
	return ""
}

// asks asks a question and waits for the end of its task.
func (m *memoryEnv) asks(person string, in bot.Chat, question string) tasks.ID {
	m.t.Helper()
	h := make(chan tasks.ID, 1)
	wake := m.wake
	m.wake = func(ctx context.Context, id tasks.ID) error {
		select {
		case h <- id:
		default:
		}
		return wake(ctx, id)
	}
	m.send(m.by(person, in, question))
	m.wake = wake
	id := <-h
	m.over(id)
	return id
}

// over waits for the end of a task.
func (m *memoryEnv) over(id tasks.ID) {
	m.t.Helper()
	m.until(id, "it is over", func(s planner.State) bool { return s.Finished() })
}

// until waits for a task to become as ok says.
func (m *memoryEnv) until(id tasks.ID, what string, ok func(planner.State) bool) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), watch.Patience)
	defer cancel()
	for {
		changed := m.store.Changed(id)
		if ok(m.state(id)) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			m.t.Fatalf("task %s, until %s: todo %+v", id, what, planner.Todo(m.state(id)))
		}
	}
}

// remembered waits until a summary is stored, or refused.
func (m *memoryEnv) remembered() error {
	m.t.Helper()
	select {
	case err := <-m.put:
		return err
	case <-time.After(watch.Patience):
		m.t.Fatal("no summary comes")
		return nil
	}
}

func (m *memoryEnv) summary(in bot.Chat) tasks.Summary {
	m.t.Helper()
	s, err := m.store.Summary(m.t.Context(), in.Key())
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

func (m *memoryEnv) turns(in bot.Chat, after uint64) []tasks.Turn {
	m.t.Helper()
	list, err := m.store.Turns(m.t.Context(), in.Key(), after, 1000)
	if err != nil {
		m.t.Fatal(err)
	}
	return list
}

// TestOlderTurnsAreSummarisedOnce: over a long chat each turn goes into one
// summary exactly, prompts hold the summary and the turns since without a gap,
// and begin like the ones before until a new summary comes.
func TestOlderTurnsAreSummarisedOnce(t *testing.T) {
	const budget, questions = 3000, 60
	m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: budget})
	me := private("ann")
	for i := range questions {
		m.asks("ann", me, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 10)))
		// Where people ask faster than summaries are made, prompts hold the newest turns alone.
		for size(m.turns(me, m.summary(me).Until)) > budget {
			if err := m.remembered(); err != nil && !errors.Is(err, tasks.ErrConflict) {
				t.Fatal(err)
			}
		}
	}
	var summarised []string
	before := "" // the conversation in the prompt before
	same, fresh := 0, 0
	for _, r := range m.model.Requests("") {
		all := text(r)
		if summarises(r) {
			summarised = append(summarised, canaries(between(all, "The conversation since then:", "Write the new summary now."))...)
			if kept := canaries(between(all, "<summary>", "</summary>")); len(summarised)-len(kept) > questions {
				t.Errorf("a summary is made without the one before: %.500q", all)
			}
			continue
		}
		past := all[:strings.Index(all, "The person's time zone")]
		if n := len(past); n > budget*2 {
			t.Errorf("a prompt holds %d bytes of the conversation, with a budget of %d", n, budget)
		}
		if got := canaries(all); len(got) > 0 && !contiguous(got) {
			t.Errorf("a prompt has a gap: %v", got)
		}
		if strings.HasPrefix(past, strings.TrimSuffix(before, "\n")) {
			same++
		} else {
			fresh++
		}
		before = past
	}
	want := make([]string, len(summarised))
	for i := range want {
		want[i] = fmt.Sprintf("turn-%d", i)
	}
	if len(summarised) < questions/2 || !slices.Equal(summarised, want) {
		t.Errorf("summarised were %v, want each turn once and in order", summarised)
	}
	if fresh > 8 || same < 50 {
		t.Errorf("of %d prompts %d begin like the one before", same+fresh, same)
	}
	if m.model.Invalid() != nil {
		t.Error(m.model.Invalid())
	}
}

// before stores tasks that ended before the engine knew of them; one with no
// answer goes on.
func (m *memoryEnv) before(in bot.Chat, goal, answer string) tasks.ID {
	m.t.Helper()
	id := tasks.NewID(m.clock())
	_, err := m.store.Open(m.t.Context(), []tasks.Inbound{{Key: string(id), ID: id, Chat: in, Open: &planner.Event{Type: planner.Opened, At: m.clock(), Opening: &planner.Opening{
		Goal: goal, Chat: in, From: bot.Person{Platform: "phone", ID: "ann"}, Language: "en", Timezone: "UTC", Limits: planner.DefaultLimits(),
	}}}})
	if err != nil {
		m.t.Fatal(err)
	}
	if answer != "" {
		m.ends(id, answer)
	}
	return id
}

// TestLongPastIsNotReadAtOnce: a conversation that has long been without a
// summary gets one of what is not too old.
func TestLongPastIsNotReadAtOnce(t *testing.T) {
	const budget = 1000
	m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: budget})
	me := private("ann")
	for i := range 200 {
		m.before(me, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 15)), "an answer")
	}
	m.asks("ann", me, "turn-200")
	if err := m.remembered(); err != nil {
		t.Fatal(err)
	}
	for size(m.turns(me, m.summary(me).Until)) > budget {
		if err := m.remembered(); err != nil {
			t.Fatal(err)
		}
	}
	read := 0
	var told []string
	for _, r := range m.model.Requests("") {
		if summarises(r) {
			since := between(text(r), "The conversation since then:", "Write the new summary now.")
			read, told = read+len(since), append(told, canaries(since)...)
		}
	}
	if read > 10*budget+len(told)*80 || len(told) < 50 || told[len(told)-1] < "turn-19" {
		t.Errorf("%d bytes of %v were read for the first summary, with a budget of %d", read, told, budget)
	}
}

// TestWaitingTaskDoesNotEndMemory: a question without an answer stays out of the
// summary as long as there is room for what came after it.
func TestWaitingTaskDoesNotEndMemory(t *testing.T) {
	m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: 500})
	me := private("ann")
	m.plans(m.before(me, "turn-0 that waits", ""))
	for n, until := range []int{20, 60} {
		for i := n*20 + 1; i < until; i++ {
			m.before(me, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 15)), "an answer")
		}
		m.asks("ann", me, fmt.Sprintf("/task turn-%d", until))
	}
	if err := m.remembered(); err != nil {
		t.Fatal(err)
	}
	all := m.model.Requests("")
	first := text(all[slices.IndexFunc(all, summarises)])
	if got := canaries(first); len(got) < 25 {
		t.Errorf("the first summary is of %v, want one when there is too much after the question that waits", got)
	}
}

func size(turns []tasks.Turn) int {
	n := 0
	for _, t := range turns {
		n += len(t.Goal) + len(t.Answer)
	}
	return n
}

// contiguous reports that canaries are numbered from 0 on.
func contiguous(list []string) bool {
	for i, c := range list {
		if c != fmt.Sprintf("turn-%d", i) {
			return false
		}
	}
	return true
}

// TestNewForgetsTheSummary: a summary that is being written when the
// conversation begins anew or is forgotten is not kept, and no later prompt
// holds it.
func TestNewForgetsTheSummary(t *testing.T) {
	for _, command := range []string{"/new", "/forget yes"} {
		t.Run(command, func(t *testing.T) {
			m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: 300})
			m.hold = make(chan any)
			me := private("ann")
			for i := range 5 {
				m.asks("ann", me, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 10)))
			}
			<-m.hold
			m.say("ann", me, command)
			<-m.hold
			if err := m.remembered(); !errors.Is(err, tasks.ErrConflict) {
				t.Fatalf("storing a summary after %s: %v, want %v", command, err, tasks.ErrConflict)
			}
			if s := m.summary(me); s.Text != "" {
				t.Errorf("after %s there is the summary %q", command, s.Text)
			}
			m.asks("ann", me, "what now?")
			last := m.model.Requests(llm.RolePlan)
			if got := canaries(text(last[len(last)-1])); len(got) > 0 {
				t.Errorf("after %s a prompt holds %v", command, got)
			}
		})
	}
}

// TestSummaryIsPaidFor: it counts in the ledger, and where the day's budget has
// no room for it none is made.
func TestSummaryIsPaidFor(t *testing.T) {
	for _, limit := range []int64{0, 26_000} { // tokens: an answer of 20,000 and another call fit
		m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: 300, Budget: tasks.BudgetRules{Budgets: tasks.Budgets{DayTokens: limit}}})
		m.usage = llm.Usage{Input: 20_000}
		me := private("ann")
		for i := range 2 {
			m.asks("ann", me, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 15)))
		}
		if limit == 0 {
			if err := m.remembered(); err != nil {
				t.Fatal(err)
			}
		} else {
			m.logs("summary skipped")
		}
		spent, err := m.store.Spent(t.Context(), tasks.SpentQuery{})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		var cost int64
		for _, s := range spent {
			calls, cost = calls+s.Calls, cost+s.Usage.Cost
		}
		made := slices.ContainsFunc(m.model.Requests(""), summarises)
		if want := limit == 0; made != want || (cost == 77) != want || (calls == 3) != want {
			t.Errorf("with a day of %d tokens a summary was made: %v; spent %+v", limit, made, spent)
		}
	}
}

// logs waits until something is logged.
func (m *memoryEnv) logs(want string) {
	m.t.Helper()
	over := time.After(watch.Patience)
	for {
		select {
		case got := <-m.logged:
			if got == want {
				return
			}
		case <-over:
			m.t.Fatalf("%q is not logged", want)
		}
	}
}

// TestOthersWordsInSummaries: in a chat of several people, and where outsiders'
// words went into an answer, the summary is data.
func TestOthersWordsInSummaries(t *testing.T) {
	for _, c := range []struct {
		chat    bot.Chat
		tainted bool
		want    bool
	}{{private("ann"), false, false}, {private("ann"), true, true}, {room("hall"), false, true}} {
		m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: 300})
		if c.tainted {
			m.tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Repeatable: true} }
			m.work = looksUp
		}
		for i := range 4 {
			m.asks("ann", c.chat, fmt.Sprintf("turn-%d %s", i, strings.Repeat("words ", 10)))
		}
		if err := m.remembered(); err != nil {
			t.Fatal(err)
		}
		if got := m.summary(c.chat); got.Tainted != c.want {
			t.Errorf("in %s, tainted %v: the summary is %+v, want it to be data: %v", c.chat.Key(), c.tainted, got, c.want)
		}
		m.asks("ann", c.chat, "what now?")
		all := m.model.Requests(llm.RolePlan)
		last := text(all[len(all)-1])
		if marked := strings.Contains(last, "<data>\nremembered:"); marked != c.want || strings.Contains(last, "<summary>\nremembered:") == c.want {
			t.Errorf("in %s, tainted %v: the prompt is %q, want the summary as data: %v", c.chat.Key(), c.tainted, last, c.want)
		}
	}
}

// looksUp is a model that plans one look-up, makes it, and answers.
func looksUp(r llm.Request) (llm.Reply, bool) {
	switch {
	case r.Role == llm.RolePlan:
		goal, err := json.Marshal("look up " + goalOf(r))
		if err != nil {
			return llm.Reply{}, false
		}
		return llm.Reply{Text: fmt.Sprintf(`First %s. {"plan":[{"name":"look","description":%s},{"name":"look","description":%[2]s}]}`, goalOf(r), goal)}, true
	case r.Role == llm.RoleWork && !slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == llm.ToolRole }):
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c1", Name: "look", Arguments: `{}`}}}, true
	case r.Role == llm.RoleWork:
		return llm.Reply{Text: "result of " + between(text(r), "<task>\n", "\n</task>")}, true
	}
	return llm.Reply{Text: "all of " + goalOf(r)}, true
}
