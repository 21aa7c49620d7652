package mcp_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"legwork/tasks/api"
)

// listed is a tool in a list.
type listed struct {
	Name         string                     `json:"name"`
	Title        string                     `json:"title"`
	Description  string                     `json:"description"`
	Annotations  map[string]bool            `json:"annotations"`
	InputSchema  schema                     `json:"inputSchema"`
	OutputSchema map[string]json.RawMessage `json:"outputSchema"`
}

type schema struct {
	Properties map[string]struct {
		Description string   `json:"description"`
		Enum        []string `json:"enum"`
		Items       struct {
			Enum []string `json:"enum"`
		} `json:"items"`
	} `json:"properties"`
	Required             []string `json:"required"`
	AdditionalProperties *bool    `json:"additionalProperties"`
}

func (e *env) tools(token string) map[string]listed {
	e.t.Helper()
	_, body := e.post(http.MethodPost, token, nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var reply struct {
		Result struct {
			Tools []listed `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &reply); err != nil {
		e.t.Fatalf("tools/list gave %s: %v", body, err)
	}
	tools := map[string]listed{}
	for _, tool := range reply.Result.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

func TestToolsAreDescribed(t *testing.T) {
	tools := newEnv(t).tools("agent")
	want := map[string]string{ // whether it only reads
		"start_task": "", "get_task": "reads", "list_tasks": "reads", "get_context": "reads", "add_message": "", "get_state": "reads", "update_state": "", "answer_task": "", "cancel_task": "",
	}
	for name, reads := range want {
		tool, ok := tools[name]
		switch {
		case !ok:
			t.Errorf("there is no tool %s, only %v", name, tools)
			continue
		case tool.Title == "" || len(tool.Description) < 40:
			t.Errorf("%s has the title %q and the description %q, which tell too little", name, tool.Title, tool.Description)
		case tool.Annotations["readOnlyHint"] != (reads != ""), tool.Annotations["destructiveHint"] && reads != "":
			t.Errorf("%s has the hints %v, want readOnlyHint %v", name, tool.Annotations, reads != "")
		case tool.InputSchema.AdditionalProperties == nil || *tool.InputSchema.AdditionalProperties:
			t.Errorf("%s takes arguments that it does not know", name)
		case len(tool.OutputSchema) == 0:
			t.Errorf("%s does not say what it returns", name)
		}
		if len(tool.Annotations) != 4 {
			t.Errorf("%s has the hints %v, want all four", name, tool.Annotations)
		}
		for property, p := range tool.InputSchema.Properties {
			if p.Description == "" {
				t.Errorf("%s does not say what %s is", name, property)
			}
		}
	}
	if len(tools) != len(want) {
		t.Errorf("there are %d tools, want %d", len(tools), len(want))
	}
	types := tools["get_context"].InputSchema.Properties["types"].Items.Enum
	if !slices.Equal(types, api.Types()) {
		t.Errorf("get_context knows the types %v, want %v", types, api.Types())
	}
	kinds := slices.Sorted(slices.Values(tools["add_message"].InputSchema.Properties["type"].Enum))
	if want := slices.Sorted(slices.Values(api.Addable())); !slices.Equal(kinds, want) {
		t.Errorf("add_message offers the types %v, want %v", kinds, want)
	}
}

// TestToolsOfARole: a role sees only the tools that it may use, and calling another
// one returns the reason.
func TestToolsOfARole(t *testing.T) {
	e := newEnv(t)
	want := []string{"get_context", "get_state", "get_task", "list_tasks"}
	if got := slices.Sorted(maps.Keys(e.tools("viewer"))); !slices.Equal(got, want) {
		t.Errorf("a viewer is offered %v, want %v", got, want)
	}
	for _, role := range []string{"agent", "operator", "admin"} {
		if got := len(e.tools(role)); got != 9 {
			t.Errorf("the role %s is offered %d tools, want 9", role, got)
		}
	}
	if r := e.call("viewer", "start_task", map[string]any{"goal": "x"}); !strings.Contains(r.refused, "role") {
		t.Errorf("a viewer that starts a task reads %q", r.refused)
	}
}

// TestSchemasOfResults checks the output schemas themselves. All tests that call a tool
// compare its result with them.
func TestSchemasOfResults(t *testing.T) {
	for name, tool := range newEnv(t).tools("agent") {
		compiled(t, name, asJSON(t, tool.OutputSchema))
	}
}

func compiled(t testing.TB, name string, text []byte) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("mem:///"+name, value); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("mem:///" + name)
	if err != nil {
		t.Fatalf("the schema of %s: %v", name, err)
	}
	return s
}

func TestWrongArguments(t *testing.T) {
	e := newEnv(t)
	tests := []struct {
		tool, arguments, want string
	}{
		{"start_task", `{}`, "goal"},
		{"start_task", `{"goal":7}`, "/goal"},
		{"start_task", `{"goal":""}`, "/goal"},
		{"start_task", `{"goal":"a\ud800b"}`, "surrogate"},
		{"start_task", `{"goal":"x","gruops":["web"]}`, "gruops"},
		{"start_task", `{"goal":"x","run":"no"}`, "/run"},
		{"get_task", `{"task_id":"x","wait_seconds":301}`, "/wait_seconds"},
		{"get_task", `{"task_id":"x","wait_seconds":-1}`, "/wait_seconds"},
		{"list_tasks", `{"limit":0}`, "/limit"},
		{"list_tasks", `{"limit":1.5}`, "/limit"},
		{"list_tasks", `{"state":"over"}`, "/state"},
		{"add_message", `{"task_id":"x","type":"gossip","content":1}`, "/type"},
		{"add_message", `{"task_id":"x","type":"thought"}`, "content"},
		{"update_state", `{"task_id":"x","values":{}}`, "/values"},
		{"update_state", `{"task_id":"x","values":[]}`, "/values"},
		{"get_state", `{"task_id":"x","keys":"draft"}`, "/keys"},
		{"cancel_task", `[]`, "object"},
		{"get_context", `{"task_id":"x","types":["gossip"]}`, "/types/0"},
		{"get_context", `{"task_id":"x","after":-1}`, "/after"},
		{"answer_task", `{"task_id":"x"}`, "text"},
		{"start_task", `{"goal":"x","notify":{"url":"https://example.com"}}`, "url"},
		{"start_task", `{"goal":"x","notify":{}}`, "/notify"},
		{"start_task", `{"goal":"x","notify":{"chat":"test:c","webhook":"ops"}}`, "/notify"},
		{"start_task", `{"goal":"x","notify":"ops"}`, "/notify"},
		{"start_task", `{"goal":"x","notify":{"webhook":"ops"}}`, "no webhook that this token may name"},
		{"start_task", `{"goal":"x","notify":{"chat":"slack:C1"}}`, "no chat that this token may see"},
	}
	for _, test := range tests {
		_, body := e.post(http.MethodPost, "agent", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+test.tool+`","arguments":`+test.arguments+`}}`)
		var reply struct {
			Result struct {
				IsError bool              `json:"isError"`
				Content []mcp.TextContent `json:"content"`
			} `json:"result"`
			Error struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			t.Fatalf("%s %s gave %s: %v", test.tool, test.arguments, body, err)
		}
		text := reply.Error.Message
		if reply.Result.IsError && len(reply.Result.Content) > 0 {
			text = reply.Result.Content[0].Text
		}
		if !strings.Contains(text, test.want) {
			t.Errorf("%s %s gave %s, want an error that names %q", test.tool, test.arguments, body, test.want)
		}
	}
}

func TestOtherRequests(t *testing.T) {
	e := newEnv(t)
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	tests := []struct {
		what, method, body string
		header             map[string]string
		status             int
		want               string
	}{
		{"a stream to listen to", http.MethodGet, "", nil, 405, "no sessions"},
		{"the end of a session", http.MethodDelete, "", map[string]string{"Mcp-Session-Id": "mine"}, 405, "no sessions"},
		{"another method", http.MethodPut, "{}", nil, 405, "no sessions"},
		{"another type", http.MethodPost, "{}", map[string]string{"Content-Type": "text/plain"}, 400, "application/json"},
		{"no JSON", http.MethodPost, `{"jsonrpc":`, nil, 400, "not valid json"},
		{"an unknown revision", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Protocol-Version": "1999-01-01"}, 400, "1999-01-01"},
		{"an unknown tool", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"format_disk"}}`, nil, 200, "format_disk"},
		{"much around a call", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"x":"` + strings.Repeat("x", 20<<10) + `"}}}`, nil, 413, "16384 are allowed"},
		{"arguments that are hidden", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","arguments":{"task_id":"` + strings.Repeat("x", 20<<10) + `"},"arguments":{}}}`, nil, 413, "16384 are allowed"},
		{"arguments by another name", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_task","Arguments":{"task_id":"` + strings.Repeat("x", 20<<10) + `"}}}`, nil, 413, "16384 are allowed"},
		{"much space", http.MethodPost, strings.Repeat(" ", 500<<10) + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + strings.Repeat("\n", 400<<10), nil, 200, "start_task"},
		{"a long goal", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_task","arguments":{"run":false,"goal":"` + strings.Repeat("x", 200<<10) + `"}}}`, nil, 200, `"state":"working"`},
		{"initialize", http.MethodPost, initialize, nil, 200, `"version":"1.2.3"`},
		{"a batch", http.MethodPost, ` [{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`, nil, 400, "send each request by itself"},
		{"a foreign session", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Session-Id": "somebody's"}, 200, "start_task"},
	}
	for _, test := range tests {
		reply, body := e.post(test.method, "agent", test.header, test.body)
		if reply.StatusCode != test.status || !strings.Contains(body, test.want) {
			t.Errorf("%s gave %d %.300s, want %d with %q", test.what, reply.StatusCode, body, test.status, test.want)
		}
		if allow := reply.Header.Get("Allow"); (allow == http.MethodPost) != (test.status == http.StatusMethodNotAllowed) {
			t.Errorf("%s has Allow: %q", test.what, allow)
		}
		if id := reply.Header.Get("Mcp-Session-Id"); (id != "") != (test.what == "initialize") {
			t.Errorf("%s was given the session %q", test.what, id)
		}
	}
}

// FuzzArguments calls tools with random arguments: each reply is one of the protocol,
// and none is an internal error.
func FuzzArguments(f *testing.F) {
	e := newEnv(f)
	for _, seed := range []string{`{"goal":"x"}`, `{"task_id":"x","values":{"a":null}}`, `{"task_id":"\u0000","type":"thought","content":{}}`, `{"state":["done"]}`, `{"cursor":"zzz"}`, `[]`, `7`, `{"limit":1e400}`, `{"task_id":"x","wait_seconds":1e-300}`} {
		for i := range len(toolNames()) {
			f.Add(byte(i), seed)
		}
	}
	f.Fuzz(func(t *testing.T, tool byte, arguments string) {
		e := &env{t: t, url: e.url}
		names := toolNames()
		name := names[int(tool)%len(names)]
		if !json.Valid([]byte(arguments)) {
			return
		}
		reply, body := e.post(http.MethodPost, "agent", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
		var message struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(body), &message); err != nil || reply.StatusCode >= 500 || (message.Result == nil) == (message.Error == nil) {
			t.Errorf("%s with %q gave %d %s", name, arguments, reply.StatusCode, body)
		}
		if strings.Contains(body, "inside legwork") {
			t.Errorf("%s with %q broke: %s", name, arguments, body)
		}
	})
}

func toolNames() []string {
	return []string{"start_task", "get_task", "list_tasks", "get_context", "add_message", "get_state", "update_state", "answer_task", "cancel_task"}
}
