package tasks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"legwork/internal/clip"
	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/executor"
	"legwork/tools"
)

// The table stands between these lines of the page.
const (
	modelsPage = "../docs/models.md"
	tableBegin = "<!-- The table of replies: go test ./tasks -run TestModelsTable -update -->\n"
	tableEnd   = "<!-- The end of the table of replies. -->\n"
)

// TestModelsTable plays the replies of testdata/models.txtar, through the client of
// an endpoint and the reading of replies, and compares what came of them with the table
// in docs/models.md.
func TestModelsTable(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/models.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	fmt.Fprintln(&table, "| who writes it | the reply | what comes of it |\n| --- | --- | --- |")
	for _, f := range archive.Files {
		name, how, _ := strings.Cut(f.Name, " | ")
		text := strings.TrimSuffix(string(f.Data), "\n")
		native, asText := playReply(t, llm.ToolCallsNative, how, text), playReply(t, llm.ToolCallsText, how, text)
		if native != asText {
			t.Errorf("%s: tool_calls native: %s; text: %s; want the same", f.Name, native, asText)
		}
		fmt.Fprintf(&table, "| %s | %s | %s |\n", name, codeCell(text), strings.ReplaceAll(native, "|", `\|`))
	}
	if len(archive.Files) < 40 {
		t.Errorf("%d replies, want 40 or more", len(archive.Files))
	}
	page, err := os.ReadFile(modelsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(page), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", modelsPage)
	}
	want := before + tableBegin + table.String() + tableEnd + after
	if *update {
		if err := os.WriteFile(modelsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(page) != want {
		t.Errorf("the table in %s is out of date: run with -update. It has to be\n%s", modelsPage, table.String())
	}
}

// playReply has a model at a strict endpoint send one reply and says what came of it.
func playReply(t *testing.T, mode, how, text string) string {
	t.Helper()
	role, how, _ := strings.Cut(how, " ")
	response := llmfake.Response{Text: text}
	if strings.Contains(how, "calls") {
		response.Text = ""
		for line := range strings.Lines(text) {
			name, args, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			response.ToolCalls = append(response.ToolCalls, llmfake.ToolCall{Name: name, Arguments: args})
		}
	}
	if strings.Contains(how, "length") {
		response.Finish = "length"
	}
	endpoint := llmfake.New(t, llmfake.Options{Respond: func(llmfake.Request) llmfake.Response { return response }})
	models, err := llm.New(llm.Config{Models: map[string]llm.ModelConfig{"main": {BaseURL: endpoint.URL, APIKey: "k", Model: "fake", ToolCalls: mode}}}, llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer models.Close()
	d := newInboxEnv(t)
	d.Tools.Many = []tools.Tool{{Name: "look.up", Exposed: "look", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"days":{"type":"integer"},"full":{"type":"boolean"}},"required":["q"]}`)}}
	var id tasks.ID
	if role == "work" {
		id = d.planned("look")
	} else {
		d.Ask(t, enginetest.Message("1", "When was Go 1.26 released, and what does a licence cost?", time.Now()))
		id = d.live(enginetest.Chat)[0]
	}
	d.Model.Answer = models.Call
	screen := &screen{}
	got := d.doesOn(id, planner.Todo(d.state(id))[0].ID, func(p executor.Display) executor.Display {
		screen.Display = p
		return screen
	})
	outcome := outcomeOf(t, role, got[0])
	if strings.HasPrefix(outcome, "the ") || got[0].Type == planner.CallFailed {
		return outcome
	}
	raws := []string{"{", `"`, "<", "｜", "[", "(", "id:"}
	if !strings.Contains(outcome, "only announces work") { // these words are shown until the reply is given back
		raws = append(raws, "look:")
	}
	for _, text := range screen.texts {
		for _, raw := range raws {
			if strings.Contains(text, raw) {
				t.Fatalf("of %q a person reads %q while it streams", response.Text, text)
			}
		}
	}
	return outcome
}

// screen keeps each text that a person may read of a streamed reply.
type screen struct {
	executor.Display
	texts []string
}

// Stream implements executor.Display.
func (s *screen) Stream(_ planner.Action, _ func(string) bool) (write func(llm.Delta), end func()) {
	text := ""
	return func(piece llm.Delta) {
		if piece.Reset {
			text = ""
		}
		text += piece.Text
		for end := range text {
			s.texts = append(s.texts, planner.StreamablePrefix(text[:end]))
		}
		s.texts = append(s.texts, planner.StreamablePrefix(text))
	}, func() {}
}

// outcomeOf puts the event of a reply into words.
func outcomeOf(t *testing.T, role string, e planner.Event) string {
	t.Helper()
	switch {
	case e.Type == planner.Malformed:
		return "given back: " + e.Problem.Reason
	case e.Type == planner.CallFailed:
		return "fails (`" + e.Problem.Code + "`), the part is shown"
	case e.Reply.IsPlan:
		var names []string
		for _, s := range e.Reply.Plan {
			one := s.Name
			if len(s.After) > 0 {
				one += " after " + strings.Join(s.After, ", ")
			}
			names = append(names, s.ID+" "+one)
		}
		return "plan: " + strings.Join(names, "; ")
	case len(e.Reply.Calls) > 0:
		var calls []string
		for _, c := range e.Reply.Calls {
			if c.Refusal != "" {
				t.Errorf("the call %+v is refused", c)
			}
			calls = append(calls, "`"+c.Name+" "+c.Arguments+"`")
		}
		return "call: " + strings.Join(calls, ", ")
	case role == "work":
		return "the result"
	}
	return "the answer"
}

// codeCell is the beginning of a text as code in the cell of a table.
func codeCell(text string) string {
	text = strings.ReplaceAll(text, "\n", "⏎")
	text = strings.ReplaceAll(clip.Marked(text, 120), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}
