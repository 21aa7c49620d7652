package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/tools/client"
)

// Status is the health of the servers of the newest snapshot, by name.
func (m *Manager) Status() []client.Status {
	var list []client.Status
	for _, s := range m.Set().servers {
		list = append(list, s.status())
	}
	slices.SortFunc(list, func(a, b client.Status) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// status is the health of a server. One at which each person signs in needs no connection
// of its own.
func (m *member) status() client.Status {
	st := m.Status()
	if st.SignIn && m.auth.PerPerson() {
		st.State, st.Err = client.Personal, ""
	}
	return st
}

// Probed is what a try of a server brought to light.
type Probed struct {
	client.Status
	Problem     string            // why it cannot be used; empty: it can, after a sign-in of a person when SignIn is set
	Asks        []string          // its tools that need an approval in one of the groups, by the server's names
	Quarantined []string          // its tools that are quarantined because it changed them
	New         []string          // its tools that are quarantined because no admin has accepted them
	NotOffered  map[string]string // its tools that no model can use, and why
	Resources   bool              // it has resources
	Prompts     []Prompt          // by its own names
}

// Probe waits for all servers of the newest snapshot at once, for each at most
// wait, and tells how they are, by name. The manager has to be running.
func (m *Manager) Probe(ctx context.Context, wait time.Duration) []Probed {
	set := m.Set()
	var mu sync.Mutex
	var list []Probed
	var probes sync.WaitGroup
	for _, s := range set.servers {
		probes.Go(func() {
			p := set.probe(ctx, s, wait)
			mu.Lock()
			defer mu.Unlock()
			list = append(list, p)
		})
	}
	probes.Wait()
	slices.SortFunc(list, func(a, b Probed) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (s *Set) probe(ctx context.Context, m *member, wait time.Duration) Probed {
	short, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	err := m.WaitReady(short)
	p := Probed{Status: m.Status()}
	switch {
	case err != nil && p.State == client.Starting && short.Err() != nil:
		p.Problem = fmt.Sprintf("not ready after %v: it does not answer, or needs longer to start", wait)
		return p
	case p.SignIn && m.auth.Asks():
		p.Problem = m.auth.problem(short, err)
		return p
	case err != nil:
		p.Problem = cmp.Or(p.Err, err.Error())
		return p
	}
	v := m.view()
	p.NotOffered, p.Resources, p.Prompts = v.catalog.NotOffered, v.catalog.Resources, v.catalog.Prompts
	if v.problem != nil {
		p.Problem = v.problem.Error()
	}
	for tool := range v.quarantined {
		if v.fresh[tool] {
			p.New = append(p.New, tool)
		} else {
			p.Quarantined = append(p.Quarantined, tool)
		}
	}
	for tool, d := range v.tools {
		if s.asks(m, tool, d) {
			p.Asks = append(p.Asks, tool)
		}
	}
	slices.Sort(p.Quarantined)
	slices.Sort(p.New)
	slices.Sort(p.Asks)
	return p
}

// asks tells whether a tool needs an approval in one of the groups.
func (s *Set) asks(m *member, tool string, d *client.Definition) bool {
	for _, g := range s.groups {
		if slices.Contains(g.servers, m) && g.has(m, tool) && g.verdict(m, tool, d).Ask {
			return true
		}
	}
	return false
}

// Inventory tells how the groups of the newest snapshot are, by name. It waits
// for nothing.
func (m *Manager) Inventory() []GroupStatus {
	set := m.Set()
	list := make([]GroupStatus, 0, len(set.groups))
	for _, name := range slices.Sorted(maps.Keys(set.groups)) {
		g := set.groups[name]
		status := GroupStatus{Name: name, Description: g.description(), Approve: cmp.Or(g.cfg.Approve.word(), strings.Join(g.cfg.Approve, ","))}
		for _, s := range g.servers {
			status.Servers = append(status.Servers, g.serverStatus(s))
		}
		list = append(list, status)
	}
	return list
}

// serverStatus tells how a server of the group is.
func (g *group) serverStatus(s *member) ServerStatus {
	health := s.status()
	status := ServerStatus{Name: s.Name()}
	switch health.State {
	case client.Starting:
		status.Problem = "it is starting"
	case client.Down:
		status.Problem = cmp.Or(health.Err, "it is down")
	case client.Personal:
		status.Problem = s.auth.Advice(s.Name(), "")
	}
	v := s.view()
	if v == nil {
		return status
	}
	if v.problem != nil {
		status.Problem = v.problem.Error()
	}
	for _, tool := range slices.Sorted(maps.Keys(v.tools)) {
		if d := v.tools[tool]; g.has(s, tool) {
			verdict := g.verdict(s, tool, d)
			status.Tools = append(status.Tools, ToolStatus{Name: s.full(tool), Description: d.Description, ReadOnly: verdict.ReadOnly, Asks: verdict.Ask})
		}
	}
	return status
}
