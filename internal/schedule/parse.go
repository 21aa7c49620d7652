package schedule

import (
	"errors"
	"fmt"
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

// ParseAgain reads a text that is nothing but a time which comes again and again.
// Its errors are for who writes config files.
func ParseAgain(text string, now time.Time, zone *time.Location) (Spec, error) {
	s, rest, err := Parse(text, now, zone)
	bad, ok := errors.AsType[*Error](err)
	switch {
	case ok && bad.Code == Past, err == nil && !s.Again():
		return Spec{}, fmt.Errorf("%q comes only once; allowed: what comes again, such as \"every weekday 9:00\"", text)
	case err != nil:
		return Spec{}, err
	case rest != "":
		return Spec{}, fmt.Errorf("%q is no part of a time; allowed: a time alone, such as \"every weekday 9:00\"", rest)
	}
	return s, nil
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
	if p.qualified() {
		p.fail(TooMuch, strings.TrimSpace(string(p.text[before:min(before+20, len(p.text))])))
		p.at = before
		return
	}
	p.at = before
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
	return p.has(every) || p.namesDays() || p.has(near) || p.has(months)
}

func (p *parser) namesDays() bool {
	return p.has(workdays) || p.has(weekends) || p.has(oneDay) || p.has(manyDays)
}

// qualified reports that days or a time zone come next, which would be taken for
// a part of what is to be done.
func (p *parser) qualified() bool {
	before := p.at
	if p.has(by) && p.namesDays() {
		return true
	}
	p.at = before
	p.space()
	name := p.at
	for c := p.peek(); unicode.IsLetter(c) && c < unicode.MaxASCII || c == '/' || c == '_'; c = p.peek() {
		p.at++
	}
	zone := string(p.text[name:p.at])
	upper := zone != "" && strings.ToUpper(zone) == zone
	if !upper && !strings.Contains(zone, "/") || p.at-name < 3 {
		return false
	}
	_, err := time.LoadLocation(zone)
	return err == nil
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
		times, timed = p.timesAfter(d)
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

// timesAfter reads the times of days that were read, perhaps after a comma.
func (p *parser) timesAfter(d days) ([]clock, bool) {
	if times, ok := p.times(d.part); ok || p.err != nil {
		return times, ok
	}
	before := p.at
	if p.has(same(0, ",")) {
		if times, ok := p.times(d.part); ok || p.err != nil {
			return times, ok
		}
	}
	p.at = before
	return nil, false
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
