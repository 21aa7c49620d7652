package planner_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/i18n"
	"legwork/llm"
	"legwork/planner"
)

// agents are two groups, of which one can change things.
func agents() []i18n.Group {
	return []i18n.Group{{Name: "look", Description: "Looks things up.", ReadOnly: true}, {Name: "desk", Description: "Books things."}}
}

// beginIn is begin with a person of that language.
func beginIn(t *testing.T, lang string) *journalEnv {
	st := &journalEnv{t: t}
	st.add(planner.Event{Type: planner.Opened, Opening: &planner.Opening{
		Goal: "goal", Language: lang, Timezone: "UTC", Limits: planner.DefaultLimits(),
	}})
	return st
}

// sent is a request as an endpoint reads it: the tools, then the messages.
func sent(t *testing.T, r llm.Request) string {
	t.Helper()
	tools, err := json.Marshal(r.Tools)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := json.Marshal(r.Messages)
	if err != nil {
		t.Fatal(err)
	}
	return string(tools) + strings.TrimSuffix(string(messages), "]")
}

// TestReviewBeginsAsThePlan: the prompt of each review is that of the decision
// before it, to the byte, and more. Its own question comes last.
func TestReviewBeginsAsThePlan(t *testing.T) {
	texts, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, lang := range []string{"en", "ru", "zh"} {
		question, err := texts.Prompt(lang, llm.RoleReview, i18n.PromptData{})
		if err != nil {
			t.Fatal(err)
		}
		input := planner.PromptInput{
			Groups: agents(), Instructions: "Use metric units.", ChatInstructions: "Be brief.",
			Past:    planner.Past{History: []planner.Exchange{{Goal: "before", Answer: "so"}}},
			Earlier: []planner.Earlier{{Reference: "ABC/1/a", Group: "look", Bytes: 10}},
		}
		st := beginIn(t, lang)
		before, _ := st.prompt("plan 1.0", input)
		for round := range 2 {
			st.plan(planner.Subtask{ID: string(rune('1'+round)) + "/a", Name: "look", Description: "one"}, planner.Subtask{ID: string(rune('1'+round)) + "/b", Name: "look", Description: "two"})
			for _, a := range planner.Todo(st.s) {
				st.text(a.ID.String(), "found")
			}
			st.add(planner.Event{Type: planner.GuidanceAdded, Text: "also this"})
			review, _ := st.prompt(planner.Todo(st.s)[0].ID.String(), input)
			if first, second := sent(t, before), sent(t, review); !strings.HasPrefix(second, first) {
				t.Errorf("%s, review %d: %d of %d bytes of the prompt before come again", lang, round+1, commonPrefix(first, second), len(first))
			}
			last := review.Messages[len(review.Messages)-1]
			if last.Role != llm.User || !strings.HasSuffix(last.Content, "\n\n"+strings.TrimSpace(question)) {
				t.Errorf("%s, review %d: the last message is %s %q, want the question at its end", lang, round+1, last.Role, last.Content)
			}
			before = review
		}
	}
}

// TestChatBeginsAlike: the prompt of each question of a chat begins with the tools, the
// system text and the turns of the question before it, to the byte. Only its last
// message differs.
func TestChatBeginsAlike(t *testing.T) {
	input := planner.PromptInput{Groups: agents(), Instructions: "Use metric units."}
	var before string // without the last message
	for n := range 4 {
		goal := fmt.Sprintf("question %d", n)
		st := &journalEnv{t: t}
		st.add(planner.Event{Type: planner.Opened, Opening: &planner.Opening{
			Goal: goal, Language: "en", Timezone: []string{"UTC", "Asia/Tokyo"}[n%2], Limits: planner.DefaultLimits(),
		}})
		r, _ := st.prompt("plan 1.0", input)
		whole := sent(t, r)
		if !strings.HasPrefix(whole, before) {
			t.Errorf("question %d: %d of %d bytes of the prompt before come again", n, commonPrefix(before, whole), len(before))
		}
		last := r.Messages[len(r.Messages)-1]
		if last.Role != llm.User || !strings.Contains(last.Content, "<goal>\n"+goal+"\n</goal>") {
			t.Errorf("question %d: the last message is %s %q, want the question", n, last.Role, last.Content)
		}
		r.Messages = r.Messages[:len(r.Messages)-1]
		before = sent(t, r)
		input.Past.History = append(input.Past.History, planner.Exchange{Goal: goal, Answer: "so"})
	}
}

