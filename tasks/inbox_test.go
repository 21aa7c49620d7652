package tasks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/engine"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tools"
)

// inboxEnv is an inbox over a store, without an engine that works on its tasks.
type inboxEnv struct {
	*enginetest.Env
	t     *testing.T
	woken []tasks.ID
	store *memory.Store
}

func newInboxEnv(t *testing.T) *inboxEnv {
	store := memory.New(nil)
	d := &inboxEnv{Env: enginetest.NewEnv(t, store), t: t, store: store}
	d.Engine = d
	d.Inbox.Use(inbox.Rules{Limits: d.Limits, Language: "en", Timezone: "UTC", Access: policy.Access{Admins: []string{"recorder:boss"}}, Budget: tasks.BudgetRules{AskerExtends: true}})
	return d
}

// Wake implements tasks.Engine.
func (d *inboxEnv) Wake(_ context.Context, id tasks.ID) error {
	d.woken = append(d.woken, id)
	return nil
}

// Run implements tasks.Engine.
func (d *inboxEnv) Run(context.Context) error { return nil }

// live lists the ids of the chat's live tasks.
func (d *inboxEnv) live(c bot.Chat) []tasks.ID {
	d.t.Helper()
	list, err := d.store.Live(d.t.Context(), c.Key())
	if err != nil {
		d.t.Fatal(err)
	}
	var ids []tasks.ID
	for _, l := range list {
		ids = append(ids, l.Task)
	}
	return ids
}

func (d *inboxEnv) add(id tasks.ID, events ...planner.Event) {
	d.t.Helper()
	if err := d.store.Append(d.t.Context(), id, -1, 0, events...); err != nil {
		d.t.Fatal(err)
	}
}

func (d *inboxEnv) state(id tasks.ID) planner.State {
	d.t.Helper()
	s, err := d.store.State(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// plans makes a task plan two sub-tasks and show its board as message "board".
func (d *inboxEnv) plans(id tasks.ID) {
	d.t.Helper()
	d.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(d.state(id))[0].ID, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{
		{ID: "1/a", Name: "look", Description: "one"}, {ID: "1/b", Name: "look", Description: "two"},
	}}}, planner.Event{Type: planner.SendStarted, Slot: planner.SlotBoard}, planner.Event{Type: planner.Sent, Slot: planner.SlotBoard, Message: "board"})
}

// asks makes the sub-task 1/a of such a task ask its person, as message "ask".
func (d *inboxEnv) asks(id tasks.ID) {
	d.t.Helper()
	d.add(id, planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{
		{ID: "c", Name: planner.ToolAskPerson, Arguments: "{}", Ask: &planner.Question{Text: "Which?"}},
	}}})
	ask := planner.QuestionID(d.state(id).Subtasks[0].Turns[0].Seq, 1).String()
	d.add(id, planner.Event{Type: planner.SendStarted, Slot: ask}, planner.Event{Type: planner.Sent, Slot: ask, Message: "ask"})
}

var group = bot.Chat{Platform: "recorder", ID: "group"}

func from(person, key, text string) bot.Message {
	return bot.Message{Key: key, ID: key, Chat: group, From: bot.Person{Platform: "recorder", ID: person}, Text: text, At: time.Now()}
}

// TestTimeBeginsOnArrival: a message that waited for hours in its platform does not
// start a task that has no time left.
func TestTimeBeginsOnArrival(t *testing.T) {
	d := newInboxEnv(t)
	old := enginetest.Message("1", "hi", time.Now().Add(-5*time.Hour))
	later := enginetest.Message("2", "something else", time.Now().Add(-3*time.Hour))
	d.Ask(t, old, later)
	ids := d.live(enginetest.Chat)
	if len(ids) != 2 {
		t.Fatalf("%d tasks, want 2: the messages are hours apart", len(ids))
	}
	if at := planner.Deadline(d.state(ids[0])); time.Until(at) < time.Minute {
		t.Errorf("the deadline of a task that begins now is %v", at)
	}
	third := enginetest.Message("3", "and one more", time.Now().Add(-2*time.Hour))
	d.Ask(t, third)
	if ids := d.live(enginetest.Chat); len(ids) != 3 {
		t.Errorf("%d tasks, want 3: a late message is no part of the question before it", len(ids))
	}
}

