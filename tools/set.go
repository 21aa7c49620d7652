package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"legwork/internal/telemetry"
	"legwork/tools/client"
)

// Set is an immutable snapshot of groups and their servers. A call uses the
// rules of the Set it is made with; a Set that a reload replaced can still
// call the servers that are configured as before.
type Set struct {
	servers  map[string]*member
	built    map[string]built // what the servers were built from
	groups   map[string]*group
	prompts  *promptTexts
	people   *people
	failures *failures
	now      func() time.Time // for failures
	log      *slog.Logger
	metrics  *telemetry.Metrics
}

// built is the settings that a server was built from: a reload keeps a server
// whose settings are the same.
type built struct {
	cfg  ServerConfig
	keep int
}

// group is a group with its defaults filled in.
type group struct {
	name    string
	cfg     GroupConfig
	servers []*member
	index   atomic.Pointer[searchIndex] // of its tools; nil before the first search

	tools, readOnly, approve patterns // of cfg
}

// Groups are all groups, by name. It never waits: a group whose servers are
// not connected yet counts as one that can change things, unless the config
// says otherwise.
func (s *Set) Groups() []Group {
	list := make([]Group, 0, len(s.groups))
	for _, name := range slices.Sorted(maps.Keys(s.groups)) {
		g := s.groups[name]
		list = append(list, Group{
			Name: name, Description: g.description(), Instructions: g.instructions(s.prompts),
			Model: g.cfg.Model, Allow: g.cfg.Allow, ReadOnly: g.onlyReads(), Files: g.cfg.Files == FilesRead,
		})
	}
	return list
}

// Tools lists the tools of a group for a person, by name, without the quarantined ones. It waits
// for servers that are still starting, at most the group's tool timeout. It leaves
// out servers that are down: the error names them, and the tools of the others
// are returned with it.
func (s *Set) Tools(ctx context.Context, name, person string) ([]Tool, error) {
	g, err := s.group(name, person)
	if err != nil {
		return nil, err
	}
	ready, views, err := g.waitReady(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	g.awaitPrompt(ctx, s.prompts, ready)
	var list []Tool
	for i, sv := range ready {
		for tool, d := range views[i].tools {
			if !g.has(sv, tool) {
				continue
			}
			v := g.verdict(sv, tool, d)
			list = append(list, Tool{
				Name: sv.full(tool), Exposed: exposedName(sv.Name(), tool), Description: d.Description,
				Schema: d.InputSchema, ReadOnly: v.ReadOnly, Repeatable: v.Repeatable,
			})
		}
	}
	slices.SortFunc(list, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return list, err
}

// has reports whether the group offers a tool of one of its servers.
func (g *group) has(s *member, tool string) bool {
	return g.tools.none() || g.tools.match(s.Name(), tool)
}

// onlyReads reports whether every tool is known to change nothing.
func (g *group) onlyReads() bool {
	if g.readOnly.all() {
		return true
	}
	for _, s := range g.servers {
		v := s.view()
		if v == nil || v.problem != nil {
			return false
		}
		for tool, d := range v.tools {
			if g.has(s, tool) && !g.verdict(s, tool, d).ReadOnly {
				return false
			}
		}
	}
	return true
}

// exposedName makes a name that models accept: "server__tool". Where characters
// are lost or the name is too long, a hash of the whole keeps it distinct.
func exposedName(server, tool string) string {
	full := server + "." + tool
	name := modelName(server) + "__" + modelName(tool)
	lossless := name == server+"__"+tool && !strings.Contains(server, "__") && !strings.HasSuffix(server, "_") && !strings.HasPrefix(tool, "_")
	if lossless && len(name) <= 64 {
		return name
	}
	sum := sha256.Sum256([]byte(full))
	return name[:min(len(name), 55)] + "-" + hex.EncodeToString(sum[:4])
}

func modelName(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || (r < 128 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')) {
			return r
		}
		return '_'
	}, s)
}

// member is a server of a Set as its groups see it: without the tools that the
// definition log quarantines.
type member struct {
	*client.Server
	builtin          string // which built-in server it is; empty: none
	remote           bool   // it is not on this machine
	trustAnnotations bool   // its annotations are believed
	public           bool   // everybody may read its results
	openWorld        *bool  // what the config says about where its tools carry data; nil: nothing
	askSecrets       bool
	holdNew          bool // its new tools wait for an admin
	definitions      *definitionLog
	auth             *Auth // how people sign in; nil: they need not
	last             *atomic.Pointer[view]
}

// view is a catalog without the tools that are quarantined. It is never changed.
type view struct {
	catalog     *client.Catalog
	tools       map[string]*client.Definition // that may be used, by the server's names
	quarantined map[string]*client.Definition // changed since they were accepted, or never accepted
	fresh       map[string]bool               // the quarantined ones of which no definition was ever accepted
	generation  int64                         // of the definition log
	problem     error                         // the definition log cannot be read: no tool may be used
}

// view is the newest catalog as it may be used; nil before there is one.
func (m *member) view() *view {
	cat := m.Catalog()
	if cat == nil {
		return nil
	}
	if v := m.last.Load(); v != nil && v.catalog == cat && v.problem == nil && v.generation == m.definitions.generation.Load() {
		return v
	}
	v := m.definitions.viewOf(m.Server, cat, m.holdNew)
	m.last.Store(v)
	return v
}

// full is a tool's name among all servers.
func (m *member) full(tool string) string { return m.Name() + "." + tool }

// refusal says why a tool of the view cannot be called; empty when it can.
func (v *view) refusal(full, tool string) string {
	why := v.catalog.NotOffered[tool]
	switch {
	case why != "":
		return fmt.Sprintf("The tool %s cannot be called: %s."+goOn, full, why)
	case v.problem != nil:
		return fmt.Sprintf("The tool %s cannot be called now, because legwork cannot read its accepted definition."+goOn, full)
	case v.fresh[tool]:
		return fmt.Sprintf("The tool %s is quarantined: it is new, and an admin has to accept it first."+goOn, full)
	case v.quarantined[tool] != nil:
		return fmt.Sprintf("The tool %s is quarantined: its server has changed its definition, and an admin has to accept the change first."+goOn, full)
	}
	return ""
}
