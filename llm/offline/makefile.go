package offline

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"legwork/internal/clip"
	"legwork/llm"
)

// makeFile is the tool that makes a file for the person.
const makeFile = "make_file"

// files are the kinds of files that a goal asks for, and the goal without these words.
func (r *rules) files(goal string) (kinds []string, rest string) {
	rest = r.wanted.ReplaceAllStringFunc(goal[:min(len(goal), longest)], func(words string) string {
		kind := "md"
		if strings.Contains(strings.ToLower(words), "csv") {
			kind = "csv"
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		return " "
	})
	if kinds == nil {
		return nil, goal
	}
	return kinds, strings.TrimSpace(rest)
}

// canWantFiles reports whether the tool plan can say that the person wants a file.
func (p *prompt) canWantFiles() bool {
	return slices.ContainsFunc(p.tools, func(t llm.Tool) bool { return t.Name == "plan" && bytes.Contains(t.Schema, []byte(`"wants_file"`)) })
}

// makes reports whether the answer can make files.
func (p *prompt) makes() bool {
	return slices.ContainsFunc(p.tools, func(t llm.Tool) bool { return t.Name == makeFile })
}

// deliver makes the files that the goal asks for, from the results, or else from the files
// that came with the question.
func (m *Model) deliver(p prompt, kinds []string) llm.Reply {
	if len(p.results) == 0 {
		for _, file := range p.files {
			p.results = append(p.results, result{text: "**" + file.name + "**: " + clip.Marked(file.text, shownBytes)})
		}
	}
	f := m.rules.frames(p.goal)
	var calls []llm.ToolCall
	for i, kind := range kinds {
		text := m.answer(p)
		if kind == "csv" {
			text = table(p.results, f)
		}
		calls = append(calls, call(p, i, makeFile, map[string]any{"name": "results." + kind, "text": text}))
	}
	return llm.Reply{ToolCalls: calls}
}

// table is a CSV with a row for each result.
func table(results []result, f frame) string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	_ = w.Write([]string{f.question, f.result}) // a strings.Builder takes everything
	for _, r := range results {
		question, text, found := strings.Cut(strings.TrimPrefix(r.text, "**"), "**: ")
		if !found {
			question, text = "", r.text
		}
		_ = w.Write([]string{question, text})
	}
	w.Flush()
	return out.String()
}

// handedOver is the answer that comes with the made files.
func (m *Model) handedOver(p prompt) string {
	f := m.rules.frames(p.goal)
	return f.notice + "\n\n" + fmt.Sprintf(f.made, cmp.Or(len(p.results), len(p.files)))
}
