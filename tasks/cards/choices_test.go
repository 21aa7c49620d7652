package cards_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
)

// TestLongChoicesAreListed: a label that a platform may cut stands whole in the text.
func TestLongChoicesAreListed(t *testing.T) {
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("word ", 39) + "end."
	for _, test := range []struct {
		choices, labels []string
		text            string
	}{
		{[]string{"red", "blue"}, []string{"red", "blue"}, "Which?"},
		{[]string{"red", long}, []string{"1. red", "2. " + long}, "Which?\n\n1. red\n2. " + long},
	} {
		ask := &planner.Question{Text: "Which?", Choices: test.choices}
		v := &tasks.View{ID: "t1", Events: []planner.Event{
			{Seq: 1, Type: planner.Opened, Opening: &planner.Opening{Goal: "Choose", Language: "en", From: bot.Person{Platform: "phone", ID: "ann"}}},
			{Seq: 2, Type: planner.Replied, Reply: &planner.Reply{Calls: []planner.Call{{Tool: planner.ToolAskPerson, Ask: ask}}}},
		}}
		v.State.Seq = 2
		d := cards.Card{View: v, Texts: texts}.Question(planner.Action{ID: planner.QuestionID(2, 1)})
		var labels []string
		for _, b := range d.Buttons {
			labels = append(labels, b.Label)
		}
		if d.Text != test.text || !slices.Equal(labels, test.labels) {
			t.Errorf("choices %q: got %q, buttons %q, want %q and %q", test.choices, d.Text, labels, test.text, test.labels)
		}
	}
}
