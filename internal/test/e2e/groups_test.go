package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
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
	p.says(p.ask("q3", `q3: silent lookup {"key":"why"}`), false, "value of why") // its server is ready now
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
		case step == llmfake.StepPlan && strings.HasPrefix(goal, "q3") && !holdsAll(r.System(), []string{"- silent: Tools: book, ", "- wordy: Knows things."}):
			t.Errorf("the planner's prompt lacks a group: %s", r.System())
		case step == llmfake.StepPlan && strings.Contains(r.System(), "Looks things up and books them."):
			t.Errorf("the server's own words are in the planner's system text: %s", r.System())
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

// paper is a PDF of one page with one line.
func paper(line string) []byte {
	page := "BT /F1 12 Tf 72 720 Td (" + line + ") Tj ET"
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(page), page),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
	}
	text, table := "%PDF-1.4\n", fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", len(text))
		text += fmt.Sprintf("%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	return fmt.Appendf(nil, "%s%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", text, table, len(objects)+1, len(text))
}

// built is an environment whose groups are servers that are part of legwork.
func built(t *testing.T, o orders, servers, groups string) *env {
	t.Helper()
	w := newEnv(t, options{think: o.think})
	w.desks(servers, groups)
	return w
}

// TestWeb: a page is read as Markdown and a PDF as text; addresses that are not
// public are refused, also by way of a redirect.
func TestWeb(t *testing.T) {
	t.Parallel()
	inner, inside := counting(t, "127.0.0.3:0", "the secrets of the house")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, "<html><head><title>Bread</title></head><body><nav>menu</nav><article><h1>Bread</h1><p>Bread is made of <b>flour</b> and water, and it takes an oven and some patience to become good.</p></article></body></html>")
		case "/paper":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = w.Write(paper("Bread rises slowly"))
		case "/trick":
			http.Redirect(w, r, inner, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	w := built(t, orders{}, "  web: {builtin: web, options: {allow_ranges: [127.0.0.1/32]}}\n  strict: {builtin: web}\n", "  web: {servers: [web]}\n  strict: {servers: [strict]}\n")
	p := w.start("chat", "--json")
	for i, c := range []struct{ group, url, want string }{
		{"web", site.URL + "/page", "**flour**"},
		{"web", site.URL + "/paper", "Bread rises slowly"},
		{"web", site.URL + "/trick", "127.0.0.3"},
		{"web", inner, "127.0.0.3"},
		{"web", "file:///etc/passwd", "http"},
		{"strict", site.URL + "/page", "127.0.0.1"},
		{"strict", "http://169.254.169.254/latest/meta-data/", "169.254.169.254"},
	} {
		id := fmt.Sprintf("q%d", i)
		answer := p.ask(id, fmt.Sprintf(`%s: %s fetch {"url":"%s"}`, id, c.group, c.url))
		p.says(answer, false, c.want)
		if strings.Contains(answer.Text, "root:") || strings.Contains(answer.Text, "secrets of the house") {
			t.Errorf("%s brought %q", c.url, answer.Text)
		}
	}
	p.end()
	if n := inside.Load(); n != 0 {
		t.Errorf("%d connections to an address that is not allowed, want none", n)
	}
}

