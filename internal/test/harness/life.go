package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// still is how long nothing happens before a life may be over.
const still = 150 * time.Millisecond

// life is one life in progress.
type life struct {
	*session
	n         int
	p         *process
	kill      Kill
	delivered map[string]bool // inputs
	silence   *time.Timer     // since something was seen; when it fires, the life hangs
	calm      *time.Timer     // likewise; when it fires, all may be done
	killer    *time.Timer
	calms     int  // how often in a row all was calm since legwork has begun
	leaving   bool // it was asked to end
}

// runLife runs one life to its end.
func (s *session) runLife(ctx context.Context, n int, k Kill) (record.Life, error) {
	p, err := s.launch(n, k)
	if err != nil {
		return record.Life{}, err
	}
	s.seen = 0
	s.client.started(p)
	l := &life{
		session: s, n: n, p: p, kill: k, delivered: map[string]bool{},
		silence: time.NewTimer(s.order.Patience), calm: time.NewTimer(still), killer: time.NewTimer(time.Hour),
	}
	defer l.silence.Stop()
	defer l.calm.Stop()
	defer l.killer.Stop()
	if k.At > 0 && !l.afterTakeover() {
		l.killer.Reset(k.At)
	}
	old := time.AfterFunc(max(6*s.order.Patience, 20*time.Second), func() { s.notify(ctx, noteOld) })
	defer old.Stop()
	l.deliver(false)
	return l.watch(ctx)
}

// noteOld says that a life is longer than it should be.
const noteOld = "old"

func (l *life) watch(ctx context.Context) (record.Life, error) {
	for {
		if !l.lasting() && len(l.accepted) == len(l.record.Inputs) {
			l.client.finish(l.p, nil)
		}
		select {
		case e, ok := <-l.p.lines:
			if !ok {
				return l.p.wait()
			}
			if !l.lasting() {
				l.takeEvent(e)
				if r, ok := l.client.(reader); ok {
					r.stdout(e)
				}
				l.noticed(ctx)
			}
		case note := <-l.notes:
			if note == noteOld {
				l.hang()
				continue
			}
			l.gates[note] = true
			l.noticed(ctx)
		case <-l.killer.C:
			l.p.kill()
		case <-l.silence.C:
			l.hang()
		case <-l.calm.C:
			l.calm.Reset(still)
			if l.p.begun() {
				l.calms++
			}
			if l.lasting() && l.calms > 0 && !l.leaving && len(l.accepted) == len(l.record.Inputs) {
				l.leaving = l.client.finish(l.p, l.settled)
			} else {
				l.deliver(true)
			}
		case <-ctx.Done():
			l.p.kill()
			for range l.p.lines { // it ends at once
			}
			life, _ := l.p.wait()
			return life, ctx.Err()
		}
	}
}

// afterTakeover reports that the time until the kill begins when the first thing is
// seen. A life that follows a kill begins with a wait for the database, and most kills
// are to fall after it.
func (l *life) afterTakeover() bool { return l.database != nil && l.kill.At.Milliseconds()%4 != 0 }

// hang ends a life that hangs. Its goroutines go to its stderr, and what it waits for to
// a file beside it, for people.
func (l *life) hang() {
	if l.p.life.Hung {
		return
	}
	l.p.life.Hung = true
	var missing strings.Builder
	for _, in := range l.record.Inputs {
		if !l.accepted[in.ID] {
			fmt.Fprintf(&missing, "not accepted: %s %s %q in %s\n", in.Kind, in.ID, in.Text, in.Chat)
		}
	}
	for _, v := range l.unsettled() {
		fmt.Fprintf(&missing, "%s: %s\n", v.Rule, v.Text)
	}
	_ = os.WriteFile(filepath.Join(l.dir, fmt.Sprintf("hung.%d", l.n)), []byte(missing.String()), 0o600) // only people read it
	_ = l.p.cmd.Process.Signal(syscall.SIGQUIT)
	time.AfterFunc(10*time.Second, l.p.kill)
}

// noticed counts an event, and does what is due after it.
func (l *life) noticed(ctx context.Context) {
	l.silence.Reset(l.order.Patience)
	l.calm.Reset(still)
	l.calms = 0
	if l.seen++; l.kill.After > 0 && l.seen == l.kill.After {
		l.killer.Reset(l.kill.Delay)
	}
	if l.seen == 1 && l.kill.At > 0 && l.afterTakeover() {
		l.killer.Reset(l.kill.At)
	}
	if l.all++; slices.Contains(l.disturbAt, l.all) {
		l.client.disturb(l.rand)
	}
	if l.database != nil {
		l.database.noticed(l.all)
	}
	if slices.Contains(l.maintainAt, l.all) && l.holdsData() {
		l.maintain(ctx)
	}
	for _, gate := range l.client.gates() {
		if strings.HasPrefix(gate, "paused ") && !l.gates[gate] && l.kill != (Kill{}) {
			l.p.life.AfterPause = true // a pause is short: unaimed kills would miss it
			l.killer.Reset(time.Duration(100+l.rand.IntN(400)) * time.Millisecond)
		}
		l.gates[gate] = true
	}
	if !l.leaving {
		l.deliver(false)
	}
}

