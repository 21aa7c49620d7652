package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const (
	meta     = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	ready    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	list     = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
)

// modernCall is a call of a tool in the modern era; args may be "".
func modernCall(tool, args string) string {
	if args != "" {
		args = `"arguments":` + args + `,`
	}
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `",` + args + meta + `}}`
}

// TestViolations: what breaks the protocol is refused with an error and logged,
// and what does not is neither.
func TestViolations(t *testing.T) {
	for name, c := range map[string]struct {
		era  string
		sent []string
		want string // in the note of the violation; "" for none
	}{
		"modern":                {"both", []string{modernCall("lookup", `{"key":"k"}`)}, ""},
		"modern, no arguments":  {"both", []string{modernCall("lookup", "")}, ""},
		"legacy":                {"both", []string{greeting, ready, list}, ""},
		"modern probe of old":   {"legacy", []string{modernCall("lookup", `{}`)}, ""},
		"legacy probe of new":   {"modern", []string{greeting}, ""},
		"cancel":                {"both", []string{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`}, ""},
		"no JSON":               {"both", []string{`{"jsonrpc"`}, "not a JSON-RPC message"},
		"batch":                 {"both", []string{`[` + list + `]`}, "not a JSON-RPC message"},
		"version 1":             {"both", []string{`{"id":1,"method":"ping"}`}, "jsonrpc is"},
		"id null":               {"both", []string{`{"jsonrpc":"2.0","id":null,"method":"ping"}`}, "neither a string nor an integer"},
		"id 1.5":                {"both", []string{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`}, "neither a string nor an integer"},
		"params array":          {"both", []string{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`}, "params is not an object"},
		"neither":               {"both", []string{`{"jsonrpc":"2.0","id":1}`}, "neither a request nor an answer"},
		"both":                  {"both", []string{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`}, "a result and an error"},
		"arguments null":        {"both", []string{modernCall("lookup", `null`)}, "arguments is not an object: null"},
		"arguments array":       {"both", []string{modernCall("lookup", `[]`)}, "arguments is not an object"},
		"no name":               {"both", []string{modernCall("", `{}`)}, "without a name"},
		"no meta":               {"modern", []string{list}, "_meta has no io.modelcontextprotocol/protocolVersion"},
		"no capabilities":       {"both", []string{`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`}, "_meta has no io.modelcontextprotocol/clientCapabilities"},
		"modern initialize":     {"both", []string{strings.Replace(greeting, `"params":{`, `"params":{`+meta+`,`, 1)}, "has no such method"},
		"before initialize":     {"both", []string{list}, "before initialize"},
		"before initialized":    {"both", []string{greeting, list}, "before notifications/initialized"},
		"initialize, no client": {"both", []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`}, "clientInfo"},
		"id used again":         {"both", []string{greeting, ready, list, list}, "the id was used before: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "stdio", "-era", c.era)
			answers := p.speak(t, c.sent...)
			v := logged(t, p, "violation")
			switch {
			case c.want == "" && len(v) > 0:
				t.Errorf("violations of %q: got %+v, want none", c.sent, v)
			case c.want != "" && (len(v) != 1 || !strings.Contains(v[0].Note, c.want)):
				t.Errorf("violations of %q: got %+v, want one with %q", c.sent, v, c.want)
			case c.want != "" && !strings.Contains(answers, `"error"`):
				t.Errorf("answers to %q: got %q, want an error", c.sent, answers)
			}
		})
	}
}

// TestHTTPViolations is about headers.
func TestHTTPViolations(t *testing.T) {
	t.Parallel()
	p := start(t, "http")
	sent := 0
	for name, c := range map[string]struct {
		body   string
		change func(http.Header)
		status int
		want   string
	}{
		"good":            {modernCall("lookup", `{"key":"k"}`), func(http.Header) {}, 200, ""},
		"no accept":       {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Del("Accept") }, 400, "header Accept"},
		"JSON alone":      {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Set("Accept", "application/json") }, 400, "header Accept"},
		"content type":    {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Set("Content-Type", "text/plain") }, 400, "header Content-Type"},
		"no version":      {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Del("Mcp-Protocol-Version") }, 400, "header Mcp-Protocol-Version is \"\""},
		"other method":    {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Set("Mcp-Method", "tools/list") }, 400, "header Mcp-Method"},
		"other name":      {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Set("Mcp-Name", "book") }, 400, "header Mcp-Name"},
		"session":         {modernCall("lookup", `{"key":"k"}`), func(h http.Header) { h.Set("Mcp-Session-Id", "x") }, 400, "without sessions"},
		"no session":      {list, func(h http.Header) { h.Del("Mcp-Protocol-Version") }, 400, "before initialize: no Mcp-Session-Id"},
		"foreign session": {list, func(h http.Header) { h.Set("Mcp-Session-Id", "mine"); h.Del("Mcp-Protocol-Version") }, 404, "a session that no server gave"},
		"lost session":    {list, func(h http.Header) { h.Set("Mcp-Session-Id", "fake-LOST"); h.Del("Mcp-Protocol-Version") }, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body, err := p.post(t, c.body, c.change)
			v := logged(t, p, "violation")
			if c.want != "" {
				sent++
			}
			if err != nil || status != c.status || len(v) != sent || c.want != "" && !strings.Contains(v[sent-1].Note, c.want) {
				t.Errorf("got %d %q, %v and violations %+v; want %d and %q", status, body, err, v, c.status, c.want)
			}
		})
	}
}

// TestSessions: a session that the server forgot is refused with 404, which is
// no violation, and a new one begins.
func TestSessions(t *testing.T) {
	t.Parallel()
	p := start(t, "http", "-fault", "session", "-after", "1", "-era", "legacy")
	old := ""
	for range 2 {
		session := p.greet(t)
		if session == old || session == "" {
			t.Fatalf("session: got %q after %q, want another one", session, old)
		}
		old = session
		in := func(h http.Header) {
			h.Set("Mcp-Session-Id", session)
			h.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		for i, want := range []int{200, 404, 404} {
			body := strings.Replace(`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"lookup","arguments":{"key":"k"}}}`, "N", string(rune('2'+i)), 1)
			if status, _, answer, err := p.post(t, body, in); status != want || err != nil {
				t.Errorf("call %d of session %s: got %d %q and %v, want %d", i, session, status, answer, err, want)
			}
		}
	}
	if v := logged(t, p, "violation"); len(v) != 0 {
		t.Errorf("violations: got %+v, want none", v)
	}
}

// FuzzMessage: whatever a client sends, it is judged without a panic, and a
// refusal is JSON.
func FuzzMessage(f *testing.F) {
	for _, s := range []string{greeting, ready, list, modernCall("lookup", "null"), `{"jsonrpc":"2.0","id":{},"result":null}`, `[]`, "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g := newGate(options{era: "both"}, nil)
		x := &exchange{message: readMessage(b), raw: b}
		if r := g.admit(x); r != nil {
			if m := r.message(validID(x.ID)); !json.Valid([]byte(m)) {
				t.Errorf("the refusal of %q is %q, want JSON", b, m)
			}
		} else if x.wrong != "" {
			t.Errorf("admitted %q, in which %s", b, x.wrong)
		}
	})
}
