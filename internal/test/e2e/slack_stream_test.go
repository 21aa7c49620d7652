package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
)

// TestSlackBoard: while a task works, its cards are live in its thread; then
// they fold into one line, and the answer is a message of its own.
func TestSlackBoard(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.held = newGate(t)
		o := newSlackEnv(t, r)
		o.opens()
		o.slash("/task", "q1: desk alpha; desk held; safe gamma", general, ben)
		live := o.offers(in(general), "Stop", "✓ q1 desk alpha", "◐ q1 desk held", "✓ q1 safe gamma")
		if live.Stream == nil || live.Stream.State != slackfake.StreamLive || live.Stream.User != ben || live.Stream.Mode != "plan" {
			t.Errorf("the board is no live stream of Ben's: %+v", live.Stream)
		}
		if want := o.text("status.working", map[string]any{"Done": 2, "Count": 3}); live.Stream != nil && live.Stream.Title != want {
			o.sees(under(general, live.Thread), want)
		}
		o.until("Slack's own Stop", func() bool { return o.StatusOf(general, live.Thread).Session == "processing" })
		r.held.opens()
		answer := o.offers(under(general, live.Thread), "Details", "value of q1 desk alpha", "value of q1 desk held", "3 sub-tasks")
		if answer.TS == live.TS {
			t.Error("the answer stands in the board's message, where people get no notification")
		}
		o.until("the end of the session", func() bool { return o.StatusOf(general, live.Thread).Session == "active" })
		folded, _ := o.Message(general, live.TS)
		if shown := o.Shown(folded); !strings.HasPrefix(shown, "Done: 3 sub-tasks in ") || strings.Contains(shown, "\n") || len(folded.Buttons()) > 0 {
			t.Errorf("the board is %q, want one line", shown)
		}
		o.taps(answer, "Details", ben)
		o.sees(under(general, live.Thread), "1. **q1 desk alpha**", "2. **q1 desk held**", "`desk.lookup`")
		o.passes()
		if n := o.count(under(general, live.Thread), "3 sub-tasks ·"); n != 1 {
			t.Errorf("%d messages hold the answer, want one", n)
		}
	})
}

// TestSlackPlainStream: an answer without a plan grows where the board stood, and
// comes as a message of its own at the end, because that notifies people.
func TestSlackPlainStream(t *testing.T) {
	t.Parallel()
	text := strings.TrimSpace(strings.Repeat("These are words that come one after the other. ", 8))
	seen := make(chan struct{})
	o := newSlackEnv(t, slackOptions{options: options{wait: time.Minute, think: always(llmfake.Response{Text: text, Hold: seen})}})
	o.opens()
	thread := o.asks(general, ben, "first: tell me")
	growing := o.meets(thread, "a part of the answer", func(m slackfake.Message) bool {
		return m.Stream != nil && m.Stream.State == slackfake.StreamLive && strings.HasPrefix(m.Stream.Text, "These are words")
	})
	close(seen)
	o.meets(thread, "the answer in a new message", func(m slackfake.Message) bool {
		return m.TS != growing.TS && m.Stream == nil && strings.Contains(o.Shown(m), text)
	})
	o.until("the end of the message where it grew", func() bool { return len(o.said(thread)) == 1 })
}

// TestSlackRotation: a stream is ended before Slack does it; when Slack was
// faster, or kills it, the message goes on by edits.
func TestSlackRotation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		haste  int           // of legwork
		second time.Duration // of Slack
		ends   string
	}{
		"at four minutes": {120, time.Second / 120, slackfake.StreamDone},
		"Slack is faster": {20, time.Second / 60, slackfake.StreamExpired},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			late := held.before("late")
			o := newSlackEnv(t, slackOptions{held: held, haste: c.haste, fake: slackfake.Options{Limits: map[string][]slackfake.Limit{}}, second: c.second})
			o.opens()
			thread := o.asks(general, ben, "q1: desk held; safe alpha | desk late")
			live := o.sees(thread, "◐ q1 desk held")
			o.meets(thread, "the end of the stream", func(m slackfake.Message) bool {
				return m.TS == live.TS && m.Stream != nil && m.Stream.State == c.ends
			})
			held.opens()
			o.meets(thread, "the board as an edited message", func(m slackfake.Message) bool {
				return m.TS == live.TS && m.Stream == nil && holdsAll(o.Shown(m), []string{"⏳ q1 desk late"}) && slices.Contains(m.Buttons(), "Stop")
			})
			late.opens()
			o.offers(thread, "Details", "value of q1 desk late")
			o.sees(thread, "Done: 3 sub-tasks")
			if n := len(o.said(thread)); n != 2 {
				t.Errorf("legwork wrote %d messages, want the board and the answer", n)
			}
		})
	}
}

