package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Order is a booked trip.
type Order struct {
	Number    string        `json:"order" jsonschema:"such as TRV-7F3K2A"`
	Status    string        `json:"status" jsonschema:"enum=booked,enum=paid,enum=cancelled"`
	Travelers []string      `json:"travelers"`
	Flights   []Flight      `json:"flights,omitempty"`
	Hotel     *Hotel        `json:"hotel,omitempty"`
	Total     int           `json:"total" jsonschema:"for all travelers, flights and nights"`
	Currency  string        `json:"currency"`
	BookedAt  time.Time     `json:"booked_at"`
	Payment   *Payment      `json:"payment,omitempty"`
	Cancelled *Cancellation `json:"cancelled,omitempty"`
}

// Cancellation ends an order.
type Cancellation struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
	Refund int       `json:"refund" jsonschema:"what is paid back, in the order's currency"`
}

// The states of an order.
const (
	booked    = "booked" // and waits for its payment
	paid      = "paid"
	cancelled = "cancelled"
)

type booking struct {
	Travelers []string `json:"travelers"`
	Flights   []string `json:"flights"`
	Hotel     string   `json:"hotel"`
	Currency  string   `json:"currency"`
}

type orderNumber struct {
	Order  string `json:"order"`
	Reason string `json:"reason"`
}

const (
	maxTravelers = 9
	maxFlights   = 6
)

func (a *agency) travelTools() []server.ServerTool {
	return append(a.searchTools(),
		handle(a.bookTrip, mcp.NewTool("book_trip", adds,
			mcp.WithDescription("Books flights, a hotel or both for all travelers as one order and returns its number and total. Holds seats and rooms, takes no money: pay with process_payment. Each call is another booking; when the outcome of a call is unknown, do not call again without asking the person."),
			mcp.WithArray("travelers", mcp.Required(), mcp.MinItems(1), mcp.MaxItems(maxTravelers), mcp.UniqueItems(true),
				mcp.WithStringItems(mcp.MinLength(2), mcp.MaxLength(100)), mcp.Description("full names as in the passport; ask, never make them up")),
			mcp.WithArray("flights", mcp.MaxItems(maxFlights), mcp.UniqueItems(true), mcp.WithStringItems(), mcp.Description("ids from search_flights: one for each flight of the trip")),
			mcp.WithString("hotel", mcp.Description("id from search_hotels, which includes the dates; there is one room for every two travelers")),
			currency())),
		handle(a.tripDetails, mcp.NewTool("get_trip_details", reads,
			mcp.WithDescription("Tells all about an order: state (booked: not paid yet, paid or cancelled), travelers, flights, hotel, total, payment. Changes nothing."),
			order())),
		handle(a.cancelTrip, mcp.NewTool("cancel_trip", destroys,
			mcp.WithDescription("Cancels a whole order for good, frees its seats and rooms, and refunds what was paid. Not possible once the first flight has departed or the stay has begun."),
			order(),
			mcp.WithString("reason", mcp.MaxLength(500), mcp.Description("why, in the person's words"))),
		))
}

// order is the argument that names an order.
func order() mcp.ToolOption {
	return mcp.WithString("order", mcp.Required(), mcp.Pattern(orderPattern), mcp.Description("the order's number, such as TRV-7F3K2A"))
}

func (a *agency) bookTrip(ctx context.Context, b booking) (Order, error) {
	o, err := a.draft(b)
	if err != nil {
		return Order{}, err
	}
	err = a.file.change(ctx, func(l *database) error {
		if err := l.room(o); err != nil {
			return err
		}
		o.Number = newNumber("TRV", func(n string) bool { _, err := l.order(n); return err == nil })
		l.Orders = append(l.Orders, o)
		return nil
	})
	return o, err
}

// draft is the order that a booking would make, without a number.
func (a *agency) draft(b booking) (Order, error) {
	if len(b.Flights) == 0 && b.Hotel == "" {
		return Order{}, errors.New("there is nothing to book: give ids of flights, of a hotel, or both")
	}
	o := Order{Status: booked, Travelers: b.Travelers, Currency: cmp.Or(b.Currency, "USD"), BookedAt: a.now().UTC().Truncate(time.Second)}
	for _, id := range b.Flights {
		f, err := flight(id, o.Currency)
		if err != nil {
			return Order{}, err
		}
		if _, err := a.day("the date of flight "+f.Number, f.Departs.Format(time.DateOnly), f.Departs.Location()); err != nil {
			return Order{}, err
		}
		if !f.Departs.After(a.now()) {
			return Order{}, fmt.Errorf("flight %s departed at %s: search for a later one", f.Number, f.Departs.Format(time.RFC3339))
		}
		o.Flights = append(o.Flights, f)
		o.Total += f.Price * len(b.Travelers)
	}
	if b.Hotel != "" {
		h, err := hotel(b.Hotel, o.Currency)
		if err != nil {
			return Order{}, err
		}
		c, _, _ := find(h.City) // it came from there
		if _, err := a.day("check_in", h.CheckIn, c.location()); err != nil {
			return Order{}, err
		}
		o.Hotel = &h
		o.Total += h.Price * h.Nights * rooms(len(b.Travelers))
	}
	return o, nil
}

