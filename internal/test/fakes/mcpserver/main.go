// Mcpserver is an MCP server for tests: on standard input and output, or on
// -http and -sse addresses; of revision 2026-07-28, older ones or both; strict
// about what clients send, well behaved by default, and misbehaving in one
// chosen way by -fault or by the tools that -faults offers. -help lists all
// faults.
//
// Its tools are lookup {key} (only reads), book {item} (changes something and
// must not be repeated) and slow {ms}; with -full also tools that ask people,
// show progress and return media, with resources and prompts; with -counter also
// pay {order}, and choose {key}, which asks a person for a colour; with -jobs also
// build {item, steps}, which runs only as a task of the protocol.
//
// With -log it appends what happens to a file, synced before it goes on, so
// that a judge can tell what was really called. The lines are JSON objects:
// {"time", "pid", "event", "id", "tool", "arguments", "note"}, with the events
// call, done, cancelled, asked (a question went to the client), told (its
// answer came), fault, session (a session began or ended) and violation (the
// client broke the protocol; note says how).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// options are the flags.
type options struct {
	fault, on            string
	after, times         int
	faults, full, stream bool
	aside, counter, jobs bool
	delay                time.Duration
	era, supports        string
	http, sse, addrFile  string
	token, to, login     string
	logFile, pidFile     string
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("mcpserver", flag.ContinueOnError)
	flags.StringVar(&o.fault, "fault", "", "misbehave in one of the ways below")
	flags.StringVar(&o.on, "on", "", "the method that the fault is about, \"*\" for all, GET or DELETE for requests without a message (default: as in the table)")
	flags.IntVar(&o.after, "after", 0, "let the first `N` messages of that method through")
	flags.IntVar(&o.times, "times", 0, "misbehave `N` times, then be good (0: always)")
	flags.BoolVar(&o.faults, "faults", false, "offer the misbehaving tools")
	flags.BoolVar(&o.full, "full", false, "offer all well-behaved tools, resources and prompts")
	flags.BoolVar(&o.stream, "stream", false, "give the answers of faults on -http as event streams, not as JSON bodies")
	flags.BoolVar(&o.counter, "counter", false, "offer pay and choose as well")
	flags.BoolVar(&o.jobs, "jobs", false, "offer build as well")
	flags.BoolVar(&o.aside, "aside", false, "ask clients of the legacy era on the stream of their GET, not on that of the call")
	flags.DurationVar(&o.delay, "delay", 0, "wait before reading anything, or before listening")
	flags.StringVar(&o.era, "era", "both", "modern (2026-07-28), legacy (before it) or both")
	flags.StringVar(&o.supports, "supported", "", "the revisions that -fault unsupported lists, with commas between them (default: those of the era)")
	flags.StringVar(&o.http, "http", "", "serve streamable HTTP at `ADDR`, path /mcp")
	flags.StringVar(&o.sse, "sse", "", "serve HTTP+SSE of 2024-11-05 at `ADDR`, path /sse")
	flags.StringVar(&o.addrFile, "addrfile", "", "write the URL to this file once it is known; it is also the first line on stderr")
	flags.StringVar(&o.token, "token", "", "answer 401 to HTTP requests without this bearer token")
	flags.StringVar(&o.to, "to", "http://127.0.0.2:1/mcp", "where -fault redirect leads")
	flags.StringVar(&o.login, "login", "https://shop.example.com/login?next=%2Fpay&id=7#top", "the address that ask_url asks people to open")
	flags.StringVar(&o.logFile, "log", "", "append what happens to this file")
	flags.StringVar(&o.pidFile, "pidfile", "", "where -fault child writes the grandchild's process id")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Mcpserver is an MCP server for tests. Flags:")
		flags.PrintDefaults()
		help(flags.Output())
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.check()
}

func (o options) check() error {
	switch {
	case !slices.Contains([]string{"modern", "legacy", "both"}, o.era):
		return fmt.Errorf("-era %q: want modern, legacy or both", o.era)
	case o.http != "" && o.sse != "":
		return errors.New("-http and -sse: want one of them")
	case o.sse != "" && o.era == "modern":
		return errors.New("-sse has no modern era")
	case o.fault == "":
		return nil
	}
	fault, ok := find(o.fault)
	switch {
	case !ok:
		return fmt.Errorf("-fault %q: there is no such fault; -help lists them", o.fault)
	case fault.only == onHTTP && o.http == "" && o.sse == "":
		return fmt.Errorf("-fault %q needs -http or -sse", o.fault)
	}
	return nil
}

func main() {
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o options) error {
	j, err := openJournal(o.logFile)
	if err != nil {
		return err
	}
	f := newFake(o, j)
	switch {
	case o.http != "":
		return f.serveHTTP(o.http)
	case o.sse != "":
		return f.serveSSE(o.sse)
	default:
		return f.serveStdio(os.Stdin, os.Stdout)
	}
}

// versions are the revisions of the era, newest first.
func (o options) versions() []string {
	var list []string
	for _, v := range mcp.ValidProtocolVersions {
		if o.era == "both" || (o.era == "modern") == mcp.IsModernProtocol(v) {
			list = append(list, v)
		}
	}
	return list
}
