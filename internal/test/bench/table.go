package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// figure is one line of the table.
type figure struct {
	name     string
	measured string
	limit    string // empty: only told, never missed
	machine  string // what the machine does without legwork, in this run
	ok       bool
}

// within makes the figure of a duration that must not be longer than limit.
func within(name string, got, limit time.Duration, machine string) figure {
	return figure{name: name, measured: short(got), limit: short(limit), machine: machine, ok: got <= limit}
}

// printTable writes Markdown and returns how many figures are missed.
func printTable(out io.Writer, figures []figure) (missed int) {
	rows := [][]string{{"figure", "measured", "limit", "the machine itself", ""}}
	for _, f := range figures {
		verdict := "ok"
		switch {
		case f.limit == "":
			verdict = ""
		case !f.ok:
			verdict = "MISSED"
			missed++
		}
		rows = append(rows, []string{f.name, f.measured, f.limit, f.machine, verdict})
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range rows {
		for i, cell := range row {
			fmt.Fprintf(out, "| %s%s ", cell, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		fmt.Fprintln(out, "|")
		if n == 0 {
			for _, w := range widths {
				fmt.Fprintf(out, "| %s ", strings.Repeat("-", w))
			}
			fmt.Fprintln(out, "|")
		}
	}
	fmt.Fprintf(out, "\n%d missed\n", missed)
	return missed
}

// short writes a duration with three digits at most.
func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", float64(d)/1e6)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	if d >= 10*time.Microsecond {
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	}
	return fmt.Sprintf("%.1f µs", float64(d)/1e3)
}

// percentile of durations in any order; p is between 0 and 1.
func percentile(took []time.Duration, p float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[min(int(float64(len(sorted))*p), len(sorted)-1)]
}

func median(took []time.Duration) time.Duration { return percentile(took, 0.5) }
