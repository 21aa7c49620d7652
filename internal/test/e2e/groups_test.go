package e2e_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
)

// desks is a config with several tool servers, each with a log of its own, and a
// second model at the same endpoint.
func (w *env) desks(servers, groups string) {
	w.t.Helper()
	text := fmt.Sprintf("models:\n  main: {base_url: %q, api_key: sk-secret-e2e, model: fake}\n  small: {base_url: %q, api_key: sk-secret-e2e, model: small}\n", w.models.URL, w.models.URL)
	text += "servers:\n" + servers + "groups:\n" + groups
	log := regexp.MustCompile(`LOG\((\w+)\)`)
	text = log.ReplaceAllStringFunc(text, func(s string) string {
		return fmt.Sprintf("command: %q, args: [-log, %q", toolServer(w.t), w.file(log.FindStringSubmatch(s)[1]+".jsonl"))
	})
	w.configure(text)
}

// TestGroupsMatter: a group's rules reach the prompts of its own sub-tasks, and
// no others: whose tool is called, by which model, and with which words.
func TestGroupsMatter(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: orders{}.think})
	w.desks(`  one: {LOG(one)]}
  two: {LOG(two), -full]}
`, `  silent: {servers: [one], read_only: ["*"]}
  wordy: {description: Knows things., servers: [two], tools: [lookup], read_only: ["*"], instructions: Be brief like a telegram., prompt: two/greet, model: small}
`)
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: wordy lookup {"key":"where"}`), false, "value of where")
	p.says(p.ask("q2", `q2: silent lookup {"key":"who"}`), false, "value of who")
	p.end()
	for file, want := range map[string][2]int{"one.jsonl": {1, 0}, "two.jsonl": {0, 1}} {
		text := w.read(file)
		if got := [2]int{strings.Count(text, `"arguments":{"key":"who"}`), strings.Count(text, `"arguments":{"key":"where"}`)}; got[0] > 2*want[0] || got[1] > 2*want[1] || got[0]+got[1] == 0 {
			t.Errorf("%s holds %v of the calls of q2 and q1: %s", file, got, text)
		}
	}
	for _, r := range w.models.Requests() {
		step, _ := llmfake.StepOf(r)
		task, _ := r.Tagged("task")
		goal, _ := r.Tagged("goal")
		wordy := strings.HasPrefix(task, "q1")
		switch {
		case step == llmfake.StepPlan && strings.HasPrefix(goal, "q2") && !holdsAll(r.System(), []string{"- silent: Looks things up and books them.", "- wordy: Knows things."}):
			t.Errorf("the planner's prompt lacks a group: %s", r.System())
		case step == llmfake.StepWork && (r.Model == "small") != wordy:
			t.Errorf("the sub-task %q went to the model %s", task, r.Model)
		case step == llmfake.StepWork && (strings.Contains(r.System(), "Be brief like a telegram.") != wordy || strings.Contains(r.System(), "Say hello.") != wordy):
			t.Errorf("the sub-task %q has the wrong instructions: %s", task, r.System())
		}
	}
}

// TestGroupOfMany: of a group with hundreds of tools, the model gets a search and
// what it found, and calls that.
func TestGroupOfMany(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: orders{}.think})
	w.desks("  big: {LOG(big), -fault, many]}\n", `  big: {description: Does things., read_only: ["*"]}`+"\n")
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: big find_tools {"query":"the thing number 123"} then tool_123 {}`), false, "done")
	p.end()
	if calls := w.read("big.jsonl"); strings.Count(calls, `"event":"call"`) != 1 || !strings.Contains(calls, `"tool":"tool_123"`) {
		t.Errorf("the calls are %s, want one of tool_123", calls)
	}
	most, found := 0, false
	for _, r := range w.asked("q1: find_tools") {
		if _, working := r.Tagged("task"); !working {
			continue
		}
		most = max(most, len(r.Tools))
		found = found || slices.ContainsFunc(r.Tools, func(tool llmfake.Tool) bool { return strings.HasSuffix(tool.Name, "tool_123") })
	}
	if most == 0 || most > 20 || !found {
		t.Errorf("a prompt has up to %d tools, found the right one: %v; want a few with it", most, found)
	}
}

