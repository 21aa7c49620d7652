package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/tasks/inbox"
)

// TestTelegramOddInput: whatever a person sends is answered with an answer or a
// sentence, and the next question as well.
func TestTelegramOddInput(t *testing.T) {
	t.Parallel()
	rtl := "שלום, מה השעה? \u202eevil"
	for name, c := range map[string]struct {
		send func(b *telegramEnv)
		want []string
	}{
		"emoji only":      {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "👩‍👩‍👧‍👦🏳️‍🌈🔥") }, []string{"👩‍👩‍👧‍👦🏳️‍🌈🔥"}},
		"right to left":   {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, rtl) }, []string{"שלום, מה השעה?"}},
		"empty":           {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "  \n\t ") }, nil},
		"a sticker":       {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "", telegramfake.Media("sticker")) }, []string{"I can only read text here so far"}},
		"a voice message": {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "", telegramfake.Media("voice")) }, []string{"I can only read text here so far"}},
		"a caption":       {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "q1: what is this?", telegramfake.Media("photo")) }, []string{"q1: what is this?"}},
		"markup":          {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "q1: <b>x</b> & _y_ [z](http://a.b) `c`") }, []string{"<b>x</b>"}},
		"a path":          {func(b *telegramEnv) { b.Say(b.bob.ID, b.bob, "/etc/passwd is what?") }, []string{"answers: /etc/passwd is what?"}},
		"a reply to somebody else": {func(b *telegramEnv) {
			own := b.Say(b.bob.ID, b.bob, "/new")
			b.sees(b.bob.ID, b.says("notice.new", nil))
			b.Say(b.bob.ID, b.bob, "q1: and this?", telegramfake.ReplyTo(own))
		}, []string{"[q1] answers"}},
		"malformed updates": {func(b *telegramEnv) {
			for _, raw := range []string{
				`{}`, `{"message": null}`, `{"message": 7}`, `{"message": {"chat": {"id": "x"}}}`, `{"message": {"message_id": 1, "chat": {"id": 2, "type": "private"}}}`,
				`{"message": {"message_id": 99, "from": {"id": 2, "first_name": "Bob"}, "chat": {"id": 2, "type": "private"}, "text": ["q"]}}`,
				`{"callback_query": {"id": "1", "from": {"id": 2}, "data": "s:x"}}`, `{"callback_query": {"id": 5}}`, `{"edited_message": {}}`,
				`{"poll_answer": {"poll_id": "1"}}`, `{"some_new_kind": {"a": [1, 2, {"b": null}]}}`, `{"message": {"date": 1e400}}`,
			} {
				b.Raw(raw)
			}
			b.Say(b.bob.ID, b.bob, "q1: hello")
		}, []string{"[q1] answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			s := b.opens()
			c.send(b)
			if c.want != nil {
				b.once(b.bob.ID, c.want...)
			}
			b.goesOn(b.bob)
			s.alive()
			if log := s.err.String(); strings.Contains(log, "panic") {
				t.Errorf("something panicked: %s", log)
			}
		})
	}
}

// TestTelegramHugeMessage: 100 KB arrive in the many messages that the app makes
// of them, within a second: they are one question, which is answered once.
func TestTelegramHugeMessage(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		said := r.AllTagged("guidance")
		if len(said) < 25 {
			return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}} // until there is more
		}
		return llmfake.Say(fmt.Sprintf("%.9s was asked in %d pieces, the last is %.20s", goal, len(said)+1, said[len(said)-1]))
	}}})
	part := strings.Repeat("lorem ", 4096/6)
	b.Say(b.bob.ID, b.bob, "q1: "+part[:4000])
	for range 24 {
		b.Say(b.bob.ID, b.bob, part)
	}
	b.Say(b.bob.ID, b.bob, "the end")
	b.opens() // a busy machine must not take a second between two of them
	b.sees(b.bob.ID, "q1: lorem was asked in 26 pieces, the last is the end")
	b.passes()
	b.once(b.bob.ID, "was asked in")
	b.once(b.bob.ID, b.says("notice.added", nil))
}

