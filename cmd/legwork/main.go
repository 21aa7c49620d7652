// Command legwork answers questions by doing the legwork: it plans, runs
// sub-tasks with tools, and writes the answer. This package holds the flags of the
// command line; package app does the work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"legwork/app"
	"legwork/app/cli"
	"legwork/conf"
	"legwork/files/write"
)

// commands is the command line. Each command is a type with a Run method.
type commands struct {
	Demo    demoCommand    `cmd:"" help:"Try it: no config, no keys, no network. With a question: answer it; without: chat."`
	Init    initCommand    `cmd:"" help:"Ask questions, try each answer at once, and write a first config file."`
	Serve   serveCommand   `cmd:"" help:"Run the bot on the configured chat platforms, and the API."`
	Chat    chatCommand    `cmd:"" help:"Chat in the terminal with the configured models and tools, or answer one question."`
	Check   checkCommand   `cmd:"" help:"Check the configuration and print all mistakes in it."`
	Schema  schemaCommand  `cmd:"" help:"Print the JSON Schema of the config file."`
	Plan    planCommand    `cmd:"" help:"Read a model's reply on standard input and print the plan in it."`
	Render  renderCommand  `cmd:"" help:"Read Markdown on standard input and print the messages that would be sent."`
	Tools   toolsCommand   `cmd:"" help:"List and call tools without a model."`
	MCP     mcpCommand     `cmd:"" name:"mcp" help:"Serve a built-in tool server on standard input and output."`
	Slack   slackCommand   `cmd:"" help:"Print the app manifest for Slack."`
	Token   tokenCommand   `cmd:"" help:"Make tokens with which programs use the API."`
	Pause   pauseCommand   `cmd:"" help:"Pause all work: legwork calls no model and no tool until you resume it."`
	Resume  resumeCommand  `cmd:"" help:"Resume paused work."`
	Version versionCommand `cmd:"" help:"Print the version, the commit and the Go version."`
	Data    dataCommand    `cmd:"" help:"Back up, verify, compact, forget, restore and copy the stored data."`
	Reader  readerCommand  `cmd:"" name:"read-file" hidden:""`
	Sandbox sandboxCommand `cmd:"" hidden:""`
}

// The exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitMisuse = 2
)

// exitTime is how long the process may take to end after a signal. The parts of a
// command have less, so that the log can say which of them did not stop.
const exitTime = app.StopTime + time.Second/2

func main() {
	surviveFileLimit()
	write.DropPlotFonts()
	ctx, stop := untilSignal()
	var env conf.Environment
	code := run(ctx, os.Args[1:], cli.Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: env.Lookup, Hide: env.Hide})
	stop()
	os.Exit(code)
}

// untilSignal returns a context that ends with the first signal to stop. After
// that, the next signal or exitTime ends the process at once.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(exitTime, func() {
			fmt.Fprintln(os.Stderr, "legwork: it did not stop in time; unfinished tasks continue at the next start")
			os.Exit(exitFailed)
		})
	})
	return ctx, stop
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, c cli.Console) int {
	var line commands
	exited := -1 // the exit code when kong is done, for example after --help
	parser, err := kong.New(&line,
		kong.Name("legwork"),
		kong.Description("Ask, and it does the legwork."),
		kong.Writers(c.Out, c.Err),
		kong.Exit(func(code int) { exited = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return finish(c, fmt.Errorf("building the command line: %w", err))
	}
	parsed, err := parser.Parse(args)
	switch {
	case exited >= 0:
		return exited
	case err != nil:
		return finish(c, cli.MisuseError(err.Error()+`; see "legwork --help" and "legwork COMMAND --help"`))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return finish(c, parsed.Run(c))
}

// finish prints the error of a command and returns its exit code.
func finish(c cli.Console, err error) int {
	var wrong cli.MisuseError
	var config conf.Errors
	c.Err = cli.Wrapping(c.Err)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, cli.ErrFailed):
	case errors.As(err, &wrong):
		fmt.Fprintln(c.Err, "legwork:", wrong)
		return exitMisuse
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(c.Err, "legwork: interrupted")
	case errors.As(err, &config):
		fmt.Fprintln(c.Err, config)
	default:
		fmt.Fprintln(c.Err, "legwork:", err)
	}
	return exitFailed
}
