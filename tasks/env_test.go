package tasks_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/alerts"
	"legwork/tasks/commands"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tools/builtin"
)

// phone is a chat platform whose messages last. It can answer so that only one
// person sees it, and the bot can open private chats.
type phone struct {
	mu      sync.Mutex
	posts   []enginetest.Post
	edits   []enginetest.Post
	answers []string            // to presses and commands with a token, as "KEY: TEXT"
	hold    map[string]chan any // chats where a post, but for boards, waits until the channel is closed
	refuse  map[string]bool     // chats where the bot cannot write
	sent    chan bot.Chat       // gets the chat of each post, unless nil
	frames  chan bot.Draft      // gets each edit and each posted board, unless nil
	files   bool                // it can send files
	noFiles bool                // and refuses each of them
	late    chan any            // if not nil: of a question, it takes a value when that is sent, and another before Post returns
	misses  int                 // so many edits fail
	lost    int                 // so many posts fail
	groups  int                 // how many messages a minute a group takes
	passing bool                // its messages do not last, as in a terminal
	plain   bool                // people cannot reply to one message
	over    <-chan struct{}     // closed when the test ends
}

func (*phone) Name() string { return "phone" }
func (p *phone) Limits() bot.Limits {
	return bot.Limits{Edits: true, Toasts: true, GroupMessages: p.groups, Ephemeral: p.passing, CanReply: !p.passing && !p.plain}
}

func (*phone) Run(ctx context.Context, _ func(context.Context, []bot.Message) error) error {
	<-ctx.Done()
	return nil
}

