package planner

import (
	"encoding/json"
	"strings"

	"legwork/llm/lenient"
)

// Entry is one sub-task of a plan as a model wrote it.
type Entry struct {
	ID          string   `json:"id"`   // as written; given by the parser where it was missing
	Name        string   `json:"name"` // a group, in the spelling of ParseOptions, or LLMTool
	Description string   `json:"description"`
	After       []string `json:"after"` // ids of this plan, or qualified ids of earlier rounds; nil: absent; empty: waits for nothing
}

// ParseOptions say what a plan may refer to.
type ParseOptions struct {
	Groups []string // besides LLMTool; nil: any name
	// Known are the ids of earlier rounds' sub-tasks, qualified like "1/a". A
	// plan may name them in full, or "a" for that of the latest round with it.
	Known []string
	Max   int // sub-tasks in one plan; 0: no limit
}

// Parsed is a model's reply to a request for a plan: a plan or an answer.
type Parsed struct {
	IsPlan bool
	Plan   []Entry // empty with IsPlan: nothing is left to do
	Answer string  // trimmed; empty with IsPlan
}

// What is wrong with a refused reply: the Code of a PlanError.
const (
	EmptyReply         = "empty_reply"
	UnreadablePlan     = "unreadable_plan"
	TruncatedPlan      = "truncated_plan"
	UnknownGroup       = "unknown_group"
	MissingName        = "missing_name"
	MissingDescription = "missing_description"
	RepeatedID         = "repeated_id"
	DanglingAfter      = "dangling_after"
	CyclicPlan         = "cycle"
	TooManySubtasks    = "too_many"
)

// PlanError is why a reply is refused.
type PlanError struct {
	Reason string // English sentences that a model can act on; they list every mistake
	Code   string // of the first mistake
}

func (e *PlanError) Error() string { return e.Reason }

const again = " Send the whole plan again, corrected."

// ParseReply reads a model's text. Thinking aloud is left out. The last
// complete plan in it counts; text without one is the answer. A plan is
//
//   - an object with the key "plan" whose value is a list of entries, one entry,
//     null, or any of these as JSON in a string; other keys beside it are
//     ignored, and the object may be the only value of another one;
//   - the call of a tool "plan" written out: {"name": "plan", "arguments": …};
//   - a bare list of entries, when one of them names an allowed group.
//
// Other JSON belongs to the answer: also {"plan": "pro", "price": 10}. But a
// reply that is nothing else than a JSON value which looks like an attempt at a
// plan ({"plan": "none"}, {"subtasks": […]}, one bare entry, {}, [], null) is
// refused: people never see a plan. A plan that is cut off or cannot be read makes the reply an error unless a complete
// one is in it too. The error is a *PlanError.
func ParseReply(text string, o ParseOptions) (Parsed, error) {
	text = lenient.WithoutThinking(text)
	if text == "" {
		return Parsed{}, &PlanError{Code: EmptyReply, Reason: "The reply is empty. Send a plan, or the answer as text."}
	}
	var plan []any
	var found bool
	var refused *PlanError
	groups := newGroups(o.Groups)
	for _, v := range lenient.Values(text) {
		switch {
		case v.Truncated && (planKeys(v.Keys) || bare(text[:v.Start])):
			refused = truncated()
		case v.Broken && planKeys(v.Keys):
			refused = unreadable("it is not valid JSON")
		case v.Raw != nil:
			if list, ok := planIn(decoded(v.Raw), groups, 0); ok {
				plan, found = list, true
			}
		}
	}
	switch {
	case found:
		return parseEntries(plan, o, groups)
	case refused != nil:
		return Parsed{}, refused
	case attempted(text):
		return Parsed{}, unreadable("it has another form than that of a plan (if it is meant as the answer, put it into a sentence)")
	}
	return Parsed{Answer: text}, nil
}

// ParsePlanArguments reads the arguments of a call of the tool "plan". They
// must hold a plan in a form of ParseReply; any list of entries and a lone
// entry count too. The error is a *PlanError.
func ParsePlanArguments(args string, o ParseOptions) (Parsed, error) {
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
		if v.Raw == nil {
			continue
		}
		value := decoded(v.Raw)
		list, ok := planIn(value, nil, 0)
		if !ok && entryLike(value) {
			list, ok = []any{value}, true
		}
		if ok {
			plan, found = list, true
		}
	}
	if !found && strings.TrimSpace(args) == "[]" {
		found = true
	}
	if !found {
		return Parsed{}, refused
	}
	return parseEntries(plan, o, newGroups(o.Groups))
}

// PlanOutput is what people see who write prompts: one line of JSON with the
// plan, the answer or the error.
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

func truncated() *PlanError {
	return &PlanError{Code: TruncatedPlan, Reason: "The plan is cut off: its end is missing." + again + " Keep it shorter."}
}

func unreadable(why string) *PlanError {
	return &PlanError{Code: UnreadablePlan, Reason: "The plan cannot be read: " + why + `. It must be {"plan": [{"name": "GROUP", "description": "TEXT", "id": "a", "after": []}]}.` + again}
}
