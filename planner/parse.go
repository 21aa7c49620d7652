package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

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
	// TextWanted: the reply is to be text, which may be data that names a group. Only
	// the forms of a plan that the contract has are plans then.
	TextWanted bool
	// JSONWanted: the person asked for JSON. An object {"answer": "…"} is the answer as
	// it is then, and no wrapper around it.
	JSONWanted bool
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
	UnknownGroup       = "unknown_group"
	MissingName        = "missing_name"
	MissingDescription = "missing_description"
	RepeatedID         = "repeated_id"
	DanglingAfter      = "dangling_after"
	CyclicPlan         = "cycle"
	TooManySubtasks    = "too_many"
	DoubtfulPlan       = "doubtful_plan" // it may be the answer: it is one when the model sends it again
)

// PlanError is the reason why a reply is refused.
type PlanError struct {
	Reason string // English sentences that a model can act on; they list every mistake
	Code   string // of the first mistake
}

func (e *PlanError) Error() string { return e.Reason }

const again = " Send the whole plan again, corrected."

// ParseEntries checks a plan that a person has changed, by the rules for the plans of
// models. The error is a *PlanError.
func ParseEntries(plan []Entry, o ParseOptions) ([]Entry, error) {
	list := make([]any, len(plan))
	for i, e := range plan {
		fields := map[string]any{"id": e.ID, "name": e.Name, "description": e.Description}
		if e.After != nil {
			after := make([]any, len(e.After))
			for j, id := range e.After {
				after[j] = id
			}
			fields["after"] = after
		}
		list[i] = fields
	}
	parsed, err := parseEntries(list, o, newGroups(o.Groups))
	if bad, ok := errors.AsType[*PlanError](err); ok {
		return nil, &PlanError{Code: bad.Code, Reason: strings.TrimSuffix(bad.Reason, again)}
	}
	return parsed.Plan, err
}

// ParseReply reads a model's text. It leaves thinking aloud and wrappers around the whole
// text out. Calls of tools that
// are written out, in the forms of lenient.FindCalls, are read by ParseCalls. Without
// such calls the last complete plan in the text counts; a text without a plan is the
// answer. A plan is
//
//   - an object with the key "plan" whose value is a list of entries, one entry,
//     null, or any of these as JSON in a string; other keys beside it are
//     ignored, and the object may be the only value of another one;
//   - a bare list of entries, when one of them names an allowed group;
//   - the same as a list in YAML, or as entries one after the other;
//   - data or code in another form that is the whole text and names a group, such as
//     [{"agent": "web", "task": "…"}] or web("…"), when it can be read in one way. Under
//     another key a name may be a coincidence: such a reply is refused with DoubtfulPlan.
//
// Other JSON belongs to the answer: also {"plan": "pro", "price": 10}. But ParseReply
// refuses a reply that is a JSON value alone and looks like an attempt at a plan
// ({"plan": "none"}, {"subtasks": […]}, {}, [], null) and one that is nothing but data
// and names a group: people never see a plan. A plan that is cut off or unreadable
// makes the reply an error, unless the reply holds a complete plan too. The error is
// a *PlanError.
func ParseReply(text string, o ParseOptions) (Parsed, error) {
	text = lenient.WithoutThinking(text)
	if text == "" {
		return Parsed{}, empty()
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
		return ParseCalls(calls, o)
	}
	if text = lenient.Unwrapped(text, o.JSONWanted); text == "" {
		return Parsed{}, empty()
	}
	var plan []any
	var entries [][]any
	var found bool
	var refused *PlanError
	groups := newGroups(o.Groups)
	for _, v := range lenient.Values(text) {
		switch {
		case v.Truncated && (planKeys(v.Keys) || bare(text[:v.Start]) || written.Cut):
			refused = truncated()
		case v.Broken && planKeys(v.Keys):
			refused = unreadable("it is not valid JSON")
		case twice(v.Keys):
			refused = unreadable(planTwice)
		case v.Raw != nil:
			value := lenient.Decode(v.Raw)
			if list, ok := planIn(value, groups, 0); ok {
				plan, found = list, true
			} else if one := []any{value}; !o.TextWanted && onlyEntry(value) && bareList(one, groups) {
				entries = append(entries, one)
			}
		}
	}
	if !found && refused == nil {
		if list := lenient.YAMLList(text); bareList(list, groups) {
			entries = append(entries, list)
		}
		plan, found = joined(entries), len(entries) > 0
	}
	if !found && refused == nil && !o.TextWanted && !groups.any {
		plan, found, refused = otherForm(text, groups)
	}
	switch {
	case found:
		return parseEntries(plan, o, groups)
	case refused != nil:
		return Parsed{}, refused
	case written.Unreadable():
		return Parsed{}, &PlanError{Code: UnreadableCall, Reason: "The reply holds a call of a tool that cannot be read. " + callPlan}
	case attempted(text):
		return Parsed{}, unreadable(anotherForm)
	}
	return Parsed{Answer: text}, nil
}

