package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"
)

// Campaign is a series of runs with kills of all kinds.
type Campaign struct {
	Front    string        // of all runs; empty: Terminal
	Seed     int64         // of the first run; the next ones count up
	Kills    int           // end after so many; 0: no end
	For      time.Duration // end after this time; 0: no end
	Parallel int           // runs at once; 0: 3, or 6 where they wait for platforms
	Fault    string        // planted faults
	Patience time.Duration // of each run
	First    bool          // end at the first violation
	// Learn is how many runs without kills come first, to find out which
	// failpoints there are; 0: 4. Points skips them.
	Learn  int
	Points Points
	Log    func(format string, a ...any) // progress; nil: none
}

// Points are the failpoints that runs pass, and how often at most in one life.
type Points map[string]int

func (p Points) add(l Life) {
	count := map[string]int{}
	for _, hit := range l.Hits {
		count[hit]++
	}
	for name, n := range count {
		p[name] = max(p[name], n)
	}
}

// Campaign does a campaign. The folders of runs with violations are kept, and
// named in the report. An error means that the harness itself did not work.
func (h *Harness) Campaign(ctx context.Context, c Campaign) (*Report, error) {
	if c.Parallel == 0 {
		c.Parallel = 3
		if c.Front == Telegram || c.Front == Slack {
			c.Parallel = 6 // they wait for their turn most of the time
		}
	}
	if c.Learn == 0 {
		c.Learn = 4
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	c.Front = cmp.Or(c.Front, Terminal)
	t := &tour{h: h, c: c, report: newReport(c.Front), next: c.Seed, points: maps.Clone(c.Points)}
	if err := t.learn(ctx); err != nil {
		return t.report, err
	}
	t.report.Points = t.points
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	for range c.Parallel {
		workers.Go(func() {
			for !t.over() && ctx.Err() == nil {
				if err := t.run(ctx, t.order()); err != nil {
					cancel(err)
				} else if c.First && t.over() {
					cancel(errOver)
				}
			}
		})
	}
	workers.Wait()
	t.report.Took = time.Since(t.report.Began)
	if err := context.Cause(ctx); !errors.Is(err, errOver) {
		return t.report, err
	}
	return t.report, nil
}

// errOver ends the runs that go on when the first violation was found.
var errOver = errors.New("a violation was found")

// tour is a campaign under way.
type tour struct {
	h *Harness
	c Campaign

	mu     sync.Mutex
	report *Report
	points Points
	next   int64
}

// learn does runs without kills, to find the failpoints.
func (t *tour) learn(ctx context.Context) error {
	if t.points != nil {
		return nil
	}
	t.points = Points{}
	var runs sync.WaitGroup
	failed := make([]error, t.c.Learn)
	for i := range failed {
		runs.Go(func() {
			failed[i] = t.run(ctx, Order{Seed: t.seed(), Front: t.c.Front, Fault: t.c.Fault, Patience: t.c.Patience})
		})
	}
	runs.Wait()
	return errors.Join(failed...)
}

func (t *tour) seed() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return t.next - 1
}

func (t *tour) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.c.Kills > 0 && t.report.Kills >= t.c.Kills ||
		t.c.For > 0 && time.Since(t.report.Began) >= t.c.For ||
		t.c.First && len(t.report.Broken) > 0
}

// order chooses the kills of the next run: one to three, two thirds of them at
// failpoints, the later ones soon after the start.
func (t *tour) order() Order {
	o := Order{Seed: t.seed(), Front: t.c.Front, Fault: t.c.Fault, Patience: t.c.Patience}
	random := rand.New(rand.NewPCG(uint64(o.Seed), 2))
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.Sorted(maps.Keys(t.points))
	for range 1 + random.IntN(3) {
		soon := len(o.Kills) > 0
		if len(names) == 0 || random.IntN(3) == 0 {
			after := 1 + random.IntN(60)
			if soon {
				after = 1 + random.IntN(12)
			}
			o.Kills = append(o.Kills, Kill{After: after, Delay: time.Duration(random.IntN(15000)) * time.Microsecond})
			continue
		}
		name := names[(int(o.Seed)*2+len(o.Kills))%len(names)] // each gets its kills
		most := t.points[name]
		if soon {
			most = min(most, 3)
		}
		o.Kills = append(o.Kills, Kill{Point: fmt.Sprintf("%s:%d", name, 1+random.IntN(most))})
	}
	return o
}

// run does and judges one run.
func (t *tour) run(ctx context.Context, o Order) error {
	record, dir, err := t.h.Run(ctx, o)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("running seed %d in %s: %w", o.Seed, dir, err)
	}
	verdict := Judge(record)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(o.Kills) == 0 {
		for _, l := range record.Lives {
			t.points.add(l)
		}
	}
	t.report.add(record, verdict, o, dir)
	t.c.Log("%s", t.report.line())
	if len(verdict.Violations) == 0 {
		return os.RemoveAll(dir)
	}
	return nil
}
