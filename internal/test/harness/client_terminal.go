package harness

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"legwork/internal/test/harness/record"
)

// terminalClient is legwork chat --json: what goes in on stdin and comes out on
// stdout. A line that was not accepted is sent again to the next life.
type terminalClient struct {
	s       *session
	p       *process
	asked   map[string][]record.Button // under questions that this life has shown, by what they are about
	buttons map[string][]record.Button // and any life
	pressed map[string]bool            // inputs, in this life
	presses int                        // about costs, in any life
	costs   map[string][]record.Event  // questions about costs that were not pressed yet, by input
}

func (*terminalClient) scenario(r *rand.Rand) []record.Input { return Scenario(r) }

func (*terminalClient) config() string { return "" }

func (f *terminalClient) started(p *process) {
	f.p, f.asked, f.pressed, f.costs = p, map[string][]record.Button{}, map[string]bool{}, map[string][]record.Event{}
}

// stdout notes requests for decisions. A person who presses twice does so when the first
// press was taken.
func (f *terminalClient) stdout(e record.Event) {
	for _, in := range f.s.record.Inputs {
		switch {
		case in.Kind == record.DecideCost && e.Type == "question" && record.AsksCost(e, in):
			f.costs[in.ID] = append(f.costs[in.ID], e)
		case in.Kind != record.Decide || record.ButtonsOfCost(record.Labels(e.Buttons)):
		case e.Type == "question" && strings.Contains(e.Text, in.Key):
			f.asked[in.Key], f.buttons[in.Key] = e.Buttons, e.Buttons
		case e.Type == "accepted" && e.Message == in.ID && habitOf(in.Key) == twice:
			f.press(in, in.ID+" again", record.Choice(in.Key))
		}
	}
}

func (f *terminalClient) possible(in record.Input) bool {
	return !in.Decides() || len(f.costs[in.ID]) > 0 || len(f.asked[in.Key]) > 0 || f.answered(in)
}

func (f *terminalClient) costPending(in record.Input) bool { return len(f.costs[in.ID]) > 0 }

// answered reports that what an input belongs to has its answer.
func (f *terminalClient) answered(in record.Input) bool { return f.s.gates["answer "+in.Gate] }

func (f *terminalClient) do(in record.Input) bool {
	if in.Kind == record.Decide {
		return f.decide(in)
	}
	if in.Kind == record.DecideCost {
		return f.decideCost(in)
	}
	f.p.write(in, f.s.pathOf(in))
	return false // stdout tells
}

// decide presses once in each life that asks, and also too late. There is
// no other person at the terminal.
func (f *terminalClient) decide(in record.Input) bool {
	late := f.s.accepted[in.ID] || f.answered(in)
	if f.pressed[in.ID] || !late && len(f.asked[in.Key]) == 0 {
		return late
	}
	f.pressed[in.ID] = true
	f.press(in, in.ID, record.Choice(in.Key))
	if habitOf(in.Key) == wavering {
		f.press(in, in.ID+" else", record.Other(in.Key))
	}
	return late
}

func (f *terminalClient) press(in record.Input, id, label string) {
	for _, b := range f.buttons[in.Key] {
		if b.Label == label {
			f.s.recordPress(in.Key, label, in.From)
			f.p.press(id, in.Chat, b.Data)
		}
	}
}

func (*terminalClient) disturb(*rand.Rand) {}

// finish closes stdin: legwork ends when all accepted inputs are done. It may be
// called again.
func (*terminalClient) finish(p *process, _ func() bool) bool {
	_ = p.stdin.Close()
	return false
}

func (*terminalClient) gates() []string { return nil }

func (*terminalClient) drain(context.Context) error { return nil }

func (*terminalClient) collect(*record.Record) {}

func (*terminalClient) close() error { return nil }

// decideCost is the same at the terminal.
func (f *terminalClient) decideCost(in record.Input) (done bool) {
	for _, e := range f.costs[in.ID] {
		label, other := record.AnswerAbout(in, record.Labels(e.Buttons))
		list := []string{label}
		switch habitOf(in.Key) {
		case twice:
			list = append(list, label)
		case wavering:
			list = append(list, other)
		case once, meddled: // no one else is there
		}
		f.s.recordPress(e.Text, label, in.From)
		for _, label := range list {
			for _, b := range e.Buttons {
				if b.Label == label {
					f.presses++
					f.p.press(fmt.Sprintf("%s-%d", in.ID, f.presses), in.Chat, b.Data)
				}
			}
		}
	}
	f.costs[in.ID] = nil
	return f.answered(in)
}
