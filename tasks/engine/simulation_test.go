package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
	"legwork/internal/test/pg"
	"legwork/llm"
	"legwork/planner"
	"legwork/store"
	"legwork/store/memory"
	"legwork/store/postgres"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

var (
	seeds         = flag.Int("seeds", need.Times(60, 300), "how many seeds the simulation runs in memory")
	postgresSeeds = flag.Int("postgres-seeds", need.Times(15, 50), "how many seeds it runs on Postgres")
	seed          = flag.Uint64("seed", 0, "run only this seed, and tell what happens")
)

// TestSimulation runs the engine against models, tools, people and a chat that
// take their time and fail at random, and crashes it at random moments. Each
// seed is another simulation; time is simulated. make check runs 3,000 of them.
func TestSimulation(t *testing.T) {
	eachSeed(t, *seeds, func(t *testing.T, seed uint64) { simulate(t, seed, inMemory()) })
}

// TestSimulationOnPostgres runs the same simulations over a Postgres server. The
// connections are inside the bubble: a goroutine that waits for the server is not
// durably blocked, so the simulated time stands still during a statement. make check
// runs 150 of them.
func TestSimulationOnPostgres(t *testing.T) {
	need.Check(t)
	url := shared.Server(t).URL(t)
	eachSeed(t, *postgresSeeds, func(t *testing.T, seed uint64) {
		simulate(t, seed, onPostgres(url))
		pg.Query(t, url, "truncate legwork_kv")
	})
}

func eachSeed(t *testing.T, seeds int, run func(*testing.T, uint64)) {
	t.Helper()
	if *seed != 0 {
		run(t, *seed)
		return
	}
	for n := range uint64(seeds) {
		if !t.Run(fmt.Sprintf("seed %d", n+1), func(t *testing.T) { run(t, n+1) }) {
			t.Fatalf("seed %d failed; run it alone with: go test ./tasks/engine -run '^%s$' -seed %d -v", n+1, t.Name(), n+1)
		}
	}
}

