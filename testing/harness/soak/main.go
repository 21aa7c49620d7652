// Command soak kills legwork for as long as it is told to and prints a report;
// exit code 1 when a promise was broken. See package harness for what it does.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"legwork/testing/harness"
)

func main() {
	c := harness.Campaign{}
	front := flag.String("front", "all", "terminal, telegram, slack or all, one after the other")
	flag.Int64Var(&c.Seed, "seed", 1, "seed of the first run")
	flag.IntVar(&c.Kills, "kills", 0, "end after so many kills")
	flag.DurationVar(&c.For, "for", 0, "end after this time")
	flag.IntVar(&c.Parallel, "parallel", 0, "runs at once; 0: as many as the front bears")
	flag.StringVar(&c.Fault, "fault", "", "planted faults, separated by commas")
	flag.DurationVar(&c.Patience, "patience", 0, "after which silence a life counts as hung; 0: 30s")
	flag.BoolVar(&c.First, "first", false, "end at the first violation")
	at := flag.String("at", "", "do only the run of the seed, with these kills, such as commit.after.replied:2,12+3ms,@850ms")
	binary := flag.String("main", "./cmd/legwork", "package of the binary to be killed")
	flag.Parse()
	if c.Kills == 0 && c.For == 0 {
		c.For = 10 * time.Minute
	}
	fronts := []string{*front}
	if *front == "all" {
		fronts = harness.Fronts()
	}
	code, err := soak(c, fronts, *binary, *at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func soak(c harness.Campaign, fronts []string, binary, at string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "legwork-soak-")
	if err != nil {
		return 1, err
	}
	h, err := harness.Build(ctx, dir, binary)
	if err != nil {
		return 1, err
	}
	said := time.Now()
	c.Log = func(format string, a ...any) {
		if time.Since(said) > 5*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, format+"\n", a...)
		}
	}
	if at != "" {
		c.Front = fronts[0]
		return repeat(ctx, h, c, at)
	}
	code := 0
	for _, c.Front = range fronts {
		report, err := h.Campaign(ctx, c)
		if err != nil && ctx.Err() == nil {
			return 1, err
		}
		fmt.Println(report)
		code = max(code, min(1, len(report.Broken)))
	}
	if code > 0 {
		return code, nil
	}
	return 0, os.RemoveAll(dir)
}

// repeat does one run and keeps its folder.
func repeat(ctx context.Context, h *harness.Harness, c harness.Campaign, at string) (int, error) {
	kills, err := harness.ParseKills(at)
	if err != nil {
		return 2, err
	}
	record, dir, err := h.Run(ctx, harness.Order{Front: c.Front, Seed: c.Seed, Kills: kills, Fault: c.Fault, Patience: c.Patience})
	if err != nil {
		return 1, err
	}
	verdict := harness.Judge(record)
	fmt.Printf("%s: %d lives, %d violations\n", dir, len(record.Lives), len(verdict.Violations))
	for _, v := range verdict.Violations {
		fmt.Println(" ", v)
	}
	return min(1, len(verdict.Violations)), nil
}
