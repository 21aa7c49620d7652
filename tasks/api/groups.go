package api

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"legwork/tasks"
)

// Group is a tool group as programs read it.
type Group struct {
	Name        string        `json:"name" doc:"The name, for 'groups' of a new task."`
	Description string        `json:"description" doc:"The purpose of the group."`
	Approve     string        `json:"approve" doc:"Which calls need approval by a person: 'never', 'writes', 'always', or patterns."`
	Servers     []GroupServer `json:"servers" doc:"Its servers."`
}

// GroupServer is a server of a group.
type GroupServer struct {
	Name    string      `json:"name" doc:"Its name."`
	Healthy bool        `json:"healthy" doc:"'true': it can be called now."`
	Problem string      `json:"problem,omitempty" doc:"The reason why it cannot be called."`
	Tools   []GroupTool `json:"tools" doc:"Those of its tools that are in the group."`
}

// GroupTool is a tool of a group.
type GroupTool struct {
	Name        string `json:"name" doc:"Its name."`
	Description string `json:"description" doc:"What it does."`
	ReadOnly    bool   `json:"read_only" doc:"The tool changes nothing."`
	Asks        bool   `json:"asks" doc:"Each call needs approval by a person."`
}

// Groups lists the tool groups that are open to the principal; for admins all.
// It waits for no server.
func (s *Service) Groups(ctx context.Context, p Principal) ([]Group, error) {
	if err := p.Allowed(OpGroups); err != nil {
		return nil, err
	}
	list := []Group{}
	inventory, ok := s.Inbox.Tools.(tasks.Inventory)
	if !ok {
		return list, nil
	}
	open, err := s.open(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, g := range inventory.Inventory(ctx) {
		if p.Role != RoleAdmin && !slices.Contains(open, g.Name) {
			continue
		}
		group := Group{Name: g.Name, Description: g.Description, Approve: g.Approve, Servers: make([]GroupServer, len(g.Servers))}
		for i, server := range g.Servers {
			group.Servers[i] = serverOf(p, server)
		}
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// serverOf tells how a server is; why it is down only to who runs legwork.
func serverOf(p Principal, s tasks.ServerStatus) GroupServer {
	if p.Role != RoleAdmin && p.Role != RoleOperator && s.Problem != "" {
		s.Problem = "it cannot be used now"
	}
	out := GroupServer{Name: s.Name, Healthy: s.Problem == "", Problem: s.Problem, Tools: make([]GroupTool, len(s.Tools))}
	for i, t := range s.Tools {
		out.Tools[i] = GroupTool{Name: t.Name, Description: strings.TrimSpace(t.Description), ReadOnly: t.ReadOnly, Asks: t.Asks}
	}
	return out
}
