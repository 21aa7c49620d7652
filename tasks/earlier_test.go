package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tools"
)

// reads is a model whose sub-tasks call read_result with these arguments, in one
// turn, where their question says "read", and look something up otherwise. Its plan for
// such a question names the earlier results that its prompt lists.
func reads(arguments func(r llm.Request) []string) func(llm.Request) (llm.Reply, bool) {
	return func(r llm.Request) (llm.Reply, bool) {
		if r.Role == llm.RolePlan && strings.HasPrefix(goalOf(r), "read") {
			task, err := json.Marshal("look up " + goalOf(r) + "\n" + strings.Join(listed(r), ", "))
			return llm.Reply{Text: fmt.Sprintf(`First %s. {"plan":[{"name":"look","description":%s},{"name":"look","description":%[2]s}]}`, goalOf(r), task)}, err == nil
		}
		turn := slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == llm.ToolRole })
		if r.Role != llm.RoleWork || turn || !strings.Contains(text(r), "look up read") {
			return looksUp(r)
		}
		reply := llm.Reply{Thinking: "I want to read."}
		for i, a := range arguments(r) {
			reply.ToolCalls = append(reply.ToolCalls, llm.ToolCall{ID: fmt.Sprintf("c%d", i), Name: planner.ToolReadResult, Arguments: a})
		}
		return reply, true
	}
}

// listed returns the references that a prompt lists, the newest first.
func listed(r llm.Request) []string {
	var list []string
	for line := range strings.Lines(between(text(r), "by their reference", "</data>")) {
		if ref, _, ok := strings.Cut(line, " · "); ok {
			list = append(list, ref)
		}
	}
	return list
}

func earlierCall(ref string, offset int) string {
	return fmt.Sprintf(`{"earlier": %q, "offset": %d}`, ref, offset)
}

// results returns the results that the model of the task's first sub-task got for
// its calls.
func (m *memoryEnv) results(goal string) []string {
	m.t.Helper()
	var list []string
	for _, r := range m.model.Requests(llm.RoleWork) {
		if !strings.Contains(text(r), "<task>\nlook up "+goal+"\n") {
			continue
		}
		for _, msg := range r.Messages {
			if msg.Role == llm.ToolRole {
				list = append(list, msg.Content)
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	m.t.Fatalf("no sub-task of %q has read anything", goal)
	return nil
}

// TestEarlierResultsAreRead: prompts list the results of earlier tasks of the chat,
// read_result reads them in parts, and a missing result is refused.
func TestEarlierResultsAreRead(t *testing.T) {
	m := newMemoryEnv(t, tasks.PromptRules{})
	m.tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Repeatable: true, Trusted: true} }
	me := private("ann")
	long := strings.Repeat("я0123456789", 3000) // 36,000 bytes
	var refs []string
	m.work = reads(func(r llm.Request) []string {
		refs = listed(r)
		return []string{earlierCall(refs[0], 0), earlierCall(strings.ToLower(refs[0]), 16_385), earlierCall(refs[0], 1<<20), earlierCall("ZZZZZZ/1/a", 0)}
	})
	work := m.work
	m.work = func(r llm.Request) (llm.Reply, bool) {
		reply, ok := work(r)
		if strings.HasPrefix(reply.Text, "result of look up first") {
			reply.Text = long
		}
		return reply, ok
	}
	m.asks("ann", me, "first")
	id := m.asks("ann", me, "read one")
	if len(refs) != 2 || !strings.HasSuffix(refs[0], "/1/a") || refs[0] == refs[1] {
		t.Fatalf("the prompt lists %q, want the two results of the first task", refs)
	}
	got := m.results("read one")
	parts := []string{between(got[0], "<data>\n", "\n</data>"), between(got[1], "<data>\n", "\n</data>")}
	if len(got) != 4 || !strings.HasPrefix(long, parts[0]) || len(parts[0]) < 16_000 || !strings.Contains(got[0], fmt.Sprintf("%s and offset %d", refs[0], len(parts[0]))) {
		t.Errorf("the first part has %d bytes: %.100q … %q", len(parts[0]), got[0], got[0][len(got[0])-200:])
	}
	if len(parts[1]) < 16_000 || !strings.Contains(long, parts[1]) {
		t.Errorf("the second part is not of the result: %.60q", parts[1])
	}
	if !strings.Contains(got[2], "36000 bytes, and nothing at offset 1048576") || !strings.Contains(got[3], `no earlier result "ZZZZZZ/1/a"`) {
		t.Errorf("a missing result is read as %q and %q", got[2], got[3])
	}
	if s := m.state(id); s.Tainted != 0 || s.Reads != 4 { // two of each of its sub-tasks
		t.Errorf("tainted by %d after %d reads, want an untainted task after 4", s.Tainted, s.Reads)
	}
	plans := m.model.Requests(llm.RolePlan)
	if last := text(plans[len(plans)-1]); !strings.Contains(last, refs[0]+" · look · 36000 · look up first") {
		t.Errorf("the planner does not read about %s: %q", refs[0], last)
	}
}

// TestEarlierResultsOfOthersTaint: a task is tainted when it reads results of
// somebody else's task, or results with texts of outsiders.
func TestEarlierResultsOfOthersTaint(t *testing.T) {
	for _, c := range []struct {
		name, first, second string
		chat                bot.Chat
		outsiders, want     bool
	}{
		{"own", "ann", "ann", room("hall"), false, false},
		{"another person's", "bob", "ann", room("hall"), false, true},
		{"with a page", "ann", "ann", private("ann"), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemoryEnv(t, tasks.PromptRules{})
			m.tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Repeatable: true, Trusted: !c.outsiders} }
			m.work = reads(func(r llm.Request) []string { return []string{earlierCall(listed(r)[0], 0)} })
			m.asks(c.first, c.chat, "first")
			s := m.state(m.asks(c.second, c.chat, "read one"))
			if (s.Tainted > 0) != c.want {
				t.Errorf("tainted by event %d, want it tainted: %v", s.Tainted, c.want)
			}
		})
	}
}

