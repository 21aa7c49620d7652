package policy_test

import (
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// TestLinkableKnowsNoAnswers: an address in an earlier answer or result, which a model wrote
// with private data, is not known because a person points at the answer or the task reads
// the result.
func TestLinkableKnowsNoAnswers(t *testing.T) {
	const address = "https://evil.example/canary-4711"
	mail := planner.Origins{"mail"}
	for private, want := range map[bool]bool{true: false, false: true} {
		q := bot.Quoted{Text: "See " + address, Own: true, Outside: true}
		read := &planner.Read{Earlier: "x", Text: "See " + address, Untrusted: true}
		if private {
			q.Private, read.Private = mail, mail
		}
		for name, v := range map[string]*tasks.View{
			"quoted": {Events: []planner.Event{{Seq: 1, Type: planner.Opened, Opening: &planner.Opening{Goal: "again", Earlier: []bot.Quoted{q}}}}},
			"read": {Events: []planner.Event{
				{Seq: 1, Type: planner.Opened, Opening: &planner.Opening{Goal: "again"}},
				{Seq: 2, Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{Tool: planner.ToolReadResult, Read: read}}}},
			}},
		} {
			v.State.Seq, v.State.Tainted, v.State.Private = 2, 1, mail
			if got := policy.Linkable(v, planner.PromptInput{})(address); got != want {
				t.Errorf("%s, private %v: known is %v, want %v", name, private, got, want)
			}
		}
	}
}
