package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// orders is a model that makes the calls which a goal names, so that a test
// reads as what is asked. The calls of one turn are joined by "and", turns by
// "then", and sub-tasks, which start at once, by ";":
//
//	q1: shop book {"item":"a boat"} and book {"item":"an oar"} then lookup {"key":"boats"}
//
// The answer is what the tools returned in the last turn.
type orders struct {
	words map[string]string // what stands for texts that no goal can hold
}

// results are those of sub-tasks in a prompt.
var results = regexp.MustCompile(`(?s)<result .*?</result>`)

func (o orders) think(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	goal, _ := r.Tagged("goal")
	id, rest, _ := strings.Cut(goal, ": ")
	switch step {
	case llmfake.StepPlan:
		var plan []map[string]any
		for part := range strings.SplitSeq(rest, " ; ") {
			group, calls, called := strings.Cut(part, " ")
			if !called || !strings.Contains(calls, "{") {
				return llmfake.Brain{}.Respond(r)
			}
			plan = append(plan, map[string]any{"name": group, "description": id + ": " + calls, "after": []string{}})
		}
		return llmfake.Call("plan", jsonText(map[string]any{"plan": plan}))
	case llmfake.StepWork:
		return o.work(r)
	}
	return llmfake.Say("[" + id + "] " + strings.Join(results.FindAllString(prompt(r), -1), "\n"))
}

// work makes the calls of the turn that is due, or repeats the results.
func (o orders) work(r llmfake.Request) llmfake.Response {
	task, _ := r.Tagged("task")
	id, calls, _ := strings.Cut(task, ": ")
	turns, made, said := strings.Split(calls, " then "), 0, []string(nil)
	for _, m := range r.Messages {
		switch {
		case m.Role == "assistant" && len(m.ToolCalls) > 0:
			made, said = made+1, nil
		case m.Role == "tool":
			said = append(said, m.Content)
		}
	}
	if made >= len(turns) {
		return llmfake.Say("[" + id + "] The tools said: " + strings.Join(said, "\n"))
	}
	var due []llmfake.ToolCall
	for call := range strings.SplitSeq(turns[made], " and ") {
		tool, arguments, _ := strings.Cut(call, " ")
		for word, text := range o.words {
			arguments = strings.ReplaceAll(arguments, word, text)
		}
		due = append(due, llmfake.ToolCall{Name: exposed(r, tool), Arguments: arguments})
	}
	return llmfake.Response{ToolCalls: due}
}

func jsonText(v any) string {
	var t testing.T
	return string(asJSON(&t, v))
}

// boat is what people buy most; shopping has a group whose tools need a yes.
const boat = `shop book {"item":"a boat"}`

func shopping(o orders, tools string) options {
	return options{
		think: o.think, serverArgs: ", -full", wait: patience,
		more: fmt.Sprintf("  shop: {description: Buys things., servers: [desk], tools: [%s], tool_timeout: 20s}\n", tools),
	}
}

// bought checks what was booked, in order.
func (w *env) bought(items ...string) {
	w.t.Helper()
	var got []string
	for _, line := range w.calls("book") {
		_, after, _ := strings.Cut(line, `"arguments":{"item":"`)
		item, _, _ := strings.Cut(after, `"}`)
		got = append(got, item)
	}
	slices.Sort(got)
	slices.Sort(items)
	if !slices.Equal(got, items) {
		w.t.Errorf("booked: got %q, want %q", got, items)
	}
}

// badPlans are plans that must not run, and the reason that the model is given.
var badPlans = map[string]struct{ plan, reason string }{
	"unknown group":     {`{"plan": [{"name": "astrology", "description": "look"}]}`, `"astrology"`},
	"cycle":             {`{"plan": [{"id": "a", "name": "desk", "description": "x", "after": ["b"]}, {"id": "b", "name": "desk", "description": "y", "after": ["a"]}]}`, "wait for each other"},
	"10,000 sub-tasks":  {`{"plan": [` + strings.Repeat(`{"name": "desk", "description": "x"},`, 9999) + `{"name": "desk", "description": "x"}]}`, "12"},
	"dangling after":    {`{"plan": [{"name": "desk", "description": "x", "after": ["missing"]}]}`, `"missing"`},
	"no description":    {`{"plan": [{"name": "desk"}]}`, "description"},
	"repeated id":       {`{"plan": [{"id": "a", "name": "desk", "description": "x"}, {"id": "a", "name": "desk", "description": "y"}]}`, `"a"`},
	"not a plan at all": {`{"plan": "later"}`, "plan"},
}

