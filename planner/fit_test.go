package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/files"
	"legwork/llm"
	"legwork/planner"
)

// talked is an input with a summary and six turns of some 1,000 bytes before the
// task, and a bound on the prompt.
func talked(most int) planner.PromptInput {
	input := planner.PromptInput{MaxBytes: most}
	input.Past.Summary = "they spoke of rivers"
	for i := range 6 {
		input.History = append(input.History, planner.Exchange{Goal: fmt.Sprintf("turn %d", i), Answer: strings.Repeat("so it is. ", 100)})
	}
	return input
}

// TestWhatGoesFirst: a prompt that must be shorter loses the oldest turns of the
// conversation first, its summary last of them, then the middle of old results,
// and the newest result last of all. Roles take turns all the while.
func TestWhatGoesFirst(t *testing.T) {
	st := begin(t)
	for _, name := range []string{"a", "b"} {
		st.plan(planner.Subtask{ID: name, Name: planner.LLMTool, Description: "find " + name}, planner.Subtask{ID: name + "2", Name: planner.LLMTool, Description: "find more", After: []string{name}})
		st.text("work "+name+" turn 1.0", name+" begins"+strings.Repeat(" and goes on", 300)+" and ends.")
		st.text("work "+name+"2 turn 1.0", "little")
	}
	action := planner.Todo(st.s)[0].ID.String()
	r, whole := st.prompt(action, talked(0))
	size := planner.Bytes(r.Messages)
	marks := []string{"turn 0", "turn 1", "turn 5", "they spoke of rivers", "a begins" + strings.Repeat(" and goes on", 300), "b begins" + strings.Repeat(" and goes on", 300)}
	gone := 0 // of the marks
	for most := size; most > 6000; most -= 100 {
		r, text := st.prompt(action, talked(most)) // checks that it is valid
		if got := planner.Bytes(r.Messages); got > most+50 {
			t.Errorf("%d bytes, want at most %d", got, most)
		}
		if !strings.Contains(text, "goal") || !strings.Contains(text, "a begins") || !strings.Contains(text, "and ends.") {
			t.Fatalf("with %d bytes of %d: the goal or both ends of a result are missing:\n%s", most, size, text)
		}
		for i, mark := range marks {
			if !strings.Contains(whole, mark) {
				t.Fatalf("the whole prompt has no %.20q", mark)
			}
			if has := strings.Contains(text, mark); has != (i >= gone) {
				if has || i > gone {
					t.Fatalf("with %d bytes of %d: %.20q is there: %v, %d marks before are gone", most, size, mark, has, gone)
				}
				gone = i + 1
			}
		}
	}
	if gone < 5 {
		t.Errorf("%d marks are gone at last, want five at least", gone)
	}
}

// TestCutAnswer: a task whose answer was cut off has its beginning, which the
// next ones see; a sub-task's beginning is part of what the others see.
func TestCutAnswer(t *testing.T) {
	fail := func(st *journalEnv, action planner.ActionID, text string) (planner.State, planner.Event) {
		before := st.s
		st.add(planner.Event{Type: planner.CallFailed, Action: action, Problem: &planner.Problem{Code: "cut_off", Text: text}})
		return before, st.events[len(st.events)-1]
	}
	st := begin(t)
	before, e := fail(st, planner.Todo(st.s)[0].ID, "Once upon a time ")
	if st.s.CutOffSeq != e.Seq || st.s.FailedSeq != e.Seq || st.s.Outcome != planner.Failed {
		t.Errorf("state %+v, want it failed with the beginning of seq %d", st.s, e.Seq)
	}
	text, failed, settled := planner.Settles(before, st.s, e)
	if text != "Once upon a time […]" || !failed || !settled {
		t.Errorf("settles with %q, failed %v, %v; want the beginning, marked, and a failure", text, failed, settled)
	}

	st = begin(t)
	st.plan(planner.Subtask{ID: "a", Name: planner.LLMTool, Description: "find a"}, planner.Subtask{ID: "b", Name: planner.LLMTool, Description: "find b", After: []string{"a"}})
	fail(st, planner.WorkID("a", 1, 0), "The first half")
	_, prompt := st.prompt("work b turn 1.0", planner.PromptInput{})
	if !strings.Contains(prompt, "The first half") || !strings.Contains(prompt, "incomplete") {
		t.Errorf("the prompt does not say what the cut sub-task had written:\n%s", prompt)
	}
	if st.s.CutOffSeq != 0 {
		t.Errorf("the beginning of a sub-task's result is taken for the task's answer")
	}
}

// TestPicturesGoFirst: pictures that came earlier give way before anything else, and the
// newest ones last of all. A line stands in their place.
func TestPicturesGoFirst(t *testing.T) {
	photo := func(name string) planner.ReadFile {
		return planner.ReadFile{
			File: files.File{ID: files.IDOf([]byte(name)), Name: name, Type: "image/png"}, Kind: "picture",
			Pictures: []planner.Picture{{ID: files.IDOf([]byte(name)), Type: "image/png"}},
		}
	}
	attached := []bot.Attachment{{Ref: "tg:1", Kind: bot.AttachPhoto}}
	st := openedWith(t, planner.Opening{Goal: "which is better", Files: attached})
	first := photo("first.png")
	st.read("file 1.0", first)
	seq := st.add(planner.Event{Type: planner.GuidanceAdded, By: "telegram:1", Text: "or this one", Files: attached})
	second := photo("second.png")
	st.read(planner.FetchID(seq, 0).String(), second)
	action := planner.Todo(st.s)[0].ID.String()
	input := talked(0)
	input.Picture = func(id files.ID) ([]byte, bool) { return []byte(id), true }
	r, _ := st.prompt(action, input)
	size := planner.Bytes(r.Messages)
	for _, c := range []struct {
		most int
		seen []planner.ReadFile
		past bool // the oldest turn is there
	}{
		{size, []planner.ReadFile{first, second}, true},
		{size - 100, []planner.ReadFile{second}, true},
		{size - 4*llm.ImageTokens - 1000, []planner.ReadFile{second}, false},
		{4 * llm.ImageTokens, nil, false},
	} {
		input.MaxBytes = c.most
		r, text := st.prompt(action, input)
		var got, want []string
		for _, m := range r.Messages {
			for _, image := range m.Images {
				got = append(got, string(image.Data))
			}
		}
		for _, f := range c.seen {
			want = append(want, string(f.ID))
		}
		if !slices.Equal(got, want) || strings.Contains(text, "turn 0") != c.past {
			t.Errorf("with %d bytes of %d: %d pictures, the oldest turn is there: %v; want %d, %v", c.most, size, len(got), strings.Contains(text, "turn 0"), len(want), c.past)
		}
		if told := strings.Contains(text, "no room for some of these pictures"); told != (len(c.seen) < 2) {
			t.Errorf("with %d bytes of %d: the model is told of pictures that were left out: %v", c.most, size, told)
		}
	}
}
