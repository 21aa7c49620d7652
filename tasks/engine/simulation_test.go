package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/internal/test/need"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

var (
	seeds = flag.Int("seeds", need.Times(60, 300), "how many seeds the simulation runs")
	seed  = flag.Uint64("seed", 0, "run only this seed, and tell what happens")
)

// TestSimulation runs the engine against models, tools, people and a chat that
// take their time and fail at random, and crashes it at random moments. Each
// seed is another world; time is simulated. make check runs 3,000 of them.
func TestSimulation(t *testing.T) {
	if *seed != 0 {
		simulate(t, *seed)
		return
	}
	for n := range uint64(*seeds) {
		if !t.Run(fmt.Sprintf("seed %d", n+1), func(t *testing.T) { simulate(t, n+1) }) {
			t.Fatalf("seed %d failed; run it alone with: go test ./tasks/local -run TestSimulation -seed %d -v", n+1, n+1)
		}
	}
}

func simulate(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, seed)
		w.live()
		w.judge()
	})
}

// world is one run of the simulation.
type world struct {
	t   *testing.T
	kit *enginetest.Kit

	mu      sync.Mutex
	rng     *rand.Rand
	store   *memory.Store
	calls   map[string]int // tool calls by their token
	crashes int
	halts   bool           // everything is paused at times
	flying  map[string]int // tokens of calls that were cut off by a crash
	now     map[string]bool
	late    []string          // calls that were made again after their result was stored
	window  map[tasks.ID]int  // crashes between sending an answer and storing that it was sent
	asked   map[string]string // key of the message: text
	people  sync.WaitGroup
	outsiders
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), store: memory.New(nil), calls: map[string]int{}, flying: map[string]int{},
		now: map[string]bool{}, window: map[tasks.ID]int{}, asked: map[string]string{},
		outsiders: outsiders{orders: map[tasks.ID]planner.Notify{}, notes: map[string][]noted{}, seen: map[string]time.Time{}, begun: map[string]time.Time{}},
	}
	w.kit = enginetest.NewKit(t, w.store)
	w.kit.Limits.Rounds, w.kit.Limits.Turns, w.kit.Limits.Parallel = 3, 5, 1+w.draw(3)
	w.kit.Limits.TaskTimeout = time.Duration(20+w.draw(100)) * time.Second
	w.kit.Limits.IdleTimeout = time.Hour
	w.kit.Concurrent = 1 + w.draw(3)
	if w.chance(50) { // a call is taken to need some 6,000 tokens, and takes up to 1,500
		w.kit.Budget = tasks.BudgetRules{Asker: true, Budgets: tasks.Budgets{TaskTokens: int64(8000 + w.draw(15000)), DayTokens: int64(10000 + w.draw(40000))}}
	}
	w.halts = seed%3 == 0
	if seed%4 == 1 { // people often come too late
		w.kit.Expire = 10 * time.Second
	}
	w.kit.Room, w.kit.Platform.Keeps = 1+int(seed/2%4), seed%2 == 0
	w.use(w.store)
	w.kit.Model.Answer = w.answer
	w.kit.Tools.Make = w.tool
	w.kit.Platform.Refuse = w.refuse
	return w
}

func (w *world) draw(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

func (w *world) chance(percent int) bool { return w.draw(100) < percent }

// pause takes up to most of simulated time.
func (w *world) pause(ctx context.Context, most time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(w.draw(int(most)))):
		return nil
	}
}

