package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/need"
)

// pageWaits is on a board that waits for a person. Such a picture stays until it is
// taken.
const pageWaits = "Waiting for your answer"

// pageTools are the tools of the pages.
const pageTools = `servers:
  clock: {builtin: clock}
  math: {builtin: math}
  notes: {builtin: files, options: {root: notes, write: true}}
groups:
  notes: {description: Saves and reads notes., servers: [notes], tools: [append, read]}
`

// withPageTools gives an environment other tools.
func (w *env) withPageTools() {
	w.t.Helper()
	models, rest, _ := strings.Cut(w.config, "servers:\n")
	_, rest, _ = strings.Cut(rest, "  safe: ")
	_, rest, found := strings.Cut(rest, "\n")
	if !found {
		w.t.Fatalf("the config has no group safe at its end:\n%s", w.config)
	}
	w.configure(models + pageTools + rest)
}

// pageCalls are the sub-tasks of the pages: a part of a question, the group, the tool
// and its arguments.
var pageCalls = []struct{ part, group, tool, arguments, result string }{
	{"17*23", "math", "calculate", `{"expression": "17*23"}`, "17 × 23 is 391."},
	{"6*7", "math", "calculate", `{"expression": "6*7"}`, "6 × 7 is 42."},
	{"2+2", "math", "calculate", `{"expression": "2+2"}`, "2 + 2 is 4."},
	{"the time in Tokyo", "clock", "time_in", `{"place": "Tokyo"}`, ""},
	{"save a note: buy milk", "notes", "append", `{"path": "notes.md", "content": "buy milk\n"}`, "The note is saved."},
	{"save a note: buy eggs", "notes", "append", `{"path": "notes.md", "content": "buy eggs\n"}`, "The note is saved."},
}

// pageModel plans a sub-task for each part of a question, and answers with their
// results.
func pageModel(r llmfake.Request) llmfake.Response {
	step, _ := llmfake.StepOf(r)
	goal, _ := r.Tagged("goal")
	task, _ := r.Tagged("task")
	switch step {
	case llmfake.StepPlan:
		var plan []map[string]any
		for _, c := range pageCalls {
			if strings.Contains(goal, c.part) {
				plan = append(plan, map[string]any{"name": c.group, "description": strings.ToUpper(c.part[:1]) + c.part[1:], "after": []string{}})
			}
		}
		return llmfake.Call("plan", jsonText(map[string]any{"plan": plan}))
	case llmfake.StepWork:
		for _, c := range pageCalls {
			said, called := toolResult(r)
			switch {
			case !strings.EqualFold(task, c.part):
			case !called:
				return llmfake.Call(exposed(r, c.tool), c.arguments)
			case c.result == "":
				return llmfake.Say(strings.TrimSuffix(strings.TrimPrefix(said, "<data>\n"), "\n</data>"))
			default:
				return llmfake.Say(c.result)
			}
		}
	}
	answer := "Here is what was found:\n"
	for _, result := range results.FindAllString(prompt(r), -1) {
		_, text, _ := strings.Cut(strings.TrimSuffix(result, "\n</result>"), ">\n")
		answer += "\n- " + text
	}
	return llmfake.Say(answer)
}

// pictures are those of one page.
type pictures struct {
	t    *testing.T
	text strings.Builder
}

// add adds a picture below its words.
func (p *pictures) add(words, picture string) {
	fmt.Fprintf(&p.text, "%s\n\n```\n%s\n```\n\n", words, strings.TrimSpace(picture))
}

// The marks around the pictures of a page.
const picturesBegin, picturesEnd = "<!-- begin: written by go test ./internal/test/e2e -run Page -update -->\n", "<!-- end -->\n"

// compare compares the pictures with those of a page, or writes them. What differs
// from run to run is replaced: dates, times, durations and counts of tokens.
func (p *pictures) compare(page string) {
	p.t.Helper()
	got := p.text.String()
	for _, one := range []struct{ pattern, instead string }{
		{`\d\d:\d\d:\d\d on \w+, \d+ \w+ \d{4}`, "18:30:00 on Friday, 27 November 2026"},
		{`Expires on \w+, [\d-]+ [\d:]+`, "Expires on Monday, 2026-11-30 09:30"},
		{`by (\w+), \d\d:\d\d\.`, "by $1, 09:31."},
		{`\b\d:\d\d\b`, "0:01"},
		{`\b\d+\.\d s\b`, "1.2 s"},
		{` · about [\d.]+k? tokens`, ""}, // only on some boards
		{`\b[\d.]+k? tokens`, "6.8k tokens"},
		{`(?m) +$`, ""},
	} {
		got = regexp.MustCompile(one.pattern).ReplaceAllString(got, one.instead)
	}
	path := filepath.Join(need.Root(p.t), page)
	text, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), picturesBegin)
	want, after, ended := strings.Cut(rest, picturesEnd)
	switch {
	case !begun || !ended:
		p.t.Fatalf("%s has no place for pictures", page)
	case *update:
		if err := os.WriteFile(path, []byte(before+picturesBegin+got+picturesEnd+after), 0o644); err != nil {
			p.t.Fatal(err)
		}
	case want != got:
		p.t.Errorf("%s (-want +got); go test ./internal/test/e2e -run Page -update writes it:\n%s", page, cmp.Diff(want, got))
	}
}

// picture is the newest message of the bot that holds all words, as people see it.
func (b *telegramEnv) picture(chat int64, words ...string) string {
	b.t.Helper()
	m := b.sees(chat, words...)
	for _, other := range b.Chat(chat).Bots() {
		if holdsAll(other.Text, words) {
			m = other
		}
	}
	return b.Picture(chat, m.ID)
}

