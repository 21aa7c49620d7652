package schedule_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"legwork/internal/schedule"
)

// FuzzParse: whatever is written, a time that is taken lies ahead, comes back the
// same from its canonical form, and the rest is a part of the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"every weekday 9:00 news", "每周一三五9点新闻", "по понедельникам и четвергам в 18:30 новости", "0 9 * * 1-5 news", `"@daily" x`,
		"every two weeks on friday 15:00 review", "in 3 months at 9:00 call", "24.12. 18:00 sing", "*/15 8-18 L jan 5#2 x", "2027年12月24日18：00唱歌",
		"every last friday at 8:00 bills", "'every day at 9' x", "через полчаса позвони", "next sunday 9:00", "every 15 minutes from 9:00 to 17:00",
	} {
		f.Add(seed)
	}
	berlin := zone(f, "Europe/Berlin")
	f.Fuzz(func(t *testing.T, text string) {
		s, rest, err := schedule.Parse(text, friday, berlin)
		if err != nil {
			if bad := new(schedule.Error); !errors.As(err, &bad) || bad.Code == "" {
				t.Errorf("Parse(%q): %v is no Error", text, err)
			}
			return
		}
		next := s.Next(friday)
		if !next.After(friday) || next.After(friday.AddDate(31, 0, 0)) {
			t.Errorf("Parse(%q) = %q, which comes at %s", text, s, next)
		}
		if after := s.Next(next); !after.IsZero() && after.Sub(next) < schedule.Shortest {
			t.Errorf("Parse(%q) = %q, which comes at %s and at %s", text, s, next, after)
		}
		again, err := schedule.Read(s.String(), berlin)
		if err != nil || again.String() != s.String() || again.Next(friday).Unix() != next.Unix() {
			t.Errorf("Read(%q) = %q, %v", s, again, err)
		}
		if utf8.ValidString(text) && !strings.HasSuffix(strings.TrimSpace(text), rest) {
			t.Errorf("Parse(%q) leaves %q, which is no part of it", text, rest)
		}
		if s.Phrase().Kind == "" {
			t.Errorf("%q has no phrase", s)
		}
	})
}

// FuzzRead: a Spec that was read computes its times, and does not search for ever.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{"cron 0 9 * * 1-5", "cron 0 0 29 2 */7 | 0 0 30 2 1", "once 2026-12-24T17:00:00Z", "every 2h0m0s since 2026-11-20T22:10:00Z", "days 14 since 2026-11-27T15:00", "cron 0 0 LW 2 5#5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := schedule.Read(text, time.UTC)
		if err != nil {
			return
		}
		at := friday
		for range 3 {
			next := s.Next(at)
			if next.IsZero() {
				return
			}
			if !next.After(at) {
				t.Fatalf("after %s, %q comes at %s", at, text, next)
			}
			at = next
		}
	})
}
