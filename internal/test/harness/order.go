package harness

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"legwork/internal/test/harness/record"
)

// Order is what one run is to do.
type Order struct {
	Seed   int64
	Kills  []Kill  // one per life; a last life without a kill follows
	Client string  // one of record.Clients; empty: Terminal
	Fault  string  // planted faults, separated by commas
	Server *Server // keeps the data; nil: a data file
	// Patience is how long the wires may be silent before a life counts as
	// hung; 0: 30 s.
	Patience time.Duration
}

// Kill says when a life ends: at the first of the moments that it names.
type Kill struct {
	Point string        // "name:n" of a failpoint
	After int           // after so many events on the wires
	Delay time.Duration // and this much time
	At    time.Duration // after the start of the life
}

// String is the kill as ParseKills reads it; empty for none.
func (k Kill) String() string {
	text := k.Point
	if k.After > 0 {
		text = fmt.Sprintf("%d+%v", k.After, k.Delay)
	}
	if k.At > 0 {
		text += "@" + k.At.String()
	}
	return text
}

// The kinds of moments at which a life was killed.
const (
	aimedKill  = "aimed"  // at a failpoint
	soonKill   = "soon"   // soon after something was seen
	randomKill = "random" // at any moment
)

// kind tells which moment of the kill ended a life.
func (k Kill) kind(l record.Life) string {
	if name, n, ok := cutPoint(k.Point); ok && record.Count(l, name) >= n {
		return aimedKill
	}
	if l.AfterPause || k.After > 0 && (k.At == 0 || l.End.Sub(l.Start) < k.At) {
		return soonKill
	}
	return randomKill
}

// cutPoint reads "name:n".
func cutPoint(point string) (name string, n int, ok bool) {
	at := strings.LastIndexByte(point, ':')
	if at < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(point[at+1:])
	return point[:at], n, err == nil
}

// ParseKills reads a list such as "commit.after.replied:2,12+3ms,@850ms": at the
// second hit of a failpoint in the first life, 3 ms after the twelfth event in
// the second one, and 850 ms after the start in the third. "replied:2@850ms" is
// the first of both.
func ParseKills(list string) ([]Kill, error) {
	var kills []Kill
	for word := range strings.SplitSeq(list, ",") {
		k, err := parseKill(word)
		if err != nil {
			return nil, fmt.Errorf("reading kill %q: %w", word, err)
		}
		kills = append(kills, k)
	}
	return kills, nil
}

func parseKill(word string) (k Kill, err error) {
	word, at, timed := strings.Cut(word, "@")
	if timed {
		if k.At, err = time.ParseDuration(at); err != nil {
			return k, err
		}
	}
	after, delay, seen := strings.Cut(word, "+")
	if !seen {
		k.Point = word
		return k, nil
	}
	if k.After, err = strconv.Atoi(after); err != nil {
		return k, err
	}
	k.Delay, err = time.ParseDuration(delay)
	return k, err
}
