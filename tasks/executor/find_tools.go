package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// A group with more tools than manyTools, or whose definitions would take more than
// a twentieth of the prompt, is offered as a search tool. The prompt then offers the
// tools that the search has found. A group of fewer than fewTools is always offered
// whole: a search for them would cost turns and save little.
const (
	manyTools  = 30
	fewTools   = 8
	toolsShare = 20      // of the prompt's bytes: one part in so many
	namesBytes = 2 << 10 // of the names of hidden tools
)

// findTool is the name of the search in calls.
const findTool = "legwork.find_tools"

// offer returns all tools of a group that the model of the sub-task can call, and
// those that its prompt offers.
func (p prompting) offer(listed []tools.Tool, maxBytes int) (all, offered []tools.Tool) {
	size := 0
	for _, t := range listed {
		size += len(t.Exposed) + len(t.Description) + len(t.Schema)
	}
	if len(listed) < fewTools || len(listed) <= manyTools && (maxBytes == 0 || size <= maxBytes/toolsShare) {
		return listed, listed
	}
	search := tools.Tool{
		Name: findTool, Exposed: "find_tools", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`),
		Description: p.x.Texts.Text(p.v.Opening().Language, "tool.find_tools", namesOf(listed)),
	}
	offered = []tools.Tool{search}
	for _, turn := range p.v.State.Subtasks[p.a.Place.Subtask].Turns {
		for _, call := range turn.Calls {
			result := p.v.Event(call.Result).Result
			if call.Step != planner.StepDone || result == nil {
				continue
			}
			for _, name := range result.Offers {
				known := func(t tools.Tool) bool { return t.Name == name }
				if i := slices.IndexFunc(listed, known); i >= 0 && !slices.ContainsFunc(offered, known) {
					offered = append(offered, listed[i])
				}
			}
		}
	}
	return append(slices.Clip(listed), search), offered
}

// namesOf are the fields of the description of the search: how many tools it hides,
// their names, and how many names there is no room for.
func namesOf(hidden []tools.Tool) map[string]any {
	var names []string
	for left := namesBytes; len(names) < len(hidden); {
		name := hidden[len(names)].Exposed
		if left -= len(name) + len(", "); left < 0 {
			break
		}
		names = append(names, name)
	}
	return map[string]any{"Count": len(hidden), "Names": strings.Join(names, ", "), "More": len(hidden) - len(names)}
}

// find searches the tools of a group for a sub-task's model.
func (x *Executor) find(ctx context.Context, v *tasks.View, a planner.Action, call planner.Call) error {
	lang := v.Opening().Language
	var want struct {
		Query string `json:"query"`
	}
	if err := json.Unmarshal(tasks.Arguments(call), &want); err != nil || strings.TrimSpace(want.Query) == "" {
		return x.returned(ctx, v, a, planner.Result{Failed: true, Text: x.Texts.Text(lang, "prompt.bad_arguments", map[string]any{
			"Tool": "find_tools", "Reason": `{"query": TEXT}`,
		})})
	}
	names, err := x.Tools.Find(ctx, a.Group, asker(v), want.Query)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || len(names) == 0 {
		if err != nil {
			x.Log.WarnContext(ctx, "searching tools of a group failed", "task", v.ID, "group", a.Group, "cause", err)
		}
		return x.returned(ctx, v, a, planner.Result{Failed: true, Text: x.Texts.Text(lang, "prompt.found_no_tools", nil)})
	}
	listed, err := x.Tools.Tools(ctx, a.Group, asker(v))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		x.Log.WarnContext(ctx, "tools are missing", "task", v.ID, "group", a.Group, "cause", err)
	}
	text := x.Texts.Text(lang, "prompt.found_tools", nil)
	for _, name := range names {
		if i := slices.IndexFunc(listed, func(t tools.Tool) bool { return t.Name == name }); i >= 0 {
			text += fmt.Sprintf("\n- %s: %s", listed[i].Exposed, clip.Marked(listed[i].Description, 300))
		}
	}
	return x.returned(ctx, v, a, planner.Result{Text: text, Offers: names})
}
