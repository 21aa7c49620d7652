//go:build !linux

package read

// confine does nothing on systems other than Linux. There the bounds on time, text and
// output hold, and the one on memory is what the collector aims at.
func confine(Limits) error { return nil }
