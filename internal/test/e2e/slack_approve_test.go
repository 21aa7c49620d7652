package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/slackfake"
)

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
