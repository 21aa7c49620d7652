package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// travelEnv is an environment whose legwork has the config and the server of
// examples/travel, and a model that knows how to book trips.
type travelEnv struct {
	*telegramEnv
	day string // tomorrow in Beijing

	mu      sync.Mutex
	arrived map[string]bool // searches that have their result
	both    chan struct{}   // closed when two have
}

// wish is what people ask the agency for.
const wish = "Book me a flight from Beijing to Shanghai tomorrow and a hotel for one night. I am Ann Lee."

func newTravelEnv(t *testing.T) *travelEnv {
	t.Helper()
	beijing, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	a := &travelEnv{
		day:     time.Now().In(beijing).AddDate(0, 0, 1).Format(time.DateOnly),
		arrived: map[string]bool{}, both: make(chan struct{}),
	}
	a.telegramEnv = newTelegramEnv(t, telegramOptions{options: options{
		think: steps{plan: a.plan, review: a.review, work: a.work, answer: a.answer}.think,
		wait:  patience,
	}})
	a.adopt("../../../examples/travel/config.yaml")
	return a
}

// adopt takes everything from the example's config but what connects it to the
// world: its model, and where the server and its database are.
func (a *travelEnv) adopt(example string) {
	a.t.Helper()
	text, err := os.ReadFile(example)
	if err != nil {
		a.t.Fatal(err)
	}
	var config, own map[string]any
	if err := yaml.Unmarshal(text, &config); err != nil {
		a.t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(a.config), &own); err != nil {
		a.t.Fatal(err)
	}
	for _, key := range []string{"models", "telegram", "access", "http", "log"} {
		config[key] = own[key]
	}
	server := config["servers"].(map[string]any)["travel"].(map[string]any)
	server["command"], server["args"] = programs.Path(a.t, "legwork/examples/travel"), []string{"-db", a.file("travel.json")}
	if text, err = yaml.Marshal(config); err != nil {
		a.t.Fatal(err)
	}
	a.configure(string(text))
}

// ledger is the server's database.
type ledger struct {
	Orders []struct {
		Order     string
		Status    string
		Travelers []string
		Total     int
		Currency  string
		Flights   []struct{ ID, Number, Departs, Arrives string }
		Hotel     struct {
			ID       string
			Name     string
			CheckIn  string `json:"check_in"`
			CheckOut string `json:"check_out"`
		}
		Payment *struct {
			Payment string
			Amount  int
		}
	}
	Events        []struct{ Title, Starts, Notes string }
	Notifications []struct{ To, Message string }
}

