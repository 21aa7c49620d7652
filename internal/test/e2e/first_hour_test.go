package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/searchfake"
	"legwork/internal/test/need"
)

// firstHour is a new user's first hour. It runs each command and writes the page.
type firstHour struct {
	*env
	search *searchfake.Server
	page   strings.Builder
}

// TestFirstHour: docs/first-hour.md shows what legwork prints. Each command of the
// page is run, and each answer is typed in a terminal.
func TestFirstHour(t *testing.T) {
	t.Parallel()
	h := newFirstHour(t)
	h.write("# The first hour\n\nThis page goes from a fresh clone to a bot that searches the web, asks before it writes a file, and has a config that you change yourself. The blocks show what you type after `$` and `>`, and what legwork prints. Lines of progress are left out. A test runs every command of this page and compares the page with what it sees; in the test, small programs play the model and the search provider.")

	h.section("Build it", "You need Go 1.26. In the clone, `go build -o legwork ./cmd/legwork` makes the program. Put it into a folder of your `PATH`. The offline demo shows that it works; it needs no keys.")
	h.run(0, "demo", "What is 17*23?")

	h.section("Configure it", "`legwork init` asks for the model, the platforms and the search, and tries each answer. Here the endpoint is on the same machine. Telegram and Slack can wait.")
	h.init()
	h.write("legwork has written a short config. The keys are in `.env`, which only you can read:")
	h.file("config.yaml")
	h.write("`legwork check --probe` calls everything once:")
	h.run(0, "check", "--probe")

	h.section("Search the web", "Ask a question that needs the web. legwork makes a plan, searches, and answers with its source:")
	h.run(0, "chat", "When did Go 1.26 come out?")

	h.section("Add a tool server", "Any MCP server works. This one reads and writes files in one folder. Add these lines at the end of `config.yaml`, where the servers are:")
	h.adds(`  notes: {command: npx, args: [-y, "@modelcontextprotocol/server-filesystem", notes]}

groups:
  notes:
    description: Reads and writes the notes of this project.
    servers: [notes]
    tools: [list_directory, read_text_file, write_file]
    read_only: [list_directory, read_text_file]
`)
	if err := os.Mkdir(h.env.file("notes"), 0o700); err != nil {
		t.Fatal(err)
	}
	h.write("Make the folder with `mkdir notes`. `legwork tools list` starts each server and shows which tools ask before they run:")
	h.run(0, "tools", "list")

	h.section("Approve a call", "A tool that can change something runs only after you have seen the call. Type the number of your decision:")
	h.approve("Save that as go.md")
	h.write("The file is there:")
	h.shell("cat notes/go.md", h.read("notes/go.md"))
	if got, want := h.read("notes/go.md"), release+"\n"; got != want {
		t.Errorf("the note holds %q, want %q", got, want)
	}

	h.section("Mend a mistake", "legwork does not start with a mistake in the config. Suppose that you wrote `modl` for `model`, `Berlin` for `Europe/Berlin`, and `note` for `notes`. `legwork check` prints each mistake with its line and column, and says what to write:")
	whole := h.read("config.yaml")
	h.replaces(strings.NewReplacer(`    model: "big"`, `    modl: "big"`, "servers: [notes]", "servers: [note]", `timezone: "Europe/Berlin"`, `timezone: "Berlin"`).Replace(whole))
	h.run(1, "check")
	h.write("Correct these lines, and check again:")
	h.replaces(whole)
	h.run(0, "check")

	h.section("Go on", "`legwork chat` without a question opens a chat. [telegram.md](telegram.md) and [slack.md](slack.md) connect the platforms, [models.md](models.md) helps to choose a model, [tools.md](tools.md) explains servers, groups and approvals, and [troubleshooting.md](troubleshooting.md) starts from what you see.")
	h.compare("docs/first-hour.md")
}

// What the model and the search provider of the page know.
const (
	release     = "Go 1.26 came out in February 2026."
	releasePage = "https://go.dev/doc/go1.26"
)

// newFirstHour makes an empty folder, a model and a search provider. npx runs the
// pinned file server.
func newFirstHour(t *testing.T) *firstHour {
	t.Helper()
	server := need.NPM(t, "mcp-server-filesystem")
	h := &firstHour{env: &env{t: t, dir: t.TempDir()}}
	h.models = llmfake.New(t, llmfake.Options{Key: "sk-secret-e2e", Models: []string{"big"}, Respond: steps{plan: h.plan, review: h.review, work: h.work}.think})
	h.search = searchfake.New(t, "brave", searchfake.Result{Title: "Go 1.26 Release Notes", Address: releasePage, Snippet: release})
	bin := t.TempDir()
	npx := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2\" = '-y @modelcontextprotocol/server-filesystem' ] || exit 1\nshift 2\nexec %q \"$@\"\n", server)
	if err := os.WriteFile(filepath.Join(bin, "npx"), []byte(npx), 0o700); err != nil {
		t.Fatal(err)
	}
	h.vars = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "TZ=Europe/Berlin", "NO_COLOR=1"}
	return h
}

// plan gives the question to the search, or to the notes when they are there.
func (h *firstHour) plan(r llmfake.Request) llmfake.Response {
	if goal, _ := r.Tagged("goal"); strings.HasPrefix(goal, "Save") {
		return llmfake.Call("plan", `{"plan": [{"name": "notes", "description": "Write the release date into go.md"}]}`)
	}
	return llmfake.Call("plan", `{"plan": [{"name": "search", "description": "Find the release date of Go 1.26"}]}`)
}

func (h *firstHour) review(llmfake.Request) llmfake.Response {
	return llmfake.Call("plan", `{"plan": []}`)
}

