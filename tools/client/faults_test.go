package client_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools/client"
)

var update = flag.Bool("update", false, "rewrite the table of faults in docs/tools.md")

// fault is one way in which a server misbehaves in a call, and what happens.
type fault struct {
	name    string // of the fake's tool
	on      string // transports, "" for all
	server  string // what the server does, for the docs
	happens string // its effect, for the docs

	failed, unknown bool
	want            []string // one of them is in the text
}

const (
	givenUp = "did not answer within 400ms"
	lost    = "stopped during the call"
)

func callFaults() []fault {
	return []fault{
		{"die", "", "ends during a call", "The result says that the outcome is unknown; a local server is started again, a remote one is reached again when it is back.", true, true, []string{lost, "EOF", "reset"}},
		{"hang", "", "never answers one call", "The call is given up at its time limit and cancelled at the server; others go on.", true, true, []string{givenUp}},
		{"half", "", "stops in the middle of an answer", "The call is given up at its time limit; a local server, which could answer nothing else, is started again.", true, true, []string{givenUp}},
		{"drip", "", "sends an answer byte by byte", "The same.", true, true, []string{givenUp}},
		{"late", "", "answers after the cancellation", "The late answer is dropped.", true, true, []string{givenUp}},
		{"ignore", "", "ignores the cancellation", "The caller continues at once.", true, true, []string{givenUp}},
		{"garbage", "", "answers with something other than JSON", "The result says so; where answers share a stream, the call is given up at its time limit.", true, true, []string{givenUp, "not JSON-RPC", "answer ended before"}},
		{"noise", "stdio", "prints debugging lines among its messages", "They are ignored, and logged once.", false, false, []string{"done"}},
		{"unasked", "stdio sse", "sends unknown answers and requests", "legwork drops or refuses them.", false, false, []string{"done"}},
		{"twice", "", "answers twice", "The second answer is dropped.", false, false, []string{"done"}},
		{"wrong-id", "", "answers to another id", "The answer is dropped.", true, true, []string{givenUp, "in place of", "answer ended before"}},
		{"bare", "", "answers {} without an id", "The answer is dropped.", true, true, []string{givenUp, "names no request", "answer ended before"}},
		{"empty", "", "answers with the result {}", "The model reads that the tool returned nothing.", false, false, []string{"returned nothing"}},
		{"null", "", "answers with the result null", "The same.", false, false, []string{"returned nothing"}},
		{"error", "", "answers with an error", "The model reads the error.", true, false, []string{"the shop burnt down"}},
		{"rant", "", "answers with an error of a megabyte", "The model reads that it was too large.", true, false, []string{"too large"}},
		{"huge", "", "answers with 100 MiB of text", "The first megabyte is kept; at most 8 MiB of memory are needed for it.", false, false, []string{"xxxxxxxx"}},
		{"pieces", "", "answers with half a million texts", "The model reads that it was too large.", true, false, []string{"too large"}},
		{"flood", "", "writes without end", "The server is cut off after 128 MiB of one message.", true, true, []string{givenUp, lost, "message that is too long"}},
		{"binary", "", "answers with bytes that are not text", "They are replaced by \uFFFD.", false, false, []string{"a\uFFFD\uFFFDbc"}},
		{"odd", "", "answers with content of every kind", "Each is shown, or described; the unknown is named.", false, false, []string{`[content of type "hologram", not shown]`}},
		{"bad-image", "", "answers with images that cannot be read", "They are described and not shown.", false, false, []string{"not shown: it cannot be read"}},
		{"links", "", "links to strange addresses", "They are shown and never followed; the server's own resources can be read through it.", false, false, []string{"file:///etc/passwd"}},
		{"structured", "", "answers with structured output that it did not announce", "It is shown as JSON.", false, false, []string{`{"answer":42}`}},
		{"violate", "", "breaks the schema of its own output", "The result is shown with a sentence that says so, and the log names it.", false, false, []string{"does not fit the form of results"}},
		{"unstructured", "", "leaves out the structured output that it announced", "The same.", false, false, []string{"it has no structured part"}},
		{"401", "http sse", "requires authentication", "The call was not carried out; the reason names the headers in the config.", true, false, []string{"set its headers in the config"}},
		{"403", "http sse", "forbids one call", "The same.", true, false, []string{"does not allow this"}},
		{"404", "http sse", "answers 404 to one call", "In a session: a new one is made and the call made once more; then it was not carried out.", true, false, []string{"was not carried out"}},
		{"429", "http sse", "limits the rate of calls", "The call waits as long as the server asks for, and is made again until its time limit; then it was not carried out.", true, false, []string{"429"}},
		{"500", "http sse", "fails with 500", "The result says that the outcome is unknown.", true, true, []string{"500"}},
		{"502", "http sse", "is behind a proxy that cannot reach it", "The same.", true, true, []string{"502"}},
		{"503", "http sse", "is in maintenance", "As with 429.", true, false, []string{"503"}},
		{"html", "http", "answers with a web page", "The result says that its address may be wrong.", true, true, []string{"text/html"}},
		{"type", "http", "answers with another type of content", "The same.", true, true, []string{"text/plain"}},
		{"nothing", "http", "answers with an empty body", "The result says that the outcome is unknown.", true, true, []string{"answered with nothing"}},
		{"accepted", "http", "takes the request and answers nothing", "The same.", true, true, []string{"sent no answer"}},
		{"cut", "http sse", "breaks the stream in the middle of the answer", "The same; HTTP+SSE connects again.", true, true, []string{"answer ended before", lost}},
		{"end", "http", "ends the stream before the answer", "The same.", true, true, []string{"answer ended before"}},
		{"bomb", "http", "packs 1 GiB into a megabyte", "Unpacking stops after 128 MiB.", true, true, []string{"message that is too long", givenUp}},
		{"redirect", "http sse", "redirects to another host", "It is not followed: the headers are for the configured host. The other is named.", true, false, []string{"another host, http://127.0.0.2:1"}},
		{"redirect-file", "http sse", "redirects to a file", "It is not followed.", true, false, []string{"another host"}},
		{"redirect-loop", "http sse", "redirects in a circle", "It is followed three times.", true, false, []string{"in a circle"}},
	}
}

