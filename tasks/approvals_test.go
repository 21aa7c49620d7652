package tasks_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/tasks/commands"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// TestApprovalsCommand: /approvals lists each waiting question with its chat,
// and each grant can be taken back by the person whom it is for; both name the
// person and the time.
func TestApprovalsCommand(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`}, []string{`{"n":2}`})
	if got := s.say("ann", private("ann"), "/approvals"); got != s.text("approvals.none", nil) {
		t.Fatalf("/approvals with nothing said %q", got)
	}
	id, card := s.asks("ann", room("hall"), "book a *room*")
	if got := s.say("ann", private("ann"), "/approvals"); !strings.Contains(got, "`book.it`, for: book a \\*room\\* (in `phone:hall`). Expires on Monday, 2026-11-23 12:00") {
		t.Errorf("/approvals in private said %q", got)
	}
	if got := s.say("bob", private("bob"), "/approvals"); got != s.text("approvals.none", nil) {
		t.Errorf("somebody else reads %q", got)
	}
	s.tools.mu.Lock()
	s.tools.definition = "d2" // the tool that was allowed is another one now: legwork asks again
	s.tools.mu.Unlock()
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Allow for this task")))
	s.card(id, card.ID)
	list := s.send(s.by("ann", room("hall"), "/approvals"))
	if got := list.words(); !strings.Contains(got, "`book.it`, in the running task: book a \\*room\\* (by ANN, Friday, 2026-11-20 12:00)") {
		t.Fatalf("/approvals said %q", got)
	}
	revoke := list.notice(t).Buttons[0].Data
	if got := s.send(s.press("bob", room("hall"), revoke)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else's press was answered %q", got)
	}
	if got := s.send(s.press("ann", room("hall"), revoke)).words(); got != s.text("approvals.revoked", map[string]any{"Tool": "`book.it`"}) {
		t.Errorf("taking it back said %q", got)
	}
	if got := s.send(s.press("ann", room("hall"), revoke)).words(); got != s.text("error.no_grant", nil) {
		t.Errorf("taking it back again said %q", got)
	}
	all, err := s.store.Load(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.Type != planner.GrantRevoked || last.By != "phone:ann" || last.At.IsZero() || len(s.state(id).Granted) != 0 {
		t.Errorf("the journal ends with %+v, granted %v", last, s.state(id).Granted)
	}
}

// TestRevokedInChat: what an admin always allowed in a chat is asked again when
// it is taken back, in tasks that run as well.
func TestRevokedInChat(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", room("hall"), "book")
	s.send(s.press("boss", room("hall"), label(t, card.Draft, "Always in this chat")))
	s.over(id)
	thread := bot.Chat{Platform: "phone", ID: "hall", Thread: "9"}
	list := s.send(s.by("ann", thread, "/approvals"))
	got := list.words()
	if !strings.Contains(got, "`book.it`, always in this chat (by BOSS, Friday, 2026-11-20 12:00), until Sunday, 2026-12-20 12:00") {
		t.Fatalf("/approvals said %q", got)
	}
	_, code, _ := strings.Cut(got, "- `")
	code, _, _ = strings.Cut(code, "`")
	if got := s.say("ann", thread, "/approvals revoke "+code); got != s.text("error.admin_needed", nil) {
		t.Errorf("somebody who is no admin heard %q", got)
	}
	s.restart()
	s.pass(time.Hour)
	if got := s.say("boss", thread, "/approvals revoke "+strings.ToLower(code)); got != s.text("approvals.revoked", map[string]any{"Tool": "`book.it`"}) {
		t.Fatalf("taking it back said %q", got)
	}
	if kept := s.setting("phone:hall", "grants"); !strings.Contains(kept, `"revoked_by":"phone:boss"`) || !strings.Contains(kept, `"revoked_at":"2026-11-20T13:00`) || !strings.Contains(kept, `"by":"phone:boss"`) {
		t.Errorf("kept = %s", kept)
	}
	if got := s.say("boss", room("hall"), "/approvals revoke "+code); got != s.text("error.no_grant", nil) {
		t.Errorf("taking it back again said %q", got)
	}
	s.asks("ann", room("hall"), "book again")
}