const anotherForm = "it has another form than that of a plan (if it is meant as the answer, put it into a sentence)"

const planTwice = `it has the key "plan" twice`

// twice reports that an object has two plans. Decoding it would keep the last one.
func twice(keys []string) bool {
	first := slices.Index(keys, "plan")
	return first >= 0 && slices.Contains(keys[first+1:], "plan")
}

// ToolName is the name of a tool without what templates of models put around it.
func ToolName(name string) string { return lenient.ToolName(name) }

// NamedCalls reads a reply that is nothing but data or code and names one of the tools,
// in another form than llm reads. unreadable says that it can be read in several ways
// or in none. A doubtful one is unreadable, and a text when its model sends it again.
func NamedCalls(text string, tools []string, again bool) (calls []llm.ToolCall, unreadable bool) {
	named := lenient.FindNamed(lenient.WithoutThinking(text), func(name string) bool { return slices.Contains(tools, name) })
	if named.Doubtful {
		return nil, named.Names && !named.Quoted && !again
	}
	for _, c := range named.Calls {
		calls = append(calls, llm.ToolCall{Name: c.Name, Arguments: string(c.Arguments)})
	}
	return calls, named.Names && !named.Quoted && len(calls) == 0
}

// otherForm reads a text that is nothing but data or code and names a group. refused
// is the reason when the text can be read in several ways or in none.
func otherForm(text string, groups *groupNames) (plan []any, found bool, refused *PlanError) {
	named := lenient.FindNamed(text, func(name string) bool {
		_, ok := groups.find(name)
		return ok
	})
	var lists [][]any
	for _, c := range named.Calls {
		f, ok := entryOfCall(c.Name, c.Arguments)
		if !ok {
			named.Calls = nil
			break
		}
		lists = append(lists, []any{f})
	}
	switch {
	case named.Quoted && len(named.Calls) > 0, named.Doubtful && named.Names && !named.Quoted:
		return nil, false, &PlanError{Code: DoubtfulPlan, Reason: `It looks like a plan. Call the tool "plan" with the sub-tasks if it is one; if the reply is the answer, send it again as it is.`}
	case len(named.Calls) > 0:
		return joined(lists), true, nil
	case named.Names && !named.Quoted:
		return nil, false, unreadable(anotherForm)
	}
	return nil, false, nil
}

// entryOfCall is the entry of a plan that a call of an agent means. Its arguments are a
// text, have a description, or have one text of several words beside a thought and no
// lists that can mean what it waits for.
func entryOfCall(name string, arguments []byte) (entry map[string]any, ok bool) {
	v := lenient.Decode(arguments)
	entry, ok = v.(map[string]any)
	if !ok {
		text, _ := v.(string)
		return map[string]any{"name": name, "description": text}, lenient.IsPhrase(text)
	}
	entry = maps.Clone(entry)
	var texts []any
	lists := false
	for key, v := range entry {
		if lenient.IsPhrase(v) && !strings.EqualFold(key, "thought") {
			texts = append(texts, v)
		}
		_, list := v.([]any)
		lists = lists || list && !strings.EqualFold(key, "after")
	}
	entry["name"] = name
	if fieldText(entry, "description") == "" && len(texts) == 1 && !lists {
		entry["description"] = texts[0]
	}
	return entry, fieldText(entry, "description") != ""
}

