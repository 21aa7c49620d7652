package harness_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"legwork/internal/test/harness"
)

// shared is the record of a run in which two agents worked on a context of their
// own, which a person reviewed.
func shared(t *testing.T) harness.Record {
	t.Helper()
	var c harness.Context
	text := `{"messages": [
		{"seq": 1, "sender_id": "agent:scout", "type": "goal", "content": {"text": "[x1] Work together."}},
		{"seq": 2, "sender_id": "agent:scout", "type": "status_update", "content": {"state": {"log": ["a"]}, "version": 1}},
		{"seq": 3, "sender_id": "agent:writer", "type": "status_update", "content": {"state": {"log": ["a", "b"]}, "version": 2}},
		{"seq": 4, "sender_id": "agent:writer", "type": "status_update", "content": {"state": {"status": "NEEDS_HUMAN_REVIEW"}, "version": 3}},
		{"seq": 5, "sender_id": "api:ops", "type": "approval", "content": {"kind": "review", "decision": "approve", "state": {"status": "APPROVED"}, "version": 4}},
		{"seq": 6, "sender_id": "agent:scout", "type": "thought", "content": {"text": "a thought"}},
		{"seq": 7, "sender_id": "agent:writer", "type": "answer", "content": {"text": "[x1] Work together."}}
	], "shared_state": {"log": ["a", "b"], "status": "APPROVED"}, "version": 4}`
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	answer, now := "[x1] Work together.", time.Now()
	c.Task.ID, c.Task.State, c.Task.Goal, c.Task.Answer, c.Task.Seq = "T", "done", answer, &answer, 7
	r := harness.Record{
		Front: harness.API, Lives: []harness.Life{{Start: now.Add(-time.Minute), End: now}},
		Inputs:   []harness.Input{{Kind: harness.Shared, ID: "x1", Chat: "task x1", Text: answer, Notify: "ops"}},
		Tasks:    map[string][]string{"x1": {"T"}},
		Contexts: map[string]harness.Context{"T": c},
	}
	for _, stream := range []string{"all", "T"} {
		for i, m := range c.Messages {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			r.Told = append(r.Told, harness.Told{Stream: stream, Task: "T", Seq: i + 1, Event: m.Type, Data: string(data)})
		}
	}
	r.Told = append(r.Told, harness.Told{Stream: "T", Task: "T", Event: "end", Data: "{}"})
	for i, mark := range []string{"a", "b"} {
		r.Wire = append(r.Wire, harness.Request{
			Path: "/v1/tasks/T/state", Match: fmt.Sprintf("%q", fmt.Sprint(i)), Body: map[string]string{"a": `{"log":["a"]}`, "b": `{"log":["a","b"]}`}[mark], Status: 200,
		})
	}
	r.Wire = append(r.Wire, harness.Request{Path: "/v1/tasks/T/messages", Key: "k", Body: `{"type":"thought","content":"a thought"}`, Status: 201})
	r.Hooks = []harness.Hook{hook("task.done", answer, 204)}
	return r
}

func hook(kind, answer string, status int) harness.Hook {
	h := harness.Hook{At: time.Now().Add(-30 * time.Second), ID: "notify-T", Type: kind, Status: status}
	h.Task.ID, h.Task.Answer = "T", &answer
	return h
}

