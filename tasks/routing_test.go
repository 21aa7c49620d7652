package tasks_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// TestAddedToTheTask: guidance is marked, can be taken back until something
// heeds it, and can be asked separately once.
func TestAddedToTheTask(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.plans(id)
	o.pass(time.Minute)
	h := o.send(o.by("ann", me, "also this"))
	if h.text() != o.text("notice.added", nil) || !slices.Equal(o.said(id), []string{"also this"}) {
		t.Fatalf("guidance was answered %q; heard %q", h.text(), o.said(id))
	}
	undo, separate := h.data(t, o.text("button.undo", nil)), h.data(t, o.text("button.separate", nil))
	if h := o.send(o.press("bob", me, undo)); h.text() != o.text("error.not_allowed", nil) && h.text() != o.text("error.not_yours", nil) {
		t.Errorf("Undo by somebody else: %q", h.text())
	}
	if h := o.send(o.press("ann", me, undo)); h.text() != o.text("notice.undone", nil) || len(o.said(id)) != 0 {
		t.Errorf("Undo: %q; heard %q", h.text(), o.said(id))
	}
	if h := o.send(o.press("ann", me, undo)); h.text() != "" || len(h.answers) != 1 {
		t.Errorf("Undo again: %+v", h)
	}
	for i := range 2 {
		o.send(o.press("ann", me, separate))
		if got := o.goals(me); !slices.Equal(got, []string{"go", "also this"}) {
			t.Errorf("after pressing Ask separately %d times: %q", i+1, got)
		}
	}

	o.pass(time.Minute) // sooner it would be a part of the question that was asked separately
	h = o.send(o.by("ann", me, "and that"))
	o.send(o.press("ann", me, h.data(t, o.text("button.separate", nil))))
	if got := o.goals(me); !slices.Equal(got, []string{"go", "also this", "and that"}) || len(o.said(id)) != 0 {
		t.Errorf("asked separately: tasks %q, heard %q", got, o.said(id))
	}
}

// TestPasted: a long text that an app sends in pieces is one question, and
// nothing is said about the pieces, in however many batches the pieces come, also where the platform
// tells whole seconds only.
func TestPasted(t *testing.T) {
	for _, c := range []struct {
		batches []int
		apart   time.Duration // one batch from the next
		coarse  bool          // the second half of a batch has the next second
	}{
		{[]int{4}, 0, false},
		{[]int{4}, 0, true},
		{[]int{1, 1, 1, 1}, 10 * time.Millisecond, false},
		{[]int{1, 1, 1, 1}, 600 * time.Millisecond, false},
		{[]int{2, 2}, 10 * time.Millisecond, true},
		{[]int{1, 3}, 900 * time.Millisecond, false},
	} {
		o := newEnv(t)
		me, marked := private("ann"), 0
		for _, n := range c.batches {
			var batch []bot.Message
			for i := range n {
				m := o.by("ann", me, "a piece")
				if c.coarse && i >= n/2 {
					m.At = m.At.Add(time.Second)
				}
				batch = append(batch, m)
			}
			marked += len(o.send(batch...).posts)
			o.pass(c.apart)
		}
		whole := "a piece\na piece\na piece\na piece"
		if asked, live := o.asked(me), o.live(me); !slices.Equal(asked, []string{whole}) || len(live) != 1 || marked != 0 {
			t.Errorf("%+v: asked %q, %d tasks, marked %d times; want one question of four pieces, no mark", c, asked, len(live), marked)
		}
	}
}

// TestRetryAtOnce: a person can see an answer, and repeat the question, before the
// store has recorded that the answer was shown.
func TestRetryAtOnce(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{Text: "done"}})
	if h := o.send(o.by("ann", me, "/retry")); h.text() != "" {
		t.Errorf("/retry was answered %q", h.text())
	}
	if got := o.goals(me); !slices.Equal(got, []string{"go", "go"}) {
		t.Errorf("asked: %q, want the question twice", got)
	}
}

