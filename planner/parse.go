package planner

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"legwork/internal/plainjson"
	"legwork/llm"
	"legwork/llm/lenient"
)

// Entry is one sub-task of a plan as a model wrote it.
type Entry struct {
	ID          string   `json:"id"`   // as written; given by the parser where it was missing
	Name        string   `json:"name"` // a group, in the spelling of ParseOptions, or LLMTool
	Description string   `json:"description"`
	After       []string `json:"after"` // ids of this plan, or qualified ids of earlier rounds; nil: absent; empty: waits for nothing
}

// ParseOptions are the names and ids that a plan may use.
type ParseOptions struct {
	Groups []string // besides LLMTool; nil: any name
	// Known are the ids of earlier rounds' sub-tasks, qualified like "1/a". A
	// plan may name them in full, or "a" for that of the latest round with it.
	Known []string
	Max   int // sub-tasks in one plan; 0: no limit
	// Tools are those whose calls, written out in a text, people never read; the
	// tool "plan" is always one of them.
	Tools []string
}

// Parsed is a model's reply to a request for a plan: a plan or an answer.
type Parsed struct {
	IsPlan bool
	Plan   []Entry // empty with IsPlan: nothing is left to do
	Answer string  // trimmed; empty with IsPlan
}

// The mistakes of a refused reply: the Code of a PlanError.
const (
	EmptyReply         = "empty_reply"
	UnknownTool        = "unknown_tool"
	UnreadableCall     = "unreadable_call"
	UnreadablePlan     = "unreadable_plan"
	TruncatedPlan      = "truncated_plan"
	SeveralPlans       = "several_plans"
	UnknownGroup       = "unknown_group"
	MissingName        = "missing_name"
	MissingDescription = "missing_description"
	RepeatedID         = "repeated_id"
	DanglingAfter      = "dangling_after"
	CyclicPlan         = "cycle"
	TooManySubtasks    = "too_many"
)

// PlanError is the reason why a reply is refused.
type PlanError struct {
	Reason string // English sentences that a model can act on; they list every mistake
	Code   string // of the first mistake
}

func (e *PlanError) Error() string { return e.Reason }

const again = " Send the whole plan again, corrected."

// ParseReply reads a model's text. It leaves thinking aloud out. Calls of tools that
// are written out, in the forms of lenient.FindCalls, are read by ParseCalls. Without
// such calls, plans that follow each other are one plan together. With words between
// them they make the reply an error, unless the later ones only repeat sub-tasks: the
// words may say that one plan replaces the other. A text without a plan is the answer.
// A plan is
//
//   - an object with the key "plan" whose value is a list of entries, one entry,
//     null, or any of these as JSON in a string; other keys beside it are
//     ignored, and the object may be the only value of another one;
//   - a bare list of entries, when one of them names an allowed group;
//   - the same as a list in YAML.
//
// Other JSON belongs to the answer: also {"plan": "pro", "price": 10}. But ParseReply
// refuses a reply that is a JSON value alone and looks like an attempt at a plan
// ({"plan": "none"}, {"subtasks": […]}, one bare entry, {}, [], null): people never
// see a plan. A plan that is cut off or unreadable makes the reply an error, also
// beside a complete one. The error is a *PlanError.
func ParseReply(text string, o ParseOptions) (Parsed, error) {
	text = lenient.WithoutThinking(text)
	if text == "" {
		return Parsed{}, &PlanError{Code: EmptyReply, Reason: "The reply is empty. Send a plan, or the answer as text."}
	}
	written := lenient.FindCalls(text, func(name string) bool { return isPlanTool(name) || slices.Contains(o.Tools, name) })
	if len(written.List) > 0 {
		if written.Cut {
			return Parsed{}, truncated()
		}
		var calls []llm.ToolCall
		for _, c := range written.List {
			calls = append(calls, llm.ToolCall{Name: c.Name, Arguments: string(c.Arguments)})
		}
		return ParseCalls(calls, written.Rest, o)
	}
	groups := newGroups(o.Groups)
	plans, words, refused := plansIn(text, groups, func(v lenient.Object) bool { return written.Cut || bare(text[:v.Start]) })
	if len(plans) == 0 && refused == nil {
		if plan, ok := yamlPlan(text, groups); ok {
			plans = [][]any{plan}
		}
	}
	different := distinct(plans)
	switch {
	case refused != nil:
		return Parsed{}, refused
	case words && len(different) > 1:
		return Parsed{}, several(len(different))
	case len(plans) > 0:
		return parseEntries(joined(different), o, groups)
	case written.Unreadable():
		return Parsed{}, &PlanError{Code: UnreadableCall, Reason: "The reply holds a call of a tool that cannot be read. " + callPlan}
	case attempted(text):
		return Parsed{}, unreadable("it has another form than that of a plan (if it is meant as the answer, put it into a sentence)")
	}
	return Parsed{Answer: text}, nil
}

