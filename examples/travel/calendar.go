package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Event is an entry of the calendar.
type Event struct {
	Number   string    `json:"event" jsonschema:"such as EVT-9KD3TX"`
	Title    string    `json:"title"`
	Starts   time.Time `json:"starts"`
	Ends     time.Time `json:"ends"`
	Location string    `json:"location,omitempty"`
	Notes    string    `json:"notes,omitempty"`
}

type newEvent struct {
	Title    string `json:"title"`
	Starts   string `json:"starts"`
	Ends     string `json:"ends"`
	Location string `json:"location"`
	Notes    string `json:"notes"`
}

// Added is what add_calendar_event did.
type Added struct {
	Event    Event   `json:"event"`
	Added    bool    `json:"added" jsonschema:"false: it had been there already"`
	Overlaps []Event `json:"overlaps" jsonschema:"other events at the same time"`
}

type days struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Events is what get_calendar_events found.
type Events struct {
	Events []Event `json:"events" jsonschema:"in order of their beginnings"`
}

func (a *agency) calendarTools() []server.ServerTool {
	return []server.ServerTool{
		handle(a.addEvent, mcp.NewTool("add_calendar_event", addsOnce,
			mcp.WithDescription("Enters an event into the calendar, of which there is one for everybody. An event of the same title and times is not entered twice. Tells which other events it overlaps."),
			mcp.WithString("title", mcp.Required(), mcp.MinLength(1), mcp.MaxLength(200)),
			mcp.WithString("starts", mcp.Required(), format("date-time"), mcp.Description("RFC 3339 with the offset of the place, such as 2026-11-21T08:10:00+08:00")),
			mcp.WithString("ends", mcp.Required(), format("date-time"), mcp.Description("likewise, later than starts; another offset is fine")),
			mcp.WithString("location", mcp.MaxLength(200)),
			mcp.WithString("notes", mcp.MaxLength(2000), mcp.Description("such as the order's number")))),
		handle(a.events, mcp.NewTool("get_calendar_events", reads,
			mcp.WithDescription("Lists the events of some days, by the local dates at the places of the events. Changes nothing."),
			mcp.WithString("from", mcp.Required(), format("date"), mcp.Description("first day, YYYY-MM-DD")),
			mcp.WithString("to", mcp.Required(), format("date"), mcp.Description("last day, YYYY-MM-DD, included")))),
	}
}

func (a *agency) addEvent(ctx context.Context, n newEvent) (Added, error) {
	starts, err := moment("starts", n.Starts)
	if err != nil {
		return Added{}, err
	}
	ends, err := moment("ends", n.Ends)
	if err != nil {
		return Added{}, err
	}
	if !ends.After(starts) {
		return Added{}, fmt.Errorf("ends is %s, which is not later than starts, %s; mind the offsets", n.Ends, n.Starts)
	}
	done := Added{Event: Event{Title: n.Title, Starts: starts, Ends: ends, Location: n.Location, Notes: n.Notes}, Overlaps: []Event{}}
	err = a.file.change(ctx, func(l *database) error {
		done.Added = true
		for _, e := range l.Events {
			switch {
			case e.Title == n.Title && e.Starts.Equal(starts) && e.Ends.Equal(ends):
				done.Event, done.Added = e, false
			case e.Starts.Before(ends) && starts.Before(e.Ends):
				done.Overlaps = append(done.Overlaps, e)
			}
		}
		if done.Added {
			done.Event.Number = newNumber("EVT", func(n string) bool {
				return slices.ContainsFunc(l.Events, func(e Event) bool { return e.Number == n })
			})
			l.Events = append(l.Events, done.Event)
		}
		return nil
	})
	return done, err
}

func moment(field, text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, fmt.Errorf("%s is %q: write it as 2026-11-21T08:10:00+08:00, with the offset of the place", field, text)
	}
	return t, nil
}

func (a *agency) events(_ context.Context, d days) (Events, error) {
	for field, text := range map[string]string{"from": d.From, "to": d.To} {
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return Events{}, fmt.Errorf("%s is %q: write a date that exists, as YYYY-MM-DD", field, text)
		}
	}
	if d.To < d.From {
		return Events{}, fmt.Errorf("to is %s, which is before from, %s: swap them", d.To, d.From)
	}
	l, err := a.file.read()
	if err != nil {
		return Events{}, err
	}
	found := Events{Events: []Event{}}
	for _, e := range l.Events {
		if e.Starts.Format(time.DateOnly) <= d.To && e.Ends.Format(time.DateOnly) >= d.From {
			found.Events = append(found.Events, e)
		}
	}
	slices.SortStableFunc(found.Events, func(a, b Event) int { return a.Starts.Compare(b.Starts) })
	return found, nil
}
