//go:build !unix

package watch

import "time"

// Work returns the time that do took.
func Work(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}
