package schedule_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/schedule"
	"legwork/internal/test/need"
)

// rule is a cron expression as the oracle reads it: by trying every minute.
type rule struct {
	text                              string
	minutes, hours, days, months, dow []int // nil: any
}

func rules() []rule {
	return []rule{
		{"0 9 * * *", []int{0}, []int{9}, nil, nil, nil},
		{"30 2 * * *", []int{30}, []int{2}, nil, nil, nil},
		{"15,45 0,1,2,3 * * *", []int{15, 45}, []int{0, 1, 2, 3}, nil, nil, nil},
		{"0 0 * * *", []int{0}, []int{0}, nil, nil, nil},
		{"59 23 * * *", []int{59}, []int{23}, nil, nil, nil},
		{"*/20 1-3 * * *", []int{0, 20, 40}, []int{1, 2, 3}, nil, nil, nil},
		{"0 2 * * 0", []int{0}, []int{2}, nil, nil, []int{0}},
		{"30 1 25-31 3,10 7", []int{30}, []int{1}, []int{25, 26, 27, 28, 29, 30, 31}, []int{3, 10}, []int{0}},
		{"0 * * * *", []int{0}, nil, nil, nil, nil},
		{"10,40 * * * *", []int{10, 40}, nil, nil, nil, nil},
	}
}

func has(list []int, n int) bool { return list == nil || slices.Contains(list, n) }

// shows reports that a clock which shows that time is at one of the rule's.
func (r rule) shows(wall time.Time) bool {
	day := has(r.days, wall.Day()) && has(r.dow, int(wall.Weekday()))
	if r.days != nil && r.dow != nil {
		day = has(r.days, wall.Day()) || has(r.dow, int(wall.Weekday()))
	}
	return day && has(r.minutes, wall.Minute()) && has(r.hours, wall.Hour()) && has(r.months, int(wall.Month()))
}

// minutes are what the clock on the wall shows from a moment on, each minute.
func minutes(from, to time.Time, zone *time.Location) []time.Time {
	var list []time.Time
	for t := from; t.Before(to); t = t.Add(time.Minute) {
		l := t.In(zone)
		list = append(list, time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC))
	}
	return list
}

// fires lists when a rule comes from a moment on, by looking at the clock on the
// wall each minute, before and after that.
func (r rule) fires(from time.Time, before, shown []time.Time) []time.Time {
	highest := slices.MaxFunc(before, time.Time.Compare)
	var list []time.Time
	for i, wall := range shown {
		due := r.hours == nil && r.shows(wall)
		for w := highest.Add(time.Minute); r.hours != nil && !w.After(wall); w = w.Add(time.Minute) { // none where the clock was set back
			due = due || r.shows(w)
		}
		if wall.After(highest) {
			highest = wall
		}
		if due {
			list = append(list, from.Add(time.Duration(i)*time.Minute))
		}
	}
	return list
}

// transitions are the moments of some years when the clocks of a zone change.
func transitions(zone *time.Location) []time.Time {
	var list []time.Time
	for t := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).In(zone); ; {
		_, end := t.ZoneBounds()
		if end.IsZero() || end.Year() > 2030 {
			return list
		}
		list, t = append(list, end.UTC()), end.In(zone)
	}
}

// zoneNames lists the time zones that legwork knows.
func zoneNames(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../tools/builtin/zones.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		for word := range strings.FieldsSeq(line) {
			if _, err := time.LoadLocation(word); err == nil && strings.Contains(word, "/") {
				names = append(names, word)
			}
		}
	}
	return names
}

// TestClockChanges holds every zone's changes of five years against a clock that
// is looked at each minute.
func TestClockChanges(t *testing.T) {
	done := map[string]bool{}
	changes, gaps, twice := 0, 0, 0
	for _, name := range zoneNames(t) {
		z := zone(t, name)
		list := transitions(z)
		_, first := friday.In(z).Zone()
		key := fmt.Sprint(first, list)
		if done[key] || len(list) == 0 {
			continue
		}
		done[key] = true
		for _, at := range list {
			changes++
			_, was := at.Add(-time.Minute).In(z).Zone()
			if _, is := at.In(z).Zone(); is > was {
				gaps++
			} else if is < was {
				twice++
			}
			if changes%need.Times(5, 1) != 0 {
				continue
			}
			from, to := at.Add(-25*time.Hour), at.Add(25*time.Hour)
			before, shown := minutes(from.Add(-48*time.Hour), from, z), minutes(from, to, z)
			for _, r := range rules() {
				checkAround(t, r, z, from, to, r.fires(from, before, shown))
			}
		}
	}
	t.Logf("%d changes of %d different zones: %d forward, %d back", changes, len(done), gaps, twice)
	if changes < 250 || gaps < 100 || twice < 100 {
		t.Errorf("%d changes, %d forward, %d back: the zones are not all there", changes, gaps, twice)
	}
}

