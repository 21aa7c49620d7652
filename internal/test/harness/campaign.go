package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// Campaign is a series of runs with kills of all kinds.
type Campaign struct {
	Client   string        // of all runs; empty: Terminal
	Store    string        // Postgres, which is disturbed too; empty: a data file
	Seed     int64         // of the first run; the next ones count up
	Kills    int           // end after so many; 0: no end
	For      time.Duration // end after this time; 0: no end
	Parallel int           // runs at once; 0: 8, or 10 where they wait for platforms
	Fault    string        // planted faults
	Patience time.Duration // of each run
	First    bool          // end at the first violation
	Want     []string      // of one of these rules; none: of any
	// Learn is how many runs without kills come first, to find out which
	// failpoints there are and how long a life lasts; 0: 4. Points skips them.
	Learn  int
	Points Points
	Span   time.Duration                 // of a life, where Points are given; 0: 2 s
	Paused bool                          // each run is killed once, soon after everything was paused
	Log    func(format string, a ...any) // progress; nil: none
}

// Points are the failpoints that runs pass, with the most hits in one life.
type Points map[string]int

func (p Points) add(l record.Life) {
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
		c.Parallel = 8
		if c.Client == record.Telegram || c.Client == record.Slack {
			c.Parallel = 10 // they wait for their turn most of the time
		}
	}
	if c.Learn == 0 {
		c.Learn = 4
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	c.Client = cmp.Or(c.Client, record.Terminal)
	t := &campaignRun{h: h, c: c, report: newReport(c), next: c.Seed, points: maps.Clone(c.Points), span: cmp.Or(c.Span, 2*time.Second)}
	var err error
	if t.server, err = OpenStore(c.Store); err != nil {
		return t.report, err
	}
	defer t.server.Close()
	if err := t.learn(ctx); err != nil {
		return t.report, err
	}
	t.report.Points, t.report.Span = t.points, t.span
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

// campaignRun is a campaign in progress.
type campaignRun struct {
	h      *Harness
	c      Campaign
	server *Server // nil: data files

	mu     sync.Mutex
	report *Report
	points Points
	span   time.Duration // of a life without a kill
	lived  []time.Duration
	next   int64
}

// learn does runs without kills, to find the failpoints.
func (t *campaignRun) learn(ctx context.Context) error {
	if t.points != nil {
		return nil
	}
	t.points = Points{}
	var runs sync.WaitGroup
	failed := make([]error, t.c.Learn)
	for i := range failed {
		runs.Go(func() {
			failed[i] = t.run(ctx, t.newOrder())
		})
	}
	runs.Wait()
	if len(t.lived) > 0 {
		t.span = slices.Sorted(slices.Values(t.lived))[len(t.lived)/2]
	}
	return errors.Join(failed...)
}

// newOrder is the order of the next run, without kills.
func (t *campaignRun) newOrder() Order {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next++
	return Order{Seed: t.next - 1, Client: t.c.Client, Fault: t.c.Fault, Patience: t.c.Patience, Server: t.server}
}

func (t *campaignRun) over() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.c.Kills > 0 && t.report.Kills >= t.c.Kills ||
		t.c.For > 0 && time.Since(t.report.Began) >= t.c.For ||
		t.c.First && t.found()
}

// found reports whether a wanted violation was seen.
func (t *campaignRun) found() bool {
	rules := t.report.Rules()
	return len(rules) > 0 && (len(t.c.Want) == 0 || slices.ContainsFunc(rules, func(rule string) bool { return slices.Contains(t.c.Want, rule) }))
}

// order chooses the kills of the next run: two to five, half of them at
// failpoints, some soon after something was seen, the others at random moments.
// Kills after the first one come early in their lives.
func (t *campaignRun) order() Order {
	o := t.newOrder()
	if t.c.Paused {
		o.Kills = []Kill{{After: math.MaxInt32}} // so that only the pause ends the life, see noticed
		return o
	}
	random := rand.New(rand.NewPCG(uint64(o.Seed), 2))
	t.mu.Lock()
	defer t.mu.Unlock()
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(t.points)), func(name string) bool {
		return t.c.Client == record.API && strings.HasPrefix(name, "telegram.") // its own client has these
	})
	for range 2 + random.IntN(4) {
		span, soon := t.span.Round(time.Millisecond), len(o.Kills) > 0
		if soon {
			span /= 2
		}
		k := Kill{At: time.Duration(random.Int64N(int64(span))).Round(time.Millisecond) + time.Millisecond}
		switch kind := random.IntN(10); {
		case kind < 5 && len(names) > 0:
			name := names[(int(o.Seed)*3+len(o.Kills))%len(names)] // each gets its kills
			most := t.points[name]
			if soon {
				most = min(most, 3)
			}
			k = Kill{Point: fmt.Sprintf("%s:%d", name, 1+random.IntN(most)), At: span} // it may not come there
		case kind < 7:
			after := 1 + random.IntN(60)
			if soon {
				after = 1 + random.IntN(12)
			}
			k = Kill{After: after, Delay: time.Duration(random.IntN(15000)) * time.Microsecond}
		}
		o.Kills = append(o.Kills, k)
	}
	return o
}

// run does and judges one run.
func (t *campaignRun) run(ctx context.Context, o Order) error {
	run, dir, err := t.h.Run(ctx, o)
	if ctx.Err() != nil {
		return nil // what a run that was cut off has done says nothing
	}
	if err != nil {
		return fmt.Errorf("running seed %d in %s: %w", o.Seed, dir, err)
	}
	verdict := judge.Check(run)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(o.Kills) == 0 {
		for _, l := range run.Lives {
			t.points.add(l)
			t.lived = append(t.lived, l.End.Sub(l.Start))
		}
	}
	t.report.add(run, verdict, o, dir)
	t.c.Log("%s", t.report.line())
	if len(verdict.Violations) == 0 {
		return os.RemoveAll(dir)
	}
	var text strings.Builder // for people who look before the report
	for _, v := range verdict.Violations {
		fmt.Fprintln(&text, v)
	}
	return os.WriteFile(filepath.Join(dir, "violations.txt"), []byte(text.String()), 0o600)
}