func simulate(t *testing.T, seed uint64, open opener) {
	synctest.Test(t, func(t *testing.T) {
		sim := newSimulation(t, seed, open)
		sim.live()
		sim.judge()
		if err := sim.store.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
}

// opener opens a store over the data of the simulation. The one that it opened
// before takes nothing any more.
type opener func(t *testing.T) *store.Store

func inMemory() opener {
	var last *memory.Store
	return func(*testing.T) *store.Store {
		if last == nil {
			last = memory.New(nil)
		} else {
			last = last.Reopen()
		}
		return last.Store
	}
}

// onPostgres frees the lease before it opens the database again, as if it had
// expired: so the new store takes it from the one before and fences it.
func onPostgres(url string) opener {
	var last *store.Store
	return func(t *testing.T) *store.Store {
		if last != nil {
			pg.Query(t, url, "update legwork_lease set holder = ''")
		}
		db, err := postgres.Open(t.Context(), postgres.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.Open(t.Context(), db, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if last != nil {
			if err := last.Close(); err != nil {
				t.Errorf("closing the store that was fenced: %v", err)
			}
		}
		last = s
		return s
	}
}

// simulation is one run of the simulation.
type simulation struct {
	t   *testing.T
	env *enginetest.Env

	mu      sync.Mutex
	rng     *rand.Rand
	open    opener
	store   *store.Store
	calls   map[string]int // tool calls by their token
	crashes int
	pauses  bool           // everything is paused at times
	cutOff  map[string]int // tokens of calls that were cut off by a crash
	running map[string]bool
	late    []string          // calls that were made again after their result was stored
	window  map[tasks.ID]int  // crashes between sending an answer and storing that it was sent
	asked   map[string]string // key of the message: text
	sent    []string          // refs of files
	people  sync.WaitGroup
	outsiders
}

func newSimulation(t *testing.T, seed uint64, open opener) *simulation {
	sim := &simulation{
		t: t, rng: rand.New(rand.NewPCG(seed, 7)), open: open, store: open(t), calls: map[string]int{}, cutOff: map[string]int{},
		running: map[string]bool{}, window: map[tasks.ID]int{}, asked: map[string]string{},
		outsiders: outsiders{orders: map[tasks.ID]planner.Notify{}, notes: map[string][]noted{}, seen: map[string]time.Time{}, begun: map[string]time.Time{}},
	}
	sim.env = enginetest.NewEnv(t, sim.store)
	sim.env.Limits.Rounds, sim.env.Limits.Turns, sim.env.Limits.Parallel = 3, 5, 1+sim.draw(3)
	sim.env.Limits.TaskTimeout = time.Duration(20+sim.draw(100)) * time.Second
	sim.env.Limits.IdleTimeout = time.Hour
	sim.env.Concurrent = 1 + sim.draw(3)
	if sim.chance(50) { // a call is taken to need some 6,000 tokens, and takes up to 1,500
		sim.env.Budget = tasks.BudgetRules{AskerExtends: true, Budgets: tasks.Budgets{TaskTokens: int64(8000 + sim.draw(15000)), DayTokens: int64(10000 + sim.draw(40000))}}
	}
	sim.pauses = seed%3 == 0
	if seed%4 == 1 { // people often come too late
		sim.env.Expire = 10 * time.Second
	}
	sim.env.InMemory, sim.env.Platform.Keeps = 1+int(seed/2%4), seed%2 == 0
	sim.env.Model.Hear, sim.env.Platform.Give = sim.hear, sim.give
	sim.use(sim.store)
	sim.env.Model.Answer = sim.answer
	sim.env.Tools.Make = sim.tool
	sim.env.Platform.Refuse = sim.refuse
	return sim
}

func (sim *simulation) draw(n int) int {
	sim.mu.Lock()
	defer sim.mu.Unlock()
	return sim.rng.IntN(n)
}

func (sim *simulation) chance(percent int) bool { return sim.draw(100) < percent }

// pause takes up to most of simulated time.
func (sim *simulation) pause(ctx context.Context, most time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(sim.draw(int(most)))):
		return nil
	}
}

// live plays people and crashes, then waits until every task is over.
func (sim *simulation) live() {
	sim.env.Start(build)
	for i := range 1 + sim.draw(5) {
		if err := sim.pause(context.Background(), 6*time.Second); err != nil {
			sim.t.Fatal(err)
		}
		switch {
		case sim.chance(25):
			sim.crash()
		case sim.chance(15):
			sim.restart()
		case sim.pauses && sim.chance(20):
			sim.pauseAll()
		case sim.chance(15):
			sim.order(i)
		case sim.chance(20):
			sim.say(fmt.Sprintf("m%d", i), "/stop", false)
		case sim.chance(10):
			sim.say(fmt.Sprintf("m%d", i), "", sim.chance(50), sim.files(i)...)
		default:
			text := fmt.Sprintf("question %d", i)
			sim.asked[fmt.Sprintf("m%d", i)] = text
			var files []bot.Attachment
			if sim.chance(30) {
				files = sim.files(i)
			}
			sim.say(fmt.Sprintf("m%d", i), text, sim.chance(50), files...)
		}
		if sim.chance(40) {
			sim.outsiderActs()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 48*time.Hour)
	defer cancel()
	for crashes := 0; ; {
		short, done := context.WithTimeout(ctx, time.Duration(1+sim.draw(30))*time.Second)
		err := tasks.Idle(short, sim.env.Store, "")
		done()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			sim.t.Fatalf("a task never ends: %s", sim.describe())
		}
		if crashes < 2 && sim.chance(40) {
			crashes++
			sim.crash()
		}
		sim.decide()
		sim.rule()
		if sim.acts < maxActs && sim.chance(70) {
			sim.outsiderActs()
		}
		if err := sim.env.Budgets.Check(ctx); err != nil {
			sim.t.Fatal(err)
		}
	}
	sim.people.Wait()
	sim.env.Inbox.Flush(context.Background())
	sim.env.Stop()
}

// maxActs is how often outsiders do something at most, so that a simulation ends.
const maxActs = 15

// say delivers a message until the inbox has taken it.
func (sim *simulation) say(key, text string, apart bool, files ...bot.Attachment) {
	m := enginetest.Message(key, text, time.Now())
	m.Standalone, m.Files = apart, files
	for again := 1 + sim.draw(2); again > 0; again-- {
		if err := sim.env.Inbox.Handle(context.Background(), []bot.Message{m}); err != nil {
			sim.t.Fatalf("handling %q: %v", text, err)
		}
	}
}

// decide answers every question that is open, some of them twice.
func (sim *simulation) decide() {
	for i, q := range sim.env.Platform.Posts(bot.KindQuestion) {
		if len(q.Buttons) == 0 {
			continue
		}
		m := enginetest.Message(fmt.Sprintf("press %d %d", i, sim.draw(30)), "", time.Now())
		m.Kind, m.Data = bot.MessagePress, q.Buttons[sim.draw(len(q.Buttons))].Data
		if err := sim.env.Inbox.Handle(context.Background(), []bot.Message{m}); err != nil {
			sim.t.Fatalf("pressing: %v", err)
		}
	}
}

// crash ends everything at once: from this moment the old store takes nothing.
func (sim *simulation) crash() {
	sim.mu.Lock()
	sim.crashes++
	for token := range sim.running {
		sim.cutOff[token]++
	}
	sim.running = map[string]bool{}
	sim.mu.Unlock()
	again := sim.open(sim.t)
	sim.env.Stop()
	sim.env.Inbox.Flush(context.Background())
	// Only now: an answer that was on its way when the old store took nothing any more is among them.
	for _, p := range sim.env.Platform.Posts(bot.KindAnswer) {
		if s, err := again.State(context.Background(), tasks.ID(p.Task)); err == nil && !s.Finished() {
			sim.window[tasks.ID(p.Task)]++
		}
	}
	sim.store = again
	sim.use(again)
	sim.env.Start(build)
}

// restart stops in order and starts again. Calls are cut off by it as by a
// crash; a message that was sent must be stored as sent.
func (sim *simulation) restart() {
	sim.env.Platform.KeepsSending.Store(true)
	sim.env.Stop()
	sim.env.Inbox.Flush(context.Background())
	sim.env.Platform.KeepsSending.Store(false)
	sim.mu.Lock()
	for token := range sim.running {
		sim.cutOff[token]++
	}
	sim.running = map[string]bool{}
	sim.mu.Unlock()
	sim.store = sim.open(sim.t)
	sim.use(sim.store)
	sim.env.Start(build)
}

// use puts the parts around a store.
func (sim *simulation) use(store *store.Store) {
	var err error
	if sim.env.Pause, err = tasks.OpenPause(context.Background(), store); err != nil {
		sim.t.Fatal(err)
	}
	sim.env.Use(watched{store, sim})
}

// pauseAll pauses everything for a while, at times over a crash.
func (sim *simulation) pauseAll() {
	if _, err := sim.env.Pause.Set(context.Background(), tasks.Paused{Name: "Boss", At: time.Now()}); err != nil {
		sim.t.Fatal(err)
	}
	for range 2 {
		if err := sim.pause(context.Background(), 20*time.Second); err != nil {
			sim.t.Fatal(err)
		}
		if sim.chance(30) {
			sim.crash()
		}
	}
	if _, was, err := sim.env.Pause.Resume(context.Background()); !was || err != nil {
		sim.t.Fatalf("lifting the pause: %v, %v", was, err)
	}
}

// begins notes a call of a model or a tool that is made although everything is
// paused; one that was about to begin in that moment is none.
func (sim *simulation) begins(what string) {
	if by, on := sim.env.Pause.State(); on && !by.At.Equal(time.Now()) {
		sim.mu.Lock()
		defer sim.mu.Unlock()
		sim.late = append(sim.late, what+" in a pause")
	}
}

// refuse makes the chat slow and at times unwilling.
func (sim *simulation) refuse(d bot.Draft) error {
	if err := sim.pause(context.Background(), 200*time.Millisecond); err != nil {
		return err
	}
	if d.Kind != bot.KindNotice && sim.chance(5) {
		return errors.New("the chat is busy")
	}
	return nil
}

// answer is the model.
func (sim *simulation) answer(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	sim.begins("a model")
	sim.reads(r)
	usage := llm.Usage{Input: 100 + sim.draw(900), Output: sim.draw(500)}
	if sim.chance(60) {
		for range sim.draw(4) {
			stream(llm.Delta{Text: "some words of a longer answer "})
			if err := sim.pause(ctx, time.Second); err != nil {
				return llm.Reply{}, err
			}
		}
	}
	if err := sim.pause(ctx, 3*time.Second); err != nil {
		return llm.Reply{}, err
	}
	switch {
	case sim.chance(6):
		return llm.Reply{}, &llm.Error{Problem: llm.Unreachable, Err: errors.New("reset"), Usage: usage}
	case sim.chance(6):
		return llm.Reply{Text: `{"plan":[{"name":"nowhere"}]}`, Usage: usage}, nil
	case r.Role == llm.RolePlan && sim.chance(60), r.Role == llm.RoleReview && sim.chance(30):
		return llm.Reply{Text: sim.plan(), Usage: usage}, nil
	case r.Role == llm.RoleWork && len(r.Tools) > 0 && sim.chance(60):
		return llm.Reply{ToolCalls: sim.toolCalls(r), Usage: usage}, nil
	}
	return llm.Reply{Text: "an answer of " + r.Role, Usage: usage}, nil
}

func (sim *simulation) plan() string {
	var entries []string
	for i := range sim.draw(5) {
		group := []string{"look", "book", "locked", "llm_tool"}[sim.draw(4)]
		after := ""
		switch {
		case sim.chance(25):
			after = `,"after":[]`
		case i > 0 && sim.chance(30):
			after = fmt.Sprintf(`,"after":["s%d"]`, sim.draw(i))
		}
		entries = append(entries, fmt.Sprintf(`{"id":"s%d","name":%q,"description":"do %d"%s}`, i, group, sim.draw(1000), after))
	}
	return `{"plan":[` + strings.Join(entries, ",") + `]}`
}

func (sim *simulation) toolCalls(r llm.Request) []llm.ToolCall {
	var calls []llm.ToolCall
	for i := range 1 + sim.draw(3) {
		c := llm.ToolCall{ID: fmt.Sprintf("c%d", i), Name: r.Tools[0].Name, Arguments: fmt.Sprintf(`{"token":"t%d"}`, sim.draw(1<<30))}
		switch sim.draw(12) {
		case 0:
			c.Name, c.Arguments = planner.ToolAskPerson, `{"question":"which?","choices":["a","b"]}`
		case 1:
			c.Name, c.Arguments = planner.ToolDelegate, `{"name":"look","description":"sub"}`
		case 2:
			c.Name, c.Arguments = planner.ToolUpdateState, []string{`{"values":{"k":1}}`, `{"values":{"status":"NEEDS_HUMAN_REVIEW"}}`}[sim.draw(2)]
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
func (sim *simulation) tool(ctx context.Context, tool, arguments string) (tools.Result, error) {
	key := tool + arguments
	sim.begins(key)
	sim.mu.Lock()
	sim.calls[key]++
	if sim.stored(key) {
		sim.late = append(sim.late, key)
	}
	sim.running[key] = true
	sim.mu.Unlock()
	err := sim.pause(ctx, 2*time.Second)
	sim.mu.Lock()
	if err == nil {
		delete(sim.running, key)
	}
	sim.mu.Unlock()
	if err != nil {
		return tools.Result{}, err
	}
	return tools.Result{Text: "result", Failed: sim.chance(10)}, nil
}

// stored reports that a call's result is in a journal. sim.mu is held.
func (sim *simulation) stored(key string) bool {
	live, err := sim.store.Live(context.Background(), "")
	if err != nil {
		return false
	}
	for _, l := range live {
		s, err := sim.store.State(context.Background(), l.Task)
		if err != nil {
			continue
		}
		for _, sub := range s.Subtasks {
			for _, turn := range sub.Turns {
				e, err := sim.store.Event(context.Background(), l.Task, turn.Seq)
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
func (sim *simulation) judge() {
	if err := sim.env.Model.Invalid(); err != nil {
		sim.t.Errorf("a request was not valid: %v", err)
	}
	if len(sim.late) > 0 {
		sim.t.Errorf("made again after their results were stored, or in a pause: %q", sim.late)
	}
	for key, n := range sim.calls {
		if strings.HasPrefix(key, "book.") && n > 1 {
			sim.t.Errorf("%s was made %d times and must not be repeated", key, n)
		}
		if n > 1+sim.cutOff[key] {
			sim.t.Errorf("%s was made %d times; crashes cut it off %d times", key, n, sim.cutOff[key])
		}
		if strings.HasPrefix(key, "locked.") {
			sim.t.Errorf("%s was made without an approval", key)
		}
	}
	answers, known := map[tasks.ID]int{}, map[string]bool{}
	for _, p := range sim.env.Platform.Posts(bot.KindAnswer) {
		if !known[p.ID] {
			answers[tasks.ID(p.Task)]++
		}
		known[p.ID] = true
		if strings.Contains(p.Text, `"plan"`) {
			sim.t.Errorf("a person saw a plan: %q", p.Text)
		}
	}
	turns, err := sim.store.History(context.Background(), enginetest.Chat.Key(), "", 1<<20)
	if err != nil {
		sim.t.Fatal(err)
	}
	for _, turn := range turns {
		if n := answers[turn.Task]; n < 1 || n > 1+sim.window[turn.Task] {
			sim.t.Errorf("%q has %d answers; %d crashes fell between sending and storing", turn.Goal, n, sim.window[turn.Task])
		}
	}
	sim.heard(turns)
	sim.paid(append(turns, sim.ordered(answers)...))
}

// heard checks that each message became a task or guidance of one, once, and that each
// of its files was read once unless the task ended before.
func (sim *simulation) heard(turns []tasks.Turn) {
	found := map[string]int{}
	defer func() {
		for _, ref := range sim.sent {
			if found[ref] != 1 {
				sim.t.Errorf("the file %q was taken %d times, want once", ref, found[ref])
			}
		}
	}()
	for _, turn := range turns {
		events, err := sim.store.Load(context.Background(), turn.Task, 0)
		if err != nil {
			sim.t.Fatal(err)
		}
		read := map[planner.ActionID]int{}
		for _, e := range events {
			for _, a := range planner.Attachments(e) {
				found[a.Ref]++
			}
			switch e.Type {
			case planner.FileRead:
				if read[e.Action]++; read[e.Action] > 1 {
					sim.t.Errorf("%q: the file %s was read twice", turn.Goal, e.Action)
				}
			case planner.Opened:
				found[e.Opening.Goal]++
			case planner.GuidanceAdded, planner.Joined, planner.Decided:
				found[e.Text]++
				if e.Decision != nil {
					found[e.Decision.Text]++
				}
			}
		}
	}
	for _, text := range sim.asked {
		if found[text] != 1 {
			sim.t.Errorf("%q was taken %d times, want once", text, found[text])
		}
	}
}

func (sim *simulation) describe() string {
	var b strings.Builder
	live, _ := sim.store.Live(context.Background(), "")
	for _, l := range live {
		s, _ := sim.store.State(context.Background(), l.Task)
		fmt.Fprintf(&b, "\n%s %s todo %v", l.Task, s.Status(), planner.Todo(s))
	}
	return b.String()
}

// files are one or two recordings: voice messages, or others.
func (sim *simulation) files(i int) (list []bot.Attachment) {
	for n := range 1 + sim.draw(2) {
		a := bot.Attachment{Ref: fmt.Sprintf("file %d.%d", i, n), Kind: bot.AttachVoice, Seconds: 1}
		if sim.chance(50) {
			a.Kind, a.Name = bot.AttachAudio, "talk.ogg"
		}
		sim.sent, list = append(sim.sent, a.Ref), append(list, a)
	}
	return list
}

// give is the platform's download: slow, at times broken off, and at times impossible.
func (sim *simulation) give(ctx context.Context, _ bot.Attachment, w io.Writer) error {
	content := llmfake.OGG(1)
	for _, part := range [][]byte{content[:10], content[10:]} {
		if err := sim.pause(ctx, 2*time.Second); err != nil {
			return err
		}
		switch {
		case sim.chance(10):
			return errors.New("reset")
		case sim.chance(5):
			return bot.ErrFileGone
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// hear is the model that listens.
func (sim *simulation) hear(ctx context.Context, _ llm.Transcription) (llm.Transcript, error) {
	sim.begins("a transcription")
	if err := sim.pause(ctx, 2*time.Second); err != nil {
		return llm.Transcript{}, err
	}
	usage := llm.Usage{AudioSeconds: 1, Input: 1 + sim.draw(50)}
	switch {
	case sim.chance(10):
		return llm.Transcript{}, &llm.Error{Problem: llm.Garbage, Err: llm.ErrSilence, Usage: usage}
	case sim.chance(10):
		return llm.Transcript{}, &llm.Error{Problem: llm.Unreachable, Err: errors.New("reset"), Usage: usage}
	}
	return llm.Transcript{Text: "words of a recording", Usage: usage}, nil
}
