package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestStrictAboutAnswers: the state must come back byte by byte the same, also
// to another process, and an answer must fit its form.
func TestStrictAboutAnswers(t *testing.T) {
	able := strings.Replace(meta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
	ask := func(rest string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask_form","arguments":{},` + rest + able + `}}`
	}
	answer := func(state, content string) string {
		b, _ := json.Marshal(state)
		return ask(`"requestState":` + string(b) + `,"inputResponses":{"seat":{"action":"accept","content":` + content + `}},`)
	}
	first := start(t, "http", "-full", "-era", "modern")
	_, _, body, err := first.post(t, ask(""), nil)
	var asked struct{ Result mcp.CallToolResult }
	if err != nil || json.Unmarshal([]byte(body), &asked) != nil || asked.Result.RequestState == "" || asked.Result.ResultType != mcp.ResultTypeInputRequired {
		t.Fatalf("asking: got %q and %v, want input_required with a state", body, err)
	}
	state, good := asked.Result.RequestState, `{"class":"first","bags":1,"email":"ann@example.com"}`
	for name, c := range map[string]struct{ sent, want, violation string }{
		"good":         {answer(state, good), `ann@example.com`, ""},
		"trimmed":      {answer(strings.TrimSpace(state), good), "changed", "the state came back changed"},
		"no state":     {strings.Replace(answer(state, good), `"requestState"`, `"state"`, 1), "without the state", "answers without the state"},
		"no answer":    {strings.Replace(answer(state, good), `"seat":`, `"chair":`, 1), "no answer to seat", "no answer to seat"},
		"other class":  {answer(state, strings.Replace(good, "first", "roof", 1)), "does not fit", "class"},
		"text number":  {answer(state, strings.Replace(good, "1", `"1"`, 1)), "does not fit", "bags"},
		"too many":     {answer(state, strings.Replace(good, "1", "4", 1)), "does not fit", "bags"},
		"not a mail":   {answer(state, strings.Replace(good, "ann@", "ann at ", 1)), "does not fit", "email"},
		"nothing":      {answer(state, "{}"), "does not fit", "missing"},
		"no such deed": {strings.Replace(answer(state, good), `"accept"`, `"approve"`, 1), "the action", "approve"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "http", "-full", "-era", "modern")
			_, _, got, err := p.post(t, c.sent, nil)
			v := logged(t, p, "violation")
			if err != nil || !strings.Contains(got, c.want) {
				t.Errorf("got %q and %v, want %q", got, err, c.want)
			}
			if c.violation == "" && len(v) > 0 || c.violation != "" && (len(v) != 1 || !strings.Contains(v[0].Note, c.violation)) {
				t.Errorf("violations: got %+v, want %q", v, c.violation)
			}
		})
	}
}

// TestMutate: a client that listens hears of the change, or not.
func TestMutate(t *testing.T) {
	t.Parallel()
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
	for tool, want := range map[string]string{"mutate": "notifications/tools/list_changed", "grow": "notifications/tools/list_changed"} {
		p := start(t, "http", "-faults", "-era", "modern")
		resp, err := http.DefaultClient.Do(p.request(t.Context(), t, listen))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		e := events{bufio.NewReader(resp.Body)}
		if got, err := e.next(); err != nil || !strings.Contains(got, "acknowledged") {
			t.Fatalf("listening: got %q and %v", got, err)
		}
		if _, _, got, err := p.post(t, modernCall(tool, "{}"), nil); err != nil || !strings.Contains(got, "done") {
			t.Errorf("%s: got %q and %v", tool, got, err)
		}
		if got, err := e.next(); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: heard %q and %v, want %s", tool, got, err, want)
		}
	}
}

// TestAside: with -aside a question comes on the stream of the client's GET,
// as servers do that tie it to no call.
func TestAside(t *testing.T) {
	t.Parallel()
	p := start(t, "http", "-full", "-era", "legacy", "-aside")
	tr, err := transport.NewStreamableHTTP(p.url, transport.WithContinuousListening()) //nolint:staticcheck // of the legacy era, as the server
	if err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(tr, client.WithElicitationHandler(&people{}), client.WithProtocolVersion(mcp.LATEST_LEGACY_PROTOCOL_VERSION))
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := c.Initialize(t.Context(), mcp.InitializeRequest{Params: mcp.InitializeParams{ClientInfo: mcp.Implementation{Name: "test", Version: "1"}}}); err != nil {
		t.Fatal(err)
	}
	if got := call(t, c, "ask_form", nil); !strings.Contains(got, "ann@example.com") {
		t.Errorf("ask_form: got %s", got)
	}
}

// TestRetry: a call whose stream ends early is answered to who comes back.
func TestRetry(t *testing.T) {
	t.Parallel()
	p := start(t, "http", "-fault", "retry", "-era", "legacy")
	c := connect(t, p, "http", "legacy", &people{})
	if got := call(t, c, "lookup", map[string]any{"key": "k"}); !strings.Contains(got, "value of k") {
		t.Errorf("lookup: got %s", got)
	}
	if v := logged(t, p, "violation"); len(v) != 0 {
		t.Errorf("violations: got %+v, want none", v)
	}
}

// TestSignInFirst: the error that names an address to visit, in both eras.
func TestSignInFirst(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		p := start(t, "http", "-full", "-era", era)
		c := connect(t, p, "http", era, &people{})
		if got := call(t, c, "ask_first", nil); !strings.Contains(got, "https://shop.example.com/login?first=1") && !strings.Contains(got, "elicitation") {
			t.Errorf("%s: first call: got %s, want an error with the address", era, got)
		}
		if got := call(t, c, "ask_first", nil); !strings.Contains(got, "signed in") {
			t.Errorf("%s: second call: got %s, want it to pass", era, got)
		}
	}
}
