package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// Report sums up a campaign.
type Report struct {
	Client    string
	Store     string // as in Campaign
	Seed      int64  // of the first run
	Began     time.Time
	Took      time.Duration
	Runs      int
	Kills     int
	AtPoints  map[string]int   // kills by failpoint
	By        map[string]*Cost // what kills of each kind cost
	Questions int
	Answers   int
	Doubles   int // answers that came twice, in the window that allows it
	Torn      int // likewise, because the platform's reply to the first was lost
	Orphans   int // boards and questions that stay as they were, for the same reasons
	Costs     int // questions about what tasks cost
	Decisions int // that people were to make
	CardsMore int // questions that came twice, because a kill fell between sending and storing or the reply was lost
	Unknown   int // bookings and payments whose outcome a kill hid
	ModelLost int // model calls that kills cost, together
	ModelMost int // and at most by one kill
	ToolsLost int
	Disturbed map[string]int // how often databases were disturbed, by the kind
	Lost      int            // lives that ended because of that
	Points    Points
	Span      time.Duration // of a life without a kill
	Broken    []Broken
}

// Cost is what kills of one kind cost because they fell between sending a
// message and storing that it was sent.
type Cost struct {
	Kills   int
	Doubled int // answers that were shown twice
	Left    int // boards and questions that stayed, or came twice
}

// Broken is a run with violations.
type Broken struct {
	Client     string
	Store      string
	Seed       int64
	Kills      []Kill
	Dir        string
	Violations []judge.Violation
}

// again returns the arguments that repeat the run, as far as chance allows.
func (b Broken) again() string {
	args := fmt.Sprintf("-client %s -seed %d", b.Client, b.Seed)
	if b.Store != "" {
		args += " -store " + b.Store
	}
	kills := make([]string, 0, len(b.Kills))
	for _, k := range b.Kills {
		kills = append(kills, k.String())
	}
	if len(kills) > 0 {
		args += " -at " + strings.Join(kills, ",")
	}
	return args
}

func newReport(c Campaign) *Report {
	r := &Report{Client: c.Client, Store: c.Store, Seed: c.Seed, Began: time.Now(), AtPoints: map[string]int{}, By: map[string]*Cost{}, Disturbed: map[string]int{}}
	for _, kind := range []string{aimedKill, soonKill, randomKill} {
		r.By[kind] = &Cost{}
	}
	return r
}