// TestSearch: what an endpoint like SearXNG finds is shown, and its pages may be
// read without a question, for a search that the admin configured found them.
func TestSearch(t *testing.T) {
	t.Parallel()
	page, visits := counting(t, "127.0.0.1:0", "It rises in the oven.")
	searx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("q") != "bread" || r.FormValue("format") != "json" {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"query":"bread","number_of_results":1,"results":[{"url":%q,"title":"All about bread","content":"Flour and <b>water</b>.","engine":"fake"}]}`, page+"/bread")
	}))
	t.Cleanup(searx.Close)
	w := built(t, orders{words: map[string]string{"FOUND": page + "/bread"}},
		fmt.Sprintf("  search: {builtin: search, options: {url: %q}}\n  web: {builtin: web, options: {allow_ranges: [127.0.0.1/32]}}\n", searx.URL), "  web: {servers: [search, web]}\n")
	p := w.start("chat", "--json")
	p.says(p.ask("q1", `q1: web search {"query":"bread"} then fetch {"url":"FOUND"}`), false, "It rises in the oven.")
	p.end()
	if len(w.asked("All about bread")) == 0 || visits.Load() == 0 {
		t.Errorf("the model did not read what was found, or the page: %d visits", visits.Load())
	}
}

// TestFilesPerChat: each chat has files of its own, and what writes asks.
func TestFilesPerChat(t *testing.T) {
	t.Parallel()
	p := options{think: orders{}.think, more: "  files: {servers: [files]}\n"}
	b := newTelegramEnv(t, telegramOptions{options: p})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  files: {builtin: files, options: {root: \"workspace/{chat}\", write: true}}\n", 1))
	b.opens()
	b.Say(b.bob.ID, b.bob, `q1: files write {"path":"plan.txt","content":"buy bread"} then read {"path":"plan.txt"}`)
	card := b.asks(b.bob.ID, "write of the server files", "buy bread")
	b.taps(b.bob, b.bob.ID, card.ID, "Allow once")
	b.sees(b.bob.ID, "[q1]", "buy bread")
	b.Say(b.ann.ID, b.ann, `q2: files list {} and read {"path":"plan.txt"} and read {"path":"../telegram-2/plan.txt"}`)
	answer := b.sees(b.ann.ID, "[q2]", "The tools said")
	if strings.Contains(answer.Text, "buy bread") {
		t.Errorf("another chat's file was read: %q", answer.Text)
	}
	found, err := filepath.Glob(b.file("workspace/*/plan.txt"))
	if err != nil || len(found) != 1 {
		t.Errorf("the files are %q, %v; want one folder with the plan", found, err)
	}
}

// TestMemoryPerPerson: a note for a person comes up where they made it and in
// private, and for no one else; a note for a chat is everybody's there. It is kept
// without a question and shown below the answer.
func TestMemoryPerPerson(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: orders{}.think, more: "  memory: {servers: [memory]}\n"}})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  memory: {builtin: memory}\n", 1))
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob))
	for i, c := range []struct {
		chat       int64
		note, more string
	}{
		{b.bob.ID, "Bob likes plum cake", ""}, {group, "Bob brings lemon cake", ""}, {group, "We want apple cake", `,"scope":"chat"`},
	} {
		b.Say(c.chat, b.bob, fmt.Sprintf(`/task q%d: memory remember {"text":%q%s}`, i, c.note, c.more))
		b.sees(c.chat, fmt.Sprintf("[q%d]", i), b.says("answer.remembered", map[string]any{"Text": c.note}))
	}
	s.kill()
	b.opens()
	for i, c := range []struct {
		chat int64
		who  telegramfake.User
		want []string
	}{
		{b.bob.ID, b.bob, []string{"plum", "lemon"}}, {b.ann.ID, b.ann, nil}, {group, b.bob, []string{"lemon", "apple"}}, {group, b.ann, []string{"apple"}},
	} {
		id := fmt.Sprintf("r%d", i)
		b.Say(c.chat, c.who, "/task "+id+`: memory recall {"query":"cake"}`)
		answer := b.sees(c.chat, "["+id+"]")
		for _, kind := range []string{"plum", "lemon", "apple"} {
			if recalled := strings.Contains(answer.Text, kind+" cake"); recalled != slices.Contains(c.want, kind) {
				t.Errorf("%s in chat %d recalls %q, want %q", c.who.Name, c.chat, answer.Text, c.want)
			}
		}
	}
}

// prompting is an environment whose group desk has prompts.
func prompting() options { return options{serverArgs: ", -full", wait: patience, limit: patience} }

// TestPrompts: /prompt lists what servers offer, asks for what is missing, over a
// restart, and starts a task with what the server writes.
func TestPrompts(t *testing.T) {
	t.Parallel()
	p := prompting()
	p.more = "  broken: {description: Is down., servers: [gone], tool_timeout: 1s}\n"
	b := newTelegramEnv(t, telegramOptions{options: p})
	b.configure(strings.Replace(b.config, "servers:\n", "servers:\n  gone: {command: no-such-program}\n", 1))
	s := b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "/prompt")
	b.sees(chat, "desk/summarize text=… [style=…]: Summarizes a text.", "desk/greet: Greets.", b.says("prompts.missed", map[string]any{"Groups": "broken"}))

	b.Say(chat, b.bob, "/prompt greet")
	b.sees(chat, "answers: ")
	if len(b.asked("Say hello.")) == 0 {
		t.Error("the model was not given what the server wrote")
	}
	b.Say(chat, b.bob, "/prompt desk/summarize style=short")
	b.sees(chat, "text, for the prompt desk/summarize: What to summarize.")
	s.kill()
	b.opens()
	b.Say(chat, b.bob, "a story about bread")
	b.until("the prompt", func(telegramfake.View) bool { return len(b.asked("Summarize: a story about bread Style: short")) > 0 })
	b.passes()
	b.Say(chat, b.bob, "/prompt sumarize")
	b.sees(chat, "There is no prompt sumarize here. Did you mean desk/summarize?")
	b.Say(chat, b.bob, "/prompt summarize")
	b.Say(chat, b.bob, "/help") // ends it
	b.goesOn(b.bob)
	if len(b.asked("Summarize: later")) > 0 {
		t.Error("a question was taken for the argument of a prompt that was left off")
	}
}

// TestPromptsElsewhere: the same in a Slack thread and in the terminal.
func TestPromptsElsewhere(t *testing.T) {
	t.Parallel()
	t.Run("Slack", func(t *testing.T) {
		t.Parallel()
		o := newSlackEnv(t, slackOptions{options: prompting()})
		o.opens()
		o.slash("/legwork", "prompt", benDM, ben)
		o.sees(in(benDM), "desk/summarize text=…", "desk/greet")
		o.slash("/legwork", "prompt summarize", benDM, ben)
		o.sees(in(benDM), "for the prompt `desk/summarize`")
		o.Say(benDM, ben, "a story about bread", "")
		o.until("the prompt", func() bool { return len(o.asked("Summarize: a story about bread")) > 0 })
		o.sees(in(benDM), "answers: Summarize: a story about bread") // earlier messages reach it
		o.goesOn(ben)
	})
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		w := newEnv(t, prompting())
		s := w.sit("chat")
		s.sees("Type a question.")
		s.types("/prompt\r")
		s.sees("desk/summarize text=… [style=…]", "desk/greet")
		s.types("/prompt summarize\r")
		s.sees("for the prompt desk/summarize")
		s.types("a story about bread\r")
		s.sees("answers: ")
		if len(w.asked("Summarize: a story about bread")) == 0 {
			t.Error("the model was not given what the server wrote")
		}
	})
}

// TestPromptServerDown: a prompt whose server went away after the list costs a
// sentence.
func TestPromptServerDown(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: prompting()})
	url, stop := b.stoppable("-http", "127.0.0.1:0", "-full")
	b.serves(url, "")
	b.opens()
	chat := b.bob.ID
	b.Say(chat, b.bob, "/prompt summarize")
	b.sees(chat, "text, for the prompt desk/summarize")
	stop()
	b.Say(chat, b.bob, "a story about bread")
	b.sees(chat, b.says("problem.prompt", nil))
	b.goesOn(b.bob)
}
