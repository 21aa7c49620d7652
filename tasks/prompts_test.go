package tasks_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

func newPromptEnv(t *testing.T) *engineEnv {
	t.Helper()
	s := newEngineEnv(t)
	s.tools.prompts = []tools.Prompt{
		{Name: "travel/plan_trip", Title: "Plan a trip", Description: "Plans a *trip*", Arguments: []tools.PromptArgument{
			{Name: "city", Description: "Where to", Required: true}, {Name: "days", Required: true}, {Name: "mood"},
		}},
		{Name: "travel/pack"},
	}
	return s
}

// prompt is the one that a task begins with.
func (s *engineEnv) prompt(id tasks.ID) planner.PromptRef {
	s.t.Helper()
	o := s.event(id, 1).Opening
	if o.Prompt == nil {
		s.t.Fatalf("the task %q has no prompt", o.Goal)
	}
	return *o.Prompt
}

// newest is the task that was opened last in a chat.
func (s *engineEnv) newest(in string) tasks.ID {
	s.t.Helper()
	turns, err := s.store.History(s.t.Context(), in, "", 1<<20)
	if err != nil || len(turns) == 0 {
		s.t.Fatalf("history of %s: %v, %v", in, turns, err)
	}
	return turns[len(turns)-1].Task
}

// TestPromptList: prompts are listed beside the chat, without the groups whose
// servers are slow, and unknown ones are answered with the nearest.
func TestPromptList(t *testing.T) {
	s := newPromptEnv(t)
	got := s.say("ann", private("ann"), "/prompt")
	for _, want := range []string{"`travel/plan_trip city=… days=… [mood=…]`: Plans a \\*trip\\*", "`travel/pack`"} {
		if !strings.Contains(got, want) {
			t.Errorf("/prompt lacks %q: %q", want, got)
		}
	}
	if got := s.say("ann", private("ann"), "/prompt plan_trop city=Rome"); !strings.Contains(got, "Did you mean `travel/plan_trip`?") {
		t.Errorf("a misspelt prompt got %q", got)
	}
	s.tools.slow = make(chan any)
	slow, quick := s.by("ann", private("ann"), "/prompt"), s.by("bob", private("bob"), "/groups")
	if err := s.inbox.Handle(t.Context(), []bot.Message{slow, quick}); err != nil {
		t.Fatal(err)
	}
	close(s.tools.slow) // both were handled while a server had not answered
	s.inbox.Flush(t.Context())
}

// TestPromptArguments: missing arguments are asked for one after the other, over
// a restart, and then the task begins with all of them.
func TestPromptArguments(t *testing.T) {
	s := newPromptEnv(t)
	me := private("ann")
	asked := s.send(s.by("ann", me, "/prompt PLAN_trip mood=\"very calm\""))
	if got := asked.words(); !strings.Contains(got, "**city**") || !strings.Contains(got, "Where to") {
		t.Fatalf("the first question is %q", got)
	}
	s.again()
	first := s.by("ann", me, "New York")
	if got := s.send(first).words(); !strings.Contains(got, "**days**") {
		t.Fatalf("the second question is %q", got)
	}
	if got := s.send(first).words(); got != "" { // delivered again
		t.Errorf("the same message again got %q", got)
	}
	s.send(s.by("ann", me, "3"))
	id := s.newest(me.Key())
	got := s.prompt(id)
	want := map[string]string{"city": "New York", "days": "3", "mood": "very calm"}
	if got.Group != "book" || got.Name != "travel/plan_trip" || !maps.Equal(got.Arguments, want) {
		t.Errorf("prompt = %+v", got)
	}
	if goal := s.event(id, 1).Opening.Goal; goal != "/prompt travel/plan_trip city=New York days=3 mood=very calm" {
		t.Errorf("goal = %q", goal)
	}
	s.over(id)
	s.send(s.by("ann", me, "hello"))
	if o := s.event(s.newest(me.Key()), 1).Opening; o.Prompt != nil || o.Goal != "hello" {
		t.Errorf("the message after that opens %+v", o)
	}
}

// TestPromptAtOnce: with all arguments, or none to give, the task begins at once;
// a redelivery opens no second one.
func TestPromptAtOnce(t *testing.T) {
	s := newPromptEnv(t)
	m := s.by("ann", room("hall"), "/prompt plan_trip Rome days=2 mood=")
	s.send(m)
	id := s.newest("phone:hall")
	if got := s.prompt(id); !maps.Equal(got.Arguments, map[string]string{"city": "Rome", "days": "2"}) {
		t.Errorf("arguments = %v", got.Arguments)
	}
	s.over(id)
	if at := s.state(id); at.Tainted != at.PromptSeq {
		t.Errorf("from event %d on the task gains nothing, want from its prompt on, %d: that is the server's words", at.Tainted, at.PromptSeq)
	}
	if s.send(m); s.newest("phone:hall") != id {
		t.Error("a redelivery opened another task")
	}
	s.send(s.by("ann", room("hall"), "/prompt travel/pack"))
	if got := s.prompt(s.newest("phone:hall")); got.Name != "travel/pack" {
		t.Errorf("prompt = %+v", got)
	}
}

