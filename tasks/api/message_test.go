package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden file of messages")

// secret must not be told to anybody outside.
const secret = "INSIDE"

// everyEvent is a journal that has events of all types, though no task would
// have them in this order.
func everyEvent() []planner.Event {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	definition := planner.Grant{Tool: "book.it", Definition: secret}
	calls := []planner.Call{
		{ID: secret, Name: "book_it", Tool: "book.it", Arguments: `{"city":"Rome"}`},
		{ID: secret, Name: "update_state", Arguments: `{"values":{"a":1}}`, Update: &planner.Update{Values: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
		{ID: secret, Name: "ask_person", Arguments: `{"question":"Which?"}`, Ask: &planner.Question{Text: "Which?"}},
		{ID: secret, Name: "nonsense", Arguments: `{broken`, Refusal: "there is no such tool"},
	}
	list := []planner.Event{
		{Type: planner.Opened, By: "api:ops", Opening: &planner.Opening{Goal: "find out", Language: "en", Only: []string{"book"}, Message: secret, Request: secret, Chat: bot.Chat{Platform: "api", ID: "ops"}}},
		{Type: planner.Released},
		{Type: planner.Replied, Action: planner.DecisionID("plan", 1, 0), Reply: &planner.Reply{IsPlan: true, Thought: "first a look", Plan: []planner.Subtask{{ID: "1/a", Name: "book", Description: "book it"}, {ID: "1/b", Name: "llm_tool", Description: "sum up", After: []string{"1/a"}}}, Estimate: &planner.Estimate{Tokens: 1000, Cost: 20_000}}},
		{Type: planner.Replied, Action: planner.WorkID("1/a", 1, 0), Reply: &planner.Reply{Text: "I book", Calls: calls}},
		{Type: planner.Asked, Action: planner.CallID("1/a", 1, 1, 0), Question: &planner.Question{Expires: at.Add(time.Hour), Calls: []planner.Approval{{Call: 0, Tool: "book.it", Definition: secret, Hash: secret, Leaves: []planner.Leaves{{Parameter: "url", To: "example.com", From: []planner.Origin{{Name: "mail", Lines: 3}}}}}}}},
		{Type: planner.Decided, Action: planner.AskID(planner.SubjectCalls, 5), By: "telegram:1", Message: secret, Decision: &planner.Decision{Approve: true, Scope: planner.ScopeTask, Grants: []planner.Grant{definition}, Name: "Ann"}},
		{Type: planner.Started, Action: planner.CallID("1/a", 1, 1, 1), Grant: secret},
		{Type: planner.Asked, Action: planner.CallID("1/a", 1, 1, 1), Question: &planner.Question{Server: "book", State: json.RawMessage(`"` + secret + `"`), Form: &form.Question{Message: "How many?", Fields: []form.Field{{Name: "n", Title: "Number", Required: true, Schema: json.RawMessage(`{"type":"integer"}`)}}}}},
		{Type: planner.Decided, Action: planner.FormID(8, 0), By: "api:ops", Decision: &planner.Decision{Approve: true, Value: json.RawMessage("3"), Name: "ops"}},
		{Type: planner.Returned, Action: planner.CallID("1/a", 1, 1, 2), Result: &planner.Result{Text: "booked", Bytes: 2_000_000, Images: []llm.Image{{Data: []byte(secret)}}}},
		{Type: planner.Decided, Action: planner.QuestionID(4, 3), By: "slack:U1", Decision: &planner.Decision{Approve: true, Text: "the red one"}},
		{Type: planner.Replied, Action: planner.WorkID("1/a", 2, 0), Reply: &planner.Reply{Calls: []planner.Call{{Name: "delegate", Arguments: `{"name":"look","description":"look it up"}`, Delegate: &planner.Subtask{Name: "look", Description: "look it up"}}}}},
		{Type: planner.Replied, Action: planner.WorkID("1/d1", 1, 0), Reply: &planner.Reply{Text: "looked up"}},
		{Type: planner.Malformed, Action: planner.WorkID("1/a", 3, 0), Problem: &planner.Problem{Code: "garbage", Reason: "no JSON", Text: "hm"}},
		{Type: planner.CallFailed, Action: planner.WorkID("1/a", 3, 1), Problem: &planner.Problem{Code: "busy", Reason: secret, Text: "begun"}},
		{Type: planner.GuidanceAdded, By: "telegram:1", Text: "rather blue", Message: secret},
		{Type: planner.GuidanceRemoved, By: "telegram:1", Of: 16},
		{Type: planner.StateSet, By: "agent:scout", Values: map[string]json.RawMessage{"status": json.RawMessage(`"NEEDS_HUMAN_REVIEW"`), "draft": json.RawMessage("null")}},
		{Type: planner.Decided, Action: planner.AskID(planner.SubjectReview, 18), By: "api:ops", Values: planner.ReviewValues(false), Decision: &planner.Decision{Text: "more sources"}},
		{Type: planner.NoteAdded, By: "agent:scout", Message: secret, Note: &planner.Note{Type: "thought", Content: json.RawMessage(`{"any":["thing",1]}`)}},
		{Type: planner.BudgetReached, Budget: "task_usd", Overdraft: &planner.Overdraft{Budget: "task_usd", Limit: 1_000_000, Spent: 990_000, Wanted: 20_000, Extend: 500_000}},
		{Type: planner.BudgetRenewed, Budget: "task_usd"},
		{Type: planner.GrantRevoked, By: "telegram:1", Of: 6},
		{Type: planner.PromptExpanded, Action: planner.DecisionID("plan", 1, 0), Text: "what the server wrote"},
		{Type: planner.Resumed},
		{Type: planner.Expired, Action: planner.AskID(planner.SubjectReview, 18), Values: map[string]json.RawMessage{"status": json.RawMessage(`"REVIEW_EXPIRED"`)}},
		{Type: planner.Stopped, By: "telegram:1"},
		{Type: planner.SendStarted, Action: planner.DecisionID("answer", 27, 0)},
		{Type: planner.Replied, Action: planner.DecisionID("answer", 27, 0), Reply: &planner.Reply{Text: "it is booked"}},
		{Type: planner.Answered, By: "agent:scout", Text: "all is done"},
		{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		{Type: planner.Sent, Slot: planner.SlotAnswer, Message: secret, Instead: secret, Last: true},
		{Type: planner.CallFailed, Action: planner.ShowID(), Problem: &planner.Problem{Code: "unsendable", Reason: secret}},
	}
	for i := range list {
		list[i].Seq, list[i].At = i+1, at.Add(time.Duration(i)*time.Second)
	}
	return list
}

// TestMessages: every event has its message, and nothing of the inside is in one.
func TestMessages(t *testing.T) {
	events := everyEvent()
	state := planner.State{
		Seq: len(events), Answer: 29, Changes: []int{4, 18, 19, 26},
		Subtasks: []planner.Work{{ID: "1/a", Turns: []planner.Turn{{Seq: 4, Calls: make([]planner.CallState, 4)}, {Seq: 12, Calls: make([]planner.CallState, 1)}}}, {ID: "1/b"}, {ID: "1/d1"}},
	}
	tell := translator{tasks.ID("T"), state, func(seq int) planner.Event {
		if seq < 1 || seq > len(events) {
			return planner.Event{}
		}
		return events[seq-1]
	}, true}
	var b strings.Builder
	types := map[planner.EventType]bool{}
	for _, e := range events {
		types[e.Type] = true
		m, _, err := tell.filtered(e, nil)
		if err != nil {
			t.Fatalf("event %d: %v", e.Seq, err)
		}
		if m.Seq != e.Seq || !m.Timestamp.Equal(e.At) || m.Bytes != 0 {
			t.Errorf("event %d became %+v", e.Seq, m)
		}
		fmt.Fprintf(&b, "%2d %-16s  %-13s %-6s %-18s %s\n", m.Seq, e.Type, m.Type, m.SenderType, m.SenderID, m.Content)
		if strings.Contains(string(m.Content)+m.SenderID, secret) {
			t.Errorf("event %d tells what is inside: %s", e.Seq, m.Content)
		}
	}
	for _, kind := range []planner.EventType{
		planner.Opened, planner.Released, planner.Replied, planner.Malformed, planner.CallFailed, planner.Started, planner.Returned, planner.Asked, planner.Decided, planner.GuidanceAdded,
		planner.GuidanceRemoved, planner.PromptExpanded, planner.GrantRevoked, planner.StateSet, planner.NoteAdded, planner.Answered, planner.Stopped, planner.Expired, planner.BudgetReached, planner.BudgetRenewed,
		planner.SendStarted, planner.Sent, planner.Resumed,
	} {
		if !types[kind] {
			t.Errorf("the journal has no event %q", kind)
		}
	}
	const name = "testdata/messages.golden"
	if *rewrite {
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != b.String() {
		t.Errorf("%s differs (-rewrite rewrites it), %v; got\n%s", name, err, b.String())
	}
}

// FuzzFitted: for every content, the fitted form is JSON of bounded length.
func FuzzFitted(f *testing.F) {
	f.Add(`{"a":"b"}`, 20_000)
	f.Add("\"\\\u2028<é", 30_000)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, times int) {
		long := strings.Repeat(text, min(max(times, 0), 40_000/(len(text)+1)+1))
		quoted, err := json.Marshal(long)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []any{fields{"text": long}, json.RawMessage(quoted), fields{"list": []any{fields{"a": long}, long, json.RawMessage(quoted)}}, fields{"values": map[string]json.RawMessage{long: quoted}}} {
			whole, err := encode(content)
			if err != nil {
				t.Fatal(err)
			}
			short, all, err := shortContent(content)
			switch {
			case err != nil || !json.Valid(short) || len(short) > shownContent:
				t.Errorf("%.40q became %d bytes %.80q, %v", whole, len(short), short, err)
			case (all > 0) != (len(whole) > shownContent) || all > 0 && all != len(whole):
				t.Errorf("%d bytes: the length is told as %d", len(whole), all)
			}
		}
	})
}