// TestUndoTooLate: guidance that the answer already used cannot be taken back.
func TestUndoTooLate(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.plans(id)
	o.pass(time.Minute)
	h := o.send(o.by("ann", me, "also this"))
	o.ends(id, "done")
	o.restart()
	if got := o.send(o.press("ann", me, h.data(t, o.text("button.undo", nil)))); got.text() != o.text("error.undo_late", nil) {
		t.Errorf("Undo after the end: %q", got.text())
	}
	o.send(o.press("ann", me, h.data(t, o.text("button.separate", nil))))
	if got := o.goals(me); !slices.Equal(got, []string{"also this"}) {
		t.Errorf("asked separately after the end: %q", got)
	}
}

// TestWhatAMessageSpeaksTo while ann's task works by a plan, and bob asks
// nothing of it.
func TestWhatAMessageSpeaksTo(t *testing.T) {
	reply := func(m *bot.Message) { m.ReplyTo = "board" }
	within := func(m *bot.Message) { m.InThread = true }
	overheard := func(m *bot.Message) { m.Overheard = true }
	thread := func(m *bot.Message) { m.Overheard, m.InThread = true, true }
	for _, c := range []struct {
		name          string
		person        string
		in            bot.Chat
		change        func(*bot.Message)
		heard, opened bool
	}{
		{"a reply of the asker in a group", "ann", room("hall"), reply, true, false},
		{"a reply of an admin in a group", "boss", room("hall"), reply, true, false},
		{"a reply of somebody else in a group", "bob", room("hall"), reply, false, true},
		{"a plain message of the asker in a group", "ann", room("hall"), nil, false, true},
		{"a reply to another message", "ann", room("hall"), func(m *bot.Message) { m.ReplyTo = "other" }, false, true},
		{"a plain message in a private chat", "ann", private("ann"), nil, true, false},
		{"marked as apart", "ann", private("ann"), func(m *bot.Message) { m.Standalone = true }, false, true},
		{"of the asker in its thread", "ann", room("hall"), within, true, false},
		{"of an admin in its thread", "boss", room("hall"), within, true, false},
		{"of somebody else in its thread", "bob", room("hall"), within, false, true},
		{"the asker overheard in its thread", "ann", room("hall"), thread, true, false},
		{"an admin overheard in its thread", "boss", room("hall"), thread, true, false},
		{"somebody else overheard in its thread", "bob", room("hall"), thread, false, false},
		{"a stranger overheard in its thread", "eve", room("hall"), thread, false, false},
		{"the asker overheard", "ann", room("hall"), overheard, false, true},
		{"an admin overheard", "boss", room("hall"), overheard, false, false},
		{"a reply of the asker, overheard", "ann", room("hall"), func(m *bot.Message) { m.Overheard, m.ReplyTo = true, "board" }, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newEnv(t)
			id := o.opens("ann", c.in, "go")
			o.plans(id)
			o.pass(time.Minute)
			m := o.by(c.person, c.in, "blue")
			if c.change != nil {
				c.change(&m)
			}
			for range 2 {
				o.send(m)
			}
			if heard, opened := len(o.said(id)) == 1, len(o.live(c.in)) == 2; heard != c.heard || opened != c.opened {
				t.Errorf("heard %q, tasks %q; want heard %v, opened %v", o.said(id), o.goals(c.in), c.heard, c.opened)
			}
		})
	}
}

// TestOverheardFollowUp: only the person who asked last may ask again without naming
// the bot; legwork does not answer others.
func TestOverheardFollowUp(t *testing.T) {
	o := newEnv(t)
	hall := room("hall")
	o.ends(o.opens("ann", hall, "go"), "gone")
	o.pass(time.Minute)
	o.ends(o.opens("bob", hall, "of bob"), "yes")
	o.pass(time.Minute)
	for person, want := range map[string]int{"ann": 0, "boss": 0, "eve": 0, "bob": 1} {
		for _, text := range []string{"", "and now?", "/status"} {
			m := o.by(person, hall, text)
			m.Overheard, m.InThread = true, true
			if text == "" {
				m.Media = "sticker"
			}
			if got := o.inbox.FollowsUp(t.Context(), m); got != (person == "bob") {
				t.Errorf("%q of %s, overheard, follows up: %t", text, person, got)
			}
			if h := o.send(m); h.text() != "" && (person != "bob" || text == "") {
				t.Errorf("%q of %s, overheard, was answered %q", text, person, h.text())
			}
		}
		if n := len(o.live(hall)); n != want {
			t.Errorf("%d tasks after the words of %s, want %d", n, person, want)
		}
		for _, id := range o.live(hall) {
			o.ends(id, "ok")
		}
	}
}