func (r *Report) add(run record.Record, v judge.Verdict, o Order, dir string) {
	r.Runs++
	for i, l := range run.Lives {
		if l.Killed && i < len(o.Kills) {
			r.killed(o.Kills[i], l, v.Doubled[i], v.Left[i])
		}
		if l.Lost {
			r.Lost++
		}
	}
	for kind, n := range run.Disturbed {
		r.Disturbed[kind] += n
	}
	for _, in := range run.Inputs {
		switch {
		case in.Question():
			r.Questions++
		case in.Kind == record.Decide:
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
	r.Costs += v.Overdrawn
	r.CardsMore += v.CardsAgain
	r.ToolsLost += v.LostTools
	if len(v.Violations) > 0 {
		r.Broken = append(r.Broken, Broken{Client: r.Client, Store: r.Store, Seed: o.Seed, Kills: o.Kills, Dir: dir, Violations: v.Violations})
	}
}

// killed counts a kill and what it cost.
func (r *Report) killed(k Kill, l record.Life, doubled, left int) {
	r.Kills++
	kind := k.kind(l)
	if name, _, ok := cutPoint(k.Point); ok && kind == aimedKill {
		r.AtPoints[name]++
	}
	c := r.By[kind]
	c.Kills++
	c.Doubled += doubled
	c.Left += left
}

// Window is the share of kills at random moments, in percent, that fell between
// sending an answer and storing that it was sent, so that it came twice.
func (r *Report) Window() float64 {
	c := r.By[randomKill]
	return 100 * float64(c.Doubled) / float64(max(1, c.Kills))
}

func (r *Report) line() string {
	return fmt.Sprintf("%s: %d runs, %d kills, %d with violations", r.Client, r.Runs, r.Kills, len(r.Broken))
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

// String is the whole report.
func (r *Report) String() string {
	return Table(r) + "\n" + r.Details()
}

// Details tell where the kills fell, and how to repeat what went wrong.
func (r *Report) Details() string {
	text := r.boundaries()
	for _, broken := range r.Broken {
		text += fmt.Sprintf("%s; repeat it: go run ./internal/test/harness/soak %s\n", broken.Dir, broken.again())
		for _, v := range broken.Violations {
			text += fmt.Sprintf("  %s\n", v)
		}
	}
	return text
}

// boundaries lists how often kills fell at each.
func (r *Report) boundaries() string {
	list := make([]string, 0, len(r.Points))
	for _, name := range slices.Sorted(maps.Keys(r.Points)) {
		list = append(list, fmt.Sprintf("%s %d", name, r.AtPoints[name]))
	}
	return "Kills at boundaries in " + r.Client + ": " + strings.Join(list, ", ") + ".\n"
}

// Table sets reports of several clients side by side, in Markdown.
func Table(reports ...*Report) string {
	type row struct {
		name string
		cell func(r *Report) string
	}
	rows := []row{
		{"", func(r *Report) string { return r.Client }},
		{"---", func(*Report) string { return "---" }},
		{"took", func(r *Report) string { return r.Took.Round(time.Second).String() }},
		{"runs, of seeds from", func(r *Report) string { return fmt.Sprintf("%d, %d", r.Runs, r.Seed) }},
		{"kills", func(r *Report) string { return fmt.Sprint(r.Kills) }},
		{"of them at a boundary", func(r *Report) string {
			return fmt.Sprintf("%d, at %d of %d", r.By[aimedKill].Kills, len(r.AtPoints), len(r.Points))
		}},
		{"soon after something was seen", func(r *Report) string { return fmt.Sprint(r.By[soonKill].Kills) }},
		{"at random moments", func(r *Report) string { return fmt.Sprint(r.By[randomKill].Kills) }},
		{"runs with violations", func(r *Report) string { return fmt.Sprint(len(r.Broken)) }},
		{"questions, answers", func(r *Report) string { return fmt.Sprintf("%d, %d", r.Questions, r.Answers) }},
		{"decisions about calls, answers to servers", func(r *Report) string { return fmt.Sprint(r.Decisions) }},
		{"questions about what a plan may cost, and about budgets that were reached", func(r *Report) string { return fmt.Sprint(r.Costs) }},
		{"answers shown twice, because the kill fell between sending and storing that it was sent", func(r *Report) string { return fmt.Sprint(r.Doubles) }},
		{"by kills at a boundary, soon after something was seen, at random moments", func(r *Report) string {
			return fmt.Sprintf("%d, %d, %d", r.By[aimedKill].Doubled, r.By[soonKill].Doubled, r.By[randomKill].Doubled)
		}},
		{"share of the kills at random moments that did so", func(r *Report) string { return fmt.Sprintf("%.2f %%", r.Window()) }},
		{"answers shown twice, because the platform's reply was lost", func(r *Report) string { return fmt.Sprint(r.Torn) }},
		{"questions to decide that were shown twice for one of these reasons", func(r *Report) string { return fmt.Sprint(r.CardsMore) }},
		{"boards and such questions left for one of these reasons", func(r *Report) string { return fmt.Sprint(r.Orphans) }},
		{"model calls lost, and at most by one kill: those in flight", func(r *Report) string { return fmt.Sprintf("%d, %d", r.ModelLost, r.ModelMost) }},
		{"tool calls repeated, all in flight at a kill and marked as repeatable", func(r *Report) string { return fmt.Sprint(r.ToolsLost) }},
		{"bookings and payments (not repeatable) with unknown outcome, none of them made again", func(r *Report) string { return fmt.Sprint(r.Unknown) }},
	}
	if slices.ContainsFunc(reports, func(r *Report) bool { return r.Store != "" }) {
		for _, kind := range record.Disturbances() {
			rows = append(rows, row{"Postgres: " + kind, func(r *Report) string { return fmt.Sprint(r.Disturbed[kind]) }})
		}
		rows = append(rows, row{"legwork ended because it had no database", func(r *Report) string { return fmt.Sprint(r.Lost) }})
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, r := range reports {
			fmt.Fprintf(&b, " %s |", row.cell(r))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
