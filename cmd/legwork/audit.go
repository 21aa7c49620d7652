package main

import (
	"context"

	"legwork/tasks"
)

// record enters into the audit log what is no event of a task. What was done
// stays done when that is not possible; the log tells.
func (a *app) record(ctx context.Context, e tasks.AuditEntry) {
	if err := a.store.Record(ctx, e); err != nil {
		a.log.ErrorContext(ctx, "the audit log cannot be written", "action", e.Action, "who", e.Who, "target", e.Target, "cause", err)
	}
}
