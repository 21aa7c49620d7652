// Package tooladmin looks at tools, calls them and accepts their changes for the
// commands "legwork tools", apart from any model, and answers such commands in the
// process that owns the data.
package tooladmin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"legwork/app/cli"
	"legwork/conf"
	"legwork/internal/clip"
	"legwork/internal/telemetry"
	"legwork/tools"
	"legwork/tools/client"
)

// Inventory is what the servers of a config offer at one moment, as "legwork
// tools list" prints it in JSON.
type Inventory struct {
	Groups  []groupEntry  `json:"groups"`
	Servers []serverEntry `json:"servers"`
}

type groupEntry struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Servers     []string    `json:"servers"`
	Allow       []string    `json:"allow,omitempty"` // empty: everybody
	ReadOnly    bool        `json:"read_only"`       // none of its tools changes anything
	Tools       []toolEntry `json:"tools"`
	Idle        []string    `json:"idle_patterns,omitempty"` // patterns of its config that match no tool
	Misspelt    conf.Errors `json:"-"`                       // the same patterns, with their places
}

type toolEntry struct {
	Name        string          `json:"name"` // server.tool
	Description string          `json:"description"`
	ReadOnly    bool            `json:"read_only"`             // known to change nothing
	Asks        bool            `json:"asks"`                  // each call needs approval
	Quarantined bool            `json:"quarantined"`           // changed by its server since it was accepted, or new
	New         bool            `json:"new,omitempty"`         // no admin has accepted it yet
	NotOffered  string          `json:"not_offered,omitempty"` // why no model can use it
	Schema      json.RawMessage `json:"schema,omitempty"`
}

type serverEntry struct {
	Name        string            `json:"name"`
	Kind        string            `json:"kind"`
	State       client.State      `json:"state"`
	Protocol    string            `json:"protocol,omitempty"`
	Tools       int               `json:"tools"`
	Asks        []string          `json:"asks,omitempty"`        // its tools that need approval in some group
	Quarantined []string          `json:"quarantined,omitempty"` // its tools that it changed since they were accepted
	New         []string          `json:"new,omitempty"`         // its tools that wait for an admin because they are new
	NotOffered  map[string]string `json:"not_offered,omitempty"` // its tools that no model can use, and why
	Resources   bool              `json:"resources,omitempty"`   // it has resources
	Prompts     []promptEntry     `json:"prompts,omitempty"`
	RoundTrip   float64           `json:"round_trip_ms,omitempty"`
	Problem     string            `json:"problem,omitempty"` // why it cannot be used, and what to do
	SignIn      *signInEntry      `json:"sign_in,omitempty"` // nil: people need not sign in there
}

type promptEntry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Arguments   []argumentEntry `json:"arguments,omitempty"`
}

type argumentEntry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
}

// Options are the tool options of every command that runs tool servers.
func Options(config *conf.Config, log *slog.Logger) tools.Options {
	return tools.Options{Log: log, Version: telemetry.ReadBuild().Version, Base: config.Folder(), Data: config.DataDir}
}

// Take starts the servers of a config, waits for what each of them offers, and
// stops them.
func Take(ctx context.Context, config *conf.Config, wait time.Duration, c cli.Console) (Inventory, error) {
	bounded := withTimeout(config.Tools, wait)
	options, signedIn := Options(config, slog.New(slog.DiscardHandler)), signIns(ctx, config, c)
	options.Known = loadKnown(ctx, config, c)
	manager, err := tools.New(bounded, options)
	if err != nil {
		return Inventory{}, fmt.Errorf("preparing tools: %w", err)
	}
	var i Inventory
	err = During(ctx, manager, func(ctx context.Context) {
		set := manager.Set()
		i.Groups = make([]groupEntry, len(set.Groups()))
		var listings sync.WaitGroup
		listings.Go(func() {
			for _, p := range manager.Probe(ctx, wait) {
				e := entryOf(p, wait)
				e.SignIn = signedIn[p.Name]
				i.Servers = append(i.Servers, e)
			}
		})
		for n, g := range set.Groups() {
			listings.Go(func() { i.Groups[n].Tools = offered(ctx, set, g.Name) })
		}
		listings.Wait()
		for n, g := range set.Groups() { // now the servers have described themselves
			e := &i.Groups[n]
			e.Name, e.Description, e.Allow, e.ReadOnly, e.Servers = g.Name, g.Description, g.Allow, g.ReadOnly, bounded.Groups[g.Name].Servers
			for _, p := range set.UnusedPatterns(g.Name) {
				e.Idle = append(e.Idle, fmt.Sprintf("%s: %q", p.Key, p.Pattern))
				e.Misspelt = append(e.Misspelt, config.At(fmt.Sprintf("groups.%s.%s[%d]", g.Name, p.Key, p.Index), misspelt(p)))
			}
			e.addUnusable(ctx, set, i.Servers)
		}
	})
	return i, err
}

