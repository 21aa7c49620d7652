package tasks_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/watch"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/commands"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// TestApprovalCard: the card shows all about the calls of a turn, and later the
// decision.
func TestApprovalCard(t *testing.T) {
	s := newEngineEnv(t, []string{`{"to":"x\u202ey","n":1}`, `{"second":true}`})
	id, card := s.asks("ann", private("ann"), "book *me* a room")
	for _, want := range []string{
		s.text("approval.ask", map[string]any{"Count": 2}), "`book`", "`it`", `"to": "x\u202ey"`, `"second": true`,
		`For ANN: book \*me\* a room`, "2026-11-23 12:00", s.text("approval.writes", nil),
	} {
		if !strings.Contains(card.Text, want) {
			t.Errorf("the card lacks %q:\n%s", want, card.Text)
		}
	}
	if card.Kind != bot.KindQuestion || len(card.Buttons) != 4 || len(card.Calls) != 2 || card.File != nil {
		t.Errorf("card = %+v, want four buttons, two calls and no file", card.Draft)
	}
	if card.Buttons[0].Style != bot.StylePrimary || card.Buttons[2].Style != bot.StyleDanger {
		t.Errorf("buttons = %+v", card.Buttons)
	}
	if got := s.tools.calls(); len(got) != 0 {
		t.Fatalf("calls %q were made before anybody decided", got)
	}
	s.send(s.press("ann", private("ann"), label(t, card.Draft, "Allow once")))
	s.over(id)
	if got := s.tools.calls(); len(got) != 2 {
		t.Errorf("calls = %q, want both", got)
	}
	closed := s.last(card.ID)
	if len(closed.Buttons) != 0 || !strings.Contains(closed.Text, "Allowed once by ANN, 12:00.") || !strings.Contains(closed.Text, `"second": true`) {
		t.Errorf("closed card = %+v", closed)
	}
	if d := s.decisions(id); len(d) != 1 || d[0].By != "phone:ann" || d[0].Decision.Name != "ANN" || d[0].At.IsZero() {
		t.Errorf("decisions = %+v", d)
	}
}

// TestLongArguments: long arguments are sent in full as a file, or in the text if
// the platform takes no files.
func TestLongArguments(t *testing.T) {
	long := strings.Repeat("word ", 1000) + "the end"
	for _, files := range []bool{true, false} {
		s := newEngineEnv(t, []string{object(t, map[string]string{"text": long, "last": "x\u200by"})})
		s.phone.files = files
		id, card := s.asks("ann", private("ann"), "write it")
		whole := card.Text
		if files {
			if card.File == nil || !strings.Contains(card.Text, card.File.Name) || strings.Contains(card.Text, "word") {
				t.Fatalf("card = %+v, want a file that holds the arguments and its name in the text", card.Draft)
			}
			whole = string(card.File.Content)
		} else if card.File != nil {
			t.Fatalf("a file for a platform that takes none")
		}
		if !strings.Contains(whole, long) || !strings.Contains(whole, `x\u200by`) {
			t.Errorf("files %v: the arguments are not whole and visible", files)
		}
		s.send(s.press("ann", private("ann"), label(t, card.Draft, "Deny")))
		s.over(id)
		if closed := s.last(card.ID); len(closed.Text) > 4000 || !strings.Contains(closed.Text, "Denied by ANN") {
			t.Errorf("files %v: closed card = %.300q", files, closed.Text)
		}
	}
}

// TestRefusedFile: if the chat refuses a file, the text holds the arguments.
func TestRefusedFile(t *testing.T) {
	long := strings.Repeat("word ", 1000) + "the end"
	s := newEngineEnv(t, []string{object(t, map[string]string{"text": long})})
	s.phone.files, s.phone.noFiles = true, true
	_, card := s.asks("ann", private("ann"), "write it")
	if card.File != nil || !strings.Contains(card.Text, long) {
		t.Errorf("card = %.200q with file %v, want all arguments in the text", card.Text, card.File != nil)
	}
}

