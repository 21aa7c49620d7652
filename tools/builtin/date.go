package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// date is what a text means; a plain day has no time of its own.
type date struct {
	at    time.Time
	clock bool
}

func (d date) String() string {
	if d.clock {
		return moment(d.at)
	}
	return day(d.at)
}

func day(t time.Time) string { return t.Format("Monday, 2 January 2006 (2006-01-02)") }

var errDate = errors.New(`write it like "2026-11-20", "2026-11-20 15:30", "20 November 2026" or "15:30"`)

// parseDate reads a date in the zone of now.
func parseDate(s string, now time.Time) (date, error) {
	s = strings.TrimSpace(s)
	if len(s) > 100 {
		return date{}, fmt.Errorf("the date is too long; %w", errDate)
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(s) {
	case "now", "сейчас", "现在":
		return date{now, true}, nil
	case "", "today", "сегодня", "今天":
		return date{today, false}, nil
	case "tomorrow", "завтра", "明天":
		return date{today.AddDate(0, 0, 1), false}, nil
	case "yesterday", "вчера", "昨天":
		return date{today.AddDate(0, 0, -1), false}, nil
	}
	days := []string{
		"2006-01-02", "2006-1-2", "2006/1/2", "2.1.2006", "2 January 2006", "2 Jan 2006", "January 2, 2006", "January 2 2006", "Jan 2, 2006", "Jan 2 2006",
		"Monday, 2 January 2006", "Monday, January 2, 2006", "Mon, 2 Jan 2006", "2006年1月2日", "20060102",
	}
	times := []string{"15:04", "15:04:05", "3:04 PM", "3:04PM", "3 PM", "3PM", "15:04Z07:00", "15:04:05Z07:00", "15:04:05 -07:00", "15:04:05.999999999Z07:00"}
	for _, d := range days {
		if t, err := time.ParseInLocation(d, s, now.Location()); err == nil {
			return bounded(date{t, false})
		}
		for _, c := range times {
			for _, between := range []string{" ", "T", ", "} {
				if t, err := time.ParseInLocation(d+between+c, s, now.Location()); err == nil {
					return bounded(date{t, true})
				}
			}
		}
	}
	for _, c := range times[:6] {
		if t, err := time.ParseInLocation(c, strings.ToUpper(s), now.Location()); err == nil {
			return date{time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, now.Location()), true}, nil
		}
	}
	return date{}, fmt.Errorf("the date %q cannot be read; %w", s, errDate)
}

func bounded(d date) (date, error) {
	if y := d.at.Year(); y < 1 || y > 9999 {
		return date{}, errors.New("the year must be between 1 and 9999")
	}
	return d, nil
}

// argument reads a date argument in the zone of the argument place.
func (c *clock) argument(r mcp.CallToolRequest, name, fallback string) (date, error) {
	loc, err := c.in(r.GetString("place", ""))
	if err != nil {
		return date{}, err
	}
	text := r.GetString(name, "")
	if strings.TrimSpace(text) == "" {
		text = fallback
	}
	return parseDate(text, c.now().In(loc))
}

func (c *clock) dateAdd(_ context.Context, r mcp.CallToolRequest) (string, error) {
	d, err := c.argument(r, "date", "today")
	if err != nil {
		return "", err
	}
	n := func(name string) int { return r.GetInt(name, 0) }
	months := n("years")*12 + n("months")
	hours, minutes := n("hours"), n("minutes")
	at := addMonths(d.at, months).AddDate(0, 0, n("weeks")*7+n("days"))
	at = addWorkdays(at, n("workdays"))
	if hours != 0 || minutes != 0 {
		if !d.clock && r.GetString("date", "") == "" {
			at = at.Add(c.now().Sub(d.at).Truncate(time.Second)) // from now, not from midnight
		}
		at = at.Add(time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute)
		d.clock = true
	}
	end, err := bounded(date{at, d.clock})
	if err != nil {
		return "", err
	}
	return end.String(), nil
}

