package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
)

// The pace of the world that the makespan is measured in.
const (
	modelDelay = 300 * time.Millisecond // before the first byte of a reply
	toolDelay  = 50 * time.Millisecond
	tokenDelay = 5 * time.Millisecond
	tokenChars = 4
)

// Limits of a task of six sub-tasks: bytes of all its prompts and of all bodies with
// them, and the percentage of the plan's prompt that the review's begins with.
const (
	maxPromptBytes = 26_000
	maxBodyBytes   = 45_000
	minShared      = 90
)

// measureParallel asks for 3, 6 and 12 independent sub-tasks of one tool call
// each, half of them arithmetic, half about places.
func measureParallel(ctx context.Context, dir string) ([]figure, error) {
	w := &modelScript{chains: map[string]time.Duration{}, slow: true}
	r, err := newEngineEnv(dir, w.respond, toolDelay)
	if err != nil {
		return nil, err
	}
	makespan := map[int][]time.Duration{}
	sizes := map[int]promptSizes{}
	var critical time.Duration
	if _, _, err := r.ask(ctx, "2"); err != nil { // opens connections
		return nil, err
	}
	for _, n := range []int{6, 3, 12, 6} {
		before := len(r.fake.Requests())
		w.critical() // forgets what was
		took, answer, err := r.ask(ctx, fmt.Sprint(n))
		if err != nil {
			return nil, err
		}
		if got := strings.Count(answer, "result"); got != n {
			return nil, fmt.Errorf("the answer to %d sub-tasks holds %d results", n, got)
		}
		sizes[n] = sizesOf(r.fake.Requests()[before:])
		makespan[n] = append(makespan[n], took)
		if n == 6 {
			critical = w.critical()
		}
	}
	bare, err := w.bare(ctx, r.models, 6)
	if err != nil {
		return nil, err
	}
	return parallelFigures(makespan[6], critical, sizes, bare), r.close()
}

func parallelFigures(makespan []time.Duration, critical time.Duration, sizes map[int]promptSizes, bare time.Duration) []figure {
	got := median(makespan)
	limit := critical*105/100 + 20*time.Millisecond
	first, second := sizes[6].prompts-sizes[3].prompts, sizes[12].prompts-sizes[6].prompts
	return []figure{
		within(fmt.Sprintf("6 sub-tasks in parallel (critical path %s)", short(critical)), got, limit, short(bare)+" the same calls, bare"),
		atMost("their prompts: messages, calls, tools", sizes[6].prompts, maxPromptBytes),
		atMost("the same, whole bodies", sizes[6].bodies, maxBodyBytes),
		{
			name: "of the plan's prompt, the review's begins with", measured: fmt.Sprintf("%d %%", sizes[6].shared), limit: fmt.Sprintf("%d %%", minShared),
			ok: sizes[6].shared >= minShared,
		},
		{
			name: "prompts for 3, 6, 12 sub-tasks", measured: fmt.Sprintf("%d, %d, %d B", sizes[3].prompts, sizes[6].prompts, sizes[12].prompts),
			limit:   "linear: ±5 % each",
			machine: fmt.Sprintf("%d, %d B for each more", first/3, second/6),
			ok:      float64(second)/float64(2*first) < 1.05 && float64(second)/float64(2*first) > 0.95,
		},
	}
}

// atMost is a number of bytes.
func atMost(name string, got, limit int) figure {
	return figure{name: name, measured: fmt.Sprintf("%d B", got), limit: fmt.Sprintf("%d B", limit), ok: got <= limit}
}

// promptSizes are the sizes of the requests of one task.
type promptSizes struct {
	prompts int // bytes of all prompts
	bodies  int // bytes of all bodies
	shared  int // percentage of the plan's tools and messages that the review's begin with
}

func sizesOf(requests []llmfake.Request) promptSizes {
	s := promptSizes{}
	plan := ""
	for _, r := range requests {
		s.prompts += promptBytes(r)
		s.bodies += len(r.Raw)
		switch step, _ := llmfake.StepOf(r); step {
		case llmfake.StepPlan:
			plan = inOrder(r)
		case llmfake.StepReview:
			s.shared = 100 * commonPrefix(plan, inOrder(r)) / len(plan)
		}
	}
	return s
}

// inOrder is what a model reads, in the order in which endpoints cache it: the tools,
// then the messages.
func inOrder(r llmfake.Request) string {
	var b strings.Builder
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "%s\n%s\n%s\n", t.Name, t.Description, t.Schema)
	}
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s\n%s\n%s%v\n", m.Role, m.ToolCallID, m.Content, m.ToolCalls)
	}
	return b.String()
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// promptBytes is what a model reads: the messages with their calls, and the
// tools. The JSON around them is left out.
func promptBytes(r llmfake.Request) int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Content)
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// modelScript is a model that plans as many sub-tasks as the goal says. It keeps
// account of the time that it lets pass.
type modelScript struct {
	slow   bool // it takes its time; otherwise it replies at once
	mu     sync.Mutex
	chains map[string]time.Duration // of replies, by sub-task; plan and review under decisions
}

