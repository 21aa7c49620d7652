// Command soak kills legwork for a given time or number of kills, or runs it
// without kills under a constant load, and prints a report in Markdown. The exit
// code is 1 when a promise was broken or something grew. See package harness.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"legwork/internal/test/harness"
	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// order holds the flags.
type order struct {
	campaign harness.Campaign
	clients  []string
	at       string // the kills of a single run
	binary   string
	steady   time.Duration
	warm     time.Duration
}

func main() {
	code, err := soak(read())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func read() order {
	o := order{}
	client := flag.String("client", "all", "terminal, telegram, slack, api, web or all, one after the other, with as many of the kills each")
	flag.StringVar(&o.campaign.Store, "store", "", "postgres: a database on a server that is killed and cut off too; empty: a data file")
	flag.Int64Var(&o.campaign.Seed, "seed", 1, "seed of the first run: one that is higher than those of the reports before goes on")
	flag.IntVar(&o.campaign.Kills, "kills", 0, "end after so many kills")
	flag.DurationVar(&o.campaign.For, "for", 0, "end each client after this time")
	flag.IntVar(&o.campaign.Parallel, "parallel", 0, "runs at once; 0: as many as the client bears")
	flag.StringVar(&o.campaign.Fault, "fault", "", "planted faults, separated by commas")
	flag.DurationVar(&o.campaign.Patience, "patience", 0, "after which silence a life counts as hung; 0: 30s")
	flag.BoolVar(&o.campaign.First, "first", false, "end at the first violation")
	flag.StringVar(&o.at, "at", "", "do only the run of the seed, with these kills, such as commit.after.replied:2,12+3ms,@850ms")
	flag.StringVar(&o.binary, "main", "./cmd/legwork", "package of the binary to be killed")
	flag.DurationVar(&o.steady, "steady", 0, "kill nothing, and look for growth under a constant load for so long")
	flag.DurationVar(&o.warm, "warm", 0, "with -steady: samples before it do not count; 0: a sixth of it")
	flag.Parse()
	if o.campaign.Kills == 0 && o.campaign.For == 0 {
		o.campaign.For = 10 * time.Minute
	}
	o.clients = []string{*client}
	if *client == "all" {
		o.clients = record.Clients()
		o.campaign.Kills = (o.campaign.Kills + len(o.clients) - 1) / len(o.clients)
	}
	return o
}

func soak(o order) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "legwork-soak-")
	if err != nil {
		return 1, err
	}
	h, err := harness.Build(ctx, dir, o.binary)
	if err != nil {
		return 1, err
	}
	said := time.Now()
	o.campaign.Log = func(format string, a ...any) {
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			fmt.Fprintf(os.Stderr, format+"\n", a...)
		}
	}
	var code int
	switch {
	case o.at != "":
		o.campaign.Client = o.clients[0]
		return repeat(ctx, h, o.campaign, o.at)
	case o.steady > 0:
		code, err = steady(ctx, h, o)
	default:
		code, err = kill(ctx, h, o)
	}
	if code > 0 || err != nil {
		return code, err
	}
	return 0, os.RemoveAll(dir)
}

// kill does a campaign with each client and prints the reports side by side. An
// interrupt ends it with a report of what was done.
func kill(ctx context.Context, h *harness.Harness, o order) (code int, err error) {
	var reports []*harness.Report
	for _, client := range o.clients {
		o.campaign.Client = client
		report, err := h.Campaign(ctx, o.campaign)
		if err != nil && ctx.Err() == nil {
			return 1, err
		}
		o.campaign.Log("%s", report.Details())
		reports = append(reports, report)
		code = max(code, min(1, len(report.Broken)))
	}
	fmt.Println(harness.Table(reports...))
	for _, r := range reports {
		fmt.Println(r.Details())
	}
	return code, nil
}

// steady looks for growth.
func steady(ctx context.Context, h *harness.Harness, o order) (int, error) {
	report, err := h.Steady(ctx, harness.Steady{For: o.steady, Warm: o.warm, Seed: o.campaign.Seed, Log: o.campaign.Log})
	if err != nil {
		return 1, err
	}
	fmt.Println(report)
	return min(1, len(report.Grown())), nil
}

// repeat does one run and keeps its folder.
func repeat(ctx context.Context, h *harness.Harness, c harness.Campaign, at string) (int, error) {
	kills, err := harness.ParseKills(at)
	if err != nil {
		return 2, err
	}
	server, err := harness.OpenStore(c.Store)
	if err != nil {
		return 1, err
	}
	defer server.Close()
	record, dir, err := h.Run(ctx, harness.Order{Client: c.Client, Seed: c.Seed, Kills: kills, Fault: c.Fault, Patience: c.Patience, Server: server})
	if err != nil {
		return 1, err
	}
	verdict := judge.Check(record)
	fmt.Printf("%s: %d lives, %d violations\n", dir, len(record.Lives), len(verdict.Violations))
	for _, v := range verdict.Violations {
		fmt.Println(" ", v)
	}
	return min(1, len(verdict.Violations)), nil
}
