// Command walk hits the failpoints that its arguments name and prints each one
// that it survived. An argument that starts with ? asks for a planted fault, one
// that starts with ~ for a span, "now" for how far the wall clock is ahead.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"legwork/internal/failpoint"
)

func main() {
	for _, name := range os.Args[1:] {
		if fault, asks := strings.CutPrefix(name, "?"); asks {
			fmt.Println(fault, failpoint.Fault(fault))
			continue
		}
		if span, asks := strings.CutPrefix(name, "~"); asks {
			d, err := time.ParseDuration(span)
			fmt.Println(failpoint.Span(d), err)
			continue
		}
		if name == "now" {
			fmt.Println(time.Until(failpoint.Wall()).Round(time.Second))
			continue
		}
		failpoint.Hit(name)
		fmt.Println(name)
	}
}
