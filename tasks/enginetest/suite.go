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
	"legwork/tools"
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
	for name, test := range map[string]func(*testing.T, *Env){
		"a plain answer is one call and one message":      testPlain,
		"sub-tasks run side by side":                      testParallel,
		"a lone sub-task answers itself":                  testLone,
		"dependencies wait and see results":               testDependencies,
		"stop cancels what runs":                          testStop,
		"stop reports a call whose outcome is unknown":    testStopUnknown,
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
		"calls of a turn are allowed together":            testApproval,
		"a denial reaches the model":                      testDenial,
		"an approval is of the exact call":                testExactCall,
		"a grant spares the next question":                testGrant,
		"a grant of what leaves covers what was shown":    testGrantOfLeaks,
		"words of outsiders open nothing":                 testOutsiders,
		"a server asks in the midst of a call":            testAskedInMidcall,
		"a server asks in place of a result":              testAskedForLater,
		"a server keeps asking":                           testAsksOn,
		"tools that need a sign-in wait for it":           testSignInToList,
		"a sign-in that is declined is not asked again":   testSignInDeclined,
		"a sign-in is not used unasked":                   testActsUnasked,
		"a server requires sign-ins without end":          testSignInInVain,
		"a group of many tools is searched":               testManyTools,
		"a server's prompt is the goal":                   testServerPrompt,
		"nothing is begun while a person reviews":         testReview,
		"agents from outside work on a context":           testContext,
		"a program's task tells the chat it names":        testProgram,
	} {
		t.Run(name, func(t *testing.T) {
			env := NewEnv(t, open(t))
			env.Start(build)
			defer env.Stop()
			test(t, env)
			if err := env.Model.Invalid(); err != nil {
				t.Errorf("a request was not valid: %v", err)
			}
		})
	}
	t.Run("a crash repeats nothing that is stored", func(t *testing.T) { testCrash(t, open(t), build) })
	t.Run("a call cut off is not repeated", func(t *testing.T) { testUnknown(t, open(t), build) })
	t.Run("a call that its server keeps as a task goes on", func(t *testing.T) { testServerTask(t, open(t), build) })
	t.Run("a question survives the restart of its call", func(t *testing.T) { testAskedAcrossRestart(t, open(t), build) })
	t.Run("a call waits for a sign-in over a restart", func(t *testing.T) { testSignInAcrossRestart(t, open, build) })
	t.Run("a call that waits for a person makes room for others", func(t *testing.T) { testAskedMakesRoom(t, open(t), build) })
	t.Run("the store failing for a while loses nothing", func(t *testing.T) { testStoreFails(t, open(t), build) })
}

func ask(t *testing.T, env *Env, key, text string) {
	t.Helper()
	m := Message(key, text, time.Now())
	m.Standalone = true
	env.Ask(t, m)
}

func testPlain(t *testing.T, env *Env) {
	ask(t, env, "1", "hi")
	got := env.Answers(t, 1)
	if got[0].Text != "hello" || got[0].Failed {
		t.Errorf("answer = %+v, want hello", got[0].Draft)
	}
	if n := len(env.Model.Requests("")); n != 1 {
		t.Errorf("%d model calls, want 1", n)
	}
}

func testOrder(t *testing.T, env *Env) {
	env.Model.Answer = func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{Text: "re: " + Between(r.Messages[len(r.Messages)-1].Content, "goal")}, nil
	}
	var want []string
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		ask(t, env, key, "q"+key)
		want = append(want, "re: q"+key)
	}
	var got []string
	for _, p := range env.Answers(t, 5) {
		got = append(got, p.Text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("answers = %q, want %q", got, want)
	}
	last := env.Model.Requests("")[4]
	for _, earlier := range want[:4] {
		if !slices.ContainsFunc(last.Messages, func(m llm.Message) bool { return m.Role == llm.Assistant && m.Content == earlier }) {
			t.Errorf("the last question did not see the answer %q: %+v", earlier, last.Messages)
		}
	}
}

func testModelFails(t *testing.T, env *Env) {
	env.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		return llm.Reply{}, &llm.Error{Problem: llm.Refused, Status: 401}
	}
	ask(t, env, "1", "hi")
	if got := env.Answers(t, 1)[0]; !got.Failed || got.Text != env.Texts.Text("en", "problem.refused", nil) {
		t.Errorf("answer = %+v, want the sentence for a refused key", got.Draft)
	}
}

func testDeadline(t *testing.T, env *Env) {
	env.Limits.TaskTimeout = 50 * time.Millisecond
	env.Use(env.Store)
	env.Model.Answer = func(ctx context.Context, _ llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		<-ctx.Done()
		return llm.Reply{}, ctx.Err()
	}
	ask(t, env, "1", "hi")
	if got := env.Answers(t, 1)[0]; !got.Failed || got.Text != env.Texts.Text("en", "problem.expired", nil) {
		t.Errorf("answer = %+v, want the sentence that time is up", got.Draft)
	}
}

func testConcurrent(t *testing.T, env *Env) {
	var now, most atomic.Int32
	env.Model.Answer = func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		defer now.Add(-1)
		return llm.Reply{Text: "ok"}, nil
	}
	for i := range 3 * env.Concurrent {
		m := Message(string(rune('A'+i)), "hi", time.Now())
		m.Chat.ID, m.Standalone = m.Key, true
		env.Ask(t, m)
	}
	env.Answers(t, 3*env.Concurrent)
	if n := int(most.Load()); n > env.Concurrent {
		t.Errorf("%d tasks worked at once, want %d at most", n, env.Concurrent)
	}
}

func testPostFails(t *testing.T, env *Env) {
	var n atomic.Int32
	env.Platform.Refuse = func(d bot.Draft) error {
		if d.Kind == bot.KindAnswer && n.Add(1) < 3 {
			return errors.New("try again")
		}
		return nil
	}
	ask(t, env, "1", "hi")
	if got := env.Answers(t, 1); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("answers = %+v, want one hello", got)
	}
}

func testStream(t *testing.T, env *Env) {
	shown := make(chan struct{})
	words := "These are the first words of a rather long answer that goes on."
	env.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
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
	ask(t, env, "1", "hi")
	if err := env.Platform.Await(t.Context(), func() bool { return slices.Contains(env.Platform.Streamed(), words[:30]) }); err != nil {
		t.Fatal(err)
	}
	close(shown)
	ask(t, env, "2", "plan!")
	env.Answers(t, 2)
	for _, frame := range env.Platform.Streamed() {
		if strings.Contains(frame, "never shown") {
			t.Errorf("a plan was shown: %q", frame)
		}
	}
}

func testTakenBack(t *testing.T, env *Env) {
	preface := "Let me look that up for you right away, one moment please."
	release := make(chan struct{})
	env.Model.Answer = func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
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
	env.Tools.Make = func(ctx context.Context, _, _ string) (tools.Result, error) {
		select {
		case <-seen:
		case <-ctx.Done():
		}
		return tools.Result{Text: "found"}, ctx.Err()
	}
	ask(t, env, "1", "find both")
	if err := env.Platform.Await(t.Context(), func() bool { return slices.Contains(env.Platform.Streamed(), preface) }); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := env.Platform.Await(t.Context(), func() bool { f := env.Platform.Streamed(); return f[len(f)-1] == "" }); err != nil {
		t.Fatalf("the preface was not taken back: %q", env.Platform.Streamed())
	}
	close(seen)
	env.Answers(t, 1)
}
