// Package clock tells the time by a clock that nobody can set. What expires,
// and what is counted as working time, goes by it; days and hours that people
// mean go by the clock on the wall.
package clock

import "time"

// Steady begins with the time on the wall and goes on by itself: the wall clock
// may be set forward or back, this one neither jumps nor stands still. Where the
// system tells it (Linux), the time while the machine was suspended counts, too.
// It is safe for concurrent use.
type Steady struct {
	start   time.Time
	elapsed func() time.Duration
}

// New starts a clock that says what the wall clock says now.
func New() *Steady { return &Steady{time.Now().Round(0), since()} }

// Now is the time. It carries no reading of the system's monotonic clock, so
// that two of them compare as they read.
func (s *Steady) Now() time.Time { return s.start.Add(s.elapsed()) }

// monotonic counts by Go's own clock, which nobody can set either.
func monotonic() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