// TestPlanTool: the tool lists the agents and says what each of its fields means.
func TestPlanTool(t *testing.T) {
	for _, lang := range []string{"en", "ru", "zh"} {
		r, _ := beginIn(t, lang).prompt("plan 1.0", planner.PromptInput{Groups: agents()})
		type field struct {
			Type        string
			Description string
			Enum        []string
			Items       *struct {
				Type       string
				Properties map[string]field
				Required   []string
			}
		}
		var schema struct {
			Properties map[string]field
			Required   []string
		}
		if len(r.Tools) != 1 || r.Tools[0].Name != planner.ToolPlan {
			t.Fatalf("%s: the tools are %+v, want the tool plan alone", lang, r.Tools)
		}
		if err := json.Unmarshal(r.Tools[0].Schema, &schema); err != nil {
			t.Fatalf("%s: %v in %s", lang, err, r.Tools[0].Schema)
		}
		if !strings.HasPrefix(string(r.Tools[0].Schema), `{"type":"object","properties":{"thought":`) {
			t.Errorf("%s: the first field is not thought: %s", lang, r.Tools[0].Schema)
		}
		entry := schema.Properties["plan"].Items
		if !slices.Equal(schema.Required, []string{"plan"}) || entry == nil || !slices.Equal(entry.Required, []string{"name", "description"}) {
			t.Fatalf("%s: the schema is %s", lang, r.Tools[0].Schema)
		}
		if want := []string{"look", "desk", planner.LLMTool}; !slices.Equal(entry.Properties["name"].Enum, want) {
			t.Errorf("%s: the names are %q, want %q", lang, entry.Properties["name"].Enum, want)
		}
		for name, f := range map[string]field{
			"thought": schema.Properties["thought"], "plan": schema.Properties["plan"], "id": entry.Properties["id"],
			"name": entry.Properties["name"], "description": entry.Properties["description"], "after": entry.Properties["after"],
		} {
			if f.Description == "" {
				t.Errorf("%s: the field %s has no description: %s", lang, name, r.Tools[0].Schema)
			}
		}
		if got := entry.Properties["after"].Description; lang == "en" && got != "ids of sub-tasks whose results this one needs; [] if none" {
			t.Errorf("after is described as %q", got)
		}
	}
}

// TestAgentsInThePrompt: the list says which agents can change things, and the
// example uses one of them.
func TestAgentsInThePrompt(t *testing.T) {
	r, _ := begin(t).prompt("plan 1.0", planner.PromptInput{Groups: agents()})
	system := r.Messages[0].Content
	for _, want := range []string{"\n- look: Looks things up. (only reads)\n", "\n- desk: Books things. (can change things)\n", `{"id": "a", "name": "look", "description": `} {
		if !strings.Contains(system, want) {
			t.Errorf("the system text lacks %q:\n%s", want, system)
		}
	}
	r, _ = begin(t).prompt("plan 1.0", planner.PromptInput{})
	if system := r.Messages[0].Content; !strings.Contains(system, `{"id": "a", "name": "llm_tool", "description": `) {
		t.Errorf("without groups the example is not about llm_tool:\n%s", system)
	}
}

// TestShownPlan: a review shows plans as their model wrote them, with the ids of their
// own round and an "after" in each entry.
func TestShownPlan(t *testing.T) {
	st := begin(t)
	st.plan(planner.Subtask{ID: "1/a", Name: "look", Description: "one"}, planner.Subtask{ID: "1/b", Name: "desk", Description: "two", After: []string{"1/a"}})
	st.text("work 1/a turn 1.0", "found")
	st.text("work 1/b turn 1.0", "booked")
	st.plan(planner.Subtask{ID: "2/a", Name: "look", Description: "three", After: []string{"1/b"}}, planner.Subtask{ID: "2/c", Name: "look", Description: "four", After: []string{"2/a", "1/a"}})
	st.text("work 2/a turn 1.0", "found")
	st.text("work 2/c turn 1.0", "found")
	r, _ := st.prompt(planner.Todo(st.s)[0].ID.String(), planner.PromptInput{})
	var shown []string
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			shown = append(shown, m.Content)
		}
	}
	want := []string{
		`{"plan":[{"id":"a","name":"look","description":"one","after":[]},{"id":"b","name":"desk","description":"two","after":["a"]}]}`,
		`{"plan":[{"id":"a","name":"look","description":"three","after":["1/b"]},{"id":"c","name":"look","description":"four","after":["a","1/a"]}]}`,
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("the shown plans differ (-want +got):\n%s", diff)
	}
}

// TestThoughtAlone: a thought without its plan is given back. It is no answer.
func TestThoughtAlone(t *testing.T) {
	if got, err := planner.ParseReply(`{"thought": "Two places."}`, planner.ParseOptions{}); err == nil {
		t.Errorf("a thought alone is read as %+v, want it refused", got)
	}
}
