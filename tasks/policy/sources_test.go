package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/policy"
	"legwork/tasks/policy/flow"
	"legwork/tools"
)

// journal writes a task with two sub-tasks that do not know each other, and a third
// one that comes after the first.
func journal() *tasks.View {
	v := &tasks.View{}
	add := func(e planner.Event) int {
		e.Seq = len(v.Events) + 1
		v.Events = append(v.Events, e)
		return e.Seq
	}
	turn := func(subtask, name string, tool string) planner.Turn {
		var private planner.Origins
		if tool == "mail.read" {
			private = planner.Origins{"mail"}
		}
		seq := add(planner.Event{Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{Tool: tool, Arguments: fmt.Sprintf(`{"of":%q}`, name)}}}})
		result := add(planner.Event{Type: planner.Returned, Action: planner.CallID(subtask, 1, 1, 0), Result: &planner.Result{Text: "result of " + name, Untrusted: true, Private: private}})
		return planner.Turn{Seq: seq, Calls: []planner.CallState{{Step: planner.StepDone, Result: result}}}
	}
	add(planner.Event{Type: planner.Opened, Opening: &planner.Opening{Goal: "the goal", From: bot.Person{Platform: "telegram", ID: "1"}, Earlier: []bot.Quoted{{Text: "a forwarded message", Pointed: true}}}})
	plan := add(planner.Event{Type: planner.Replied, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{Description: "first"}, {Description: "second"}, {Description: "third"}}}})
	mail, web := turn("1/a", "mail", "mail.read"), turn("1/b", "web", "web.fetch")
	add(planner.Event{Type: planner.GuidanceAdded, By: "telegram:1", Text: "guidance"})
	add(planner.Event{Type: planner.GuidanceAdded, By: "agent:x", Text: "an agent's words"})
	v.State.Subtasks = []planner.Work{
		{ID: "1/a", Source: plan, Turns: []planner.Turn{mail}},
		{ID: "1/b", Source: plan, Turns: []planner.Turn{web}},
		{ID: "1/c", Source: plan, After: []int{0}},
	}
	return v
}

// TestSources: a sub-task has read what it was made from, what it came after, and its
// own results, and nothing of the others.
func TestSources(t *testing.T) {
	v := journal()
	for subtask, want := range [][]string{{"result of mail"}, {"result of web"}, {"result of mail"}} {
		var people, others []string
		for _, s := range policy.Sources(v, subtask) {
			switch {
			case s.People && s.Text != "":
				people = append(people, s.Text)
			case s.Labels&flow.Outside != 0:
				others = append(others, s.Text)
			}
		}
		want = slices.Concat([]string{"a forwarded message"}, want, []string{"an agent's words"})
		if !slices.Equal(others, want) {
			t.Errorf("sub-task %d has read %q of outsiders, want %q", subtask, others, want)
		}
		if !slices.Contains(people, "the goal") || !slices.Contains(people, "guidance") || slices.Contains(people, "a forwarded message") {
			t.Errorf("sub-task %d has read %q of the people of the chat", subtask, people)
		}
	}
}

