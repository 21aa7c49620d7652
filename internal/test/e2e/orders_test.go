package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
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
