package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/need"
)

// TestTranscripts: what README.md and docs/terminal.md show of the terminal is what
// legwork prints. A comment above each block names this test.
func TestTranscripts(t *testing.T) {
	t.Parallel()
	readme, terminal := openPage(t, "README.md"), openPage(t, "docs/terminal.md")

	demo := &env{t: t, dir: t.TempDir(), vars: []string{"NO_COLOR=1"}}
	s := demo.sitAt(90, 60, "demo")
	s.sees("Type a question.")
	s.types(threeThings + "\r")
	s.rests("sub-tasks ·")
	readme.block("demo", s.below("› "+threeThings))
	s.types("Save a note: buy milk\r")
	s.rests("5 Always in this chat")
	_, card, _ := strings.Cut(s.text(), "? Allow this action?")
	terminal.block("approval", "› Save a note: buy milk\n\n? Allow this action?"+card)
	s.types("1")
	s.rests("1 sub-task ·")
	s.types("\x04")
	s.leaves()

	terminal.block("crash", afterCrash(t))
	terminal.block("payment", payment(t))

	var both string
	for _, one := range []struct{ command, input string }{
		{"plan", `{"plan": [{"name": "web", "description": "Find the release date of Go 1.26"}]}`},
		{"render --to telegram", "**Hello**"},
	} {
		code, out, said := demo.finish(one.input+"\n", strings.Fields(one.command)...)
		if code != 0 {
			t.Errorf("legwork %s ended with %d and said %s", one.command, code, said)
		}
		both += "$ echo '" + one.input + "' | legwork " + one.command + "\n" + out
	}
	terminal.block("prompts", both)
	readme.compare()
	terminal.compare()
}

const threeThings = "What is 17*23, and what time is it in Tokyo and in Paris?"

// afterCrash kills legwork while two of three sub-tasks run, and returns what the next
// chat shows.
func afterCrash(t *testing.T) string {
	t.Helper()
	w := newEnv(t, options{think: steps{
		plan: always(llmfake.Call("plan", `{"plan": [
			{"name": "math", "description": "What is 17*23"},
			{"name": "clock", "description": "What time is it in Tokyo"},
			{"name": "clock", "description": "What time is it in Paris"}]}`)),
		work: func(r llmfake.Request) llmfake.Response {
			if task, _ := r.Tagged("task"); strings.Contains(task, "time") {
				return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}
			}
			return llmfake.Say("391")
		},
	}.think})
	w.vars = []string{"NO_COLOR=1"}
	w.configure(strings.NewReplacer(
		"servers:\n", "servers:\n  math: {builtin: math}\n  clock: {builtin: clock}\n",
		"groups:\n", "groups:\n  math: {description: Calculates., servers: [math]}\n  clock: {description: Tells the time., servers: [clock]}\n",
	).Replace(w.config))
	s := w.sitAt(90, 60, "chat")
	s.sees("Type a question.")
	s.types(threeThings + "\r")
	s.sees("Working: 1 of 3 sub-tasks done")
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	s = w.sitAt(110, 60, "chat")
	s.sees("Working: 1 of 3 sub-tasks done", "✓ math", "◐ clock  What time is it in Tokyo", "◐ clock  What time is it in Paris")
	s.rests("What time is it in Paris")
	return s.below("Continuing 1 unfinished task")
}

// payment is the card of the payment when a trip is booked in a terminal.
func payment(t *testing.T) string {
	t.Helper()
	a := newTravelEnv(t)
	a.vars = []string{"NO_COLOR=1"}
	s := a.sitAt(90, 100, "chat")
	s.sees("Type a question.")
	s.types(wish + "\r")
	s.rests("5 Always in this chat")
	s.types("1")
	var card string
	s.until("the card of the payment above a prompt", func(screen string) bool {
		_, after, _ := strings.Cut(screen, "Allowed once")
		_, card, _ = strings.Cut(after, "? Allow this action?")
		return strings.Contains(card, "process_payment") && strings.Contains(card, "5 Always in this chat") && strings.HasSuffix(card, "\n›")
	})
	return "? Allow this action?" + card
}

// rests waits until words are on the screen and the prompt stands below them.
func (s *terminalEnv) rests(words string) {
	s.t.Helper()
	s.until(words+" above a prompt", func(screen string) bool {
		_, below, found := strings.Cut(screen, words)
		return found && strings.HasSuffix(below, "\n›")
	})
}

// below is the screen from a text on.
func (s *terminalEnv) below(text string) string {
	s.t.Helper()
	_, after, found := strings.Cut(s.text(), text)
	if !found {
		s.t.Fatalf("%q is not on the screen:\n%s", text, s.text())
	}
	return text + after
}

// page is a page whose blocks a test writes.
type page struct {
	t          *testing.T
	path       string
	old, fresh string
}

func openPage(t *testing.T, path string) *page {
	t.Helper()
	path = filepath.Join(need.Root(t), path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return &page{t, path, string(text), string(text)}
}

// block puts text into the block below the comment with a name.
func (p *page) block(name, text string) {
	p.t.Helper()
	comment := "<!-- " + name + ": go test ./internal/test/e2e -run TestTranscripts -update -->\n```\n"
	before, after, found := strings.Cut(p.fresh, comment)
	_, after, closed := strings.Cut(after, "\n```")
	if !found || !closed {
		p.t.Fatalf("%s has no block below %s", p.path, comment)
	}
	p.fresh = before + comment + everyDay(strings.TrimRight(text, "\n")) + "\n```" + after
}

// everyDay replaces what differs from run to run: times, durations, counts of tokens,
// the spinner, the order's number and price, and the person's name.
func everyDay(text string) string {
	for _, one := range []struct{ pattern, instead string }{
		{`Tokyo: \d\d:(?s:.*?)UTC\+09:00\)`, "Tokyo: 23:58:58 on Friday, 20 November 2026 (Asia/Tokyo, JST,\n  UTC+09:00)"},
		{`Paris: \d\d:(?s:.*?)UTC\+0[12]:00\)`, "Paris: 15:58:58 on Friday, 20 November 2026 (Europe/Paris,\n  CET, UTC+01:00)"},
		{`(?m)^[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] `, "⠧ "},
		{`(?m)\b\d+(\.\d)?s$`, "0.9s"},
		{`\b\d+\.\d s\b`, "2.6 s"},
		{`\b[\d.]+k? tokens\b`, "6.8k tokens"},
		{`For \w+: Book(?s:.*?)\n  Expires`, "For ann: Book me a flight from Beijing to Shanghai tomorrow and a hotel for one night.\n  I…\n  Expires"},
		{`For \w+: `, "For ann: "},
		{`Expires on \w+, [\d-]+ [\d:]+`, "Expires on Friday, 2026-11-27 09:30"},
		{`TRV-\w{6}`, "TRV-NRB9C4"},
		{`"amount": \d+`, `"amount": 215`},
	} {
		text = regexp.MustCompile(one.pattern).ReplaceAllString(text, one.instead)
	}
	return text
}

// compare compares the page with its file, or writes the file.
func (p *page) compare() {
	p.t.Helper()
	if *update {
		if err := os.WriteFile(p.path, []byte(p.fresh), 0o644); err != nil {
			p.t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(p.old, p.fresh); diff != "" {
		p.t.Errorf("%s (-want +got); go test ./internal/test/e2e -run TestTranscripts -update writes it:\n%s", p.path, diff)
	}
}