// TestStoredButNotToldIsWoken: if a delivery was stored after its caller gave up,
// the repeated delivery wakes the task.
func TestStoredButNotToldIsWoken(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "hi", time.Now()))
	d.woken = nil
	d.Ask(t, enginetest.Message("1", "hi", time.Now()))
	if want := d.live(enginetest.Chat); !slices.Equal(d.woken, want) {
		t.Errorf("woken = %q, want %q", d.woken, want)
	}
}

// TestOneBatch: messages in one batch have the same effect as single messages.
func TestOneBatch(t *testing.T) {
	d := newInboxEnv(t)
	ask, stop := enginetest.Message("1", "hi", time.Now()), enginetest.Message("2", "/stop", time.Now())
	d.Ask(t, ask, stop)
	if s := d.state(d.live(enginetest.Chat)[0]); s.Outcome != planner.Halted {
		t.Errorf("outcome = %q, want stopped", s.Outcome)
	}

	d = newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "go", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.plans(id)
	later := time.Now().Add(time.Minute)
	d.Ask(t, enginetest.Message("2", "also this", later), enginetest.Message("3", "and that", later))
	if s := d.state(id); len(s.Guidance) != 2 {
		t.Errorf("%d words of guidance were heard, want 2; tasks %q", len(s.Guidance), d.live(enginetest.Chat))
	}
}

// TestStopAgain: a stop that is delivered twice is answered once.
func TestStopAgain(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "hi", time.Now()))
	d.Ask(t, enginetest.Message("2", "/stop", time.Now()))
	d.Ask(t, enginetest.Message("2", "/stop", time.Now()))
	if got := d.Platform.Posts(bot.KindNotice); len(got) != 0 {
		t.Errorf("notices = %+v, want none", got)
	}
}

// TestGroupChat: in a group only replies steer a task, those of its asker and
// of admins.
func TestGroupChat(t *testing.T) {
	for _, test := range []struct {
		name, person, reply string
		asked               bool // the task asks its person something
		heard, decided      int
	}{
		{"a plain message is a question", "ann", "", false, 0, 0},
		{"a reply of the asker", "ann", "board", false, 1, 0},
		{"a reply of an admin", "boss", "board", false, 1, 0},
		{"a reply of somebody else", "bob", "board", false, 0, 0},
		{"an answer of the asker", "ann", "ask", true, 0, 1},
		{"an answer of an admin", "boss", "ask", true, 0, 1},
		{"an answer of somebody else", "bob", "ask", true, 0, 0},
		{"words beside the question", "ann", "", true, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newInboxEnv(t)
			d.Ask(t, from("ann", "1", "go"))
			id := d.live(group)[0]
			d.plans(id)
			if test.asked {
				d.asks(id)
			}
			m := from(test.person, "2", "blue")
			m.At = m.At.Add(time.Minute)
			m.ReplyTo = test.reply
			d.Ask(t, m)
			events, err := d.store.Load(t.Context(), id, 0)
			if err != nil {
				t.Fatal(err)
			}
			heard, decided := 0, 0
			for _, e := range events {
				switch e.Type {
				case planner.GuidanceAdded:
					heard++
				case planner.Decided:
					decided++
				}
			}
			if heard != test.heard || decided != test.decided {
				t.Errorf("heard %d, decided %d; want %d and %d", heard, decided, test.heard, test.decided)
			}
			if opened := len(d.live(group)) == 2; opened == (test.heard+test.decided > 0) {
				t.Errorf("tasks %q; what steers nothing is a question of its own", d.live(group))
			}
		})
	}
}

// late is a store in which another decision arrives before the one at hand.
type late struct {
	*memory.Store
	before func()
}

func (l *late) Open(ctx context.Context, batch []tasks.Inbound) ([]tasks.Receipt, error) {
	if l.before != nil {
		l.before()
	}
	return l.Store.Open(ctx, batch)
}