// callPlan tells a model what a reply to a request for a plan can be.
const callPlan = `Call the tool "plan", or write the answer as text.`

// isPlanTool reports that a model means the tool "plan" by a name.
func isPlanTool(name string) bool { return strings.EqualFold(lenient.ToolName(name), ToolPlan) }

// ParseCalls reads the calls of tools in a reply to a request for a plan. All calls of
// the tool "plan" are one plan together, and a call of an agent with a description is
// an entry of it. Another call makes the reply an error: no part of a reply is
// left out in silence. The error is a *PlanError.
func ParseCalls(calls []llm.ToolCall, o ParseOptions) (Parsed, error) {
	groups := newGroups(o.Groups)
	var lists [][]any
	for _, c := range calls {
		list, err := planOfCall(c, groups)
		if err != nil {
			return Parsed{}, err
		}
		lists = append(lists, list)
	}
	return parseEntries(joined(lists), o, groups)
}

func planOfCall(c llm.ToolCall, groups *groupNames) ([]any, error) {
	if isPlanTool(c.Name) {
		return planArguments(c.Arguments)
	}
	if _, ok := groups.find(c.Name); ok && !groups.any {
		if entry, ok := entryOfCall(c.Name, []byte(c.Arguments)); ok {
			return []any{entry}, nil
		}
		return nil, &PlanError{Code: UnknownTool, Reason: fmt.Sprintf("%s is an agent and no tool: put what it has to do into a plan. %s", cited(c.Name), callPlan)}
	}
	return nil, &PlanError{Code: UnknownTool, Reason: fmt.Sprintf("There is no tool %s here. %s", cited(c.Name), callPlan)}
}