// plansIn returns the plans that stand in a text as JSON. words reports that there are
// words between two of them. refused says why one cannot be read; a value that is cut
// off is one when its keys are those of a plan, or when cut says so.
func plansIn(text string, groups *groupNames, cut func(lenient.Object) bool) (plans [][]any, words bool, refused *PlanError) {
	end := 0 // of the last plan
	for _, v := range lenient.Values(text) {
		switch {
		case v.Truncated && (planKeys(v.Keys) || cut(v)):
			refused = truncated()
		case v.Broken && planKeys(v.Keys):
			refused = unreadable("it is not valid JSON")
		case v.Raw != nil:
			list, ok := planIn(lenient.Decode(v.Raw), groups, 0)
			if !ok {
				continue
			}
			if key, twice := plainjson.SimilarKey(v.Raw); twice {
				refused = unreadable(fmt.Sprintf("an object has the key %s twice", cited(key)))
			}
			between := strings.ReplaceAll(text[end:v.Start], "```json", "")
			words = words || len(plans) > 0 && strings.ContainsFunc(between, unicode.IsLetter)
			plans, end = append(plans, list), v.End
		}
	}
	return plans, words, refused
}

// callPlan tells a model what a reply to a request for a plan can be.
const callPlan = `Call the tool "plan", or write the answer as text.`

// isPlanTool reports that a model means the tool "plan" by a name.
func isPlanTool(name string) bool { return strings.EqualFold(strings.TrimSpace(name), ToolPlan) }

// ParseCalls reads the calls of tools in a reply to a request for a plan, and the text
// beside them. All calls of the tool "plan" are one plan together, and a call of an
// agent with a description is an entry of it. Another call makes the reply an error, and
// so does a plan in the text with other sub-tasks: no part of a reply is left out in
// silence. The error is a *PlanError.
func ParseCalls(calls []llm.ToolCall, text string, o ParseOptions) (Parsed, error) {
	groups := newGroups(o.Groups)
	var plans [][]any
	for _, c := range calls {
		list, err := plansOfCall(c, groups)
		if err != nil {
			return Parsed{}, err
		}
		plans = append(plans, list...)
	}
	plans = distinct(plans)
	beside, _, refused := plansIn(lenient.WithoutThinking(text), groups, func(lenient.Object) bool { return false })
	if refused != nil {
		return Parsed{}, refused
	}
	if all := distinct(slices.Concat(plans, beside)); len(all) > len(plans) {
		return Parsed{}, several(len(all))
	}
	return parseEntries(joined(plans), o, groups)
}

func plansOfCall(c llm.ToolCall, groups *groupNames) ([][]any, error) {
	if isPlanTool(c.Name) {
		return planArguments(c.Arguments)
	}
	if _, ok := groups.find(c.Name); ok && !groups.any {
		if f, ok := lenient.Decode([]byte(c.Arguments)).(map[string]any); ok && fieldText(f, "description") != "" {
			f["name"] = c.Name
			return [][]any{{f}}, nil
		}
		return nil, &PlanError{Code: UnknownTool, Reason: fmt.Sprintf("%s is an agent and no tool: put what it has to do into a plan. %s", cited(c.Name), callPlan)}
	}
	return nil, &PlanError{Code: UnknownTool, Reason: fmt.Sprintf("There is no tool %s here. %s", cited(c.Name), callPlan)}
}

