package schedule

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// parser reads the time at the beginning of a text.
type parser struct {
	scanner

	now  time.Time // in zone
	zone *time.Location
	err  *Error // the first one
}

// headBytes is how much of a text can belong to the time.
const headBytes = 300

// Parse reads the time that a text begins with, in any of the languages, and
// returns what follows it. The error is an *Error. Nothing is guessed: what may
// mean several things is an error.
func Parse(text string, now time.Time, zone *time.Location) (s Spec, rest string, err error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	head := text
	if len(head) > headBytes {
		head = head[:headBytes]
		for !utf8.ValidString(head) {
			head = head[:len(head)-1]
		}
	}
	p := &parser{scanner: newScanner(head), now: now.In(zone), zone: zone}
	s = p.spec()
	if p.err == nil {
		p.check(s)
	}
	if p.err != nil {
		return Spec{}, "", p.err
	}
	s.zone = zone
	return s, trimmed(p.rest() + text[len(head):]), nil
}

// trimmed is a text without the signs that part it from the time.
func trimmed(rest string) string {
	return strings.TrimSpace(strings.TrimLeftFunc(rest, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(",:;–—，：；。", c)
	}))
}

// fail notes why there is no time; the first reason counts.
func (p *parser) fail(code, text string, among ...string) {
	if p.err == nil {
		p.err = &Error{Code: code, Text: text, Among: among}
	}
}

// sees is has without reading on.
func (p *parser) sees(list []word) bool {
	before := p.at
	defer func() { p.at = before }()
	return p.has(list)
}

// begun is the beginning of the text, for saying what is not understood.
func (p *parser) begun() string {
	const some = 40
	text := string(p.text)
	if len(p.text) > some {
		text = string(p.text[:some]) + "…"
	}
	return text
}

// check refuses a time that never comes, and one with more after it that would
// have to be met.
func (p *parser) check(s Spec) {
	said := p.read(0)
	s.zone = p.zone
	switch {
	case s.kind == kindOnce && !s.start.After(p.now):
		p.fail(Past, said)
		return
	case s.Next(p.now).IsZero():
		p.fail(Never, said)
		return
	}
	before := p.at
	joined := p.has(and) || p.has(to) || p.has(past)
	start := p.at
	if !joined {
		p.space()
		start = p.at
	}
	if p.more(joined) {
		p.err = nil
		p.fail(TooMuch, string(p.text[min(before, len(p.text)):min(start+20, len(p.text))]))
		p.err.Text = strings.TrimSpace(p.err.Text)
	}
	p.err, p.at = keepTooMuch(p.err), before
}

// keepTooMuch drops what other errors the look ahead left.
func keepTooMuch(e *Error) *Error {
	if e != nil && e.Code == TooMuch {
		return e
	}
	return nil
}

// more reports that another time or day comes next.
func (p *parser) more(joined bool) bool {
	if _, exact, ok := p.clock(anyPart); ok && (exact || joined) {
		return true
	}
	if !joined {
		return false
	}
	if _, n := p.digits(5); n > 0 {
		return true
	}
	return p.has(every) || p.has(oneDay) || p.has(manyDays) || p.has(near) || p.has(months)
}

// spec reads the time.
func (p *parser) spec() Spec {
	p.space()
	if quote := p.closing(); quote != 0 {
		return p.quoted(quote)
	}
	if p.peek() == '@' && unicode.IsLetter(p.ahead(1)) {
		return p.tag()
	}
	if fields := p.cronFields(); fields != nil {
		c, err := readCron(fields)
		if err != nil {
			p.err = err.(*Error) //nolint:errorlint,forcetypeassert // readCron has no others
		}
		return Spec{kind: kindCron, crons: []cron{c}}
	}
	if s, ok := p.interval(); ok {
		return s
	}
	return p.wall()
}

// closing is the sign that ends what the next one begins; 0 when that is no
// quotation mark.
func (p *parser) closing() rune {
	return map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '«': '»', '„': '“', '「': '」'}[p.peek()]
}

func (p *parser) quoted(end rune) Spec {
	from := p.at + 1
	n := slices.Index(p.lower[from:], end)
	if n < 0 {
		p.fail(Unquoted, p.begun())
		return Spec{}
	}
	inner := &parser{scanner: newScanner(string(p.text[from : from+n])), now: p.now, zone: p.zone}
	if inner.space(); inner.closing() != 0 {
		p.fail(Unknown, p.begun())
		return Spec{}
	}
	s := inner.spec()
	if inner.err == nil && trimmed(inner.rest()) != "" {
		inner.fail(UnknownIn, string(inner.text))
	}
	p.err, p.at = inner.err, from+n+1
	return s
}

