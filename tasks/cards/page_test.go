package cards_test

import (
	"strings"
	"testing"

	"legwork/planner"
	"legwork/tasks"
)

// TestPageLink: a question links to its task in the page, where there is one.
func TestPageLink(t *testing.T) {
	c, seq := cardOf(t, planner.Reply{Text: "Done."})
	c.View.ID = "01KAHE0A1B2C3D4E5F6G7H8J9K"
	for page, want := range map[tasks.Page]string{"": "", "https://bot.example.com/": "(https://bot.example.com/console/tasks/" + string(c.View.ID) + ")"} {
		c.Page = page
		text := c.Question(planner.Action{ID: planner.AskID(planner.SubjectReview, seq)}).Text
		if linked := strings.Contains(text, "/console/tasks/"); linked != (want != "") || !strings.Contains(text, want) {
			t.Errorf("with the page %q the card is %q, want %q in it", page, text, want)
		}
	}
}
