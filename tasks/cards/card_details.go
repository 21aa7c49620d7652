package cards

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// Limits of Details: in characters for one result, thought and note, in bytes for
// the whole text and for the task's notes.
const (
	detailResult  = 280
	detailThought = 200
	detailNote    = 120
	detailsMax    = 12000
	notesMax      = 2000
)

// Details describes how a task found its answer, as Markdown. For each sub-task it
// shows the state and time, the tools that were called, the thoughts of its model,
// and the beginning of its result. After that it shows the notes that the
// sub-tasks made for each other.
func Details(v *tasks.View, texts *i18n.Texts, lang string) string {
	var b strings.Builder
	round := 0
	for i, w := range v.State.Subtasks {
		if w.Round > round && w.Round <= len(v.State.Planned) {
			round = w.Round
			thought(&b, texts, lang, "", v.Event(v.State.Planned[round-1]))
		}
		if b.Len() > detailsMax {
			b.WriteString(texts.Text(lang, "board.more", map[string]any{"Count": len(v.State.Subtasks) - i}))
			break
		}
		state := texts.Text(lang, "state."+string(w.State), nil)
		fmt.Fprintf(&b, "%d. **%s**\n   *%s* · %s", i+1, Line(planner.Description(w, v.Event)), w.Name, state)
		if !w.StartedAt.IsZero() {
			b.WriteString(" · " + texts.Text(lang, "details.elapsed", map[string]any{"Elapsed": elapsed(w, v.State.Last)}))
		}
		if calls := calls(v, w); calls != "" {
			b.WriteString("\n   " + calls)
		}
		for _, turn := range w.Turns {
			thought(&b, texts, lang, "   ", v.Event(turn.Seq))
		}
		if text := result(v, w); text != "" {
			b.WriteString("\n   " + text)
		}
		b.WriteByte('\n')
	}
	notes(&b, v, texts, lang)
	if b.Len() == 0 {
		return texts.Text(lang, "details.none", nil)
	}
	return unlinked(v, strings.TrimSuffix(b.String(), "\n"))
}

// thought adds a line with the text that a model wrote beside its plan or its
// calls.
func thought(b *strings.Builder, texts *i18n.Texts, lang, indent string, e planner.Event) {
	if e.Reply == nil || b.Len() > detailsMax {
		return
	}
	said := e.Reply.Thought
	if !e.Reply.IsPlan {
		said = cmp.Or(e.Reply.Text, said)
	}
	if said = clip.Line(said, detailThought); said == "" {
		return
	}
	line := texts.Text(lang, "details.thought", map[string]any{"Text": PlainText(said)})
	if indent == "" {
		b.WriteString(line + "\n\n")
	} else {
		b.WriteString("\n" + indent + line)
	}
}

// notes adds the shared state of the sub-tasks.
func notes(b *strings.Builder, v *tasks.View, texts *i18n.Texts, lang string) {
	values := planner.SharedState(v.State, v.Event)
	if len(values) == 0 {
		return
	}
	b.WriteString("\n" + texts.Text(lang, "details.notes", nil) + "\n")
	from := b.Len()
	for i, key := range slices.Sorted(maps.Keys(values)) {
		if b.Len()-from > notesMax {
			b.WriteString("- " + texts.Text(lang, "board.more", map[string]any{"Count": len(values) - i}) + "\n")
			break
		}
		b.WriteString("- " + PlainText(clip.Line(key, detailNote)) + ": " + PlainText(clip.Line(string(values[key]), detailNote)) + "\n")
	}
}

// calls lists the tools of a sub-task's calls with their numbers.
func calls(v *tasks.View, w planner.Work) string {
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

// result is the beginning of a sub-task's result, in one line.
func result(v *tasks.View, w planner.Work) string {
	if w.EndSeq == 0 {
		return ""
	}
	e := v.Event(w.EndSeq)
	if e.Reply == nil {
		return ""
	}
	text := strings.Join(strings.Fields(e.Reply.Text), " ")
	if r := []rune(text); len(r) > detailResult {
		text = string(r[:detailResult-1]) + "…"
	}
	return text
}
