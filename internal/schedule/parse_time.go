package schedule

// clock is a time of the day.
type clock struct{ hour, minute int }

// times reads one or more times of the day. part is what was said of the day.
func (p *parser) times(part int) (list []clock, ok bool) {
	first, explicit, ok := p.clock(part)
	if !ok || p.err != nil {
		return nil, false
	}
	list = append(list, first)
	for {
		before := p.at
		if !p.has(and) {
			return list, true
		}
		bare := p.at
		said := p.has(at)
		p.at = bare
		more, exact, ok := p.clock(part)
		if !ok || p.err != nil || !exact && !said {
			p.at = before // what follows belongs to the text, or is refused as more than can be met
			return list, true
		}
		_ = explicit
		list = append(list, more)
	}
}

// clock reads one time of the day. A bare number is one only after "at" or a part
// of the day; explicit says that it could be nothing else.
func (p *parser) clock(part int) (c clock, explicit, ok bool) {
	before := p.at
	said := p.has(at)
	start := p.at
	if said2, own := p.take(partBefore); own {
		part, said = said2, true
	}
	said = p.has(at) || said
	if h, ok := p.take(named12); ok {
		return clock{h, 0}, true, true
	}
	h, ok := p.number()
	if !ok {
		p.at = before
		return clock{}, false, false
	}
	c, explicit = p.minutes(h, said)
	if !explicit && (!said || p.at < len(p.lower) && joins('a', p.peek(), p.ahead(1))) {
		p.at = before
		return clock{}, false, false
	}
	c, ok = p.half(c, part)
	if !ok || c.hour < 0 || c.hour > 23 || c.minute > 59 {
		p.fail(BadTime, p.read(start))
		return clock{}, true, true
	}
	return c, explicit, true
}

// minutes reads what follows the hour.
func (p *parser) minutes(h int, said bool) (c clock, explicit bool) {
	before := p.at
	sign := p.peek()
	if sign == ':' || sign == '.' && said {
		p.at++
		if m, n := p.digits(2); n == 2 && p.lower[p.at-3] == sign && p.peek() != '.' {
			if c := p.ahead(1); p.peek() == ':' && c >= '0' && c <= '9' {
				m = 60 // seconds are not kept
			}
			return clock{h, m}, true
		}
		p.at = before
	}
	if p.has(points) {
		if m, ok := p.take(quarters); ok {
			return clock{h, m}, true
		}
		before = p.at
		if m, ok := p.number(); ok && p.has(minutesZh) {
			return clock{h, m}, true
		}
		p.at = before
		return clock{h, 0}, true
	}
	if p.has(oclock) {
		before = p.at
		if m, ok := p.number(); ok && p.has(minutesRu) {
			return clock{h, m}, true
		}
		p.at = before
		return clock{h, 0}, true
	}
	return clock{h, 0}, p.sees(halves) || said && p.sees(partAfter)
}

// half takes account of the half or the part of the day.
func (p *parser) half(c clock, part int) (clock, bool) {
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