// distinct leaves out each plan whose sub-tasks are all in plans before it.
func distinct(plans [][]any) [][]any {
	type task struct{ name, description string }
	seen := map[task]bool{}
	return slices.DeleteFunc(slices.Clone(plans), func(plan []any) bool {
		before := len(seen)
		repeats := true
		for _, e := range plan {
			f, ok := e.(map[string]any)
			repeats = repeats && ok
			seen[task{fieldText(f, "name"), fieldText(f, "description")}] = true
		}
		return repeats && len(seen) == before
	})
}

// joined makes one list of the entries of several plans. An id that an earlier plan has
// is replaced in the later one, also where that plan refers to it.
func joined(plans [][]any) []any {
	var all []any
	taken := map[string]bool{}
	for _, list := range plans {
		renamed := map[string]string{}
		for _, e := range list {
			f, _ := e.(map[string]any)
			if id := fieldText(f, "id"); id != "" && taken[id] {
				renamed[id] = unique(id, taken)
			}
		}
		for _, e := range list {
			f, ok := e.(map[string]any)
			if !ok {
				all = append(all, e)
				continue
			}
			if id := fieldText(f, "id"); id != "" {
				taken[id] = true
			}
			all = append(all, withIDs(f, renamed))
		}
	}
	return all
}

// withIDs is an entry with other ids.
func withIDs(f map[string]any, renamed map[string]string) map[string]any {
	if len(renamed) == 0 {
		return f
	}
	f = maps.Clone(f)
	if id, ok := renamed[fieldText(f, "id")]; ok {
		f["id"] = id
	}
	if after, ok := readAfter(f); ok && after != nil {
		list := make([]any, 0, len(after))
		for _, id := range after {
			if other, ok := renamed[id]; ok {
				id = other
			}
			list = append(list, id)
		}
		f["after"] = list
	}
	return f
}

// planArguments reads the arguments of a call of the tool "plan". They must hold
// plans in a form of ParseReply; any list of entries and a lone entry count too.
func planArguments(args string) ([][]any, error) {
	var inner string
	if json.Unmarshal([]byte(args), &inner) == nil {
		args = inner
	}
	plans, _, refused := plansIn(args, nil, func(lenient.Object) bool { return true })
	switch {
	case refused != nil:
		return nil, refused
	case len(plans) == 0 && strings.TrimSpace(args) != "[]":
		return nil, unreadable(`the arguments of "plan" are {"plan": [entries]}`)
	}
	return plans, nil
}

// PlanOutput is for people who write prompts: one line of JSON with the plan, the
// answer or the error.
func PlanOutput(p Parsed, err error) string {
	var v any
	switch {
	case err != nil:
		v = map[string]string{"error": err.Error()}
	case p.IsPlan:
		v = map[string][]Entry{"plan": append([]Entry{}, p.Plan...)}
	default:
		v = map[string]string{"answer": p.Answer}
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return `{"error":"writing JSON"}` // strings and lists of strings always encode
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// CutPlan is the reason to give a plan back that its model could not finish.
func CutPlan() *PlanError { return truncated() }

func truncated() *PlanError {
	return &PlanError{Code: TruncatedPlan, Reason: "The plan is cut off: its end is missing. Send the whole plan again, shorter: fewer sub-tasks, and in each description only what its agent must know."}
}

func several(count int) *PlanError {
	return &PlanError{Code: SeveralPlans, Reason: fmt.Sprintf("The reply holds %d plans. Send one plan with all the sub-tasks that are to be done.", count)}
}

func unreadable(why string) *PlanError {
	return &PlanError{Code: UnreadablePlan, Reason: "The plan cannot be read: " + why + `. It must be {"plan": [{"name": "GROUP", "description": "TEXT", "id": "a", "after": []}]}.` + again}
}
