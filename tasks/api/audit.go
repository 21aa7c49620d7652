package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// AuditEntry says who decided or changed something.
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

// AuditLog lists entries before a number, the newest first; for admins who see all
// chats, as it tells of all.
func (s *Service) AuditLog(ctx context.Context, p Principal, before uint64, limit int) ([]AuditEntry, error) {
	if err := p.Allowed(OpAudit); err != nil {
		return nil, err
	}
	if !slices.Contains(p.Chats, "*") {
		return nil, fmt.Errorf("%w: the audit log tells of all chats, and this token sees only some", ErrForbidden)
	}
	limit, err := within(limit, usualLists, maxListed)
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
