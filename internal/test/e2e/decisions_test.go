package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"legwork/conf"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// asks waits for a card about calls of tools of the server desk.
func (b *telegramEnv) asks(chat int64, words ...string) telegramfake.Message {
	b.t.Helper()
	return b.offers(chat, b.says("button.allow_once", nil), words...)
}

// TestApproveTogether: the calls of one turn are decided with one card that
// shows every character of their arguments, and reach the server as they were.
func TestApproveTogether(t *testing.T) {
	t.Parallel()
	o := orders{words: map[string]string{"TRICK": `gold\u202e\u200b \u001b[8m and silver`}}
	b := newTelegramEnv(t, telegramOptions{options: shopping(o, "book, slow")})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, `q1: shop book {"item":"TRICK"} and book {"item":"an oar"} and slow {"ms":1}`)
	card := b.asks(chat, "Allow these 3 actions?", "1. book of the server desk", "2. book of the server desk", "3. slow of the server desk",
		`gold\u202e\u200b \u001b[8m and silver`, "an oar", `"ms": 1`, "For Bob", "Only Bob or an admin can decide")
	b.bought()
	b.taps(b.bob, chat, card.ID, "Allow once")
	b.sees(chat, "[q1]", "booked an oar", "at last")
	b.bought(`gold\u202e\u200b \u001b[8m and silver`, "an oar")
	b.meets(chat, "the decided card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, "Allowed once by Bob")
	})
	b.cards(chat, 1)
	b.goesOn(b.bob)
}

// TestApproveLong: arguments that are too long for a card come whole as a file.
func TestApproveLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("plank ", 2000) + "and the last nail"
	b := newTelegramEnv(t, telegramOptions{options: shopping(orders{words: map[string]string{"LONG": long}}, "book")})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, `q1: shop book {"item":"LONG"}`)
	card := b.asks(chat, "book of the server desk", "The full arguments are in the file")
	if strings.Contains(card.Text, "plank") {
		t.Errorf("the card shows a part of the arguments: %q", card.Text)
	}
	file := b.meets(chat, "the file", func(m telegramfake.Message) bool { return m.File != nil })
	if got := string(file.File.Content); !strings.Contains(got, long) || !strings.Contains(got, "desk.book") || !strings.Contains(card.Text, file.File.Name) {
		t.Errorf("the file %s of %d bytes lacks the tool or its arguments: %.200q", file.File.Name, len(got), got)
	}
	b.taps(b.bob, chat, card.ID, "Deny")
	b.sees(chat, "[q1]", "A person declined this call")
	b.bought()
}

// TestApprovePrivately: with show_in: private, what a group asks for is decided
// by its author in private; the group sees none of the arguments.
func TestApprovePrivately(t *testing.T) {
	t.Parallel()
	p := shopping(orders{words: map[string]string{"SECRET": "a ring for Eve"}}, "book")
	p.more += "approvals: {show_in: private}\n"
	b := newTelegramEnv(t, telegramOptions{options: p})
	s := b.opens()
	chat := b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve))
	b.Say(b.bob.ID, b.bob, "later: hello") // opens the private chat
	b.sees(b.bob.ID, "answers: later")
	b.Say(chat, b.bob, `/task q1: shop book {"item":"SECRET"}`)
	card := b.asks(b.bob.ID, "book of the server desk", "a ring for Eve")
	b.sees(chat, b.says("approval.elsewhere", map[string]any{"Name": "Bob"}))
	if text := b.Frames(chat); strings.Contains(text, "a ring for Eve") {
		t.Errorf("the group sees the arguments:\n%s", text)
	}
	b.Say(chat, b.bob, "/approvals")
	b.sees(chat, "Waiting for a decision", "the private chat")
	s.kill()
	b.opens()
	b.taps(b.bob, b.bob.ID, card.ID, "Allow once")
	b.sees(chat, "[q1]", "booked a ring for Eve")
	b.bought("a ring for Eve")
	b.cards(b.bob.ID, 1)
}

