// Package clock has a clock that cannot be set, for expiry and working time.
// Days and hours of people follow the wall clock instead.
package clock

import "time"

// Steady starts at the time of the wall clock and then counts by itself: it does not
// follow when the wall clock is set. On Linux it also counts the time while the
// machine is suspended. It is safe for concurrent use.
type Steady struct {
	start   time.Time
	elapsed func() time.Duration
}

// New starts a clock at the time of the wall clock.
func New() *Steady { return &Steady{time.Now().Round(0), since()} }

// Now is the time, without a reading of the monotonic clock, so that two times
// compare by what they show.
func (s *Steady) Now() time.Time { return s.start.Add(s.elapsed()) }

// monotonic counts by Go's monotonic clock.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
