package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// TestTravel: a trip is searched at once, booked and paid after a yes each, and
// then entered and announced without a question.
func TestTravel(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	a.opens()
	chat := a.bob.ID
	a.Say(chat, a.bob, wish)

	card := a.asks(chat, "book_trip", "Ann Lee", "-"+a.day)
	if l := a.ledger(); len(l.Orders) > 0 {
		t.Errorf("it was booked before anybody said yes: %+v", l)
	}
	a.taps(a.bob, chat, card.ID, "Allow once")
	card = a.asks(chat, "process_payment", "TRV-", "USD")
	l := a.ledger()
	if len(l.Orders) != 1 || l.Orders[0].Status != "booked" || len(l.Events)+len(l.Notifications) > 0 {
		t.Fatalf("before the payment: got %+v, want one order that is not paid, and nothing else", l)
	}
	order := l.Orders[0]
	if !holdsAll(card.Text, []string{order.Order, fmt.Sprint(order.Total)}) {
		t.Errorf("the card of the payment reads %q, want order %s and %d", card.Text, order.Order, order.Total)
	}
	first, second := a.Press(chat, card.ID, "Allow once", a.bob), a.Press(chat, card.ID, card.Button("Allow once"), a.bob)
	a.answered(first)
	a.answered(second)
	a.offers(chat, "Details", order.Order, "is booked and paid")
	a.meets(chat, "the card of the payment, decided", func(m telegramfake.Message) bool {
		return m.ID == card.ID && len(m.Buttons) == 0 && holdsAll(m.Text, []string{order.Order, "Allowed once by Bob"})
	})

	l = a.ledger()
	if len(l.Orders) != 1 || l.Orders[0].Status != "paid" || l.Orders[0].Payment == nil || l.Orders[0].Payment.Amount != order.Total {
		t.Errorf("in the end the orders are %+v, want %s, paid", l.Orders, order.Order)
	}
	if len(l.Events) != 1 || l.Events[0].Notes != order.Order || l.Events[0].Starts != order.Flights[0].Departs {
		t.Errorf("the calendar is %+v, want the flight of %+v", l.Events, order)
	}
	if len(l.Notifications) != 1 || !strings.Contains(l.Notifications[0].Message, order.Order) {
		t.Errorf("the notifications are %+v, want one about %s", l.Notifications, order.Order)
	}
	a.cards(chat, 2)
	a.goesOn(a.bob)
}

// TestTravelDenied: a payment that is refused is not made, and the answer says
// why.
func TestTravelDenied(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	a.opens()
	chat := a.bob.ID
	a.Say(chat, a.bob, wish)
	a.taps(a.bob, chat, a.asks(chat, "book_trip").ID, "Allow once")
	card := a.asks(chat, "process_payment")
	a.denies(chat, card, "my boss has to see it first")
	answer := a.offers(chat, "Details", "TRV-", "booked, but not paid", "my boss has to see it first")
	if l := a.ledger(); len(l.Orders) != 1 || l.Orders[0].Payment != nil || len(l.Events)+len(l.Notifications) > 0 || !strings.Contains(answer.Text, l.Orders[0].Order) {
		t.Errorf("the answer is %q, and the database %+v, want one order, not paid, and nothing else", answer.Text, l)
	}
	if p := a.taps(a.bob, chat, card.ID, card.Button("Allow once")); p.Text == "" {
		t.Errorf("a yes after the no: got no sentence, want that it is too late")
	}
	a.passes()
	if l := a.ledger(); l.Orders[0].Payment != nil {
		t.Errorf("a yes after the no has paid: %+v", l)
	}
	a.cards(chat, 2)
	a.goesOn(a.bob)
}

// TestTravelRestarted: a card outlives the process, and its yes is one yes.
func TestTravelRestarted(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	s := a.opens()
	chat := a.bob.ID
	a.Say(chat, a.bob, wish)
	a.taps(a.bob, chat, a.asks(chat, "book_trip").ID, "Allow once")
	card := a.asks(chat, "process_payment")
	s.kill()
	a.Press(chat, card.ID, "Allow once", a.bob)
	a.Press(chat, card.ID, "Deny", a.bob)
	a.opens()
	a.offers(chat, "Details", "TRV-", "is booked and paid")
	if l := a.ledger(); len(l.Orders) != 1 || l.Orders[0].Status != "paid" || len(l.Events) != 1 || len(l.Notifications) != 1 {
		t.Errorf("after a restart in the middle: got %+v, want everything once", l)
	}
	a.goesOn(a.bob)
}

// TestTravelOthers: only the asker and admins decide.
func TestTravelOthers(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	a.opens()
	chat := a.group(a.Supergroup("Holidays", a.ann, a.bob, a.eve))
	a.Say(chat, a.bob, "/task "+wish)
	card := a.asks(chat, "book_trip")
	if p := a.taps(a.eve, chat, card.ID, "Allow once"); p.Text != a.says("error.not_yours", nil) {
		t.Errorf("a stranger's yes: got %q, want that it is not theirs", p.Text)
	}
	if l := a.ledger(); len(l.Orders) > 0 {
		t.Errorf("a stranger's yes has booked: %+v", l)
	}
	a.taps(a.ann, chat, card.ID, "Allow once")
	a.taps(a.bob, chat, a.asks(chat, "process_payment").ID, "Allow once")
	a.offers(chat, "Details", "TRV-", "is booked and paid")
	a.goesOn(a.bob)
}

// TestTravelAlways: an admin can let a tool be called in a chat for good; other
// tools still ask.
func TestTravelAlways(t *testing.T) {
	t.Parallel()
	a := newAgency(t)
	s := a.opens()
	chat := a.ann.ID
	a.Say(chat, a.ann, wish)
	a.taps(a.ann, chat, a.asks(chat, "book_trip").ID, "Always in this chat")
	a.sees(chat, "book_trip", "Always allowed in this chat by Ann")
	a.taps(a.ann, chat, a.asks(chat, "process_payment").ID, "Allow once")
	a.offers(chat, "Details", "TRV-", "is booked and paid")
	a.cards(chat, 2)

	s.kill()
	a.opens()
	a.Say(chat, a.ann, strings.ReplaceAll(wish, "Ann Lee", "Cyd Lee"))
	a.taps(a.ann, chat, a.asks(chat, "process_payment").ID, "Allow once")
	l := a.ledger()
	if len(l.Orders) != 2 || !slices.Equal(l.Orders[1].Travelers, []string{"Cyd Lee"}) {
		t.Fatalf("the orders are %+v, want a second one for Cyd Lee", l.Orders)
	}
	a.offers(chat, "Details", l.Orders[1].Order, "is booked and paid")
	a.cards(chat, 3)
	a.goesOn(a.ann)
}

// asks waits for the card that asks about a tool.
func (a *travelEnv) asks(chat int64, tool string, words ...string) telegramfake.Message {
	a.t.Helper()
	return a.offers(chat, a.says("button.allow_once", nil), append(words, a.says("approval.call", map[string]any{"Tool": tool, "Server": "travel"}))...)
}

// denies says no to a card and why.
func (a *travelEnv) denies(chat int64, card telegramfake.Message, why string) {
	a.t.Helper()
	a.taps(a.bob, chat, card.ID, "Deny with a reason")
	asked := a.sees(chat, a.says("approval.why", nil))
	a.Say(chat, a.bob, why, telegramfake.ReplyTo(asked.ID))
}
