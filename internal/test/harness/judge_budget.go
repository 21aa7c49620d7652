package harness

import (
	"slices"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

// The rules about budgets.
const (
	RuleBudget   = "budget"   // a task takes no more than its budget and what people gave
	RuleOverdraw = "overdraw" // nothing is called between a question about costs and its answer
)

// price is that of the config, in millionths of a dollar.
func price(u llmfake.Usage) int { return u.Input + 2*u.Output }

// asking is a question about the cost of a task, from when it stood there until
// it was decided.
type asking struct {
	text      string
	plan      bool // whether to run one
	from, to  time.Time
	extension int
}

// afforded judges what tasks took of their budgets.
func (j *judge) afforded() {
	for _, in := range j.r.Inputs {
		if in.Kind != Afford {
			continue
		}
		list := j.askings(in)
		j.Overdrawn += len(list)
		j.bounded(in, list)
		for _, a := range list {
			for _, x := range j.asked {
				if x.question() == in.Gate && x.at.After(a.from) && x.at.Before(a.to) && (!a.plan || x.step == llmfake.StepWork) {
					j.violated(RuleOverdraw, "life %d called a model (%s) before anybody had answered %q", x.life, x.key, a.text)
				}
			}
		}
	}
}

// askings are the questions about the cost of an input's question.
func (j *judge) askings(in Input) (list []asking) {
	note := func(text string, buttons []string, from, to time.Time) {
		label, _ := answerAbout(in, buttons)
		pressed := to
		for _, p := range j.r.Pushes {
			if p.Key == text && p.By == in.From && p.At.After(from) && p.At.Before(pressed) {
				pressed = p.At
			}
		}
		a := asking{text: text, plan: label == labelRun, from: from.Add(begun), to: pressed, extension: extension(label)}
		if slices.ContainsFunc(list, func(b asking) bool { return b.text == text }) {
			a.extension = 0 // it was shown again
		}
		list = append(list, a)
	}
	for _, p := range j.r.Posts {
		if costCard(p, in) {
			note(p.Card, p.Asked, p.Posted, p.At)
		}
	}
	for _, e := range j.r.Events {
		if e.Type == "question" && asksCost(e, in) {
			note(e.Text, labels(e.Buttons), e.At, j.r.Lives[e.Life].End)
		}
	}
	return list
}

// bounded holds what the model's wire says that a task took at each moment
// against its budget. Calls that kills cut off do not count: legwork knows
// their prompts only by its own estimate, so that each may exceed the budget by
// as much as it was misjudged.
func (j *judge) bounded(in Input, list []asking) {
	limit, size := j.r.Budget.Tokens, func(u llmfake.Usage) int { return u.Input + u.Output }
	if limit == 0 {
		limit, size = j.r.Budget.Micros, price
	}
	took := 0
	for _, x := range j.asked {
		if x.question() != in.Gate || !j.counted(x) {
			continue
		}
		took += size(x.usage)
		may := limit
		for _, a := range list {
			if a.to.Before(x.at) {
				may += a.extension
			}
		}
		if took > may {
			j.violated(RuleBudget, "%s took %d of a budget of %d with %s in life %d", in.Gate, took, may, x.key, x.life)
			return
		}
	}
}
