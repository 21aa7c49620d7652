package e2e_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
)

// TestSlackGuidance: what the asker writes in the thread of a running task is
// added to it, and can be taken back or asked separately.
func TestSlackGuidance(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, reply string // pressed under "Added"; the text after it
		taken         bool
		separate      bool
	}{
		"kept":             {"", "", true, false},
		"taken back":       {"Undo", "notice.undone", false, false},
		"asked separately": {"Ask separately", "notice.separate", false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := newGate(t)
			o := newSlackEnv(t, slackOptions{held: held, access: `{slack: {users: [U2, U3]}, admins: ["slack:U1"]}`})
			o.opens()
			thread := o.asks(general, ben, "q1: desk held; desk alpha | safe beta")
			o.sees(thread, "◐ q1 desk held")
			held.reached()
			o.Say(general, gus, "this is talk", thread.thread)
			o.Say(general, ben, "look at gamma, too", thread.thread)
			added := o.meets(thread, "that it was added", func(m slackfake.Message) bool {
				return o.Shown(m) == o.text("notice.added", nil)+"\n[Ask separately] [Undo]"
			})
			if c.button != "" {
				o.taps(added, c.button, ben)
				o.sees(thread, o.text(c.reply, nil))
				_, _ = o.Press(general, added.TS, c.button, ben) // twice, if the button is still there
			}
			o.passes()
			held.opens()
			answer := o.offers(thread, "Details", "value of q1 safe beta")
			if taken := strings.Contains(o.Shown(answer), "guidance: look at gamma, too"); taken != c.taken {
				t.Errorf("the answer heeds what was added: %v, want %v: %q", taken, c.taken, o.Shown(answer))
			}
			if c.separate {
				o.once(thread, "answers: look at gamma, too")
			}
			o.passes()
			if n := o.count(thread, "answers: look at gamma, too"); n > 0 && !c.separate {
				t.Errorf("the guidance was answered %d times as a question of its own", n)
			}
		})
	}
}

// TestSlackGuidanceByOthers: an admin may steer a task in its thread, others may
// not.
func TestSlackGuidanceByOthers(t *testing.T) {
	t.Parallel()
	held := newGate(t)
	o := newSlackEnv(t, slackOptions{held: held, access: `{slack: {users: [U2, U3]}, admins: ["slack:U1"]}`})
	o.opens()
	thread := o.asks(general, ben, "q1: desk held; desk alpha | safe beta")
	o.sees(thread, "◐ q1 desk held")
	held.reached()
	o.Say(general, gus, "I am only talking", thread.thread)
	o.Say(general, gus, "stop", thread.thread)
	o.Say(general, ann, bots+"look at delta, too", thread.thread)
	o.sees(thread, o.text("notice.added", nil))
	o.passes()
	held.opens()
	answer := o.offers(thread, "Details", "value of q1 safe beta")
	if shown := o.Shown(answer); !strings.Contains(shown, "guidance: look at delta, too") || strings.Contains(shown, "only talking") {
		t.Errorf("the answer is %q, want it to heed the admin alone", shown)
	}
}

// TestSlackGuidanceInDirect: in direct messages nothing else is needed.
func TestSlackGuidanceInDirect(t *testing.T) {
	t.Parallel()
	held := newGate(t)
	o := newSlackEnv(t, slackOptions{held: held})
	o.opens()
	o.Say(benDM, ben, "q1: desk held; desk alpha | safe beta", "")
	o.offers(in(benDM), "Stop", "q1 desk held")
	held.reached()
	o.Say(benDM, ben, "look at gamma, too", "")
	o.sees(in(benDM), o.text("notice.added", nil))
	o.slash("/task", "q2: something else", benDM, ben)
	o.answers(in(benDM), "answers: q2: something else")
	held.opens()
	o.answers(in(benDM), "value of q1 safe beta", "guidance: look at gamma, too")
}