func (a *travelEnv) ledger() (l ledger) {
	a.t.Helper()
	text, err := os.ReadFile(a.file("travel.json"))
	if os.IsNotExist(err) {
		return l
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return l
}

// What the model finds in a text, be it JSON or what it wrote itself.
var (
	fullName    = regexp.MustCompile(`I am (\w+ \w+)\.`)
	orderNumber = regexp.MustCompile(`TRV-[2-9A-Z]{6}`)
	flightOffer = regexp.MustCompile(`[A-Z]{2}\d+-[A-Z]{3}-[A-Z]{3}-\d{4}-\d\d-\d\d`)
	hotelOffer  = regexp.MustCompile(`H\d-[A-Z]{3}-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d`)
	totalPrice  = regexp.MustCompile(`"total":\s*(\d+)`)
	flightTimes = regexp.MustCompile(`"departs":\s*"([^"]+)",\s*"arrives":\s*"([^"]+)"`)
	paymentDone = regexp.MustCompile(`PAY-[2-9A-Z]{6}`)
)

// plan searches for flights and hotels side by side.
func (a *travelEnv) plan(llmfake.Request) llmfake.Response {
	return llmfake.Call("plan", `{"plan": [
		{"id": "f", "name": "travel", "description": "Search flights from Beijing to Shanghai on `+a.day+`", "after": []},
		{"id": "h", "name": "travel", "description": "Search hotels in Shanghai from `+a.day+`, one night", "after": []}]}`)
}

// review books and pays when there are offers, tells everybody when that is
// done, and ends.
func (a *travelEnv) review(r llmfake.Request) llmfake.Response {
	text := prompt(r)
	switch _, round := llmfake.StepOf(r); {
	case round == 1:
		return llmfake.Call("plan", fmt.Sprintf(`{"plan": [
			{"id": "b", "name": "travel", "description": "Book flight %s and hotel %s as one order. I am %s."},
			{"id": "p", "name": "payment", "description": "Pay the order that was just booked", "after": ["b"]}]}`,
			flightOffer.FindString(text), hotelOffer.FindString(text), a.traveler(r, "goal")))
	case round == 2 && paymentDone.MatchString(text):
		return llmfake.Call("plan", fmt.Sprintf(`{"plan": [
			{"id": "c", "name": "calendar", "description": "Enter the flight of order %[1]s", "after": ["2/b"]},
			{"id": "n", "name": "alert", "description": "Notify %[2]s that order %[1]s is booked and paid", "after": []}]}`,
			newest(orderNumber, text), a.traveler(r, "goal")))
	}
	return a.answer(r)
}

func (a *travelEnv) answer(r llmfake.Request) llmfake.Response {
	text := prompt(r)
	order, state := newest(orderNumber, text), "booked and paid"
	if order == "" {
		return llmfake.Say("I booked nothing. " + refusal(text))
	}
	if !paymentDone.MatchString(text) {
		state = "booked, but not paid. " + refusal(text)
	}
	return llmfake.Say("Your trip " + order + " is " + state)
}

// newest is the last match in a text: a prompt may begin with earlier questions.
func newest(what *regexp.Regexp, text string) string {
	all := append([]string{""}, what.FindAllString(text, -1)...)
	return all[len(all)-1]
}

// traveler is who says in a tag of the prompt who they are.
func (a *travelEnv) traveler(r llmfake.Request, tag string) string {
	text, _ := r.Tagged(tag)
	found := fullName.FindStringSubmatch(text)
	if found == nil {
		a.t.Errorf("the person is missing in the %s %q", tag, text)
		return "Unknown"
	}
	return found[1]
}

// refusal repeats what the sub-tasks said about a refused call.
func refusal(text string) string {
	_, after, _ := strings.Cut(text, "Refused: ")
	line, _, _ := strings.Cut(after, "\n")
	return line
}

// work calls the tool that the sub-task is about, once, and repeats what it
// returned.
func (a *travelEnv) work(r llmfake.Request) llmfake.Response {
	task, _ := r.Tagged("task")
	if said, ok := toolResult(r); ok {
		return a.report(task, said)
	}
	before := strings.Join(r.AllTagged("result"), "\n")
	for _, m := range r.Messages {
		before += "\n" + m.Content
	}
	call := func(tool string, arguments map[string]any) llmfake.Response {
		return llmfake.Call(exposed(r, tool), string(asJSON(a.t, arguments)))
	}
	order := newest(orderNumber, before)
	switch {
	case strings.HasPrefix(task, "Search flights"):
		return call("search_flights", map[string]any{"from": "Beijing", "to": "Shanghai", "date": a.day})
	case strings.HasPrefix(task, "Search hotels"):
		return call("search_hotels", map[string]any{"city": "Shanghai", "check_in": a.day, "check_out": a.after(a.day)})
	case strings.HasPrefix(task, "Book"):
		return call("book_trip", map[string]any{
			"travelers": []string{a.traveler(r, "task")}, "flights": []string{flightOffer.FindString(task)}, "hotel": hotelOffer.FindString(task),
		})
	case order == "":
		return llmfake.Say("There is no order.")
	case strings.HasPrefix(task, "Pay"):
		return call("process_payment", map[string]any{"order": order, "amount": json.Number(totalPrice.FindStringSubmatch(before)[1]), "currency": "USD"})
	case strings.HasPrefix(task, "Enter"):
		times := flightTimes.FindStringSubmatch(before)
		return call("add_calendar_event", map[string]any{"title": "Flight to Shanghai", "starts": times[1], "ends": times[2], "notes": order})
	}
	return call("send_notification", map[string]any{"to": "Ann Lee", "message": "Booked and paid: " + order})
}

// report repeats a result. A search waits until the other one has a result as
// well, which only comes when both run at once.
func (a *travelEnv) report(task, said string) llmfake.Response {
	if strings.HasPrefix(task, "Search") {
		a.meet(task)
	}
	if i := strings.Index(said, "{"); i >= 0 {
		return llmfake.Say(said[i : strings.LastIndex(said, "}")+1])
	}
	return llmfake.Say("Refused: " + strings.ReplaceAll(said, "\n", " "))
}

func (a *travelEnv) meet(task string) {
	a.mu.Lock()
	if !a.arrived[task] {
		if a.arrived[task] = true; len(a.arrived) == 2 {
			close(a.both)
		}
	}
	a.mu.Unlock()
	select {
	case <-a.both:
	case <-time.After(patience / 2):
		a.t.Errorf("%q had its result, and the other search did not run beside it", task)
	}
}

// after is the day after a day.
func (a *travelEnv) after(day string) string {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		panic(err) // it was written by this file
	}
	return t.AddDate(0, 0, 1).Format(time.DateOnly)
}

// TestTravel: a trip is searched at once, booked and paid after a yes each, and
// then entered and announced without a question.
func TestTravel(t *testing.T) {
	t.Parallel()
	a := newTravelEnv(t)
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
	a := newTravelEnv(t)
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
	a := newTravelEnv(t)
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
	a := newTravelEnv(t)
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
	a := newTravelEnv(t)
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
