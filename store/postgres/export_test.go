package postgres

import "time"

// CheckVersion is checkVersion.
func CheckVersion(number int, name string) error { return checkVersion(number, name) }

// WithClock returns options with a clock for the lease.
func (o Options) WithClock(now func() time.Time) Options {
	o.now = now
	return o
}