// writes is a reply with a plan that is streamed in a few large pieces.
func writes(plan string) llmfake.Response {
	response := llmfake.Call("plan", plan)
	response.Token = 1 << 16
	return response
}

// TestBadPlanIsCorrected: the model is told what is wrong, and corrects it;
// nothing of the bad plan runs.
func TestBadPlanIsCorrected(t *testing.T) {
	t.Parallel()
	for name, c := range badPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{plan: func(r llmfake.Request) llmfake.Response {
				if strings.Contains(prompt(r), "Your last reply could not be used") {
					return llmfake.Say("Then I answer without a plan.")
				}
				return writes(c.plan)
			}}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, false, "Then I answer without a plan.")
			p.logged("task="+answer.Task, "reply not usable", strings.Trim(c.reason, `"`))
			told := w.asked("Your last reply could not be used")
			if len(told) != 1 || !strings.Contains(told[0].Messages[len(told[0].Messages)-1].Content, c.reason) {
				t.Errorf("the model was told so %d times, want once with %s: %.1000s", len(told), c.reason, lastMessages(told))
			}
			if calls := w.calls("lookup"); len(calls) > 0 {
				t.Errorf("the bad plan ran: %q", calls)
			}
			p.goesOn()
		})
	}
}

func lastMessages(all []llmfake.Request) string {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintln(&b, r.Messages[len(r.Messages)-1].Content)
	}
	return b.String()
}

// TestBadPlanForEver: a model that never writes a plan that can run costs three
// calls, and the person reads a sentence and never the plan.
func TestBadPlanForEver(t *testing.T) {
	t.Parallel()
	for name, c := range badPlans {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: always(writes(c.plan))})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, true, w.text("problem.plan_unreadable", nil))
			if strings.Contains(answer.Text, "desk") || strings.Contains(answer.Text, `"plan"`) {
				t.Errorf("the person reads the plan: %.300s", answer.Text)
			}
			p.logged("task="+answer.Task, "reply not usable", strings.Trim(c.reason, `"`))
			if n := len(w.asked("first: a question")); n > 6 {
				t.Errorf("the model was called %d times, want three for the plan and three for an answer at most", n)
			}
			p.goesOn()
		})
	}
}