// live plays people and crashes, then waits until every task is over.
func (w *world) live() {
	w.kit.Start(build)
	for i := range 1 + w.draw(5) {
		if err := w.pause(context.Background(), 6*time.Second); err != nil {
			w.t.Fatal(err)
		}
		switch {
		case w.chance(25):
			w.crash()
		case w.chance(15):
			w.restart()
		case w.halts && w.chance(20):
			w.halt()
		case w.chance(15):
			w.order(i)
		case w.chance(20):
			w.say(fmt.Sprintf("m%d", i), "/stop", false)
		default:
			text := fmt.Sprintf("question %d", i)
			w.asked[fmt.Sprintf("m%d", i)] = text
			w.say(fmt.Sprintf("m%d", i), text, w.chance(50))
		}
		if w.chance(40) {
			w.meddle()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 48*time.Hour)
	defer cancel()
	for crashes := 0; ; {
		short, done := context.WithTimeout(ctx, time.Duration(1+w.draw(30))*time.Second)
		err := tasks.Idle(short, w.kit.Store, "")
		done()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			w.t.Fatalf("a task never ends: %s", w.describe())
		}
		if crashes < 2 && w.chance(40) {
			crashes++
			w.crash()
		}
		w.decide()
		w.rule()
		if w.acts < maxActs && w.chance(70) {
			w.meddle()
		}
		if err := inbox.LookAtBudgets(ctx, w.kit.Inbox); err != nil {
			w.t.Fatal(err)
		}
	}
	w.people.Wait()
	w.kit.Inbox.Flush(context.Background())
	w.kit.Stop()
}

// maxActs is how often outsiders do something at most, so that a world ends.
const maxActs = 15

// say delivers a message until the inbox has taken it.
func (w *world) say(key, text string, apart bool) {
	m := enginetest.Message(key, text, time.Now())
	m.Standalone = apart
	for again := 1 + w.draw(2); again > 0; again-- {
		if err := w.kit.Inbox.Handle(context.Background(), []bot.Message{m}); err != nil {
			w.t.Fatalf("handling %q: %v", text, err)
		}
	}
}

// decide answers every question that is open, some of them twice.
func (w *world) decide() {
	for i, q := range w.kit.Platform.Posts(bot.KindQuestion) {
		if len(q.Buttons) == 0 {
			continue
		}
		m := enginetest.Message(fmt.Sprintf("press %d %d", i, w.draw(30)), "", time.Now())
		m.Kind, m.Data = bot.MessagePress, q.Buttons[w.draw(len(q.Buttons))].Data
		if err := w.kit.Inbox.Handle(context.Background(), []bot.Message{m}); err != nil {
			w.t.Fatalf("pressing: %v", err)
		}
	}
}

// crash ends everything at once: from this moment the old store takes nothing.
func (w *world) crash() {
	w.mu.Lock()
	w.crashes++
	for token := range w.now {
		w.flying[token]++
	}
	w.now = map[string]bool{}
	w.mu.Unlock()
	again := w.store.Reopen()
	for _, p := range w.kit.Platform.Posts(bot.KindAnswer) {
		if s, err := again.State(context.Background(), tasks.ID(p.Task)); err == nil && !s.Finished() {
			w.window[tasks.ID(p.Task)]++
		}
	}
	w.kit.Stop()
	w.kit.Inbox.Flush(context.Background())
	w.store = again
	w.use(again)
	w.kit.Start(build)
}

// restart stops in order and starts again. Calls are cut off by it as by a
// crash; what was sent must be stored as sent.
func (w *world) restart() {
	w.kit.Platform.Deaf.Store(true)
	w.kit.Stop()
	w.kit.Inbox.Flush(context.Background())
	w.kit.Platform.Deaf.Store(false)
	w.mu.Lock()
	for token := range w.now {
		w.flying[token]++
	}
	w.now = map[string]bool{}
	w.mu.Unlock()
	w.store = w.store.Reopen()
	w.use(w.store)
	w.kit.Start(build)
}

// use puts the parts around a store.
func (w *world) use(store *memory.Store) {
	var err error
	if w.kit.Pause, err = tasks.OpenPause(context.Background(), store); err != nil {
		w.t.Fatal(err)
	}
	w.kit.Use(watched{store, w})
}

