package enginetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Reopener is a store that can be opened again with its contents, as after a
// crash: the old one refuses everything from then on.
type Reopener interface {
	tasks.Store
	Again() Reopener
}

// Run holds an engine to everything that legwork expects of one. open makes an
// empty store, build an engine.
func Run(t *testing.T, open func(t *testing.T) Reopener, build func(Setup) tasks.Engine) {
	for name, test := range map[string]func(*testing.T, *Kit){
		"a plain answer is one call and one message":      testPlain,
		"sub-tasks run side by side":                      testParallel,
		"a lone sub-task answers itself":                  testLone,
		"dependencies wait and see results":               testDependencies,
		"stop cancels what runs":                          testStop,
		"stop tells of a call whose outcome is unknown":   testStopUnknown,
		"guidance before the first words supersedes":      testSupersede,
		"a conversation is answered in order":             testOrder,
		"a refused tool tells the model":                  testRefused,
		"a plan that cannot be read is given back twice":  testUnreadable,
		"the same plan again ends in an answer":           testSamePlan,
		"a model that fails gives one sentence":           testModelFails,
		"the deadline ends a task with an answer":         testDeadline,
		"a person's answer reaches the model":             testAskPerson,
		"delegated work reaches its caller":               testDelegate,
		"no more tasks work at once than allowed":         testConcurrent,
		"a redelivered message starts nothing":            testRedelivered,
		"the commands of a chat":                          testCommands,
		"a post that fails is tried again":                testPostFails,
		"an answer is streamed, a plan never":             testStream,
		"words of a turn that calls tools are taken back": testTakenBack,
	} {
		t.Run(name, func(t *testing.T) {
			k := NewKit(t, open(t))
			k.Start(build)
			defer k.Stop()
			test(t, k)
			if err := k.Model.Invalid(); err != nil {
				t.Errorf("a request was not valid: %v", err)
			}
		})
	}
	t.Run("a crash repeats nothing that is stored", func(t *testing.T) { testCrash(t, open(t), build) })
	t.Run("a call cut off is not repeated", func(t *testing.T) { testUnknown(t, open(t), build) })
	t.Run("the store failing for a while loses nothing", func(t *testing.T) { testStoreFails(t, open(t), build) })
}

func ask(t *testing.T, k *Kit, key, text string) {
	t.Helper()
	m := Message(key, text, time.Now())
	m.Apart = true
	k.Ask(t, m)
}

const twoLooks = `{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"look","description":"two"}]}`

func testPlain(t *testing.T, k *Kit) {
	ask(t, k, "1", "hi")
	got := k.Answers(t, 1)
	if got[0].Text != "hello" || got[0].Failed {
		t.Errorf("answer = %+v, want hello", got[0].Draft)
	}
	if n := len(k.Model.Requests("")); n != 1 {
		t.Errorf("%d model calls, want 1", n)
	}
}