// takeEvent notes an event of stdout.
func (s *session) takeEvent(e record.Event) {
	s.record.Events = append(s.record.Events, e)
	switch e.Type {
	case "accepted":
		if slices.ContainsFunc(s.record.Inputs, func(in record.Input) bool { return in.ID == e.Message }) {
			if !s.accepted[e.Message] { // the time of a line is when it is read: a process that starts slowly reads late
				s.record.DoneAt[e.Message] = e.At
			}
			s.accepted[e.Message] = true
		}
	case "answer":
		s.gates["answer "+e.About()] = true
	}
}

// deliver sends what may be sent now: inputs that were never accepted, some of
// the others again, and new ones whose gate is open, each conversation in
// its order. Decisions wait only for their question; some people wait until
// all is calm.
func (l *life) deliver(calm bool) {
	waiting := map[string]bool{} // conversations
	for _, in := range l.record.Inputs {
		if in.Kind == record.DecideCost && l.sent[in.ID] && l.client.costPending(in) {
			delete(l.accepted, in.ID)
			delete(l.delivered, in.ID)
		}
		if l.delivered[in.ID] || waiting[in.Chat] && !in.Decides() {
			continue
		}
		if !l.sent[in.ID] && (!l.ready(in) || !l.client.possible(in)) {
			waiting[in.Chat] = waiting[in.Chat] || !in.Decides()
			continue
		}
		if in.Decides() && !calm && slow(in.Key) && !l.gates["answer "+in.Gate] || in.Kind == record.Resume && !l.resumeDue(in) || in.Kind == record.Forget && !calm {
			continue
		}
		if l.accepted[in.ID] && l.rand.IntN(3) > 0 {
			l.delivered[in.ID] = true
			continue
		}
		if l.alreadyResumed(in) {
			l.accepted[in.ID], l.delivered[in.ID] = true, true
			continue
		}
		if !l.sent[in.ID] {
			l.sent[in.ID] = true
			if !in.Fired {
				l.record.DoneAt[in.ID] = time.Now()
			}
		}
		done := l.client.do(in)
		if done {
			l.accepted[in.ID] = true
		}
		l.delivered[in.ID] = done || !in.Repeated() && !l.lasting() // a terminal reports later what it took
	}
}

// partGap is the time after which a message is no part of the question before it any
// more, on a platform with times in whole seconds.
const partGap = 2 * time.Second

// ready reports whether an input's gate is open.
func (s *session) ready(in record.Input) bool {
	if in.AfterGuidance != "" && !s.gates["answer "+in.AfterGuidance] {
		return false
	}
	if asked, ok := s.record.DoneAt[in.Gate]; ok && in.Kind == record.Guidance && time.Since(asked) < partGap {
		return false
	}
	answered := s.gates["answer "+in.Gate]
	return in.Gate == "" || answered || in.Decides() || in.Kind == record.Resume || !in.Question() && s.gates["work "+in.Gate]
}

// alreadyResumed reports that an admin has sent the resume of this pause. They do not
// pause again because they saw no reply to the pause.
func (l *life) alreadyResumed(in record.Input) bool {
	return in.Kind == record.Pause && slices.ContainsFunc(l.record.Inputs, func(p record.Input) bool { return p.Kind == record.Resume && p.Key == in.ID && l.sent[p.ID] })
}

// resumeDue reports that it is time to resume: nothing has happened
// for a while since the reply to the pause, or for long.
func (l *life) resumeDue(in record.Input) bool {
	return l.sent[in.Key] && (l.calms > 3 && l.gates["paused "+in.Key] || l.calms > 8)
}

// settled reports whether everything is as it has to be at the end.
func (l *life) settled() bool { return len(l.unsettled()) == 0 }

// unsettled are the promises that a wait may still fulfil.
func (l *life) unsettled() []judge.Violation {
	r := l.record
	r.Lives = append(slices.Clone(r.Lives), record.Life{Start: l.p.life.Start, End: time.Now()})
	if l.database != nil {
		r.Outages = l.database.outages()
	}
	l.client.collect(&r)
	if err := l.gather(&r); err != nil {
		return []judge.Violation{{Rule: "wires", Text: err.Error()}} // a line is incomplete
	}
	due := []string{judge.RuleAnswered, judge.RuleContent, judge.RuleGuidance, judge.RuleTidy, judge.RuleKept, judge.RuleDelivered, judge.RuleStream, judge.RuleMade, judge.RuleUploaded}
	if l.fault == "" {
		due = append(due, judge.RuleOnce) // a board that shows the answer goes last; with a fault the wait would be in vain
	}
	return slices.DeleteFunc(judge.Check(r).Violations, func(v judge.Violation) bool { return !slices.Contains(due, v.Rule) })
}
