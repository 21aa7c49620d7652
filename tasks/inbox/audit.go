package inbox

import (
	"context"

	"legwork/tasks"
)

// audit enters into the audit log what somebody changed that is no event of a
// task. The action stays done when the entry cannot be written; the log
// reports it.
func (in *Inbox) audit(ctx context.Context, r *Request, action, target, detail string) {
	e := tasks.AuditEntry{Who: r.Message.From.Key(), Action: action, Target: target, Detail: detail}
	if r.Admin {
		e.Role = "admin"
	}
	if err := in.Store.Record(ctx, e); err != nil {
		in.Log.ErrorContext(ctx, "the audit log cannot be written", "action", action, "who", e.Who, "target", target, "cause", err)
	}
}