// TestEarlierResultsAreForgotten: after /new and /forget prompts list no result, and
// a remembered reference is refused.
func TestEarlierResultsAreForgotten(t *testing.T) {
	for _, command := range []string{"/new", "/forget yes"} {
		m := newMemoryEnv(t, tasks.PromptRules{})
		me := private("ann")
		var refs []string
		m.work = reads(func(r llm.Request) []string {
			if got := listed(r); len(got) > 0 {
				refs = got
			}
			return []string{earlierCall(refs[0], 0)}
		})
		m.asks("ann", me, "first")
		m.asks("ann", me, "read one")
		m.say("ann", me, command)
		m.asks("ann", me, "read two")
		if got := m.results("read two"); !strings.Contains(got[0], "no earlier result") {
			t.Errorf("after %s a model reads %q", command, got)
		}
		all := m.model.Requests("")
		if last := text(all[len(all)-1]); strings.Contains(last, refs[0]) {
			t.Errorf("after %s a prompt lists %s", command, refs[0])
		}
	}
}

// TestThoughtsAreKept: the text that models write beside plans and calls is in the
// journal and in Details, and in no answer.
func TestThoughtsAreKept(t *testing.T) {
	m := newMemoryEnv(t, tasks.PromptRules{})
	m.work = reads(func(llm.Request) []string { return []string{`{"result": 1}`} })
	id := m.asks("ann", private("ann"), "read it")
	v := tasks.NewView(m.store, id)
	if err := v.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	details := cards.Details(v, m.texts, "en")
	for _, want := range []string{"First read it", "I want to read"} {
		if !strings.Contains(details, want) {
			t.Errorf("details are %q, want in them %q", details, want)
		}
	}
	for _, p := range m.phone.posts {
		if strings.Contains(p.Text, "First read it") || strings.Contains(p.Text, "I want to read") {
			t.Errorf("a thought is posted: %+v", p)
		}
	}
}

// TestNothingIsMixedBetweenChats: no prompt holds a word of another conversation, in
// private chats, groups and their threads, whatever tasks ask, plan, find, note,
// read and summarise.
func TestNothingIsMixedBetweenChats(t *testing.T) {
	thread := func(id string) bot.Chat { c := room("hall"); c.Thread = id; return c }
	chats := []bot.Chat{private("ann"), private("bob"), room("hall"), thread("1"), thread("2")}
	names := []string{"annie", "bobby", "halls", "first", "second"}
	var known []string // references of all chats
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := newMemoryEnv(t, tasks.PromptRules{HistoryBytes: 400})
		m.tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Repeatable: true} }
		m.tools.Make = func(_ context.Context, _, arguments string) (tools.Result, error) {
			return tools.Result{Text: "found " + arguments}, nil
		}
		m.work = func(r llm.Request) (llm.Reply, bool) {
			word := strings.Join(canaries(goalOf(r)+between(text(r), "<task>\n", "\n</task>")), " ")
			known = append(known, listed(r)...)
			if r.Role != llm.RoleWork || slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Role == llm.ToolRole }) {
				return looksUp(r)
			}
			calls := []llm.ToolCall{
				{ID: "c1", Name: "look", Arguments: fmt.Sprintf(`{"q": %q}`, word)},
				{ID: "c2", Name: planner.ToolUpdateState, Arguments: fmt.Sprintf(`{"values": {"note": %q}}`, word)},
			}
			for i, ref := range known[max(0, len(known)-8):] { // also of other chats
				calls = append(calls, llm.ToolCall{ID: fmt.Sprintf("r%d", i), Name: planner.ToolReadResult, Arguments: earlierCall(ref, 0)})
			}
			return llm.Reply{Text: "thinking of " + word, ToolCalls: calls}, true
		}
		for n := range 12 {
			i := random.IntN(len(chats))
			person := chats[i].ID
			if !chats[i].Private {
				person = []string{"ann", "bob"}[random.IntN(2)]
			}
			m.asks(person, chats[i], fmt.Sprintf("/task %s-%d %s", names[i], n, strings.Repeat("words ", 5)))
		}
		for _, r := range m.model.Requests("") {
			if of := conversations(text(r), names); len(of) > 1 {
				t.Fatalf("seed %d: a prompt of %s holds words of %v:\n%s", seed, r.Role, of, text(r))
			}
		}
		if err := m.model.Invalid(); err != nil {
			t.Fatal(err)
		}
	}
}

// conversations are the names among those that begin canaries of a text.
func conversations(s string, names []string) []string {
	var list []string
	for _, c := range canaries(s) {
		if name, _, _ := strings.Cut(c, "-"); slices.Contains(names, name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