func TestJudgeOfPrograms(t *testing.T) {
	edit := func(r *harness.Record, do func(c *harness.Context)) {
		c := r.Contexts["T"]
		c.Messages = slices.Clone(c.Messages)
		do(&c)
		r.Contexts["T"] = c
	}
	tests := []struct {
		name string
		do   func(r *harness.Record)
		want string // a rule; empty: all is well
	}{
		{"all is well", func(*harness.Record) {}, ""},
		{"the webhook failed at first", func(r *harness.Record) {
			r.Hooks = append([]harness.Hook{hook("task.done", "[x1] Work together.", 503)}, r.Hooks...)
		}, ""},
		{"one key, two tasks", func(r *harness.Record) { r.Tasks["x1"] = []string{"T", "U"} }, harness.RuleOneTask},
		{"no context", func(r *harness.Record) { delete(r.Contexts, "T") }, harness.RuleKept},
		{"another answer", func(r *harness.Record) {
			edit(r, func(c *harness.Context) { other := "Done."; c.Task.Answer = &other })
		}, harness.RuleKept},
		{"told and not kept", func(r *harness.Record) {
			edit(r, func(c *harness.Context) { c.Messages[1].SenderID = "agent:writer" })
		}, harness.RuleKept},
		{"a message told twice", func(r *harness.Record) { r.Told = slices.Insert(r.Told, 3, r.Told[2]) }, harness.RuleStream},
		{"a message left out", func(r *harness.Record) { r.Told = slices.Delete(r.Told, 2, 3) }, harness.RuleStream},
		{"no end", func(r *harness.Record) { r.Told = r.Told[:len(r.Told)-1] }, harness.RuleStream},
		{"one version for two changes", func(r *harness.Record) { r.Wire[1].Match = r.Wire[0].Match }, harness.RuleMerged},
		{"a change taken and not there", func(r *harness.Record) { r.Wire[1].Body = `{"log":["a","c"]}` }, harness.RuleMerged},
		{"a change refused and there", func(r *harness.Record) { r.Wire[1].Status = 412 }, harness.RuleMerged},
		{"a change cut off and there", func(r *harness.Record) { r.Wire[1].Status = 0 }, ""},
		{"a list that lost an entry", func(r *harness.Record) {
			edit(r, func(c *harness.Context) {
				c.Messages[2].Content = json.RawMessage(`{"state": {"log": ["b"]}, "version": 2}`)
			})
		}, harness.RuleMerged},
		{"a message sent again with its key", func(r *harness.Record) {
			again := r.Wire[2]
			again.Status = 200
			r.Wire = append(r.Wire, again)
		}, ""},
		{"a message taken and not there", func(r *harness.Record) { r.Wire[2].Body = `{"type":"thought","content":"another"}` }, harness.RuleNoted},
		{"a message refused and there", func(r *harness.Record) { r.Wire[2].Status = 409 }, harness.RuleNoted},
		{"a message cut off and there", func(r *harness.Record) { r.Wire[2].Status = 0 }, ""},
		{"a message there twice", func(r *harness.Record) {
			edit(r, func(c *harness.Context) {
				twice := c.Messages[5]
				twice.Seq = 8
				c.Messages = append(c.Messages, twice)
			})
		}, harness.RuleNoted},
		{"an answer before the review was over", func(r *harness.Record) {
			edit(r, func(c *harness.Context) { c.Messages[4].Type, c.Messages[4].Content = "answer", json.RawMessage(`{}`) })
		}, harness.RuleReviewed},
		{"another decision than was sent", func(r *harness.Record) {
			edit(r, func(c *harness.Context) {
				c.Messages[4].Content = json.RawMessage(`{"kind": "review", "decision": "deny", "state": {"status": "CHANGES_REQUESTED"}, "version": 4}`)
			})
		}, harness.RuleReviewed},
		{"the webhook was not told", func(r *harness.Record) { r.Hooks = nil }, harness.RuleDelivered},
		{"the webhook was told twice", func(r *harness.Record) { r.Hooks = append(r.Hooks, r.Hooks[0]) }, harness.RuleDelivered},
		{"the webhook was told of another end", func(r *harness.Record) { r.Hooks[0].Type = "task.failed" }, harness.RuleDelivered},
		{"the webhook was told unasked", func(r *harness.Record) { r.Inputs[0].Notify = "" }, harness.RuleDelivered},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := shared(t)
			test.do(&r)
			got := harness.Judge(r).Violations
			found := slices.ContainsFunc(got, func(v harness.Violation) bool { return v.Rule == test.want })
			if found != (test.want != "") || test.want == "" && len(got) > 0 {
				t.Errorf("the judge found %v, want %q", got, test.want)
			}
		})
	}
}