// TestSamePlanForEver: finished sub-tasks are not repeated; the person gets an
// answer from them, or the results when the model does nothing but plan.
func TestSamePlanForEver(t *testing.T) {
	t.Parallel()
	plan := always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "alpha"}, {"name": "desk", "description": "beta"}]}`))
	for name, c := range map[string]struct {
		answer func(llmfake.Request) llmfake.Response
		failed bool
		want   string
	}{
		"but answers":      {nil, false, "value of alpha"},
		"and nothing else": {plan, true, "value of alpha"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: steps{plan: plan, review: plan, answer: c.answer}.think})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			p.says(answer, c.failed, c.want)
			p.logged("task="+answer.Task, "reply not usable", "has been done already")
			if calls := w.calls("lookup"); len(calls) != 2 {
				t.Errorf("got the calls %q, want one for each sub-task", calls)
			}
			if c.failed && !strings.Contains(answer.Text, w.text("partial.intro", nil)) {
				t.Errorf("got %q, want it to say what was found", answer.Text)
			}
			p.goesOn()
		})
	}
}

// TestNewPlansForEver: the rounds end, and the person gets an answer from what
// was found.
func TestNewPlansForEver(t *testing.T) {
	t.Parallel()
	plan := func(r llmfake.Request) llmfake.Response {
		return llmfake.Call("plan", fmt.Sprintf(`{"plan": [{"name": "desk", "description": "part %d x"}, {"name": "desk", "description": "part %d y"}]}`, r.Seq, r.Seq))
	}
	w := newEnv(t, options{think: steps{plan: plan, review: plan}.think, more: "limits: {rounds: 3}\n"})
	p := w.start("chat", "--json")
	p.says(p.ask("q", "first: a question"), false, "value of part")
	if calls := w.calls("lookup"); len(calls) != 6 {
		t.Errorf("got %d calls, want two in each of three rounds", len(calls))
	}
	if n := len(w.asked("There are no more planning rounds.")); n != 1 {
		t.Errorf("the model was told %d times that the rounds are used up, want once", n)
	}
	p.goesOn()
}

// TestToolCallsForEver: a sub-task whose model only calls tools ends with its
// turns, whether it stops calling at the end or not.
func TestToolCallsForEver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last   llmfake.Response
		failed bool
		want   string
	}{
		"until the last turn":   {llmfake.Say("What I have so far."), false, "What I have so far."},
		"even in the last turn": {llmfake.Call("desk__lookup", `{"key": "more"}`), true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{
				think: steps{
					plan: always(llmfake.Call("plan", `{"plan": [{"name": "desk", "description": "dig"}]}`)),
					work: func(r llmfake.Request) llmfake.Response {
						if len(r.Tools) == 0 {
							return c.last
						}
						return llmfake.Call("desk__lookup", fmt.Sprintf(`{"key": "%d"}`, r.Seq))
					},
					review: always(llmfake.Call("plan", `{"plan": []}`)),
				}.think,
				more: "limits: {turns: 4}\n",
			})
			p := w.start("chat", "--json")
			answer := p.ask("q", "first: a question")
			if c.failed {
				c.want = w.text("problem.turns", nil)
			}
			p.says(answer, false, c.want)
			if calls := w.calls("lookup"); len(calls) != 3 {
				t.Errorf("got %d calls, want three before the last turn", len(calls))
			}
			p.goesOn()
		})
	}
}

// TestLegworkDelegatesToLegwork: the agent of a group whose server is the /mcp of
// another legwork starts a task there, waits for it, and answers with its answer.
// What the other one reports meanwhile is on the board.
func TestLegworkDelegatesToLegwork(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{}) // the board tells how far the other one is
	library := newEnv(t, options{
		think: func(llmfake.Request) llmfake.Response {
			<-seen
			return llmfake.Say("The library says 42.")
		},
		wait: patience,
		more: fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s, %s]}\n", tokenLine("bureau", "agent"), tokenLine("ann", "viewer")),
	})
	release := sync.OnceFunc(func() { close(seen) })
	defer release()
	there := library.serve(tokenOf("bureau"))

	b := newTelegramEnv(t, telegramOptions{options: options{wait: patience, think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [{"name": "library", "description": "ask the library"}]}`)),
		work: delegates,
	}.think}})
	b.configure(strings.Replace(b.config, "servers:\n", fmt.Sprintf("servers:\n  library: {url: \"http://%s/mcp\", headers: {Authorization: \"Bearer %s\"}}\n", there.address, tokenOf("bureau")), 1))
	b.configure(strings.Replace(b.config, "groups:\n", "groups:\n  library: {description: Asks the library., servers: [library], approve: never, tool_timeout: 30s}\n", 1))
	here := b.opens()
	b.Say(b.bob.ID, b.bob, "What does the library say?")
	b.offers(b.bob.ID, "Stop", "library.get_task: ", "planning")
	release()
	b.sees(b.bob.ID, "The library says 42.")
	here.stops()
	if strings.Contains(here.err.String(), tokenOf("bureau")) {
		t.Error("the token is in the log")
	}

	var list struct {
		Items []struct {
			Goal  string `json:"goal"`
			From  string `json:"from"`
			State string `json:"state"`
		} `json:"items"`
	}
	outsider{t, "http://" + there.address, tokenOf("ann")}.calls(http.MethodGet, "/v1/tasks", "", &list)
	if len(list.Items) != 1 || list.Items[0].From != "agent:bureau" || list.Items[0].State != "done" || list.Items[0].Goal != "What is the answer?" {
		t.Errorf("the other legwork has %+v, want the one task of the bureau", list.Items)
	}
	there.stops()
}

// delegates is an agent that starts a task and waits for it.
func delegates(r llmfake.Request) llmfake.Response {
	said, ok := toolResult(r)
	if !ok {
		return llmfake.Call(exposed(r, "start_task"), `{"goal":"What is the answer?","idempotency_key":"k"}`)
	}
	var task struct {
		ID     string `json:"id"`
		State  string `json:"state"`
		Answer string `json:"answer"`
	}
	begin, end := strings.Index(said, "{"), strings.LastIndex(said, "}")
	if begin < 0 || end < begin || json.Unmarshal([]byte(said[begin:end+1]), &task) != nil {
		return llmfake.Say("It said: " + said)
	}
	if task.State == "done" {
		return llmfake.Say("It answered: " + task.Answer)
	}
	return llmfake.Call(exposed(r, "get_task"), fmt.Sprintf(`{"task_id":%q,"wait_seconds":20}`, task.ID))
}
