package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/harness"
	"legwork/internal/test/harness/judge"
	"legwork/internal/test/harness/record"
	"legwork/planner"
)

// tape writes the record of an imagined run, a second between two things.
type tape struct {
	record.Record
	now time.Time
	seq int
}

func (t *tape) tick() time.Time {
	t.now = t.now.Add(time.Second)
	return t.now
}

// idle lets so much time go by that a commit would have been over.
func (t *tape) idle() { t.now = t.now.Add(time.Minute) }

func (t *tape) start() {
	t.Lives = append(t.Lives, record.Life{Start: t.tick()})
}

// end ends the life; a kill comes a millisecond after what happened last.
func (t *tape) end(killed bool, hits ...string) {
	l := &t.Lives[len(t.Lives)-1]
	l.End, l.Killed, l.Hits = t.tick(), killed, hits
	if killed {
		t.now = t.now.Add(time.Millisecond - time.Second)
		l.End = t.now
	}
}

func (t *tape) out(kind, message, task, text string) {
	chat := ""
	if kind == "answer" {
		chat = "c1"
	}
	t.Events = append(t.Events, record.Event{
		At: t.tick(), Life: len(t.Lives) - 1, Type: kind, Message: message, Task: task, Chat: chat, Text: text,
		Line: fmt.Sprintf("%s %d", kind, len(t.Events)),
	})
}

// ask puts a request on the model's wire; tools are results in the prompt.
func (t *tape) ask(step llmfake.Step, user, history string, tools int) {
	t.seq++
	r := &llmfake.Request{Key: fmt.Sprintf("life-%d", len(t.Lives)-1), Messages: []llmfake.Message{{Role: "system", Content: "- lookup: x\n- book: x\n"}}}
	if history != "" {
		r.Messages = append(r.Messages, llmfake.Message{Role: "assistant", Content: history})
	}
	r.Messages = append(r.Messages, llmfake.Message{Role: "user", Content: user})
	for range tools {
		r.Messages = append(r.Messages, llmfake.Message{Role: "assistant"}, llmfake.Message{Role: "tool", Content: "x"})
	}
	if step == llmfake.StepPlan || step == llmfake.StepReview {
		r.Tools = []llmfake.Tool{{Name: "plan"}}
	}
	t.Model = append(t.Model, llmfake.Entry{Seq: t.seq, At: t.tick(), Event: llmfake.EventRequest, Request: r})
}

func (t *tape) reply(event string) {
	t.Model = append(t.Model, llmfake.Entry{Seq: t.seq, At: t.tick(), Event: event})
}

func (t *tape) asked(step llmfake.Step, user, history string, tools int) {
	t.ask(step, user, history, tools)
	t.reply(llmfake.EventReply)
}

func (t *tape) call(tool, text string) {
	t.Calls = append(t.Calls, record.Call{At: t.tick(), Life: len(t.Lives) - 1, Tool: tool, Text: text})
}

const (
	plainAnswer = "[q1] answers: q1: hello"
	goal2       = "<goal>q2: lookup alpha; book beta</goal>"
	results2    = `<result id="1/a">` + "x" + `</result><result id="1/b">y</result>`
)

var answer2 = "[q2] \n- " + record.Output("lookup", "q2 lookup alpha") + "\n- " + record.Output("book", "q2 book beta") + "\n- guidance: note g3 omega"