// TestOneDecision: if two people press in one batch, one decision counts, and the
// other person reads it. A restart changes nothing.
func TestOneDecision(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", room("hall"), "book")
	allow, deny := label(t, card.Draft, "Allow once"), label(t, card.Draft, "Deny")
	s.again()
	if got := s.send(s.press("bob", room("hall"), allow)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("a stranger to the task heard %q", got)
	}
	got := s.send(s.press("boss", room("hall"), deny), s.press("ann", room("hall"), allow), s.press("ann", room("hall"), allow))
	if want := s.text("error.decided", map[string]any{"Text": "Denied by BOSS, 12:00."}); got.words() != want+" | "+want {
		t.Errorf("heard %q, want %q twice", got.words(), want)
	}
	s.over(id)
	if d := s.decisions(id); len(d) != 1 || d[0].Decision.Approve || d[0].By != "phone:boss" {
		t.Errorf("decisions = %+v, want the denial alone", d)
	}
	s.again()
	if got := s.send(s.press("ann", room("hall"), allow)).words(); !strings.Contains(got, "Denied by BOSS") {
		t.Errorf("a press after the end heard %q", got)
	}
	if got := s.tools.calls(); len(got) != 0 {
		t.Errorf("calls = %q, want none", got)
	}
	if !strings.Contains(s.read(), "declined") {
		t.Errorf("the model read %q, want that a person declined", s.read())
	}
}

// TestDenyWithReason: after Deny, the person's next message is the reason, and
// neither guidance nor a task. Commands stay commands.
func TestDenyWithReason(t *testing.T) {
	for name, at := range map[string]bot.Chat{"private": private("ann"), "group": room("hall")} {
		t.Run(name, func(t *testing.T) {
			s := newEngineEnv(t, []string{`{"n":1}`})
			id, card := s.asks("ann", at, "book")
			asked := s.send(s.press("ann", at, label(t, card.Draft, "Deny with a reason")))
			if asked.words() != s.text("approval.why", nil) {
				t.Fatalf("the press was answered %q", asked.words())
			}
			if got := s.say("ann", at, "/status"); got == "" || len(s.decisions(id)) != 0 {
				t.Fatalf("a command got %q and decided %v", got, s.decisions(id))
			}
			why := s.by("ann", at, "too dear")
			if !at.Private {
				why.ReplyTo = asked.notice(t).ID
				if s.send(s.by("bob", at, "me too")); len(s.decisions(id)) != 0 {
					t.Fatal("somebody else's words decided")
				}
			}
			s.send(why)
			s.over(id)
			d := s.decisions(id)
			if len(d) != 1 || d[0].Decision.Approve || d[0].Decision.Text != "too dear" {
				t.Errorf("decisions = %+v, want a denial with the reason", d)
			}
			if !strings.Contains(s.read(), "too dear") || len(s.state(id).Guidance) != 0 {
				t.Errorf("the model read %q, guidance %v", s.read(), s.said(id))
			}
			if closed := s.last(card.ID); !strings.Contains(closed.Text, "Reason: too dear") {
				t.Errorf("closed card = %q", closed.Text)
			}
		})
	}
}

// TestWordsDoNotDecide: a message written while calls wait for a decision is
// guidance, also in reply to the card.
func TestWordsDoNotDecide(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", private("ann"), "book")
	m := s.by("ann", private("ann"), "yes, but the cheap one")
	m.ReplyTo = card.ID
	s.send(m)
	if d := s.decisions(id); len(d) != 0 || len(s.said(id)) != 1 {
		t.Errorf("decisions %+v, guidance %q; want none and the words", d, s.said(id))
	}
}

