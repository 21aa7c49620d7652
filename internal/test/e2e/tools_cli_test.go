package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"legwork/i18n"
)

// bench is an environment without chats: a tool server that can do everything, and the
// group shop beside it, whose calls are all asked about.
func bench(t *testing.T, servers string, flags ...string) *env {
	t.Helper()
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	w := &env{t: t, dir: t.TempDir(), texts: texts}
	args, err := json.Marshal(append([]string{"-full", "-faults", "-log", w.file("calls.jsonl")}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	w.configure(fmt.Sprintf(`models: {main: {base_url: "http://127.0.0.1:1/v1", model: fake}}
servers:
  desk: {command: %q, args: %s}
%sgroups:
  desk: {description: Looks things up., read_only: [lookup], tool_timeout: 5s}
  shop: {description: Books things., servers: [desk], tools: [book], approve: always, tool_timeout: 5s}
`, toolServer(t), args, servers))
	return w
}

// listing is what tools list --json prints, as far as it is looked at.
type listing struct {
	Groups  []listed
	Servers []struct {
		Name, State, Protocol, Problem string
		Tools                          int
		Quarantined                    []string                   `json:"quarantined"`
		SignIn                         *struct{ Identity string } `json:"sign_in"`
	}
}

type listed struct {
	Name  string
	Tools []struct {
		Name        string
		Asks        bool
		Quarantined bool `json:"quarantined"`
		Schema      json.RawMessage
	}
}

func (w *env) listing(args ...string) (l listing, code int) {
	w.t.Helper()
	code, out, said := w.finish("", append([]string{"tools", "list", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &l); err != nil {
		w.t.Fatalf("%v: %q, %q", err, out, said)
	}
	return l, code
}

// TestToolsList: every group is listed with what its tools do and whether they
// ask; servers that cannot be used are said to be so in time, and hold up
// nothing else.
func TestToolsList(t *testing.T) {
	t.Parallel()
	w := bench(t, fmt.Sprintf("  clock: {builtin: clock}\n  mute: {command: %q, args: [-fault, mute]}\n  gone: {command: no-such-program}\n", toolServer(t)))
	from := time.Now()
	code, out, _ := w.finish("", "tools", "list", "--wait", "8s")
	if took := time.Since(from); code != 1 || took > patience {
		t.Errorf("got exit code %d after %v, want 1 within the wait and the time to stop servers", code, took)
	}
	for _, want := range []string{
		"desk: Looks things up.\n", "shop: Books things.\n", "clock: ",
		"\ndesk has resources: \"legwork tools call desk resources/list\" lists them.\n",
		"\n  summarize with text, style (optional): Summarizes a text.\n", `"legwork tools call desk prompts/get '{"name": "NAME"}'" shows one:`,
		"not answer within 8s", "--wait 2m", `"no-such-program"`, "install it, or write its full path",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the list lacks %q:\n%s", want, out)
		}
	}
	for _, words := range [][]string{
		{"desk.lookup", "reads", "runs", "Looks up a key."},
		{"desk.book", "may change", "asks"},
		{"clock.time_in", "reads", "runs"},
		{"desk ", "stdio", "2026-07-28", "ready"},
		{"mute ", "cannot be used"},
		{"gone ", "cannot be used"},
	} {
		if !hasLine(out, words...) {
			t.Errorf("the list lacks a line with %q:\n%s", words, out)
		}
	}
	l, code := w.listing("--wait", "8s")
	if code != 1 || len(l.Groups) != 5 || len(l.Servers) != 4 {
		t.Fatalf("got exit code %d, %+v; want 1, five groups and four servers", code, l)
	}
	shop := l.Groups[slices.IndexFunc(l.Groups, func(g listed) bool { return g.Name == "shop" })]
	if len(shop.Tools) != 1 || shop.Tools[0].Name != "desk.book" || !shop.Tools[0].Asks || !strings.Contains(string(shop.Tools[0].Schema), `"item"`) {
		t.Errorf("got the group shop %+v, want book, which asks, with its schema", shop)
	}
}

// TestToolsNotOffered: the list and the probe name the tools of a server that no
// model can use, with the reason, and a call of one says it too.
func TestToolsNotOffered(t *testing.T) {
	t.Parallel()
	w := bench(t, "", "-fault", "reserved")
	code, out, said := w.finish("", "tools", "list")
	if code != 0 || !hasLine(out, "desk.build", "not offered", "it runs only as a task of the protocol") || !hasLine(out, "desk.click", "not offered", "to its own app only") || !hasLine(out, "desk.draw", "may change", "asks") {
		t.Errorf("tools list: got exit code %d, %q and\n%s\nwant build and click with the reason, and draw like others", code, said, out)
	}
	_, out, said = w.finish("", "check", "--probe")
	if !strings.Contains(out, "desk: models do not get build: it runs only as a task of the protocol") || !strings.Contains(out, "desk: models do not get click: ") || strings.Contains(out, "do not get draw") {
		t.Errorf("check --probe: got %q and\n%s\nwant build and click with the reason", said, out)
	}
	if code, _, said := w.finish("", "tools", "call", "desk", "build", "--yes"); code != 1 || !strings.Contains(said, "desk.build cannot be called: it runs only as a task") {
		t.Errorf("tools call: got exit code %d and %q, want the reason", code, said)
	}
}

// TestToolsCall: the result goes to standard output, what goes wrong to standard
// error with a sentence that says what to do, and the exit code tells them apart.
func TestToolsCall(t *testing.T) {
	t.Parallel()
	w := bench(t, fmt.Sprintf("  clock: {builtin: clock}\n  mute: {command: %q, args: [-fault, mute]}\n", toolServer(t)))
	for name, c := range map[string]struct {
		args  []string
		stdin string
		code  int
		out   string // all of it
		said  string // in standard error
	}{
		"a tool that reads":           {args: []string{"desk", "lookup", `{"key": "x"}`}, out: "value of x\n"},
		"arguments from a pipe":       {args: []string{"desk", "lookup", "-"}, stdin: "{\"key\":\n\"piped\"}", out: "value of piped\n"},
		"no arguments":                {args: []string{"desk", "pid", "--yes", "--group", "desk"}, out: "*"},
		"an approval given":           {args: []string{"desk", "book", `{"item": "a boat"}`, "--yes"}, out: "booked a boat\n"},
		"an approval not given":       {args: []string{"desk", "book", `{"item": "a plane"}`}, code: 1, said: "--yes"},
		"a failure of the tool":       {args: []string{"desk", "fail", "--yes"}, code: 1, said: "the shop is closed"},
		"progress":                    {args: []string{"desk", "steps", `{"n": 2, "ms": 10}`, "--yes"}, out: "took 2 steps\n", said: "2 of 2"},
		"death in mid-call":           {args: []string{"desk", "die", "--yes"}, code: 1, said: "stopped during the call"},
		"an unknown server":           {args: []string{"dsk", "lookup"}, code: 1, said: `the nearest one is "desk"`},
		"an unknown tool":             {args: []string{"desk", "lokup"}, code: 1, said: `the nearest one is "lookup"`},
		"an unknown group":            {args: []string{"desk", "lookup", "--group", "dsk"}, code: 1, said: "it is in desk, shop"},
		"a tool of another group":     {args: []string{"desk", "lookup", "--group", "shop"}, code: 1, said: "offered: book"},
		"arguments that are none":     {args: []string{"desk", "lookup", `[1]`}, code: 2, said: "not a JSON object"},
		"arguments cut off":           {args: []string{"desk", "lookup", `{"key": `}, code: 2, said: "unexpected end"},
		"arguments that misfit":       {args: []string{"desk", "lookup", `{"kee": 1}`}, code: 1, said: "missing property 'key'"},
		"no server at all":            {args: []string{"mute", "x", "--wait", "1s"}, code: 1, said: "did not answer within 1s"},
		"too long a wait":             {args: []string{"desk", "lookup", "--wait", "1h"}, code: 2, said: "1s to 10m"},
		"resources":                   {args: []string{"desk", "resources/list", `{"filter": "today"}`}, out: "note://today: today (text/plain). A note: today.\n"},
		"a resource":                  {args: []string{"desk", "resources/read", `{"uri": "note://letter.txt"}`}, out: "Grüße aus Rom.\n"},
		"prompts":                     {args: []string{"desk", "prompts/list"}, out: "greet: Greets.\nsummarize with text, style (optional): Summarizes a text.\n"},
		"a prompt":                    {args: []string{"desk", "prompts/get", `{"name": "summarize", "arguments": {"text": "War and Peace"}}`}, out: "Summarize: War and Peace\n"},
		"an unknown prompt":           {args: []string{"desk", "prompts/get", `{"name": "gret"}`}, code: 1, said: `has no prompt "gret", the nearest one is "greet"; it has greet, summarize`},
		"a prompt without its text":   {args: []string{"desk", "prompts/get", `{"name": "summarize"}`}, code: 1, said: `it needs the argument "text"`},
		"no prompt named":             {args: []string{"desk", "prompts/get"}, code: 1, said: `such as '{"name": "greet", `},
		"a server without prompts":    {args: []string{"clock", "prompts/list"}, code: 1, said: `the server "clock" has no prompts`},
		"a server without resources":  {args: []string{"clock", "resources/list"}, code: 1, said: `the server "clock" has no resources`},
		"a question without a person": {args: []string{"desk", "ask_form", "--yes"}, out: "[{\"action\":\"decline\"}]\n", said: "Which seat would you like?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, said := w.finish(c.stdin, append([]string{"tools", "call"}, c.args...)...)
			if code != c.code || c.out != "*" && out != c.out || !strings.Contains(said, c.said) {
				t.Errorf("got exit code %d, %q, %q; want %d, %q, %q", code, out, said, c.code, c.out, c.said)
			}
		})
	}
	t.Cleanup(func() {
		if calls := strings.Join(w.calls("book"), ""); strings.Count(calls, "\n") != 1 || strings.Contains(calls, "plane") {
			t.Errorf("book was called as %q, want once, for the boat", calls)
		}
	})
}

// TestToolsCallAtATerminal: a person reads JSON on several lines; a program gets the
// result as the tool wrote it.
func TestToolsCallAtATerminal(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	call := []string{"tools", "call", "desk", "strange", `{"id": "abc"}`, "--yes"}
	s := w.sit(call...)
	s.sees(`  "id": "abc"`)
	s.exit(0)
	if code, out, said := w.finish("", call...); code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, `"abc"`) {
		t.Errorf("in a pipe: got exit code %d, %q, %q; want one line", code, out, said)
	}
}

// TestToolsCallImages: images become files, and no file is replaced.
func TestToolsCallImages(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	for range 2 {
		if code, _, said := w.finish("", "tools", "call", "desk", "picture", "--yes", "--out", "pictures/new"); code != 0 || !strings.Contains(said, "Saved: pictures/new/desk.picture-") {
			t.Fatalf("got exit code %d, %q; want a saved picture", code, said)
		}
	}
	for _, name := range []string{"desk.picture-1.png", "desk.picture-2.png"} {
		data, err := os.ReadFile(filepath.Join(w.dir, "pictures", "new", name))
		if err != nil || http.DetectContentType(data) != "image/png" {
			t.Errorf("%s: got %.20q, %v; want a PNG", name, data, err)
		}
	}
	if code, _, said := w.finish("", "tools", "call", "desk", "picture", "--yes"); code != 0 || !strings.Contains(said, "--out DIR saves them") {
		t.Errorf("got exit code %d, %q; want a hint at --out", code, said)
	}
}

// TestToolsAccept: a tool that its server has changed is quarantined from people
// at the command line too, until one has seen the difference and agreed:
// without a running process, and beside one.
func TestToolsAccept(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: uses("lookup", `{"key": "x"}`)})
	honest := w.config
	p := w.start("chat", "--json")
	p.says(p.ask("q", "first: a question"), false, "value of x")
	p.end()
	w.configure(strings.Replace(honest, "args: [-faults", "args: [-fault, lies, -faults", 1))

	l, _ := w.listing()
	if held := l.Servers[0].Quarantined; !slices.Contains(held, "lookup") || !slices.Contains(held, "book") {
		t.Fatalf("quarantined are %q, want all that the server changed", held)
	}
	for _, g := range l.Groups {
		if len(g.Tools) != 1 || !g.Tools[0].Quarantined || g.Tools[0].Name != "desk.lookup" {
			t.Errorf("got the group %+v, want lookup quarantined", g)
		}
	}
	if code, _, said := w.finish("", "tools", "call", "desk", "lookup", `{"key": "x"}`); code != 1 || !strings.Contains(said, "legwork tools accept desk.lookup") {
		t.Errorf("calling it: got exit code %d, %q; want what to do", code, said)
	}
	if code, out, _ := w.finish("", "check", "--probe"); code != 0 || !strings.Contains(out, "quarantined, because the server changed them: ") {
		t.Errorf("the probe: got exit code %d, %q; want to be told", code, out)
	}
	if code, _, said := w.finish("", "tools", "accept", "desk.lookup"); code != 1 || !strings.Contains(said, "there is no terminal") {
		t.Errorf("accepting in a pipe: got exit code %d, %q", code, said)
	}
	p = w.start("chat", "--json")
	p.notice("The server `desk` changed the annotations of its tool `book`.") // the command has not told it in their place
	p.end()
	s := w.sit("tools", "accept", "desk.lookup")
	s.sees("Use desk.lookup as it is now? [y/N]", `+  "destructiveHint": false`)
	s.types("y\r")
	s.sees("Accepted: desk.lookup")
	s.exit(0)
	if code, out, said := w.finish("", "tools", "call", "desk", "lookup", `{"key": "y"}`); code != 0 || out != "value of y\n" {
		t.Errorf("calling it: got exit code %d, %q, %q; want its result", code, out, said)
	}

	w.configure(honest) // is a change once more
	p = w.start("chat", "--json")
	p.says(p.ask("q2", "first: another question"), false, `there is no tool "lookup" here`)
	if code, _, said := w.finish("", "tools", "accept", "desk.lokup", "--yes"); code != 1 || !strings.Contains(said, "quarantined: desk.lookup") {
		t.Errorf("accepting what is not quarantined: got exit code %d, %q", code, said)
	}
	if code, out, said := w.finish("", "tools", "accept", "desk.lookup", "--yes"); code != 1 || strings.Contains(out, "Accepted") || !strings.Contains(said, "--code CODE") {
		t.Fatalf("accepting beside a process without its code: got exit code %d, %q, %q", code, out, said)
	}
	p.notice("Somebody accepts the change of `desk.lookup`")
	if code, out, said := w.finish("", "tools", "accept", "desk.lookup", "--yes", "--code", "AAAAAAAAAA"); code != 1 || strings.Contains(out, "Accepted") || !strings.Contains(said, "the code is wrong") {
		t.Fatalf("accepting with a wrong code: got exit code %d, %q, %q", code, out, said)
	}
	if code, out, said := w.finish("", "tools", "accept", "desk.lookup", "--yes", "--code", acceptCode(t, p)); code != 0 || !strings.Contains(out, "Accepted: desk.lookup") {
		t.Fatalf("accepting beside a process: got exit code %d, %q, %q", code, out, said)
	}
	p.says(p.ask("q3", "first: the question again"), false, "value of x")
	p.end()
}