// good is a run in which nothing went wrong: a plain question, a planned one
// and guidance; after, when not nil, is called at the named places.
func good(after map[string]func(*tape)) record.Record {
	t := &tape{now: time.Unix(0, 0)}
	at := func(place string) {
		if f := after[place]; f != nil {
			f(t)
		}
	}
	t.Inputs = []record.Input{
		{Kind: record.Plain, ID: "q1", Chat: "c1", Text: "q1: hello"},
		{Kind: record.Planned, ID: "q2", Chat: "c1", Text: "q2: lookup alpha; book beta"},
		{Kind: record.Guidance, ID: "g3", Chat: "c1", Text: "note g3 omega", Gate: "q2"},
	}
	t.start()
	t.out("accepted", "q1", "", "")
	t.out("accepted", "q2", "", "")
	t.asked(llmfake.StepPlan, "<goal>q1: hello</goal>", "", 0)
	at("decided")
	t.out("answer", "", "t1", plainAnswer)
	at("answered")
	t.asked(llmfake.StepPlan, goal2, plainAnswer, 0)
	t.asked(llmfake.StepWork, "<task>q2 lookup alpha</task>", "", 0)
	t.call("lookup", "q2 lookup alpha")
	at("looked up")
	t.asked(llmfake.StepWork, "<task>q2 lookup alpha</task>", "", 1)
	at("reported")
	t.asked(llmfake.StepWork, "<task>q2 book beta</task>", "", 0)
	at("before booking")
	t.call("book", "q2 book beta")
	at("booked")
	t.asked(llmfake.StepWork, "<task>q2 book beta</task>", "", 1)
	t.asked(llmfake.StepReview, goal2+results2+"<guidance>note g3 omega</guidance>", plainAnswer, 0)
	at("reviewed")
	t.out("answer", "", "t2", answer2)
	at("end")
	t.end(false)
	return t.Record
}

// restart kills the life and starts another.
func restart(t *tape) { t.end(true); t.start() }

// unknown makes the outcome of the booking unknown in the last answer.
func unknown(t *tape) {
	last := &t.Events[len(t.Events)-1]
	last.Text = strings.ReplaceAll(last.Text, record.Output("book", "q2 book beta"), "outcome unknown")
}

func TestJudgeAcquits(t *testing.T) {
	tests := map[string]map[string]func(*tape){
		"no kill":            nil,
		"a kill in idleness": {"answered": func(t *tape) { t.idle(); restart(t) }},
		"an answer twice":    {"answered": func(t *tape) { restart(t); t.out("answer", "", "t1", plainAnswer) }},
		"a lookup cut off":   {"looked up": func(t *tape) { restart(t); t.call("lookup", "q2 lookup alpha") }},
		"a booking cut off":  {"booked": restart, "end": unknown},
		"a booking unmade": {"before booking": func(t *tape) {
			t.end(true, record.Committing(planner.Started), record.Committed(planner.Started))
			t.start()
		}, "booked": func(t *tape) { t.Calls = t.Calls[:1] }, "end": unknown},
		"a model call lost": {"reported": func(t *tape) { restart(t); t.asked(llmfake.StepWork, "<task>q2 lookup alpha</task>", "", 1) }},
		"a model call broken": {"before booking": func(t *tape) {
			t.ask(llmfake.StepPlan, "<goal>q9: x</goal>", plainAnswer, 0)
			t.reply(llmfake.EventGone)
			t.tick()
			restart(t)
			t.asked(llmfake.StepPlan, "<goal>q9: x</goal>", plainAnswer, 0)
		}},
		"a lookup cut off in an outage": {"looked up": func(t *tape) {
			from := t.now
			t.idle()
			t.Outages = []record.Outage{{From: from, To: t.now}}
			restart(t)
			t.call("lookup", "q2 lookup alpha")
		}},
		"a life that lost its database": {"looked up": func(t *tape) {
			t.end(false)
			t.Lives[0].Lost, t.Lives[0].Exit = true, 1
			t.start()
			t.call("lookup", "q2 lookup alpha")
		}},
	}
	for name, after := range tests {
		if got := judge.Check(good(after)); len(got.Violations) > 0 {
			t.Errorf("%s: got %v, want no violation", name, got.Violations)
		}
	}
}

