package llm_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"legwork/llm"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	sys := llm.Message{Role: llm.System, Content: "s"}
	user := llm.Message{Role: llm.User, Content: "u"}
	said := llm.Message{Role: llm.Assistant, Content: "a"}
	calls := func(ids ...string) llm.Message {
		m := llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "t", Arguments: "{"})
		}
		return m
	}
	result := func(id string) llm.Message { return llm.Message{Role: llm.ToolRole, ToolCallID: id} }
	tests := []struct {
		name     string
		messages []llm.Message
		err      string // part of it; empty: valid
	}{
		{"a question", []llm.Message{user}, ""},
		{"a conversation", []llm.Message{sys, sys, user, said, user, user}, ""},
		{"results in any order", []llm.Message{user, calls("1", "2"), result("2"), result("1")}, ""},
		{"the same ids in two turns", []llm.Message{user, calls("1"), result("1"), calls("1"), result("1")}, ""},
		{"nothing", nil, "no messages"},
		{"only system", []llm.Message{sys}, "no user message"},
		{"late system", []llm.Message{user, sys}, "message 1 (system): system messages must come first"},
		{"unknown role", []llm.Message{{Role: "developer", Content: "x"}}, "no such role"},
		{"empty question", []llm.Message{{Role: llm.User, Content: " \n"}}, "message 0 (user): the text is empty"},
		{"assistant first", []llm.Message{sys, said, user}, "a user must speak before"},
		{"assistant last", []llm.Message{user, said}, "the last word is the assistant's"},
		{"empty assistant", []llm.Message{user, {Role: llm.Assistant}, user}, "neither text nor tool calls"},
		{"no result at the end", []llm.Message{user, calls("1")}, `the call "1" before it has no result`},
		{"no result in between", []llm.Message{user, calls("1", "2"), result("1"), user}, `message 3 (user): the call "2"`},
		{"result without call", []llm.Message{user, result("1")}, `the result of a call "1"`},
		{"result of an earlier turn", []llm.Message{user, calls("1"), result("1"), said, result("1")}, `the result of a call "1"`},
		{"two results", []llm.Message{user, calls("1"), result("1"), result("1")}, `a second result of the call "1"`},
		{"two calls of one id", []llm.Message{user, calls("1", "1"), result("1")}, `two calls have the id "1"`},
		{"call without id", []llm.Message{user, calls(""), result("")}, "has no id"},
		{"call without name", []llm.Message{user, {Role: llm.Assistant, ToolCalls: []llm.ToolCall{{ID: "1"}}}, result("1")}, "names no tool"},
		{"user calls", []llm.Message{{Role: llm.User, Content: "u", ToolCalls: calls("1").ToolCalls}}, "only an assistant calls tools"},
		{"an image", []llm.Message{{Role: llm.User, Content: "see", Images: []llm.Image{{Type: "image/png", Data: []byte{1}}}}}, ""},
		{"a film", []llm.Message{{Role: llm.User, Content: "see", Images: []llm.Image{{Type: "video/mp4", Data: []byte{1}}}}}, `image 0 is of type "video/mp4"; allowed: image/png`},
		{"an empty image", []llm.Message{{Role: llm.User, Content: "see", Images: []llm.Image{{Type: "image/png"}}}}, "image 0 has 0 bytes"},
		{"an image of a system", []llm.Message{{Role: llm.System, Content: "s", Images: []llm.Image{{Type: "image/png", Data: []byte{1}}}}, user}, "only a user's message"},
		{"user answers", []llm.Message{{Role: llm.User, Content: "u", ToolCallID: "1"}}, "only a tool message answers"},
	}
	for _, tt := range tests {
		check(t, tt.name, llm.Request{Messages: tt.messages}, tt.err)
	}
	schema := func(s string) llm.Tool { return llm.Tool{Name: "t", Schema: json.RawMessage(s)} }
	for name, tt := range map[string]struct {
		tools []llm.Tool
		err   string
	}{
		"fine":         {[]llm.Tool{{Name: "server_tool-2"}, schema(` {"type":"object"} `)}, ""},
		"no name":      {[]llm.Tool{{}}, "is not of"},
		"dot":          {[]llm.Tool{{Name: "server.tool"}}, `tool 0: the name "server.tool" is not of`},
		"long":         {[]llm.Tool{{Name: strings.Repeat("x", 65)}}, "is not of"},
		"twice":        {[]llm.Tool{{Name: "a"}, {Name: "a"}}, `a second tool is named "a"`},
		"schema list":  {[]llm.Tool{schema(`[]`)}, "not a JSON object"},
		"schema torn":  {[]llm.Tool{schema(`{"a":`)}, "not a JSON object"},
		"schema twice": {[]llm.Tool{schema(`{}{}`)}, "not a JSON object"},
	} {
		check(t, name, llm.Request{Messages: []llm.Message{user}, Tools: tt.tools}, tt.err)
	}
}

func check(t *testing.T, name string, r llm.Request, want string) {
	t.Helper()
	err := llm.Check(r)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: error %v, want %q\ninput: %+v", name, err, want, r)
	}
}

func TestInvalidRequestsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, sse(whole()))
	m, _ := open(t, f.config())
	_, err := m.Call(t.Context(), llm.Request{Role: llm.RolePlan}, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Problem != llm.Invalid || len(f.requests()) != 0 {
		t.Errorf("error %v after %d requests, want invalid after none", err, len(f.requests()))
	}
}
