package harness

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Order is what one run is to do.
type Order struct {
	Seed  int64
	Kills []Kill // one per life; a last life without a kill follows
	Front string // Terminal, Telegram or Slack; empty: Terminal
	Fault string // planted faults, separated by commas
	// Patience is how long the wires may be silent before a life counts as
	// hung; 0: 30 s.
	Patience time.Duration
}

// Kill says when a life ends.
type Kill struct {
	Point string        // "name:n" of a failpoint; empty: by what follows
	After int           // so many things were seen on the wires
	Delay time.Duration // and this time went by
}

// String is the kill as ParseKills reads it; empty for none.
func (k Kill) String() string {
	switch {
	case k.Point != "":
		return k.Point
	case k.After > 0:
		return fmt.Sprintf("%d+%v", k.After, k.Delay)
	}
	return ""
}

// ParseKills reads a list such as "commit.after.replied:2,12+3ms": at the
// second hit of a failpoint in the first life, and 3 ms after the twelfth
// event in the second one.
func ParseKills(list string) ([]Kill, error) {
	var kills []Kill
	for word := range strings.SplitSeq(list, ",") {
		after, delay, random := strings.Cut(word, "+")
		if !random {
			kills = append(kills, Kill{Point: word})
			continue
		}
		n, err := strconv.Atoi(after)
		if err != nil {
			return nil, fmt.Errorf("reading kill %q: %w", word, err)
		}
		d, err := time.ParseDuration(delay)
		if err != nil {
			return nil, fmt.Errorf("reading kill %q: %w", word, err)
		}
		kills = append(kills, Kill{After: n, Delay: d})
	}
	return kills, nil
}