// TestApproveExpires: a call whose approval expires is not made; the card says
// so, the model reads it, and a later press changes nothing.
func TestApproveExpires(t *testing.T) {
	t.Parallel()
	p := shopping(orders{}, "book")
	p.more += "approvals: {expire: 1m}\n"
	b := newTelegramEnv(t, telegramOptions{options: p, haste: 30})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "q1: "+boat)
	card := b.asks(chat, "book of the server desk", "Expires on")
	b.meets(chat, "the expired card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, b.says("question.expired", nil))
	})
	b.sees(chat, "[q1]", "No person decided about this call in time")
	press := b.taps(b.bob, chat, card.ID, card.Button("Allow once"))
	if press.Text != b.says("error.decided", map[string]any{"Text": b.says("question.expired", nil)}) && press.Text != b.says("error.too_late", nil) {
		t.Errorf("a press after the end: got %q, want that it is too late", press.Text)
	}
	b.passes()
	b.bought()
	b.goesOn(b.bob)
}

// TestApproveForTask: a yes for the whole task spares the next question about
// the same tool, and no other; it ends with the task.
func TestApproveForTask(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: shopping(orders{}, "book, slow")})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "q1: "+boat+` then book {"item":"an oar"} then slow {"ms":1}`)
	b.taps(b.bob, chat, b.asks(chat, `"item": "a boat"`).ID, "Allow for this task")
	second := b.asks(chat, "slow of the server desk")
	b.bought("a boat", "an oar")
	b.Say(chat, b.bob, "/approvals")
	b.sees(chat, "Waiting for a decision", "Allowed without asking", "desk.book")
	b.taps(b.bob, chat, second.ID, "Allow once")
	b.sees(chat, "[q1]", "at last")
	b.Say(chat, b.bob, `q2: shop book {"item":"a sail"}`)
	b.taps(b.bob, chat, b.asks(chat, `"item": "a sail"`).ID, "Deny")
	b.sees(chat, "[q2]", "declined")
	b.bought("a boat", "an oar")
	b.cards(chat, 3)
}

// TestApproveRevoked: /approvals takes back what was allowed for good, by button,
// and for a task, by word; from then on it is asked again.
func TestApproveRevoked(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: shopping(orders{}, "book, slow"), haste: 5})
	b.opens()
	chat := b.ann.ID
	b.Say(chat, b.ann, "q1: "+boat)
	b.taps(b.ann, chat, b.asks(chat, `"item": "a boat"`).ID, "Always in this chat")
	b.sees(chat, "[q1]", "booked a boat")
	b.Say(chat, b.ann, `q2: shop book {"item":"an oar"}`)
	b.sees(chat, "[q2]", "booked an oar")
	b.cards(chat, 1)

	b.Say(chat, b.ann, "/approvals")
	listed := b.sees(chat, "Allowed without asking", "desk.book", "always in this chat (by Ann")
	code := strings.TrimPrefix(buttonWith(t, listed, "Revoke "), "Revoke ")
	for _, want := range []string{b.says("approvals.revoked", map[string]any{"Tool": "desk.book"}), b.says("error.no_grant", nil)} {
		if p := b.taps(b.ann, chat, listed.ID, "Revoke "+code); p.Text != want {
			t.Errorf("taking %s back: got %q, want %q", code, p.Text, want)
		}
	}
	b.Say(chat, b.ann, `q3: shop book {"item":"a sail"} then slow {"ms":1} then book {"item":"a mast"}`)
	b.taps(b.ann, chat, b.asks(chat, `"item": "a sail"`).ID, "Allow for this task")
	slow := b.asks(chat, "slow of the server desk")
	b.Say(chat, b.ann, "/approvals")
	listed = b.sees(chat, "Allowed without asking", "desk.book, in the running task", "(by Ann")
	code = strings.TrimPrefix(buttonWith(t, listed, "Revoke "), "Revoke ")
	b.Say(chat, b.ann, "/approvals revoke "+code)
	b.sees(chat, b.says("approvals.revoked", map[string]any{"Tool": "desk.book"}))
	b.taps(b.ann, chat, slow.ID, "Allow once")
	b.taps(b.ann, chat, b.asks(chat, `"item": "a mast"`).ID, "Deny")
	b.sees(chat, "[q3]", "declined")
	b.bought("a boat", "an oar", "a sail")
	b.Say(chat, b.ann, "/approvals")
	b.sees(chat, b.says("approvals.none", nil))
}

