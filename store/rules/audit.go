package rules

import (
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

// Forgotten replaces the name of a deleted person or chat in the audit log.
const Forgotten = "forgotten"

// Bounds of an entry of the audit log, in bytes.
const (
	auditName   = 256  // who, role, action, target, address
	auditDetail = 1024 // one line
)

// Record adds an entry to the audit log that is not an event of a task.
func (s *Tx) Record(e tasks.AuditEntry) error {
	if e.Action == "" {
		return fmt.Errorf("audit entry about %q: it has no action", e.Target)
	}
	if e.At.IsZero() {
		e.At = s.now
	}
	e.At = e.At.Round(0).UTC()
	for _, text := range []*string{&e.Who, &e.Role, &e.Action, &e.Target, &e.From} {
		*text = clip.Line(clip.Bytes(*text, auditName), auditName)
	}
	e.Detail = clip.Line(clip.Bytes(e.Detail, auditDetail), auditDetail)
	s.changes.Index.Audit = append(s.changes.Index.Audit, e)
	return nil
}

// audit adds an event to the audit log, if it belongs there.
func (s *Tx) audit(id tasks.ID, e planner.Event) error {
	action, detail := s.auditAction(id, e)
	if action == "" {
		return nil
	}
	entry := tasks.AuditEntry{At: e.At, Who: e.By, Action: action, Target: string(id), Detail: detail}
	if e.Opening != nil {
		entry.Who = e.Opening.From.Key()
	}
	if entry.Who != "" {
		entry.Role, entry.From = s.origin.Role, s.origin.Addr
	}
	return s.Record(entry)
}

// auditAction returns the name of an event in the audit log, or an empty one for
// an event that does not belong there. The detail holds no text that people wrote.
func (s *Tx) auditAction(id tasks.ID, e planner.Event) (action, detail string) {
	switch e.Type {
	case planner.Opened:
		if o := e.Opening; o != nil && tasks.OfProgram(o.From) {
			return "task.start", "" // also a program that asks again in a chat
		}
	case planner.Decided:
		return "task.decide", s.decisionDetail(id, e)
	case planner.GrantRevoked:
		return "grant.revoke", fmt.Sprintf("of decision %d", e.Of)
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

// decisionDetail describes a decision: the question, the verdict, the tools, and
// the scope.
func (s *Tx) decisionDetail(id tasks.ID, e planner.Event) string {
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
	if asked, err := s.Event(id, ask.Seq); err == nil && asked.Question != nil { // a detail: without it the entry is complete enough
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

// numberAudit numbers the entries that were added.
func (s *Tx) numberAudit() error {
	list := s.changes.Index.Audit
	if len(list) == 0 {
		return nil
	}
	last, err := s.Snapshot.AuditEnd()
	if err != nil {
		return err
	}
	for i := range list {
		last++
		list[i].Seq = last
	}
	return nil
}

// forgetAudit replaces the name of a person or chat in the audit log.
func (k Retention) forgetAudit(who string) error {
	return k.eachAuditEntry(func(e tasks.AuditEntry) (*tasks.AuditEntry, bool) {
		without := e
		if e.Who == who {
			without.Who, without.From = Forgotten, ""
		}
		if inChat(e.Target, who) {
			without.Target = Forgotten
		}
		without.Detail = redactName(e.Detail, who)
		return &without, without != e
	}, nil)
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
			all += Forgotten + after
		}
	}
	return all
}

func isNameRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// retainAudit deletes entries from before a time.
func (k Retention) retainAudit(before time.Time) error {
	return k.eachAuditEntry(
		func(tasks.AuditEntry) (*tasks.AuditEntry, bool) { return nil, true },
		func(e tasks.AuditEntry) bool { return !e.At.Before(before) })
}

// eachAuditEntry changes or deletes entries of the audit log, from the first to
// the one before end.
func (k Retention) eachAuditEntry(change func(tasks.AuditEntry) (*tasks.AuditEntry, bool), end func(tasks.AuditEntry) bool) error {
	for after, over := uint64(0), false; !over; {
		var list []tasks.AuditEntry
		err := k.View(func(b Snapshot) (err error) { list, err = b.AuditEntries(after, retentionBatch); return err })
		if err != nil || len(list) == 0 {
			return err
		}
		changed := map[uint64]*tasks.AuditEntry{}
		for _, e := range list {
			if over = end != nil && end(e); over {
				break
			}
			after = e.Seq
			if to, yes := change(e); yes {
				changed[e.Seq] = to
			}
		}
		if len(changed) == 0 {
			continue
		}
		err = k.Change(func(s *Tx) error { merge(&s.changes.Index.AuditChanges, changed); return nil })
		if err != nil {
			return err
		}
	}
	return nil
}
