package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

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
	p := newPost(t, options{}, "")
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