func checkAround(t *testing.T, r rule, z *time.Location, from, to time.Time, want []time.Time) {
	t.Helper()
	s, err := schedule.Read("cron "+r.text, z)
	if err != nil {
		t.Fatal(err)
	}
	var got []time.Time
	for at := s.Next(from.Add(-time.Second)); at.Before(to) && !at.IsZero(); at = s.Next(at) {
		got = append(got, at.UTC())
		if len(got) > len(want)+3 {
			break
		}
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%q in %s from %s on:\n got %v\nwant %v", r.text, z, from.In(z), got, want)
	}
}

// TestDays holds days, months and weekdays against trying every day of ten years.
func TestDays(t *testing.T) {
	for _, r := range []rule{
		{"0 0 29 2 *", nil, nil, []int{29}, []int{2}, nil},
		{"0 0 31 * *", nil, nil, []int{31}, nil, nil},
		{"0 0 30,31 2,4 *", nil, nil, []int{30, 31}, []int{2, 4}, nil},
		{"0 0 13 * 5", nil, nil, []int{13}, nil, []int{5}},
		{"0 0 30 2 1", nil, nil, []int{30}, []int{2}, []int{1}},
		{"0 0 1-7 * 0,6", nil, nil, []int{1, 2, 3, 4, 5, 6, 7}, nil, []int{0, 6}},
		{"0 0 1 1 *", nil, nil, []int{1}, []int{1}, nil},
		{"0 0 * 12 5-7", nil, nil, nil, []int{12}, []int{5, 6, 0}},
	} {
		s, err := schedule.Read("cron "+r.text, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2024, 12, 31, 23, 59, 0, 0, time.UTC)
		for day := at.Add(time.Minute); day.Year() < 2035; day = day.AddDate(0, 0, 1) {
			if !r.shows(day) {
				continue
			}
			if at = s.Next(at); !at.Equal(day) {
				t.Errorf("%q: got %s, want %s", r.text, at, day)
				break
			}
		}
	}
	both, err := schedule.Read("cron 0 0 */2 * 1", time.UTC) // one that begins with * is not given: both count
	if err != nil {
		t.Fatal(err)
	}
	at := friday
	for range 50 {
		if at = both.Next(at); at.Weekday() != time.Monday || at.Day()%2 != 1 {
			t.Fatalf(`"0 0 */2 * 1" comes at %s, want odd days that are a Monday`, at)
		}
	}
}

// TestIntervalsKeepTheirDistance: whatever the clocks do.
func TestIntervalsKeepTheirDistance(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	s, _, err := schedule.Parse("every 2 hours check", time.Date(2026, 10, 24, 20, 5, 0, 0, time.UTC), berlin)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 10, 24, 20, 5, 0, 0, time.UTC)
	for range 12 {
		next := s.Next(at)
		if next.Sub(at) != 2*time.Hour {
			t.Fatalf("after %s comes %s, want two hours later", at, next)
		}
		at = next
	}
	hours, err := schedule.Read("cron 30 * * * *", berlin)
	if err != nil {
		t.Fatal(err)
	}
	for _, day := range []time.Time{time.Date(2026, 10, 24, 12, 30, 0, 0, time.UTC), time.Date(2026, 3, 28, 12, 30, 0, 0, time.UTC)} {
		for at, n := day, 0; n < 24; n++ {
			next := hours.Next(at)
			if next.Sub(at) != time.Hour {
				t.Errorf("after %s comes %s, want an hour later", at.In(berlin), next)
			}
			at = next
		}
	}
}

