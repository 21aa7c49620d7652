package clock_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSteady: it begins as the wall clock stands, goes on as fast as that does,
// and never back.
func TestSteady(t *testing.T) {
	wall := time.Now().Round(0)
	c := clock.New()
	begin := c.Now()
	if d := begin.Sub(wall); d < 0 || d > time.Minute {
		t.Fatalf("it begins %v after the wall clock, want at once", d)
	}
	from := time.Now()
	<-time.After(50 * time.Millisecond)
	if got, want := c.Now().Sub(begin), time.Since(from); got < want-5*time.Millisecond || got > want+5*time.Second {
		t.Errorf("%v have passed by it, %v by the monotonic clock", got, want)
	}
	for last, n := c.Now(), 0; n < 1000; n++ {
		now := c.Now()
		if now.Before(last) {
			t.Fatalf("it went back from %v to %v", last, now)
		}
		last = now
	}
	if now := c.Now(); now != now.Round(0) {
		t.Error("its times carry another clock's reading")
	}
}

func BenchmarkNow(b *testing.B) {
	c := clock.New()
	for b.Loop() {
		c.Now()
	}
}