// TestAnswersInAThread: a question to a person is answered by any words of the
// asker or an admin in its thread.
func TestAnswersInAThread(t *testing.T) {
	for person, want := range map[string]bool{"ann": true, "boss": true, "bob": false} {
		o := newEnv(t)
		id := o.opens("ann", room("hall"), "go")
		o.plans(id)
		o.add(id, planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{
			{ID: "c", Name: planner.ToolAskPerson, Arguments: "{}", Ask: &planner.Question{Text: "Which?"}},
		}}})
		o.pass(time.Minute)
		m := o.by(person, room("hall"), "blue")
		m.Overheard, m.InThread = true, true
		o.send(m)
		var got string
		events, err := o.store.Load(t.Context(), id, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if e.Type == planner.Decided {
				got = e.Decision.Text
			}
		}
		if (got == "blue") != want || len(o.live(room("hall"))) != 1 {
			t.Errorf("the words of %s were taken for the answer %q; tasks %q", person, got, o.goals(room("hall")))
		}
	}
}

// TestMentionWithoutWords: a mention alone asks about the messages that it brings along.
// Without any, and as an answer to a question, it says nothing.
func TestMentionWithoutWords(t *testing.T) {
	o := newEnv(t)
	hall := room("hall")
	m := o.by("ann", hall, "")
	m.InThread, m.Earlier = true, []bot.Quoted{{From: "Eve", Text: "Why is the site down?"}}
	o.send(m)
	look := o.text("prompt.look", nil)
	if got := o.goals(hall); len(got) != 1 || got[0] != look {
		t.Fatalf("the mention asks %q, want %q", got, look)
	}
	id := o.live(hall)[0]
	if e := o.event(id, 1).Opening.Earlier; len(e) != 1 || e[0].From != "Eve" {
		t.Errorf("the question brings along %+v, want the message of Eve", e)
	}
	o.plans(id)
	o.add(id, planner.Event{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Calls: []planner.Call{
		{ID: "c", Name: planner.ToolAskPerson, Arguments: "{}", Ask: &planner.Question{Text: "Which?"}},
	}}})
	o.pass(time.Minute)
	again := o.by("ann", hall, "")
	again.InThread, again.Earlier = true, []bot.Quoted{{From: "Eve", Text: "Both."}}
	o.send(again)
	events, err := o.store.Load(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	if last := events[len(events)-1]; last.Type != planner.GuidanceAdded || len(last.Earlier) != 1 {
		t.Errorf("while a question is open the mention became %+v, want guidance", last)
	}
	if got, want := o.say("ann", room("other"), ""), o.text("error.empty_goal", nil); !strings.Contains(got, want) {
		t.Errorf("a mention that brings nothing along is answered by %q, want %q", got, want)
	}
}

