package schedule

import (
	"strings"
	"time"
)

// days are what was said of the days on which something is to be done.
type days struct {
	part  int       // of the day
	cron  string    // the last three fields of an expression
	set   bool      // date is a single day
	date  time.Time // on the wall clock; of every: the first one
	again int       // after so many days the day has the same name
	year  bool      // no year was said
	every int       // so many days apart
	step  int       // when the first day is over, it is so many days later
}

const everyDay = "* * *"

// days reads them; ok is false when none are said.
func (p *parser) days() (d days, ok bool) {
	start := p.at
	if d, ok := p.recurring(); ok || p.err != nil {
		return d, ok
	}
	p.at = start
	if d, ok := p.single(); ok || p.err != nil {
		return d, ok
	}
	p.at = start
	return days{}, false
}

// recurring reads days that come again.
func (p *parser) recurring() (days, bool) {
	start := p.at
	switch {
	case p.has(daily):
		return days{cron: everyDay}, true
	case p.has(weekly):
		return p.ofWeek(start, 1)
	case p.has(monthly):
		return p.ofMonth(start)
	case p.has(yearly):
		return p.ofYear(start)
	case p.once():
		return p.afterEvery(start)
	case p.has(every):
		return p.afterEvery(start)
	}
	if d, ok := p.named(); ok {
		return d, true
	}
	p.at = start
	return p.ofEveryMonth()
}

// afterEvery reads what follows "every".
func (p *parser) afterEvery(start int) (days, bool) {
	if part, ok := p.take(partEvery); ok {
		return days{cron: everyDay, part: part}, true
	}
	if d, ok := p.everyOther(); ok {
		return d, true
	}
	if d, ofMonth, ok := p.nth(); ok {
		if !ofMonth && strings.HasSuffix(d.cron, "#2") { // every other one, or the second of the month
			p.fail(Unclear, p.read(start))
		}
		return d, true
	}
	if d, ok := p.named(); ok {
		return d, true
	}
	if list, ok := p.dayList(false); ok {
		return days{cron: "* * " + listed(list)}, true
	}
	before := p.at
	n, counted := p.take(other)
	if !counted {
		n, counted = p.number()
	}
	unit, ok := p.take(units)
	switch {
	case !ok && counted:
		p.at = before
		return p.dayOfEvery(start)
	case !ok:
		month, day, ok := p.monthAndDay()
		if !ok {
			return days{}, false
		}
		return p.yearly(start, month, day), true
	case !counted:
		n = 1
	case n < 1 || n > 366:
		p.fail(TooLong, p.read(start))
	}
	switch unit {
	case unitDay:
		if counted && p.sees(dayMark) { // "每1日" is a date
			p.at = before
			return p.dayOfEvery(start)
		}
		return p.everyDays(n)
	case unitWeek:
		return p.ofWeek(start, n)
	case unitMonth:
		if n > 1 {
			p.fail(TooMuch, p.read(start))
		}
		return p.ofMonth(start)
	case unitYear:
		return p.ofYear(start)
	}
	return days{}, false
}

var dayMark = same(0, "of", "числа")

// everyOther reads "other monday".
func (p *parser) everyOther() (days, bool) {
	before := p.at
	if p.has(same(0, "other")) {
		if n, ok := p.take(oneDay); ok {
			return p.everyWeeks(2, 1<<n), true
		}
	}
	p.at = before
	return days{}, false
}

// everyDays is "every day" or every so many days, from the next time on.
func (p *parser) everyDays(n int) (days, bool) {
	if n == 1 {
		return days{cron: everyDay}, true
	}
	return days{every: n, date: wallOf(p.now), step: 1}, true
}

// named reads working days, weekends and days that stand in the plural or in a
// list.
func (p *parser) named() (days, bool) {
	before := p.at
	p.has(by)
	switch {
	case p.has(workdays):
		return days{cron: "* * 1,2,3,4,5"}, true
	case p.has(weekends):
		return days{cron: "* * 0,6"}, true
	}
	p.at = before
	p.has(on)
	if list, ok := p.dayList(true); ok {
		return days{cron: "* * " + listed(list)}, true
	}
	p.at = before
	return days{}, false
}

// dayList reads days of the week: "monday, wednesday and friday", "mon-fri". In
// many, they say by themselves that they come again: a single one stands in the
// plural.
func (p *parser) dayList(many bool) (set uint64, ok bool) {
	again := !many
	last := -1
	for {
		before := p.at
		ranged := last >= 0 && p.has(to)
		if last >= 0 && !ranged && !p.has(and) {
			break
		}
		if last >= 0 {
			p.has(on)
			p.has(every)
		}
		n, plural := p.take(manyDays)
		if !plural {
			if n, ok = p.take(oneDay); !ok {
				p.at = before
				break
			}
		}
		for i := last; ranged && i != n; {
			i = (i + 1) % 7
			set |= 1 << i
		}
		again = again || plural || last >= 0
		set |= 1 << n
		last = n
		set |= p.bareDays()
	}
	return set, last >= 0 && (again || set&(set-1) != 0)
}

// bareDays reads the days that follow a Chinese one without its first character:
// "周一三五".
func (p *parser) bareDays() (set uint64) {
	if p.at == 0 || !strings.ContainsRune(bareDays, p.lower[p.at-1]) {
		return 0
	}
	n := 0
	for strings.ContainsRune(bareDays, p.ahead(n)) && p.ahead(n) != 0 {
		n++
	}
	if strings.ContainsRune("点點时時十七八九零两", p.ahead(n)) && p.ahead(n) != 0 && strings.ContainsRune("点點时時十", p.ahead(n)) {
		n-- // it belongs to the time
	}
	for range max(0, n) {
		set |= 1 << (strings.IndexRune(bareDays, p.peek()) / len("日") % 7)
		p.at++
	}
	return set
}

// ofWeek reads the days of "every week".
func (p *parser) ofWeek(start, n int) (days, bool) {
	p.has(on)
	list, ok := p.dayList(false)
	switch {
	case !ok:
		p.fail(NoDay, p.read(start))
	case n == 1:
		return days{cron: "* * " + listed(list)}, true
	case list&(list-1) != 0:
		p.fail(TooMuch, p.read(start))
	}
	if !ok {
		return days{}, false
	}
	return p.everyWeeks(n, list), true
}

// everyWeeks is one day of every so many weeks, from the next such day on.
func (p *parser) everyWeeks(n int, day uint64) days {
	first := wallOf(p.now)
	for day&(1<<first.Weekday()) == 0 {
		first = first.AddDate(0, 0, 1)
	}
	return days{every: 7 * n, date: first, step: 7}
}