// TestSlackStops: every way to stop a task ends what the model and the tools do
// and leaves one message that says so.
func TestSlackStops(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(o *slackEnv, thread place, card slackfake.Message){
		"by the board's button": func(o *slackEnv, _ place, card slackfake.Message) { o.taps(card, "Stop", ben) },
		"by Slack's own button": func(o *slackEnv, thread place, _ slackfake.Message) {
			if err := o.Server.Stop(general, thread.thread, ben); err != nil {
				o.t.Fatal(err)
			}
		},
		"by an admin": func(o *slackEnv, _ place, card slackfake.Message) { o.taps(card, "Stop", ann) },
		"by all of it at once": func(o *slackEnv, thread place, card slackfake.Message) {
			o.taps(card, "Stop", ben)
			if err := o.Server.Stop(general, thread.thread, ben); err != nil {
				o.t.Fatal(err)
			}
			o.Say(general, ben, "stop", thread.thread)
			o.taps(card, "Stop", ann)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			o := newSlackEnv(t, slackOptions{held: held})
			o.opens()
			thread := o.asks(general, ben, "q1: desk alpha; desk held")
			card := o.offers(thread, "Stop", "✓ q1 desk alpha", "◐ q1 desk held")
			held.reached()
			o.until("Slack's own Stop", func() bool { return o.StatusOf(general, thread.thread).Session == "processing" })
			stop(o, thread, card)
			o.offers(thread, "Details", "value of q1 desk alpha", "2 sub-tasks ·")
			o.until("the end of the session", func() bool { return o.StatusOf(general, thread.thread).Session == "active" })
			o.sees(thread, o.text("status.stopped", nil))
			o.passes()
			if n := o.count(thread, "2 sub-tasks ·"); n != 1 {
				t.Errorf("%d messages say that it was stopped, want one", n)
			}
			board, _ := o.Message(general, card.TS)
			if board.Stream != nil && board.Stream.State == slackfake.StreamLive || len(board.Buttons()) > 0 {
				t.Errorf("the board of the stopped task is %q", o.Shown(board))
			}
			o.goesOn(ben)
		})
	}
}

// TestSlackManyTasks: ten tasks stream at once, the boards of the others are
// edited, and all are answered once.
func TestSlackManyTasks(t *testing.T) {
	t.Parallel()
	const tasks = 14
	held := newGate(t)
	o := newSlackEnv(t, slackOptions{held: held, haste: 20, fake: slackfake.Options{World: manyChannels(tasks)}})
	o.opens()
	var threads []place
	for i := range tasks {
		threads = append(threads, o.asks(fmt.Sprintf("C%d", 100+i), ben, fmt.Sprintf("q%d: desk held", i)))
	}
	held.reachedBy(tasks)
	streams, edited := 0, 0
	for i, thread := range threads {
		m := o.sees(thread, fmt.Sprintf("q%d desk held", i))
		if m.Stream != nil && m.Stream.State == slackfake.StreamLive {
			streams++
		} else {
			edited++
		}
	}
	if streams > 10 || edited < tasks-10 {
		t.Errorf("%d boards stream and %d are edited, want ten streams at most", streams, edited)
	}
	held.opens()
	for i, thread := range threads {
		o.offers(thread, "Details", fmt.Sprintf("value of q%d desk held", i))
		o.sees(thread, "Done: 1 sub-task")
	}
	for _, thread := range threads {
		if n := len(o.said(thread)); n != 2 {
			t.Errorf("legwork wrote %d messages in %v, want the board and the answer", n, thread)
		}
	}
}

