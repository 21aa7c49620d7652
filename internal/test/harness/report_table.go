package harness

import (
	"fmt"
	"strings"
	"time"
)

// Table sets reports of several fronts side by side, in Markdown.
func Table(reports ...*Report) string {
	rows := []struct {
		name string
		cell func(r *Report) string
	}{
		{"", func(r *Report) string { return r.Front }},
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