// TestEditedQuestion: an edit without a change does nothing. A changed question goes
// to its task while the task accepts guidance, and otherwise becomes a new question.
func TestEditedQuestion(t *testing.T) {
	corrected := func(o *env, text string) string {
		return o.text("prompt.corrected", map[string]any{"Text": text})
	}
	edit := func(m bot.Message, key, text string) bot.Message {
		m.Key, m.Text, m.Kind = key, text, bot.MessageEdit
		return m
	}
	for _, c := range []struct {
		name    string
		ask     string
		prepare func(o *env, id tasks.ID)
		text    string
		heard   bool
		goals   []string
	}{
		{"the same text", "weather in Pariis", nil, "weather in Pariis", false, []string{"weather in Pariis"}},
		{"before it is decided", "weather in Pariis", nil, "weather in Paris", true, []string{"weather in Pariis"}},
		{"while a plan runs", "weather in Pariis", func(o *env, id tasks.ID) { o.plans(id) }, "weather in Paris", true, []string{"weather in Pariis"}},
		{"while the answer goes out", "weather in Pariis", func(o *env, id tasks.ID) {
			o.add(id, planner.Event{Type: planner.SendStarted, Action: planner.Todo(o.state(id))[0].ID})
		}, "weather in Paris", true, []string{"weather in Pariis"}},
		{"after the answer", "weather in Pariis", func(o *env, id tasks.ID) { o.ends(id, "rain") }, "weather in Paris", false, []string{"weather in Paris"}},
		{"after the answer, the same text", "weather in Pariis", func(o *env, id tasks.ID) { o.ends(id, "rain") }, "weather in Pariis", false, nil},
		{"a command's text", "/task weather in Pariis", nil, "/task weather in Paris", true, []string{"weather in Pariis"}},
		{"a command's same text", "/task weather in Pariis", nil, "/task weather in Pariis", false, []string{"weather in Pariis"}},
		{"emptied", "weather in Pariis", nil, "", false, []string{"weather in Pariis"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newEnv(t)
			hall := room("hall")
			m := o.by("ann", hall, c.ask)
			o.send(m)
			id := o.live(hall)[0]
			if c.prepare != nil {
				c.prepare(o, id)
			}
			o.pass(time.Minute)
			for range 2 {
				o.send(edit(m, "edit", c.text))
			}
			want := []string(nil)
			if c.heard {
				want = []string{corrected(o, "weather in Paris")}
			}
			if heard := o.said(id); !slices.Equal(heard, want) || !slices.Equal(o.goals(hall), c.goals) {
				t.Errorf("heard %q, tasks %q; want %q and %q", heard, o.goals(hall), want, c.goals)
			}
			if !c.heard {
				return
			}
			o.send(edit(m, "edit again", c.text))
			if heard := o.said(id); !slices.Equal(heard, want) {
				t.Errorf("the same edit under another key: heard %q", heard)
			}
			o.send(edit(m, "edit more", "weather in Rome"))
			if heard := o.said(id); !slices.Equal(heard, []string{corrected(o, "weather in Rome")}) {
				t.Errorf("after another edit: heard %q; the one before is to be taken back", heard)
			}
		})
	}
}

// TestEditedGuidance: it is said again, in place of what was said.
func TestEditedGuidance(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	id := o.opens("ann", me, "go")
	o.plans(id)
	o.pass(time.Minute)
	m := o.by("ann", me, "by trian")
	o.send(m)
	m.Key, m.Text, m.Kind = "edit", "by train", bot.MessageEdit
	if h := o.send(m); h.text() != o.text("notice.added", nil) {
		t.Errorf("edited guidance was answered %q", h.text())
	}
	if want := []string{o.text("prompt.corrected", map[string]any{"Text": "by train"})}; !slices.Equal(o.said(id), want) {
		t.Errorf("heard %q, want %q", o.said(id), want)
	}
}

// TestEditedByAnother: in a listed chat, the edit of a message that the bot
// never took is no question when it is only overheard.
func TestEditedByAnother(t *testing.T) {
	o := newEnv(t)
	m := o.by("bob", room("hall"), "chatter")
	m.Kind, m.Overheard = bot.MessageEdit, true
	o.send(m)
	if n := len(o.live(room("hall"))); n != 0 {
		t.Errorf("%d tasks", n)
	}
	m.Key, m.Overheard = "addressed", false
	o.send(m)
	if n := len(o.live(room("hall"))); n != 1 {
		t.Errorf("%d tasks, want one: the edit names the bot", n)
	}
}

