package judge_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
)

// shared is the record of a run in which two agents worked on a context of their
// own, which a person reviewed.
func shared(t *testing.T) record.Record {
	t.Helper()
	var c record.Context
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
	r := record.Record{
		Client: record.API, Lives: []record.Life{{Start: now.Add(-time.Minute), End: now}},
		Inputs:   []record.Input{{Kind: record.Shared, ID: "x1", Chat: "task x1", Text: answer, Notify: "ops"}},
		Tasks:    map[string][]string{"x1": {"T"}},
		Contexts: map[string]record.Context{"T": c},
	}
	for _, stream := range []string{"all", "T"} {
		for i, m := range c.Messages {
			data, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			r.Streamed = append(r.Streamed, record.StreamEvent{Stream: stream, Task: "T", Seq: i + 1, Event: m.Type, Data: string(data)})
		}
	}
	r.Streamed = append(r.Streamed, record.StreamEvent{Stream: "T", Task: "T", Event: "end", Data: "{}"})
	for i, mark := range []string{"a", "b"} {
		r.Wire = append(r.Wire, record.Request{
			Path: "/v1/tasks/T/state", Match: fmt.Sprintf("%q", fmt.Sprint(i)), Body: map[string]string{"a": `{"log":["a"]}`, "b": `{"log":["a","b"]}`}[mark], Status: 200,
		})
	}
	r.Wire = append(r.Wire, record.Request{Path: "/v1/tasks/T/messages", Key: "k", Body: `{"type":"thought","content":"a thought"}`, Status: 201})
	r.Webhooks = []record.Webhook{hook("task.done", answer, 204)}
	return r
}

func hook(kind, answer string, status int) record.Webhook {
	h := record.Webhook{At: time.Now().Add(-30 * time.Second), ID: "notify-T", Type: kind, Status: status}
	h.Task.ID, h.Task.Answer = "T", &answer
	return h
}

func TestJudgeOfPrograms(t *testing.T) {
	edit := func(r *record.Record, do func(c *record.Context)) {
		c := r.Contexts["T"]
		c.Messages = slices.Clone(c.Messages)
		do(&c)
		r.Contexts["T"] = c
	}
	tests := []struct {
		name string
		do   func(r *record.Record)
		want string // a rule; empty: all is well
	}{
		{"all is well", func(*record.Record) {}, ""},
		{"the webhook failed at first", func(r *record.Record) {
			r.Webhooks = append([]record.Webhook{hook("task.done", "[x1] Work together.", 503)}, r.Webhooks...)
		}, ""},
		{"one key, two tasks", func(r *record.Record) { r.Tasks["x1"] = []string{"T", "U"} }, judge.RuleOneTask},
		{"no context", func(r *record.Record) { delete(r.Contexts, "T") }, judge.RuleKept},
		{"another answer", func(r *record.Record) {
			edit(r, func(c *record.Context) { other := "Done."; c.Task.Answer = &other })
		}, judge.RuleKept},
		{"told and not kept", func(r *record.Record) {
			edit(r, func(c *record.Context) { c.Messages[1].SenderID = "agent:writer" })
		}, judge.RuleKept},
		{"a message told twice", func(r *record.Record) { r.Streamed = slices.Insert(r.Streamed, 3, r.Streamed[2]) }, judge.RuleStream},
		{"a message left out", func(r *record.Record) { r.Streamed = slices.Delete(r.Streamed, 2, 3) }, judge.RuleStream},
		{"no end", func(r *record.Record) { r.Streamed = r.Streamed[:len(r.Streamed)-1] }, judge.RuleStream},
		{"one version for two changes", func(r *record.Record) { r.Wire[1].Match = r.Wire[0].Match }, judge.RuleMerged},
		{"a change taken and not there", func(r *record.Record) { r.Wire[1].Body = `{"log":["a","c"]}` }, judge.RuleMerged},
		{"a change refused and there", func(r *record.Record) { r.Wire[1].Status = 412 }, judge.RuleMerged},
		{"a change cut off and there", func(r *record.Record) { r.Wire[1].Status = 0 }, ""},
		{"a list that lost an entry", func(r *record.Record) {
			edit(r, func(c *record.Context) {
				c.Messages[2].Content = json.RawMessage(`{"state": {"log": ["b"]}, "version": 2}`)
			})
		}, judge.RuleMerged},
		{"a message sent again with its key", func(r *record.Record) {
			again := r.Wire[2]
			again.Status = 200
			r.Wire = append(r.Wire, again)
		}, ""},
		{"a message taken and not there", func(r *record.Record) { r.Wire[2].Body = `{"type":"thought","content":"another"}` }, judge.RuleNoted},
		{"a message refused and there", func(r *record.Record) { r.Wire[2].Status = 409 }, judge.RuleNoted},
		{"a message cut off and there", func(r *record.Record) { r.Wire[2].Status = 0 }, ""},
		{"a message there twice", func(r *record.Record) {
			edit(r, func(c *record.Context) {
				twice := c.Messages[5]
				twice.Seq = 8
				c.Messages = append(c.Messages, twice)
			})
		}, judge.RuleNoted},
		{"an answer before the review was over", func(r *record.Record) {
			edit(r, func(c *record.Context) { c.Messages[4].Type, c.Messages[4].Content = "answer", json.RawMessage(`{}`) })
		}, judge.RuleReviewed},
		{"another decision than was sent", func(r *record.Record) {
			edit(r, func(c *record.Context) {
				c.Messages[4].Content = json.RawMessage(`{"kind": "review", "decision": "deny", "state": {"status": "CHANGES_REQUESTED"}, "version": 4}`)
			})
		}, judge.RuleReviewed},
		{"the webhook was not told", func(r *record.Record) { r.Webhooks = nil }, judge.RuleDelivered},
		{"the webhook was told twice", func(r *record.Record) { r.Webhooks = append(r.Webhooks, r.Webhooks[0]) }, judge.RuleDelivered},
		{"the webhook was told about another end", func(r *record.Record) { r.Webhooks[0].Type = "task.failed" }, judge.RuleDelivered},
		{"the webhook was told unasked", func(r *record.Record) { r.Inputs[0].Notify = "" }, judge.RuleDelivered},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := shared(t)
			test.do(&r)
			got := judge.Check(r).Violations
			found := slices.ContainsFunc(got, func(v judge.Violation) bool { return v.Rule == test.want })
			if found != (test.want != "") || test.want == "" && len(got) > 0 {
				t.Errorf("the judge found %v, want %q", got, test.want)
			}
		})
	}
}