// TestTelegramPage: docs/telegram.md shows what people see.
func TestTelegramPage(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: pageModel}, access: `{admins: ["telegram:1"]}`})
	b.withPageTools()
	b.opens()
	p := &pictures{t: t}
	chat := b.ann.ID

	b.Say(chat, b.ann, "What is 17*23, what is the time in Tokyo, and save a note: buy milk")
	card := b.offers(chat, "Allow once", "Allow this action?")
	board := b.sees(chat, pageWaits, "✅ 17*23", "✅ The time in Tokyo", "❓ Save a note")
	p.add("A question whose last part changes something. The board, while it waits:", b.Picture(chat, board.ID))
	p.add("The question about the call:", b.Picture(chat, card.ID))
	b.taps(b.ann, chat, card.ID, "Allow once")
	p.add("After **Allow once**:", b.picture(chat, "Allowed once")+"\n\n"+b.picture(chat, "what was found", "17 × 23", "saved"))

	b.Say(chat, b.ann, "/plan What is 2+2, and what is the time in Tokyo?")
	plan := b.offers(chat, "Run", "This is the plan")
	p.add("A plan that you check first:", b.Picture(chat, plan.ID))
	b.taps(b.ann, chat, plan.ID, "Run")
	p.add("After **Run**:", b.picture(chat, "This is the plan", "Agreed.")+"\n\n"+b.picture(chat, "what was found", "2 + 2"))

	b.Say(chat, b.ann, "What is 6*7, and save a note: buy eggs")
	b.offers(chat, "Allow once", "buy eggs")
	b.Say(chat, b.ann, "What is 9*9?")
	added := b.offers(chat, "Undo", "Added to the running task")
	p.add("Text that is added to a running task:", b.Picture(chat, added.ID))
	b.taps(b.ann, chat, added.ID, "Undo")
	board = b.offers(chat, "Stop", pageWaits, "buy eggs", "✅ 6*7")
	b.taps(b.ann, chat, board.ID, "Stop")
	p.add("It is removed again with **Undo**, and the task is stopped:", b.picture(chat, "what was found", "6 × 7"))

	b.Say(b.bob.ID, b.bob, "hello")
	told := b.offers(b.bob.ID, "Ask the admins")
	p.add("Bob asks for access:", b.Picture(b.bob.ID, told.ID))
	b.taps(b.bob, b.bob.ID, told.ID, "Ask the admins")
	asked := b.offers(chat, "Allow", "asks to use this bot")
	p.add("Ann sees this, and taps **Allow**:", b.Picture(chat, asked.ID))
	b.taps(b.ann, chat, asked.ID, "Allow")
	p.add("Then Bob sees:", b.picture(b.bob.ID, b.says("notice.admitted", nil)))
	p.compare("docs/telegram.md")
}

// rests waits until Slack shows that legwork does nothing in a thread.
func (o *slackEnv) rests(p place) {
	o.t.Helper()
	o.until("that legwork rests", func() bool { return o.StatusOf(p.channel, p.thread).Session != "processing" })
}

// TestSlackPage: docs/slack.md shows what people see.
func TestSlackPage(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{options: options{think: pageModel}, access: `{admins: ["slack:U1"]}`})
	o.withPageTools()
	o.opens()
	p := &pictures{t: t}

	first := o.asks(general, ann, "What is 17*23, what is the time in Tokyo, and save a note: buy milk")
	card := o.offers(first, "Allow once", "Allow this action?")
	o.sees(first, pageWaits, "✓ 17*23", "✓ The time in Tokyo", "◐ Save a note")
	o.rests(first)
	p.add("A mention whose last part changes something, while it waits:", o.Transcript(general))
	o.taps(card, "Allow once", ann)
	for _, words := range []string{"Done: 3 sub-tasks", "Allowed once", "The note is saved."} {
		o.answers(first, words)
	}
	o.rests(first)
	p.add("After **Allow once**:", o.Transcript(general))

	second := o.asks(board, ann, "What is 6*7, and save a note: buy eggs")
	o.offers(second, "Allow once", "buy eggs")
	o.sees(second, pageWaits, "✓ 6*7")
	o.Say(board, ann, "What is 9*9?", second.thread)
	o.offers(second, "Undo", "Added to the running task")
	o.Say(board, ann, "stop", second.thread)
	for _, words := range []string{"Stopped", "This question is no longer open.", "6 × 7"} {
		o.answers(second, words)
	}
	o.rests(second)
	p.add("Text that is added to the running task, and a stop:", o.Transcript(board))

	o.slash("/task", "What is 2+2?", random, ann)
	o.answers(in(random), "2 + 2 is 4")
	p.add("`/task What is 2+2?` in a channel that the app is not in:", o.Transcript(random))

	o.Say(benDM, ben, "hello", "")
	told := o.offers(in(benDM), "Ask the admins")
	o.taps(told, "Ask the admins", ben)
	o.until("that the admins were asked", func() bool { return strings.Contains(o.Transcript(benDM), "I have asked the admins.") })
	asked := o.offers(in(annDM), "Allow", "asks to use this bot")
	p.add("Ben asks for access. Ann sees this, and taps **Allow**:", slackfake.BotName+"\n  "+strings.ReplaceAll(o.Shown(asked), "\n", "\n  "))
	o.taps(asked, "Allow", ann)
	o.sees(in(benDM), "You may use this bot now")
	p.add("Ben sees:", o.Transcript(benDM))
	p.compare("docs/slack.md")
}