// TestWordsThatComeTooLate: an answer to a closed question becomes a new question,
// so that no message is lost.
func TestWordsThatComeTooLate(t *testing.T) {
	d := newInboxEnv(t)
	slow := &late{Store: d.store}
	d.Inbox.Store = slow
	d.Ask(t, enginetest.Message("1", "go", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.plans(id)
	d.asks(id)
	slow.before = func() {
		d.add(id, planner.Event{Type: planner.Decided, Action: planner.Todo(d.state(id))[0].ID, Decision: &planner.Decision{Text: "red"}})
	}
	d.Ask(t, enginetest.Message("2", "blue", time.Now()))
	ids := d.live(enginetest.Chat)
	if len(ids) != 2 {
		t.Fatalf("tasks %q, want a second one", ids)
	}
	if e, err := d.store.Event(t.Context(), ids[1], 1); err != nil || e.Opening.Goal != "blue" {
		t.Errorf("the second task is %+v, %v; want blue", e.Opening, err)
	}
}

// TestLateBudgetPress: the button of an earlier question about the budget does
// not decide about the next one.
func TestLateBudgetPress(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "go", time.Now()))
	id := d.live(enginetest.Chat)[0]
	d.plans(id)
	press := func(key string) {
		q := d.Platform.Posts(bot.KindQuestion)[0]
		m := enginetest.Message(key, "", time.Now())
		m.Kind, m.Data = bot.MessagePress, q.Buttons[0].Data
		d.Ask(t, m)
	}
	d.add(id, planner.Event{Type: planner.BudgetReached, Budget: "task_usd"})
	v := tasks.NewView(d.store, id)
	if err := v.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := d.Presenters.Open(id, v.Opening())
	if err != nil {
		t.Fatal(err)
	}
	todo := planner.Todo(v.State)
	if err := p.Ask(t.Context(), v, todo[len(todo)-1]); err != nil {
		t.Fatal(err)
	}
	press("2")
	if s := d.state(id); s.Budget != "" {
		t.Fatalf("the budget is still reached: %q", s.Budget)
	}
	d.add(id, planner.Event{Type: planner.BudgetReached, Budget: "task_usd"})
	press("3")
	if s := d.state(id); s.Budget == "" {
		t.Error("a late press extended the budget a second time")
	}
}

// TestStoppedIsOver: a stopped question does not look unfinished to later ones.
func TestStoppedIsOver(t *testing.T) {
	d := newInboxEnv(t)
	d.Ask(t, enginetest.Message("1", "first", time.Now()))
	d.Ask(t, enginetest.Message("2", "/stop", time.Now()))
	turns, err := d.store.History(t.Context(), enginetest.Chat.Key(), "", 1000)
	if err != nil || len(turns) != 1 || !turns[0].Failed {
		t.Errorf("history = %+v, %v; want one turn that ended without an answer", turns, err)
	}
	if strings.Contains(turns[0].Answer, " ") {
		t.Errorf("answer = %q, want none", turns[0].Answer)
	}
}

// TestStopByReply: an admin ends somebody else's task by a reply to its
// message; other people cannot.
func TestStopByReply(t *testing.T) {
	for person, want := range map[string]planner.Outcome{"boss": planner.Halted, "bob": planner.Pending} {
		d := newInboxEnv(t)
		d.Ask(t, from("ann", "1", "go"))
		id := d.live(group)[0]
		d.plans(id)
		m := from(person, "2", "/stop")
		m.ReplyTo = "board"
		d.Ask(t, m)
		if s := d.state(id); s.Outcome != want {
			t.Errorf("after the stop of %s the outcome is %q, want %q", person, s.Outcome, want)
		}
	}
}

// refusing is a store that cannot take a delivery.
type refusing struct{ *memory.Store }

func (refusing) Open(_ context.Context, batch []tasks.Inbound) ([]tasks.Receipt, error) {
	receipts := make([]tasks.Receipt, len(batch))
	for i := range receipts {
		receipts[i].Err = tasks.ErrDamaged
	}
	return receipts, nil
}

