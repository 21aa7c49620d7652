// Package leaks lets the tests of a package fail when they leave goroutines
// behind, where something is to be done before or after them.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// Runner is a testing.M that looks for goroutines after its tests.
type Runner struct {
	Tests    interface{ Run() int }
	Patience time.Duration // how long goroutines may take to end after the tests; at least about a second
}

// Run runs the tests and returns their exit code: 1 when they passed and left
// something running.
func (r Runner) Run() int {
	code := r.Tests.Run()
	if code != 0 {
		return code
	}
	err := goleak.Find()
	for late := time.Now().Add(r.Patience); err != nil && time.Now().Before(late); {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests left goroutines behind:", err)
		return 1
	}
	return 0
}