func TestJudgeAccuses(t *testing.T) {
	// change turns the last answer into another one.
	change := func(old, fresh string) func(*tape) {
		return func(t *tape) {
			last := &t.Events[len(t.Events)-1]
			last.Text = strings.ReplaceAll(last.Text, old, fresh)
		}
	}
	tests := []struct {
		name, rule string
		after      map[string]func(*tape)
	}{
		{"no answer", judge.RuleAnswered, map[string]func(*tape){"answered": func(t *tape) { t.Events = t.Events[:2] }}},
		{"two answers in one life", judge.RuleOnce, map[string]func(*tape){"answered": func(t *tape) { t.out("answer", "", "t1", plainAnswer) }}},
		{"two answers around a late kill", judge.RuleOnce, map[string]func(*tape){"reviewed": func(t *tape) { t.idle(); restart(t); t.out("answer", "", "t1", plainAnswer) }}},
		{"an answer twice though it was stored", judge.RuleOnce, map[string]func(*tape){"answered": func(t *tape) {
			t.end(true, record.Committed(planner.Sent))
			t.start()
			t.out("answer", "", "t1", plainAnswer)
		}}},
		{"a result is missing", judge.RuleContent, map[string]func(*tape){"end": change(record.Output("lookup", "q2 lookup alpha"), "")}},
		{"an outcome is unknown for no reason", judge.RuleContent, map[string]func(*tape){"end": unknown}},
		{"a failed answer", judge.RuleContent, map[string]func(*tape){"end": func(t *tape) { t.Events[len(t.Events)-1].Failed = true }}},
		{"an answer speaks of another", judge.RuleContent, map[string]func(*tape){"end": change("[q2]", "[q2] [q1]")}},
		{"another chat", judge.RuleChat, map[string]func(*tape){"end": func(t *tape) { t.Events[len(t.Events)-1].Chat = "c2" }}},
		{"guidance unheard", judge.RuleGuidance, map[string]func(*tape){"end": change("g3", "")}},
		{"guidance heard twice", judge.RuleGuidance, map[string]func(*tape){"end": func(t *tape) { t.out("answer", "", "t3", "[] answers: note g3 omega") }}},
		{"decided out of order", judge.RuleOrder, map[string]func(*tape){"end": func(t *tape) {
			i := slices.IndexFunc(t.Model, func(e llmfake.Entry) bool {
				return e.Request != nil && strings.Contains(e.Request.Messages[1].Content, "q1")
			})
			moved := slices.Clone(t.Model[i : i+2])
			t.Model = append(slices.Delete(t.Model, i, i+2), moved...)
		}}},
		{"answered out of order", judge.RuleOrder, map[string]func(*tape){"end": func(t *tape) { t.Events[2].At = t.tick() }}},
		{"history unseen", judge.RuleHistory, map[string]func(*tape){"end": func(t *tape) { t.Model[2].Request.Messages[1].Content = "something else" }}},
		{"booked twice", judge.RuleBookOnce, map[string]func(*tape){"booked": func(t *tape) { restart(t); t.call("book", "q2 book beta") }}},
		{"looked up twice in one life", judge.RuleToolOnce, map[string]func(*tape){"looked up": func(t *tape) { t.call("lookup", "q2 lookup alpha") }}},
		{"looked up again after its report", judge.RuleToolOnce, map[string]func(*tape){"reported": func(t *tape) { restart(t); t.call("lookup", "q2 lookup alpha") }}},
		{"looked up again after a late kill", judge.RuleToolOnce, map[string]func(*tape){"looked up": func(t *tape) { t.idle(); restart(t); t.call("lookup", "q2 lookup alpha") }}},
		{"looked up again though it was stored", judge.RuleToolOnce, map[string]func(*tape){"looked up": func(t *tape) {
			t.end(true, record.Committed(planner.Returned))
			t.start()
			t.call("lookup", "q2 lookup alpha")
		}}},
		{"looked up again long after an outage", judge.RuleToolOnce, map[string]func(*tape){"looked up": func(t *tape) {
			t.Outages = []record.Outage{{From: t.now, To: t.now.Add(time.Second)}}
			t.idle()
			restart(t)
			t.call("lookup", "q2 lookup alpha")
		}}},
		{"asked twice in one life", judge.RuleModelOnce, map[string]func(*tape){"reviewed": func(t *tape) { t.asked(llmfake.StepWork, "<task>q2 book beta</task>", "", 1) }}},
		{"asked again after a late kill", judge.RuleModelOnce, map[string]func(*tape){"reported": func(t *tape) {
			t.idle()
			restart(t)
			t.asked(llmfake.StepWork, "<task>q2 lookup alpha</task>", "", 1)
		}}},
		{"asked again though it was stored", judge.RuleModelOnce, map[string]func(*tape){"decided": func(t *tape) {
			t.end(true, record.Committed(planner.Replied))
			t.start()
			t.asked(llmfake.StepPlan, "<goal>q1: hello</goal>", "", 0)
		}}},
		{"an invalid prompt", judge.RuleProtocol, map[string]func(*tape){"end": func(t *tape) { t.Model = append(t.Model, llmfake.Entry{Event: llmfake.EventRefused, Problem: "bad"}) }}},
		{"garbage on stdout", judge.RuleProtocol, map[string]func(*tape){"decided": func(t *tape) { t.out("", "", "", ""); t.Events[2].Bad = true }}},
		{"an error on stdout", judge.RuleProtocol, map[string]func(*tape){"decided": func(t *tape) { t.out("error", "", "", "no") }}},
		{"damaged data", judge.RuleData, map[string]func(*tape){"end": func(t *tape) { t.Damage = append(t.Damage, "the data: a sum is wrong") }}},
		{"it hangs", judge.RuleEnds, map[string]func(*tape){"end": func(t *tape) { t.Lives[0].Hung = true }}},
		{"it has no database at the end", judge.RuleEnds, map[string]func(*tape){"end": func(t *tape) { t.Lives[0].Lost, t.Lives[0].Exit = true, 1 }}},
		{"it fails", judge.RuleEnds, map[string]func(*tape){"end": func(t *tape) { t.Lives[0].Exit = 1 }}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := judge.Check(good(test.after)).Violations
			if !slices.ContainsFunc(got, func(v judge.Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("got %v, want a violation of %q", got, test.rule)
			}
		})
	}
}

