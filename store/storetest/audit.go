package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

func (b *env) auditLog(before uint64, limit int) []tasks.AuditEntry {
	b.Helper()
	list, err := b.store.AuditLog(b.Context(), before, limit)
	b.ok(err)
	return list
}

func (b *env) record(e tasks.AuditEntry) {
	b.Helper()
	b.ok(b.store.Record(b.Context(), e))
}

// testAudit: what people and programs decide and change is entered with its event;
// the rest by who did it.
func testAudit(b *env) {
	begin := b.clock.now()
	in := b.question(bot.Chat{Platform: "api", ID: "ci", Thread: "t1"}, "t1", "secret goal")
	in.Open.Opening.From, in.Open.Opening.Preview = bot.Person{Platform: "api", ID: "ci"}, true
	_, err := b.store.Open(tasks.WithOrigin(b.Context(), tasks.Origin{Role: "operator", Addr: "10.0.0.1"}), []tasks.Inbound{in})
	b.ok(err)
	b.ask(chat("c"), "t2", "secret question") // of a person in a chat: nothing to tell
	b.plan("t1")
	b.append("t1", planner.Event{
		Type: planner.Decided, By: "slack:U1", Action: b.wanted("t1"),
		Decision: &planner.Decision{Approve: true, Text: "secret words"},
	})
	set := planner.Event{Type: planner.StateSet, By: "agent:x", Values: map[string]json.RawMessage{"b": json.RawMessage(`"secret"`), "a": nil}}
	b.ok(b.store.Append(tasks.WithOrigin(b.Context(), tasks.Origin{Role: "agent", Addr: "10.0.0.2"}), "t1", -1, 0, set))
	b.append("t1", said("secret hint"), planner.Event{Type: planner.Stopped, By: "slack:U2"})
	b.record(tasks.AuditEntry{Who: "api:ops", Role: "admin", Action: "config.reload", Target: "x", From: "127.0.0.1", Detail: "two\nlines"})
	if err := b.store.Record(b.Context(), tasks.AuditEntry{Who: "api:ops"}); err == nil {
		b.Fatal("an entry that does not say what was done was taken")
	}
	want := []tasks.AuditEntry{
		{Seq: 5, At: begin, Who: "api:ops", Role: "admin", Action: "config.reload", Target: "x", Detail: "two…", From: "127.0.0.1"},
		{Seq: 4, At: begin, Who: "slack:U2", Action: "task.cancel", Target: "t1"},
		{Seq: 3, At: begin, Who: "agent:x", Role: "agent", Action: "state.set", Target: "t1", Detail: `"a", "b"`, From: "10.0.0.2"},
		{Seq: 2, At: begin, Who: "slack:U1", Action: "task.decide", Target: "t1", Detail: "plan 2.0, approve"},
		{Seq: 1, At: begin, Who: "api:ci", Role: "operator", Action: "task.start", Target: "t1", From: "10.0.0.1"},
	}
	got := b.auditLog(0, 100)
	got[0].Detail = "two…" // how a line is cut is not the store's
	b.same("audit log", got, want)
	b.same("its first page", b.auditLog(0, 2)[1], want[1])
	b.same("its second page", b.auditLog(4, 2), want[2:4])
	b.same("before the first", b.auditLog(1, 2), []tasks.AuditEntry(nil))
	b.store = b.reopen()
	b.record(tasks.AuditEntry{Action: "pause"})
	b.same("numbers go on", b.auditLog(0, 1)[0].Seq, uint64(6))
}

// testAuditStarts: the log has the tasks that programs and agents open, in
// every chat, and none that people ask for.
func testAuditStarts(b *env) {
	for i, platform := range []string{"api", "agent", "test"} {
		in := b.question(chat("c"), tasks.ID(fmt.Sprint("t", i)), "goal")
		in.Open.Opening.From = bot.Person{Platform: platform, ID: "x"}
		b.deliver(in)
	}
	var told []string
	for _, e := range b.auditLog(0, 10) {
		told = append(told, e.Who+" "+e.Action+" "+e.Target)
	}
	b.same("entries", told, []string{"agent:x task.start t1", "api:x task.start t0"})
}

// testAuditDecides: the log tells which question was decided, and about which tools.
func testAuditDecides(b *env) {
	b.ask(chat("c"), "t", "goal")
	b.plan("t")
	b.reply("t", planner.Reply{Calls: []planner.Call{
		{ID: "1", Name: "book", Arguments: "{}", Tool: "desk.book"},
		{ID: "2", Name: "pay", Arguments: "{}", Tool: "desk.pay"},
		{ID: "3", Name: "pay", Arguments: "{}", Tool: "desk.pay"},
	}})
	todo := planner.Todo(b.state("t"))
	ask := func(question planner.Question) int {
		b.append("t", planner.Event{Type: planner.Asked, Action: todo[question.Calls[0].Call].ID, Question: &question})
		return b.state("t").Seq
	}
	both := ask(planner.Question{Calls: []planner.Approval{{Call: 0, Tool: "desk.book"}, {Call: 1, Tool: "desk.pay"}}})
	one := ask(planner.Question{Calls: []planner.Approval{{Call: 2, Tool: "desk.pay"}}})
	for i, d := range []planner.Decision{{Approve: true}, {Approve: true, Scope: planner.ScopeTask}} {
		b.append("t", planner.Event{Type: planner.Decided, By: "test:ann", Action: planner.AskID(planner.SubjectCalls, []int{one, both}[i]), Decision: &d})
	}
	log := b.auditLog(0, 10)
	b.same("entries", len(log), 2)
	b.same("about one call", log[1].Detail, fmt.Sprintf("calls %d.0, approve, desk.pay", one))
	b.same("about two", log[0].Detail, fmt.Sprintf("calls %d.0, approve, scope task, desk.book, desk.pay", both))
}

// testAuditForgets: a person who is forgotten has no name in the log any more,
// and old entries go with the history.
func testAuditForgets(b *env) {
	const n = 450
	begin := b.clock.now()
	for i := range n {
		b.record(tasks.AuditEntry{Who: fmt.Sprintf("test:p%d", i%3), From: "10.0.0.1", Action: "pause", Target: "test:p1/7", Detail: "by test:p1, now"})
	}
	b.clock.add(48 * time.Hour)
	b.record(tasks.AuditEntry{Who: "test:p10", Action: "resume", Detail: "by test:p10"})
	b.erase("test:p1")
	for _, e := range b.auditLog(0, n+1) {
		want := tasks.AuditEntry{Seq: e.Seq, At: begin, Who: e.Who, From: "10.0.0.1", Action: "pause", Target: "forgotten", Detail: "by forgotten, now"}
		switch {
		case e.Seq == n+1:
			want = tasks.AuditEntry{Seq: e.Seq, At: b.clock.now(), Who: "test:p10", Action: "resume", Detail: "by test:p10"}
		case e.Seq%3 == 2:
			want.Who, want.From = "forgotten", ""
		}
		b.same("entry", e, want)
	}
	_, err := b.store.Retain(b.Context(), time.Time{}, begin.Add(time.Hour))
	b.ok(err)
	b.same("the rest", len(b.auditLog(0, n+1)), 1)
	b.record(tasks.AuditEntry{Action: "pause"})
	b.same("numbers go on", b.auditLog(0, 1)[0].Seq, uint64(n+2))
}
