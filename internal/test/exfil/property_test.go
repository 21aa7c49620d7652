package exfil

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"legwork/internal/test/need"
	"legwork/llm"
	"legwork/planner"
	"legwork/tools"
)

// taint is what a word depends on.
type taint struct {
	outside bool
	private map[string]bool // the servers that its private data came from
}

func (t taint) and(u taint) taint {
	all := maps.Clone(t.private)
	if all == nil {
		all = map[string]bool{}
	}
	maps.Copy(all, u.private)
	return taint{t.outside || u.outside, all}
}

// wanderer is a model and servers that do random things. Everything that one of them
// writes has a word of its own, and so the words of a prompt say what a reply to it
// depends on. It does not look at the labels that legwork gives.
type wanderer struct {
	*rig
	mu     sync.Mutex
	random *rand.Rand
	taints map[string]taint // by word
	may    map[string]bool  // calls whose arguments do not depend on both labels
	both   map[string]bool  // calls of models that had read both
	silent int              // calls of such models that ran unasked
	broken []string
}

var wordForm = regexp.MustCompile(`\bw[0-9]+w\b`)

// word makes a word with a taint.
func (w *wanderer) word(t taint) string {
	word := fmt.Sprintf("w%dw", len(w.taints))
	w.taints[word] = t
	return word
}

// in returns the words of a text, and what they depend on together.
func (w *wanderer) in(text string) (words []string, all taint) {
	words = wordForm.FindAllString(text, -1)
	for _, word := range words {
		all = all.and(w.taints[word])
	}
	return words, all
}

// text is a text of a model that has read words: a few of them, in most cases with one
// of its own.
func (w *wanderer) text(read []string, own taint) string {
	var list []string
	for len(read) > 0 && w.random.IntN(3) > 0 {
		list = append(list, read[w.random.IntN(len(read))])
	}
	if len(list) == 0 || w.random.IntN(3) == 0 {
		list = append(list, w.word(own))
	}
	return strings.Join(list, " ")
}

// readers are the tools that a model uses, and whether their results are private.
var readers = []struct {
	tool, parameter string
	private         bool
}{
	{"web.fetch", "url", false},
	{"search.search", "query", false},
	{"files.read", "path", true},
	{"crm.get", "id", true},
	{"mail.get", "id", true},
	{"third.find", "q", true},
	{"memory.recall", "query", true},
}

// writers are tools that only carry something out.
var writers = []struct{ tool, parameter string }{{"mail.send", "body"}, {"chat.post", "text"}, {"crm.share", "text"}, {"third.run", "q"}, {"third.run", "host"}}

func (w *wanderer) answer(_ context.Context, q llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var prompt strings.Builder
	for _, m := range q.Messages {
		prompt.WriteString(m.Content + "\n")
		for _, c := range m.ToolCalls {
			prompt.WriteString(c.Arguments + "\n")
		}
	}
	read, own := w.in(prompt.String())
	switch {
	case q.Role == llm.RolePlan || q.Role == llm.RoleReview && w.random.IntN(3) == 0:
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: w.plan(read, own)}}}, nil
	case q.Role == llm.RoleReview:
		return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "p", Name: planner.ToolPlan, Arguments: `{"plan":[]}`}}}, nil
	case q.Role == llm.RoleWork && turnsOf(q) < 3:
		var list []call
		for range 1 + w.random.IntN(3) {
			list = append(list, w.call(read, own))
		}
		return calls(list), nil
	}
	return llm.Reply{Text: w.text(read, own)}, nil
}

func (w *wanderer) plan(read []string, own taint) string {
	var list []string
	for i := range 1 + w.random.IntN(3) {
		after := ""
		if i > 0 && w.random.IntN(2) == 0 {
			after = fmt.Sprintf(`,"after":["s%d"]`, w.random.IntN(i))
		}
		list = append(list, fmt.Sprintf(`{"id":"s%d","name":"look","description":%q%s}`, i, w.text(read, own), after))
	}
	return `{"plan":[` + strings.Join(list, ",") + `]}`
}

