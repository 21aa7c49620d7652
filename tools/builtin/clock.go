package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What a place and a date can be; errors tell more. Each turn of a sub-task
// carries these texts, so they are short.
const (
	placeHelp = "City, country, IANA zone or UTC offset."
	dateHelp  = "Such as 2026-11-20, 2026-11-20 15:30, 15:30, tomorrow, now."
)

// clock answers questions about times and dates.
type clock struct {
	now    func() time.Time
	places places
}

func newClock(now func() time.Time) *server.MCPServer {
	c := &clock{now: now}
	s := newServer("clock", "Tells the time in a place or time zone and does date arithmetic.")
	place := func(name, what string, o ...mcp.PropertyOption) mcp.ToolOption {
		return mcp.WithString(name, append(o, mcp.Description(what+placeHelp))...)
	}
	date := func(name, what string, o ...mcp.PropertyOption) mcp.ToolOption {
		return mcp.WithString(name, append(o, mcp.Description(what+dateHelp))...)
	}
	strict := mcp.WithSchemaAdditionalProperties(false)
	add(s, mcp.NewTool("time_in", mcp.WithTitleAnnotation("Time in a place"),
		mcp.WithDescription("Tells the date, time and time zone of a place now."),
		place("place", "", mcp.Required()), strict), c.timeIn)
	add(s, mcp.NewTool("convert_time", mcp.WithTitleAnnotation("Convert a time"),
		mcp.WithDescription("Tells what a time in one place is in another place."),
		date("time", "", mcp.Required()), place("from", "", mcp.Required()),
		place("to", "", mcp.Required()), strict), c.convertTime)
	amount := func(name string) mcp.ToolOption {
		return mcp.WithInteger(name, mcp.Min(-1e6), mcp.Max(1e6))
	}
	add(s, mcp.NewTool("date_add", mcp.WithTitleAnnotation("Add to a date"),
		mcp.WithDescription("Adds an amount of time to a date, or takes away a negative one, and tells the weekday."),
		date("date", "Default: today. "),
		amount("years"), amount("months"), amount("weeks"), amount("days"), amount("workdays"), amount("hours"), amount("minutes"),
		place("place", "Default: UTC. "), strict), c.dateAdd)
	add(s, mcp.NewTool("date_diff", mcp.WithTitleAnnotation("Between two dates"),
		mcp.WithDescription("Tells the time between two dates: in days, weeks, working days, and years, months and days."),
		date("from", "Default: now. "), date("to", "", mcp.Required()),
		place("place", "Default: UTC. "), strict), c.dateDiff)
	add(s, mcp.NewTool("calendar", mcp.WithTitleAnnotation("Facts about a date"),
		mcp.WithDescription("Tells the weekday, ISO week, quarter and day of the year of a date, whether it is a leap year, and how far away it is."),
		date("date", "Default: today. "),
		place("place", "Default: UTC. "), strict), c.calendar)
	return s
}

// in is the zone of an optional place; the first when there are several.
func (c *clock) in(place string) (*time.Location, error) {
	if strings.TrimSpace(place) == "" {
		return time.UTC, nil
	}
	found, err := c.places.find(place, c.now())
	if err != nil {
		return nil, err
	}
	if len(found) > 1 {
		return nil, fmt.Errorf("%s has several time zones; name a city", place)
	}
	return found[0].loc, nil
}

func (c *clock) timeIn(_ context.Context, r mcp.CallToolRequest) (string, error) {
	place := r.GetString("place", "")
	now := c.now()
	found, err := c.places.find(place, now)
	if err != nil {
		return "", err
	}
	if len(found) == 1 {
		return found[0].name + ": " + moment(now.In(found[0].loc)), nil
	}
	lines := []string{place + " has several time zones:"}
	for _, s := range found {
		lines = append(lines, "- "+s.name+": "+moment(now.In(s.loc)))
	}
	return strings.Join(lines, "\n"), nil
}

func (c *clock) convertTime(_ context.Context, r mcp.CallToolRequest) (string, error) {
	from, err := c.in(r.GetString("from", ""))
	if err != nil {
		return "", err
	}
	d, err := parseDate(r.GetString("time", ""), c.now().In(from))
	if err != nil {
		return "", err
	}
	to, err := c.places.find(r.GetString("to", ""), d.at)
	if err != nil {
		return "", err
	}
	lines := []string{r.GetString("from", "") + ": " + moment(d.at)}
	for _, s := range to {
		lines = append(lines, s.name+": "+moment(d.at.In(s.loc)))
	}
	return strings.Join(lines, "\n"), nil
}

// moment is a time in words that hold everything about it.
func moment(t time.Time) string {
	zone, _ := t.Zone()
	name := t.Location().String()
	parts := []string{}
	if name != "UTC" && !strings.HasPrefix(name, "UTC") {
		parts = append(parts, name)
		if zone != "" && zone[0] != '+' && zone[0] != '-' {
			parts = append(parts, zone)
		}
	}
	parts = append(parts, "UTC"+t.Format("-07:00"))
	return t.Format("15:04:05 on Monday, 2 January 2006") + " (" + strings.Join(parts, ", ") + ")"
}