// joined makes one list of the entries of several plans. A plan that repeats an
// earlier one is left out. An id that an earlier plan has is replaced in the later
// one, also where that plan refers to it.
func joined(lists [][]any) []any {
	var all []any
	taken, before := map[string]int{}, map[string]bool{}
	for _, list := range lists {
		key, err := json.Marshal(list)
		if err == nil && before[string(key)] {
			continue
		}
		before[string(key)] = true
		renamed := map[string]string{}
		for _, e := range list {
			f, _ := e.(map[string]any)
			if id := fieldText(f, "id"); id != "" && taken[id] > 0 {
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
				taken[id] = max(taken[id], 1)
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

// planArguments reads the arguments of a call of the tool "plan". They must hold a
// plan in a form of ParseReply; any list of entries and a lone entry count too.
func planArguments(args string) ([]any, error) {
	var inner string
	if json.Unmarshal([]byte(args), &inner) == nil {
		args = inner
	}
	var plan []any
	var found bool
	refused := unreadable(`the arguments of "plan" are {"plan": [entries]}`)
	for _, v := range lenient.Values(args) {
		if v.Truncated {
			refused = truncated()
			continue
		}
		if twice(v.Keys) {
			refused = unreadable(planTwice)
			continue
		}
		if v.Raw == nil {
			continue
		}
		value := lenient.Decode(v.Raw)
		list, ok := planIn(value, nil, 0)
		if !ok && entryLike(value) {
			list, ok = []any{value}, true
		}
		if ok {
			plan, found = list, true
		}
	}
	if !found && strings.TrimSpace(args) != "[]" {
		return nil, refused
	}
	return plan, nil
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

func empty() *PlanError {
	return &PlanError{Code: EmptyReply, Reason: "The reply is empty. Send a plan, or the answer as text."}
}

// CutPlan is the reason to give a plan back that its model could not finish.
func CutPlan() *PlanError { return truncated() }

func truncated() *PlanError {
	return &PlanError{Code: TruncatedPlan, Reason: "The plan is cut off: its end is missing. Send the whole plan again, shorter: fewer sub-tasks, and in each description only what its agent must know."}
}

func unreadable(why string) *PlanError {
	return &PlanError{Code: UnreadablePlan, Reason: "The plan cannot be read: " + why + `. It must be {"plan": [{"name": "GROUP", "description": "TEXT", "id": "a", "after": []}]}.` + again}
}

// wrapping is how many objects around a plan planIn looks into.
const wrapping = 4

// planIn returns the entries of the plan that a JSON value is or holds. A bare
// list must give one of the groups something to do; groups is nil where any list
// will do.
func planIn(v any, groups *groupNames, depth int) (entries []any, ok bool) {
	if depth > wrapping {
		return nil, false
	}
	if list, ok := v.([]any); ok {
		return list, bareList(list, groups)
	}
	f, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	if plan, ok := field(f, "plan"); ok {
		return planValue(plan, len(f) == 1, groups, depth)
	}
	if len(f) == 1 {
		for _, v := range f {
			if inner, ok := v.(map[string]any); ok {
				return planIn(inner, groups, depth+1)
			}
		}
	}
	return nil, false
}

// planValue reads the value of the key "plan".
func planValue(v any, alone bool, groups *groupNames, depth int) (entries []any, ok bool) {
	switch v := unquoted(v).(type) {
	case []any:
		return v, true
	case nil:
		return nil, alone
	case map[string]any:
		if _, nested := field(v, "plan"); nested {
			return planIn(v, groups, depth+1)
		}
		return []any{v}, entryLike(v)
	}
	return nil, false
}

// entryLike says whether a value is meant as an entry of a plan.
func entryLike(v any) bool {
	f, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if _, ok := field(f, "description"); ok {
		return true
	}
	if _, ok := field(f, "name"); !ok {
		return false
	}
	for key := range f {
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "id", "name", "after":
		default:
			return false
		}
	}
	return true
}

// onlyEntry says whether a value has a name, a description and no keys but those of an
// entry.
func onlyEntry(v any) bool {
	f, _ := v.(map[string]any)
	for key := range f {
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "id", "name", "description", "after":
		default:
			return false
		}
	}
	return fieldText(f, "name") != "" && fieldText(f, "description") != ""
}

// bareList says whether a list without the key "plan" around it is a plan.
func bareList(list []any, groups *groupNames) bool {
	named := groups == nil
	for _, e := range list {
		if !entryLike(e) {
			return false
		}
		if f := e.(map[string]any); !named && fieldText(f, "description") != "" {
			_, named = groups.find(fieldText(f, "name"))
		}
	}
	return named && len(list) > 0
}

// attempted says whether a whole reply is a JSON value that its model meant as a
// plan, and that is not a plan: empty, an entry, or an object that has only keys
// which models use for plans.
func attempted(text string) bool {
	text = strings.TrimSpace(lenient.Unfence(text))
	if text == "null" || text == "[]" {
		return true
	}
	f, ok := lenient.Decode(lenient.Whole(text)).(map[string]any)
	if !ok {
		return false
	}
	if onlyEntry(f) {
		return true
	}
	for key := range f {
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "plan", "plans", "thought", "subtasks", "sub_tasks", "tasks", "steps":
		default:
			return false
		}
	}
	return true
}

// planKeys says whether the keys of a damaged value are those of a plan. The
// last one may be cut off.
func planKeys(keys []string) bool {
	name, description := false, false
	for i, key := range keys {
		switch key = strings.ToLower(strings.TrimSpace(key)); key {
		case "name":
			name = true
		case "description":
			description = true
		default:
			if key == "plan" || i == len(keys)-1 && key != "" && strings.HasPrefix("plan", key) {
				return true
			}
		}
	}
	return name && description
}

// bare says whether a value begins its text, or follows an opened code fence alone.
func bare(before string) bool {
	before = strings.TrimSpace(before)
	return before == "" || strings.HasPrefix(before, "```") && !strings.ContainsAny(before, " \n")
}