// TestFaults: a server that misbehaves in a call costs that call only.
func TestFaults(t *testing.T) {
	for _, f := range callFaults() {
		for _, w := range []struct {
			by   string
			args []string
		}{{stdio, nil}, {http, nil}, {http, []string{"-stream"}}, {http, []string{"-era", "legacy"}}, {sse, nil}} {
			heavy := slices.Contains([]string{"huge", "pieces", "flood", "bomb"}, f.name)
			if f.on != "" && !slices.Contains(strings.Fields(f.on), w.by) || heavy && len(w.args) > 0 || heavy && !need.All() {
				continue
			}
			t.Run(strings.Join(append([]string{f.name, w.by}, w.args...), " "), func(t *testing.T) {
				t.Parallel()
				checkFault(t, f, w.by, w.args)
			})
		}
	}
}

func checkFault(t *testing.T, f fault, by string, args []string) {
	t.Helper()
	s := waitReady(t, start(t, fake(t, by, append([]string{"-faults", "-full"}, args...)...)))
	from, limit := time.Now(), 2*time.Minute // a busy machine takes its time for 100 MiB
	switch {
	case f.name == "429" || f.name == "503": // time for the second try, not for a third
		limit = 2 * time.Second
	case strings.Contains(strings.Join(f.want, ""), givenUp):
		limit = 400 * time.Millisecond
	}
	r := call(t, s, f.name, `{"ms":5000}`, within(limit))
	if took := time.Since(from); took > limit+watch.Patience {
		t.Errorf("the call took %v, and its limit is %v", took, limit)
	}
	if r.Failed != f.failed || r.Unknown != f.unknown || !slices.ContainsFunc(f.want, func(w string) bool { return strings.Contains(r.Text, w) }) {
		t.Errorf("got failed %v, unknown %v, %.500q; want %v, %v, one of %q", r.Failed, r.Unknown, r.Text, f.failed, f.unknown, f.want)
	}
	if f.name == "die" && by != stdio {
		return // nothing brings it back
	}
	if f.name == "flood" && by != http {
		checkRestart(t, s)
	}
	wantText(t, "lookup afterwards", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
}

// checkRestart waits until a server that was cut off can be called again.
func checkRestart(t *testing.T, s *client.Server) {
	t.Helper()
	for late := time.Now().Add(5 * time.Minute); time.Now().Before(late); {
		if r, _ := try(t, s, "lookup", `{"key":"k"}`, within(time.Second)); r.Text == "value of k" {
			return
		}
	}
	t.Error("the server was not back within 5 minutes")
}

// startFault is one way in which a server misbehaves before or beside its calls;
// test is where it is looked at.
type startFault struct{ server, happens, test string }

func startFaults() []startFault {
	return []startFault{
		{"cannot be started, or ends at once", "It is down, and its status has the end of its error output. legwork tries it again with growing pauses of at most a minute; calls fail at once.", "TestBadStarts"},
		{"ends on the modern greeting", "It is started again with the older one, which is remembered.", "TestBadStarts"},
		{"is silent on the modern greeting", "After 5 s, once, the older one is tried.", "TestBadStarts"},
		{"answers {} to the modern greeting", "legwork treats it as a server of an older revision.", "TestBadStarts"},
		{"never answers, or never reads", "Calls wait within their own time limit.", "TestBadStarts"},
		{"takes long to start", "legwork and the other servers start without waiting for it; calls to it wait within their time limit.", "TestOneHangs"},
		{"floods its error output", "A hundred lines in ten seconds are logged.", "TestBadStarts"},
		{"leaves children behind", "Its process group is killed with it, also when legwork is.", "tools.TestGrandchildren"},
		{"does not end when it is asked to", "It is killed.", "TestBadStarts"},
		{"stops reading during a call", "Calls use up their time limit, then it is started again.", "tools.TestDeaf"},
		{"refuses the token", "It is down, and its status says which headers to set.", "TestToken"},
		{"cannot be reached", "It is down; legwork uses it as soon as it can be reached.", "TestComesBack"},
		{"restarts and forgets its sessions", "legwork makes a new session; a call that was refused because of the old one is made once more.", "TestLostSession"},
		{"refuses the protocol revision of a request", "legwork sends the request again with a revision that the server lists; if that needs a new connection, it makes one first.", "TestRevisionRefused"},
		{"is replaced by a server of another revision", "legwork uses that revision, within a minute.", "TestServerUpdated"},
		{"supports no revision of legwork's", "It is down, and its status names the revisions of both.", "TestNoCommonRevision"},
		{"hangs between calls", "legwork checks it in two ways within a minute, then connects again.", "TestHealth"},
		{"changes its tools", "legwork lists them again, within a second when the server announces the change.", "TestListChanges"},
		{"changes its tools without announcing it", "legwork lists them again every ten minutes; a call that was approved before the change is refused.", "TestQuietChange"},
		{"lists tools without end", "A hundred pages or 8 MiB are read, 1000 tools kept.", "TestOddTools"},
		{"offers tools whose names look the same", "The second is not offered; `tools list` and `check --probe` give the reason.", "TestNamesThatLookTheSame"},
		{"offers tools that models cannot use", "They are not offered; `tools list` and `check --probe` give the reason.", "TestOddTools"},
		{"offers tools that cannot be used", "They are left out, and the log has the reason; the others stay.", "TestOddTools"},
		{"repeats a secret of its config in an error", "It is masked.", "TestSecrets"},
		{"asks a question that cannot be shown", "It is declined.", "TestQuestionsThatAreNone"},
	}
}

// TestTableOfFaults keeps docs/tools.md in step with the tests.
func TestTableOfFaults(t *testing.T) {
	const path, head, tail = "../../docs/tools.md", "<!-- faults -->\n", "<!-- end of faults -->"
	var b strings.Builder
	b.WriteString("| A server that | result | test |\n| --- | --- | --- |\n")
	for _, f := range startFaults() {
		fmt.Fprintf(&b, "| %s | %s | `%s` |\n", f.server, f.happens, f.test)
	}
	b.WriteString("\n| A call of a server that | result | on | test |\n| --- | --- | --- | --- |\n")
	for _, f := range callFaults() {
		on := map[string]string{"": "all", stdio: "stdio", http: "HTTP", "http sse": "HTTP, SSE", "stdio sse": "stdio, SSE"}[f.on]
		fmt.Fprintf(&b, "| %s | %s | %s | `TestFaults/%s` |\n", f.server, f.happens, on, f.name)
	}
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(doc), head)
	got, after, ok2 := strings.Cut(rest, tail)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", path, head, tail)
	}
	if *update {
		if err := os.WriteFile(path, []byte(before+head+b.String()+tail+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != b.String() {
		t.Errorf("%s is not up to date; run go test ./tools/client -update. Got\n%s\nwant\n%s", path, got, b.String())
	}
}