// TestDeleted: a deleted question is stopped and deleted guidance is taken
// back, no matter who deleted it on the platform.
func TestDeleted(t *testing.T) {
	gone := func(m bot.Message) bot.Message {
		return bot.Message{Key: "gone " + m.Key, Chat: m.Chat, ID: m.ID, Kind: bot.MessageDeletion}
	}
	o := newEnv(t)
	hall := room("hall")
	ask := o.by("ann", hall, "go")
	o.send(ask)
	id := o.live(hall)[0]
	o.plans(id)
	o.pass(time.Minute)
	more := o.by("ann", hall, "by train")
	more.ReplyTo = "board"
	o.send(more)
	other := o.opens("bob", hall, "of bob")
	o.send(gone(o.by("ann", hall, "never seen")))
	if o.state(id).Outcome != planner.Pending || len(o.said(id)) != 1 {
		t.Fatal("an unknown message ended something")
	}
	if o.send(gone(more)); len(o.said(id)) != 0 {
		t.Errorf("heard %q after the guidance was deleted", o.said(id))
	}
	for range 2 {
		if h := o.send(gone(ask)); h.text() != "" {
			t.Errorf("a deletion was answered %q", h.text())
		}
	}
	if got := o.state(id).Outcome; got != planner.Halted {
		t.Errorf("outcome = %q after the question was deleted, want stopped", got)
	}
	if o.state(other).Outcome != planner.Pending {
		t.Error("another task was stopped too")
	}
}

// TestMoved: the conversation goes on under its new name.
func TestMoved(t *testing.T) {
	o := newEnv(t)
	hall, to := room("hall"), room("hall2")
	o.rules.Access.Platforms = nil
	o.inbox.Use(o.rules)
	ended := o.opens("ann", hall, "ended")
	o.ends(ended, "yes")
	o.pass(time.Minute)
	ask := o.by("ann", hall, "go")
	move := bot.Message{Key: "move", Chat: hall, Kind: bot.MessageMove, MovedTo: to}
	o.send(ask, move, o.by("ann", to, "/stop"))
	o.send(move)
	if got := o.goals(to); !slices.Equal(got, []string{"go"}) || len(o.live(hall)) != 0 {
		t.Fatalf("tasks %q in the new chat, %q in the old one", got, o.goals(hall))
	}
	if id := o.live(to)[0]; o.state(id).Outcome != planner.Halted {
		t.Error("the stop in the new chat did not reach the task")
	}
	if h := o.send(o.press("ann", to, "r:"+string(ended))); h.text() != "" || len(o.live(to)) != 2 {
		t.Errorf("Retry in the new chat: %q, tasks %q", h.text(), o.goals(to))
	}
}

// TestAnswersToCommands: answers go where only their author sees them, if the
// platform can; in the chat otherwise, and in private chats where there are
// buttons, which others do not see.
func TestAnswersToCommands(t *testing.T) {
	o := newEnv(t)
	m := o.by("ann", room("hall"), "/status")
	m.Token = "token"
	if h := o.send(m); len(h.posts) != 0 || h.text() != o.text("statusline.none", nil) {
		t.Errorf("with a token: %+v, want an answer", h)
	}
	m = o.by("ann", room("hall"), "/lang")
	m.Token = "token"
	if h := o.send(m); len(h.answers) != 1 || h.answers[0] == "" || len(h.posts) != 0 {
		t.Errorf("with buttons among others: %+v, want an answer", h)
	}
	m = o.by("ann", private("ann"), "/lang")
	m.Token = "token"
	if h := o.send(m); len(h.posts) != 1 || len(h.answers) != 0 {
		t.Errorf("with buttons: %+v, want a message", h)
	}
	o.phone.refuse[private("ann").Key()] = true
	m.Key = "where the bot cannot write"
	if h := o.send(m); len(h.answers) != 1 || h.answers[0] == "" {
		t.Errorf("where the bot cannot write: %+v, want an answer", h)
	}
	m = o.by("ann", room("hall"), "hello")
	m.Token = "token"
	if h := o.send(m); len(h.answers)+len(h.posts) != 0 {
		t.Errorf("a question was answered %+v, want nothing yet", h)
	}
}