// addMonths keeps the day, or takes the last one of a shorter month.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month(), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location()).AddDate(0, months, 0)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// addWorkdays steps over Saturdays and Sundays.
func addWorkdays(t time.Time, n int) time.Time {
	step := 1
	if n < 0 {
		step, n = -1, -n
	}
	for n >= 10 && !weekend(t) {
		t, n = t.AddDate(0, 0, step*7*(n/5)), n%5
	}
	for n > 0 {
		if t = t.AddDate(0, 0, step); !weekend(t) {
			n--
		}
	}
	return t
}

func weekend(t time.Time) bool { return t.Weekday() == time.Saturday || t.Weekday() == time.Sunday }

func (c *clock) dateDiff(_ context.Context, r mcp.CallToolRequest) (string, error) {
	to, err := c.argument(r, "to", "")
	if err != nil {
		return "", err
	}
	fallback := "today"
	if to.clock {
		fallback = "now"
	}
	from, err := c.argument(r, "from", fallback)
	if err != nil {
		return "", err
	}
	lines := []string{"From " + from.String() + " to " + to.String() + ":"}
	if from.clock || to.clock {
		lines = append(lines, "- exactly "+to.at.Sub(from.at).Truncate(time.Second).String())
	}
	n := daysBetween(from.at, to.at)
	years, months, days := calendarBetween(from.at, to.at)
	sign := ""
	if n < 0 {
		sign = "-"
	}
	weeks := max(n, -n)
	lines = append(lines,
		fmt.Sprintf("- %d days (%s%d weeks and %d days)", n, sign, weeks/7, weeks%7),
		fmt.Sprintf("- %s%d years, %d months and %d days", sign, years, months, days),
		fmt.Sprintf("- %d working days, Monday to Friday, without the first day", workdaysBetween(from.at, to.at)))
	return strings.Join(lines, "\n"), nil
}

// daysBetween counts midnights, whatever the length of the days.
func daysBetween(a, b time.Time) int { return dayNumber(b) - dayNumber(a) }

// dayNumber numbers the days of the calendar.
func dayNumber(t time.Time) int {
	const secondsOfDay = 86400
	return int(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).Unix() / secondsOfDay)
}

// calendarBetween is the distance as people count it, never negative.
func calendarBetween(a, b time.Time) (years, months, days int) {
	if daysBetween(a, b) < 0 {
		a, b = b, a
	}
	total := (b.Year()-a.Year())*12 + int(b.Month()) - int(a.Month())
	if daysBetween(addMonths(a, total), b) < 0 {
		total--
	}
	return total / 12, total % 12, daysBetween(addMonths(a, total), b)
}

// workdaysBetween counts the weekdays after a up to and including b.
func workdaysBetween(a, b time.Time) int {
	sign := 1
	if daysBetween(a, b) < 0 {
		a, b, sign = b, a, -1
	}
	n := daysBetween(a, b)
	count := n / 7 * 5
	for i := range n % 7 {
		if !weekend(a.AddDate(0, 0, n/7*7+i+1)) {
			count++
		}
	}
	return sign * count
}

func (c *clock) calendar(_ context.Context, r mcp.CallToolRequest) (string, error) {
	d, err := c.argument(r, "date", "today")
	if err != nil {
		return "", err
	}
	loc := d.at.Location()
	year, week := d.at.ISOWeek()
	leap := "not a leap year"
	if time.Date(d.at.Year(), time.February, 29, 0, 0, 0, 0, loc).Month() == time.February {
		leap = "a leap year"
	}
	away := daysBetween(c.now().In(loc), d.at)
	when := "it is today"
	switch {
	case away > 0:
		when = fmt.Sprintf("it is in %d days", away)
	case away < 0:
		when = fmt.Sprintf("it was %d days ago", -away)
	}
	return fmt.Sprintf("%s: %s, day %d of the year, week %d of %d (ISO), quarter %d; %d is %s; %s has %d days; %s.",
		d.at.Format("2006-01-02"), d.at.Weekday(), d.at.YearDay(), week, year, (int(d.at.Month())+2)/3,
		d.at.Year(), leap, d.at.Format("January 2006"), addMonths(d.at.AddDate(0, 0, 1-d.at.Day()), 1).AddDate(0, 0, -1).Day(), when), nil
}
