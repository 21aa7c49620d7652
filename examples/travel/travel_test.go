package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
)

// noon is what time it is in these tests: in Beijing it is 20:00.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// session is a client in front of a server.
type session struct {
	t *testing.T
	*client.Client
}

// open connects to a server of its own on a database at a time.
func open(t *testing.T, db string, now time.Time) session {
	t.Helper()
	s, err := newAgency(db, func() time.Time { return now }).server("all")
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewInProcessClient(s)
	if err != nil {
		t.Fatal(err)
	}
	return greet(t, c)
}

// greet makes a client ready for calls.
func greet(t *testing.T, c *client.Client) session {
	t.Helper()
	t.Cleanup(func() { _ = c.Close() })
	if err := c.Start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "test", Version: "1"},
	}}); err != nil {
		t.Fatal(err)
	}
	return session{t, c}
}

type arguments = map[string]any

// call returns the text of a result, and whether it is an error.
func (d session) call(tool string, args arguments) (text string, failed bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), watch.Patience)
	defer cancel()
	r, err := d.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
	if err != nil {
		d.t.Fatalf("calling %s with %v: %v", tool, args, err)
	}
	content, ok := r.Content[0].(mcp.TextContent)
	if !ok || len(r.Content) != 1 {
		d.t.Fatalf("%s with %v: got the content %v, want one text", tool, args, r.Content)
	}
	if structured, err := json.Marshal(r.StructuredContent); !r.IsError && (err != nil || !same(structured, []byte(content.Text))) {
		d.t.Errorf("%s with %v: the structured content %s is not the text %s", tool, args, structured, content.Text)
	}
	return content.Text, r.IsError
}

func same(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// get is what a call that must work returns.
func get[T any](d session, tool string, args arguments) (out T) {
	d.t.Helper()
	text, failed := d.call(tool, args)
	if failed {
		d.t.Fatalf("%s with %v: got the error %q", tool, args, text)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		d.t.Fatalf("%s with %v: got %q: %v", tool, args, text, err)
	}
	return out
}

// refused checks that a call changes nothing and that its error has all words.
func (d session) refused(db, tool string, args arguments, words ...string) {
	d.t.Helper()
	before, _ := os.ReadFile(db)
	text, failed := d.call(tool, args)
	if !failed {
		d.t.Errorf("%s with %v: got %s, want an error with %q", tool, args, text, words)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			d.t.Errorf("%s with %v: got the error %q, want one with %q", tool, args, text, word)
		}
	}
	if after, _ := os.ReadFile(db); string(after) != string(before) {
		d.t.Errorf("%s with %v: an error has changed the database from\n%s\nto\n%s", tool, args, before, after)
	}
}

func newDB(t *testing.T) string { return filepath.Join(t.TempDir(), "travel.json") }

// offers are a flight and a hotel for the next day.
func (d session) offers() (Flight, Hotel) {
	d.t.Helper()
	f := get[Flights](d, "search_flights", arguments{"from": "Beijing", "to": "Shanghai", "date": "2026-11-21", "currency": "CNY"})
	h := get[Hotels](d, "search_hotels", arguments{"city": "上海", "check_in": "2026-11-21", "check_out": "2026-11-23", "guests": 1, "currency": "CNY"})
	if len(f.Flights) < 3 || len(h.Hotels) != 4 {
		d.t.Fatalf("got %d flights and %d hotels, want at least 3 and 4", len(f.Flights), len(h.Hotels))
	}
	return f.Flights[0], h.Hotels[0]
}

