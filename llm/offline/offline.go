// Package offline is a stand-in for a language model that needs no network: it
// plans, calls tools and answers by a few rules. It serves demonstrations and
// tests, and says in the first line of its answers that it is no model.
package offline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"legwork/internal/clip"
	"legwork/internal/retry"
	"legwork/llm"
)

// Options of a Model. The zero value answers at once.
type Options struct {
	Name      string        // Reply.Model, and the only model that the wire protocol serves; empty: "offline"
	Delay     time.Duration // before the first word of each call
	WordDelay time.Duration // before each further word
}

// Model implements llm.Model by rules. It keeps nothing between calls and is
// safe for concurrent use.
type Model struct {
	o     Options
	rules *rules
}

// New returns a model; it holds nothing that must be closed.
func New(o Options) *Model {
	if o.Name == "" {
		o.Name = "offline"
	}
	return &Model{o: o, rules: newRules()}
}

// Call answers one request, word by word when it is streamed. It takes the role from
// r.Role, or from the prompt when that is empty: the tool "plan"
// asks for a plan, a <task> for work, everything else for an answer. Errors: an
// *llm.Error with Problem Invalid for a request that llm.Check refuses, and
// that of ctx.
func (m *Model) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	start := time.Now()
	if err := llm.Check(r); err != nil {
		return llm.Reply{}, &llm.Error{Problem: llm.Invalid, Model: m.o.Name, Status: 400, Err: err}
	}
	reply := m.reply(r)
	reply.Model, reply.Usage = m.o.Name, usage(r, reply)
	if err := m.speak(ctx, reply.Text, stream); err != nil {
		return llm.Reply{}, err
	}
	reply.Elapsed = time.Since(start)
	return reply, nil
}

func (m *Model) reply(r llm.Request) llm.Reply {
	p := readPrompt(m.rules, r)
	if p.images && len(p.returned) == 0 {
		f := m.rules.frames(cmp.Or(p.task, p.goal))
		return llm.Reply{Text: f.notice + "\n\n" + f.blind}
	}
	switch p.role {
	case llm.RolePlan, llm.RoleReview:
		return m.decide(p)
	case llm.RoleWork:
		return m.work(p)
	}
	if summary, ok := m.rules.digest(r); ok {
		return llm.Reply{Text: summary}
	}
	kinds, _ := m.rules.files(p.goal)
	switch {
	case kinds == nil || !p.makes():
	case len(p.returned) == 0:
		return m.deliver(p, kinds)
	default:
		return llm.Reply{Text: m.handedOver(p)}
	}
	return llm.Reply{Text: m.answer(p)}
}

// speak streams a text, each word after its delay.
func (m *Model) speak(ctx context.Context, text string, stream func(llm.Delta)) error {
	if err := retry.Sleep(ctx, m.o.Delay); err != nil {
		return err
	}
	for i, word := range words(text) {
		if i > 0 {
			if err := retry.Sleep(ctx, m.o.WordDelay); err != nil {
				return err
			}
		}
		if stream != nil {
			stream(llm.Delta{Text: word})
		}
	}
	return nil
}

// words cuts a text behind each blank and each Chinese character.
func words(text string) []string {
	var list []string
	start := 0
	for i, c := range text {
		if unicode.IsSpace(c) || unicode.Is(unicode.Han, c) {
			end := i + len(string(c))
			list, start = append(list, text[start:end]), end
		}
	}
	if start < len(text) {
		list = append(list, text[start:])
	}
	return list
}

// usage estimates four bytes to a token.
func usage(r llm.Request, reply llm.Reply) llm.Usage {
	in, out := 0, len(reply.Text)
	for _, m := range r.Messages {
		in += len(m.Content)
	}
	for _, t := range r.Tools {
		in += len(t.Description) + len(t.Schema)
	}
	for _, c := range reply.ToolCalls {
		out += len(c.Arguments)
	}
	return llm.Usage{Input: in/4 + 1, Output: out/4 + 1, Estimated: true}
}

// call makes a tool call. Its id counts the messages, so that no id repeats in
// one conversation.
func call(p prompt, n int, tool string, arguments any) llm.ToolCall {
	args, err := json.Marshal(arguments)
	if err != nil {
		args = []byte("{}") // texts, numbers and lists of them always encode
	}
	return llm.ToolCall{ID: fmt.Sprintf("call_%d_%d", p.length, n), Name: tool, Arguments: string(args)}
}

// decide plans, or writes the answer when there are results or no work is needed.
func (m *Model) decide(p prompt) llm.Reply {
	goal := p.goal
	wantsFile := false
	if p.canWantFiles() {
		var kinds []string
		kinds, goal = m.rules.files(goal)
		wantsFile = kinds != nil
	}
	if len(p.results) > 0 {
		switch goal = p.news; {
		case goal == "" && wantsFile:
			return llm.Reply{ToolCalls: []llm.ToolCall{call(p, 0, "plan", map[string]any{"plan": []any{}})}}
		case goal == "":
			return llm.Reply{Text: m.answer(p)}
		}
	} else if p.news != "" {
		goal += "\n" + p.news
	}
	parts := m.rules.split(goal, p.groups)
	if reply, ok := m.tell(p, parts); ok {
		if wantsFile {
			return llm.Reply{ToolCalls: []llm.ToolCall{call(p, 0, "plan", map[string]any{"plan": []any{}, "wants_file": true})}}
		}
		return reply
	}
	if len(parts) == 0 && p.refused {
		parts = []part{{text: goal, group: alone}}
	}
	if len(parts) == 0 {
		if len(p.results) > 0 {
			return llm.Reply{Text: m.answer(p)}
		}
		f := m.rules.frames(goal)
		return llm.Reply{Text: f.notice + "\n\n" + f.chat}
	}
	type entry struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	plan := make([]entry, len(parts))
	for i, part := range parts {
		plan[i] = entry{part.group, part.text}
	}
	arguments := map[string]any{"plan": plan}
	if wantsFile {
		arguments["wants_file"] = true
	}
	return llm.Reply{ToolCalls: []llm.ToolCall{call(p, 0, "plan", arguments)}}
}

// work calls the tool that fits the task best, once, and reports its result.
func (m *Model) work(p prompt) llm.Reply {
	f := m.rules.frames(p.task)
	text := fmt.Sprintf(f.cannot, clip.Line(p.task, 200))
	if len(p.returned) > 0 {
		text = "**" + strings.TrimRight(p.task, ".?!。？！") + "**: " + strings.Join(p.returned, "\n")
	} else if tool, args, ok := m.rules.choose(p); ok {
		return llm.Reply{ToolCalls: []llm.ToolCall{call(p, 0, tool, args)}}
	}
	if p.goal == "" {
		return llm.Reply{Text: text}
	}
	p.results = append(p.results, result{state: "done", text: text})
	return llm.Reply{Text: m.answer(p)}
}

// answer lists the results.
func (m *Model) answer(p prompt) string {
	f := m.rules.frames(p.goal)
	if len(p.results) == 0 {
		return f.notice + "\n\n" + fmt.Sprintf(f.cannot, clip.Line(p.goal, 200))
	}
	var b strings.Builder
	b.WriteString(f.notice + "\n\n" + f.found + "\n")
	for _, r := range p.results {
		b.WriteString("\n- ")
		if r.state != "done" {
			b.WriteString(f.failed + " ")
		}
		b.WriteString(strings.ReplaceAll(strings.TrimSpace(r.text), "\n", "\n  "))
	}
	return b.String()
}
