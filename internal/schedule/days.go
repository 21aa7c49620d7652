package schedule

import (
	"fmt"
	"strings"
	"time"
)

// days says on which days something is due.
type days struct {
	part      int       // of the day
	cron      string    // the last three fields of an expression
	single    bool      // it is the one day of date
	date      time.Time // on the wall clock; of everyDays: the first one
	againIn   int       // of a single day: after so many days a day has the same name
	noYear    bool      // of a single day: the text names no year
	everyDays int       // so many days apart
	step      int       // of everyDays: when the first day is over, the next one is so many days later
}

const everyDay = "* * *"

// dayParser reads days.
type dayParser struct{ *reader }

// days reads them; ok is false when the text names none.
func (p dayParser) days() (d days, ok bool) {
	start := p.at
	if d, ok := p.recurring(); ok || p.err != nil {
		return d, ok
	}
	p.at = start
	if d, ok := p.singleDay(); ok || p.err != nil {
		return d, ok
	}
	p.at = start
	return days{}, false
}

// recurring reads days that come again.
func (p dayParser) recurring() (days, bool) {
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
	case p.has(once), p.has(every):
		return p.afterEvery(start)
	}
	if d, ok := p.named(); ok {
		return d, true
	}
	p.at = start
	return p.ofEveryMonth()
}