// TestStandingGrants: a call that is allowed for the task, or by an admin for the
// chat, needs no question until the grant is revoked.
func TestStandingGrants(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`}, []string{`{"n":2}`})
	id, card := s.asks("ann", room("hall"), "book")
	s.send(s.press("ann", room("hall"), label(t, card.Draft, "Allow for this task")))
	s.over(id)
	if got := s.tools.calls(); len(got) != 2 {
		t.Fatalf("calls = %q, want both with one question", got)
	}
	id, card = s.asks("ann", room("hall"), "book again")
	always := label(t, card.Draft, "Always in this chat")
	if got := s.send(s.press("ann", room("hall"), always)).words(); got != s.text("error.admin_needed", nil) || len(s.decisions(id)) != 0 {
		t.Fatalf("somebody who is no admin heard %q and decided %v", got, s.decisions(id))
	}
	s.send(s.press("boss", room("hall"), always))
	s.over(id)
	id = s.opens("bob", bot.Chat{Platform: "phone", ID: "hall", Thread: "7"}, "book in a thread")
	s.over(id)
	if got := s.tools.calls(); len(got) != 6 || len(s.decisions(id)) != 0 {
		t.Errorf("calls = %q, want six and no question in a thread of the chat", got)
	}
	s.pass(tasks.DefaultGrants)
	id, _ = s.asks("bob", room("hall"), "book late")
	if s.send(s.by("bob", room("hall"), "/stop")); len(s.tools.calls()) != 6 {
		t.Errorf("a grant that is over let %q be made", s.tools.calls())
	}
	s.over(id)
}

// TestDeciders: a card names the asker beside the admins, unless the asker is one.
func TestDeciders(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	for person, want := range map[string]string{"ann": "Only ANN or an admin can decide", "boss": "Only an admin can decide"} {
		if _, card := s.asks(person, room(person), "book"); !strings.Contains(card.Text, want) {
			t.Errorf("the card for %s is %q, want %q", person, card.Text, want)
		}
	}
}

// TestGrantOfFormerAdmin: the grant of an admin holds as long as they are an admin.
func TestGrantOfFormerAdmin(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`}, []string{`{"n":2}`})
	id, card := s.asks("ann", room("hall"), "book")
	s.send(s.press("boss", room("hall"), label(t, card.Draft, "Always in this chat")))
	s.over(id)
	s.rules.Access.Admins = []string{"phone:other"}
	s.again()
	if got := s.say("ann", room("hall"), "/approvals"); strings.Contains(got, "always in this chat") {
		t.Errorf("approvals = %q, want no grant", got)
	}
	id, _ = s.asks("ann", room("hall"), "book again")
	if got := s.tools.calls(); len(got) != 2 {
		t.Errorf("calls = %q, want none beyond the first two", got)
	}
	s.send(s.by("ann", room("hall"), "/stop"))
	s.over(id)
}

// TestExpiredApproval: an approval without a decision expires. The card says so, and
// so does the answer to a late press.
func TestExpiredApproval(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", private("ann"), "book")
	s.stop()
	s.pass(expire + time.Minute)
	s.play()
	s.over(id)
	if closed := s.last(card.ID); !strings.Contains(closed.Text, s.text("question.expired", nil)) || len(closed.Buttons) > 0 {
		t.Errorf("closed card = %+v", closed)
	}
	got := s.send(s.press("ann", private("ann"), label(t, card.Draft, "Allow once"))).words()
	if got != s.text("error.decided", map[string]any{"Text": s.text("question.expired", nil)}) || len(s.tools.calls()) != 0 {
		t.Errorf("a late press heard %q, calls %q", got, s.tools.calls())
	}
}

