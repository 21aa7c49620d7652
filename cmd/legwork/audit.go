package main

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/tasks"
)

// record enters into the audit log what is no event of a task. What was done
// stays done when that is not possible; the log tells.
func record(ctx context.Context, store tasks.Audit, log *slog.Logger, e tasks.AuditEntry) {
	if err := store.Record(ctx, e); err != nil {
		log.ErrorContext(ctx, "the audit log cannot be written", "action", e.Action, "who", e.Who, "target", e.Target, "cause", err)
	}
}

// byHand is what somebody did at the command line, where only the owner of the
// data can.
func byHand(action, target, detail string) tasks.AuditEntry {
	return tasks.AuditEntry{
		Who: bot.Person{Platform: terminal.Name, ID: terminal.Login()}.Key(), Role: "admin", Action: action, Target: target, Detail: detail,
	}
}

// tokenChanges names the tokens that another config has added, changed or taken
// back, for the audit log.
func tokenChanges(before, after *conf.Config) (list []string) {
	old := map[string]conf.Token{}
	for _, t := range before.HTTP.Tokens {
		old[t.Name] = t
	}
	for _, t := range after.HTTP.Tokens {
		was, known := old[t.Name]
		delete(old, t.Name)
		switch {
		case !known:
			list = append(list, "token "+t.Name+" added with role "+t.Role)
		case !reflect.DeepEqual(was, t):
			list = append(list, "token "+t.Name+" changed, role "+t.Role)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		list = append(list, "token "+name+" taken back")
	}
	return list
}
