package tools

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"legwork/tools/client"
)

// Inventory tells how the groups of the newest snapshot are, by name. It waits
// for nothing.
func (m *Manager) Inventory() []GroupStatus {
	set := m.Set()
	list := make([]GroupStatus, 0, len(set.groups))
	for _, name := range slices.Sorted(maps.Keys(set.groups)) {
		g := set.groups[name]
		status := GroupStatus{Name: name, Description: g.description(), Approve: cmp.Or(g.cfg.Approve.word(), strings.Join(g.cfg.Approve, ","))}
		for _, s := range g.servers {
			status.Servers = append(status.Servers, g.stock(s))
		}
		list = append(list, status)
	}
	return list
}

// stock tells how a server of the group is.
func (g *group) stock(s *member) ServerStatus {
	health := s.Status()
	status := ServerStatus{Name: s.Name()}
	switch health.State {
	case client.Starting:
		status.Problem = "it is starting"
	case client.Down:
		status.Problem = cmp.Or(health.Err, "it is down")
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
			verdict := g.judged(s, tool, d)
			status.Tools = append(status.Tools, ToolStatus{Name: s.full(tool), Description: d.Description, ReadOnly: verdict.ReadOnly, Asks: verdict.Ask})
		}
	}
	return status
}
