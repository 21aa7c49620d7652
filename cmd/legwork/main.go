// Command legwork answers questions by doing the legwork: it plans, runs
// sub-tasks with tools, and writes the answer. This package holds the command
// line and the wiring, no logic.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"legwork/conf"
)

// commands is the command line. Each command is a type with a Run method in a
// file of its own.
type commands struct {
	Demo    demoCommand    `cmd:"" help:"Try it: no config, no keys, no network. With a question: answer it; without: chat."`
	Init    initCommand    `cmd:"" help:"Make a first config file by questions; each answer is tried at once."`
	Serve   serveCommand   `cmd:"" help:"Serve the configured chat platforms until it is told to stop."`
	Chat    chatCommand    `cmd:"" help:"Chat in the terminal with the configured models and tools, or answer one question."`
	Check   checkCommand   `cmd:"" help:"Check the configuration and tell everything that is wrong with it."`
	Schema  schemaCommand  `cmd:"" help:"Print the JSON Schema of the config file."`
	Plan    planCommand    `cmd:"" help:"Read a model's reply on standard input and print the plan in it."`
	Render  renderCommand  `cmd:"" help:"Read Markdown on standard input and print the messages that would be sent."`
	Tools   toolsCommand   `cmd:"" help:"List and call tools apart from any model."`
	MCP     mcpCommand     `cmd:"" name:"mcp" help:"Serve a built-in tool server on standard input and output."`
	Slack   slackCommand   `cmd:"" help:"What Slack needs to know of the app."`
	Token   tokenCommand   `cmd:"" help:"Tokens that let programs use the API."`
	Pause   pauseCommand   `cmd:"" help:"Stop all work: no model and no tool is called until it is resumed."`
	Resume  resumeCommand  `cmd:"" help:"Let everything go on."`
	Version versionCommand `cmd:"" help:"Print the version, the commit and the Go version."`
	Data    dataCommand    `cmd:"" help:"Back up, verify, compact, forget and restore the stored data."`
	ReadPDF readPDFCommand `cmd:"" name:"read-pdf" hidden:""`
}

// console is what a command has to do with the outside.
type console struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) (string, bool)
}

// The exit codes of every command.
const (
	exitDone   = 0
	exitFailed = 1
	exitMisuse = 2
)

// errFailed ends a command with exitFailed when it has said why already.
var errFailed = errors.New("failed")

// misuse is an error in how a command was called. It says what to do instead
// and ends the command with exitMisuse.
type misuse string

func (m misuse) Error() string { return string(m) }

// exitTime is how long after a signal the process is there at most: the parts of
// a command have less, so that they can say which of them did not end.
const exitTime = stopTime + time.Second/2

func main() {
	surviveFileLimit()
	ctx, stop := untilSignal()
	code := run(ctx, os.Args[1:], console{os.Stdin, os.Stdout, os.Stderr, os.LookupEnv})
	stop()
	os.Exit(code)
}

// untilSignal is a context that ends when the process is to stop. From then on the
// next signal ends the process at once, and so does exitTime.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() {
		stop()
		time.AfterFunc(exitTime, func() {
			fmt.Fprintln(os.Stderr, "legwork: it did not stop in time; what was cut off goes on at the next start")
			os.Exit(exitFailed)
		})
	})
	return ctx, stop
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, c console) int {
	var line commands
	left := -1 // the exit code when kong is done, as after --help
	parser, err := kong.New(&line,
		kong.Name("legwork"),
		kong.Description("Ask, and it does the legwork."),
		kong.Writers(c.out, c.err),
		kong.Exit(func(code int) { left = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		return finish(c, fmt.Errorf("reading the command line's own definition: %w", err))
	}
	parsed, err := parser.Parse(args)
	switch {
	case left >= 0:
		return left
	case err != nil:
		return finish(c, misuse(err.Error()+`; "legwork --help" and "legwork COMMAND --help" tell what there is`))
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	return finish(c, parsed.Run(c))
}

// finish turns the error of a command into words and an exit code.
func finish(c console, err error) int {
	var wrong misuse
	var config conf.Errors
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errFailed):
	case errors.As(err, &wrong):
		fmt.Fprintln(c.err, "legwork:", wrong)
		return exitMisuse
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(c.err, "legwork: interrupted")
	case errors.As(err, &config):
		fmt.Fprintln(c.err, config)
	default:
		fmt.Fprintln(c.err, "legwork:", err)
	}
	return exitFailed
}
