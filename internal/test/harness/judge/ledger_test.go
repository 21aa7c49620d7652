package judge_test

import (
	"slices"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
	"legwork/llm"
	"legwork/tasks"
)

// billed is a run with one call in each of two lives, of 100 tokens and 10 of
// reply; the first life was killed, soon after the reply when cut.
func billed(cut bool, ledger ...tasks.Spent) record.Record {
	r := good(map[string]func(*tape){"decided": func(t *tape) {
		if !cut {
			t.idle()
		}
		restart(t)
	}})
	r.Ledger = append([]tasks.Spent{}, ledger...)
	r.Model = r.Model[:4]
	for i := range r.Model {
		if r.Model[i].Event == llmfake.EventReply {
			r.Model[i].Reply = &llmfake.Response{Usage: &llmfake.Usage{Input: 100, Output: 10}}
		}
	}
	return r
}

// guided is a run without kills whose review was asked again, with guidance that came
// before its reply was stored; apart: long after that.
func guided(apart bool, ledger ...tasks.Spent) record.Record {
	r := good(map[string]func(*tape){"booked": func(t *tape) {
		t.asked(llmfake.StepReview, goal2+results2, plainAnswer, 0)
		if apart {
			t.idle()
		}
		t.asked(llmfake.StepReview, goal2+results2+"<guidance>note g3 omega</guidance>", plainAnswer, 0)
	}})
	r.Ledger = ledger
	for i := range r.Model {
		if r.Model[i].Event == llmfake.EventReply {
			r.Model[i].Reply = &llmfake.Response{Usage: &llmfake.Usage{Input: 100, Output: 10}}
		}
	}
	return r
}

func spent(calls, input, output int) tasks.Spent {
	return tasks.Spent{Calls: calls, Usage: llm.Usage{Input: input, Output: output}}
}

func TestJudgeOfLedgers(t *testing.T) {
	for _, test := range []struct {
		name  string
		run   record.Record
		guilt bool
	}{
		{"all is counted", billed(false, spent(2, 200, 20)), false},
		{"in two rows", billed(false, spent(1, 100, 10), spent(1, 100, 10)), false},
		{"a reply that a kill cut off counts by its prompt", billed(true, spent(2, 190, 10)), false},
		{"and may be stored", billed(true, spent(2, 200, 20)), false},
		{"a reply is not counted", billed(false, spent(2, 200, 10)), true},
		{"a call is not counted", billed(false, spent(1, 100, 10)), true},
		{"a call that a kill cut off is not counted", billed(true, spent(1, 100, 10)), true},
		{"replies are counted twice", billed(true, spent(2, 200, 40)), true},
		{"nothing is counted", billed(false), true},
		{"a decision that guidance superseded counts by its prompt", guided(false, spent(9, 900, 80)), false},
		{"and may be stored", guided(false, spent(9, 900, 90)), false},
		{"a decision was stored long before guidance", guided(true, spent(9, 900, 80)), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			violations := judge.Check(test.run).Violations
			found := slices.ContainsFunc(violations, func(v judge.Violation) bool { return v.Rule == judge.RuleLedger })
			if found != test.guilt {
				t.Errorf("got %v, want a violation of %q: %v", violations, judge.RuleLedger, test.guilt)
			}
		})
	}
}

// overdrawn is a run in which a task with a budget of 1,000 tokens asked whether
// to go on, was extended by as much when pressed, and made the given calls of
// 600 tokens, by the second.
func overdrawn(pressed bool, calls ...int) record.Record {
	r := record.Record{
		Client: record.Terminal, Lives: []record.Life{{Start: moment(0), End: moment(100)}}, Budget: record.Budget{Tokens: 1000, Asker: true},
		Inputs: []record.Input{
			{Kind: record.Planned, ID: "q1", Chat: "c1", Text: "q1: lookup alpha"},
			{Kind: record.DecideCost, ID: "a2", Chat: "c1", Gate: "q1", Extends: true},
		},
	}
	question := record.Event{
		At: moment(20), Type: "question", Chat: "c1", Text: "No room.\n\nFor root: q1\\: lookup alpha", Line: "card",
		Buttons: []record.Button{{Label: "Extend by 1k tokens"}, {Label: "Answer with results so far"}},
	}
	r.Events = append(r.Events, question)
	if pressed {
		r.Presses = append(r.Presses, record.Press{At: moment(30), Key: question.Text, Label: "Extend by 1k tokens"})
	}
	for i, at := range calls {
		r.Model = append(r.Model, llmfake.Entry{
			Seq: i + 1, At: moment(at), Event: llmfake.EventRequest,
			Request: &llmfake.Request{Key: "life-0", Messages: []llmfake.Message{{Role: "user", Content: "<goal>q1: lookup alpha</goal>"}}},
		}, llmfake.Entry{
			Seq: i + 1, At: moment(at).Add(time.Millisecond), Event: llmfake.EventReply,
			Reply: &llmfake.Response{Usage: &llmfake.Usage{Input: 500, Output: 100}},
		})
	}
	return r
}

func TestJudgeOfBudgets(t *testing.T) {
	for _, test := range []struct {
		name  string
		run   record.Record
		rule  string
		guilt bool
	}{
		{"within it", overdrawn(false, 10), judge.RuleBudget, false},
		{"more than it", overdrawn(false, 10, 11), judge.RuleBudget, true},
		{"extended", overdrawn(true, 10, 40, 41), judge.RuleBudget, false},
		{"more than that", overdrawn(true, 10, 40, 41, 42), judge.RuleBudget, true},
		{"after the answer", overdrawn(true, 10, 40), judge.RuleOverdraw, false},
		{"before the answer", overdrawn(true, 10, 25), judge.RuleOverdraw, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			violations := judge.Check(test.run).Violations
			found := slices.ContainsFunc(violations, func(v judge.Violation) bool { return v.Rule == test.rule })
			if found != test.guilt {
				t.Errorf("got %v, want a violation of %q: %v", violations, test.rule, test.guilt)
			}
		})
	}
}