const decisions = "decisions"

// respond plans, lets each sub-task call its tool once, and answers in the
// review.
func (w *modelScript) respond(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	switch step {
	case llmfake.StepPlan:
		n := 0
		goal, _ := r.Tagged("goal")
		_, _ = fmt.Sscan(goal, &n) // the goals of this program are numbers
		return w.note(decisions, w.plan(n))
	case llmfake.StepWork:
		task, _ := r.Tagged("task")
		if last := r.Messages[len(r.Messages)-1]; last.Role == "tool" {
			return w.note(task, llmfake.Say("The result is "+content(last.Content)))
		}
		return w.note(task, call(task))
	}
	count := 0
	for _, m := range r.Messages {
		count += strings.Count(m.Content, "<result id=")
	}
	return w.note(decisions, w.answer(count))
}

// content is a tool's result without the tag around it.
func content(s string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(s, "<data>"), "</data>"))
}

func (w *modelScript) plan(n int) llmfake.Response {
	places := []string{"Tokyo", "Paris", "Lima", "Cairo", "Delhi", "Oslo"}
	type entry struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Text string `json:"description"`
	}
	var plan []entry
	for i := range n {
		e := entry{string(rune('a' + i)), "math", fmt.Sprintf("Calculate %d * %d.", 17+i, 23+i)}
		if i%2 == 1 {
			e.Name, e.Text = "clock", fmt.Sprintf("Find out the present time in %s.", places[i/2])
		}
		plan = append(plan, e)
	}
	text, err := json.Marshal(map[string]any{"plan": plan})
	if err != nil {
		panic(err) // of strings only
	}
	return llmfake.Call("plan", string(text))
}

// call is the tool call that a sub-task makes.
func call(task string) llmfake.Response {
	if expression, ok := strings.CutPrefix(task, "Calculate "); ok {
		return llmfake.Call("math__calculate", fmt.Sprintf(`{"expression":%q}`, strings.TrimSuffix(expression, ".")))
	}
	place := task[strings.LastIndex(task, " ")+1:]
	return llmfake.Call("clock__time_in", fmt.Sprintf(`{"place":%q}`, strings.TrimSuffix(place, ".")))
}

func (w *modelScript) answer(n int) llmfake.Response {
	return llmfake.Say("These are the answers." + strings.Repeat(" One result.", n))
}

// cost is how long the fake takes for a reply: the name of a tool call is a
// token of its own.
func cost(r llmfake.Response) time.Duration {
	tokens := (len(r.Text) + tokenChars - 1) / tokenChars
	for _, c := range r.ToolCalls {
		tokens += 1 + (len(c.Arguments)+tokenChars-1)/tokenChars
	}
	return modelDelay + time.Duration(tokens)*tokenDelay
}

// note adds the cost of a reply to its chain.
func (w *modelScript) note(chain string, r llmfake.Response) llmfake.Response {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chains[chain] += cost(r)
	if w.slow {
		r.First, r.PerToken, r.Token = modelDelay, tokenDelay, tokenChars
	}
	return r
}

// critical is the longest chain of what must follow each other since the last
// call: the plan, a sub-task's turns and tool call, the review.
func (w *modelScript) critical() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	longest := time.Duration(0)
	for chain, took := range w.chains {
		if chain != decisions {
			longest = max(longest, took+toolDelay)
		}
	}
	longest += w.chains[decisions]
	clear(w.chains)
	return longest
}

// observation is what a sub-task of bare finds, as the clock server writes it.
const observation = "Europe/Paris: 14:42:11 on Friday, 20 November 2026 (Europe/Paris, CET, UTC+01:00)"

// bare makes the calls of a task with n sub-tasks without legwork's engine and
// store: by the model's client alone.
func (w *modelScript) bare(ctx context.Context, model llm.Model, n int) (time.Duration, error) {
	tool := []llm.Tool{{Name: "plan"}}
	ask := func(role, tag, text string, tools []llm.Tool, more ...llm.Message) error {
		messages := append([]llm.Message{{Role: llm.User, Content: "<" + tag + ">" + text + "</" + tag + ">"}}, more...)
		_, err := model.Call(ctx, llm.Request{Role: role, Messages: messages, Tools: tools}, nil)
		return err
	}
	began := time.Now()
	if err := ask(llm.RolePlan, "goal", fmt.Sprint(n), tool); err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			task := "Find out the present time in Tokyo."
			if errs[i] = ask(llm.RoleWork, "task", task, nil); errs[i] != nil {
				return
			}
			<-time.After(toolDelay) // what the tool takes
			errs[i] = ask(llm.RoleWork, "task", task, nil,
				llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "c", Name: "clock__time_in", Arguments: "{}"}}},
				llm.Message{Role: llm.ToolRole, ToolCallID: "c", Content: observation})
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	err := ask(llm.RoleReview, "goal", strings.Repeat(`<result id="1/a">x</result>`, n), tool)
	return time.Since(began), err
}
