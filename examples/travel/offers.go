package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	onSale    = 360 // days in advance for which there are offers
	maxNights = 30  // of one stay
)

// Flight is an offer for one seat, and later what was booked.
type Flight struct {
	ID       string    `json:"id" jsonschema:"what book_trip wants"`
	Number   string    `json:"number"`
	Airline  string    `json:"airline"`
	From     string    `json:"from" jsonschema:"IATA code of the airport"`
	To       string    `json:"to" jsonschema:"IATA code of the airport"`
	Departs  time.Time `json:"departs" jsonschema:"local time at the airport, RFC 3339"`
	Arrives  time.Time `json:"arrives" jsonschema:"local time at the airport, RFC 3339"`
	Minutes  int       `json:"minutes" jsonschema:"how long it flies"`
	Price    int       `json:"price" jsonschema:"for one person"`
	Currency string    `json:"currency"`
	Seats    int       `json:"seats" jsonschema:"how many are left"`
}

// Hotel is an offer for one room, and later what was booked.
type Hotel struct {
	ID       string `json:"id" jsonschema:"what book_trip wants"`
	Name     string `json:"name"`
	City     string `json:"city"`
	Stars    int    `json:"stars"`
	CheckIn  string `json:"check_in"`
	CheckOut string `json:"check_out"`
	Nights   int    `json:"nights"`
	Price    int    `json:"price_per_night" jsonschema:"for one room of up to two people"`
	Currency string `json:"currency"`
	Rooms    int    `json:"rooms" jsonschema:"how many are left"`
}

var (
	airlines   = []struct{ code, name string }{{"PP", "Paper Plane"}, {"NW", "North Wing"}, {"KA", "Kite Air"}, {"SL", "Skylark"}}
	hotelNames = []string{"Paper Lantern", "Harbour House", "Old Post Office", "Garden Court", "Station Rooms", "Grand Atlas", "Blue Heron", "Seven Bridges"}
)

// rates are how much of a currency one US dollar is taken for. They are fixed,
// so that an offer costs the same tomorrow.
var rates = map[string]float64{"USD": 1, "CNY": 7.1, "EUR": 0.9, "RUB": 80}

func in(currency string, dollars float64) int { return int(math.Ceil(dollars * rates[currency])) }

// draw is a number below n that depends on nothing but the parts.
func draw(n int, parts ...any) int {
	sum := sha256.Sum256(fmt.Appendln(nil, parts...))
	return int(binary.BigEndian.Uint64(sum[:]) % uint64(n))
}

// flights are those of one day, which are the same every day but for price and
// seats, in order of departure.
func flights(from, to city, day time.Time, currency string) []Flight {
	distance := kilometres(from, to)
	minutes := 30 + int(distance/14)/5*5
	var all []Flight
	for i := range 3 + draw(4, from.name, to.name) {
		airline := airlines[draw(len(airlines), "airline", from.name, to.name, i)]
		f := Flight{
			Number:  fmt.Sprint(airline.code, 100*(i+1)+draw(100, "number", from.name, to.name, i)),
			Airline: airline.name,
			From:    from.airports[draw(len(from.airports), "from", from.name, to.name, i)],
			To:      to.airports[draw(len(to.airports), "to", from.name, to.name, i)],
			Minutes: minutes,
			Seats:   2 + draw(8, "seats", from.name, to.name, i, day.Format(time.DateOnly)),
		}
		f.Departs = time.Date(day.Year(), day.Month(), day.Day(), 6+3*i, 5*draw(30, "at", from.name, to.name, i), 0, 0, from.location())
		f.Arrives = f.Departs.Add(time.Duration(minutes) * time.Minute).In(to.location())
		dollars := (40 + distance*0.07) * (0.8 + float64(draw(80, "price", from.name, to.name, i, day.Format(time.DateOnly)))/100)
		f.Price, f.Currency = in(currency, dollars), currency
		f.ID = strings.Join([]string{f.Number, f.From, f.To, day.Format(time.DateOnly)}, "-")
		all = append(all, f)
	}
	return all
}

// flight finds the offer with an id that search_flights has told.
func flight(id, currency string) (Flight, error) {
	unknown := fmt.Errorf("there is no flight offer %q: call search_flights and use an id from its result", id)
	id = strings.ToUpper(id)
	parts := strings.SplitN(id, "-", 4)
	if len(parts) < 4 {
		return Flight{}, unknown
	}
	from, _, wrong := find(parts[1])
	to, _, wrong2 := find(parts[2])
	day, wrong3 := time.Parse(time.DateOnly, parts[3])
	if errors.Join(wrong, wrong2, wrong3) != nil || from.name == to.name {
		return Flight{}, unknown
	}
	all := flights(from, to, day, currency)
	i := slices.IndexFunc(all, func(f Flight) bool { return f.ID == id })
	if i < 0 {
		return Flight{}, unknown
	}
	return all[i], nil
}

// hotels are those of a city for a stay, cheapest first.
func hotels(c city, arrive, leave time.Time, currency string) []Hotel {
	var all []Hotel
	checkIn, checkOut := arrive.Format(time.DateOnly), leave.Format(time.DateOnly)
	first := draw(len(hotelNames), "first", c.name)
	for i := range 4 {
		stars := 2 + draw(4, "stars", c.name, i)
		dollars := float64(25+9*stars*stars) * (0.8 + float64(draw(60, "night", c.name, i, checkIn))/100)
		all = append(all, Hotel{
			ID:      strings.Join([]string{fmt.Sprint("H", i+1), c.airports[0], checkIn, checkOut}, "-"),
			Name:    hotelNames[(first+i)%len(hotelNames)],
			City:    c.name,
			Stars:   stars,
			CheckIn: checkIn, CheckOut: checkOut,
			Nights: int(leave.Sub(arrive).Hours()) / 24,
			Price:  in(currency, dollars), Currency: currency,
			Rooms: 2 + draw(5, "rooms", c.name, i),
		})
	}
	slices.SortFunc(all, func(a, b Hotel) int { return a.Price - b.Price })
	return all
}

// checkStay refuses a stay that no hotel takes.
func checkStay(arrive, leave time.Time) error {
	if nights := int(leave.Sub(arrive).Hours()) / 24; nights < 1 || nights > maxNights {
		return fmt.Errorf("check_out is %s: it must be 1 to %d nights after check_in, %s", leave.Format(time.DateOnly), maxNights, arrive.Format(time.DateOnly))
	}
	return nil
}

// hotel finds the offer with an id that search_hotels has told.
func hotel(id, currency string) (Hotel, error) {
	unknown := fmt.Errorf("there is no hotel offer %q: call search_hotels and use an id from its result", id)
	id = strings.ToUpper(id)
	parts := strings.SplitN(id, "-", 3)
	if len(parts) < 3 || len(parts[2]) != len("2026-11-21-2026-11-23") {
		return Hotel{}, unknown
	}
	c, _, wrong := find(parts[1])
	arrive, wrong2 := time.Parse(time.DateOnly, parts[2][:10])
	leave, wrong3 := time.Parse(time.DateOnly, parts[2][11:])
	if errors.Join(wrong, wrong2, wrong3) != nil || checkStay(arrive, leave) != nil {
		return Hotel{}, unknown
	}
	all := hotels(c, arrive, leave, currency)
	i := slices.IndexFunc(all, func(h Hotel) bool { return h.ID == id })
	if i < 0 {
		return Hotel{}, unknown
	}
	return all[i], nil
}
