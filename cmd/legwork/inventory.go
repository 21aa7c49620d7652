package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/conf"
	"legwork/tools"
	"legwork/tools/client"
)

// inventory is what the servers of a config offer at one moment, as tools list
// prints it in JSON.
type inventory struct {
	Groups  []groupEntry  `json:"groups"`
	Servers []serverEntry `json:"servers"`
}

type groupEntry struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Servers     []string    `json:"servers"`
	Allow       []string    `json:"allow,omitempty"` // nobody named: everybody
	ReadOnly    bool        `json:"read_only"`       // no tool of it changes anything
	Tools       []toolEntry `json:"tools"`
	Idle        []string    `json:"idle_patterns,omitempty"` // of its config, that fit no tool
}

type toolEntry struct {
	Name        string          `json:"name"` // server.tool
	Description string          `json:"description"`
	ReadOnly    bool            `json:"read_only"` // known to change nothing
	Asks        bool            `json:"asks"`      // a person must approve of each call
	HeldBack    bool            `json:"held_back"` // changed by its server since it was agreed to
	Schema      json.RawMessage `json:"schema,omitempty"`
}

type serverEntry struct {
	Name      string       `json:"name"`
	Kind      string       `json:"kind"`
	State     client.State `json:"state"`
	Protocol  string       `json:"protocol,omitempty"`
	Tools     int          `json:"tools"`
	Asks      []string     `json:"asks,omitempty"`      // its tools that a person must approve of, in some group
	Held      []string     `json:"held_back,omitempty"` // its tools that are held back
	RoundTrip float64      `json:"round_trip_ms,omitempty"`
	Problem   string       `json:"problem,omitempty"` // why it cannot be used, and what to do
}

// take starts the servers of a config, gives each of them the time wait to say
// what it offers, and stops them. What is known of their tools says which are
// held back.
func take(ctx context.Context, config *conf.Config, pages remembered, wait time.Duration) (inventory, error) {
	bounded := patient(config.Tools, wait)
	options := toolOptions(config, slog.New(slog.DiscardHandler))
	options.Known = pages
	manager, err := tools.New(bounded, options)
	if err != nil {
		return inventory{}, fmt.Errorf("preparing tools: %w", err)
	}
	var i inventory
	err = during(ctx, manager, func(ctx context.Context) {
		set := manager.Set()
		i.Groups = make([]groupEntry, len(set.Groups()))
		var listings sync.WaitGroup
		listings.Go(func() {
			for _, p := range manager.Probe(ctx, wait) {
				i.Servers = append(i.Servers, entryOf(p, wait))
			}
		})
		for n, g := range set.Groups() {
			listings.Go(func() { i.Groups[n].Tools = offered(ctx, set, g.Name) })
		}
		listings.Wait()
		for n, g := range set.Groups() { // now the servers have described themselves
			e := &i.Groups[n]
			e.Name, e.Description, e.Allow, e.ReadOnly, e.Servers = g.Name, g.Description, g.Allow, g.ReadOnly, bounded.Groups[g.Name].Servers
			e.Idle = set.Idle(g.Name)
			e.addHeld(ctx, set, i.Servers)
		}
	})
	return i, err
}

// during runs the servers of a manager while work lasts.
func during(ctx context.Context, manager *tools.Manager, work func(context.Context)) error {
	life, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ended error
	running.Go(func() { ended = manager.Run(life) })
	work(ctx)
	cancel()
	running.Wait()
	return ended
}

// patient is a config whose groups wait no longer than that for their servers.
// Every server is in a group that it names.
func patient(c tools.Config, wait time.Duration) tools.Config {
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

// offered are the tools of a group that may be used. What is wrong with a
// server shows in its status.
func offered(ctx context.Context, set *tools.Set, group string) []toolEntry {
	list, _ := set.Tools(ctx, group)
	entries := make([]toolEntry, 0, len(list))
	for _, t := range list {
		entries = append(entries, toolEntry{
			Name: t.Name, Description: t.Description, ReadOnly: t.ReadOnly, Asks: set.Verdict(ctx, group, t.Name).Ask, Schema: t.Schema,
		})
	}
	return entries
}

// addHeld adds the tools that the group would have if they were not held back.
func (g *groupEntry) addHeld(ctx context.Context, set *tools.Set, servers []serverEntry) {
	for _, s := range servers {
		for _, tool := range s.Held {
			full := s.Name + "." + tool
			if set.Verdict(ctx, g.Name, full).Held {
				g.Tools = append(g.Tools, toolEntry{Name: full, Description: "changed by its server since it was agreed to", HeldBack: true})
			}
		}
	}
	slices.SortFunc(g.Tools, func(a, b toolEntry) int { return cmp.Compare(a.Name, b.Name) })
}

// failing reports that some server cannot be used.
func (i inventory) failing() bool {
	return slices.ContainsFunc(i.Servers, func(s serverEntry) bool { return s.Problem != "" })
}

func entryOf(p tools.Probed, wait time.Duration) serverEntry {
	e := serverEntry{
		Name: p.Name, Kind: p.Kind, State: p.State, Protocol: p.Protocol, Tools: p.Tools, Asks: p.Asks, Held: p.Held,
		RoundTrip: float64(p.RoundTrip.Round(time.Millisecond/10)) / float64(time.Millisecond), Problem: trouble(p, wait),
	}
	return e
}

// trouble says why a server cannot be used, and what to do about it; empty when
// it can.
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