// buttonWith is the label of a message's button that begins so.
func buttonWith(t *testing.T, m telegramfake.Message, start string) string {
	t.Helper()
	for _, row := range m.Buttons {
		for _, b := range row {
			if strings.HasPrefix(b.Text, start) {
				return b.Text
			}
		}
	}
	t.Fatalf("no button begins with %q: %+v", start, m.Buttons)
	return ""
}

// cards checks how many questions there were about calls.
func (b *telegramEnv) cards(chat int64, want int) {
	b.t.Helper()
	seen := map[int]bool{}
	for _, e := range b.Events(chat) {
		if e.Message.Button("Allow once") != "" {
			seen[e.Message.ID] = true
		}
	}
	if len(seen) != want {
		b.t.Errorf("there were %d cards, want %d", len(seen), want)
	}
}

// TestApproveChanged: a yes to a tool whose definition changed between card and
// press is no yes to what it is now.
func TestApproveChanged(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{
		think: orders{}.think, wait: patience, tools: ", mutate", limit: 10 * time.Second,
		more: "  shop: {description: Asks first., servers: [desk], tools: [lookup], approve: always, tool_timeout: 20s}\n",
	}})
	s := b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, `q1: shop lookup {"key":"boats"}`)
	card := b.asks(chat, "lookup of the server desk")
	b.Say(b.ann.ID, b.ann, `q2: desk mutate {}`)
	b.sees(b.ann.ID, "[q2]", "done")
	s.logged("tool quarantined", "desk.lookup")
	b.taps(b.bob, chat, card.ID, "Allow once")
	b.sees(chat, "[q1]", "quarantined")
	if calls := b.calls("lookup"); len(calls) > 0 {
		t.Errorf("the changed tool was called: %q", calls)
	}
}

// TestTokenGoesAtOnce: a token that is taken back is of no use any more while the
// same change still waits for a server that does not come up.
func TestTokenGoesAtOnce(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	if got := o.calls(goneToken, "GET", "/v1/me", ""); got.status != http.StatusOK {
		t.Fatalf("before: got %d %s", got.status, got.body)
	}
	var kept strings.Builder
	for line := range strings.Lines(o.config) {
		if !strings.Contains(line, conf.HashToken(goneToken)) {
			kept.WriteString(line)
		}
		if strings.HasPrefix(line, "servers:") {
			kept.WriteString("  hung: {command: sleep, args: [\"600\"]}\n")
		}
	}
	o.configure(kept.String())
	var log string
	o.until("that the token is of no use", func() bool {
		got := o.calls(goneToken, "GET", "/v1/me", "")
		log = o.err.String()
		return got.status == http.StatusUnauthorized
	})
	if strings.Contains(log, "config reloaded") {
		t.Error("it was of use until everything else was reloaded")
	}
	if got := o.calls(adminToken, "GET", "/v1/me", ""); got.status != http.StatusOK {
		t.Errorf("a token that stays: got %d %s", got.status, got.body)
	}
}

// draft is an order whose agent has a person review a draft.
const draft = `shop update_state {"values":{"draft":"DRAFT","status":"NEEDS_HUMAN_REVIEW"}}`

// TestReviewInTelegram: the card shows the values to review, a reply asks for
// changes, and both the agent and the decision after it read the words; a kill
// in between repeats no question.
func TestReviewInTelegram(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: shopping(orders{words: map[string]string{"DRAFT": "A boat with *two* oars."}}, "lookup")})
	s := b.opens()
	chat := b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve))
	b.Say(chat, b.bob, "/task q1: "+draft)
	card := b.offers(chat, "Approve", "Please review this", "draft\n\nA boat with *two* oars.\n", "For Bob")
	b.passes() // it is stored that the card was sent
	s.kill()
	b.opens()
	b.Say(chat, b.eve, "looks fine to me", telegramfake.ReplyTo(card.ID))
	b.Say(chat, b.bob, "with three oars please", telegramfake.ReplyTo(card.ID))
	b.sees(chat, "[q1]", "with three oars please")
	b.meets(chat, "the decided card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, "Changes requested by Bob") && strings.Contains(m.Text, "They said: with three oars please")
	})
	if n := len(b.asked("with three oars please")); n < 2 {
		t.Errorf("the words of the review are in %d prompts, want the agent's and the decision's", n)
	}
	if len(b.asked("looks fine to me")) > 0 {
		t.Error("a stranger's words are in a prompt")
	}
	if n := b.count(chat, "Please review this"); n > 0 {
		t.Errorf("%d cards are open", n)
	}
}

