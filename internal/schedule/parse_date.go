package schedule

import (
	"time"
)

// single reads one day: a date, a day of the week, tomorrow.
func (p *parser) single() (days, bool) {
	start := p.at
	if n, ok := p.take(near); ok {
		return days{set: true, date: p.today().AddDate(0, 0, n%100), part: n / 100}, true
	}
	p.has(on)
	if d, ok := p.weekday(); ok || p.err != nil {
		return d, ok
	}
	if d, ok := p.numbersDate(); ok || p.err != nil {
		return d, ok
	}
	before := p.at
	year, said := p.yearBefore()
	month, day, ok := p.monthAndDay()
	if !ok {
		p.at = start
		return days{}, false
	}
	if !said {
		year, said = p.year()
	}
	return p.date(p.read(before), year, month, day, said), true
}

func (p *parser) today() time.Time {
	w := wallOf(p.now)
	return time.Date(w.Year(), w.Month(), w.Day(), 0, 0, 0, 0, time.UTC)
}

// weekday reads one that comes once. "next friday" may mean this week's or the
// one after it, unless this week's is over; the Chinese word is clear.
func (p *parser) weekday() (days, bool) {
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
	days := days{set: true, date: date, again: 7}
	monday := p.today().AddDate(0, 0, -(int(p.today().Weekday())+6)%7)
	if !following || date.Sub(monday) >= 7*24*time.Hour {
		return days, true
	}
	days.again = 0
	days.date = date.AddDate(0, 0, 7)
	if !han {
		p.fail(Unclear, p.read(from), date.Format(time.DateOnly), days.date.Format(time.DateOnly))
	}
	return days, true
}

// numbersDate reads "2026-12-24", "24.12.2026" and "24.12."; "24/12/2026" is
// written in two orders.
func (p *parser) numbersDate() (days, bool) {
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
		p.skipT()
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

// skipT reads the letter between a date and a time in one word.
func (p *parser) skipT() {
	if p.peek() == 't' && p.ahead(1) >= '0' && p.ahead(1) <= '9' {
		p.at++
	}
}

// monthAndDay reads "24 december", "december 24th", "12月24日".
func (p *parser) monthAndDay() (month, day int, ok bool) {
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
func (p *parser) yearBefore() (year int, said bool) {
	before := p.at
	if year, n := p.digits(4); n == 4 && p.has(same(0, "年")) {
		return year, true
	}
	p.at = before
	return 0, false
}

// year reads the year after a date; said is false when there is none.
func (p *parser) year() (year int, said bool) {
	before := p.at
	p.has(same(0, ","))
	if year, n := p.digits(4); n == 4 && p.peek() != ':' {
		p.has(same(0, "года", "г.", "г"))
		return year, true
	}
	p.at = before
	return 0, false
}

// date is a single day; without its year, the next such one.
func (p *parser) date(text string, year, month, day int, said bool) days {
	if !said {
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
	return days{set: true, year: !said, date: time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)}
}
