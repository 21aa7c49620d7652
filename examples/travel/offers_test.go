package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestOffers: on any day there are flights between any two cities and hotels in
// each, the same for everybody, and what was offered can be found again.
func TestOffers(t *testing.T) {
	t.Parallel()
	for _, date := range []string{"2026-11-21", "2027-03-28"} { // the latter with a change of clocks
		day, err := time.Parse(time.DateOnly, date)
		if err != nil {
			t.Fatal(err)
		}
		for _, from := range cities {
			for _, h := range hotels(from, day, day.AddDate(0, 0, 2), "EUR") {
				if again, err := hotel(h.ID, "EUR"); err != nil || !cmp.Equal(h, again) || h.Price < 20 || h.Rooms < 1 || h.Nights != 2 {
					t.Errorf("hotel %+v is found again as %+v (%v)", h, again, err)
				}
			}
			for _, to := range cities {
				if from.name == to.name {
					continue
				}
				all := flights(from, to, day, "EUR")
				if len(all) < 3 {
					t.Errorf("from %s to %s on %s: got %d flights, want 3 or more", from.name, to.name, date, len(all))
				}
				for i, f := range all {
					if again, err := flight(f.ID, "EUR"); err != nil || !cmp.Equal(f, again) {
						t.Errorf("flight %+v is found again as %+v (%v)", f, again, err)
					}
					if f.Departs.Format(time.DateOnly) != date || i > 0 && !f.Departs.After(all[i-1].Departs) || f.Price < 30 || f.Seats < 2 {
						t.Errorf("from %s to %s on %s: got %+v after %v", from.name, to.name, date, f, all[:i])
					}
				}
			}
		}
	}
}

// TestSeats: seats and rooms run out, and come back with a cancellation.
func TestSeats(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	d := open(t, db, noon)
	f, h := d.offers()
	book := func(i int) arguments {
		return arguments{"travelers": []string{fmt.Sprint("Traveler ", i)}, "flights": []string{f.ID}}
	}
	var last Order
	for i := range f.Seats {
		last = get[Order](d, "book_trip", book(i))
	}
	d.refused(db, "book_trip", book(99), "has 0 seats left, not 1")
	left := get[Flights](d, "search_flights", arguments{"from": f.From, "to": f.To, "date": "2026-11-21"})
	for _, other := range left.Flights {
		if other.ID == f.ID || other.From != f.From || other.To != f.To {
			t.Errorf("the search by airports %s and %s still offers %+v", f.From, f.To, other)
		}
	}
	get[Order](d, "cancel_trip", arguments{"order": last.Number})
	get[Order](d, "book_trip", book(99))

	for i := range h.Rooms {
		get[Order](d, "book_trip", arguments{"travelers": []string{fmt.Sprint("Guest ", i), fmt.Sprint("Friend ", i)}, "hotel": h.ID})
	}
	d.refused(db, "book_trip", arguments{"travelers": []string{"Late Guest"}, "hotel": h.ID}, h.Name, "0 rooms left")
	for _, other := range get[Hotels](d, "search_hotels", arguments{"city": "Shanghai", "check_in": "2026-11-22", "check_out": "2026-11-24"}).Hotels {
		if other.Name == h.Name {
			t.Errorf("a stay that overlaps is still offered: %+v", other)
		}
	}
}

func FuzzOfferIDs(f *testing.F) {
	day := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	f.Add(flights(cities[0], cities[1], day, "USD")[0].ID)
	f.Add(hotels(cities[0], day, day.AddDate(0, 0, 3), "USD")[0].ID)
	f.Add("H1-AMS-2026-11-21-2026-11-21")
	f.Add("--")
	f.Fuzz(func(t *testing.T, id string) {
		if found, err := flight(id, "USD"); err == nil && found.Price <= 0 {
			t.Errorf("the flight %q is free: %+v", id, found)
		}
		if found, err := hotel(id, "USD"); err == nil && (found.Price <= 0 || found.Nights < 1 || found.Nights > maxNights) {
			t.Errorf("the hotel %q is odd: %+v", id, found)
		}
	})
}