// TestPrivateApproval: a card in the asker's private chat can be decided there, also
// by a person who has access only in the group.
func TestPrivateApproval(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.rules.Approvals.Private = true
	s.again()
	id, card := s.asks("eve", room("hall"), "book")
	if card.Chat.Key() != "phone:eve" || card.ReplyTo != "" {
		t.Fatalf("the card is in %s in reply to %q", card.Chat.Key(), card.ReplyTo)
	}
	s.until(id, "the group is told", func(state planner.State) bool {
		return slices.ContainsFunc(state.Slots, func(slot planner.Slot) bool { return strings.HasPrefix(slot.Name, "told ") && slot.Message != "" })
	})
	s.phone.mu.Lock()
	told := 0
	for _, p := range s.phone.posts {
		if p.Chat.Key() == "phone:hall" && p.Text == s.text("approval.elsewhere", map[string]any{"Name": "EVE"}) {
			told++
		}
	}
	s.phone.mu.Unlock()
	if told != 1 {
		t.Errorf("the group was told %d times, want once", told)
	}
	deny := label(t, card.Draft, "Deny with a reason")
	if got := s.send(s.press("mallory", private("mallory"), deny)).words(); got != s.text("error.not_yours", nil) {
		t.Errorf("somebody else heard %q", got)
	}
	if got := s.send(s.press("eve", private("eve"), deny)).words(); got != s.text("approval.why", nil) {
		t.Fatalf("the press was answered %q", got)
	}
	other := s.by("boss", room("hall"), "that one")
	other.ReplyTo = card.ID // in this chat it is another message
	if s.send(other); len(s.decisions(id)) != 0 {
		t.Errorf("decisions = %+v, want none by what is said to another message", s.decisions(id))
	}
	s.send(s.by("eve", private("eve"), "too dear"))
	s.over(id)
	if d := s.decisions(id); len(d) != 1 || d[0].Decision.Text != "too dear" || d[0].By != "phone:eve" {
		t.Errorf("decisions = %+v", d)
	}
	if closed := s.last(card.ID); !strings.Contains(closed.Text, "Denied by EVE") {
		t.Errorf("closed card = %+v", closed)
	}
	if got := s.say("eve", private("eve"), "hello"); got != s.text("error.not_allowed", nil) {
		t.Errorf("after that a stranger's words got %q", got)
	}
}

// TestPrivateChatGone: if the private chat cannot be reached, the question is asked
// in the task's chat.
func TestPrivateChatGone(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	s.rules.Approvals.Private = true
	s.again()
	_, card := s.asks("gone", room("hall"), "book")
	if card.Chat.Key() != "phone:hall" {
		t.Errorf("the card is in %s", card.Chat.Key())
	}
}

// TestApprovalsCommand: /approvals lists each open question with its chat. The
// person of a grant can revoke it. Both show the person and the time.
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

// TestRevokedInChat: after a chat's standing grant is revoked, legwork asks again,
// also in running tasks.
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

// TestChangedTool: admins get one notice when a server changes a tool, with the
// difference, and an admin can accept the tool.
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
	if got := s.say("boss", private("boss"), "/approvals accept C1"); !strings.Contains(got, "From now on I use it") {
		t.Errorf("accepting by words said %q", got)
	}
}

// TestProgress: the board shows the progress of a call, with the server's text made
// harmless.
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

// TestUnattendedDenial: where no person can decide, the journal, the audit log and the
// closed card name no person.
func TestUnattendedDenial(t *testing.T) {
	s := newEngineEnv(t, []string{`{"n":1}`})
	id, card := s.asks("ann", private("ann"), "book it")
	m := s.press("ann", private("ann"), label(t, card.Draft, "Deny"))
	m.Unattended, m.Text = true, "There is no person."
	s.send(m)
	s.over(id)
	made := s.decisions(id)
	if len(made) != 1 || made[0].By != "" || made[0].Decision.Name != "" || made[0].Decision.Approve {
		t.Errorf("decisions = %+v, want one denial without a name", made)
	}
	if closed := s.last(card.ID); !strings.Contains(closed.Text, "Denied, 12:00.") {
		t.Errorf("the card says %q, want a denial without a name", closed.Text)
	}
	entries, err := s.store.AuditLog(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Action == "task.decide" && e.Who != "" {
			t.Errorf("the audit log names %q", e.Who)
		}
	}
}