// acceptCode is the code for accepting a tool that a process has written on its
// standard output.
func acceptCode(t *testing.T, p *program) string {
	t.Helper()
	found := regexp.MustCompile(`type the code\s+([A-Z2-7]{10})\s+there`).FindAllStringSubmatch(p.out.String(), -1)
	if len(found) != 1 {
		t.Fatalf("legwork showed %d codes, want 1: %s", len(found), p.out.String())
	}
	return found[0][1]
}

// TestToolsAcceptBesideServe: beside legwork serve, a program of the same user reaches the
// socket and a chat that attaches. These accept no tool without the code, which is in the
// terminal of serve alone.
func TestToolsAcceptBesideServe(t *testing.T) {
	t.Parallel()
	o := changing()
	o.more = fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s]}\n", tokenLine("ops", "operator"))
	w := newEnv(t, o)
	w.serves(w.remote("-http", "127.0.0.1:0", "-faults"), "")
	s := w.serve()
	chat := w.sit("chat")
	chat.types(`q1: desk lookup {"key":"one"} then mutate {}` + "\r")
	chat.sees("[q1]", "done")
	var id []string
	s.until("the change in the log", func() bool {
		id = regexp.MustCompile(`definition changed" tool=desk\.lookup change=([0-9a-f]{16})`).FindStringSubmatch(s.err.String())
		return id != nil
	})
	chat.types("/approvals accept " + id[1] + "\r")
	chat.sees("accepting takes a code here")

	first := w.sit("tools", "accept", "desk.lookup")
	first.sees("Use desk.lookup as it is now? [y/N]")
	first.types("y\r")
	first.sees("Code:")
	first.types("AAAAAAAAAA\r")
	first.sees("the code is wrong")
	first.exit(1)
	second := w.sit("tools", "accept", "desk.lookup")
	second.sees("Use desk.lookup as it is now? [y/N]")
	second.types("y\r")
	second.sees("Code:")
	code := acceptCode(t, s.program) // shown once
	if strings.Contains(chat.text(), code) || strings.Contains(first.text()+second.text(), code) || strings.Contains(s.err.String(), code) {
		t.Error("the code is in an attached terminal or in the log")
	}
	second.types(strings.ToLower(code) + "\r")
	second.sees("Accepted: desk.lookup")
	second.exit(0)
	chat.types("/approvals accept " + id[1] + "\r")
	chat.sees("There is no")
}

