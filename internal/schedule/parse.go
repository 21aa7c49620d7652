package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// parser reads the time at the beginning of a text.
type parser struct {
	*reader
	days   dayParser
	clocks clockParser
}

func newParser(text string, now time.Time, zone *time.Location) *parser {
	r := newReader(text, now, zone)
	return &parser{reader: r, days: dayParser{r}, clocks: clockParser{r}}
}

// headBytes is how much of a text can belong to the time.
const headBytes = 300

// Parse reads the time that a text begins with, in any of the languages, and
// returns the text after it. The error is an *Error. Parse does not guess: words
// that may mean several times are an error.
func Parse(text string, now time.Time, zone *time.Location) (s Spec, rest string, err error) {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\ufffd"))
	head := text
	if len(head) > headBytes {
		head = head[:headBytes]
		for !utf8.ValidString(head) {
			head = head[:len(head)-1]
		}
	}
	p := newParser(head, now, zone)
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

// ParseAgain reads a text that holds a repeating time and nothing else. Its errors
// are for people who write config files.
func ParseAgain(text string, now time.Time, zone *time.Location) (Spec, error) {
	s, rest, err := Parse(text, now, zone)
	bad, ok := errors.AsType[*Error](err)
	switch {
	case ok && bad.Code == Past, err == nil && !s.Again():
		return Spec{}, fmt.Errorf("%q comes only once; allowed: a repeating time, such as \"every weekday 9:00\"", text)
	case err != nil:
		return Spec{}, err
	case rest != "":
		return Spec{}, fmt.Errorf("%q is not part of a time; allowed: a time alone, such as \"every weekday 9:00\"", rest)
	}
	return s, nil
}

// trimmed removes the punctuation between a time and the text after it.
func trimmed(rest string) string {
	return strings.TrimSpace(strings.TrimLeftFunc(rest, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune(",:;–—，：；。", c)
	}))
}

// check refuses a time that never comes, and a further condition after it.
func (p *parser) check(s Spec) {
	s.zone = p.zone
	start := p.at
	switch {
	case s.kind == kindOnce && !s.start.After(p.now):
		p.fail(Past, p.read(0))
	case s.Next(p.now).IsZero():
		p.fail(Never, p.read(0))
	case p.qualified(), p.moreTimes(start):
		p.err = &Error{Code: TooMuch, Text: p.excerpt(start)}
	default:
		p.err = nil // of the look ahead
	}
	p.at = start
}

// moreTimes reports that another time or day follows.
func (p *parser) moreTimes(start int) bool {
	p.at = start
	joined := p.has(and) || p.has(to) || p.has(conditions)
	if _, exact, ok := p.clocks.clock(anyPart); ok && (exact || joined) {
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

// qualified reports that days or a time zone follow, which would be taken for a
// part of the goal.
func (p *parser) qualified() bool {
	if p.try(func() bool { return p.has(by) && p.namesDays() }) {
		return true
	}
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
	times, timed := p.clocks.times(anyPart)
	if p.err != nil {
		return Spec{}
	}
	before := p.at
	if timed {
		p.has(and) // "at 9, every day"
	}
	d, ok := p.days.days()
	if p.err != nil {
		return Spec{}
	}
	if timed && !ok {
		p.at = before
	}
	if !timed {
		times, timed = p.clocks.times(d.part)
		if !timed && p.err == nil { // perhaps after a comma
			p.try(func() bool {
				if p.has(comma) {
					times, timed = p.clocks.times(d.part)
				}
				return timed
			})
		}
	}
	switch {
	case p.err != nil:
	case !ok && !timed:
		p.fail(Unknown, p.excerpt(0))
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
		p.fail(TooMuch, p.excerpt(0))
		return Spec{}
	}
	t := times[0]
	on := func(day time.Time) time.Time {
		return time.Date(day.Year(), day.Month(), day.Day(), t.hour, t.minute, 0, 0, time.UTC)
	}
	switch {
	case d.everyDays > 0:
		first := on(d.date)
		if step := max(1, d.step); !moment(first, p.zone).After(p.now) {
			first = first.AddDate(0, 0, step)
		}
		return Spec{kind: kindSteps, start: first, days: d.everyDays}
	case d.single:
		at := moment(on(d.date), p.zone)
		if d.againIn > 0 && !at.After(p.now) { // the next day of this name
			at = moment(on(d.date.AddDate(0, 0, d.againIn)), p.zone)
		}
		if d.noYear && !at.After(p.now) {
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

// closing is the quotation mark that closes the next one; 0 when no quotation
// begins here.
func (p *parser) closing() rune {
	return map[rune]rune{'"': '"', '\'': '\'', '`': '`', '“': '”', '«': '»', '„': '“', '「': '」'}[p.peek()]
}

func (p *parser) quoted(end rune) Spec {
	from := p.at + 1
	n := slices.Index(p.lower[from:], end)
	if n < 0 {
		p.fail(Unquoted, p.excerpt(0))
		return Spec{}
	}
	inner := newParser(string(p.text[from:from+n]), p.now, p.zone)
	if inner.space(); inner.closing() != 0 {
		p.fail(Unknown, p.excerpt(0))
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
	c, _ := readCron(fields) // tags holds valid ones
	return Spec{kind: kindCron, crons: []cron{c}}
}

// cronFields reads five fields when the text begins with a cron expression: signs
// and numbers that are neither a time nor a date.
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
	if more := p.field(); more == "*" || more == "?" || strings.HasPrefix(more, "*/") {
		p.fail(BadCron, strings.Join(append(fields, more), " "))
	}
	return fields
}

// field reads the next word without reading on.
func (p *parser) field() string {
	word, _, _ := strings.Cut(strings.TrimSpace(p.rest()), " ")
	return word
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

// interval reads a distance in real time: "every 2 hours", or "in 2 hours" from
// now.
func (p *parser) interval() (Spec, bool) {
	before := p.at
	if _, ok := p.take(hourly); ok {
		return p.apart(before, time.Hour), true
	}
	if p.has(every) || p.has(once) {
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
			return p.apart(before, time.Duration(n)*unitTime(unit)+p.minutesAfter(unit)), true
		}
		p.at = before
	}
	return p.fromNow()
}

// minutesAfter reads the minutes after hours: "1 hour 30 minutes".
func (p *parser) minutesAfter(unit int) time.Duration {
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

// apart is a Spec that repeats at a distance, counted from now.
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
	in := p.has(inWords)
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
		more = p.minutesAfter(unit)
	}
	if !ok || p.sees(ago) || in == p.has(after) { // exactly one of the two words must be there
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

// dayFromNow is a day so far away, at the time of the day that follows in the text
// or at the present one.
func (p *parser) dayFromNow(days [3]int) time.Time {
	wall := wallOf(p.now)
	day := time.Date(wall.Year()+days[0], wall.Month()+time.Month(days[1]), 1, wall.Hour(), wall.Minute(), wall.Second(), 0, time.UTC)
	last := time.Date(day.Year(), day.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	day = day.AddDate(0, 0, min(wall.Day(), last)-1+days[2]) // a month after the 31st is the last of the next
	if times, ok := p.clocks.times(anyPart); ok {
		day = time.Date(day.Year(), day.Month(), day.Day(), times[0].hour, times[0].minute, 0, 0, time.UTC)
		if len(times) > 1 {
			p.fail(TooMuch, p.excerpt(0))
		}
	}
	return moment(day, p.zone)
}

// How far ahead a single time may be, and how many days may be between two.
const (
	maxYears = 10
	maxDays  = 3660
)