func TestOnceAndSteps(t *testing.T) {
	berlin := zone(t, "Europe/Berlin")
	for _, c := range []struct {
		text string
		now  string
		want []string // the last one: none
	}{
		{"2027-03-28 2:30 wake up", "2027-01-01T00:00:00Z", []string{"2027-03-28T01:00:00Z"}}, // 3:00, since 2:30 is left out
		{"2027-10-31 2:30 wake up", "2027-01-01T00:00:00Z", []string{"2027-10-31T00:30:00Z"}}, // the first of two
		{"every other day at 2:30 x", "2027-03-25T12:00:00Z", []string{"2027-03-26T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-30T00:30:00Z"}},
		{"every two weeks on sunday 2:30 x", "2027-03-20T12:00:00Z", []string{"2027-03-21T01:30:00Z", "2027-04-04T00:30:00Z"}},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := schedule.Parse(c.text, now, berlin)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.text, err)
			continue
		}
		for _, want := range c.want {
			if now = s.Next(now); now.UTC().Format(time.RFC3339) != want {
				t.Errorf("%q: next is %s, want %s", c.text, now.UTC(), want)
			}
		}
		if next := s.Next(now); !s.Again() && !next.IsZero() {
			t.Errorf("%q comes again at %s", c.text, next)
		}
	}
}

func TestNewest(t *testing.T) {
	for _, c := range []struct{ spec, from, to, want string }{
		{"cron 0 9 * * *", "2026-11-20T09:00:00Z", "2026-11-20T09:00:10Z", "2026-11-20T09:00:00Z"},
		{"cron 0 9 * * *", "2026-11-01T09:00:00Z", "2026-11-20T08:00:00Z", "2026-11-19T09:00:00Z"},
		{"cron * * * * *", "2020-11-01T09:00:00Z", "2026-11-20T08:00:30Z", "2026-11-20T08:00:00Z"},
		{"cron 0 0 1 1 *", "2021-01-01T00:00:00Z", "2026-11-20T08:00:00Z", "2026-01-01T00:00:00Z"},
		{"once 2021-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2026-11-20T08:00:00Z", "2021-01-01T00:00:00Z"},
		{"every 1m0s since 2020-01-01T00:00:10Z", "2021-01-01T00:00:10Z", "2026-11-20T08:00:00Z", "2026-11-20T07:59:10Z"},
		{"cron 0 9 * * *", "2026-11-20T10:00:00Z", "2026-11-20T11:00:00Z", "0001-01-01T00:00:00Z"},
	} {
		s, err := schedule.Read(c.spec, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		from, _ := time.Parse(time.RFC3339, c.from)
		to, _ := time.Parse(time.RFC3339, c.to)
		if got := s.Newest(from, to).Format(time.RFC3339); got != c.want {
			t.Errorf("newest of %q from %s to %s = %s, want %s", c.spec, c.from, c.to, got, c.want)
		}
	}
}

func TestPhrase(t *testing.T) {
	for spec, want := range map[string]string{
		"cron 0 9 * * *":                           "daily 09:00",
		"cron 5 9,17 * * 1-5":                      "workdays 09:05,17:05",
		"cron 0 9 * * * | 30 17 * * *":             "daily 09:00,17:30",
		"cron 0 10 * * 6,0":                        "weekends 10:00",
		"cron 30 18 * * 0,2":                       "weekly 18:30 Tuesday Sunday",
		"cron 0 8 1 * *":                           "monthly 08:00 1",
		"cron 0 8 L * *":                           "month_ends 08:00",
		"cron 0 8 24 12 *":                         "yearly 08:00 24 December",
		"cron */5 8-18 * * *":                      "cron */5 8-18 * * *",
		"cron 0 8 1 * 1":                           "cron 0 8 1 * 1",
		"cron 0 8 * * 1#1":                         "nth 08:00 Monday #1",
		"cron 0 8 * * 5L":                          "nth 08:00 Friday #0",
		"cron 0 * * * *":                           "cron 0 * * * *",
		"every 1h30m0s since 2026-11-20T09:00:00Z": "interval 1h30m0s",
		"days 14 since 2026-11-20T09:00":           "steps 09:00 14",
		"once 2026-11-20T09:00:00Z":                "once",
	} {
		s, err := schedule.Read(spec, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		p := s.Phrase()
		got := p.Kind
		if len(p.Times) > 0 {
			got += " " + strings.Join(p.Times, ",")
		}
		for _, d := range p.Days {
			got += " " + d.String()
		}
		for _, more := range []string{p.Cron} {
			got += strings.TrimRight(" "+more, " ")
		}
		if p.Day > 0 {
			got += fmt.Sprintf(" %d", p.Day)
		}
		if p.Month > 0 {
			got += " " + p.Month.String()
		}
		if p.Kind == schedule.Nth {
			got += fmt.Sprintf(" #%d", p.Nth)
		}
		if p.Count > 0 {
			got += fmt.Sprintf(" %d", p.Count)
		}
		if p.Every > 0 {
			got += " " + p.Every.String()
		}
		if got != want {
			t.Errorf("phrase of %q = %q, want %q", spec, got, want)
		}
	}
}
