package schedule

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adhocore/gronx"
)

// cron is an expression of five fields, as in crontab(5): when both the day of the
// month and the day of the week are given, a day that fits either counts. A field
// that begins with * is not given. https://man7.org/linux/man-pages/man5/crontab.5.html
type cron struct {
	fields [5]string
	sets   [5]uint64 // the numbers that each field allows; zero for days that depend on the month, such as L
	hourly bool      // every hour counts
}

// The fields.
const (
	minute = iota
	hour
	monthDay
	month
	weekDay
)

// fieldNames are for errors, fieldBounds the numbers that a field may hold.
var (
	fieldNames  = [5]string{"minute", "hour", "day of the month", "month", "day of the week"}
	fieldBounds = [5][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}
)

// tags are the names of usual expressions.
var tags = map[string]string{
	"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
	"@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}

// relative are the days that depend on the month: the last one, the working day
// nearest to one; the last Friday, the second Monday.
var relative = [5]*regexp.Regexp{
	monthDay: regexp.MustCompile(`^(L|LW|([1-9]|[12][0-9]|3[01])W)$`),
	weekDay:  regexp.MustCompile(`^[0-7](L|#[1-5])$`),
}

var named = [5]*strings.Replacer{
	month: strings.NewReplacer("JAN", "1", "FEB", "2", "MAR", "3", "APR", "4", "MAY", "5", "JUN", "6",
		"JUL", "7", "AUG", "8", "SEP", "9", "OCT", "10", "NOV", "11", "DEC", "12"),
	weekDay: strings.NewReplacer("SUN", "0", "MON", "1", "TUE", "2", "WED", "3", "THU", "4", "FRI", "5", "SAT", "6"),
}

// readCron reads five fields.
func readCron(fields []string) (cron, error) {
	if len(fields) != 5 {
		return cron{}, &Error{Code: BadCron, Text: strings.Join(fields, " ")}
	}
	var c cron
	for i, text := range fields {
		text = strings.ToUpper(text)
		if named[i] != nil {
			text = named[i].Replace(text)
		}
		if text == "?" && (i == monthDay || i == weekDay) { // Quartz writes "any" so
			text = "*"
		}
		set, ok := readField(i, text)
		if !ok {
			return cron{}, &Error{Code: BadField, Text: fields[i], Field: fieldNames[i]}
		}
		if i == weekDay && set != 0 && !strings.HasPrefix(text, "*") { // gronx reads ranges up to 7 differently
			text = listed(set)
		}
		c.fields[i], c.sets[i] = text, set
	}
	c.hourly = c.sets[hour] == 1<<24-1
	return c, nil
}

// readField reads one field into the set of numbers that it allows.
func readField(i int, text string) (set uint64, ok bool) {
	parts := strings.Split(text, ",")
	if relative[i] != nil && slices.ContainsFunc(parts, relative[i].MatchString) {
		return 0, len(parts) == 1
	}
	for _, part := range parts {
		from, to, step, ok := readPart(part, fieldBounds[i])
		if !ok {
			return 0, false
		}
		for n := from; n <= to; n += step {
			set |= 1 << n
		}
	}
	if i == weekDay && set&(1<<7) != 0 {
		set = set&^(1<<7) | 1
	}
	return set, true
}

// readPart reads "*", "3", "1-5" and each of them with a step.
func readPart(part string, bounds [2]int) (from, to, step int, ok bool) {
	what, by, stepped := strings.Cut(part, "/")
	if step = 1; stepped {
		if step, ok = digits(by); !ok || step < 1 || step > bounds[1] {
			return 0, 0, 0, false
		}
	}
	if what == "*" {
		if bounds[1] == 7 {
			bounds[1] = 6
		}
		return bounds[0], bounds[1], step, true
	}
	first, last, ranged := strings.Cut(what, "-")
	if from, ok = digits(first); !ok {
		return 0, 0, 0, false
	}
	to = from
	if ranged {
		if to, ok = digits(last); !ok {
			return 0, 0, 0, false
		}
	}
	return from, to, step, from >= bounds[0] && to <= bounds[1] && from <= to && (ranged || !stepped)
}

// digits reads a number of at most two digits.
func digits(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && len(s) <= 2 && s[0] != '+' && s[0] != '-'
}

func listed(set uint64) string {
	var list []string
	for _, n := range members(set) {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

// members lists the numbers of a set.
func members(set uint64) []int {
	var list []int
	for n := range 64 {
		if set&(1<<n) != 0 {
			list = append(list, n)
		}
	}
	return list
}

func (c cron) String() string { return strings.Join(c.fields[:], " ") }

// next is the first time after the given one, in its zone.
func (c cron) next(after time.Time) time.Time {
	if c.hourly {
		return c.nextShown(after)
	}
	for wall := wallOf(after); ; {
		var ok bool
		if wall, ok = c.tick(wall, false); !ok {
			return time.Time{}
		}
		if at := moment(wall, after.Location()); at.After(after) {
			return at
		}
	}
}

// nextShown is the first time after the given one at which the wall clock shows a
// time of the expression, also when it shows that a second time.
func (c cron) nextShown(after time.Time) time.Time {
	for from, inclusive := after, false; ; inclusive = true {
		wall, ok := c.tick(wallOf(from), inclusive)
		if !ok {
			return time.Time{}
		}
		_, offset := from.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second).In(after.Location())
		_, end := from.ZoneBounds()
		if end.IsZero() || at.Before(end) {
			return at
		}
		from = end
	}
}

// horizon is how many years ahead next looks. The 29th of February comes back
// within eight years.
const horizon = 30

// tick is the next time on a wall clock that never changes.
func (c cron) tick(wall time.Time, inclusive bool) (time.Time, bool) {
	if c.never() {
		return time.Time{}, false
	}
	if inclusive && wall.Second() > 0 {
		inclusive = false
	}
	next, err := gronx.NextTickAfter(c.String(), wall, inclusive)
	if err != nil || next.Year() > wall.Year()+horizon {
		return time.Time{}, false
	}
	return next, true
}

// never reports that no month has the day. The library would search for long.
func (c cron) never() bool {
	if c.fields[weekDay] != "*" || c.sets[monthDay] == 0 {
		return false
	}
	for _, m := range members(c.sets[month]) {
		days := time.Date(2028, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day()
		if c.sets[monthDay]&(1<<(days+1)-1) != 0 {
			return false
		}
	}
	return true
}

// crons makes the expressions for times of the day. days are the last three fields.
func crons(times []clock, days string) []cron {
	var list []cron
	hours := map[int]uint64{}
	var minutes []int
	for _, t := range times {
		if hours[t.minute] == 0 {
			minutes = append(minutes, t.minute)
		}
		hours[t.minute] |= 1 << t.hour
	}
	for _, m := range minutes {
		c, err := readCron(strings.Fields(fmt.Sprintf("%d %s %s", m, listed(hours[m]), days)))
		if err != nil {
			return nil
		}
		list = append(list, c)
	}
	return list
}
