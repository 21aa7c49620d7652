package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/llm"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tools"
)

// UsageRow is a sum of what was spent. Keys that the query does not group by are
// empty.
type UsageRow struct {
	User  string `json:"user,omitempty" doc:"Who asked."`
	Chat  string `json:"chat,omitempty" doc:"The chat."`
	Model string `json:"model,omitempty" doc:"The model."`
	Group string `json:"group,omitempty" doc:"The tool group of the sub-task, or 'llm_tool' for the model alone. Absent: plans, reviews, closing answers and summaries."`
	Day   string `json:"day,omitempty" doc:"The day: '2026-11-21'."`
	Calls int    `json:"calls" doc:"The number of model calls."`
	Usage
}

// UsageKeys are the keys that usage can be summed by.
func UsageKeys() []string { return []string{"user", "chat", "model", "group", "day"} }

// defaultDays is the number of days in a query without days.
const defaultDays = 30

// Usage sums what was spent between two days, both included ("2026-11-20"; empty: the
// last 30 days), by user, chat, model, tool group and day.
func (s *Service) Usage(ctx context.Context, p Principal, by []string, from, to string) ([]UsageRow, error) {
	if err := p.Allowed(policy.OpUsage); err != nil {
		return nil, err
	}
	for _, key := range by {
		if !slices.Contains(UsageKeys(), key) {
			return nil, &InvalidError{"by", fmt.Sprintf("%q is none of %s", key, strings.Join(UsageKeys(), ", "))}
		}
	}
	from, to, err := days(inbox.Today(s.Inbox), from, to)
	if err != nil {
		return nil, err
	}
	spent, err := s.Store.Spent(ctx, tasks.SpentQuery{From: from, To: to})
	if err != nil {
		return nil, fmt.Errorf("reading what was spent: %w", err)
	}
	sums, calls := map[UsageRow]llm.Usage{}, map[UsageRow]int{}
	for _, row := range spent {
		if p.Sees(parseRoom(row.Chat)) || p.Role.May(policy.OpUsage) == policy.Own && row.User == p.Key() {
			key := rowKey(row, by)
			sums[key], calls[key] = sums[key].Add(row.Usage), calls[key]+row.Calls
		}
	}
	rows := make([]UsageRow, 0, len(sums))
	for key, sum := range sums {
		key.Usage = usageOf(sum)
		key.Calls = calls[UsageRow{User: key.User, Chat: key.Chat, Model: key.Model, Group: key.Group, Day: key.Day}]
		rows = append(rows, key)
	}
	slices.SortFunc(rows, func(a, b UsageRow) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Chat, b.Chat), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Day, b.Day))
	})
	return rows, nil
}

// days completes and checks the days of a query.
func days(today, from, to string) (string, string, error) {
	for field, day := range map[string]string{"from": from, "to": to} {
		if _, err := time.Parse(time.DateOnly, day); err != nil && day != "" {
			return "", "", &InvalidError{field, `must be a day such as "2026-11-20"`}
		}
	}
	to = cmp.Or(to, today)
	if from == "" {
		last, err := time.Parse(time.DateOnly, to)
		if err != nil {
			return "", "", fmt.Errorf("reading day %q: %w", to, err)
		}
		from = last.AddDate(0, 0, 1-defaultDays).Format(time.DateOnly)
	}
	if from > to {
		return "", "", &InvalidError{"from", "is after to"}
	}
	return from, to, nil
}

// rowKey is the row that an entry of the ledger belongs to.
func rowKey(row tasks.Spent, by []string) UsageRow {
	var key UsageRow
	for _, name := range by {
		switch name {
		case "user":
			key.User = row.User
		case "chat":
			key.Chat = row.Chat
		case "model":
			key.Model = row.Model
		case "group":
			key.Group = row.Group
		case "day":
			key.Day = row.Day
		}
	}
	return key
}

// Group is a tool group.
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
// It does not wait for servers.
func (s *Service) Groups(ctx context.Context, p Principal) ([]Group, error) {
	if err := p.Allowed(policy.OpGroups); err != nil {
		return nil, err
	}
	list := []Group{}
	inventory, ok := s.Inbox.Tools.(tasks.Inventory)
	if !ok {
		return list, nil
	}
	open, err := s.openGroups(ctx, p)
	if err != nil {
		return nil, err
	}
	for _, g := range inventory.Inventory() {
		if p.Role != policy.RoleAdmin && !slices.Contains(open, g.Name) {
			continue
		}
		group := Group{Name: g.Name, Description: g.Description, Approve: g.Approve, Servers: make([]GroupServer, len(g.Servers))}
		for i, server := range g.Servers {
			group.Servers[i] = groupServer(p, server)
		}
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// groupServer describes a server. Only admins and operators see why it is down.
func groupServer(p Principal, s tools.ServerStatus) GroupServer {
	if p.Role != policy.RoleAdmin && p.Role != policy.RoleOperator && s.Problem != "" {
		s.Problem = "it cannot be used now"
	}
	out := GroupServer{Name: s.Name, Healthy: s.Problem == "", Problem: s.Problem, Tools: make([]GroupTool, len(s.Tools))}
	for i, t := range s.Tools {
		out.Tools[i] = GroupTool{Name: t.Name, Description: strings.TrimSpace(t.Description), ReadOnly: t.ReadOnly, Asks: t.Asks}
	}
	return out
}

// AuditEntry is a decision or change, and who made it.
type AuditEntry struct {
	Seq    uint64 `json:"seq" doc:"Its number, from 1."`
	At     Time   `json:"at" doc:"When."`
	Who    string `json:"who" doc:"The key of a person or a token; 'legwork' for legwork itself."`
	Role   string `json:"role,omitempty" doc:"Role of the token."`
	Action string `json:"action" doc:"The action: 'task.decide', 'state.set', 'config.reload', ..."`
	Target string `json:"target,omitempty" doc:"The object of the action: the id of a task, the key of a chat, the name of a tool."`
	Detail string `json:"detail,omitempty" doc:"More about it, in one line."`
	From   string `json:"from,omitempty" doc:"Address of the request."`
}

// AuditLog lists entries before a number, the newest first. Only admins who see all
// chats may read it, since it is about all chats.
func (s *Service) AuditLog(ctx context.Context, p Principal, before uint64, limit int) ([]AuditEntry, error) {
	if err := p.Allowed(policy.OpAudit); err != nil {
		return nil, err
	}
	if !slices.Contains(p.Chats, "*") {
		return nil, fmt.Errorf("%w: the audit log covers all chats, and this token may see only some", ErrForbidden)
	}
	limit, err := checkLimit(limit, defaultListed, maxListed)
	if err != nil {
		return nil, err
	}
	entries, err := s.Store.AuditLog(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	list := make([]AuditEntry, len(entries))
	for i, e := range entries {
		list[i] = AuditEntry{e.Seq, Time{e.At}, cmp.Or(e.Who, legwork), e.Role, e.Action, e.Target, e.Detail, e.From}
	}
	return list, nil
}