// TestTrip: a trip is searched, booked, paid, entered, announced and cancelled,
// and a new server on the same file knows it all.
func TestTrip(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	d := open(t, db, noon)
	flight, hotel := d.offers()
	if flight.Departs.Format("2006-01-02 -0700") != "2026-11-21 +0800" || !flight.Arrives.After(flight.Departs) || flight.Currency != "CNY" {
		t.Errorf("the flight is %+v, want one of that day in local time", flight)
	}
	o := get[Order](d, "book_trip", arguments{"travelers": []string{"Ann Lee"}, "flights": []string{flight.ID}, "hotel": hotel.ID, "currency": "CNY"})
	if !regexp.MustCompile(orderPattern).MatchString(o.Number) || o.Status != booked || o.Total != flight.Price+2*hotel.Price {
		t.Errorf("the order is %+v, want booked for the price of %+v and two nights of %+v", o, flight, hotel)
	}
	p := get[Payment](d, "process_payment", arguments{"order": strings.ToLower(o.Number), "amount": o.Total, "currency": "CNY"})
	event := arguments{"title": "Flight " + flight.Number, "starts": flight.Departs, "ends": flight.Arrives, "notes": o.Number}
	if added := get[Added](d, "add_calendar_event", event); !added.Added || len(added.Overlaps) > 0 {
		t.Errorf("the first entry: got %+v, want that it was added", added)
	}
	get[Notification](d, "send_notification", arguments{"to": "Ann Lee", "message": "Booked: " + o.Number})

	d = open(t, db, noon.Add(time.Hour))
	if again := get[Order](d, "get_trip_details", arguments{"order": o.Number}); again.Status != paid || again.Payment == nil || again.Payment.Number != p.Number {
		t.Errorf("after a restart the order is %+v, want that it is paid by %s", again, p.Number)
	}
	if added := get[Added](d, "add_calendar_event", event); added.Added {
		t.Errorf("the second entry: got %+v, want that it was there", added)
	}
	if added := get[Added](d, "add_calendar_event", arguments{"title": "Breakfast", "starts": flight.Departs, "ends": flight.Departs.Add(time.Minute)}); len(added.Overlaps) != 1 {
		t.Errorf("an entry at the same time: got %+v, want one that overlaps", added)
	}
	if found := get[Events](d, "get_calendar_events", arguments{"from": "2026-11-21", "to": "2026-11-21"}); len(found.Events) != 2 {
		t.Errorf("the calendar of the day has %+v, want two events", found)
	}
	if found := get[Events](d, "get_calendar_events", arguments{"from": "2026-11-22", "to": "2027-01-01"}); len(found.Events) != 0 {
		t.Errorf("the calendar of later days has %+v, want none", found)
	}
	if c := get[Order](d, "cancel_trip", arguments{"order": o.Number, "reason": "ill"}); c.Status != cancelled || c.Cancelled.Refund != o.Total || c.Cancelled.Reason != "ill" {
		t.Errorf("cancelling: got %+v, want a refund of %d", c, o.Total)
	}
	if l, err := (file{db}).read(); err != nil || len(l.Orders) != 1 || len(l.Events) != 2 || len(l.Notifications) != 1 {
		t.Errorf("the file has %+v (%v), want an order, two events and a notification", l, err)
	}
}