// call is a random call. Calls of the machine's own tools carry nothing out.
func (w *wanderer) call(read []string, own taint) call {
	text := w.text(read, own)
	switch w.random.IntN(8) {
	case 0:
		return call{tool: planner.ToolUpdateState, args: map[string]any{"values": map[string]any{"k" + fmt.Sprint(w.random.IntN(3)): text}}}
	case 1:
		return call{tool: planner.ToolDelegate, args: map[string]any{"name": "look", "description": text}}
	case 2:
		return call{tool: "memory.remember", args: arg("text", text)}
	}
	var c call
	if w.random.IntN(3) > 0 {
		r := readers[w.random.IntN(len(readers))]
		if r.parameter == "url" {
			text = "https://a.example/" + strings.ReplaceAll(text, " ", "/")
		}
		c = call{tool: r.tool, args: arg(r.parameter, text)}
	} else {
		o := writers[w.random.IntN(len(writers))]
		c = call{tool: o.tool, args: arg(o.parameter, text)}
	}
	w.note(c, own)
	return c
}

// note remembers whether a call may run unasked. What one server returned goes back to
// it by a tool that only reads.
func (w *wanderer) note(c call, own taint) {
	server, tool, _ := strings.Cut(c.tool, ".")
	key := c.tool + string(encoded(c.args))
	_, sent := w.in(string(encoded(c.args)))
	foreign := maps.Clone(sent.private)
	if tool == "get" || tool == "find" || tool == "fetch" || tool == "search" {
		delete(foreign, server)
	}
	if own.outside && len(own.private) > 0 && server != "files" && server != "memory" { // these carry nothing out
		w.both[key] = true
		w.may[key] = w.may[key] || len(foreign) == 0
		return
	}
	w.may[key] = true
}

// serve is all servers: what they return is words of outsiders.
func (w *wanderer) serve(_ context.Context, c tools.Call) (tools.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	server, _, _ := strings.Cut(c.Tool, ".")
	t := taint{outside: true}
	for _, r := range readers {
		if r.tool == c.Tool && r.private {
			t.private = map[string]bool{server: true}
		}
	}
	key := c.Tool + string(c.Arguments)
	if w.both[key] && !w.allowed(c) {
		w.silent++
		if !w.may[key] {
			w.broken = append(w.broken, key)
		}
	}
	word := w.word(t)
	if server == "search" {
		return tools.Result{Text: "1. Page\nhttps://a.example/" + word + "\nAbout " + w.word(t)}, nil
	}
	return tools.Result{Text: "found " + word}, nil
}

// allowed reports whether a person has allowed the call. Its arguments are in canonical
// form.
func (w *wanderer) allowed(c tools.Call) bool {
	w.rig.mu.Lock()
	defer w.rig.mu.Unlock()
	return w.script.allow && slices.Contains(w.agreed, c.Tool+string(c.Arguments))
}

// TestNoCallDependsOnBoth: over random tasks, no call that ran unasked, and that can carry
// data out, has an argument that depends on private data of others than its receiver,
// when its model has read texts of outsiders.
func TestNoCallDependsOnBoth(t *testing.T) {
	set := world(t)
	silent, asked := 0, 0
	for seed := range uint64(need.Times(10, 100)) {
		w := &wanderer{rig: newRig(t, set, "look"), random: rand.New(rand.NewPCG(seed, 0)), taints: map[string]taint{}, may: map[string]bool{}, both: map[string]bool{}}
		w.Model.Answer, w.Tools.Serve = w.answer, w.serve
		for range 3 { // each sees the history of those before it
			goal := "Look around " + w.word(taint{})
			o := w.ask(w.message(goal), script{allow: w.random.IntN(2) == 0})
			asked += o.questions
		}
		silent += w.silent
		for _, key := range w.broken {
			t.Errorf("seed %d: ran unasked: %s", seed, key)
		}
		w.Stop()
	}
	t.Logf("%d calls of models that had read both ran unasked, %d questions", silent, asked)
	if silent == 0 || asked == 0 {
		t.Error("want calls that ran and calls that were asked about")
	}
}