func (p *parser) tag() Spec {
	from := p.at
	for p.at++; unicode.IsLetter(p.peek()); p.at++ {
	}
	name := string(p.lower[from:p.at])
	fields := strings.Fields(tags[name])
	if len(fields) == 0 {
		p.fail(BadTag, p.read(from))
		return Spec{}
	}
	c, _ := readCron(fields) // it is one of ours
	return Spec{kind: kindCron, crons: []cron{c}}
}

// cronFields reads five fields, when the text begins with what can only be meant
// as such: signs and numbers that are no time and no date.
func (p *parser) cronFields() []string {
	before := p.at
	var fields []string
	stars := false
	for len(fields) < 5 {
		p.space()
		from := p.at
		for c := p.peek(); c != 0 && !unicode.IsSpace(c); c = p.peek() {
			p.at++
		}
		field := p.read(from)
		if !cronLike(field, len(fields)) {
			break
		}
		stars = stars || strings.HasPrefix(field, "*")
		fields = append(fields, field)
	}
	if len(fields) < 5 {
		p.at = before
		if len(fields) > 0 && (stars || len(fields) > 2) {
			p.fail(BadCron, strings.Join(fields, " "))
		}
		return nil
	}
	return fields
}

// cronLike reports that a word may be that field.
func cronLike(word string, field int) bool {
	signs := "0123456789*/,-?"
	if field >= monthDay {
		signs += "LW#lw"
	}
	rest := strings.Trim(word, signs)
	if word == "" || field < month {
		return word != "" && rest == ""
	}
	for _, part := range strings.FieldsFunc(strings.ToUpper(word), func(c rune) bool { return strings.ContainsRune("0123456789*/,-?L#", c) }) {
		if named[field].Replace(part) == part {
			return false
		}
	}
	return true
}

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
				n = 1
			}
			return p.apart(before, time.Duration(n)*unitTime(unit)), true
		}
		p.at = before
	}
	return p.fromNow()
}

// once reads "раз в", which says every.
func (p *parser) once() bool { return p.has(same(0, "раз в", "once every", "once a", "once an")) }

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
	if !ok || p.sees(ago) || said == p.has(after) { // one of them must say so
		p.at = before
		return Spec{}, false
	}
	text := p.read(before)
	if n < 1 || n > maxDays {
		p.fail(TooLong, text)
		return Spec{}, true
	}
	at := p.now.Add(time.Duration(n) * unitTime(unit))
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

// wall reads days and times of the clock, in either order.
func (p *parser) wall() Spec {
	times, timed := p.times(anyPart)
	if p.err != nil {
		return Spec{}
	}
	before := p.at
	if timed {
		p.has(and) // "at 9, every day"
	}
	d, ok := p.days()
	if p.err != nil {
		return Spec{}
	}
	if timed && !ok {
		p.at = before
	}
	if !timed {
		times, timed = p.times(d.part)
	}
	switch {
	case p.err != nil:
	case !ok && !timed:
		p.fail(Unknown, p.begun())
	case !timed:
		p.fail(NoTime, p.read(0))
	default:
		return p.combine(d, times)
	}
	return Spec{}
}

// combine makes the Spec of days and times.
func (p *parser) combine(d days, times []clock) Spec {
	switch {
	case d.cron != "":
		return Spec{kind: kindCron, crons: crons(times, d.cron)}
	case len(times) > 1:
		p.fail(TooMuch, p.begun())
		return Spec{}
	}
	t := times[0]
	on := func(day time.Time) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day(), t.hour, t.minute, 0, 0, time.UTC)
	}
	switch {
	case d.every > 0:
		first := on(d.date)
		if step := max(1, d.step); !moment(first, p.zone).After(p.now) {
			first = first.AddDate(0, 0, step)
		}
		return Spec{kind: kindSteps, start: first, days: d.every}
	case d.set:
		at := moment(on(d.date), p.zone)
		if d.again > 0 && !at.After(p.now) { // the day may be meant that comes next
			at = moment(on(d.date.AddDate(0, 0, d.again)), p.zone)
		}
		if d.year && !at.After(p.now) {
			at = moment(on(d.date.AddDate(1, 0, 0)), p.zone)
		}
		return Spec{kind: kindOnce, start: at}
	}
	at := moment(on(wallOf(p.now)), p.zone) // the next such time of the day
	if !at.After(p.now) {
		at = moment(on(wallOf(p.now).AddDate(0, 0, 1)), p.zone)
	}
	return Spec{kind: kindOnce, start: at}
}