// TestGroupsAllowed: a group is there for the people and chats that it allows,
// narrowed down by the chat's own list; a plan that names it elsewhere fails.
func TestGroupsAllowed(t *testing.T) {
	t.Parallel()
	p := shopping(orders{}, "book")
	p.more = strings.Replace(p.more, "tools: [book]", `tools: [book], approve: never, allow: ["telegram:1", "telegram:-1000000000007"]`, 1)
	b := newTelegramEnv(t, telegramOptions{options: p})
	s := b.opens()
	allowed := b.group(b.Supergroup("Allowed", b.ann, b.bob))
	narrow := b.group(b.Supergroup("Narrow", b.ann, b.bob))
	b.changes(s, "telegram:-1000000000007", fmt.Sprintf("telegram:%d", allowed), "config reloaded")
	b.changes(s, "access: ", fmt.Sprintf("chats: {\"telegram:%d\": {groups: [safe]}}\naccess: ", narrow), "config reloaded")
	for i, c := range []struct {
		chat int64
		by   string
		may  bool
	}{{b.ann.ID, "ann", true}, {b.bob.ID, "bob", false}, {allowed, "bob", true}, {narrow, "ann", false}} {
		who := map[string]func(string){
			"ann": func(text string) { b.Say(c.chat, b.ann, text) }, "bob": func(text string) { b.Say(c.chat, b.bob, text) },
		}[c.by]
		item := fmt.Sprintf("thing %d", i)
		who(fmt.Sprintf(`/task q%d: shop book {"item":"%s"}`, i, item))
		if c.may {
			b.sees(c.chat, fmt.Sprintf("[q%d]", i), "booked "+item)
		} else {
			b.sees(c.chat, fmt.Sprintf("[q%d]", i)) // without a plan
			if n := len(b.asked("unknown group")); n == 0 {
				t.Errorf("%s in %d: the model was not told that the group is not there", c.by, c.chat)
			}
		}
		who("/groups")
		list := b.sees(c.chat, b.says("groups.intro", nil))
		if shown := strings.Contains(list.Text, "shop"); shown != c.may || !strings.Contains(list.Text, "safe") || strings.Contains(list.Text, "desk") == (c.chat == narrow) {
			t.Errorf("/groups of %s in %d reads %q", c.by, c.chat, list.Text)
		}
	}
	b.bought("thing 0", "thing 2")
}

// TestImportedServers: a file of another program that changes under a running
// daemon brings a server, which is in use with the next message.
func TestImportedServers(t *testing.T) {
	t.Parallel()
	p := shopping(orders{}, "book")
	p.more += "import_servers: [mcp.json]\n"
	b := newTelegramEnv(t, telegramOptions{options: p})
	file := func(text string) {
		if err := os.WriteFile(b.file("mcp.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file(`{"mcpServers": {}}`)
	s := b.opens()
	before := countLines(s.err.String(), []string{"config reloaded"})
	file(fmt.Sprintf(`{"mcpServers": {"Extra (new)": {"command": %q, "args": ["-log", %q], "autoApprove": ["*"]}}}`, toolServer(b.t), b.file("extra.jsonl")))
	s.until("that the file was read", func() bool { return countLines(s.err.String(), []string{"config reloaded"}) > before })
	b.Say(b.bob.ID, b.bob, `q1: Extra-new book {"item":"a kite"}`)
	card := b.asks(b.bob.ID, "book of the server Extra-new") // autoApprove means nothing here
	b.taps(b.bob, b.bob.ID, card.ID, "Allow once")
	b.sees(b.bob.ID, "[q1]", "booked a kite")
	if calls := b.read("extra.jsonl"); strings.Count(calls, `"event":"call"`) != 1 {
		t.Errorf("the imported server's log is %s, want one call", calls)
	}
}