func (p *phone) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	p.mu.Lock()
	wait, refuse := p.hold[to.Key()], p.refuse[to.Key()]
	p.mu.Unlock()
	if refuse {
		return "", bot.ErrGone
	}
	p.mu.Lock()
	lost := p.lost > 0
	p.lost = max(0, p.lost-1)
	p.mu.Unlock()
	if lost {
		return "", errors.New("the line is dead")
	}
	if wait != nil && d.Kind != bot.KindBoard {
		select {
		case <-wait:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	if d.File != nil && (p.noFiles || !p.files) {
		return "", bot.ErrNoFiles
	}
	for _, b := range d.Buttons {
		if len(b.Data) > 64 || b.Data == "" || b.Label == "" {
			return "", fmt.Errorf("button %+v: the data must have 1 to 64 bytes, and there must be a label", b)
		}
	}
	if p.late != nil && d.Kind == bot.KindQuestion {
		defer p.lately()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	id := fmt.Sprintf("p%d", len(p.posts)+1)
	p.posts = append(p.posts, enginetest.Post{Draft: d, Chat: to, ID: id})
	if p.sent != nil {
		p.sent <- to
	}
	if p.frames != nil && d.Board != nil { // where the work is quick, the first frame is the one awaited
		p.frames <- d
	}
	return id, nil
}

// lately lets the test continue between the sending of a question and its end.
func (p *phone) lately() {
	for range 2 {
		select {
		case p.late <- nil:
		case <-p.over:
		}
	}
}

func (p *phone) Edit(_ context.Context, to bot.Chat, id string, d bot.Draft) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.misses > 0 {
		p.misses--
		return errors.New("the line is dead")
	}
	p.edits = append(p.edits, enginetest.Post{Draft: d, Chat: to, ID: id})
	if p.frames != nil {
		p.frames <- d
	}
	return nil
}

func (p *phone) Answer(_ context.Context, m bot.Message, text string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers = append(p.answers, m.Key+": "+text)
	return nil
}

func (p *phone) Files(bot.Chat) bool { return p.files }

func (*phone) Direct(_ context.Context, person string) (bot.Chat, error) {
	if person == "gone" {
		return bot.Chat{}, bot.ErrGone
	}
	return private(person), nil
}

// env is an inbox on a phone, with a clock that the test turns and without
// an engine.
type env struct {
	t     *testing.T
	inbox *inbox.Inbox
	store *memory.Store
	phone *phone
	texts *i18n.Texts
	rules inbox.Rules

	toolbox tasks.Toolbox
	wake    func(context.Context, tasks.ID) error

	notes     func(context.Context, bot.Chat) (int, error)
	forgotten func()
	log       slog.Handler
	pause     *tasks.Pause

	mu         sync.Mutex
	now        time.Time
	n          int
	budgets    *alerts.BudgetWatch
	budgetHook func(ctx context.Context, reached bool, list []planner.Overdraft) error
	seen       tasks.Store // what an inbox sees of the store; nil: all
	load       int         // tasks that the engine says it has
}

func newEnv(t *testing.T) *env {
	t.Helper()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	o := &env{t: t, texts: texts, phone: &phone{hold: map[string]chan any{}, refuse: map[string]bool{}, over: t.Context().Done()}, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	o.log, o.toolbox, o.wake = slog.DiscardHandler, &enginetest.Tools{}, func(context.Context, tasks.ID) error { return nil }
	o.store = memory.New(o.clock)
	o.rules = inbox.Rules{
		Limits: planner.DefaultLimits(), Language: "en", Timezone: "UTC", Models: []string{"main", "big"}, Usual: "main", ModelIDs: map[string]string{"main": "vendor/main-1:8b", "big": "big"},
		Access: policy.Access{
			Admins:    []string{"phone:boss", "phone:chief"},
			Platforms: map[string]policy.PlatformAccess{"phone": {Users: []string{"ann", "bob"}, Chats: []string{"hall"}, Teams: []string{"T1"}}},
		},
	}
	o.restart()
	return o
}

// restart makes a new inbox over the same store.
func (o *env) restart() {
	zones := builtin.NewZones()
	o.inbox = inbox.New(inbox.Config{
		Store: cmp.Or[tasks.Store](o.seen, o.store), Wake: func(ctx context.Context, id tasks.ID) error { return o.wake(ctx, id) }, Texts: o.texts,
		Chats: tasks.Chats{"phone": o.phone}, Log: slog.New(o.log), Now: o.clock, Tools: o.toolbox,
		Zones: func(name string) ([]string, string) { return zones.Find(name, o.clock()) }, Rules: o.rules,
		Commands: commands.All(), Presses: commands.Presses(), BudgetExtended: func() { o.budgets.Extended() }, Notes: o.notes, Forgotten: o.forgotten, Pause: o.pause,
		Load: func() int { return o.load },
	})
	o.budgets = alerts.NewBudgetWatch(o.inbox, o.budgetHook)
}

func (o *env) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *env) pass(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

func private(person string) bot.Chat { return bot.Chat{Platform: "phone", ID: person, Private: true} }

func room(id string) bot.Chat { return bot.Chat{Platform: "phone", ID: id} }

// by is a message of a person in a chat.
func (o *env) by(person string, in bot.Chat, text string) bot.Message {
	o.n++
	key := fmt.Sprintf("k%d", o.n)
	return bot.Message{
		Key: key, ID: "i" + key, Chat: in, From: bot.Person{Platform: "phone", ID: person, Name: strings.ToUpper(person)}, Text: text, At: o.clock(),
	}
}

// press is the press of a button.
func (o *env) press(person string, in bot.Chat, data string) bot.Message {
	m := o.by(person, in, "")
	m.Kind, m.Data, m.Token = bot.MessagePress, data, "token"
	return m
}

// heard is the effect of a message.
type heard struct {
	posts   []enginetest.Post
	answers []string // without the key
}

// text returns the only text of the reply, in the chat or as an answer.
func (h heard) text() string {
	var all []string
	for _, p := range h.posts {
		all = append(all, p.Text)
	}
	for _, a := range h.answers {
		if a != "" {
			all = append(all, a)
		}
	}
	return strings.Join(all, " | ")
}

// words is what was said to the messages, without what tasks show meanwhile.
func (h heard) words() string {
	h.posts = slices.DeleteFunc(slices.Clone(h.posts), func(p enginetest.Post) bool { return p.Task != "" })
	return h.text()
}

// notice returns the only post without a task.
func (h heard) notice(t *testing.T) enginetest.Post {
	t.Helper()
	for _, p := range h.posts {
		if p.Task == "" {
			return p
		}
	}
	t.Fatalf("no notice in %+v", h.posts)
	return enginetest.Post{}
}

// data is what the button of that label carries.
func (h heard) data(t *testing.T, label string) string {
	t.Helper()
	for _, p := range h.posts {
		for _, b := range p.Buttons {
			if b.Label == label {
				return b.Data
			}
		}
	}
	t.Fatalf("no button %q in %+v", label, h.posts)
	return ""
}

// send hands messages to the inbox and returns what it says to them.
func (o *env) send(messages ...bot.Message) heard {
	o.t.Helper()
	o.phone.mu.Lock()
	posts, answers := len(o.phone.posts), len(o.phone.answers)
	o.phone.mu.Unlock()
	if err := o.inbox.Handle(o.t.Context(), messages); err != nil {
		o.t.Fatalf("handling %+v: %v", messages, err)
	}
	o.inbox.Flush(o.t.Context())
	o.phone.mu.Lock()
	defer o.phone.mu.Unlock()
	h := heard{posts: slices.Clone(o.phone.posts[posts:])}
	for _, a := range o.phone.answers[answers:] {
		_, text, _ := strings.Cut(a, ": ")
		h.answers = append(h.answers, text)
	}
	return h
}

// say sends one text and returns what is said to it.
func (o *env) say(person string, in bot.Chat, text string) string {
	o.t.Helper()
	return o.send(o.by(person, in, text)).text()
}

func (o *env) text(key string, data map[string]any) string { return o.texts.Text("en", key, data) }

// goals lists the goals of the live tasks of a chat.
func (o *env) goals(in bot.Chat) []string {
	o.t.Helper()
	var list []string
	for _, id := range o.live(in) {
		list = append(list, o.event(id, 1).Opening.Goal)
	}
	return list
}

// asked are the questions of a conversation as its history holds them.
func (o *env) asked(in bot.Chat) []string {
	o.t.Helper()
	turns, err := o.store.History(o.t.Context(), in.Key(), "", 1<<20)
	if err != nil {
		o.t.Fatal(err)
	}
	var list []string
	for _, t := range turns {
		list = append(list, t.Goal)
	}
	return list
}

func (o *env) live(in bot.Chat) []tasks.ID {
	o.t.Helper()
	live, err := o.store.Live(o.t.Context(), in.Key())
	if err != nil {
		o.t.Fatal(err)
	}
	var ids []tasks.ID
	for _, l := range live {
		ids = append(ids, l.Task)
	}
	return ids
}

func (o *env) event(id tasks.ID, seq int) planner.Event {
	o.t.Helper()
	e, err := o.store.Event(o.t.Context(), id, seq)
	if err != nil {
		o.t.Fatal(err)
	}
	return e
}

// said lists the guidance that a task holds.
func (o *env) said(id tasks.ID) []string {
	o.t.Helper()
	var list []string
	for _, seq := range o.state(id).Guidance {
		list = append(list, o.event(id, seq).Text)
	}
	return list
}

func (o *env) state(id tasks.ID) planner.State {
	o.t.Helper()
	s, err := o.store.State(o.t.Context(), id)
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

func (o *env) add(id tasks.ID, events ...planner.Event) {
	o.t.Helper()
	if err := o.store.Append(o.t.Context(), id, -1, 0, events...); err != nil {
		o.t.Fatal(err)
	}
}

// opens asks a question. No engine works on its task.
func (o *env) opens(person string, in bot.Chat, text string) tasks.ID {
	o.t.Helper()
	before := o.live(in)
	o.send(o.by(person, in, text))
	for _, id := range o.live(in) {
		if !slices.Contains(before, id) {
			return id
		}
	}
	o.t.Fatalf("%q opened no task", text)
	return ""
}

// plans makes a task plan, and show its board as message "board".
func (o *env) plans(id tasks.ID) {
	o.t.Helper()
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: "1/a", Name: "look", Description: "one"}, {ID: "1/b", Name: "look", Description: "two"},
	}}}, planner.Event{Type: planner.SendStarted, Slot: planner.SlotBoard}, planner.Event{Type: planner.Sent, Slot: planner.SlotBoard, Message: "board"})
}

// ends answers a task and shows the answer.
func (o *env) ends(id tasks.ID, answer string) {
	o.t.Helper()
	s := o.state(id)
	if s.Round > 0 {
		for _, a := range planner.Todo(s) {
			o.add(id, planner.Event{Type: planner.Replied, Action: a.ID, Reply: &planner.Reply{Text: "result"}})
		}
		s = o.state(id)
	}
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(s)[0].ID, Reply: &planner.Reply{Text: answer}})
	o.add(id, planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer}, planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "answer", Last: true})
}

func (o *env) setting(owner, name string) string {
	o.t.Helper()
	v, err := o.store.Setting(o.t.Context(), owner, name)
	if err != nil {
		o.t.Fatal(err)
	}
	return v
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
