package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/test/watch"
)

// speak sends lines to a fake on stdio, closes its input once it has answered
// the requests among them, and returns what it wrote. Lines in one string are
// sent before the first of them is answered.
func (p place) speak(t *testing.T, lines ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.cmd[0], p.cmd[1:]...)
	cmd.Env = append(os.Environ(), "MCPSERVER_TEST=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	answers := bufio.NewReader(out)
	for _, line := range lines {
		_, _ = io.WriteString(in, line+"\n")
		first, _, _ := strings.Cut(line, "\n")
		if m := readMessage([]byte(first)); m.isRequest() || m.wrong != "" && m.Method != "" {
			answer := "debug"
			for strings.HasPrefix(answer, "debug") { // such lines answer nothing
				answer, _ = answers.ReadString('\n')
				all.WriteString(answer)
			}
		}
	}
	_ = in.Close()
	rest, _ := io.ReadAll(answers)
	all.Write(rest)
	_ = cmd.Wait()
	return all.String()
}

// post sends a message with the headers that belong to it, changed as wanted,
// and returns what came, of a long body the first 101 MiB.
func (p place) post(t *testing.T, body string, change func(http.Header)) (status int, header http.Header, answer string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(p.patience, watch.Patience))
	defer cancel()
	r := p.request(ctx, t, body)
	if change != nil {
		change(r.Header)
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 101<<20))
	return resp.StatusCode, resp.Header, string(b), err
}

func (p place) request(ctx context.Context, t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	m := readMessage([]byte(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", m.Method)
	if name, ok := mcp.ExtractHeaderName(mcp.MCPMethod(m.Method), m.Params); ok {
		r.Header.Set("Mcp-Name", name)
	}
	return r
}

// greet begins a session of the legacy era and returns its id.
func (p place) greet(t *testing.T) string {
	t.Helper()
	session := ""
	for _, body := range []string{greeting, ready} {
		status, header, answer, err := p.post(t, body, func(h http.Header) {
			h.Del("Mcp-Protocol-Version")
			if session != "" {
				h.Set("Mcp-Session-Id", session)
				h.Set("Mcp-Protocol-Version", "2025-11-25")
			}
		})
		if err != nil || status >= 300 {
			t.Fatalf("sending %s: got %d %q and %v", body, status, answer, err)
		}
		if session == "" {
			session = header.Get("Mcp-Session-Id")
		}
	}
	return session
}

// events reads the events of a stream one by one: the data of each.
type events struct{ r *bufio.Reader }

func (e events) next() (string, error) {
	var data bytes.Buffer
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			return "", err
		}
		if d, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data: "); ok {
			data.WriteString(d)
		} else if strings.TrimSpace(line) == "" && data.Len() > 0 {
			return data.String(), nil
		}
	}
}

// listen opens the stream of -sse and greets; send posts a message to it.
func (p place) listen(t *testing.T) (e events, send func(string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	e = events{bufio.NewReader(resp.Body)}
	path, err := e.next()
	if err != nil {
		t.Fatalf("reading the endpoint: %v", err)
	}
	to := place{url: strings.TrimSuffix(p.url, "/sse") + path}
	send = func(body string) {
		t.Helper()
		if status, _, answer, err := to.post(t, body, nil); err != nil || status != http.StatusAccepted {
			t.Fatalf("sending %s: got %d %q and %v, want 202", body, status, answer, err)
		}
	}
	send(greeting)
	if answer, err := e.next(); err != nil || !strings.Contains(answer, `"protocolVersion"`) {
		t.Fatalf("greeting: got %q and %v", answer, err)
	}
	send(ready)
	return e, send
}

// TestAskOnSSE: on HTTP+SSE the question comes on the stream, and the answer
// by a request of its own.
func TestAskOnSSE(t *testing.T) {
	t.Parallel()
	p := start(t, "sse", "-full")
	e, send := p.listen(t)
	// The greeting of listen declared no elicitation.
	send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_form","arguments":{}}}`)
	if answer, err := e.next(); err != nil || !strings.Contains(answer, "cannot ask people") {
		t.Errorf("ask_form without the capability: got %q and %v, want a failed call", answer, err)
	}
	send(strings.NewReplacer(`"id":1`, `"id":3`, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`).Replace(greeting))
	if _, err := e.next(); err != nil {
		t.Fatal(err)
	}
	send(ready)
	send(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"ask_form","arguments":{}}}`)
	question, err := e.next()
	var q struct {
		ID     json.RawMessage
		Method string
		Params mcp.ElicitationParams
	}
	if json.Unmarshal([]byte(question), &q) != nil || q.Method != "elicitation/create" || q.Params.RequestedSchema == nil {
		t.Fatalf("question: got %q and %v, want elicitation/create", question, err)
	}
	send(`{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":{"action":"accept","content":{"class":"first","bags":1,"email":"ann@example.com"}}}`)
	if answer, err := e.next(); err != nil || !strings.Contains(answer, `ann@example.com`) {
		t.Errorf("ask_form: got %q and %v, want what was answered", answer, err)
	}
	if v := logged(t, p, "violation"); len(v) != 0 {
		t.Errorf("violations: got %+v, want none", v)
	}
}
