package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Report sums up a campaign.
type Report struct {
	Front     string
	Began     time.Time
	Took      time.Duration
	Runs      int
	Kills     int
	AtPoints  map[string]int // kills by failpoint
	Random    int            // kills at random moments
	Questions int
	Answers   int
	Doubles   int // answers that came twice, in the one window that allows it
	Torn      int // likewise, because the platform's reply to the first was lost
	Orphans   int // boards and questions that stay as they were, for the same reasons
	Decisions int // that people were to make
	CardsMore int // questions that came twice, because a kill fell between sending and storing or the reply was lost
	Unknown   int // bookings and payments whose outcome a kill hid
	ModelLost int // model calls that kills cost, together
	ModelMost int // and at most by one kill
	ToolsLost int
	Points    Points
	Broken    []Broken
}

// Broken is a run with violations.
type Broken struct {
	Front      string
	Seed       int64
	Kills      []Kill
	Dir        string
	Violations []Violation
}

// again are the arguments that repeat the run, as far as chance lets it.
func (b Broken) again() string {
	args := fmt.Sprintf("-front %s -seed %d", b.Front, b.Seed)
	kills := make([]string, 0, len(b.Kills))
	for _, k := range b.Kills {
		kills = append(kills, k.String())
	}
	if len(kills) > 0 {
		args += " -at " + strings.Join(kills, ",")
	}
	return args
}

func newReport(front string) *Report {
	return &Report{Front: front, Began: time.Now(), AtPoints: map[string]int{}}
}

func (r *Report) add(record Record, v Verdict, o Order, dir string) {
	r.Runs++
	for i, l := range record.Lives {
		if !l.Killed || i >= len(o.Kills) {
			continue
		}
		r.Kills++
		if point := o.Kills[i].Point; point != "" {
			r.AtPoints[point[:strings.LastIndexByte(point, ':')]]++
		} else {
			r.Random++
		}
	}
	for _, in := range record.Inputs {
		switch {
		case in.question():
			r.Questions++
		case in.Kind == Decide:
			r.Decisions++
		}
	}
	r.Answers += v.Answers
	for _, n := range v.LostModel {
		r.ModelLost += n
		r.ModelMost = max(r.ModelMost, n)
	}
	r.Doubles += v.Doubles
	r.Torn += v.Torn
	r.Orphans += v.Orphans
	r.Unknown += v.Unknown
	r.CardsMore += v.CardsAgain
	r.ToolsLost += v.LostTools
	if len(v.Violations) > 0 {
		r.Broken = append(r.Broken, Broken{Front: r.Front, Seed: o.Seed, Kills: o.Kills, Dir: dir, Violations: v.Violations})
	}
}

func (r *Report) line() string {
	return fmt.Sprintf("%s: %d runs, %d kills, %d with violations", r.Front, r.Runs, r.Kills, len(r.Broken))
}

// Rules are the rules that were broken.
func (r *Report) Rules() []string {
	rules := map[string]bool{}
	for _, b := range r.Broken {
		for _, v := range b.Violations {
			rules[v.Rule] = true
		}
	}
	return slices.Sorted(maps.Keys(rules))
}

// String is the report as people read it.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %v\n", r.line(), r.Took.Round(time.Second))
	fmt.Fprintf(&b, "questions %d, answers %d, of them %d twice because a kill fell between sending and storing\n", r.Questions, r.Answers, r.Doubles)
	if r.Front != Terminal {
		fmt.Fprintf(&b, "answers twice because the platform's reply was lost %d, boards and questions left for one of these reasons %d\n", r.Torn, r.Orphans)
	}
	fmt.Fprintf(&b, "decisions %d, questions that came twice %d\n", r.Decisions, r.CardsMore)
	fmt.Fprintf(&b, "model calls lost %d, at most %d by one kill; tool calls repeated %d; bookings and payments with unknown outcome %d\n", r.ModelLost, r.ModelMost, r.ToolsLost, r.Unknown)
	fmt.Fprintf(&b, "kills at random moments: %d\n", r.Random)
	for _, name := range slices.Sorted(maps.Keys(r.Points)) {
		fmt.Fprintf(&b, "kills at %-32s %d\n", name+":", r.AtPoints[name])
	}
	for _, broken := range r.Broken {
		fmt.Fprintf(&b, "%s; repeat it: go run ./testing/harness/soak %s\n", broken.Dir, broken.again())
		for _, v := range broken.Violations {
			fmt.Fprintf(&b, "  %s\n", v)
		}
	}
	return b.String()
}
