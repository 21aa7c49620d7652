package tasks

import (
	"fmt"
	"slices"
	"strings"

	"legwork/i18n"
	"legwork/planner"
)

// Bounds of what Details tells, in runes: of one result, and of all of it.
const (
	detailResult = 280
	detailsMax   = 12000
)

// Details tells how a task came to its answer, as Markdown: each sub-task with
// its state and time, the tools it called, and the beginning of its result.
func Details(v *View, texts *i18n.Texts, lang string) string {
	var b strings.Builder
	for i, w := range v.State.Subtasks {
		if b.Len() > detailsMax {
			b.WriteString(texts.Text(lang, "board.more", map[string]any{"Count": len(v.State.Subtasks) - i}))
			break
		}
		state := texts.Text(lang, "state."+string(w.State), nil)
		fmt.Fprintf(&b, "%d. **%s**\n   *%s* · %s", i+1, line(planner.Description(w, v.Event)), w.Name, state)
		if !w.Began.IsZero() {
			b.WriteString(" · " + texts.Text(lang, "details.elapsed", map[string]any{"Elapsed": elapsed(w, v.State.Last)}))
		}
		if calls := calls(v, w); calls != "" {
			b.WriteString("\n   " + calls)
		}
		if text := result(v, w); text != "" {
			b.WriteString("\n   " + text)
		}
		b.WriteByte('\n')
	}
	if b.Len() == 0 {
		return texts.Text(lang, "details.none", nil)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// calls counts the calls of a sub-task by tool.
func calls(v *View, w planner.Work) string {
	count := map[string]int{}
	var names []string
	for _, turn := range w.Turns {
		e := v.Event(turn.Seq)
		if e.Reply == nil {
			continue
		}
		for _, c := range e.Reply.Calls {
			if c.Tool == "" {
				continue
			}
			if count[c.Tool]++; count[c.Tool] == 1 {
				names = append(names, c.Tool)
			}
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = "`" + name + "`"
		if n := count[name]; n > 1 {
			names[i] += fmt.Sprintf(" ×%d", n)
		}
	}
	return strings.Join(names, ", ")
}

// result is the beginning of what a sub-task found, in one line.
func result(v *View, w planner.Work) string {
	if w.End == 0 {
		return ""
	}
	e := v.Event(w.End)
	if e.Reply == nil {
		return ""
	}
	text := strings.Join(strings.Fields(e.Reply.Text), " ")
	if r := []rune(text); len(r) > detailResult {
		text = string(r[:detailResult-1]) + "…"
	}
	return text
}