// TestPromptLeftOff: a command ends the asking, as do an hour and, in a group,
// words that reply to something else.
func TestPromptLeftOff(t *testing.T) {
	s := newPromptEnv(t)
	me := private("ann")
	s.send(s.by("ann", me, "/prompt plan_trip"))
	if got := s.say("ann", me, "/cancel"); got != s.text("prompts.over", nil) {
		t.Errorf("/cancel said %q", got)
	}
	s.send(s.by("ann", me, "/prompt plan_trip"))
	s.say("ann", me, "/status")
	s.send(s.by("ann", me, "Rome"))
	if o := s.event(s.newest(me.Key()), 1).Opening; o.Goal != "Rome" {
		t.Errorf("words after a command opened %q", o.Goal)
	}
	s.over(s.newest(me.Key()))
	s.send(s.by("ann", me, "/prompt plan_trip"))
	s.pass(2 * time.Hour)
	s.send(s.by("ann", me, "Paris"))
	if o := s.event(s.newest(me.Key()), 1).Opening; o.Goal != "Paris" {
		t.Errorf("words after two hours opened %q", o.Goal)
	}
	asked := s.send(s.by("ann", room("hall"), "/prompt plan_trip"))
	s.send(s.by("ann", room("hall"), "hi"))
	if o := s.event(s.newest("phone:hall"), 1).Opening; o.Goal != "hi" {
		t.Errorf("words in a group opened %q", o.Goal)
	}
	reply := s.by("ann", room("hall"), "Oslo")
	reply.ReplyTo = asked.notice(t).ID
	if got := s.send(reply).words(); !strings.Contains(got, "**days**") {
		t.Errorf("the reply got %q", got)
	}
}

// TestPromptArgumentInThread: in a thread the next words of the person who was
// asked are the argument without naming the bot; the words of others are not.
func TestPromptArgumentInThread(t *testing.T) {
	s := newPromptEnv(t)
	thread := room("hall")
	thread.Thread = "7"
	s.send(s.by("ann", thread, "/prompt plan_trip days=2"))
	overheard := func(who, text string) bot.Message {
		m := s.by(who, thread, text)
		m.Overheard, m.InThread = true, true
		return m
	}
	s.send(overheard("bob", "Paris"))
	s.send(overheard("ann", "Oslo"))
	if got := s.prompt(s.newest(thread.Key())); !maps.Equal(got.Arguments, map[string]string{"city": "Oslo", "days": "2"}) {
		t.Errorf("prompt = %+v, want the words of who was asked", got)
	}
	chatter := s.by("ann", room("hall"), "/prompt plan_trip days=2")
	s.send(chatter)
	beside := s.by("ann", room("hall"), "Rome, perhaps")
	beside.Overheard = true
	if got := s.send(beside).words(); got != "" {
		t.Errorf("words beside the question got %q", got)
	}
}

// TestPromptAnsweredAtOnce: who answers before the id of the question is known
// is not asked for the same again by it.
func TestPromptAnsweredAtOnce(t *testing.T) {
	s := newPromptEnv(t)
	me := private("ann")
	held := make(chan any)
	s.phone.mu.Lock()
	s.phone.hold = map[string]chan any{me.Key(): held}
	s.phone.mu.Unlock()
	if err := s.inbox.Handle(t.Context(), []bot.Message{s.by("ann", me, "/prompt plan_trip days=2")}); err != nil {
		t.Fatal(err)
	}
	deadline, look := time.After(watch.Patience), time.NewTicker(time.Millisecond)
	defer look.Stop()
	for s.setting(me.Key(), "prompt "+me.Key()) == "" {
		select {
		case <-deadline:
			t.Fatal("no argument is asked for")
		case <-look.C:
		}
	}
	if err := s.inbox.Handle(t.Context(), []bot.Message{s.by("ann", me, "Oslo")}); err != nil {
		t.Fatal(err)
	}
	close(held)
	s.inbox.Flush(t.Context())
	id := s.newest(me.Key())
	if got := s.prompt(id); got.Arguments["city"] != "Oslo" {
		t.Fatalf("prompt = %+v", got)
	}
	s.over(id)
	s.send(s.by("ann", me, "something else"))
	if o := s.event(s.newest(me.Key()), 1).Opening; o.Goal != "something else" {
		t.Errorf("the next words opened %q", o.Goal)
	}
}
