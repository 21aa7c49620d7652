// Package faults plants deliberate faults in legwork, and lets its clocks go
// faster, for the tests that look for both. The product's source knows nothing
// of this: Build makes the edits of a table on copies of the source, and
// compiles the copies in place of the files (go build -overlay). One binary
// holds all faults; three environment variables choose at run time:
//
//	LEGWORK_FAULT  names of faults, separated by commas
//	LEGWORK_HASTE  how many times shorter the spans are that Span is asked for, from 1
//	LEGWORK_AHEAD  how far ahead the clock is that Wall reads, such as 37s
//
// Without them the binary does what the product does. A value that cannot be
// read ends the process with exit code 2 and a sentence on stderr, so that no
// test mistakes a typing error for a pass.
package faults

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// On reports whether the named fault is chosen. Edited code asks it, and then
// does the wrong thing.
func On(name string) bool { return slices.Contains(choice().faults, name) }

// Sometimes reports in one of four calls whether the named fault is chosen.
func Sometimes(name string) bool { return On(name) && rand.N(4) == 0 }

// Sum is the SHA-256 of a content, in hexadecimal digits.
func Sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// Reader reads a content.
func Reader(content []byte) io.Reader { return bytes.NewReader(content) }

// Later does something half a second later.
func Later(do func()) { time.AfterFunc(500*time.Millisecond, do) }

// Span shortens a span of time that a platform or a person sets, such as the
// one after which a platform ends a stream.
func Span(d time.Duration) time.Duration { return d / time.Duration(choice().haste) }

// Patience lengthens a span of time that a busy machine may need.
func Patience(d time.Duration) time.Duration { return 6 * d }

// Wall is the time of the system's clock, set ahead.
func Wall() time.Time { return time.Now().Add(choice().ahead) }

// chosen is what the environment of the process asks for.
type chosen struct {
	faults []string
	haste  int // from 1
	ahead  time.Duration
}

var choice = sync.OnceValue(func() chosen {
	c, err := read(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return c
})

func read(env func(string) string) (chosen, error) {
	c := chosen{faults: strings.FieldsFunc(env("LEGWORK_FAULT"), func(r rune) bool { return r == ',' || r == ' ' }), haste: 1}
	for _, name := range c.faults {
		if !slices.Contains(Names(), name) {
			return c, fmt.Errorf("reading LEGWORK_FAULT: no fault is named %q", name)
		}
	}
	if text := env("LEGWORK_HASTE"); text != "" {
		var err error
		if c.haste, err = strconv.Atoi(text); err != nil || c.haste < 1 {
			return c, fmt.Errorf("reading LEGWORK_HASTE: %q is not a number from 1", text)
		}
	}
	if text := env("LEGWORK_AHEAD"); text != "" {
		var err error
		if c.ahead, err = time.ParseDuration(text); err != nil {
			return c, fmt.Errorf("reading LEGWORK_AHEAD: %q is not a duration", text)
		}
	}
	return c, nil
}

// Names are the names of all faults.
func Names() []string {
	var names []string
	for _, e := range edits {
		if e.fault != "" && !slices.Contains(names, e.fault) {
			names = append(names, e.fault)
		}
	}
	return names
}
