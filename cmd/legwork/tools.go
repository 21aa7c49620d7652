package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"legwork/bot"
	"legwork/conf"
	"legwork/internal/nearest"
	"legwork/tools/client"
)

// toolsCommand holds what works on tools apart from any model.
type toolsCommand struct {
	List   toolsListCommand   `cmd:"" help:"List groups, servers and tools, and which tools ask for approval or are held back."`
	Call   toolsCallCommand   `cmd:"" help:"Call one tool and print its result."`
	Accept toolsAcceptCommand `cmd:"" help:"Look at tools that their servers changed, and let them be used again."`
}

type toolsListCommand struct {
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	JSON   bool          `help:"For programs: one JSON object, with the schemas of all tools."`
	Wait   time.Duration `default:"10s" help:"How long a server may take to answer."`
}

// Run starts every server once and prints what the groups offer. It fails when
// a server cannot be used; the others are listed all the same.
func (command toolsListCommand) Run(ctx context.Context, c console) error {
	config, _, err := loadConfig(command.Config, c)
	if err != nil {
		return err
	}
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	i, err := take(ctx, config, recalled(ctx, config, c), command.Wait)
	if err != nil {
		return err
	}
	if command.JSON {
		fmt.Fprintln(c.out, toJSON(i))
	} else if err := i.print(c.out); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if i.failing() {
		return errFailed
	}
	return nil
}

// checkWait refuses a time in which no server could answer.
func checkWait(wait time.Duration) error {
	if wait < time.Second || wait > 10*time.Minute {
		return misuse(fmt.Sprintf("--wait %v is out of range; allowed: 1s to 10m", wait))
	}
	return nil
}

// recalled is what is known of the tools of a config. Without it a list is worth
// something still, so a problem is said and not returned.
func recalled(ctx context.Context, config *conf.Config, c console) remembered {
	pages, err := recall(ctx, config, slices.Sorted(maps.Keys(config.Tools.Servers)))
	if err != nil {
		fmt.Fprintln(c.err, "legwork: it cannot be told which tools were changed by their servers:", err)
	}
	return pages
}

// print writes the groups with their tools, then the servers.
func (i inventory) print(out io.Writer) error {
	if len(i.Groups) == 0 {
		_, err := fmt.Fprintln(out, "No servers and no groups are configured; config.example.yaml shows how.")
		return err
	}
	for _, g := range i.Groups {
		fmt.Fprintf(out, "%s: %s\n", g.Name, line(g.Description))
		if len(g.Allow) > 0 && !slices.Contains(g.Allow, "*") {
			fmt.Fprintf(out, "  for %s\n", strings.Join(g.Allow, ", "))
		}
		if len(g.Tools) == 0 {
			fmt.Fprintf(out, "  no tools (servers: %s)\n", strings.Join(g.Servers, ", "))
		}
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, t := range g.Tools {
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", line(t.Name), t.effect(), t.rule(), line(t.Description))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, pattern := range g.Idle {
			fmt.Fprintf(out, "  %s fits no tool\n", line(pattern))
		}
		fmt.Fprintln(out)
	}
	return i.printServers(out)
}

func (i inventory) printServers(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERVER\tKIND\tSPEAKS\tTOOLS\tSTATE")
	for _, s := range i.Servers {
		state, speaks, tools := string(s.State), s.Protocol, fmt.Sprint(s.Tools)
		if s.Problem != "" {
			state = "cannot be used: " + flat(s.Problem)
		}
		if speaks == "" {
			speaks = "-"
		}
		if s.State != client.Ready {
			tools = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, speaks, tools, state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	var changed []string
	for _, s := range i.Servers {
		for _, tool := range s.Held {
			changed = append(changed, s.Name+"."+tool)
		}
	}
	if len(changed) > 0 {
		_, err := fmt.Fprintf(out, "\nHeld back, because their servers changed them: %s. \"legwork tools accept\" shows how.\n", flat(strings.Join(changed, ", ")))
		return err
	}
	return nil
}

// effect says what is known of what a tool does.
func (t toolEntry) effect() string {
	switch {
	case t.HeldBack:
		return "-"
	case t.ReadOnly:
		return "reads"
	}
	return "may change"
}

// rule says what happens when the tool is called.
func (t toolEntry) rule() string {
	switch {
	case t.HeldBack:
		return "held back"
	case t.Asks:
		return "asks"
	}
	return "runs"
}

// maxShown is how much of a description is listed, in characters.
const maxShown = 120

// line is the first line of a text that is not ours, short, with what cannot be
// seen made visible.
func line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	first = flat(first)
	if letters := []rune(first); len(letters) > maxShown {
		return strings.TrimSpace(string(letters[:maxShown-1])) + "…"
	}
	return first
}

// flat is a text that is not ours in one line, with what cannot be seen made
// visible.
func flat(text string) string { return bot.Visible(strings.Join(strings.Fields(text), " ")) }

// noServer says that a server is not configured.
func noServer(name string, config *conf.Config) error {
	names := slices.Sorted(maps.Keys(config.Tools.Servers))
	switch near := nearest.Typo(name, names); {
	case len(names) == 0:
		return fmt.Errorf("no server %q is configured, nor any other; add it under servers in the config", name)
	case near != "":
		return fmt.Errorf("no server %q is configured, the nearest one is %q; configured: %s", name, near, strings.Join(names, ", "))
	default:
		return fmt.Errorf("no server %q is configured; configured: %s", name, strings.Join(names, ", "))
	}
}