// TestTelegramTooLong: an update that no Telegram would send is refused with the
// limit.
func TestTelegramTooLong(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20})
	b.opens()
	b.Say(b.bob.ID, b.bob, "q1: "+strings.Repeat("long ", inbox.MaxGoal/5+1))
	b.once(b.bob.ID, b.says("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal}))
	b.Say(b.bob.ID, b.bob, "q2: "+strings.Repeat("long ", 100_000/5))
	b.sees(b.bob.ID, "[q2] answers", "long")
	b.goesOn(b.bob)
}

// TestTelegramTwoAtOnce: a message within a second of a question is a part of
// it, and answered with it, once.
func TestTelegramTwoAtOnce(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	group := b.group(b.Group("Friends", b.bob, b.ann))
	b.Say(b.bob.ID, b.bob, "q1: what is the capital?")
	b.Say(b.bob.ID, b.bob, "of France, I mean")
	b.Say(group, b.bob, "/task q2: one by Bob")
	b.Say(group, b.ann, "/task q3: one by Ann")
	b.sees(b.bob.ID, "[q1] answers", "guidance: of France, I mean")
	b.once(group, "[q2] answers: q2: one by Bob")
	b.once(group, "[q3] answers: q3: one by Ann")
	b.passes()
	b.once(b.bob.ID, "[q1] answers")
	b.once(b.bob.ID, b.says("notice.added", nil))
}

// TestTelegramEdited: an edited question is answered as it reads now; the edit of
// one that was answered asks again; a deleted one does no harm.
func TestTelegramEdited(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: talks()}})
	b.opens()
	asked := b.Say(b.bob.ID, b.bob, "q1: what is the capital of Frence?")
	b.until("that it thinks", func(v telegramfake.View) bool { return len(v.Chat(b.bob.ID).Drafts) > 0 })
	b.Edit(b.bob.ID, asked, "q1: what is the capital of France?")
	b.sees(b.bob.ID, "[q1] answers", "capital of France?")
	b.passes()
	if n := len(b.Chat(b.bob.ID).Bots()); n != 1 {
		t.Errorf("got %d messages, want the one answer", n)
	}
	b.Edit(b.bob.ID, asked, "q2: what is the capital of Spain?")
	b.once(b.bob.ID, "[q2] answers", "capital of Spain?")
	b.Edit(b.bob.ID, asked, "q2: what is the capital of Spain?") // nothing new
	b.passes()
	b.once(b.bob.ID, "[q2] answers")

	group := b.group(b.Supergroup("Friends", b.bob))
	gone := b.Say(group, b.bob, "/task q3: a question that is deleted")
	b.offers(group, "Stop")
	b.Delete(group, gone)
	b.once(group, "[q3] answers")
	placeholder := b.Say(group, b.bob, "/task q4: one whose placeholder is deleted")
	board := b.meets(group, "the placeholder", func(m telegramfake.Message) bool { return m.ReplyTo == placeholder && m.Button("Stop") != "" })
	b.Delete(group, board.ID)
	b.once(group, "[q4] answers")
	b.goesOn(b.bob)
}

// TestTelegramRedelivered: what Telegram delivers twice is handled once.
func TestTelegramRedelivered(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{fake: telegramfake.Options{Again: 1}})
	b.opens()
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	b.Say(b.bob.ID, b.bob, "/new")
	b.sees(b.bob.ID, b.says("notice.new", nil))
	b.Redeliver(10)
	b.goesOn(b.bob)
	b.Redeliver(10)
	b.passes()
	b.once(b.bob.ID, "[q1] answers")
	b.once(b.bob.ID, b.says("notice.new", nil))
}

// TestTelegramButtonsLater: buttons pressed late, after a restart, by another
// person, or made up end with a sentence, and do nothing.
func TestTelegramButtonsLater(t *testing.T) {
	t.Parallel()
	s := works("60000")
	s.haste = 10
	b := newTelegramEnv(t, s)
	p := b.opens()
	group := b.group(b.Supergroup("Friends", b.bob, b.eve, b.ann))
	b.Say(group, b.bob, "/task first: a question")
	board := b.working(group)
	p.stops()
	p = b.opens()
	if press := b.taps(b.eve, group, board.ID, board.Button("Stop")); press.Text != b.says("error.not_yours", nil) {
		t.Errorf("a stranger's tap: got %q", press.Text)
	}
	if press := b.taps(b.bob, group, board.ID, board.Button("Stop")); press.Text != b.says("notice.stopping", nil) {
		t.Errorf("a tap after the restart: got %q", press.Text)
	}
	answer := b.offers(group, "Details", "value of quick")
	p.stops()
	b.opens()
	b.taps(b.bob, group, answer.ID, "Details")
	b.sees(group, "1. quick", b.says("state.done", nil))
	for name, data := range map[string]string{
		"a task that is over":        board.Button("Stop"),
		"a task that does not exist": "s:01HZZZZZZZZZZZZZZZZZZZZZZZ",
		"nothing at all":             ":::",
		"a strange byte":             "\u202e\x01",
		"a question that is over":    "a:" + strings.TrimPrefix(board.Button("Stop"), "s:") + ":1.1.1:0",
		"an admin's verb":            "g:a:telegram:3",
	} {
		if press := b.taps(b.bob, group, board.ID, data); press.Text != b.says("error.too_late", nil) && press.Text != b.says("error.not_yours", nil) {
			t.Errorf("%s: got %q, want a sentence", name, press.Text)
		}
	}
	b.Say(b.eve.ID, b.eve, "q1: am I in?")
	b.sees(b.eve.ID, b.says("error.not_allowed", nil))
	b.goesOn(b.bob)
}
