package data

import (
	"context"
	"log/slog"

	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/tasks"
)

// Record adds an entry that belongs to no task to the audit log. When that is
// not possible, the entry goes to the log: the action stays done.
func Record(ctx context.Context, store tasks.Audit, log *slog.Logger, e tasks.AuditEntry) {
	if err := store.Record(ctx, e); err != nil {
		log.ErrorContext(ctx, "writing the audit log failed", "action", e.Action, "who", e.Who, "target", e.Target, "cause", err)
	}
}

// ByHand is an action at the command line, which only the owner of the data can
// take.
func ByHand(action, target, detail string) tasks.AuditEntry {
	return tasks.AuditEntry{
		Who: bot.Person{Platform: terminal.Name, ID: terminal.Login()}.Key(), Role: "admin", Action: action, Target: target, Detail: detail,
	}
}
