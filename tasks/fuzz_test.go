package tasks_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/bot"
)

// FuzzInbox hands it texts and presses as platforms may bring them: each batch
// is taken, every press is ended once, and what is stored is valid text.
func FuzzInbox(f *testing.F) {
	for _, seed := range [][2]string{
		{"hello", ""},
		{"/task@bot do\nthis", "a:01J:1.0.0:0"},
		{"/timezone ../x\x00\xff", "u:TASK:2"},
		{"/forget yes", "f:yes:1795000000"},
		{"/start CODE", "x:TASK:3"},
		{"/model ", "m:big"},
		{"//", "g:a:phone:eve"},
		{"/lang \u202eru", "r:TASK"},
		{strings.Repeat("/", 1000), "d:TASK"},
	} {
		f.Add(seed[0], seed[1], false, false)
		f.Add(seed[0], seed[1], true, true)
	}
	f.Fuzz(func(t *testing.T, text, press string, edited, overheard bool) {
		o := newOffice(t)
		hall := room("hall")
		id := o.opens("ann", hall, "go")
		m := o.by("ann", hall, text)
		m.Edited, m.Overheard = edited, overheard
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
