package tasks_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
	"legwork/tools"
)

// FuzzInbox hands it texts and presses as platforms may bring them: each batch
// is taken, every press is ended once, and what is stored is valid text.
func FuzzInbox(f *testing.F) {
	for _, seed := range [][2]string{
		{"hello", ""},
		{"/task@bot do\nthis", "a:01J:question.1.0:0"},
		{"/timezone ../x\x00\xff", "u:TASK:2"},
		{"/forget yes", "f:yes:1795000000"},
		{"/start CODE", "x:TASK:3"},
		{"/model ", "m:big"},
		{"//", "g:a:phone:eve"},
		{"/lang \u202eru", "r:TASK"},
		{strings.Repeat("/", 1000), "d:TASK"},
		{"/approvals revoke \x00", "p:TASK:1.0:o"},
		{"/approvals accept -", "q:TASK:-1.9:1"},
		{"/prompt a b=c", "v:-1"},
		{"/cancel", "t:a:"},
	} {
		f.Add(seed[0], seed[1], false, false)
		f.Add(seed[0], seed[1], true, true)
	}
	f.Fuzz(func(t *testing.T, text, press string, edited, overheard bool) {
		o := newEnv(t)
		hall := room("hall")
		id := o.opens("ann", hall, "go")
		m := o.by("ann", hall, text)
		m.Overheard = overheard
		if edited {
			m.Kind = bot.MessageEdit
		}
		o.send(m)
		if press != "" {
			h := o.send(o.press("boss", hall, strings.ReplaceAll(press, "TASK", string(id))))
			if len(h.answers) != 1 {
				t.Errorf("the press %q of %q was ended %d times, want once", press, text, len(h.answers))
			}
		}
		for _, goal := range o.goals(hall) {
			if !utf8.ValidString(goal) || strings.Contains(goal, "\x00") {
				t.Errorf("the goal %q is stored", goal)
			}
		}
		for _, p := range o.phone.posts {
			if p.Kind != bot.KindNotice || p.Text == "" || !utf8.ValidString(p.Text) {
				t.Errorf("posted %+v", p)
			}
		}
	})
}

// FuzzPrompt takes what may be written after the name of a prompt: the task that
// it opens has arguments that the prompt knows, each of them with a value.
func FuzzPrompt(f *testing.F) {
	for _, seed := range []string{"", "city=Rome days=2", "Rome days=", `days="2" mood='a b`, "city=city=x\nmood=\u202e", "=", "days=1 days=2 days="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := newEnv(t)
		o.toolbox = &gated{prompts: []tools.Prompt{{Name: "travel/plan", Arguments: []tools.PromptArgument{{Name: "city"}, {Name: "days"}, {Name: "mood"}}}}}
		o.restart()
		o.send(o.by("ann", private("ann"), "/prompt plan "+text))
		for _, id := range o.live(private("ann")) {
			opening := o.event(id, 1).Opening
			if opening.Prompt == nil {
				t.Fatalf("%q opened %q", text, opening.Goal)
			}
			for name, value := range opening.Prompt.Arguments {
				made := strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
				if name != "city" && name != "days" && name != "mood" || value == "" || !strings.Contains(made, value) {
					t.Errorf("%q gave %s=%q", text, name, value)
				}
			}
		}
	})
}