// afterEvery reads the days after the word "every".
func (p dayParser) afterEvery(start int) (days, bool) {
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
func (p dayParser) everyOther() (days, bool) {
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
func (p dayParser) everyDays(n int) (days, bool) {
	if n == 1 {
		return days{cron: everyDay}, true
	}
	return days{everyDays: n, date: wallOf(p.now), step: 1}, true
}

// named reads working days, weekends, and days in the plural or in a list.
func (p dayParser) named() (days, bool) {
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

// dayList reads days of the week: "monday, wednesday and friday", "mon-fri". When
// plural is set, one day alone must be in the plural, since "monday" may be a date.
func (p dayParser) dayList(plural bool) (set uint64, ok bool) {
	repeats := !plural
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
		n, many := p.take(manyDays)
		if !many {
			if n, ok = p.take(oneDay); !ok {
				p.at = before
				break
			}
		}
		for i := last; ranged && i != n; {
			i = (i + 1) % 7
			set |= 1 << i
		}
		repeats = repeats || many || last >= 0
		set |= 1 << n
		last = n
		set |= p.bareDays()
	}
	return set, last >= 0 && (repeats || set&(set-1) != 0)
}

// bareDays reads the days that follow a Chinese one without its first character:
// "周一三五".
func (p dayParser) bareDays() (set uint64) {
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
func (p dayParser) ofWeek(start, n int) (days, bool) {
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
func (p dayParser) everyWeeks(n int, day uint64) days {
	first := wallOf(p.now)
	for day&(1<<first.Weekday()) == 0 {
		first = first.AddDate(0, 0, 1)
	}
	return days{everyDays: 7 * n, date: first, step: 7}
}

// ofMonth reads the day of "every month".
func (p dayParser) ofMonth(start int) (days, bool) {
	p.has(on)
	p.has(on)
	if d, _, ok := p.nth(); ok {
		return d, true
	}
	if p.has(lastDay) {
		return days{cron: "L * *"}, true
	}
	n, ok := p.number()
	if !ok {
		p.fail(NoDay, p.read(start))
		return days{}, false
	}
	p.has(suffix)
	p.has(dayWord)
	return p.monthDay(start, n), true
}

func (p dayParser) monthDay(start, n int) days {
	if n < 1 || n > 31 {
		p.fail(BadDate, p.read(start))
	}
	return days{cron: fmt.Sprintf("%d * *", n)}
}

// dayOfEvery reads "1st of the month", "1 числа месяца", after "every".
func (p dayParser) dayOfEvery(start int) (days, bool) {
	n, ok := p.number()
	ended := ok && p.has(suffix)
	ended = p.has(dayWord) || ended
	if !ended {
		p.at = start
		return days{}, false
	}
	before := p.at
	p.has(of)
	p.has(every)
	if unit, ok := p.take(units); !ok || unit != unitMonth {
		p.at = before
		if month, ok := p.take(months); ok {
			return p.yearly(start, month, n), true
		}
	}
	return p.monthDay(start, n), true
}

// ofEveryMonth reads "on the 1st of every month", "1 числа каждого месяца".
func (p dayParser) ofEveryMonth() (days, bool) {
	start := p.at
	p.has(on)
	if d, ofMonth, ok := p.nth(); ok && ofMonth {
		return d, true
	}
	p.at = start
	p.has(on)
	n, last := 0, p.has(lastDay)
	if !last {
		var ok bool
		if n, ok = p.number(); !ok {
			p.at = start
			return days{}, false
		}
		p.has(suffix)
		p.has(dayWord)
	}
	p.has(of)
	repeats := p.has(every)
	if unit, ok := p.take(units); !repeats || !ok || unit != unitMonth {
		p.at = start
		return days{}, false
	}
	if last {
		return days{cron: "L * *"}, true
	}
	return p.monthDay(start, n), true
}

// nth reads "first monday of the month". Without the month, ofMonth is false.
func (p dayParser) nth() (d days, ofMonth, ok bool) {
	before := p.at
	n, ok := p.take(ordinals)
	if !ok {
		return days{}, false, false
	}
	day, ok := p.take(oneDay)
	if !ok {
		p.at = before
		return days{}, false, false
	}
	d = days{cron: fmt.Sprintf("* * %d#%d", day, n)}
	if n == lastOf {
		d.cron = fmt.Sprintf("* * %dL", day)
	}
	before = p.at
	p.has(of)
	p.has(every)
	if unit, ok := p.take(units); ok && unit == unitMonth {
		return d, true, true
	}
	p.at = before
	return d, false, true
}

// ofYear reads the date of "every year".
func (p dayParser) ofYear(start int) (days, bool) {
	p.has(on)
	p.has(on)
	month, day, ok := p.monthAndDay()
	if !ok {
		p.fail(NoDay, p.read(start))
		return days{}, false
	}
	return p.yearly(start, month, day), true
}

func (p dayParser) yearly(start, month, day int) days {
	if day < 1 || day > daysIn(2028, month) {
		p.fail(BadDate, p.read(start))
	}
	return days{cron: fmt.Sprintf("%d %d *", day, month)}
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

// singleDay reads one day: a date, a day of the week, tomorrow.
func (p dayParser) singleDay() (days, bool) {
	start := p.at
	if n, ok := p.take(near); ok {
		return days{single: true, date: p.today().AddDate(0, 0, n%100), part: n / 100}, true
	}
	p.has(on)
	if d, ok := p.weekday(); ok || p.err != nil {
		return d, ok
	}
	if d, ok := p.numbersDate(); ok || p.err != nil {
		return d, ok
	}
	before := p.at
	year, named := p.yearBefore()
	month, day, ok := p.monthAndDay()
	if !ok {
		p.at = start
		return days{}, false
	}
	if !named {
		year, named = p.year()
	}
	return p.date(p.read(before), year, month, day, named), true
}

// weekday reads a single day of the week. "next friday" may mean the friday of this
// week or of the next one, unless the former is over; the Chinese word is clear.
func (p dayParser) weekday() (days, bool) {
	start := p.at
	p.has(this)
	from := p.at
	following := p.has(next)
	han := following && p.at > 0 && p.lower[p.at-1] > 0x2e80
	n, ok := p.take(oneDay)
	if !ok {
		p.at = start
		return days{}, false
	}
	date := p.today()
	for int(date.Weekday()) != n {
		date = date.AddDate(0, 0, 1)
	}
	days := days{single: true, date: date, againIn: 7}
	monday := p.today().AddDate(0, 0, -(int(p.today().Weekday())+6)%7)
	if !following || date.Sub(monday) >= 7*24*time.Hour {
		return days, true
	}
	days.againIn = 0
	days.date = date.AddDate(0, 0, 7)
	if !han {
		p.fail(Unclear, p.read(from), date.Format(time.DateOnly), days.date.Format(time.DateOnly))
	}
	return days, true
}

// numbersDate reads "2026-12-24", "24.12.2026" and "24.12."; "24/12/2026" is
// unclear: people write it in two orders.
func (p dayParser) numbersDate() (days, bool) {
	before := p.at
	first, n := p.digits(4)
	sign := p.peek()
	if n == 0 || sign != '-' && sign != '.' && sign != '/' || p.ahead(1) < '0' || p.ahead(1) > '9' {
		p.at = before
		return days{}, false
	}
	p.at++
	second, m := p.digits(2)
	third, k := 0, 0
	if m > 0 && p.peek() == sign {
		p.at++
		if c := p.peek(); c >= '0' && c <= '9' {
			third, k = p.digits(4)
		}
	}
	text := p.read(before)
	switch {
	case m == 0 || n == 3 || n == 1 && sign == '-':
	case n == 4 && k > 0 && k <= 2:
		if p.peek() == 't' && p.ahead(1) >= '0' && p.ahead(1) <= '9' { // between date and time, as in ISO 8601
			p.at++
		}
		return p.date(text, first, second, third, true), true
	case sign == '.' && k == 4:
		return p.date(text, third, second, first, true), true
	case sign == '.' && k == 0 && n <= 2 && p.lower[p.at-1] == '.':
		return p.date(text, 0, second, first, false), true
	case sign == '/' && n <= 2:
		p.fail(Unclear, text)
		return days{}, false
	}
	p.at = before
	return days{}, false
}

// monthAndDay reads "24 december", "december 24th", "12月24日".
func (p dayParser) monthAndDay() (month, day int, ok bool) {
	before := p.at
	if month, ok = p.take(months); ok {
		p.has(on)
		if day, ok = p.number(); ok {
			p.has(suffix)
			return month, day, true
		}
		p.at = before
		return 0, 0, false
	}
	n, ok := p.number()
	if !ok {
		return 0, 0, false
	}
	if p.has(same(0, "月")) {
		if day, ok = p.number(); ok && p.has(suffix) && n >= 1 && n <= 12 {
			return n, day, true
		}
		p.at = before
		return 0, 0, false
	}
	if p.has(suffix) {
		p.has(of)
	}
	if month, ok = p.take(months); !ok {
		p.at = before
	}
	return month, n, ok
}

// yearBefore reads the year before a date, as Chinese has it.
func (p dayParser) yearBefore() (year int, ok bool) {
	before := p.at
	if year, n := p.digits(4); n == 4 && p.has(same(0, "年")) {
		return year, true
	}
	p.at = before
	return 0, false
}

// year reads the year after a date; ok is false when there is none.
func (p dayParser) year() (year int, ok bool) {
	before := p.at
	p.has(comma)
	if year, n := p.digits(4); n == 4 && p.peek() != ':' {
		p.has(same(0, "года", "г.", "г"))
		return year, true
	}
	p.at = before
	return 0, false
}

// date is a single day; without its year, the next such one.
func (p dayParser) date(text string, year, month, day int, named bool) days {
	if !named {
		year = p.now.Year()
		if month >= 1 && month <= 12 && day < p.now.Day() && month == int(p.now.Month()) || month < int(p.now.Month()) {
			year++
		}
	}
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		p.fail(BadDate, text)
		return days{}
	}
	if year > p.now.Year()+maxYears {
		p.fail(TooLong, text)
	}
	return days{single: true, noYear: !named, date: time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)}
}
