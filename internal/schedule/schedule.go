// Package schedule parses times such as "every weekday 9:00", which people write in
// English, Russian and Chinese or as cron expressions, and computes when they come.
package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Spec is one time or a repeating one: at times of the wall clock, or at a distance
// in real time. Parse and Read make it.
type Spec struct {
	kind  kind
	zone  *time.Location
	start time.Time     // the only time, the first one (on the wall clock) of steps, or the origin of intervals
	step  time.Duration // of intervals
	days  int           // of steps
	crons []cron        // each time of any of them
}

type kind string

const (
	kindOnce     kind = "once"
	kindInterval kind = "every" // a distance in real time
	kindSteps    kind = "days"  // a number of days apart, at a time of the wall clock
	kindCron     kind = "cron"
)

// Bounds of intervals.
const (
	Shortest = time.Minute
	longest  = 366 * 24 * time.Hour
)

const wallLayout = "2006-01-02T15:04"

// String is the canonical form, which Read reads. The time zone is not in it.
func (s Spec) String() string {
	switch s.kind {
	case kindOnce:
		return "once " + s.start.UTC().Format(time.RFC3339)
	case kindInterval:
		return fmt.Sprintf("every %s since %s", s.step, s.start.UTC().Format(time.RFC3339))
	case kindSteps:
		return fmt.Sprintf("days %d since %s", s.days, s.start.Format(wallLayout))
	case kindCron:
		var list []string
		for _, c := range s.crons {
			list = append(list, c.String())
		}
		return "cron " + strings.Join(list, " | ")
	}
	return ""
}

// Read reads the canonical form.
func Read(text string, zone *time.Location) (Spec, error) {
	name, rest, _ := strings.Cut(text, " ")
	s := Spec{kind: kind(name), zone: zone}
	first, since, _ := strings.Cut(rest, " since ")
	var err error
	switch s.kind {
	case kindOnce:
		s.start, err = time.Parse(time.RFC3339, rest)
	case kindInterval:
		if s.step, err = time.ParseDuration(first); err == nil {
			s.start, err = time.Parse(time.RFC3339, since)
		}
		if err == nil && (s.step < Shortest || s.step > longest) {
			err = fmt.Errorf("%s is out of range", s.step)
		}
	case kindSteps:
		if s.days, err = strconv.Atoi(first); err == nil {
			s.start, err = time.Parse(wallLayout, since)
		}
		if err == nil && (s.days < 1 || s.days > maxDays) {
			err = fmt.Errorf("%d days are out of range", s.days)
		}
	case kindCron:
		for one := range strings.SplitSeq(rest, " | ") {
			c, bad := readCron(strings.Fields(one))
			if bad != nil {
				return Spec{}, fmt.Errorf("reading schedule %q: %w", text, bad)
			}
			s.crons = append(s.crons, c)
		}
	default:
		err = fmt.Errorf("there is no kind %q", name)
	}
	if err != nil {
		return Spec{}, fmt.Errorf("reading schedule %q: %w", text, err)
	}
	return s, nil
}

// Next is the first time after the given one; zero when there is none. Times of
// the wall clock are in the zone of the schedule. When clocks change, a skipped
// time comes right after the gap and a repeated time comes once. A cron expression
// for every hour keeps its distance: its times are neither moved nor left out.
func (s Spec) Next(after time.Time) time.Time {
	switch s.kind {
	case kindOnce:
		if s.start.After(after) {
			return s.start.In(s.zone)
		}
	case kindInterval:
		n := int64(1)
		if gone := after.Sub(s.start); gone >= 0 {
			n = int64(gone/s.step) + 1
		}
		return s.start.Add(time.Duration(n) * s.step).In(s.zone)
	case kindSteps:
		return s.nextStep(after)
	case kindCron:
		var first time.Time
		for _, c := range s.crons {
			if at := c.next(after.In(s.zone)); !at.IsZero() && (first.IsZero() || at.Before(first)) {
				first = at
			}
		}
		return first
	}
	return time.Time{}
}

// nextStep is Next of kindSteps.
func (s Spec) nextStep(after time.Time) time.Time {
	gone := int(wallOf(after.In(s.zone)).Sub(s.start) / (24 * time.Hour))
	for n := max(0, gone/s.days-1); ; n++ {
		if at := moment(s.start.AddDate(0, 0, n*s.days), s.zone); at.After(after) {
			return at
		}
	}
}

// Newest is the last time that is neither before the first given one nor after
// the second; zero when there is none.
func (s Spec) Newest(from, to time.Time) time.Time {
	for window := time.Hour; ; window *= 24 {
		start := to.Add(-window)
		whole := !start.After(from)
		if whole {
			start = from.Add(-time.Second)
		}
		var newest time.Time
		for at := s.Next(start); !at.IsZero() && !at.After(to); at = s.Next(at) {
			newest = at
		}
		if !newest.IsZero() || whole {
			return newest
		}
	}
}

// Again reports that the Spec repeats.
func (s Spec) Again() bool { return s.kind != kindOnce }

// wallOf is what a wall clock shows, as a time in UTC, where every minute comes
// exactly once.
func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// moment is when a wall clock shows a time. When clocks change, a time that comes
// twice counts the first time, and one that is skipped counts right after the gap.
func moment(wall time.Time, zone *time.Location) time.Time {
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	start, end := t.ZoneBounds()
	switch shown := wallOf(t); {
	case shown.After(wall): // it was counted by the offset before the gap
		return start
	case shown.Before(wall):
		return end
	case start.IsZero():
		return t
	}
	_, offset := start.Add(-time.Nanosecond).Zone()
	if earlier := wall.Add(-time.Duration(offset) * time.Second).In(zone); earlier.Before(start) {
		return earlier
	}
	return t
}
