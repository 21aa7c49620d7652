//go:build !failpoints

package failpoint

import "time"

// Hit marks a moment at which a test may kill the process. Names read like
// "commit.before.replied": what happens, before or after, and to what.
func Hit(name string) {}

// Fault reports whether a test planted the named fault: code asks it where it
// then does the wrong thing on purpose. It is always false in a release.
func Fault(name string) bool { return false }

// Span is a span of the outside's time, such as that after which a platform
// ends a stream: d itself, and less where a test has the outside in a hurry.
func Span(d time.Duration) time.Duration { return d }

// Wall is the time on the wall: that of the system, and of another moment where
// a test wants it to be later.
func Wall() time.Time { return time.Now() }