func testParallel(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(twoLooks)
	both := make(chan struct{})
	var n atomic.Int32
	k.Tools.Make = func(ctx context.Context, _, a string) (tasks.ToolResult, error) {
		if n.Add(1) == 2 {
			close(both)
		}
		select {
		case <-both: // only when both run at once
			return tasks.ToolResult{Text: "found " + a}, nil
		case <-ctx.Done():
			return tasks.ToolResult{}, ctx.Err()
		}
	}
	ask(t, k, "1", "find both")
	got := k.Answers(t, 1)[0].Text
	for _, want := range []string{`id="1/a"`, `id="1/b"`, `"q":"one"`, `"q":"two"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the review saw %q, want it to hold %s", got, want)
		}
	}
}

func testLone(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(`{"plan":[{"name":"look","description":"one"}]}`)
	ask(t, k, "1", "find it")
	if got := k.Answers(t, 1)[0].Text; !strings.HasPrefix(got, "work saw:") {
		t.Errorf("answer = %q, want the sub-task's own words", got)
	}
	if n := len(k.Model.Requests(llm.RoleReview)); n != 0 {
		t.Errorf("%d reviews, want none", n)
	}
}

func testDependencies(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(`{"plan":[{"id":"a","name":"look","description":"one"},{"id":"b","name":"llm_tool","description":"sum up"}]}`)
	ask(t, k, "1", "find and sum up")
	k.Answers(t, 1)
	for _, r := range k.Model.Requests(llm.RoleWork) {
		text := r.Messages[len(r.Messages)-1].Content
		if strings.Contains(text, "sum up") && !strings.Contains(text, `<result id="1/a" group="look" state="done">`) {
			t.Errorf("llm_tool saw %q, want the result of 1/a", text)
		}
	}
}

func testStop(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(twoLooks)
	running, cancelled := make(chan struct{}, 2), make(chan struct{}, 2)
	k.Tools.Make = func(ctx context.Context, _, _ string) (tasks.ToolResult, error) {
		running <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return tasks.ToolResult{}, ctx.Err()
	}
	ask(t, k, "1", "find both")
	<-running
	<-running
	ask(t, k, "2", "/stop")
	<-cancelled
	<-cancelled
	if got := k.Answers(t, 1)[0]; got.Failed || got.Text != k.Texts.Text("en", "problem.stopped", nil) {
		t.Errorf("answer = %+v, want the sentence that it was stopped", got.Draft)
	}
}

// testStopUnknown stops while a call runs that must not be repeated.
func testStopUnknown(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(`{"plan":[{"name":"book","description":"one"}]}`)
	running := make(chan struct{}, 1)
	k.Tools.Make = func(ctx context.Context, _, _ string) (tasks.ToolResult, error) {
		running <- struct{}{}
		<-ctx.Done()
		return tasks.ToolResult{}, ctx.Err()
	}
	ask(t, k, "1", "book it")
	<-running
	ask(t, k, "2", "/stop")
	if got := k.Answers(t, 1)[0].Text; !strings.Contains(got, k.Texts.Text("en", "partial.unknown", map[string]any{"Tool": "book.it"})) {
		t.Errorf("answer = %q, want it to say that the outcome of book.it is unknown", got)
	}
}

func testSupersede(t *testing.T, k *Kit) {
	began := make(chan struct{}, 1)
	k.Model.Answer = func(ctx context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		text := r.Messages[len(r.Messages)-1].Content
		if !strings.Contains(text, "in metres") {
			began <- struct{}{}
			<-ctx.Done()
			return llm.Reply{}, ctx.Err()
		}
		return llm.Reply{Text: "10 m"}, nil
	}
	now := time.Now()
	k.Ask(t, Message("1", "how high?", now))
	<-began
	k.Ask(t, Message("2", "in metres", now.Add(500*time.Millisecond)))
	if got := k.Answers(t, 1); len(got) != 1 || got[0].Text != "10 m" {
		t.Errorf("answers = %+v, want one: 10 m", got)
	}
}

func testOrder(t *testing.T, k *Kit) {
	k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: "re: " + Between(r.Messages[len(r.Messages)-1].Content, "goal")}, nil
	}
	var want []string
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		ask(t, k, key, "q"+key)
		want = append(want, "re: q"+key)
	}
	var got []string
	for _, p := range k.Answers(t, 5) {
		got = append(got, p.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("answers = %q, want %q", got, want)
	}
	last := k.Model.Requests("")[4]
	for _, earlier := range want[:4] {
		if !slices.ContainsFunc(last.Messages, func(m llm.Message) bool { return m.Role == llm.Assistant && m.Content == earlier }) {
			t.Errorf("the last question did not see the answer %q: %+v", earlier, last.Messages)
		}
	}
}

func testRefused(t *testing.T, k *Kit) {
	k.Model.Answer = Planned(`{"plan":[{"name":"locked","description":"one"}]}`)
	ask(t, k, "1", "open it")
	if got := k.Answers(t, 1)[0].Text; !strings.Contains(got, "locked.away needs an approval") {
		t.Errorf("answer = %q, want the refusal in what the model saw", got)
	}
	if system := k.Model.Requests(llm.RolePlan)[0].Messages[0].Content; strings.Contains(system, "secret") {
		t.Errorf("a group of others is offered: %q", system)
	}
	if calls := k.Tools.Calls(); len(calls) != 0 {
		t.Errorf("calls = %q, want none", calls)
	}
}

func testUnreadable(t *testing.T, k *Kit) {
	k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleAnswer {
			return llm.Reply{Text: "I could not plan this."}, nil
		}
		return llm.Reply{Text: `{"plan":[{"name":"nowhere","description":"x"}]}`}, nil
	}
	ask(t, k, "1", "go")
	if got := k.Answers(t, 1)[0].Text; got != "I could not plan this." {
		t.Errorf("answer = %q", got)
	}
	plans := k.Model.Requests(llm.RolePlan)
	if len(plans) != 3 {
		t.Fatalf("%d planning calls, want 3", len(plans))
	}
	if last := plans[2].Messages[len(plans[2].Messages)-1]; !strings.Contains(last.Content, "nowhere") {
		t.Errorf("the reason given back is %q, want it to name the group", last.Content)
	}
}

func testSamePlan(t *testing.T, k *Kit) {
	planned := Planned(twoLooks)
	k.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RoleReview {
			r.Role = llm.RolePlan
		}
		return planned(ctx, r, s)
	}
	ask(t, k, "1", "go")
	if got := k.Answers(t, 1)[0].Text; !strings.HasPrefix(got, "answer saw") {
		t.Errorf("answer = %q, want a closing answer", got)
	}
	if calls := k.Tools.Calls(); len(calls) != 2 {
		t.Errorf("calls = %q, want each look once", calls)
	}
}

func testModelFails(t *testing.T, k *Kit) {
	k.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Problem: llm.Refused, Status: 401}
	}
	ask(t, k, "1", "hi")
	if got := k.Answers(t, 1)[0]; !got.Failed || got.Text != k.Texts.Text("en", "problem.refused", nil) {
		t.Errorf("answer = %+v, want the sentence for a refused key", got.Draft)
	}
}

func testDeadline(t *testing.T, k *Kit) {
	k.Limits.TaskTimeout = 50 * time.Millisecond
	k.Use(k.Store)
	k.Model.Answer = func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}
	ask(t, k, "1", "hi")
	if got := k.Answers(t, 1)[0]; !got.Failed || got.Text != k.Texts.Text("en", "problem.expired", nil) {
		t.Errorf("answer = %+v, want the sentence that time is up", got.Draft)
	}
}

func testAskPerson(t *testing.T, k *Kit) {
	k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"}]}`}, nil
		case last.Role != llm.ToolRole:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolAskPerson, Arguments: `{"question":"Which?","choices":["red","blue"]}`}}}, nil
		}
		return llm.Reply{Text: "chosen: " + Between(last.Content, "guidance")}, nil
	}
	ask(t, k, "1", "pick")
	ctx := t.Context()
	if err := k.Platform.Await(ctx, func() bool { return len(k.Platform.Posts(bot.KindQuestion)) > 0 }); err != nil {
		t.Fatal(err)
	}
	q := k.Platform.Posts(bot.KindQuestion)[0]
	if q.Text != "Which?" || len(q.Buttons) != 2 || len(q.Buttons[1].Data) > 64 {
		t.Fatalf("question = %+v", q.Draft)
	}
	press := Message("2", "", time.Now())
	press.Press = q.Buttons[1].Data
	again := press
	again.Key = "3"
	k.Ask(t, press, again)
	if got := k.Answers(t, 1)[0].Text; got != "chosen: blue" {
		t.Errorf("answer = %q, want chosen: blue", got)
	}
}

