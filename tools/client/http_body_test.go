package client

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// bodyText reads a response as the library sees it.
func bodyText(t testing.TB, text string, events bool, want string) (out string, asked []string, err error) {
	t.Helper()
	src := io.NopCloser(iotest.OneByteReader(strings.NewReader(text)))
	b := jsonBody(src, 8, &truncation{}, want)
	if events {
		b = eventBody(src, 8, &truncation{}, want, func(raw []byte) { asked = append(asked, string(raw)) })
	}
	all, err := io.ReadAll(b)
	return string(all), asked, err
}

func TestJSONBody(t *testing.T) {
	for _, c := range []struct{ name, in, want, err string }{
		{"one line", `{"id":7,"result":{}}`, `{"id":7,"result":{}}`, ""},
		{"many lines", "{\n  \"id\": 7,\r\n  \"result\": {}\n}\n", `{   "id": 7,    "result": {} } `, ""},
		{"long strings", `{"id":7,"result":"0123456789"}`, `{"id":7,"result":"01234567"}`, ""},
		{"an error without id", `{"id":null,"error":{"code":1,"message":"m"}}`, `{"id":null,"error":{"code":1,"message":"m"}}`, ""},
		{"another id", `{"id":8,"result":{}}`, "", "in place of 7"},
		{"no id", `{}`, "", "names no request"},
		{"nothing", "", "", "answered with nothing"},
		{"half", `{"id":7,"result":`, "", "not JSON-RPC"},
		{"a page", "<html>", "", "not JSON-RPC"},
	} {
		got, _, err := bodyText(t, c.in, false, "7")
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %q, %v; want %q, %q", c.name, got, err, c.want, c.err)
		}
	}
}

func TestEventBody(t *testing.T) {
	for _, c := range []struct{ name, in, id, want, asked string }{
		{"an answer", "event: message\ndata: {\"id\":7}\n\n", "7", "event: message\ndata: {\"id\":7}\n\n", ""},
		{"carriage returns", "event: message\r\ndata: {\"id\":7}\r\n\r\n", "7", "event: message\ndata: {\"id\":7}\r \n\n", ""},
		{"many lines", "data: {\ndata: \"id\":7}\n\n", "7", "data: { \"id\":7} \n\n", ""},
		{"long strings", "data: {\"id\":7,\"result\":\"0123456789\"}\n\n", "7", "data: {\"id\":7,\"result\":\"01234567\"}\n\n", ""},
		{"id and retry", "id: 5\nretry: 500\ndata:\n\n", "7", "id: 5\nretry: 500\ndata:\n\n", ""},
		{"an address", "event: endpoint\ndata: /message?s=1\n\n", "", "event: endpoint\ndata: /message?s=1\n\n", ""},
		{"comments", ": hello\n\n:\n\ndata: {\"id\":7}\n\n", "7", "data: {\"id\":7}\n\n", ""},
		{"a second answer", "data: {\"id\":7}\n\ndata: {\"id\":7}\n\n", "7", "data: {\"id\":7}\n\n", ""},
		{"another answer", "data: {\"id\":8}\n\ndata: {\"id\":7}\n\n", "7", "data: {\"id\":7}\n\n", ""},
		{"all answers", "data: {\"id\":8}\n\ndata: {\"id\":7}\n\n", "", "data: {\"id\":8}\n\ndata: {\"id\":7}\n\n", ""},
		{"a question", "data: {\"id\":1,\"method\":\"ping\"}\n\ndata: {\"id\":7}\n\n", "7", "data: {\"id\":7}\n\n", `{"id":1,"method":"ping"}`},
		{"a notification", "data: {\"method\":\"m\"}\n\n", "7", "data: {\"method\":\"m\"}\n\n", ""},
		{"no last line", "data: {\"id\":7}", "7", "data: {\"id\":7} \n\n", ""},
		{"cut", "data: {\"id\":7", "7", "", ""},
		{"garbage", "data: {]]\n\ndata: {\"id\":7}\n\n", "7", "data: {\"id\":7}\n\n", ""},
	} {
		got, asked, err := bodyText(t, c.in, true, c.id)
		got = strings.ReplaceAll(got, "} \n\n", "}\n\n")
		want := strings.ReplaceAll(c.want, "} \n\n", "}\n\n")
		if got != want || strings.Join(asked, "") != c.asked && strings.TrimSpace(strings.Join(asked, "")) != c.asked || err != nil {
			t.Errorf("%s: %q: got %q, asked %q, %v; want %q, %q", c.name, c.in, got, asked, err, want, c.asked)
		}
	}
}

// FuzzBody: what reaches the library is never longer than what came, but for
// the words about it, and messages in it are valid JSON when they were.
func FuzzBody(f *testing.F) {
	f.Add("data: {\"id\":7,\"result\":\"0123456789\"}\n\n", true)
	f.Add("id: 1\nretry: 5\ndata:\n\n: x\n\nevent: endpoint\ndata: /a\n\n", true)
	f.Add("{\"id\":7,\n\"result\":[]}", false)
	f.Fuzz(func(t *testing.T, text string, events bool) {
		got, _, err := bodyText(t, text, events, "7")
		if len(got) > 2*len(text)+200 {
			t.Errorf("grew: got %d bytes from %d; input %q", len(got), len(text), text)
		}
		var object map[string]any
		if !events && err == nil && json.Unmarshal([]byte(text), &object) == nil && !json.Valid([]byte(got)) {
			t.Errorf("valid JSON became %q; input %q", got, text)
		}
	})
}