// TestSlowChat: notices that wait in one chat hold up neither the intake nor
// other chats; Flush ends the waiting.
func TestSlowChat(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := newEnv(t)
	o.phone.hold["phone:hall"], o.phone.sent = make(chan any), make(chan bot.Chat, 1)
	for range 100 {
		if err := o.inbox.Handle(t.Context(), []bot.Message{o.by("ann", room("hall"), "/help")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.inbox.Handle(t.Context(), []bot.Message{o.by("bob", private("bob"), "/help")}); err != nil {
		t.Fatal(err)
	}
	<-o.phone.sent
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o.inbox.Flush(ctx)
	if got := o.posted(); !slices.Equal(got, []string{"bob"}) {
		t.Errorf("posts in %q, want one to bob and none in the slow chat", got)
	}
}

// posted lists the chats of the posts.
func (o *env) posted() []string {
	o.phone.mu.Lock()
	defer o.phone.mu.Unlock()
	var list []string
	for _, p := range o.phone.posts {
		list = append(list, p.Chat.ID)
	}
	return list
}

// TestNoticesKeepTheirOrder within a chat.
func TestNoticesKeepTheirOrder(t *testing.T) {
	o := newEnv(t)
	var want []string
	var batch []bot.Message
	for _, name := range strings.Fields("a1 b2 c3 d4 e5 f6 g7 h8 i9") {
		batch = append(batch, o.by("ann", room("hall"), "/"+name))
		want = append(want, o.text("error.unknown_command", map[string]any{"Command": "/" + name}))
	}
	if got := o.send(batch...).text(); got != strings.Join(want, " | ") {
		t.Errorf("notices = %q, want %q", got, want)
	}
}

// TestApologyOnce: a message that cannot be stored is delivered again and again; its
// author gets one reply about that.
func TestApologyOnce(t *testing.T) {
	o := newEnv(t)
	o.seen = full{o.store}
	o.restart()
	m := o.by("ann", private("ann"), "hello")
	for range 5 {
		if err := o.inbox.Handle(t.Context(), []bot.Message{m}); err == nil {
			t.Fatal("a message that was not stored is acknowledged")
		}
	}
	o.inbox.Flush(t.Context())
	if got := o.posted(); !slices.Equal(got, []string{"ann"}) {
		t.Errorf("apologies to %q, want one to ann", got)
	}
}

// TestUseKeepsWhatPeopleSet: new rules count from the next message on.
func TestUseKeepsWhatPeopleSet(t *testing.T) {
	o := newEnv(t)
	o.say("bob", private("bob"), "/lang ru")
	o.rules.Language, o.rules.Limits.Rounds = "zh", 3
	o.rules.Access.Platforms = map[string]policy.PlatformAccess{"phone": {Users: []string{"bob"}}}
	o.inbox.Use(o.rules)
	if got := o.event(o.opens("bob", private("bob"), "hi"), 1).Opening; got.Language != "ru" || got.Limits.Rounds != 3 {
		t.Errorf("opening = %+v, want the person's language and the new limits", got)
	}
	if got := o.say("ann", private("ann"), "hi"); got != o.texts.Text("zh", "error.not_allowed", nil) {
		t.Errorf("a person who is no longer listed was answered %q", got)
	}
}

// broken is a store where one task cannot be read, and no setting of a person.
type broken struct {
	tasks.Store
	task   tasks.ID
	person string
}

func (b broken) Event(ctx context.Context, id tasks.ID, seq int) (planner.Event, error) {
	if id == b.task {
		return planner.Event{}, tasks.ErrDamaged
	}
	return b.Store.Event(ctx, id, seq)
}

func (b broken) Setting(ctx context.Context, owner, name string) (string, error) {
	if owner == b.person {
		return "{", nil
	}
	return b.Store.Setting(ctx, owner, name)
}

// TestDamagedRecord: a message that needs one holds up no others.
func TestDamagedRecord(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", room("hall"), "go")
	o.seen = broken{o.store, id, "phone:eve"}
	o.restart()
	h := o.send(o.by("bob", room("hall"), "/status"), o.by("eve", private("eve"), "hi"), o.by("bob", private("bob"), "/help"))
	got := map[string]string{}
	for _, p := range h.posts {
		got[p.Chat.ID] += p.Text
	}
	want := map[string]string{"hall": o.text("problem.damaged", nil), "bob": o.text("help.chat", nil)}
	if !maps.Equal(got, want) {
		t.Errorf("answers = %q, want %q", got, want)
	}
}