// TestMCP: the built-in servers are servers like any other on standard input and
// output, and end with it and on a signal.
func TestMCP(t *testing.T) {
	t.Parallel()
	w := bench(t, fmt.Sprintf("  sums: {command: %[1]q, args: [mcp, math]}\n  papers: {command: %[1]q, args: [mcp, files, --options, '{\"root\": \"papers\", \"write\": true}']}\n", legwork(t)))
	if code, out, said := w.finish("", "tools", "call", "sums", "calculate", `{"expression": "6*7"}`, "--yes"); code != 0 || out != "42\n" {
		t.Errorf("calculating: got exit code %d, %q, %q; want 42", code, out, said)
	}
	if code, _, said := w.finish("", "tools", "call", "papers", "write", `{"path": "a.txt", "content": "hello"}`, "--yes"); code != 0 {
		t.Errorf("writing: got exit code %d, %q", code, said)
	}
	if text, err := os.ReadFile(w.file("papers/a.txt")); err != nil || string(text) != "hello" {
		t.Errorf("the file holds %q, %v; want hello", text, err)
	}
	for name, c := range map[string]struct {
		args []string
		said string
	}{
		"an unknown server":     {[]string{"clok"}, `the nearest one is "clock"`},
		"options that are none": {[]string{"math", "--options", "[]"}, "not a JSON object"},
		"an unknown option":     {[]string{"files", "--options", `{"rot": "x"}`}, "the nearest known one is root"},
		"a missing option":      {[]string{"search"}, "url is missing"},
	} {
		if code, out, said := w.finish("", append([]string{"mcp"}, c.args...)...); code != 2 || out != "" || !strings.Contains(said, c.said) {
			t.Errorf("%s: got exit code %d, %q, %q; want 2 and %q", name, code, out, said, c.said)
		}
	}
	p := w.start("mcp", "clock")
	p.write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}}` + "\n")
	p.until("a greeting", func() bool { return strings.Contains(p.out.String(), `"legwork-clock"`) })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.code(); code != 0 {
		t.Errorf("the exit code after SIGTERM is %d, want 0", code)
	}
}

// TestProbeMute: a server that takes connections and says nothing is told from
// one that refuses them, and from one that wants to know who calls.
func TestProbeMute(t *testing.T) {
	t.Parallel()
	quiet, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	w := bench(t, fmt.Sprintf("  quiet: {url: \"http://%s/mcp\"}\n  closed: {url: \"http://127.0.0.1:1/mcp\"}\n", quiet.Addr()))
	code, out, _ := w.finish("", "check", "--probe", "--wait", "2s")
	if code != 1 || !hasLine(out, "quiet", "did not answer within 2s", "check its url") || !hasLine(out, "closed", "connection refused", "check its url") {
		t.Errorf("got exit code %d,\n%s\nwant both told apart", code, out)
	}
	// A server that works gets the usual time: a busy machine needs more than two seconds.
	_, out, _ = bench(t, "").finish("", "check", "--probe")
	if !hasLine(out, "desk", "2026-07-28", "ok") || !hasLine(out, "desk: these ask for approval: ", "book") {
		t.Errorf("got\n%s\nwant what the server speaks and which of its tools ask", out)
	}
}

// exit waits for the end and checks the exit code.
func (s *terminalEnv) exit(want int) {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("legwork did not end in %v", patience)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != want {
		s.t.Errorf("exit code: got %d, want %d; the screen is\n%s", code, want, s.text())
	}
}

// TestToolsCallInTerminal: a person sees the whole call and decides; what cannot
// be seen is written out.
func TestToolsCallInTerminal(t *testing.T) {
	t.Parallel()
	w := bench(t, "")
	s := w.sit("tools", "call", "desk", "book", `{"item": "a \u202etaob", "item2": "\u001b[2J"}`)
	s.sees("desk.book", `"item": "a \u202etaob"`, `"item2": "\u001b[2J"`, "Call it? [y/N]")
	s.types("\r")
	s.exit(1)
	s.sees("you did not approve it")
	if calls := w.calls("book"); len(calls) > 0 {
		t.Fatalf("a call that was not approved was made: %q", calls)
	}
	s = w.sit("tools", "call", "desk", "book", `{"item": "a boat"}`)
	s.sees("Call it? [y/N]")
	s.types("y\r")
	s.sees("booked a boat")
	s.exit(0)
	s = w.sit("tools", "call", "desk", "book", `{"item": "a boat"}`)
	s.sees("Call it? [y/N]")
	s.types("\x03")
	s.exit(1)
	s.sees("interrupted; it was not called")
	if calls := w.calls("book"); len(calls) != 1 {
		t.Errorf("got the calls %q, want one", calls)
	}
}

// TestQuestionsInTerminal: a server's form is asked for field by field, its
// address is shown in full, and both can be declined, in every era.
func TestQuestionsInTerminal(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := bench(t, "", "-era", era)
			s := w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees(`The server "desk" asks:`, "Which seat would you like?", "Class (1 of 5)", "2. Business")
			s.types("9\r")
			s.sees(w.text("form.bad_choice", nil))
			for _, step := range [][2]string{{"Class (1 of 5)", "2"}, {"Window seat (2 of 5)", "no"}, {"Bags (3 of 5)", "1"}, {"E-mail (4 of 5)", "a@example.com"}, {"Note (5 of 5)", ""}} {
				s.sees(step[0])
				s.types(step[1] + "\r")
			}
			s.exit(0)
			told := []string{`"action": "accept"`, `"class": "business"`, `"window": false`, `"bags": 1`, `"email": "a@example.com"`}
			s.until(fmt.Sprintf("that the server was told %q", told), func(screen string) bool {
				return holdsAll(strings.ReplaceAll(screen, "\n", ""), told)
			})
			s = w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees("Class (1 of 5)")
			s.types("!\r")
			s.exit(0)
			s.sees(`"action": "decline"`)
			s = w.sit("tools", "call", "desk", "ask_form", "--yes")
			s.sees("Class (1 of 5)")
			s.types("\x04")
			s.exit(0)
			s.sees(`"action": "cancel"`)
			s = w.sit("tools", "call", "desk", "ask_url", "--yes")
			s.sees("https://shop.example.com/login?next=%2Fpay&id=7#top", "on the host shop.example.com", "[y/N]")
			s.types("y\r")
			s.exit(0)
			s.sees(`"action": "accept"`)
		})
	}
}