// manyChannels is a workspace with channels from C100 on.
func manyChannels(n int) slackfake.World {
	w := slackfake.DefaultWorld()
	for i := range n {
		w.Channels = append(w.Channels, slackfake.Channel{ID: fmt.Sprintf("C%d", 100+i), Name: fmt.Sprintf("channel-%d", i)})
	}
	return w
}

// guests lets Ben and Gus in.
const guests = `{slack: {users: [U2, U3]}, admins: ["slack:U1"]}`

// TestSlackApprove: a card stands in the thread of its task, is decided once by
// who asked or an admin, and tells who decided what.
func TestSlackApprove(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.options, r.access = shopping(orders{}, "book, slow"), guests
		o := newSlackEnv(t, r)
		s := o.opens()
		thread := o.asks(general, ben, "q1: "+boat+` and slow {"ms":1} then book {"item":"an oar"}`)
		card := o.offers(thread, "Allow once", "Allow these 2 actions?", `"item": "a boat"`, `"ms": 1`)
		o.taps(card, "Allow once", gus)
		o.meets(thread, "a word to Gus", func(m slackfake.Message) bool { return m.To == gus && o.Shown(m) == o.text("error.not_yours", nil) })
		o.bought()
		s.kill()
		s = o.opens()
		o.taps(card, "Allow once", ben)
		_, _ = o.Press(general, card.TS, "Deny", ann) // too late, if the button is still there
		second := o.offers(thread, "Allow once", `"item": "an oar"`)
		o.bought("a boat")
		o.taps(second, "Allow once", ann) // an admin
		o.answers(thread, "[q1]", "booked an oar")
		o.bought("a boat", "an oar")
		for _, want := range []string{"Allowed once by ben", "Allowed once by ann"} {
			o.meets(thread, "the decided card", func(m slackfake.Message) bool {
				return strings.Contains(o.Shown(m), want) && len(m.Buttons()) == 0
			})
		}
		s.alive()
	})
}

// TestSlackDeny: a reason that is written in reply reaches the model.
func TestSlackDeny(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: shopping(orders{}, "book")})
	o.opens()
	thread := o.asks(general, ben, "q1: "+boat)
	card := o.offers(thread, "Deny with a reason", `"item": "a boat"`)
	o.taps(card, "Deny with a reason", ben)
	o.sees(thread, o.text("approval.why", nil))
	o.Say(general, ben, "we have one already", thread.thread)
	o.answers(thread, "[q1]", "A person declined this call: we have one already. Do not try it again")
	o.meets(thread, "the decided card", func(m slackfake.Message) bool {
		return m.TS == card.TS && len(m.Buttons()) == 0 && strings.Contains(o.Shown(m), "Denied by ben") && strings.Contains(o.Shown(m), "we have one already")
	})
	o.bought()
	o.goesOn(ben)
}

