package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// forgotten replaces the name of a deleted person or chat in the audit log.
const forgotten = "forgotten"

// Bounds of an entry of the audit log, in bytes.
const (
	auditName   = 256  // who, role, action, target, address
	auditDetail = 1024 // one line
)

// Audit implements tasks.Audit.
type Audit struct{ *core }

// Record implements tasks.Audit.
func (a Audit) Record(ctx context.Context, e tasks.AuditEntry) error {
	if e.Action == "" {
		return fmt.Errorf("audit entry about %q: it has no action", e.Target)
	}
	return a.update(ctx, "entering into the audit log", func(x *txn) { audit{x}.record(e) })
}

// AuditLog implements tasks.Audit. A damaged entry is left out.
func (a Audit) AuditLog(ctx context.Context, before uint64, limit int) (list []tasks.AuditEntry, err error) {
	var end []byte
	if before > 0 {
		end = numberKey(before)
	}
	err = a.read(ctx, "reading the audit log", func(x *txn) {
		list = nil
		for e := range auditEntries.sound(x, nil, end, Descending) {
			if len(list) >= limit {
				return
			}
			list = append(list, e.value)
		}
	})
	return list, err
}

// audit is the audit log, within a transaction.
type audit struct{ *txn }

// record adds an entry with the next number.
func (x audit) record(e tasks.AuditEntry) {
	if e.At.IsZero() {
		e.At = x.time
	}
	e.At = e.At.Round(0).UTC()
	for _, text := range []*string{&e.Who, &e.Role, &e.Action, &e.Target, &e.From} {
		*text = clip.Line(clip.Bytes(*text, auditName), auditName)
	}
	e.Detail = clip.Line(clip.Bytes(e.Detail, auditDetail), auditDetail)
	last, ok, damaged := metaNumbers.get(x, metaAuditEnd)
	if !ok || damaged != nil {
		last = numberOf(firstKey(x, TableAudit, nil, nil, Descending))
	}
	e.Seq = last + 1
	auditEntries.put(x, e.Seq, e)
	metaNumbers.put(x, metaAuditEnd, e.Seq)
}

// note adds an event, if it belongs in the audit log.
func (x audit) note(id tasks.ID, e planner.Event) {
	action, detail := x.describe(id, e)
	if action == "" {
		return
	}
	entry := tasks.AuditEntry{At: e.At, Who: e.By, Action: action, Target: string(id), Detail: detail}
	if e.Opening != nil {
		entry.Who = e.Opening.From.Key()
	}
	if action == "tool.call" {
		entry.Who, entry.Target = e.Result.Identity.Person, e.Result.Identity.Tool
	}
	if entry.Who != "" {
		entry.Role, entry.From = x.origin.Role, x.origin.Addr
	}
	x.record(entry)
}

// describe returns the name of an event in the audit log, or an empty one for an
// event that does not belong there. The detail holds no text that people wrote.
func (x audit) describe(id tasks.ID, e planner.Event) (action, detail string) {
	switch e.Type {
	case planner.Opened:
		if o := e.Opening; o != nil && tasks.OfProgram(o.From) {
			return "task.start", "" // also a program that asks again in a chat
		}
	case planner.Decided:
		return "task.decide", x.decisionDetail(id, e)
	case planner.GrantRevoked:
		return "grant.revoke", fmt.Sprintf("of decision %d", e.Of)
	case planner.Returned:
		if i := e.Result.Identity; i != nil && i.Person != "" {
			return "tool.call", "with this person's sign-in, for task " + string(id)
		} else if i != nil {
			return "tool.call", "with the shared sign-in, for task " + string(id)
		}
	case planner.Stopped:
		return "task.cancel", ""
	case planner.Answered:
		return "task.answer", ""
	case planner.StateSet:
		return "state.set", keyList(e.Values)
	case planner.Expired:
		if len(e.Values) > 0 { // a review that expired
			return "state.set", keyList(e.Values)
		}
	case planner.Released:
		if e.By != "" {
			return "task.release", ""
		}
	}
	return "", ""
}

// decisionDetail describes a decision: the question, the verdict, the scope, and the
// tools.
func (x audit) decisionDetail(id tasks.ID, e planner.Event) string {
	ask := tasks.AskOf(e.Action)
	about := fmt.Sprintf("%s %d.%d", e.Action.Subject, ask.Seq, ask.Call)
	if e.Decision == nil {
		return about
	}
	parts := []string{about, "deny"}
	if e.Decision.Approve {
		parts[1] = "approve"
	}
	if e.Decision.Scope != "" {
		parts = append(parts, "scope "+e.Decision.Scope)
	}
	if asked, err := journals(x).event(id, ask.Seq); err == nil && asked.Question != nil { // without it the entry is complete enough
		for _, call := range asked.Question.Calls {
			parts = append(parts, call.Tool)
		}
	}
	return strings.Join(parts, ", ")
}

// keyList lists the keys of a shared state that an event set.
func keyList(values map[string]json.RawMessage) string {
	names := slices.Sorted(maps.Keys(values))
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", clip.Marked(name, 80))
	}
	return strings.Join(names, ", ")
}

// forgetAudit replaces the name of a person or chat in the audit log.
func (k Deletion) forgetAudit(ctx context.Context, who string, d *tasks.Deleted) error {
	after := uint64(0)
	return deleteFound(ctx, k, d, func(x *txn) (edited []tasks.AuditEntry, over bool) {
		n := 0
		for e := range auditEntries.sound(x, numberKey(after+1), nil, Ascending) {
			if n == deleteAtOnce {
				return edited, false
			}
			n, after = n+1, numberOf(e.key)
			if without := withoutName(e.value, who); without != e.value {
				edited = append(edited, without)
			}
		}
		return edited, true
	}, func(x *txn, e tasks.AuditEntry, _ *tasks.Deleted) {
		auditEntries.put(x, e.Seq, e)
		x.frees = true
	})
}

// withoutName returns an entry without the name of a person or chat.
func withoutName(e tasks.AuditEntry, who string) tasks.AuditEntry {
	if e.Who == who {
		e.Who, e.From = forgotten, ""
	}
	if inChat(e.Target, who) {
		e.Target = forgotten
	}
	e.Detail = redactName(e.Detail, who)
	return e
}

// retainAudit deletes entries from before a time. They are sorted by time.
func (k Deletion) retainAudit(ctx context.Context, before time.Time, d *tasks.Deleted) error {
	return deleteFound(ctx, k, d, func(x *txn) (old []uint64, over bool) {
		for e := range auditEntries.sound(x, nil, nil, Ascending) {
			if len(old) == deleteAtOnce || !e.value.At.Before(before) {
				break
			}
			old = append(old, numberOf(e.key))
		}
		return old, len(old) < deleteAtOnce
	}, func(x *txn, seq uint64, _ *tasks.Deleted) {
		auditEntries.drop(x, seq)
		x.frees = true
	})
}

// redactName replaces a name in a line, unless it is part of a longer name.
func redactName(line, name string) string {
	parts := strings.Split(line, name)
	all := parts[0]
	for i, after := range parts[1:] {
		before, _ := utf8.DecodeLastRuneInString(parts[i])
		next, _ := utf8.DecodeRuneInString(after)
		if isNameRune(before) || isNameRune(next) {
			all += name + after
		} else {
			all += forgotten + after
		}
	}
	return all
}

func isNameRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