func testDelegate(t *testing.T, k *Kit) {
	k.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		last := r.Messages[len(r.Messages)-1]
		switch {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"look","description":"one"},{"name":"look","description":"two"}]}`}, nil
		case r.Role == llm.RoleReview:
			return llm.Reply{Text: last.Content}, nil
		case Between(last.Content, "task") == "one":
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: planner.ToolDelegate, Arguments: `{"name":"llm_tool","description":"think"}`}}}, nil
		case Between(last.Content, "task") == "think":
			return llm.Reply{Text: "thought"}, nil
		}
		return llm.Reply{Text: "got " + last.Content}, nil
	}
	ask(t, k, "1", "go")
	if got := k.Answers(t, 1)[0].Text; !strings.Contains(got, "thought") || strings.Contains(got, `<result id="1/d1" group="llm_tool" state="done">\nthought\n</result>\n\n`) {
		t.Errorf("the review saw %q, want the delegated result", got)
	}
}

func testConcurrent(t *testing.T, k *Kit) {
	var now, most atomic.Int32
	k.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer now.Add(-1)
		return llm.Reply{Text: "ok"}, nil
	}
	for i := range 3 * k.Concurrent {
		m := Message(string(rune('A'+i)), "hi", time.Now())
		m.Chat.ID, m.Apart = m.Key, true
		k.Ask(t, m)
	}
	k.Answers(t, 3*k.Concurrent)
	if n := int(most.Load()); n > k.Concurrent {
		t.Errorf("%d tasks worked at once, want %d at most", n, k.Concurrent)
	}
}

func testRedelivered(t *testing.T, k *Kit) {
	ask(t, k, "1", "hi")
	ask(t, k, "1", "hi")
	ask(t, k, "2", "bye")
	if got := k.Answers(t, 2); len(got) != 2 {
		t.Errorf("%d answers, want 2", len(got))
	}
	if n := len(k.Model.Requests("")); n != 2 {
		t.Errorf("%d model calls, want 2", n)
	}
}

func testCommands(t *testing.T, k *Kit) {
	for i, c := range []struct{ text, want string }{
		{"/help", k.Texts.Text("en", "help.terminal", nil)},
		{"/status", k.Texts.Text("en", "statusline.none", nil)},
		{"/stop", k.Texts.Text("en", "error.nothing_running", nil)},
		{"/new", k.Texts.Text("en", "notice.new", nil)},
		{"/dance", k.Texts.Text("en", "error.unknown_command", map[string]any{"Command": "/dance"})},
		{"  ", k.Texts.Text("en", "error.empty_goal", nil)},
		{strings.Repeat("x", tasks.MaxGoal+1), k.Texts.Text("en", "error.goal_too_long", map[string]any{"Max": tasks.MaxGoal})},
		{"/lang klingon", k.Texts.Text("en", "error.no_language", map[string]any{"Allowed": "en, zh, ru"})},
		{"/lang ru", k.Texts.Text("ru", "notice.language", map[string]any{"Name": "Русский"})},
		{"/new", k.Texts.Text("ru", "notice.new", nil)},
	} {
		ask(t, k, "c"+string(rune('0'+i)), c.text)
		got := k.Platform.Posts(bot.KindNotice)
		if len(got) != i+1 || got[i].Text != c.want {
			t.Errorf("%.40q was answered %+v, want %q", c.text, got[len(got)-1].Text, c.want)
		}
	}
	ask(t, k, "q", "hi")
	k.Answers(t, 1)
	if system := k.Model.Requests("")[0].Messages[0].Content; strings.Contains(system, "sub-task") {
		t.Errorf("the prompt is in English after /lang ru: %.80q", system)
	}
}

func testPostFails(t *testing.T, k *Kit) {
	var n atomic.Int32
	k.Platform.Refuse = func(d bot.Draft) error {
		if d.Kind == bot.KindAnswer && n.Add(1) < 3 {
			return errors.New("try again")
		}
		return nil
	}
	ask(t, k, "1", "hi")
	if got := k.Answers(t, 1); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("answers = %+v, want one hello", got)
	}
}

func testStream(t *testing.T, k *Kit) {
	shown := make(chan struct{})
	words := "These are the first words of a rather long answer that goes on."
	k.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if strings.Contains(r.Messages[len(r.Messages)-1].Content, "plan!") {
			stream(llm.Delta{Text: `{"plan": [{"name": "look", "description": "never shown to anybody"}]}`})
			return llm.Reply{Text: words}, nil
		}
		stream(llm.Delta{Text: words[:30]})
		select {
		case <-shown: // only when they are shown before the reply is complete
		case <-ctx.Done():
		}
		return llm.Reply{Text: words}, nil
	}
	ask(t, k, "1", "hi")
	if err := k.Platform.Await(t.Context(), func() bool { return slices.Contains(k.Platform.Streamed(), words[:30]) }); err != nil {
		t.Fatal(err)
	}
	close(shown)
	ask(t, k, "2", "plan!")
	k.Answers(t, 2)
	for _, frame := range k.Platform.Streamed() {
		if strings.Contains(frame, "never shown") {
			t.Errorf("a plan was shown: %q", frame)
		}
	}
}

func testTakenBack(t *testing.T, k *Kit) {
	preface := "Let me look that up for you right away, one moment please."
	release := make(chan struct{})
	k.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
		if r.Role == llm.RolePlan {
			stream(llm.Delta{Text: preface})
			select {
			case <-release:
			case <-ctx.Done():
			}
			return llm.Reply{Text: preface, ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: twoLooks}}}, nil
		}
		return Planned(twoLooks)(ctx, r, stream)
	}
	seen := make(chan struct{})
	k.Tools.Make = func(ctx context.Context, _, _ string) (tasks.ToolResult, error) {
		select {
		case <-seen:
		case <-ctx.Done():
		}
		return tasks.ToolResult{Text: "found"}, ctx.Err()
	}
	ask(t, k, "1", "find both")
	if err := k.Platform.Await(t.Context(), func() bool { return slices.Contains(k.Platform.Streamed(), preface) }); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := k.Platform.Await(t.Context(), func() bool { f := k.Platform.Streamed(); return f[len(f)-1] == "" }); err != nil {
		t.Fatalf("the preface was not taken back: %q", k.Platform.Streamed())
	}
	close(seen)
	k.Answers(t, 1)
}