// TestUntakenMessageIsTold: a person whose message could not be stored gets a reply
// that says so.
func TestUntakenMessageIsTold(t *testing.T) {
	d := newInboxEnv(t)
	d.Inbox.Store = refusing{d.store}
	d.Ask(t, enginetest.Message("1", "hi", time.Now()))
	if got := d.Platform.Posts(bot.KindNotice); len(got) != 1 || got[0].Text != d.Texts.Text("en", "problem.internal", nil) {
		t.Errorf("notices = %+v, want one that something went wrong", got)
	}
}

// full is a store that has no room for messages.
type full struct{ tasks.Store }

func (full) Open(context.Context, []tasks.Inbound) ([]tasks.Receipt, error) {
	return nil, tasks.ErrFull
}

// TestNoRoomIsTold: on a full disk the person gets a message, the log has the cause,
// and the platform delivers the message again.
func TestNoRoomIsTold(t *testing.T) {
	d := newInboxEnv(t)
	d.Use(full{d.store})
	err := d.Inbox.Handle(t.Context(), []bot.Message{enginetest.Message("1", "hi", time.Now())})
	if !errors.Is(err, bot.ErrNotified) || !errors.Is(err, tasks.ErrFull) {
		t.Errorf("Handle: %v, want one that is ErrTold and ErrFull", err)
	}
	if got := d.Platform.Posts(bot.KindNotice); len(got) != 1 || got[0].Text != d.Texts.Text("en", "problem.disk_full", nil) {
		t.Errorf("notices = %+v, want the sentence about the full disk", got)
	}
}

// TestWordsAreNotLogged: the log holds the texts of people and tools only at debug
// level, also when calls fail, are refused, or are not possible.
func TestWordsAreNotLogged(t *testing.T) {
	const word = "heron"
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		store := memory.New(nil)
		k := enginetest.NewEnv(t, store)
		var log bytes.Buffer
		k.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))
		k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
			arguments := fmt.Sprintf(`{"query":%q}`, word)
			switch last := r.Messages[len(r.Messages)-1]; {
			case r.Role == llm.RolePlan:
				return llm.Reply{Text: `{"plan":[{"name":"look","description":"find the heron"},{"name":"book","description":"book the heron","after":[]}]}`}, nil
			case r.Role == llm.RoleWork && last.Role != llm.ToolRole:
				return llm.Reply{ToolCalls: []llm.ToolCall{
					{ID: "a", Name: "look", Arguments: arguments}, {ID: "b", Name: "book", Arguments: arguments}, {ID: "c", Name: "ask_person", Arguments: word},
				}}, nil
			}
			return llm.Reply{Text: "a heron it is"}, nil
		}
		k.Tools.Make = func(_ context.Context, _, arguments string) (tools.Result, error) {
			return tools.Result{Text: "cannot read " + arguments, Failed: true}, nil
		}
		k.Tools.Judge = func(group, _ string) tools.Verdict {
			if group == "book" {
				return tools.Verdict{Refusal: "there is no heron to be had"}
			}
			return tools.Verdict{Repeatable: true}
		}
		k.Use(store)
		k.Start(func(s enginetest.Setup) tasks.Engine {
			return engine.New(engine.Config{Store: s.Store, Executor: s.Executor, Presenters: s.Presenters, Log: s.Log, Now: s.Now, Concurrent: s.Concurrent, Pause: s.Pause})
		})
		k.Ask(t, enginetest.Message("1", "where is the heron?", time.Now()))
		if err := tasks.Idle(t.Context(), store, enginetest.Chat.Key()); err != nil {
			t.Fatal(err)
		}
		k.Stop()
		for _, line := range []string{"tool call failed", "tool call refused", "tool call not possible"} {
			if !strings.Contains(log.String(), line) {
				t.Errorf("at %v nothing is logged of %q:\n%s", level, line, &log)
			}
		}
		if told := strings.Contains(log.String(), word); told != (level == slog.LevelDebug) {
			t.Errorf("at %v the log tells what was said: %v\n%s", level, told, &log)
		}
	}
}
