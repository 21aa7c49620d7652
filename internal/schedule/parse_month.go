package schedule

import (
	"fmt"
	"time"
)

// ofMonth reads the day of "every month".
func (p *parser) ofMonth(start int) (days, bool) {
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

func (p *parser) monthDay(start, n int) days {
	if n < 1 || n > 31 {
		p.fail(BadDate, p.read(start))
	}
	return days{cron: fmt.Sprintf("%d * *", n)}
}

// dayOfEvery reads "1st of the month", "1 числа месяца", after "every".
func (p *parser) dayOfEvery(start int) (days, bool) {
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
func (p *parser) ofEveryMonth() (days, bool) {
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
	if unit, ok := p.everyUnit(); !ok || unit != unitMonth {
		p.at = start
		return days{}, false
	}
	if last {
		return days{cron: "L * *"}, true
	}
	return p.monthDay(start, n), true
}

func (p *parser) everyUnit() (int, bool) {
	if !p.has(every) {
		return 0, false
	}
	return p.take(units)
}

// nth reads "first monday of the month". Without the month, ofMonth is false.
func (p *parser) nth() (d days, ofMonth, ok bool) {
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
func (p *parser) ofYear(start int) (days, bool) {
	p.has(on)
	p.has(on)
	month, day, ok := p.monthAndDay()
	if !ok {
		p.fail(NoDay, p.read(start))
		return days{}, false
	}
	return p.yearly(start, month, day), true
}

func (p *parser) yearly(start, month, day int) days {
	if day < 1 || day > daysIn(2028, month) {
		p.fail(BadDate, p.read(start))
	}
	return days{cron: fmt.Sprintf("%d %d *", day, month)}
}

func daysIn(year, month int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
