package llmfake

import (
	"encoding/json"
	"hash/fnv"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Brain is a model whose every reply follows from the prompt, so that a judge
// can tell from a question what must come out of it, however often the client
// was killed on the way. It understands goals of this form:
//
//	q7: lookup alpha; lookup beta | book gamma
//
// q7 is the question's id. A part whose first word is a group becomes a
// sub-task of that group with the description "q7 lookup alpha"; parts after a
// | are planned in the next round, when the results of those before are there.
// A goal without such parts is answered at once.
//
// A sub-task calls its group's tool once with its description and reports the
// result. A review plans the next round, or ends: by the hash of the id with an
// empty plan or with the answer itself. Every answer begins with "[q7]" and
// holds all results of its prompt, the guidance that was given and what others have
// added to the context. See brain_files.go about files.
type Brain struct {
	// First and PerToken are the pace of every reply.
	First, PerToken time.Duration
	// Heard are the words in recordings, by their content.
	Heard map[string]string
}

// Step names what a request asks of Brain.
type Step string

// The steps.
const (
	StepPlan   Step = "plan"   // decide about a new question
	StepReview Step = "review" // decide with the results of earlier rounds
	StepWork   Step = "work"   // one turn of a sub-task
	StepAnswer Step = "answer" // write the closing answer
)

// Question is a goal as Brain reads it.
type Question struct {
	ID     string     // "q7"; empty when the goal names none
	Rounds [][]string // parts: "lookup alpha"
}

var (
	// resultTag also finds material, which what looks like results may be in.
	resultTag = regexp.MustCompile(`(?s)<data>.*?</data>|<result\b([^>]*)>(.*?)</result>`)
	noteTag   = regexp.MustCompile(`(?s)<data from="[^"]*" type="[^"]*">\n(.*?)\n</data>`)
	idInTag   = regexp.MustCompile(`\bid="(\d+)/`)
	groupLine = regexp.MustCompile(`(?m)^- ([^\s:]+): `)
	goodID    = regexp.MustCompile(`^\w+$`)
)

// The machine's own tools are offered after a group's; Brain leaves them alone.
var ownTools = []string{"get_state", "update_state", "read_result", "ask_person", "delegate"}

// ReadQuestion splits a goal.
func ReadQuestion(goal string) Question {
	id, rest, found := strings.Cut(goal, ":")
	if id = strings.TrimSpace(id); !found || !goodID.MatchString(id) {
		id, rest = "", goal
	}
	q := Question{ID: id}
	for round := range strings.SplitSeq(rest, "|") {
		var parts []string
		for part := range strings.SplitSeq(round, ";") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		q.Rounds = append(q.Rounds, parts)
	}
	return q
}

// StepOf tells what a request asks for, and of which round the newest result
// in it is.
func StepOf(r Request) (step Step, round int) {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for _, found := range results(m.Content) {
			if id := idInTag.FindStringSubmatch(found.tag); id != nil {
				round = max(round, number(id[1]))
			}
		}
	}
	_, planning := r.Tool("plan")
	_, working := r.Tagged("task")
	switch {
	case planning && round == 0:
		return StepPlan, 0
	case planning:
		return StepReview, round
	case working:
		return StepWork, round
	}
	return StepAnswer, round
}

type result struct{ tag, text string }

// results are those of sub-tasks in a message.
func results(content string) (all []result) {
	for _, match := range resultTag.FindAllStringSubmatch(content, -1) {
		if strings.HasPrefix(match[0], "<result") {
			all = append(all, result{match[1], match[2]})
		}
	}
	return all
}

func number(digits string) int {
	n := 0
	for _, d := range digits {
		n = min(n*10+int(d-'0'), 1000)
	}
	return n
}

// Respond answers one request.
func (b Brain) Respond(r Request) Response {
	response := b.think(r)
	response.First, response.PerToken = b.First, b.PerToken
	return response
}

func (b Brain) think(r Request) Response {
	step, round := StepOf(r)
	if step == StepWork {
		return work(r)
	}
	goal, _ := r.Tagged("goal")
	q := ReadQuestion(goal)
	if step == StepPlan || step == StepReview {
		plan, makes := q.plan(round, groups(r)), len(q.Makes()) > 0
		switch {
		case makes:
			return Call("plan", marshal(map[string]any{"plan": plan, "wants_file": true}))
		case len(plan) > 0:
			return Call("plan", marshal(map[string]any{"plan": plan}))
		}
	}
	if calls, ok := q.makeCalls(r); ok && step == StepAnswer {
		return calls
	}
	if step == StepReview && hash(q.ID)%2 == 0 {
		return Call("plan", `{"plan": []}`)
	}
	return Say(q.answer(goal, r))
}

type entry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// plan lists the sub-tasks after the given round.
func (q Question) plan(round int, groups []string) []entry {
	plan := []entry{}
	if round >= len(q.Rounds) {
		return plan
	}
	for _, part := range q.Rounds[round] {
		group, _, _ := strings.Cut(part, " ")
		if slices.Contains(groups, group) {
			plan = append(plan, entry{ID: string(rune('a' + len(plan)%26)), Name: group, Description: strings.TrimSpace(q.ID + " " + part)})
		}
	}
	return plan
}

// groups are those that the system prompt lists, and the model alone.
func groups(r Request) []string {
	names := []string{"llm_tool"}
	for _, m := range groupLine.FindAllStringSubmatch(r.System(), -1) {
		names = append(names, m[1])
	}
	return names
}

func (q Question) answer(goal string, r Request) string {
	var b strings.Builder
	b.WriteString("[" + q.ID + "] ")
	found := false
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for _, result := range results(m.Content) {
			if text := strings.TrimSpace(result.text); text != "" { // a cut prompt: an empty item would make a heading of the line above
				b.WriteString("\n- " + text)
			}
			found = true
		}
	}
	if !found {
		b.WriteString("answers: " + goal)
	}
	b.WriteString(q.filesIn(r))
	b.WriteString(guidance(r))
	for _, m := range r.Messages {
		if m.Role == "user" {
			for _, note := range noteTag.FindAllStringSubmatch(m.Content, -1) {
				b.WriteString("\n- noted: " + note[1])
			}
		}
	}
	return b.String()
}

// work is a turn of a sub-task: call the tool, then report what it gave.
func work(r Request) Response {
	task, _ := r.Tagged("task")
	found, told := "thought about it", false
	for _, m := range r.Messages {
		if m.Role == "tool" {
			found, told = strings.TrimSpace(m.Content), true
		}
	}
	for _, t := range r.Tools {
		if !told && !slices.Contains(ownTools, t.Name) {
			return Call(t.Name, arguments(t, task))
		}
	}
	id, _, _ := strings.Cut(task, " ")
	return Say("[" + id + "] " + task + " => " + found + guidance(r))
}

func guidance(r Request) string {
	var b strings.Builder
	for _, said := range r.AllTagged("guidance") {
		b.WriteString("\n- guidance: " + said)
	}
	return b.String()
}

// arguments gives the text to the required string parameters, or to the first
// of all when none is required.
func arguments(t Tool, text string) string {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(t.Schema, &schema) // checked before
	values := map[string]string{}
	for _, name := range append(schema.Required, slices.Sorted(maps.Keys(schema.Properties))...) {
		if schema.Properties[name].Type == "string" && (slices.Contains(schema.Required, name) || len(values) == 0) {
			values[name] = text
		}
	}
	return marshal(values)
}

func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of strings only
	}
	return string(text)
}

func hash(s string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return h.Sum32()
}