// halt pauses everything for a while, at times over a crash.
func (w *world) halt() {
	if _, err := w.kit.Pause.Set(context.Background(), tasks.Paused{Name: "Boss", At: time.Now()}); err != nil {
		w.t.Fatal(err)
	}
	for range 2 {
		if err := w.pause(context.Background(), 20*time.Second); err != nil {
			w.t.Fatal(err)
		}
		if w.chance(30) {
			w.crash()
		}
	}
	if _, was, err := w.kit.Pause.Lift(context.Background()); !was || err != nil {
		w.t.Fatalf("lifting the pause: %v, %v", was, err)
	}
}

// begins notes a call of a model or a tool that is made although everything is
// paused; one that was about to begin in that moment is none.
func (w *world) begins(what string) {
	if by, on := w.kit.Pause.State(); on && !by.At.Equal(time.Now()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.late = append(w.late, what+" in a pause")
	}
}

// refuse makes the chat slow and at times unwilling.
func (w *world) refuse(d bot.Draft) error {
	if err := w.pause(context.Background(), 200*time.Millisecond); err != nil {
		return err
	}
	if d.Kind != bot.KindNotice && w.chance(5) {
		return errors.New("the chat is busy")
	}
	return nil
}

// answer is the model.
func (w *world) answer(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	w.begins("a model")
	w.reads(r)
	usage := llm.Usage{Input: 100 + w.draw(900), Output: w.draw(500)}
	if w.chance(60) {
		for range w.draw(4) {
			stream(llm.Delta{Text: "some words of a longer answer "})
			if err := w.pause(ctx, time.Second); err != nil {
				return llm.Reply{}, err
			}
		}
	}
	if err := w.pause(ctx, 3*time.Second); err != nil {
		return llm.Reply{}, err
	}
	switch {
	case w.chance(6):
		return llm.Reply{}, &llm.Error{Problem: llm.Unreachable, Err: errors.New("reset"), Usage: usage}
	case w.chance(6):
		return llm.Reply{Text: `{"plan":[{"name":"nowhere"}]}`, Usage: usage}, nil
	case r.Role == llm.RolePlan && w.chance(60), r.Role == llm.RoleReview && w.chance(30):
		return llm.Reply{Text: w.plan(), Usage: usage}, nil
	case r.Role == llm.RoleWork && len(r.Tools) > 0 && w.chance(60):
		return llm.Reply{ToolCalls: w.toolCalls(r), Usage: usage}, nil
	}
	return llm.Reply{Text: "an answer of " + r.Role, Usage: usage}, nil
}

func (w *world) plan() string {
	var entries []string
	for i := range w.draw(5) {
		group := []string{"look", "book", "locked", "llm_tool"}[w.draw(4)]
		after := ""
		switch {
		case w.chance(25):
			after = `,"after":[]`
		case i > 0 && w.chance(30):
			after = fmt.Sprintf(`,"after":["s%d"]`, w.draw(i))
		}
		entries = append(entries, fmt.Sprintf(`{"id":"s%d","name":%q,"description":"do %d"%s}`, i, group, w.draw(1000), after))
	}
	return `{"plan":[` + strings.Join(entries, ",") + `]}`
}

func (w *world) toolCalls(r llm.Request) []llm.ToolCall {
	var calls []llm.ToolCall
	for i := range 1 + w.draw(3) {
		c := llm.ToolCall{ID: fmt.Sprintf("c%d", i), Name: r.Tools[0].Name, Arguments: fmt.Sprintf(`{"token":"t%d"}`, w.draw(1<<30))}
		switch w.draw(12) {
		case 0:
			c.Name, c.Arguments = planner.ToolAskPerson, `{"question":"which?","choices":["a","b"]}`
		case 1:
			c.Name, c.Arguments = planner.ToolDelegate, `{"name":"look","description":"sub"}`
		case 2:
			c.Name, c.Arguments = planner.ToolUpdateState, []string{`{"values":{"k":1}}`, `{"values":{"status":"NEEDS_HUMAN_REVIEW"}}`}[w.draw(2)]
		case 3:
			c.Name, c.Arguments = planner.ToolReadResult, `{"result":3}`
		case 4:
			c.Name = "no_such_tool"
		}
		calls = append(calls, c)
	}
	return calls
}