// longDraft is a draft that is too long for a card, as it stands in JSON.
const longDraft = `# Boats\n\n<b>[Two](https://boats.example)</b> & three\n` // and much more

// TestLongReviewInTelegram: a long draft begins in the card, as text, and is whole
// in a file, as text.
func TestLongReviewInTelegram(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: shopping(orders{words: map[string]string{"DRAFT": longDraft + strings.Repeat("plank ", 800) + "and a nail"}}, "lookup")})
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "q1: "+draft)
	card := b.offers(chat, "Approve", "draft\n\n# Boats\n\n<b>[Two](https://boats.example)</b> & three\nplank plank", "Not shown in full: draft.")
	if utf8.RuneCountInString(card.Text) > 4096 || strings.Contains(card.Text, "a nail") {
		t.Errorf("the card is %q", card.Text)
	}
	for _, e := range card.Entities {
		if e.Type == "text_link" {
			t.Errorf("the card has the link %+v", e)
		}
	}
	file := b.meets(chat, "the file", func(m telegramfake.Message) bool { return m.File != nil })
	if got := string(file.File.Content); !strings.HasPrefix(got, "draft\n    # Boats\n\n    <b>[Two](https://boats.example)</b> & three\n    plank ") || !strings.HasSuffix(got, "and a nail\n") || !strings.Contains(card.Text, file.File.Name) {
		t.Errorf("the file %s has %.300q", file.File.Name, got)
	}
	b.taps(b.bob, chat, card.ID, "Approve")
	b.sees(chat, "[q1]")
}

// TestLongReviewInSlack: the same in a thread, and where the app may write no
// files all of it is in the card.
func TestLongReviewInSlack(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: shopping(orders{words: map[string]string{"DRAFT": longDraft + strings.Repeat("plank ", 800) + "and a nail"}}, "lookup")})
	o.opens()
	thread := o.asks(general, ben, "q1: "+draft)
	card := o.offers(thread, "Approve", "**`draft`**", "> \\# Boats", "> <b>[Two\\](https://boats.example)</b> & three", "Not shown in full: `draft`.")
	file := o.meets(thread, "the file", func(m slackfake.Message) bool { return len(m.Files) > 0 })
	if got := string(file.Files[0].Content); !strings.HasSuffix(got, "and a nail\n") || strings.Contains(o.Shown(card), "a nail") || !strings.Contains(o.Shown(card), file.Files[0].Name) {
		t.Errorf("the file %s has %.300q, the card is %q", file.Files[0].Name, got, o.Shown(card))
	}
	o.taps(card, "Approve", ben)
	o.answers(thread, "[q1]")

	o.GrantFiles(false)
	thread = o.asks(general, ben, "q2: "+draft)
	card = o.offers(thread, "Approve")
	whole := ""
	for _, m := range o.said(thread) {
		whole += o.Shown(m)
	}
	if n := strings.Count(whole, "plank"); n != 800 || !strings.Contains(whole, "and a nail") {
		t.Errorf("without files the chat shows %d planks: %.500q", n, whole)
	}
	o.taps(card, "Ask for changes", ben)
	o.answers(thread, "[q2]")
}

// TestReviewInTerminal: words ask for changes, a number approves, and without
// a person changes are asked for.
func TestReviewInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, shopping(orders{words: map[string]string{"DRAFT": "A boat."}}, "lookup"))
	s := w.sit("chat")
	s.sees("Type a question.")
	s.types("q1: " + draft + "\r")
	s.sees("Please review this", "draft", "│ A boat.", "1 Approve", "2 Ask for changes")
	s.types("a bigger one\r")
	s.sees("Changes requested by", "a bigger one", "[q1]")
	s.types("q2: " + draft + "\r")
	s.sees("1 Approve")
	s.types("1")
	s.sees("Approved by", "[q2]")
	s.types("\x04")
	s.leaves()
	if len(w.asked("a bigger one")) == 0 || len(w.asked("reviewed the shared state and approved it")) == 0 {
		t.Error("the models were not told how the reviews went")
	}
	p := w.start("chat", "q3: "+draft)
	p.end()
	if got := p.out.String(); !strings.Contains(got, "[q3]") {
		t.Errorf("without a person the answer is %q", got)
	}
}

