package judge

import (
	"slices"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/record"
	"legwork/llm"
)

// RuleLedger is broken by a ledger that differs from the model's
// wire.
const RuleLedger = "ledger"

// estimateFactor is how many times larger or smaller the estimate of a prompt,
// or of the received part of a reply, may be than what the model counts, of
// calls whose outcome could not be stored.
const estimateFactor = 2

// bill is the cost of calls.
type bill struct{ calls, input, output int }

func (b *bill) add(u llmfake.Usage) {
	b.calls++
	b.input += u.Input
	b.output += u.Output
}

// ledger compares the ledger at the end with the model's wire. A call
// whose reply was sent and stored counts by what the model reported. One whose
// reply may not be stored, because of a kill, of guidance, or because its task was stopped,
// counts by what the model reported, or by its input and by what had come of the
// reply when it was stopped, as they were estimated. What
// a killed life had set aside for a call that it did not come to make counts in
// the same way. The model does not count pictures, which an estimate does.
func (j *judge) ledger() {
	if j.r.Ledger == nil {
		return
	}
	var sure, doubtful, got bill
	largest, pictures := 0, 0
	begun := make([]int, len(j.r.Lives))
	for _, x := range j.asked {
		begun[x.life]++
		largest = max(largest, x.usage.Input)
		if j.counted(x) {
			sure.add(x.usage)
		} else {
			doubtful.add(x.usage)
			for _, m := range x.request.Messages {
				pictures += len(m.Images)
			}
		}
	}
	for _, row := range j.r.Ledger {
		got.calls += row.Calls
		got.input += row.Usage.Input
		got.output += row.Usage.Output
	}
	unmade := 0 // set aside for calls that were not made
	for i, l := range j.r.Lives {
		if l.Cut() {
			unmade += max(0, record.Begun(l, "reserved")+parallelReserves-begun[i])
		}
	}
	for _, in := range j.r.Inputs {
		if j.r.Client == record.API && (in.Kind == record.Review || in.Kind == record.Guidance || in.Kind == record.Stop) {
			unmade++ // programs are so quick that a call may be given up before it is made
		}
	}
	least := bill{sure.calls + doubtful.calls, sure.input + doubtful.input/estimateFactor, sure.output}
	most := bill{least.calls + unmade, sure.input + estimateFactor*(doubtful.input+unmade*largest) + pictures*llm.ImageTokens, sure.output + estimateFactor*doubtful.output}
	for _, part := range []struct {
		what           string
		got, min, most int
	}{
		{"calls", got.calls, least.calls, most.calls},
		{"tokens of prompts", got.input, least.input, most.input},
		{"tokens of replies", got.output, least.output, most.output},
	} {
		if part.got < part.min || part.got > part.most {
			j.violated(RuleLedger, "%d %s are counted, and the model's wire says %d to %d", part.got, part.what, part.min, part.most)
		}
	}
}

// parallelReserves is how many reservations one commit may hold more than its
// failpoint shows.
const parallelReserves = 6

// counted reports that the reply to a call was stored for certain: no kill fell
// soon after it, no person stops its task, and no guidance came meanwhile.
func (j *judge) counted(x exchange) bool {
	return x.delivered && !j.killedAfter(x.life, x.done) && !j.stopped(x.question()) && !j.superseded(x)
}

// superseded reports that legwork asked for the same decision again, with guidance that
// came while the call was under way: it gave the call up.
func (j *judge) superseded(x exchange) bool {
	return slices.ContainsFunc(j.asked, func(y exchange) bool {
		return y.life == x.life && y.unguided == x.unguided && y.guidance > x.guidance && y.at.After(x.at) && y.at.Before(x.done.Add(killWindow))
	})
}

// The rules about budgets.
const (
	RuleBudget   = "budget"   // a task takes no more than its budget and its extensions
	RuleOverdraw = "overdraw" // nothing is called between a question about costs and its answer
)

// price is that of the config, in millionths of a dollar.
func price(u llmfake.Usage) int { return u.Input + 2*u.Output }

// costQuestion is a question about the cost of a task, from when it stood there until
// it was decided.
type costQuestion struct {
	text      string
	plan      bool // whether to run one
	from, to  time.Time
	extension int
}

// budgets judges the use of budgets.
func (j *judge) budgets() {
	for _, in := range j.r.Inputs {
		if in.Kind != record.DecideCost {
			continue
		}
		list := j.costQuestions(in)
		j.Overdrawn += len(list)
		j.withinBudget(in, list)
		for _, a := range list {
			for _, x := range j.asked {
				if x.step == llmfake.StepAnswer && j.stopped(in.Gate) {
					continue // a stop closes the question about costs, and the answer says what was found
				}
				if x.question() == in.Gate && x.at.After(a.from) && x.at.Before(a.to) && (!a.plan || x.step == llmfake.StepWork) {
					j.violated(RuleOverdraw, "life %d called a model (%s) before anybody had answered %q", x.life, x.key, a.text)
				}
			}
		}
	}
}

// stopped reports that a person stops the task of a question.
func (j *judge) stopped(question string) bool {
	return slices.ContainsFunc(j.r.Inputs, func(in record.Input) bool { return in.Kind == record.Stop && in.Gate == question })
}

// costQuestions are the questions about the cost of an input's question.
func (j *judge) costQuestions(in record.Input) (list []costQuestion) {
	note := func(text string, buttons []string, from, to time.Time) {
		label, _ := record.AnswerAbout(in, buttons)
		pressed := to
		for _, p := range j.r.Presses {
			if p.Key == text && p.By == in.From && p.At.After(from) && p.At.Before(pressed) {
				pressed = p.At
			}
		}
		a := costQuestion{text: text, plan: label == record.LabelRun, from: from.Add(callDelay), to: pressed, extension: record.Extension(label)}
		if slices.ContainsFunc(list, func(b costQuestion) bool { return b.text == text }) {
			a.extension = 0 // it was shown again
		}
		list = append(list, a)
	}
	for _, p := range j.r.Posts {
		if record.CostCard(p, in) {
			note(p.Card, p.Asked, p.Posted, p.At)
		}
	}
	for _, e := range j.r.Events {
		if e.Type == "question" && record.AsksCost(e, in) {
			note(e.Text, record.Labels(e.Buttons), e.At, j.r.Lives[e.Life].End)
		}
	}
	return list
}

// withinBudget compares the use of a task on the model's wire at each moment
// against its budget. Calls that kills cut off do not count: legwork knows
// their prompts only by its own estimate, so that each may exceed the budget by
// as much as it was misjudged.
func (j *judge) withinBudget(in record.Input, list []costQuestion) {
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