func (h *firstHour) work(r llmfake.Request) llmfake.Response {
	said, called := toolResult(r)
	task, _ := r.Tagged("task")
	switch writing := strings.Contains(task, "go.md"); {
	case called && writing && strings.Contains(said, "Successfully wrote"):
		return llmfake.Say("I wrote the date into `go.md`.")
	case called && strings.Contains(said, release):
		return llmfake.Say("Go 1.26 came out in **February 2026**, say its [release notes](" + releasePage + ").")
	case called:
		return llmfake.Say("The tool said: " + said)
	case writing:
		return llmfake.Call(r.Tools[slices.IndexFunc(r.Tools, func(t llmfake.Tool) bool { return strings.HasSuffix(t.Name, "write_file") })].Name,
			fmt.Sprintf(`{"path": "go.md", "content": %q}`, release+"\n"))
	}
	return llmfake.Call(r.Tools[0].Name, `{"query": "Go 1.26 release date"}`)
}

func (h *firstHour) write(text string) { h.page.WriteString(text + "\n\n") }

func (h *firstHour) section(title, text string) { h.write("## " + title + "\n" + text) }

// block writes a command with its output.
func (h *firstHour) block(language, text string) {
	h.write("```" + language + "\n" + strings.TrimRight(text, "\n") + "\n```")
}

// sits runs a command in a terminal of 80 columns with room for all that it prints.
func (h *firstHour) sits(args ...string) *terminalEnv {
	h.t.Helper()
	return h.sitAt(80, 200, args...)
}

// run runs a command to its end.
func (h *firstHour) run(code int, args ...string) {
	h.t.Helper()
	s := h.sits(args...)
	s.ends(code)
	<-s.shown
	h.shell(commandLine(args), s.text())
}

// commandLine is how a person types a command.
func commandLine(args []string) string {
	line := "legwork"
	for _, arg := range args {
		if strings.ContainsAny(arg, " *?") {
			arg = `"` + arg + `"`
		}
		line += " " + arg
	}
	return line
}

// shell writes a command line with its output.
func (h *firstHour) shell(command, output string) { h.block("", "$ "+command+"\n"+output) }

// init answers the questions of legwork init.
func (h *firstHour) init() {
	h.t.Helper()
	s := h.sits("init", "--search-api", h.search.URL)
	for _, one := range []struct{ question, answer string }{
		{"Language of", ""},
		{"Language model:", h.models.URL},
		{"API key of the model", "sk-secret-e2e"},
		{"Model: a number", ""},
		{"Telegram:", ""},
		{"Slack:", ""},
		{"Web search:", "brave"},
		{"API key of Brave", searchfake.Key},
		{"Default time zone", ""},
		{"Daily budget", ""},
		{"API token", ""},
	} {
		s.until(one.question+" with a prompt", func(screen string) bool {
			_, below, asked := strings.Cut(screen, one.question)
			return asked && strings.HasSuffix(below, "\n>")
		})
		s.types(one.answer + "\r")
	}
	s.ends(0)
	<-s.shown
	h.shell("legwork init", s.text())
}

// approve asks a question whose call is approved.
func (h *firstHour) approve(question string) {
	h.t.Helper()
	s := h.sits("chat", question)
	s.sees("5) Always in this chat")
	s.types("1\r")
	s.ends(0)
	<-s.shown
	h.shell(commandLine([]string{"chat", question}), s.text())
}

// file shows a file of the folder.
func (h *firstHour) file(name string) { h.block("yaml", h.read(name)) }

// adds writes lines to the end of the config file.
func (h *firstHour) adds(lines string) {
	h.t.Helper()
	h.block("yaml", lines)
	h.replaces(h.read("config.yaml") + lines)
}

// replaces writes the config file.
func (h *firstHour) replaces(config string) {
	h.t.Helper()
	if err := os.WriteFile(h.env.file("config.yaml"), []byte(config), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// normal replaces what differs from run to run: addresses, folders, the person's
// name, dates, round trips in a column of ten characters, durations and counts of
// tokens. It leaves out the search provider's address, which is the test's, and lines of progress, which depend on how fast the machine is.
func (h *firstHour) normal(page string) string {
	page = strings.NewReplacer(h.models.URL, "http://127.0.0.1:8000/v1", h.search.URL, "https://api.search.brave.com", h.dir, "~/bot").Replace(page)
	for _, one := range []struct{ pattern, instead string }{
		{`(?m)^(…|▶|✓|\?|✗) (\d+/\w+ \w+.*|\pL+)\n`, ""},
		{`(?m)^  \d+/\w+ \w+: .*\n`, ""},
		{`, base_url: "https://api.search.brave.com"`, ""}, // as init writes it without --search-api
		{`For \w+: `, "For ann: "},
		{`by \w+, \d\d:\d\d\.`, "by ann, 09:31."},
		{`Expires on \w+, [\d-]+ [\d:]+`, "Expires on Friday, 2026-11-27 09:30"},
		{`\b\d[\d.]*(µs|ms|s) +ok`, "12ms        ok"},
		{`· (\d+ min )?\d+(\.\d)? s ·`, "· 0.2 s ·"},
		{`\b[\d.]+k? tokens\b`, "2.1k tokens"},
	} {
		page = regexp.MustCompile(one.pattern).ReplaceAllString(page, one.instead)
	}
	return page
}

// compare compares the page with a file, or writes it.
func (h *firstHour) compare(path string) {
	h.t.Helper()
	path = filepath.Join(need.Root(h.t), path)
	got := h.normal(strings.TrimRight(h.page.String(), "\n") + "\n")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			h.t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		h.t.Errorf("docs/first-hour.md (-want +got); go test ./internal/test/e2e -run TestFirstHour -update writes it:\n%s", diff)
	}
}
