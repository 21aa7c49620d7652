// Command bench measures what legwork promises to reach and prints one table:
// each figure next to its limit and to what the machine itself can do, measured
// in the same run.
//
//	go run ./internal/test/bench [-strict] [-only NAME,NAME] [-messages N]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"legwork/files/read"
)

// part is one group of figures.
type part struct {
	name    string
	measure func(ctx context.Context, dir string) ([]figure, error)
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == read.Command { // the process that reads a file
		if err := read.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	strict := flag.Bool("strict", false, "exit with 1 when a figure is missed")
	only := flag.String("only", "", "measure only these parts, separated by commas")
	messages := flag.Int("messages", 1_000_000, "messages in the store whose history is read")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if group := os.Getenv(manyServer); group != "" {
		if err := servePapers(group); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	list, err := chosen(parts(*messages), *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	if *profile != "" {
		file, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench: starting profile:", err)
			os.Exit(1)
		}
	}
	missed, err := run(ctx, os.Stdout, os.Stderr, list)
	stop()
	pprof.StopCPUProfile()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || missed > 0 && *strict {
		os.Exit(1)
	}
}

// parts lists everything in the order of the table.
func parts(messages int) []part {
	return []part{
		{"parallel", measureParallel},
		{"question", measureQuestion},
		{"watched", measureWatched},
		{"feedback", measureFeedback},
		{"chats", measureManyChats},
		{"order", measureOrder},
		{"intake", measureIntake},
		{"history", func(ctx context.Context, dir string) ([]figure, error) { return measureHistory(ctx, dir, messages) }},
		{"reads", measureReads},
		{"followers", measureFollowers},
		{"append", measureAppend},
		{"reserve", measureReserve},
		{"postgres", measurePostgres},
		{"tools", measureTools},
		{"connections", measureConnections},
		{"prompts", measureMany},
		{"process", measureProcess},
		{"serve", measureServe},
		{"idle", measureIdle},
		{"load", measureLoad},
		{"files", measureFiles},
		{"page", measurePage},
		{"burst", measureBurst},
		{"stop", measureStop},
		{"fold", measureFold},
		{"plan", measurePlan},
		{"render", measureRender},
	}
}

// chosen are the parts that only names, separated by commas; all when it is empty.
func chosen(all []part, only string) ([]part, error) {
	if only == "" {
		return all, nil
	}
	var list []part
	for name := range strings.SplitSeq(only, ",") {
		at := slices.IndexFunc(all, func(p part) bool { return p.name == name })
		if at < 0 {
			var names []string
			for _, p := range all {
				names = append(names, p.name)
			}
			return nil, fmt.Errorf("there is no part %q, only %s", name, strings.Join(names, ", "))
		}
		list = append(list, all[at])
	}
	return list, nil
}

// run measures and prints. It returns how many figures are missed. A part that
// cannot be measured takes nothing from the others.
func run(ctx context.Context, out, progress io.Writer, list []part) (missed int, err error) {
	began := time.Now()
	var all []figure
	for _, p := range list {
		if ctx.Err() != nil {
			return 0, errors.Join(err, ctx.Err())
		}
		fmt.Fprintf(progress, "measuring %s …\n", p.name)
		figures, failed := measureIn(ctx, p)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("measuring %s: %w", p.name, failed))
		}
		all = append(all, figures...)
	}
	fmt.Fprintf(out, "%s, %s/%s, %d cores, %s; medians unless said otherwise\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Since(began).Round(time.Second))
	return printTable(out, all), err
}

// measureIn gives a part a folder of its own.
func measureIn(ctx context.Context, p part) ([]figure, error) {
	dir, err := os.MkdirTemp("", "legwork-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	return p.measure(ctx, dir)
}