// tool is every tool; the token in its arguments names the call.
func (w *world) tool(ctx context.Context, tool, arguments string) (tasks.ToolResult, error) {
	key := tool + arguments
	w.begins(key)
	w.mu.Lock()
	w.calls[key]++
	if w.stored(key) {
		w.late = append(w.late, key)
	}
	w.now[key] = true
	w.mu.Unlock()
	err := w.pause(ctx, 2*time.Second)
	w.mu.Lock()
	if err == nil {
		delete(w.now, key)
	}
	w.mu.Unlock()
	if err != nil {
		return tasks.ToolResult{}, err
	}
	return tasks.ToolResult{Text: "result", Failed: w.chance(10)}, nil
}

// stored reports that a call's result is in a journal. w.mu is held.
func (w *world) stored(key string) bool {
	live, err := w.store.Live(context.Background(), "")
	if err != nil {
		return false
	}
	for _, l := range live {
		s, err := w.store.State(context.Background(), l.Task)
		if err != nil {
			continue
		}
		for _, sub := range s.Subtasks {
			for _, turn := range sub.Turns {
				e, err := w.store.Event(context.Background(), l.Task, turn.Seq)
				if err != nil {
					continue
				}
				for i, c := range e.Reply.Calls {
					if c.Tool+c.Arguments == key && turn.Calls[i].Step == planner.StepDone {
						return true
					}
				}
			}
		}
	}
	return false
}

// judge looks only at what went over the wires.
func (w *world) judge() {
	if err := w.kit.Model.Invalid(); err != nil {
		w.t.Errorf("a request was not valid: %v", err)
	}
	if len(w.late) > 0 {
		w.t.Errorf("made again after their results were stored, or in a pause: %q", w.late)
	}
	for key, n := range w.calls {
		if strings.HasPrefix(key, "book.") && n > 1 {
			w.t.Errorf("%s was made %d times and must not be repeated", key, n)
		}
		if n > 1+w.flying[key] {
			w.t.Errorf("%s was made %d times; crashes cut it off %d times", key, n, w.flying[key])
		}
		if strings.HasPrefix(key, "locked.") {
			w.t.Errorf("%s was made without an approval", key)
		}
	}
	answers, known := map[tasks.ID]int{}, map[string]bool{}
	for _, p := range w.kit.Platform.Posts(bot.KindAnswer) {
		if !known[p.ID] {
			answers[tasks.ID(p.Task)]++
		}
		known[p.ID] = true
		if strings.Contains(p.Text, `"plan"`) {
			w.t.Errorf("a person saw a plan: %q", p.Text)
		}
	}
	turns, err := w.store.History(context.Background(), enginetest.Chat.Key(), "", 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, turn := range turns {
		if n := answers[turn.Task]; n < 1 || n > 1+w.window[turn.Task] {
			w.t.Errorf("%q has %d answers; %d crashes fell between sending and storing", turn.Goal, n, w.window[turn.Task])
		}
	}
	w.heard(turns)
	w.paid(append(turns, w.ordered(answers)...))
}

// heard checks that each message became a task or guidance of one, once.
func (w *world) heard(turns []tasks.Turn) {
	found := map[string]int{}
	for _, turn := range turns {
		events, err := w.store.Load(context.Background(), turn.Task, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			switch e.Type {
			case planner.Opened:
				found[e.Opening.Goal]++
			case planner.GuidanceAdded, planner.Decided:
				found[e.Text]++
				if e.Decision != nil {
					found[e.Decision.Text]++
				}
			}
		}
	}
	for _, text := range w.asked {
		if found[text] != 1 {
			w.t.Errorf("%q was taken %d times, want once", text, found[text])
		}
	}
}

func (w *world) describe() string {
	var b strings.Builder
	live, _ := w.store.Live(context.Background(), "")
	for _, l := range live {
		s, _ := w.store.State(context.Background(), l.Task)
		fmt.Fprintf(&b, "\n%s %s todo %v", l.Task, s.Status(), planner.Todo(s))
	}
	return b.String()
}