func (a *agency) tripDetails(_ context.Context, q orderNumber) (Order, error) {
	l, err := a.file.read()
	if err != nil {
		return Order{}, err
	}
	o, err := l.order(q.Order)
	if err != nil {
		return Order{}, err
	}
	return *o, nil
}

func (a *agency) cancelTrip(ctx context.Context, q orderNumber) (Order, error) {
	var now Order
	err := a.file.change(ctx, func(l *database) error {
		o, err := l.order(q.Order)
		if err != nil {
			return err
		}
		if o.Cancelled != nil {
			return fmt.Errorf("order %s was cancelled already, at %s: nothing is left to do", o.Number, o.Cancelled.At.Format(time.RFC3339))
		}
		if begins := o.begins(); !begins.After(a.now()) {
			return fmt.Errorf("the trip of order %s began at %s: it can no longer be cancelled", o.Number, begins.Format(time.RFC3339))
		}
		o.Status, o.Cancelled = cancelled, &Cancellation{At: a.now().UTC().Truncate(time.Second), Reason: q.Reason}
		if o.Payment != nil {
			o.Cancelled.Refund = o.Total
		}
		now = *o
		return nil
	})
	return now, err
}

// begins is when the trip can no longer be cancelled.
func (o *Order) begins() time.Time {
	var first time.Time
	for _, f := range o.Flights {
		if first.IsZero() || f.Departs.Before(first) {
			first = f.Departs
		}
	}
	if o.Hotel != nil {
		c, _, _ := find(o.Hotel.City)
		afternoon, _ := time.ParseInLocation("2006-01-02 15", o.Hotel.CheckIn+" 15", c.location())
		if first.IsZero() || afternoon.Before(first) {
			first = afternoon
		}
	}
	return first
}

// order finds an order, to be read or changed in its place.
func (l *database) order(number string) (*Order, error) {
	i := slices.IndexFunc(l.Orders, func(o Order) bool { return o.Number == strings.ToUpper(number) })
	if i < 0 {
		return nil, fmt.Errorf("there is no order %s: check the number, which looks like TRV-7F3K2A", strings.ToUpper(number))
	}
	return &l.Orders[i], nil
}

// room checks that an order can be added.
func (l *database) room(o Order) error {
	for _, f := range o.Flights {
		for _, other := range l.Orders {
			if other.Cancelled == nil && other.flies(f.ID) && slices.ContainsFunc(o.Travelers, other.carries) {
				return fmt.Errorf("order %s has booked flight %s for one of these travelers already: nothing was booked; look at it with get_trip_details", other.Number, f.Number)
			}
		}
		if left := f.Seats - l.seatsTaken(f.ID); left < len(o.Travelers) {
			return fmt.Errorf("flight %s has %d seats left, not %d: choose another one", f.Number, left, len(o.Travelers))
		}
	}
	if o.Hotel == nil {
		return nil
	}
	if left := o.Hotel.Rooms - l.roomsTaken(*o.Hotel); left < rooms(len(o.Travelers)) {
		return fmt.Errorf("hotel %s has %d rooms left, not %d: choose another one", o.Hotel.Name, left, rooms(len(o.Travelers)))
	}
	return nil
}

func (o *Order) flies(id string) bool {
	return slices.ContainsFunc(o.Flights, func(f Flight) bool { return f.ID == id })
}

func (o *Order) carries(name string) bool {
	return slices.ContainsFunc(o.Travelers, func(t string) bool { return strings.EqualFold(t, name) })
}

// seatsTaken is how many seats of a flight are booked.
func (l *database) seatsTaken(id string) int {
	taken := 0
	for _, o := range l.Orders {
		if o.Cancelled == nil && o.flies(id) {
			taken += len(o.Travelers)
		}
	}
	return taken
}

// roomsTaken is how many rooms of a hotel are booked for nights of a stay.
func (l *database) roomsTaken(h Hotel) int {
	taken := 0
	for _, o := range l.Orders {
		if o.Cancelled == nil && o.Hotel != nil && o.Hotel.Name == h.Name && o.Hotel.City == h.City &&
			o.Hotel.CheckIn < h.CheckOut && h.CheckIn < o.Hotel.CheckOut {
			taken += rooms(len(o.Travelers))
		}
	}
	return taken
}
