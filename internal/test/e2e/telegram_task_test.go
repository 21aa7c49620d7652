package e2e_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// works is a scene with a task of two sub-tasks, of which the second one waits
// for a tool that takes so long.
func works(takes string) telegramOptions {
	return telegramOptions{options: options{think: slowly(`{"ms": ` + takes + `}`), tools: ", slow", limit: 2 * time.Minute}}
}

// working waits for the board of such a task when one sub-task is done.
func (b *telegramEnv) working(chat int64) telegramfake.Message {
	b.t.Helper()
	return b.offers(chat, "Stop", "Working: 1 of 2 sub-tasks done", "✅ quick", "⏳ slow", "desk.slow")
}

// TestTelegramPlannedTask: the board shows what is done and what goes on, folds
// into a line, and the answer is a new message with a footer and Details.
func TestTelegramPlannedTask(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("6000"))
	b.opens()
	for name, where := range map[string]struct {
		chat int64
		text string
	}{
		"in private": {b.bob.ID, "first: a question"},
		"in a group": {b.group(b.Supergroup("Friends", b.bob)), "/task first: a question"},
	} {
		asked := b.Say(where.chat, b.bob, where.text)
		board := b.working(where.chat)
		if !strings.Contains(board.Text, "first: a question") || board.ReplyTo != asked {
			t.Errorf("%s: the board reads %q and replies to %d, want the question's title and %d", name, board.Text, board.ReplyTo, asked)
		}
		answer := b.offers(where.chat, "Details", "value of quick", "at last")
		if answer.ID == board.ID || answer.ReplyTo != asked || answer.Button("Retry") != "" || answer.Edits > 0 {
			t.Errorf("%s: the answer is %+v, want a new message that replies to %d", name, answer, asked)
		}
		if !strings.Contains(answer.Text, "2 sub-tasks ·") {
			t.Errorf("%s: the answer has no footer: %q", name, answer.Text)
		}
		b.until("the folded board", func(v telegramfake.View) bool {
			for _, m := range v.Chat(where.chat).Messages {
				if m.ID == board.ID {
					return strings.HasPrefix(m.Text, "Done: 2 sub-tasks in ") && !strings.Contains(m.Text, "\n") && len(m.Buttons) == 0
				}
			}
			return false
		})
		b.taps(b.bob, where.chat, answer.ID, "Details")
		b.sees(where.chat, "1. quick", "2. slow", "desk.lookup", "desk.slow", b.says("state.done", nil))
		for _, e := range b.Events(where.chat) {
			if strings.Contains(e.Message.Text, `"plan"`) || strings.Contains(e.Message.Text, `{"`) && !strings.Contains(e.Message.Text, "<result") {
				t.Errorf("%s: people saw JSON: %q", name, e.Message.Text)
			}
		}
	}
	b.goesOn(b.bob)
}

// TestTelegramStop: a task is stopped by its button or the command, by a
// person who may, once; the results so far are shown.
func TestTelegramStop(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("60000"))
	b.opens()
	private := func() int64 { return b.bob.ID }
	group := func() int64 { return b.group(b.Supergroup("Friends", b.ann, b.bob, b.eve)) }
	for _, c := range []struct {
		name string
		chat int64
		stop func(chat int64, board telegramfake.Message)
	}{
		{"by button", private(), func(chat int64, board telegramfake.Message) {
			first, second := b.Press(chat, board.ID, "Stop", b.bob), b.Press(chat, board.ID, board.Button("Stop"), b.bob)
			if p := b.answered(first); p.Text != b.says("notice.stopping", nil) {
				t.Errorf("the first tap: got %q, want that it stops", p.Text)
			}
			b.answered(second)
		}},
		{"by command", private(), func(chat int64, _ telegramfake.Message) { b.Say(chat, b.bob, "/stop") }},
		{"by an admin's button", group(), func(chat int64, board telegramfake.Message) {
			if p := b.taps(b.eve, chat, board.ID, "Stop"); p.Text != b.says("error.not_yours", nil) {
				t.Errorf("a stranger's tap: got %q, want that it is not theirs", p.Text)
			}
			b.taps(b.ann, chat, board.ID, "Stop")
		}},
		{"by command in a group", group(), func(chat int64, _ telegramfake.Message) { b.Say(chat, b.bob, "/stop@legwork_bot") }},
	} {
		before := len(b.Chat(c.chat).Bots())
		b.Say(c.chat, b.bob, "/task first: a question "+c.name)
		board := b.working(c.chat)
		c.stop(c.chat, board)
		answer := b.meets(c.chat, "the answer "+c.name, func(m telegramfake.Message) bool {
			return m.ID > board.ID && strings.Contains(m.Text, "value of quick") && m.Button("Details") != ""
		})
		if p := b.taps(b.bob, c.chat, board.ID, board.Button("Stop")); p.Text != b.says("error.too_late", nil) {
			t.Errorf("%s: a late tap reads %q, want that it is too late", c.name, p.Text)
		}
		found := 0
		for _, m := range b.Chat(c.chat).Bots()[before:] {
			if strings.Contains(m.Text, "value of quick") {
				found++
			}
			if m.Button("Stop") != "" {
				t.Errorf("%s: message %d still offers Stop: %q", c.name, m.ID, m.Text)
			}
		}
		if found != 1 {
			t.Errorf("%s: got %d answers, want one: %q", c.name, found, answer.Text)
		}
	}
	b.goesOn(b.bob)
}

// TestTelegramRetry: a failure says what can be done and has a button that asks
// again, once.
func TestTelegramRetry(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	b := newTelegramEnv(t, telegramOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		if !mended.Load() {
			return llmfake.Status(401)
		}
		return llmfake.Brain{}.Respond(r)
	}}})
	b.opens()
	for _, chat := range []int64{b.bob.ID, b.group(b.Supergroup("Friends", b.bob, b.eve))} {
		mended.Store(false)
		b.Say(chat, b.bob, "/task q1: desk alpha")
		failed := b.offers(chat, "Retry", "⚠️", b.says("problem.refused", nil))
		mended.Store(true)
		if p := b.taps(b.eve, chat, failed.ID, "Retry"); p.Text != b.says("error.not_yours", nil) && chat != b.bob.ID {
			t.Errorf("a stranger's tap: got %q, want that it is not theirs", p.Text)
		}
		for range 2 {
			b.taps(b.bob, chat, failed.ID, "Retry")
		}
		b.offers(chat, "Details", "[q1]", "value of q1 desk alpha")
		b.passes()
		b.once(chat, "[q1]", "value of q1 desk alpha")
	}
	b.goesOn(b.bob)
}
