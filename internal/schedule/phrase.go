package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Phrase is a Spec taken apart, to put it in words.
type Phrase struct {
	Kind  string         // one of the constants
	Times []string       // of the day: "09:00"
	Days  []time.Weekday // of Weekly and Nth
	Nth   int            // of Nth: which one of the month, from 1; 0: the last
	Day   int            // of Monthly and Yearly: of the month
	Month time.Month     // of Yearly
	At    time.Time      // of Once: when; of Steps: the first time, on the wall clock
	Every time.Duration  // of Interval: how far apart
	Count int            // of Steps: days apart
	Cron  string         // of Cron: the expression
}

// The kinds of phrases.
const (
	Once      = "once"
	Interval  = "interval"
	Steps     = "steps"
	Daily     = "daily"
	Workdays  = "workdays"
	Weekends  = "weekends"
	Weekly    = "weekly"
	Monthly   = "monthly"
	MonthEnds = "month_ends"
	Nth       = "nth"
	Yearly    = "yearly"
	Cron      = "cron"
)

// Phrase takes the Spec apart.
func (s Spec) Phrase() Phrase {
	switch s.kind {
	case kindOnce:
		return Phrase{Kind: Once, At: s.start.In(s.zone)}
	case kindInterval:
		return Phrase{Kind: Interval, Every: s.step}
	case kindSteps:
		return Phrase{Kind: Steps, Count: s.days, At: s.start, Times: []string{s.start.Format("15:04")}}
	}
	days := ""
	var times []string
	for i, c := range s.crons {
		own := strings.Join(c.fields[monthDay:], " ")
		minutes, hours := members(c.sets[minute]), members(c.sets[hour])
		if i > 0 && own != days || len(minutes) > 1 || len(hours) > maxTimes {
			return s.cronPhrase()
		}
		days = own
		for _, h := range hours {
			times = append(times, fmt.Sprintf("%02d:%02d", h, minutes[0]))
		}
	}
	p, ok := phraseOf(s.crons[0])
	if !ok {
		return s.cronPhrase()
	}
	p.Times = times
	return p
}

func (s Spec) cronPhrase() Phrase {
	return Phrase{Kind: Cron, Cron: strings.TrimPrefix(s.String(), "cron ")}
}

// maxTimes is how many times of a day a Phrase lists.
const maxTimes = 6

// phraseOf is the days of an expression; ok is false when there are no words for
// them.
func phraseOf(c cron) (p Phrase, ok bool) {
	anyDay, anyMonth, anyWeekDay := c.fields[monthDay] == "*", c.fields[month] == "*", c.fields[weekDay] == "*"
	day, err := strconv.Atoi(c.fields[monthDay])
	number := err == nil
	switch {
	case anyDay && anyMonth && anyWeekDay:
		return Phrase{Kind: Daily}, true
	case anyDay && anyMonth && c.fields[weekDay] == "1,2,3,4,5":
		return Phrase{Kind: Workdays}, true
	case anyDay && anyMonth && c.fields[weekDay] == "0,6":
		return Phrase{Kind: Weekends}, true
	case anyDay && anyMonth && c.sets[weekDay] != 0:
		p = Phrase{Kind: Weekly}
		for _, n := range members(c.sets[weekDay]) {
			p.Days = append(p.Days, time.Weekday(n))
		}
		if p.Days[0] == time.Sunday { // weeks begin with Monday
			p.Days = append(p.Days[1:], time.Sunday)
		}
		return p, true
	case anyDay && anyMonth && len(c.fields[weekDay]) >= 2:
		return nthOf(c.fields[weekDay])
	case !anyWeekDay:
	case anyMonth && c.fields[monthDay] == "L":
		return Phrase{Kind: MonthEnds}, true
	case anyMonth && number:
		return Phrase{Kind: Monthly, Day: day}, true
	case number:
		m, err := strconv.Atoi(c.fields[month])
		return Phrase{Kind: Yearly, Day: day, Month: time.Month(m)}, err == nil
	}
	return p, false
}

// nthOf reads "1#2", the second Monday, and "5L", the last Friday.
func nthOf(field string) (p Phrase, ok bool) {
	day, n, numbered := strings.Cut(field, "#")
	p.Kind = Nth
	if !numbered {
		day = strings.TrimSuffix(field, "L")
	} else if p.Nth, ok = digits(n); !ok {
		return p, false
	}
	d, ok := digits(day)
	p.Days = []time.Weekday{time.Weekday(d % 7)}
	return p, ok
}
