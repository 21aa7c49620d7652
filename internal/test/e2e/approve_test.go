package e2e_test

import (
	"strings"
	"testing"
	"time"

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
	s.logged("a tool was changed by its server and is held back", "desk.lookup")
	b.taps(b.bob, chat, card.ID, "Allow once")
	b.sees(chat, "[q1]", "held back")
	if calls := b.calls("lookup"); len(calls) > 0 {
		t.Errorf("the changed tool was called: %q", calls)
	}
}
