package judge

import (
	"slices"
	"strings"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
)

// guidanceTaken reports whether guidance was taken: programs get a reply when it was not.
func (j *judge) guidanceTaken(in record.Input) bool {
	done, _ := j.taken("key of " + in.ID)
	return done || j.r.Client != record.API
}

func (j *judge) guidance(in record.Input) {
	heard := map[string]bool{}
	for _, e := range j.r.Events {
		if e.Type == "answer" && slices.Contains(strings.Fields(e.Text), in.ID) {
			heard[e.Task] = true
			if e.Chat != in.Chat {
				j.violated(RuleChat, "%s was said in %q and heard in %q", in.ID, in.Chat, e.Chat)
			}
		}
	}
	if len(heard) != 1 && (len(heard) > 0 || !j.budgetReached(in.Gate)) {
		j.violated(RuleGuidance, "%q is in the answers of %d tasks, want 1", in.Text, len(heard))
	}
}

// budgetReached reports whether a question, or any when id is empty, ended with nothing
// but that its budget has no room.
func (j *judge) budgetReached(id string) bool {
	return slices.ContainsFunc(j.r.Events, func(e record.Event) bool {
		return e.Type == "answer" && strings.Contains(e.Text, record.SpentText) && (id == "" || e.About() == id || e.Question == id)
	})
}

// order compares the decisions and the plain answers of each conversation with
// the order of its questions.
func (j *judge) order() {
	decided := map[string]int{} // place of the first decision on the model's wire
	for i, e := range j.asked {
		if _, seen := decided[e.id]; e.step == llmfake.StepPlan && !seen {
			decided[e.id] = i
		}
	}
	for i, in := range j.r.Inputs {
		for _, before := range j.r.Inputs[:i] {
			if !in.Question() || !before.Question() || in.Chat != before.Chat || in.Fired || before.Fired {
				continue
			}
			if at, ok := decided[in.ID]; ok && at < decided[before.ID] {
				j.violated(RuleOrder, "%s was decided before %s, which came first", in.ID, before.ID)
			}
			if before.Kind == record.Plain {
				j.after(in, before)
			}
		}
	}
}

// after compares a question with a plain one that came before it.
func (j *judge) after(in, before record.Input) {
	answers, earlier := j.answers[in.ID], j.answers[before.ID]
	if len(answers) > 0 && len(earlier) > 0 && answers[0].At.Before(earlier[0].At) {
		j.violated(RuleOrder, "%s was answered before %s, which came first", in.ID, before.ID)
	}
	for _, e := range j.asked {
		if e.step != llmfake.StepPlan || e.id != in.ID {
			continue
		}
		if !slices.ContainsFunc(e.request.Messages, func(m llmfake.Message) bool {
			// An answer that may hold words of outsiders is data.
			return m.Role == "assistant" && strings.HasPrefix(m.Content, "["+before.ID+"]") || strings.Contains(m.Content, "<data>\n["+before.ID+"]")
		}) {
			j.violated(RuleHistory, "the decision about %s does not see the answer of %s", in.ID, before.ID)
		}
	}
}

// RuleFired is broken by a schedule that asks too early. That it asks once is
// RuleOnce's.
const RuleFired = "fired"

// fired looks for questions that schedules asked before their time.
func (j *judge) fired() {
	for _, in := range j.r.Inputs {
		if !in.Fired {
			continue
		}
		for _, x := range j.asked {
			if x.id == in.ID && x.at.Before(j.r.DoneAt[in.ID]) {
				j.violated(RuleFired, "%s was asked %v before its time", in.ID, j.r.DoneAt[in.ID].Sub(x.at))
			}
		}
	}
}

// RulePaused is broken by a call while everything is paused.
const RulePaused = "paused"

// callDelay is how long a call that was let through before the pause may take to
// reach its server, on a busy machine.
const callDelay = 250 * time.Millisecond

// paused looks for calls between the message that everything is paused and the
// admin's resume, whatever kills fell between.
func (j *judge) paused() {
	for _, in := range j.r.Inputs {
		if in.Kind != record.Resume {
			continue
		}
		from, to := time.Time{}, j.r.DoneAt[in.ID]
		for _, p := range j.r.Posts {
			if p.Chat == in.Chat && record.SaysPaused(p, record.Pause) && (from.IsZero() || p.Posted.Before(from)) {
				from = p.Posted.Add(callDelay)
			}
		}
		if from.IsZero() {
			continue // a kill may have hidden that it was paused
		}
		for _, x := range j.asked {
			if x.at.After(from) && (to.IsZero() || x.at.Before(to)) {
				j.violated(RulePaused, "life %d called a model (%s) while everything was paused", x.life, x.key)
			}
		}
		for _, c := range j.r.Calls {
			if c.At.After(from) && (to.IsZero() || c.At.Before(to)) {
				j.violated(RulePaused, "life %d called %s %q while everything was paused", c.Life, c.Tool, c.Text)
			}
		}
	}
}
