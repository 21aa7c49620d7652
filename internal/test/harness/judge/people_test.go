package judge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// keyOf is a sub-task that the person decides about by that button.
func keyOf(tool, label string) string {
	for i := range 1000 {
		if key := fmt.Sprintf("q1 %s word%d", tool, i); record.Choice(key) == label {
			return key
		}
	}
	panic("no key for " + label)
}

// decided is the record of a run on a terminal in which all went well: Ann was
// asked about one call, pressed, and got her answer.
func decided(tool, label string) record.Record {
	key := keyOf(tool, label)
	r := record.Record{Client: record.Terminal, Lives: []record.Life{{Start: moment(0), End: moment(100)}}, Inputs: []record.Input{
		{Kind: record.Planned, ID: "q1", Chat: "c1", From: "ann", Text: "q1: " + strings.TrimPrefix(key, "q1 ")},
		{Kind: record.Decide, ID: "d2", Chat: "c1", From: "ann", Gate: "q1", Key: key},
	}}
	r.Events = []record.Event{
		question(10, key),
		{At: moment(20), Type: "accepted", Message: "d2"},
		{At: moment(50), Type: "answer", Task: "t", Chat: "c1", Text: "[q1] " + record.Output(tool, key)},
	}
	r.Presses = []record.Press{{At: moment(15), Key: key, Label: label, By: "ann"}}
	switch {
	case tool != "pay":
		r.Calls = []record.Call{{At: moment(5), Tool: "choose", Text: key}}
		r.Elicitations = []record.Elicitation{{At: moment(6), Event: "asked", Key: key}, {At: moment(30), Event: "told", Key: key, Value: strings.ToLower(label)}, {At: moment(31), Event: "done", Key: key}}
	case label == "Allow once":
		r.Calls = []record.Call{{At: moment(30), Tool: "pay", Text: key}}
	}
	return r
}

func question(at int, key string) record.Event {
	e := record.Event{At: moment(at), Type: "question", Chat: "c1", Text: "Allow this action?\n{\n  \"order\": \"" + key + "\"\n}"}
	_ = json.Unmarshal([]byte(`{"calls": [{"arguments": {"order": "`+key+`"}}]}`), &e) // no error in it
	return e
}

// card is decided on a chat platform, where the question has become what it is.
func card(tool, label, text string, buttons ...string) record.Record {
	r := decided(tool, label)
	key := r.Inputs[1].Key
	r.Client = record.Slack
	r.Posts = []record.Post{
		{Chat: "c1", ID: "1", Card: question(0, key).Text, Text: text, Buttons: buttons, Posted: moment(10), At: moment(35)},
		{Chat: "c1", ID: "2", Text: r.Events[2].Text, Posted: moment(50), At: moment(50)},
	}
	r.Events = nil
	return r
}

func TestJudgeOfDecisionsAcquits(t *testing.T) {
	again := card("pay", "Deny", "Denied by Ann")
	again.Client = record.Telegram
	again.Posts = append([]record.Post{{Chat: "c1", ID: "0", Card: again.Posts[0].Card, Text: "Denied by Ann", Posted: moment(9), At: moment(9)}}, again.Posts...)
	again = killed(again, 10, "post.before.question")
	for name, r := range map[string]record.Record{
		"allowed": decided("pay", "Allow once"), "denied": decided("pay", "Deny"), "chosen": decided("inquire", "Green"),
		"a card": card("pay", "Allow once", "Allowed once by Ann"), "a card around a kill": again,
	} {
		if got := judge.Check(r).Violations; len(got) > 0 {
			t.Errorf("%s: got %v, want no violation", name, got)
		}
	}
}

func TestJudgeOfDecisionsAccuses(t *testing.T) {
	tests := []struct {
		name, rule string
		record     record.Record
		change     func(*record.Record)
	}{
		{"called though it was denied", judge.RuleApproved, decided("pay", "Deny"), func(r *record.Record) {
			r.Calls = []record.Call{{At: moment(30), Tool: "pay", Text: r.Inputs[1].Key}}
		}},
		{"called too early", judge.RuleApproved, decided("pay", "Allow once"), func(r *record.Record) { r.Calls[0].At = moment(12) }},
		{"somebody else allowed it", judge.RuleApproved, decided("pay", "Allow once"), func(r *record.Record) { r.Presses[0].By = "ben" }},
		{"other arguments were shown", judge.RuleApproved, decided("pay", "Allow once"), func(r *record.Record) {
			r.Events[0] = question(10, r.Inputs[1].Key+" and more")
		}},
		{"paid twice", judge.RuleBookOnce, decided("pay", "Allow once"), func(r *record.Record) {
			r.Calls = append(r.Calls, record.Call{At: moment(40), Tool: "pay", Text: r.Inputs[1].Key})
		}},
		{"the result is missing", judge.RuleContent, decided("pay", "Allow once"), func(r *record.Record) { r.Events[2].Text = "[q1] done" }},
		{"the denial is missing", judge.RuleContent, decided("pay", "Deny"), func(r *record.Record) { r.Events[2].Text = "[q1] done" }},
		{"another value", judge.RuleTold, decided("inquire", "Green"), func(r *record.Record) { r.Elicitations[1].Value = "red" }},
		{"told before it was pressed", judge.RuleTold, decided("ask", "Green"), func(r *record.Record) { r.Elicitations[1].At = moment(12) }},
		{"called twice in a life", judge.RuleToolOnce, decided("ask", "Green"), func(r *record.Record) { r.Calls = append(r.Calls, r.Calls[0]) }},
		{"asked twice in a life", judge.RuleAskedOnce, decided("pay", "Deny"), func(r *record.Record) {
			r.Events = slices.Insert(r.Events, 1, question(12, r.Inputs[1].Key))
		}},
		{"asked after it was decided", judge.RuleAskedOnce, decided("pay", "Deny"), func(r *record.Record) {
			r.Lives = append(r.Lives, record.Life{Start: moment(100), End: moment(200)})
			late := question(110, r.Inputs[1].Key)
			late.Life = 1
			r.Events = append(r.Events, late)
		}},
		{"two cards", judge.RuleAskedOnce, card("pay", "Deny", "Denied by Ann"), func(r *record.Record) { r.Posts = append(r.Posts, r.Posts[0]) }},
		{"two cards though the first was stored", judge.RuleAskedOnce, card("pay", "Deny", "Denied by Ann"), func(r *record.Record) {
			r.Client, r.Posts = record.Telegram, append(r.Posts, r.Posts[0])
			*r = killed(*r, 11, "post.before.question", "keep.after.question")
		}},
		{"a card is left open", judge.RuleTidy, card("pay", "Deny", "Allow this action?", "Allow once", "Deny"), func(*record.Record) {}},
		{"a card says otherwise", judge.RuleTold, card("pay", "Deny", "Allowed once by Ann"), func(*record.Record) {}},
		{"a card in another chat", judge.RuleChat, card("pay", "Deny", "Denied by Ann"), func(r *record.Record) { r.Posts[0].Chat = "c2" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.change(&test.record)
			got := judge.Check(test.record).Violations
			if !slices.ContainsFunc(got, func(v judge.Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("got %v, want a violation of %q", got, test.rule)
			}
		})
	}
}
