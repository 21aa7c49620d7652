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

// Forgotten stands in the audit log for somebody who was forgotten.
const Forgotten = "forgotten"

// Bounds of an entry of the audit log, in bytes.
const (
	auditName   = 256  // who, role, action, target, address
	auditDetail = 1024 // one line
)

// Record enters what is no event of a task into the audit log.
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

// audit enters an event that the audit log tells of.
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

// auditAction names what an event is in the audit log; empty for one that it does not
// tell of. The detail holds nothing of what was said.
func (s *Tx) auditAction(id tasks.ID, e planner.Event) (action, detail string) {
	switch e.Type {
	case planner.Opened:
		if o := e.Opening; o != nil && tasks.OfProgram(o.From) {
			return "task.start", "" // also in a chat, where one asks again
		}
	case planner.Decided:
		return "task.decide", s.decisionDetail(id, e)
	case planner.Revoked:
		return "grant.revoke", fmt.Sprintf("of decision %d", e.Of)
	case planner.Stopped:
		return "task.cancel", ""
	case planner.Answered:
		return "task.answer", ""
	case planner.Set:
		return "state.set", keyList(e.Values)
	case planner.Expired:
		if len(e.Values) > 0 { // nobody looked in time at what was to be looked at
			return "state.set", keyList(e.Values)
		}
	case planner.Released:
		if e.By != "" {
			return "task.release", ""
		}
	}
	return "", ""
}

// decisionDetail tells a decision: about which question, which way, about which tools, and
// how far it reaches.
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
	if asked, err := s.Event(id, ask.Seq); err == nil && asked.Question != nil { // it only adds to what the journal tells
		for _, call := range asked.Question.Calls {
			parts = append(parts, call.Tool)
		}
	}
	return strings.Join(parts, ", ")
}

// keyList tells which keys of a shared state were set.
func keyList(values map[string]json.RawMessage) string {
	names := slices.Sorted(maps.Keys(values))
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", clip.Marked(name, 80))
	}
	return strings.Join(names, ", ")
}

// numberAudit gives the entries that were added their numbers.
func (s *Tx) numberAudit() error {
	list := s.changes.Index.Audit
	if len(list) == 0 {
		return nil
	}
	last, err := s.snapshot.AuditEnd()
	if err != nil {
		return err
	}
	for i := range list {
		last++
		list[i].Seq = last
	}
	return nil
}

// forgetAudit takes somebody's name out of the audit log.
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

// redactName is a line without a name, which may be a part of a longer one.
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

// eachAuditEntry changes entries of the audit log, or deletes them, up to one that is
// the end.
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