// misspelt says that a pattern of a group fits no tool.
func misspelt(p tools.UnusedPattern) string {
	text := fmt.Sprintf("%q matches no tool", p.Pattern)
	if p.Nearest != "" {
		text += fmt.Sprintf("; the nearest one is %q", p.Nearest)
	}
	return text
}

// During runs the servers of a manager until work returns.
func During(ctx context.Context, manager *tools.Manager, work func(context.Context)) error {
	life, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = manager.Run(life) })
	work(ctx)
	cancel()
	running.Wait()
	return ended
}

// withTimeout is a config whose groups wait for their servers for that long at
// most. Every server is in a group.
func withTimeout(c tools.Config, wait time.Duration) tools.Config {
	groups, used := map[string]tools.GroupConfig{}, map[string]bool{}
	for name, g := range c.Groups {
		if len(g.Servers) == 0 {
			g.Servers = []string{name}
		}
		for _, s := range g.Servers {
			used[s] = true
		}
		g.ToolTimeout = wait
		groups[name] = g
	}
	for name := range c.Servers {
		if _, taken := groups[name]; !taken && !used[name] {
			groups[name] = tools.GroupConfig{Servers: []string{name}, ToolTimeout: wait}
		}
	}
	c.Groups = groups
	return c
}

// offered lists the tools of a group that may be used. The problems of a server
// are in its entry.
func offered(ctx context.Context, set *tools.Set, group string) []toolEntry {
	list, _ := set.Tools(ctx, group, "")
	entries := make([]toolEntry, 0, len(list))
	for _, t := range list {
		entries = append(entries, toolEntry{
			Name: t.Name, Description: t.Description, ReadOnly: t.ReadOnly, Asks: set.ToolVerdict(ctx, group, t.Name).Ask, Schema: t.Schema,
		})
	}
	return entries
}

// addUnusable adds the tools that are quarantined or that no model can use.
func (g *groupEntry) addUnusable(ctx context.Context, set *tools.Set, servers []serverEntry) {
	for _, s := range servers {
		for _, tool := range s.Quarantined {
			full := s.Name + "." + tool
			if set.ToolVerdict(ctx, g.Name, full).Quarantined {
				g.Tools = append(g.Tools, toolEntry{Name: full, Description: "changed by its server since it was accepted", Quarantined: true})
			}
		}
		for _, tool := range s.New {
			full := s.Name + "." + tool
			if set.ToolVerdict(ctx, g.Name, full).New {
				g.Tools = append(g.Tools, toolEntry{Name: full, Description: "new; no admin has accepted it yet", Quarantined: true, New: true})
			}
		}
		for tool, why := range s.NotOffered {
			full := s.Name + "." + tool
			if set.ToolVerdict(ctx, g.Name, full).NotOffered != "" {
				g.Tools = append(g.Tools, toolEntry{Name: full, Description: why, NotOffered: why})
			}
		}
	}
	slices.SortFunc(g.Tools, func(a, b toolEntry) int { return cmp.Compare(a.Name, b.Name) })
}

// Failing reports that some server cannot be used.
func (i Inventory) Failing() bool {
	return slices.ContainsFunc(i.Servers, func(s serverEntry) bool { return s.Problem != "" })
}

func entryOf(p tools.Probed, wait time.Duration) serverEntry {
	e := serverEntry{
		Name: p.Name, Kind: p.Kind, State: p.State, Protocol: p.Protocol, Tools: p.Tools, Asks: p.Asks, Quarantined: p.Quarantined, New: p.New, NotOffered: p.NotOffered,
		RoundTrip: float64(p.RoundTrip.Round(time.Millisecond/10)) / float64(time.Millisecond), Problem: trouble(p, wait),
		Resources: p.Resources,
	}
	for _, prompt := range p.Prompts {
		one := promptEntry{Name: prompt.Name, Description: prompt.Description}
		for _, a := range prompt.Arguments {
			one.Arguments = append(one.Arguments, argumentEntry(a))
		}
		e.Prompts = append(e.Prompts, one)
	}
	return e
}

// trouble is the reason why a server cannot be used, and what to do about it. It
// is empty when the server works.
func trouble(p tools.Probed, wait time.Duration) string {
	switch {
	case p.State == client.Starting && p.Problem != "":
		text := fmt.Sprintf("it did not answer within %v: it is slow to start, hangs, or does not speak MCP", wait)
		if p.Kind == "stdio" {
			return text + "; start its command by hand to see, or give it longer with --wait 2m (package runners download first)"
		}
		return text + "; check its url in the config, or give it longer with --wait 1m"
	case strings.Contains(p.Problem, "executable file not found"):
		return p.Problem + "; install it, or write its full path as the command"
	case strings.Contains(p.Problem, "connection refused"), strings.Contains(p.Problem, "no such host"):
		return p.Problem + "; check its url in the config, and that it is running"
	}
	return p.Problem
}

