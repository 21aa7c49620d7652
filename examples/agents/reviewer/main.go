// Command reviewer is an external agent that works on a shared context of legwork.
// It finds sources for a goal, lets another agent write the text, checks the text,
// asks a person to review it, and submits the answer. It has no model and searches a
// small corpus of invented papers.
//
// It keeps everything in the shared state, so that it can be stopped and started
// again at any time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "reviewer:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, args []string, env func(string) string, out, log io.Writer) error {
	flags := flag.NewFlagSet("reviewer", flag.ContinueOnError)
	flags.SetOutput(log)
	task := flags.String("task", "", "id of a task that was started with \"run\": false")
	goal := flags.String("goal", "", "start a task with this goal instead, once; its id is printed")
	url := flags.String("url", "http://127.0.0.1:8080", "where legwork listens")
	if err := flags.Parse(args); err != nil {
		return err
	}
	token := env("LEGWORK_TOKEN")
	if token == "" || (*task == "") == (*goal == "") || flags.NArg() > 0 {
		return errors.New("set LEGWORK_TOKEN to a token of role agent, and give either -task ID or -goal TEXT")
	}
	if !strings.HasPrefix(*url, "http://") && !strings.HasPrefix(*url, "https://") {
		return errors.New("-url begins with http:// or https://")
	}
	c := &client{url: strings.TrimRight(*url, "/"), token: token, task: *task}
	c.log = func(format string, a ...any) { _, _ = fmt.Fprintf(log, "reviewer: "+format+"\n", a...) }
	if *goal != "" {
		if err := c.start(ctx, *goal); err != nil {
			return fmt.Errorf("starting a task: %w", err)
		}
		_, _ = fmt.Fprintln(out, c.task)
	}
	all, err := corpus()
	if err != nil {
		return fmt.Errorf("reading the corpus: %w", err)
	}
	return (&reviewer{client: c, corpus: all}).work(ctx)
}