// TestSlackApproveLong: long arguments come as a file in the thread, and where
// the app may write no files, whole in the card.
func TestSlackApproveLong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("plank ", 800) + "and the last nail"
	o := newSlackEnv(t, slackOptions{options: shopping(orders{words: map[string]string{"LONG": long, "TRICK": `\u202eknil\u200b`}}, "book")})
	o.opens()
	thread := o.asks(general, ben, `q1: shop book {"item":"LONG TRICK"}`)
	card := o.offers(thread, "Allow once", "book", "The full arguments are in the file")
	if strings.Contains(o.Shown(card), "plank") {
		t.Errorf("the card shows a part of the arguments: %q", o.Shown(card))
	}
	file := o.meets(thread, "the file", func(m slackfake.Message) bool { return len(m.Files) > 0 })
	if got := string(file.Files[0].Content); !strings.Contains(got, long) || !strings.Contains(got, `\u202eknil\u200b`) || !strings.Contains(o.Shown(card), file.Files[0].Name) {
		t.Errorf("the file %s lacks the arguments: %.300q", file.Files[0].Name, got)
	}
	o.taps(card, "Allow once", ben)
	o.answers(thread, "[q1]", "and the last nail")

	o.GrantFiles(false)
	thread = o.asks(general, ben, `q2: shop book {"item":"LONG TRICK"}`)
	whole := ""
	card = o.offers(thread, "Allow once")
	for _, m := range o.said(thread) {
		whole += strings.ReplaceAll(o.Shown(m), "\n", " ")
	}
	if strings.Count(whole, "plank") != strings.Count(long, "plank") || !strings.Contains(whole, "last nail") || !strings.Contains(whole, `\u202eknil\u200b`) {
		t.Errorf("without files, the card shows %d of %d planks: %.500q", strings.Count(whole, "plank"), strings.Count(long, "plank"), whole)
	}
	o.taps(card, "Deny", ben)
	o.answers(thread, "[q2]", "declined")
}

// TestSlackPrivately: with show_in: private, the card is in the direct messages
// of who asked, and the channel sees none of the arguments.
func TestSlackPrivately(t *testing.T) {
	t.Parallel()
	p := shopping(orders{words: map[string]string{"SECRET": "a ring for Eve"}}, "book")
	p.more += "approvals: {show_in: private}\n"
	o := newSlackEnv(t, slackOptions{options: p})
	o.opens()
	thread := o.asks(general, ben, `q1: shop book {"item":"SECRET"}`)
	card := o.offers(in(benDM), "Allow once", "a ring for Eve")
	o.sees(thread, o.text("approval.elsewhere", map[string]any{"Name": "ben"}))
	if slices.ContainsFunc(o.said(in(general)), func(m slackfake.Message) bool { return strings.Contains(o.Shown(m), "a ring for Eve") }) {
		t.Error("the channel sees the arguments")
	}
	o.taps(card, "Allow once", ben)
	o.answers(thread, "[q1]", "booked a ring for Eve")
	o.bought("a ring for Eve")
}

// TestSlackAlways: what an admin allows in a channel holds in all its threads,
// and in no other, until it is taken back.
func TestSlackAlways(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: shopping(orders{}, "book"), access: guests})
	o.opens()
	thread := o.asks(general, ben, "q1: "+boat)
	card := o.offers(thread, "Always in this chat", "book")
	o.taps(card, "Always in this chat", ben)
	o.meets(thread, "a word to Ben", func(m slackfake.Message) bool { return m.To == ben && o.Shown(m) == o.text("error.admin_needed", nil) })
	o.bought()
	o.taps(card, "Always in this chat", ann)
	o.answers(thread, "[q1]", "booked a boat")
	thread = o.asks(general, gus, `q2: shop book {"item":"an oar"}`)
	o.answers(thread, "[q2]", "booked an oar")
	o.Say(benDM, ben, `q3: shop book {"item":"a sail"}`, "")
	o.taps(o.offers(in(benDM), "Deny", `"item": "a sail"`), "Deny", ben)
	o.answers(in(benDM), "[q3]", "declined")

	o.slash("/legwork", "approvals", general, ann)
	listed := o.sees(in(general), "Allowed without asking", "desk.book", "always in this chat (by ann")
	_, after, _ := strings.Cut(o.Shown(listed), "- `")
	code, _, _ := strings.Cut(after, "`")
	o.slash("/legwork", "approvals revoke "+code, general, ann)
	o.meets(in(general), "that it was taken back", func(m slackfake.Message) bool {
		return strings.Contains(o.Shown(m), o.text("approvals.revoked", map[string]any{"Tool": "`desk.book`"}))
	})
	thread = o.asks(general, gus, `q4: shop book {"item":"a mast"}`)
	o.taps(o.offers(thread, "Deny", `"item": "a mast"`), "Deny", gus)
	o.answers(thread, "[q4]", "declined")
	o.bought("a boat", "an oar")
}