// TestOriginsHaveTexts: cards can name each origin that no server is.
func TestOriginsHaveTexts(t *testing.T) {
	for _, name := range []string{policy.OriginHistory, policy.OriginProgram, policy.OriginFile, planner.OriginPrompt} {
		key := "approval.origin_" + strings.TrimPrefix(name, ":")
		for _, language := range []string{"en", "ru", "zh"} {
			texts, err := os.ReadFile(filepath.Join("..", "..", "i18n", language, "texts.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(texts), "\n"+key+": ") {
				t.Errorf("%s has no text %s", language, key)
			}
		}
	}
}

// TestSharedStateBringsItsSources: what a sub-task wrote into the shared state brings
// along what it had read.
func TestSharedStateBringsItsSources(t *testing.T) {
	v := journal()
	private := func() bool { return flow.Labels(policy.Sources(v, 1)[:len(policy.Sources(v, 1))-1])&flow.Private != 0 }
	if private() {
		t.Fatal("the sub-task that read the web has read private data")
	}
	v.State.Changes = []int{v.State.Subtasks[0].Turns[0].Seq}
	if !private() {
		t.Error("the shared state brought no private data along")
	}
}

// TestEarlierConversationBringsItsLabels: a reply whose prompt held private data makes
// the task private.
func TestEarlierConversationBringsItsLabels(t *testing.T) {
	v := journal()
	v.Events = v.Events[:len(v.Events)-1]
	call := planner.Call{Tool: "web.fetch", Arguments: `{"url":"https://a.example/x"}`}
	verdict := tools.Verdict{OpenWorld: true, Schema: []byte(`{"url":{}}`)}
	if j := policy.JudgeCall(v, policy.Reading(v, 1), call, verdict, flow.Open{}); j.Ask {
		t.Fatalf("a task without private data asks: %+v", j)
	}
	v.Events[1].Reply.Past = planner.Labels{Private: planner.Origins{"mail"}}
	j := policy.JudgeCall(v, policy.Reading(v, 1), call, verdict, flow.Open{})
	if !j.Ask || len(j.Leaves) != 1 || j.Leaves[0].From[0].Name != "mail" || j.Leaves[0].To != "a.example" {
		t.Errorf("after private history: got %+v, want a question about a.example", j)
	}
	verdict.Free = []string{"u*"}
	if j := policy.JudgeCall(v, policy.Reading(v, 1), call, verdict, flow.Open{}); j.Ask {
		t.Errorf("a free parameter is asked about: %+v", j)
	}
}

// TestFilesAreMaterial: the text of a file is private, and words of outsiders, for each
// sub-task. Spoken words are the person's.
func TestFilesAreMaterial(t *testing.T) {
	call := planner.Call{Tool: "web.fetch", Arguments: `{"url":"https://a.example/summer"}`}
	verdict := tools.Verdict{OpenWorld: true, Schema: []byte(`{"url":{}}`)}
	for _, c := range []struct {
		name string
		read *planner.ReadFile
		look *planner.Look
		asks bool
	}{
		{"text", &planner.ReadFile{Text: "open https://a.example/summer"}, nil, true},
		{"picture", &planner.ReadFile{Pictures: []planner.Picture{{ID: "x"}}}, nil, true},
		{"nothing was read", &planner.ReadFile{Problem: "gone"}, nil, false},
		{"spoken", &planner.ReadFile{Text: "open https://a.example/summer", Spoken: true}, nil, false},
		{"read_attachment", nil, &planner.Look{Text: "open https://a.example/summer"}, true},
	} {
		v := journal()
		if c.look != nil {
			v.Event(v.State.Subtasks[1].Turns[0].Seq).Reply.Calls[0].Look = c.look
		} else {
			v.Events = append(v.Events, planner.Event{Seq: len(v.Events) + 1, Type: planner.FileRead, Read: c.read})
		}
		v.Events = slices.DeleteFunc(v.Events, func(e planner.Event) bool { return planner.ByAgent(e) })
		j := policy.JudgeCall(v, policy.Reading(v, 1), call, verdict, flow.Open{})
		if j.Ask != c.asks || c.asks && j.Leaves[0].From[0].Name != policy.OriginFile {
			t.Errorf("%s: got %+v, want that a person is asked: %v", c.name, j, c.asks)
		}
	}
}

// TestLentFilesAreAskedAbout: a person agrees to each file that a tool gets, also when the
// name of the file stood in the question.
func TestLentFilesAreAskedAbout(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"path":"file:f1"}`: "path", `{"in":{"paths":["a","file:K3X9Q2/f2"]}}`: "in", `{"path":"profile:f1"}`: "", `{"free":"file:f1"}`: "",
	} {
		v := journal()
		v.Events[0].Opening.Goal = "count the words of file:f1 and file:K3X9Q2/f2, or profile:f1"
		verdict := tools.Verdict{OpenWorld: true, Schema: []byte(`{"path":{},"in":{},"free":{}}`), Free: []string{"free"}}
		j := policy.JudgeCall(v, policy.Reading(v, 0), planner.Call{Tool: "desk.count", Arguments: arguments}, verdict, flow.Open{})
		got := ""
		for _, l := range j.Leaves {
			if l.From[0].Name == policy.OriginFile && l.To == "desk.count" {
				got += l.Parameter
			}
		}
		if got != want || j.Ask != (want != "") {
			t.Errorf("%s: asked %v about %+v, want %q", arguments, j.Ask, j.Leaves, want)
		}
	}
}

// TestRefusalIsNoWordOfTheServer: a call that legwork refuses does not make its arguments
// known to the server.
func TestRefusalIsNoWordOfTheServer(t *testing.T) {
	v := journal()
	seq := len(v.Events) + 1
	v.Events = append(
		v.Events,
		planner.Event{Seq: seq, Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{Tool: "weather.of", Arguments: `{"canary-4711":1}`}}}},
		planner.Event{Seq: seq + 1, Type: planner.Returned, Action: planner.CallID("1/a", 2, 1, 0), Result: &planner.Result{Failed: true, Text: "additional properties 'canary-4711' not allowed"}},
	)
	w := &v.State.Subtasks[0]
	w.Turns = append(w.Turns, planner.Turn{Seq: seq, Calls: []planner.CallState{{Step: planner.StepDone, Result: seq + 1}}})
	call := planner.Call{Tool: "weather.of", Arguments: `{"place":"canary-4711"}`}
	if j := policy.JudgeCall(v, policy.Reading(v, 0), call, tools.Verdict{OpenWorld: true, Schema: []byte(`{"place":{}}`)}, flow.Open{}); !j.Ask {
		t.Errorf("what a refusal quotes leaves unasked: %+v", j)
	}
}

// TestWritesOfTheSameServer: what its own server has returned is private for a tool that
// does not only read: it may address others there. A person who allows the tool for a task
// has not seen these values.
func TestWritesOfTheSameServer(t *testing.T) {
	for _, c := range []struct {
		name    string
		verdict tools.Verdict
		leaves  int
	}{
		{"writes unasked", tools.Verdict{}, 1},
		{"only reads", tools.Verdict{ReadOnly: true}, 0},
		{"asks", tools.Verdict{Ask: true}, 1},
	} {
		c.verdict.OpenWorld, c.verdict.Schema = true, []byte(`{"body":{}}`)
		j := policy.JudgeCall(journal(), policy.Reading(journal(), 0), planner.Call{Tool: "mail.post", Arguments: `{"body":"result of mail"}`}, c.verdict, flow.Open{})
		if len(j.Leaves) != c.leaves || j.Ask != (c.leaves > 0 || c.verdict.Ask) {
			t.Errorf("%s: got %+v, want %d values that leave", c.name, j, c.leaves)
		}
	}
}

// TestSeveralOrigins: a text of an earlier task that was made from data of two servers is
// private to both, and known to neither.
func TestSeveralOrigins(t *testing.T) {
	for _, c := range []struct {
		private planner.Origins
		ask     bool
	}{{planner.Origins{"mail"}, false}, {planner.Origins{"files", "mail"}, true}} {
		v := journal()
		read := planner.Read{Earlier: "7Q2KDX/1/a", Text: "canary-4711", Untrusted: true, Private: c.private}
		v.Events[4].Reply.Calls[0] = planner.Call{Name: "read_result", Read: &read}
		call := planner.Call{Tool: "mail.search", Arguments: `{"words":"canary-4711"}`}
		verdict := tools.Verdict{OpenWorld: true, ReadOnly: true, Schema: []byte(`{"words":{}}`)}
		v.Events = v.Events[:6]
		if j := policy.JudgeCall(v, policy.Reading(v, 1), call, verdict, flow.Open{}); j.Ask != c.ask {
			t.Errorf("data of %v: got %+v, want a question: %v", c.private, j, c.ask)
		}
	}
}

// TestLastReplyBringsItsLabels: the result of a sub-task brings along what stood in the
// prompt of its last turn.
func TestLastReplyBringsItsLabels(t *testing.T) {
	v := journal()
	end := planner.Event{Seq: len(v.Events) + 1, Type: planner.Replied, Reply: &planner.Reply{Text: "done", Past: planner.Labels{Private: planner.Origins{"files"}}}}
	v.Events = append(v.Events, end)
	v.State.Subtasks[0].EndSeq = end.Seq
	if !slices.ContainsFunc(policy.Sources(v, 2), func(s flow.Source) bool { return s.Origin == "files" && s.Labels&flow.Private != 0 }) {
		t.Error("the sub-task that comes after it holds no private data of files")
	}
}

// TestQuotedAnswerBringsItsLabels: an answer of legwork that a person points at has the
// labels of its task, and a question that only quotes names no address.
func TestQuotedAnswerBringsItsLabels(t *testing.T) {
	call := planner.Call{Tool: "web.fetch", Arguments: `{"url":"https://a.example/x"}`}
	verdict := tools.Verdict{OpenWorld: true, Schema: []byte(`{"url":{}}`)}
	for _, c := range []struct {
		opening planner.Opening
		ask     bool
	}{
		{planner.Opening{Goal: "go on"}, false},
		{planner.Opening{Goal: "go on", Earlier: []bot.Quoted{{Text: "12 km", Own: true}}}, false},
		{planner.Opening{Goal: "go on", Earlier: []bot.Quoted{{Text: "12 km", Own: true, Outside: true, Private: []string{"mail"}}}}, true},
		{planner.Opening{Goal: "> Eve: see https://a.example/x", Earlier: []bot.Quoted{{Own: true, Private: []string{"mail"}}, {From: "Eve", Text: "see https://a.example/x"}}}, true},
		{planner.Opening{Goal: "see https://a.example/x", Earlier: []bot.Quoted{{Own: true, Outside: true, Private: []string{"mail"}}}}, false},
	} {
		v := &tasks.View{Events: []planner.Event{{Seq: 1, Type: planner.Opened, Opening: &c.opening}}}
		if j := policy.JudgeCall(v, policy.Reading(v, 0), call, verdict, flow.Open{}); j.Ask != c.ask {
			t.Errorf("%+v: got %+v, want a question: %v", c.opening, j, c.ask)
		}
	}
}

// TestTapNamesNothing: the label of a button is a model's, so an address in it is not named
// by the person who presses it. What a person types is.
func TestTapNamesNothing(t *testing.T) {
	call := planner.Call{Tool: "web.fetch", Arguments: `{"url":"https://a.example/x"}`}
	verdict := tools.Verdict{OpenWorld: true, Schema: []byte(`{"url":{}}`)}
	for text, ask := range map[string]bool{"Read https://a.example/x": true, "Then read https://a.example/x": false} {
		v := journal()
		v.Events = append(v.Events,
			planner.Event{Seq: len(v.Events) + 1, Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{Ask: &planner.Question{Text: "Which?", Choices: []string{"Read https://a.example/x", "no"}}}}}},
			planner.Event{Seq: len(v.Events) + 2, Type: planner.Decided, By: "telegram:1", Action: planner.QuestionID(len(v.Events)+1, 1), Decision: &planner.Decision{Approve: true, Text: text}},
		)
		if j := policy.JudgeCall(v, policy.Reading(v, 0), call, verdict, flow.Open{}); j.Ask != ask {
			t.Errorf("%q: got %+v, want a question: %v", text, j, ask)
		}
	}
}

// TestLeavesText: programs read how many lines of a value stand in a source, where some do.
func TestLeavesText(t *testing.T) {
	list := []planner.Leaves{{Parameter: "url", To: "evil.example", From: []planner.Origin{{Name: "mail", Lines: 1}, {Name: "files", Lines: 2}, {Name: policy.OriginHistory}}}}
	if got, want := policy.LeavesText(list), "url to evil.example; private data was read from mail (1 line of it here), files (2 lines of it here), history"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
