package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"legwork/internal/test/fakes/llmfake"
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

func newAgency(t *testing.T) *travelEnv {
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