// TestRefusals: what cannot be done says what to do, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	d := open(t, db, noon)
	flight, hotel := d.offers()
	book := func(name string) Order {
		return get[Order](d, "book_trip", arguments{"travelers": []string{name}, "flights": []string{flight.ID}})
	}
	pending, settled, gone := book("Ann Lee"), book("Bob Ray"), book("Eve Fox")
	get[Payment](d, "process_payment", arguments{"order": settled.Number, "amount": settled.Total, "currency": "USD"})
	get[Order](d, "cancel_trip", arguments{"order": gone.Number})
	search := func(from, to, date string) arguments { return arguments{"from": from, "to": to, "date": date} }
	pay := func(order string, amount any, currency string) arguments {
		return arguments{"order": order, "amount": amount, "currency": currency}
	}
	total := pending.Total
	for name, c := range map[string]struct {
		tool string
		args arguments
		want []string
	}{
		"a misspelt city":          {"search_flights", search("Bejing", "Shanghai", "2026-11-21"), []string{`"Bejing"`, "did you mean Beijing?"}},
		"an unknown city":          {"search_flights", search("Beijing", "Atlantis", "2026-11-21"), []string{`"Atlantis"`, "known are Amsterdam, "}},
		"the same city":            {"search_flights", search("PEK", "北京", "2026-11-21"), []string{"both in Beijing"}},
		"yesterday":                {"search_flights", search("Beijing", "Shanghai", "2026-11-19"), []string{"in the past", "it is 2026-11-20 today"}},
		"today where it is over":   {"search_flights", search("Sydney", "Tokyo", "2026-11-19"), []string{"in the past"}},
		"another form of date":     {"search_flights", search("Beijing", "Shanghai", "21.11.2026"), []string{"YYYY-MM-DD"}},
		"a date that is none":      {"search_flights", search("Beijing", "Shanghai", "2027-02-29"), []string{"a date that exists"}},
		"too far ahead":            {"search_flights", search("Beijing", "Shanghai", "2028-01-01"), []string{"360 days"}},
		"no date":                  {"search_flights", arguments{"from": "Beijing", "to": "Shanghai"}, []string{"date"}},
		"an unknown currency":      {"search_flights", arguments{"from": "Beijing", "to": "Shanghai", "date": "2026-11-21", "currency": "GBP"}, []string{"currency", "CNY"}},
		"an unknown argument":      {"search_flights", arguments{"from": "Beijing", "to": "Shanghai", "date": "2026-11-21", "class": "first"}, []string{"class"}},
		"no passengers":            {"search_flights", arguments{"from": "Beijing", "to": "Shanghai", "date": "2026-11-21", "passengers": 0}, []string{"passengers"}},
		"leaving before arriving":  {"search_hotels", arguments{"city": "Rome", "check_in": "2026-11-23", "check_out": "2026-11-22"}, []string{"1 to 30 nights"}},
		"nothing to book":          {"book_trip", arguments{"travelers": []string{"Ann Lee"}}, []string{"nothing to book", "ids"}},
		"no travellers":            {"book_trip", arguments{"travelers": []string{}, "flights": []string{flight.ID}}, []string{"travelers"}},
		"an unknown offer":         {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "flights": []string{"PP1-PEK-PVG-2026-11-21"}}, []string{"search_flights"}},
		"a flight that has left":   {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "flights": []string{strings.ReplaceAll(flight.ID, "11-21", "11-20")}}, []string{"departed at 2026-11-20"}},
		"a flight of last year":    {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "flights": []string{strings.ReplaceAll(flight.ID, "2026", "2025")}}, []string{"in the past"}},
		"a flight of a far future": {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "flights": []string{strings.ReplaceAll(flight.ID, "2026", "2029")}}, []string{"360 days"}},
		"an unknown hotel":         {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "hotel": strings.ReplaceAll(hotel.ID, "11-23", "12-23")}, []string{"search_hotels"}},
		"a hotel of last year":     {"book_trip", arguments{"travelers": []string{"Cy Oak"}, "hotel": strings.ReplaceAll(hotel.ID, "2026", "2025")}, []string{"in the past"}},
		"the same trip again":      {"book_trip", arguments{"travelers": []string{"ann lee"}, "flights": []string{flight.ID}}, []string{pending.Number, "already", "get_trip_details"}},
		"a number of another kind": {"get_trip_details", arguments{"order": "42"}, []string{"order"}},
		"an unknown order":         {"get_trip_details", arguments{"order": "TRV-222222"}, []string{"no order TRV-222222"}},
		"too little money":         {"process_payment", pay(pending.Number, total-1, "USD"), []string{"costs", "nothing was paid"}},
		"another currency":         {"process_payment", pay(pending.Number, total, "CNY"), []string{"USD, not", "CNY"}},
		"paying twice":             {"process_payment", pay(settled.Number, settled.Total, "USD"), []string{"paid already", "PAY-", "nothing was paid again"}},
		"paying what is cancelled": {"process_payment", pay(gone.Number, gone.Total, "USD"), []string{"is cancelled"}},
		"cancelling twice":         {"cancel_trip", arguments{"order": gone.Number}, []string{"cancelled already"}},
		"an end before its start":  {"add_calendar_event", arguments{"title": "x", "starts": "2026-11-21T08:00:00+08:00", "ends": "2026-11-21T07:00:00+08:00"}, []string{"not later than starts"}},
		"a time without an offset": {"add_calendar_event", arguments{"title": "x", "starts": "2026-11-21T08:00:00", "ends": "2026-11-21T09:00:00"}, []string{"offset"}},
		"days the wrong way round": {"get_calendar_events", arguments{"from": "2026-11-22", "to": "2026-11-21"}, []string{"swap"}},
		"mail to no address":       {"send_notification", arguments{"to": "Ann", "message": "hi", "channel": "email"}, []string{"no e-mail address", "push"}},
		"a short message to none":  {"send_notification", arguments{"to": "Ann", "message": "hi", "channel": "sms"}, []string{"no phone number", "push"}},
	} {
		t.Run(name, func(t *testing.T) { session{t, d.Client}.refused(db, c.tool, c.args, c.want...) })
	}
	later := open(t, db, flight.Departs)
	later.refused(db, "cancel_trip", arguments{"order": settled.Number}, "can no longer be cancelled")
}