// TestChangedTool: admins are told once of a tool that its server changed, with
// the difference, and one of them lets it be used again.
func TestChangedTool(t *testing.T) {
	s := newEngineEnv(t)
	long := tools.Change{ID: "c1", Tool: "book.it", Difference: "-books\n+pays\u202e" + strings.Repeat("\n more", 1000)}
	short := tools.Change{ID: "c2", Tool: "book.too", Difference: "-a\n+b```"}
	s.tools.changes = []tools.Change{long, short}
	s.phone.files = true
	tell := func(c tools.Change) []enginetest.Post {
		before := len(s.phone.posts)
		commands.ToolChanged(t.Context(), s.inbox, c)
		s.inbox.Flush(t.Context())
		return s.phone.posts[before:]
	}
	posts := tell(long)
	if len(posts) != 2 || posts[0].Chat.Key() != "phone:boss" || posts[1].Chat.Key() != "phone:chief" {
		t.Fatalf("told %+v, want both admins", posts)
	}
	if f := posts[0].File; f == nil || !strings.Contains(string(f.Content), `+pays\u202e`) || !strings.Contains(posts[0].Text, f.Name) {
		t.Errorf("told %+v, want the difference as a file", posts[0].Draft)
	}
	s.restart()
	if again := tell(long); len(again) != 0 {
		t.Errorf("told again: %+v", again)
	}
	posts = tell(short)
	if len(posts) != 2 || posts[0].File != nil || !strings.Contains(posts[0].Text, "````diff\n-a\n+b```\n````") {
		t.Errorf("told %+v, want the difference in a fence", posts)
	}
	accept, leave := label(t, posts[0].Draft, "Accept"), label(t, posts[0].Draft, "Leave it")
	if got := s.send(s.press("ann", private("ann"), accept)).words(); got != s.text("error.admin_needed", nil) || len(s.tools.accepted) > 0 {
		t.Errorf("somebody who is no admin heard %q", got)
	}
	if got := s.send(s.press("chief", private("chief"), leave)).words(); !strings.Contains(got, "stays unused") {
		t.Errorf("leaving it said %q", got)
	}
	list := s.send(s.by("boss", private("boss"), "/approvals"))
	if got := list.words(); !strings.Contains(got, "`c1` `book.it`") || !strings.Contains(got, "`c2` `book.too`") {
		t.Errorf("/approvals said %q", got)
	}
	if shown := s.send(s.press("boss", private("boss"), list.data(t, "Show c1"))); len(shown.posts) != 1 || shown.posts[0].File == nil {
		t.Errorf("showing it said %+v", shown)
	}
	want := s.text("change.accepted", map[string]any{"Tool": "`book.too`", "Name": "BOSS"})
	if got := s.send(s.press("boss", private("boss"), accept)).words(); got != want {
		t.Errorf("accepting it said %q, want %q", got, want)
	}
	if got := s.send(s.press("chief", private("chief"), accept)).words(); got != want || len(s.tools.accepted) != 1 {
		t.Errorf("accepting it again said %q, want %q", got, want)
	}
	if kept := s.setting("legwork", "changes"); !strings.Contains(kept, `"by":"phone:boss"`) {
		t.Errorf("kept = %s", kept)
	}
	if got := s.say("boss", private("boss"), "/approvals accept C1"); !strings.Contains(got, "I use it again") {
		t.Errorf("accepting by words said %q", got)
	}
}

// TestProgress: the board tells how far a call is, and what its server says of
// it, made harmless.
func TestProgress(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.tools.mu.Lock()
	s.tools.open, s.tools.hold = true, make(chan any)
	release := sync.OnceFunc(func() { close(s.tools.hold) })
	defer release() // also when the test fails: the engine waits for its calls
	s.tools.report = &tools.Progress{Done: 2, Total: 5, Message: "half\x1b[2J\nway " + strings.Repeat("x", 500)}
	s.tools.mu.Unlock()
	frames := make(chan bot.Draft, 1000)
	s.phone.mu.Lock()
	s.phone.frames = frames
	s.phone.mu.Unlock()
	s.opens("ann", private("ann"), "book")
	deadline, doing := time.After(watch.Patience), ""
	for !strings.Contains(doing, "40 %") {
		select {
		case <-deadline:
			t.Fatalf("doing = %q, want how far it is", doing)
		case d := <-frames:
			if d.Board != nil && len(d.Board.Items) > 0 {
				doing = d.Board.Items[0].Doing
			}
		}
	}
	release()
	if !strings.HasPrefix(doing, `book.it 40 %: half\x1b[2J way xxx`) || len(doing) > 100 {
		t.Errorf("doing = %q", doing)
	}
}

// TestSameToolTwice: the board names a tool that a turn calls twice once.
func TestSameToolTwice(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`, `{"n":2}`})
	frames := make(chan bot.Draft, 1000)
	s.phone.mu.Lock()
	s.phone.frames = frames
	s.phone.mu.Unlock()
	s.asks("ann", private("ann"), "book both")
	deadline, doing := time.After(watch.Patience), ""
	for doing != "book.it × 2" {
		select {
		case <-deadline:
			t.Fatalf("doing = %q, want the tool once, with how often", doing)
		case d := <-frames:
			if d.Board != nil && len(d.Board.Items) > 0 {
				doing = d.Board.Items[0].Doing
			}
		}
	}
}