// Print writes the groups with their tools, then the servers.
func (i Inventory) Print(out io.Writer) error {
	out = cli.Wrapping(out)
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
			effect, rule := t.rules()
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", line(t.Name), effect, rule, line(t.Description))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, pattern := range g.Misspelt {
			fmt.Fprintf(out, "  %s\n", line(pattern.Error()))
		}
		fmt.Fprintln(out)
	}
	return i.printServers(out)
}

func (i Inventory) printServers(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SERVER\tKIND\tSPEAKS\tTOOLS\tSTATE")
	for _, s := range i.Servers {
		state, speaks, tools := string(s.State), cmp.Or(s.Protocol, "-"), fmt.Sprint(s.Tools)
		switch {
		case s.Problem != "":
			state = "cannot be used: " + cli.OneLine(s.Problem)
		case s.BehindSignIn():
			state = BehindSignIn
		}
		if s.State != client.Ready {
			tools = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, speaks, tools, state)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	i.printMore(out)
	i.printSignIns(out)
	var changed []string
	for _, s := range i.Servers {
		for _, tool := range s.Quarantined {
			changed = append(changed, s.Name+"."+tool)
		}
		if len(s.New) > 0 {
			fmt.Fprintf(out, "\n%s\n", Waiting(s.Name, s.New))
		}
	}
	if len(changed) > 0 {
		_, err := fmt.Fprintf(out, "\nQuarantined, because their servers changed them: %s. \"legwork tools accept\" shows how.\n", cli.OneLine(strings.Join(changed, ", ")))
		return err
	}
	return nil
}

// BehindSignIn is the state of a server that works, and shows its tools to those who have
// signed in. Commands use no sign-in.
const BehindSignIn = "behind a sign-in"

// BehindSignIn reports that the server works, and shows its tools to those who have
// signed in.
func (s serverEntry) BehindSignIn() bool {
	return s.Problem == "" && s.SignIn != nil && s.State != client.Ready
}

// printSignIns writes who has signed in at servers.
func (i Inventory) printSignIns(out io.Writer) {
	first := "\n"
	for _, s := range i.Servers {
		if s.SignIn != nil {
			fmt.Fprintf(out, "%s%s\n", first, s.SignIn.Line(s.Name))
			first = ""
		}
	}
}

// Waiting says which new tools of a server wait for an admin, and how to accept them.
func Waiting(server string, tools []string) string {
	return fmt.Sprintf("%s: these wait until an admin accepts them, because they are new: %s. \"legwork tools accept %[1]s\" shows them.", server, cli.OneLine(strings.Join(tools, ", ")))
}

// printMore writes what servers have besides tools, and how to get it.
func (i Inventory) printMore(out io.Writer) {
	for _, s := range i.Servers {
		if s.Resources {
			fmt.Fprintf(out, "\n%s has resources: \"legwork tools call %[1]s %s\" lists them.\n", s.Name, methodResources)
		}
		if len(s.Prompts) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s has prompts; \"legwork tools call %[1]s %s '{\"name\": \"NAME\"}'\" shows one:\n", s.Name, methodPrompt)
		for _, p := range s.Prompts {
			fmt.Fprintf(out, "  %s\n", p)
		}
	}
}

// String is a prompt with its arguments on one line.
func (p promptEntry) String() string {
	var arguments []string
	for _, a := range p.Arguments {
		name := a.Name
		if !a.Required {
			name += " (optional)"
		}
		arguments = append(arguments, name)
	}
	text := p.Name
	if len(arguments) > 0 {
		text += " with " + strings.Join(arguments, ", ")
	}
	return line(text) + ": " + line(p.Description)
}

// rules say whether a tool only reads, and what happens when it is called.
func (t toolEntry) rules() (effect, rule string) {
	switch {
	case t.Quarantined:
		return "-", "quarantined"
	case t.NotOffered != "":
		return "-", "not offered"
	}
	effect, rule = "may change", "runs"
	if t.ReadOnly {
		effect = "reads"
	}
	if t.Asks {
		rule = "asks"
	}
	return effect, rule
}

// maxShown is the longest description in a list, in characters.
const maxShown = 120

// line is the first line of a text from outside, cut at maxShown, with invisible
// characters made visible.
func line(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return clip.Words(cli.OneLine(first), maxShown)
}
