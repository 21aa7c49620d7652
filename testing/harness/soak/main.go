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
	flag.Int64Var(&c.Seed, "seed", 1, "seed of the first run")
	flag.IntVar(&c.Kills, "kills", 0, "end after so many kills")
	flag.DurationVar(&c.For, "for", 0, "end after this time")
	flag.IntVar(&c.Parallel, "parallel", 3, "runs at once")
	flag.StringVar(&c.Fault, "fault", "", "planted faults, separated by commas")
	flag.BoolVar(&c.First, "first", false, "end at the first violation")
	at := flag.String("at", "", "do only the run of the seed, with these kills, such as commit.after.replied:2,12+3ms")
	binary := flag.String("main", "./cmd/legwork", "package of the binary to be killed")
	flag.Parse()
	if c.Kills == 0 && c.For == 0 {
		c.For = 10 * time.Minute
	}
	code, err := soak(c, *binary, *at)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func soak(c harness.Campaign, binary, at string) (int, error) {
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
		return repeat(ctx, h, c, at)
	}
	report, err := h.Campaign(ctx, c)
	if err != nil && ctx.Err() == nil {
		return 1, err
	}
	fmt.Print(report)
	if len(report.Broken) > 0 {
		return 1, nil
	}
	return 0, os.RemoveAll(dir)
}

// repeat does one run and keeps its folder.
func repeat(ctx context.Context, h *harness.Harness, c harness.Campaign, at string) (int, error) {
	kills, err := harness.ParseKills(at)
	if err != nil {
		return 2, err
	}
	record, dir, err := h.Run(ctx, harness.Order{Seed: c.Seed, Kills: kills, Fault: c.Fault})
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