func TestParseKills(t *testing.T) {
	const text = "commit.after.replied:2,12+3ms,@850ms,post.after.answer:1@2s"
	want := []harness.Kill{
		{Point: "commit.after.replied:2"},
		{After: 12, Delay: 3 * time.Millisecond},
		{At: 850 * time.Millisecond},
		{Point: "post.after.answer:1", At: 2 * time.Second},
	}
	kills, err := harness.ParseKills(text)
	if err != nil || !slices.Equal(kills, want) {
		t.Errorf("ParseKills(%q) gave %+v, %v, want %+v", text, kills, err, want)
	}
	for i, word := range strings.Split(text, ",") {
		if got := want[i].String(); got != word {
			t.Errorf("a kill reads %q, want %q", got, word)
		}
	}
	for _, bad := range []string{"x+3ms", "3+x", "@x"} {
		if kills, err := harness.ParseKills(bad); err == nil {
			t.Errorf("ParseKills(%q) gave %v, want an error", bad, kills)
		}
	}
}

// TestBegun: what ran several times before it was stored counts once, but for the last
// transactions, of which it is not known.
func TestBegun(t *testing.T) {
	for hits, want := range map[string]int{
		"":                                     0,
		"commit.after.opened":                  0,
		"commit.before.sent":                   1,
		"commit.before.sent commit.after.sent": 1,
		"commit.before.sent commit.before.sent commit.before.opened commit.after.sent":                                       2,
		"commit.before.sent commit.before.sent commit.after.sent commit.before.opened":                                       1,
		"commit.before.sent commit.before.sent commit.after.sent post.after.answer commit.before.sent":                       2,
		"commit.before.sent commit.before.sent commit.after.sent commit.after.sent commit.before.opened commit.after.opened": 2,
	} {
		if got := record.Begun(record.Life{Hits: strings.Fields(hits)}, "sent"); got != want {
			t.Errorf("Begun after %q: got %d, want %d", hits, got, want)
		}
	}
}