// TestSlackPreview: /legwork plan shows the plan first, and nothing happens
// before somebody who may decides.
func TestSlackPreview(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(o *slackEnv, thread place, plan slackfake.Message){
		"run": func(o *slackEnv, thread place, plan slackfake.Message) {
			o.taps(plan, "Run", gus) // not theirs
			o.meets(thread, "a word to the wrong one", func(m slackfake.Message) bool {
				return m.To == gus && o.Shown(m) == o.text("error.not_yours", nil)
			})
			if calls := o.calls("lookup"); len(calls) > 0 {
				o.t.Errorf("the plan ran before it was agreed to: %q", calls)
			}
			o.taps(plan, "Run", ben)
			o.taps(plan, "Cancel", ben) // too late
			o.offers(thread, "Details", "value of q1 desk alpha", "value of q1 safe beta")
		},
		"cancel": func(o *slackEnv, thread place, plan slackfake.Message) {
			o.taps(plan, "Cancel", ben)
			o.until("the end of the plan", func() bool {
				m, _ := o.Message(general, plan.TS)
				return len(m.Buttons()) == 0
			})
		},
		"edit": func(o *slackEnv, thread place, plan slackfake.Message) {
			o.taps(plan, "Edit", ben)
			o.sees(thread, o.text("notice.edit_plan", nil))
			o.Say(general, ben, "only alpha please", thread.thread)
			again := o.meets(thread, "another plan", func(m slackfake.Message) bool {
				return m.TS > plan.TS && holdsAll(o.Shown(m), []string{"only alpha please", "[Run]"})
			})
			o.taps(again, "Run", ben)
			o.answers(thread, "value of only alpha please")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{access: `{slack: {users: [U2, U3]}, admins: ["slack:U1"]}`, options: options{think: edits}})
			o.opens()
			o.slash("/legwork", "plan q1: desk alpha; safe beta", general, ben)
			plan := o.offers(in(general), "Run", "q1 desk alpha", "q1 safe beta", o.text("question.plan", nil))
			if plan.Thread == "" {
				t.Fatalf("the plan stands outside a thread: %q", o.Shown(plan))
			}
			o.until("the session to wait", func() bool { return o.StatusOf(general, plan.Thread).Session == "suspended" })
			o.passes()
			if status := o.StatusOf(general, plan.Thread).Session; status != "suspended" {
				t.Errorf("while the plan waits, the session is %s, want suspended", status)
			}
			decide(o, under(general, plan.Thread), plan)
			o.until("the end of the session", func() bool { return o.StatusOf(general, plan.Thread).Session == "active" })
			if name == "cancel" {
				o.passes()
				if calls := o.calls("lookup"); len(calls) > 0 {
					t.Errorf("the cancelled plan ran: %q", calls)
				}
			}
			for _, m := range o.said(under(general, plan.Thread)) {
				if slices.Contains(m.Buttons(), "Run") {
					t.Errorf("a question was left open: %q", o.Shown(m))
				}
			}
		})
	}
}

// edits is Brain, which makes the plan anew from what a person wants different.
func edits(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	if said := r.AllTagged("guidance"); step == llmfake.StepPlan && len(said) > 0 {
		return llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "`+said[len(said)-1]+`"}]}`)
	}
	return llmfake.Brain{}.Respond(r)
}

// TestSlackRetry: under an answer that failed there is a button to try again.
func TestSlackRetry(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	o := newSlackEnv(t, slackOptions{options: options{think: func(r llmfake.Request) llmfake.Response {
		if !healed.Load() {
			return llmfake.Status(401)
		}
		return llmfake.Brain{}.Respond(r)
	}}})
	o.opens()
	thread := o.asks(general, ben, "one: a question")
	failed := o.offers(thread, "Retry", o.text("problem.refused", nil))
	healed.Store(true)
	o.taps(failed, "Retry", ben)
	o.taps(failed, "Retry", ben)
	o.once(thread, "answers: one: a question")
	o.taps(failed, "Retry", ben)
	o.once(thread, "answers: one: a question")
}

// TestSlackButtons: buttons that are pressed twice, late, by another person or
// after a restart do what they should, or say why not.
func TestSlackButtons(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.held = newGate(t)
		r.access = `{slack: {users: [U2, U3]}, admins: ["slack:U1"]}`
		o := newSlackEnv(t, r)
		s := o.opens()
		thread := o.asks(general, ben, "q1: desk held")
		card := o.offers(thread, "Stop", "q1 desk held")
		r.held.reached()
		told := func(who, key string) {
			t.Helper()
			o.meets(thread, "a word to "+who, func(m slackfake.Message) bool { return m.To == who && o.Shown(m) == o.text(key, nil) })
		}
		o.taps(card, "Stop", gus)
		told(gus, "error.not_yours")
		s.stops()
		s = o.opens()
		board, _ := o.Message(general, card.TS)
		o.taps(board, "Stop", ben) // after a restart
		told(ben, "notice.stopping")
		answer := o.offers(thread, "Details", "1 sub-task")
		s.stops()
		o.opens()
		o.taps(answer, "Details", gus)
		o.taps(answer, "Details", ben)
		o.sees(thread, "1. **q1 desk held**")
		o.passes()
		if n := o.count(thread, "1. **q1 desk held**"); n != 1 {
			t.Errorf("the details came %d times, want once, to who asked", n)
		}
	})
}
