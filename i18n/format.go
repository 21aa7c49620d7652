package i18n

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Number writes n with the language's separator of thousands.
func (t *Texts) Number(lang string, n int64) string {
	digits := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	if len(digits)-first <= 3 {
		return digits
	}
	separator := t.Text(lang, "unit.separator", nil)
	for i := len(digits) - 3; i > first; i -= 3 {
		digits = digits[:i] + separator + digits[i:]
	}
	return digits
}

// Elapsed writes a duration as a person reads it: "3.2 s", "12 s",
// "2 min 5 s", "1 h 20 min" or "3 d 4 h", rounded down. A negative one is shown
// as zero.
func (t *Texts) Elapsed(lang string, d time.Duration) string {
	d = max(d, 0)
	seconds, minutes, hours := int(d/time.Second), int(d/time.Minute), int(d/time.Hour)
	switch {
	case d < 10*time.Second:
		tenths := int(d / (100 * time.Millisecond) % 10)
		return t.Text(lang, "unit.tenths", map[string]any{"Seconds": seconds, "Tenths": tenths})
	case d < time.Minute:
		return t.Text(lang, "unit.seconds", map[string]any{"Seconds": seconds})
	case d < time.Hour:
		return t.Text(lang, "unit.minutes", map[string]any{"Minutes": minutes, "Seconds": seconds % 60})
	case d < 48*time.Hour:
		return t.Text(lang, "unit.hours", map[string]any{"Hours": hours, "Minutes": minutes % 60})
	}
	return t.Text(lang, "unit.days", map[string]any{"Days": hours / 24, "Hours": hours % 24})
}

// Date writes a moment with its day of the week and to the minute, in at's own
// time zone: "Friday, 2026-11-20 14:05".
func (t *Texts) Date(lang string, at time.Time) string {
	key := "date." + strconv.Itoa(int(at.Weekday()))
	return t.Text(lang, key, map[string]any{"Date": at.Format("2006-01-02 15:04")})
}

// The functions of texts take what the Go code has at hand and write values of
// other types, such as a text that is ready already, as they are.

func (t *Texts) number(lang string, v any) string {
	if n, ok := integer(v); ok {
		return t.Number(lang, n)
	}
	return fmt.Sprint(v)
}

func (t *Texts) tokens(lang string, v any) string {
	if n, ok := integer(v); ok {
		return t.Text(lang, "unit.tokens", map[string]any{"Count": n})
	}
	return fmt.Sprint(v)
}

func (t *Texts) elapsed(lang string, v any) string {
	if d, ok := v.(time.Duration); ok {
		return t.Elapsed(lang, d)
	}
	return fmt.Sprint(v)
}

func (t *Texts) date(lang string, v any) string {
	if at, ok := v.(time.Time); ok {
		return t.Date(lang, at)
	}
	return fmt.Sprint(v)
}

// languageName gives the name of a language whose code it gets.
func languageName(v any) string {
	s := fmt.Sprint(v)
	for _, l := range Languages() {
		if l.Code == s {
			return l.Name
		}
	}
	return s
}

// codes lists the languages that there are.
func codes() string {
	var all []string
	for _, l := range Languages() {
		all = append(all, l.Code)
	}
	return strings.Join(all, ", ")
}

// integer reads any of Go's integers that fits.
func integer(v any) (int64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.CanInt():
		return r.Int(), true
	case r.CanUint():
		return int64(r.Uint()), true
	}
	return 0, false
}
