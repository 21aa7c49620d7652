package schedule

import "time"

// interval reads a distance: "every 2 hours", or a time so far from now: "in 2
// hours".
func (p *parser) interval() (Spec, bool) {
	before := p.at
	if _, ok := p.take(hourly); ok {
		return p.apart(before, time.Hour), true
	}
	if p.has(every) || p.once() {
		if m, ok := p.take(half); ok {
			return p.apart(before, time.Duration(m)*time.Minute), true
		}
		n, counted := p.take(other)
		if !counted {
			n, counted = p.number()
		}
		if unit, ok := p.take(units); ok && unit <= unitHour {
			if !counted {
				return p.apart(before, unitTime(unit)), true
			}
			return p.apart(before, time.Duration(n)*unitTime(unit)+p.further(unit)), true
		}
		p.at = before
	}
	return p.fromNow()
}

// once reads "раз в", which says every.
func (p *parser) once() bool { return p.has(same(0, "раз в", "once every", "once a", "once an")) }

// further reads the minutes after hours: "1 hour 30 minutes".
func (p *parser) further(unit int) time.Duration {
	before := p.at
	if unit == unitHour {
		p.has(and)
		if n, ok := p.number(); ok {
			if unit, ok := p.take(units); ok && unit == unitMinute {
				return time.Duration(n) * time.Minute
			}
		}
	}
	p.at = before
	return 0
}

func unitTime(unit int) time.Duration {
	return map[int]time.Duration{unitSecond: time.Second, unitMinute: time.Minute, unitHour: time.Hour}[unit]
}

// apart is what comes again at a distance, counted from now.
func (p *parser) apart(from int, d time.Duration) Spec {
	switch {
	case d < Shortest || d%time.Minute != 0:
		p.fail(TooShort, p.read(from))
	case d > longest:
		p.fail(TooLong, p.read(from))
	}
	return Spec{kind: kindInterval, start: p.now.Truncate(time.Minute), step: d}
}

// fromNow reads "in 2 hours", "через 3 дня", "2小时后".
func (p *parser) fromNow() (Spec, bool) {
	before := p.at
	said := p.has(in)
	unit := unitMinute
	n, ok := p.take(half)
	if !ok {
		n, ok = p.number()
		if !ok {
			n = 1 // "через час"
		}
		unit, ok = p.take(units)
	}
	var more time.Duration
	if ok {
		more = p.further(unit)
	}
	if !ok || p.sees(ago) || said == p.has(after) { // one of them must say so
		p.at = before
		return Spec{}, false
	}
	text := p.read(before)
	if n < 1 || n > maxDays {
		p.fail(TooLong, text)
		return Spec{}, true
	}
	at := p.now.Add(time.Duration(n)*unitTime(unit) + more)
	if unit >= unitDay {
		days := map[int][3]int{unitDay: {0, 0, n}, unitWeek: {0, 0, 7 * n}, unitMonth: {0, n, 0}, unitYear: {n, 0, 0}}[unit]
		at = p.dayFromNow(days)
	}
	if unit == unitSecond {
		p.fail(TooShort, text)
	}
	if at.After(p.now.AddDate(maxYears, 0, 0)) {
		p.fail(TooLong, text)
	}
	return Spec{kind: kindOnce, start: at}, true
}

// dayFromNow is a day so far away, at the time that follows, or that of now.
func (p *parser) dayFromNow(days [3]int) time.Time {
	wall := wallOf(p.now)
	day := time.Date(wall.Year()+days[0], wall.Month()+time.Month(days[1]), 1, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
	last := time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	day = day.AddDate(0, 0, min(wall.Day(), last)-1+days[2]) // a month after the 31st is the last of the next
	if times, ok := p.times(anyPart); ok {
		day = time.Date(day.Year(), day.Month(), day.Day(), times[0].hour, times[0].minute, 0, 0, time.UTC)
		if len(times) > 1 {
			p.fail(TooMuch, p.begun())
		}
	}
	return moment(day, p.zone)
}

// How far ahead a single time may be, and how many days may be between two.
const (
	maxYears = 10
	maxDays  = 3660
)
