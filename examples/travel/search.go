package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type flightQuery struct {
	From       string `json:"from"`
	To         string `json:"to"`
	Date       string `json:"date"`
	Passengers int    `json:"passengers"`
	Currency   string `json:"currency"`
}

// Flights is what search_flights found.
type Flights struct {
	From    string   `json:"from"`
	To      string   `json:"to"`
	Date    string   `json:"date"`
	Flights []Flight `json:"flights" jsonschema:"in order of departure; empty when none has enough seats"`
}

type hotelQuery struct {
	City     string `json:"city"`
	CheckIn  string `json:"check_in"`
	CheckOut string `json:"check_out"`
	Guests   int    `json:"guests"`
	Currency string `json:"currency"`
}

// Hotels is what search_hotels found.
type Hotels struct {
	City   string  `json:"city"`
	Hotels []Hotel `json:"hotels" jsonschema:"cheapest first; empty when none has enough rooms"`
}

func (a *agency) searchTools() []server.ServerTool {
	place := "city in English, Chinese or Russian, or the IATA code of an airport, such as Beijing or PEK"
	return []server.ServerTool{
		handle(a.searchFlights, mcp.NewTool("search_flights", reads,
			mcp.WithDescription("Lists the direct flights of one day from one city to another, with number, local times, price for one person and free seats. Changes nothing and reserves nothing."),
			mcp.WithString("from", mcp.Required(), mcp.MinLength(1), mcp.Description("where it departs: "+place)),
			mcp.WithString("to", mcp.Required(), mcp.MinLength(1), mcp.Description("where it arrives: "+place)),
			mcp.WithString("date", mcp.Required(), format("date"), mcp.Description("local day of departure, YYYY-MM-DD, not in the past")),
			mcp.WithInteger("passengers", mcp.Min(1), mcp.Max(maxTravelers), mcp.DefaultNumber(1), mcp.Description("only flights with so many free seats")),
			currency())),
		handle(a.searchHotels, mcp.NewTool("search_hotels", reads,
			mcp.WithDescription("Lists hotels of a city for a stay, with stars, price for one room and night, and free rooms. A room is for up to two guests. Changes nothing and reserves nothing."),
			mcp.WithString("city", mcp.Required(), mcp.MinLength(1), mcp.Description(place)),
			mcp.WithString("check_in", mcp.Required(), format("date"), mcp.Description("first day, YYYY-MM-DD, not in the past")),
			mcp.WithString("check_out", mcp.Required(), format("date"), mcp.Description(fmt.Sprintf("day of leaving, YYYY-MM-DD, 1 to %d nights later", maxNights))),
			mcp.WithInteger("guests", mcp.Min(1), mcp.Max(maxTravelers), mcp.DefaultNumber(1), mcp.Description("only hotels with rooms for so many")),
			currency())),
	}
}

// currency is the argument that says in what prices are told.
func currency() mcp.ToolOption {
	return mcp.WithString("currency", mcp.Enum("USD", "CNY", "EUR", "RUB"), mcp.DefaultString("USD"), mcp.Description("of the prices; the rates are fixed"))
}

func (a *agency) searchFlights(_ context.Context, q flightQuery) (Flights, error) {
	from, fromAirport, err := find(q.From)
	if err != nil {
		return Flights{}, err
	}
	to, toAirport, err := find(q.To)
	if err != nil {
		return Flights{}, err
	}
	if from.name == to.name {
		return Flights{}, fmt.Errorf("from and to are both in %s: name two cities", from.name)
	}
	day, err := a.day("date", q.Date, from.location())
	if err != nil {
		return Flights{}, err
	}
	l, err := a.file.read()
	if err != nil {
		return Flights{}, err
	}
	found := Flights{From: from.name, To: to.name, Date: q.Date, Flights: []Flight{}}
	for _, f := range flights(from, to, day, cmp.Or(q.Currency, "USD")) {
		f.Seats -= l.seatsTaken(f.ID)
		if f.Departs.After(a.now()) && f.Seats >= max(q.Passengers, 1) &&
			f.From == cmp.Or(fromAirport, f.From) && f.To == cmp.Or(toAirport, f.To) {
			found.Flights = append(found.Flights, f)
		}
	}
	return found, nil
}

func (a *agency) searchHotels(_ context.Context, q hotelQuery) (Hotels, error) {
	c, _, err := find(q.City)
	if err != nil {
		return Hotels{}, err
	}
	arrive, err := a.day("check_in", q.CheckIn, c.location())
	if err != nil {
		return Hotels{}, err
	}
	leave, err := a.day("check_out", q.CheckOut, c.location())
	if err != nil {
		return Hotels{}, err
	}
	if err := checkStay(arrive, leave); err != nil {
		return Hotels{}, err
	}
	l, err := a.file.read()
	if err != nil {
		return Hotels{}, err
	}
	found := Hotels{City: c.name, Hotels: hotels(c, arrive, leave, cmp.Or(q.Currency, "USD"))}
	for i := range found.Hotels {
		found.Hotels[i].Rooms -= l.roomsTaken(found.Hotels[i])
	}
	found.Hotels = slices.DeleteFunc(found.Hotels, func(h Hotel) bool { return h.Rooms < rooms(max(q.Guests, 1)) })
	return found, nil
}

// rooms is how many rooms so many guests need.
func rooms(guests int) int { return (guests + 1) / 2 }
