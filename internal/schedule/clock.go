package schedule

// clock is a time of the day.
type clock struct{ hour, minute int }

// clockParser reads times of the day.
type clockParser struct{ *reader }

// times reads one or more times of the day. part is the part of the day that the
// text named before.
func (p clockParser) times(part int) (list []clock, ok bool) {
	first, _, ok := p.clock(part)
	if !ok || p.err != nil {
		return nil, false
	}
	list = append(list, first)
	for p.try(func() bool {
		if !p.has(and) {
			return false
		}
		marked := p.sees(at)
		more, exact, ok := p.clock(part)
		if !ok || p.err != nil || !exact && !marked {
			return false // it belongs to the goal, or check refuses it
		}
		list = append(list, more)
		return true
	}) {
	}
	return list, true
}

// clock reads one time of the day. A bare number is one only after "at" or a part
// of the day; exact says that it can be nothing else.
func (p clockParser) clock(part int) (c clock, exact, ok bool) {
	before := p.at
	marked := p.has(at)
	start := p.at
	if own, named := p.take(partBefore); named {
		part, marked = own, true
	}
	marked = p.has(at) || marked
	if h, ok := p.take(named12); ok {
		return clock{h, 0}, true, true
	}
	h, ok := p.number()
	if !ok {
		p.at = before
		return clock{}, false, false
	}
	c, exact = p.minutes(h, marked)
	if !exact && (!marked || p.at < len(p.lower) && joins('a', p.peek(), p.ahead(1))) {
		p.at = before
		return clock{}, false, false
	}
	c, ok = p.half(c, part)
	if !ok || c.hour < 0 || c.hour > 23 || c.minute > 59 {
		p.fail(BadTime, p.read(start))
		return clock{}, true, true
	}
	return c, exact, true
}

// minutes reads the rest of a time of the day, after the hour.
func (p clockParser) minutes(h int, marked bool) (c clock, exact bool) {
	before := p.at
	sign := p.peek()
	if sign == ':' || sign == '.' && marked {
		p.at++
		if m, n := p.digits(2); n == 2 && p.lower[p.at-3] == sign && p.peek() != '.' {
			if c := p.ahead(1); p.peek() == ':' && c >= '0' && c <= '9' {
				m = 60 // seconds are not kept
			}
			return clock{h, m}, true
		}
		p.at = before
	}
	chinese := p.has(points)
	if !chinese && !p.has(oclock) {
		return clock{h, 0}, p.sees(halves) || marked && p.sees(partAfter)
	}
	if m, ok := p.take(quarters); ok && chinese {
		return clock{h, m}, true
	}
	m := 0
	p.try(func() bool {
		n, ok := p.number()
		if ok = ok && (chinese && p.has(minutesZh) || !chinese && p.has(minutesRu)); ok {
			m = n
		}
		return ok
	})
	return clock{h, m}, true
}

// half adds "am", "pm" or the part of the day.
func (p clockParser) half(c clock, part int) (clock, bool) {
	if add, ok := p.take(halves); ok {
		if c.hour < 1 || c.hour > 12 {
			return c, false
		}
		c.hour = c.hour%12 + add
		return c, true
	}
	if own, ok := p.take(partAfter); ok {
		part = own
	}
	if c.hour > 12 || c.hour == 0 || part == anyPart {
		return c, part != morning || c.hour <= 12
	}
	switch {
	case part == morning, part == night && c.hour < 6, part == noon && c.hour > 9:
		if part != noon {
			c.hour %= 12
		}
	case part == night && c.hour == 12, part == evening && c.hour == 12:
		c.hour = 0
	case c.hour < 12:
		c.hour += 12
	}
	return c, true
}