// TestProgramsTaskInTelegram: what a program starts asks and answers in the chat
// that it names, once over a kill; admins decide there, by tap or by words.
func TestProgramsTaskInTelegram(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{
		options: shopping(orders{}, "book"),
		http:    fmt.Sprintf(", tokens: [%s, %s]", tokenLine("ops", "operator"), tokenLine("writer", "agent")),
	})
	s := b.opens()
	front := newWebhookProxy(t)
	front.leads(s.address)
	ops, writer := outsider{t, front.URL, tokenOf("ops")}, outsider{t, front.URL, tokenOf("writer")}
	chat := b.group(b.Supergroup("Friends", b.ann, b.bob))
	var task struct {
		ID string `json:"id"`
	}
	starts := func(body string) string {
		t.Helper()
		ops.calls(http.MethodPost, "/v1/tasks", strings.ReplaceAll(body, "CHAT", fmt.Sprintf("telegram:%d", chat)), &task)
		return task.ID
	}

	starts(`{"goal":"q1: shop book {\"item\":\"a boat\"}","notify":{"chat":"CHAT"}}`)
	card := b.asks(chat, "book of the server desk", "a boat", "For ops")
	if got := b.taps(b.bob, chat, card.ID, "Allow once"); !strings.Contains(got.Text, b.says("error.not_yours", nil)) {
		t.Errorf("somebody else's tap was answered %q", got.Text)
	}
	b.taps(b.ann, chat, card.ID, "Allow once")
	b.sees(chat, "A task of the program ops: q1", "booked a boat")

	context := starts(`{"goal":"write about boats","run":false,"notify":{"chat":"CHAT"}}`)
	writer.calls(http.MethodPatch, "/v1/tasks/"+context+"/state", `{"draft":{"text":"Boats float."},"status":"NEEDS_HUMAN_REVIEW"}`, nil)
	card = b.offers(chat, "Approve", "Boats float.", `Review requested by agent:writer`)
	b.passes() // it is stored that the card was sent
	s.kill()
	s = b.opens()
	front.leads(s.address)
	b.Say(chat, b.ann, "say which boats", telegramfake.ReplyTo(card.ID))
	b.meets(chat, "the decided card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && strings.Contains(m.Text, "Changes requested by Ann") && strings.Contains(m.Text, "say which boats")
	})
	var now shared
	writer.calls(http.MethodGet, "/v1/tasks/"+context+"/state", "", &now)
	if now.State.Status != "CHANGES_REQUESTED" {
		t.Errorf("the status is %q", now.State.Status)
	}
	writer.calls(http.MethodPost, "/v1/tasks/"+context+"/answer", `{"text":"Wooden boats float."}`, nil)
	b.once(chat, "A task of the program ops: write about boats", "Wooden boats float.")
	b.bought("a boat")
	s.stops()
}

// TestReviewFromAlert: the review of a context that is shown in no chat reaches an
// admin by an alert, is decided there, and the agent reads that.
func TestReviewFromAlert(t *testing.T) {
	t.Parallel()
	p := newAlertsEnv(t, options{}, "")
	s := p.opens()
	ops, writer := p.program(s, "ops"), p.program(s, "writer")
	var task struct {
		ID string `json:"id"`
	}
	ops.calls(http.MethodPost, "/v1/tasks", `{"goal":"write about boats","run":false}`, &task)
	writer.calls(http.MethodPatch, "/v1/tasks/"+task.ID+"/state", `{"draft":{"text":"Boats float."},"status":"NEEDS_HUMAN_REVIEW"}`, nil)
	chat := p.Private(p.ann)
	alert := p.offers(chat, "Show", "needs a review by a person", "write about boats")
	p.taps(p.ann, chat, alert.ID, "Show")
	card := p.offers(chat, "Approve", "Boats float.")
	p.taps(p.ann, chat, card.ID, "Approve")
	p.meets(chat, "the decided card", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && strings.Contains(m.Text, "Approved by Ann")
	})
	var now shared
	writer.calls(http.MethodGet, "/v1/tasks/"+task.ID+"/state", "", &now)
	if now.State.Status != "APPROVED" {
		t.Errorf("the status is %q", now.State.Status)
	}
	s.stops()
}
