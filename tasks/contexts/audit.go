package contexts

import (
	"context"
	"fmt"

	"legwork/tasks"
)

// AuditLog lists entries before a number, the newest first; for admins.
func (s *Service) AuditLog(ctx context.Context, p Principal, before uint64, limit int) ([]tasks.AuditEntry, error) {
	if err := p.Allowed(OpAudit); err != nil {
		return nil, err
	}
	limit, err := within(limit, usualLists, maxListed)
	if err != nil {
		return nil, err
	}
	list, err := s.Store.AuditLog(ctx, before, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	if list == nil {
		list = []tasks.AuditEntry{}
	}
	return list, nil
}
