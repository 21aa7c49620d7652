package mcp_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestArgumentsAreExplained: a model that sends wrong arguments learns what to change.
func TestArgumentsAreExplained(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	many := map[string]any{}
	for i := range 5000 {
		many[fmt.Sprint("k", i)] = 1
	}
	tests := []struct {
		tool      string
		arguments map[string]any
		want      []string
	}{
		{"start_task", nil, []string{"'goal'", "missing", "start_task takes files, goal, groups, idempotency_key, language, notify, run."}},
		{"start_task", map[string]any{"goal": 5}, []string{`/goal: got number, want string`}},
		{"update_state", map[string]any{"task_id": id, "changes": map[string]any{"a": 1}}, []string{"'values'", "'changes' not allowed", "update_state takes if_version, task_id, values."}},
		{"add_message", map[string]any{"task_id": id, "type": "words", "content": "x"}, []string{`/type: value must be one of 'thought', 'action'`}},
		{"update_state", map[string]any{"task_id": id, "values": map[string]any{"draft": strings.Repeat("x", 66<<10)}}, []string{"values.draft", "65536"}},
		{"get_task", map[string]any{"task_id": id, "wait_seconds": 301}, []string{`/wait_seconds: maximum: got 301, want 300`}},
		{"get_state", map[string]any{"task_id": id, "keys": []any{""}}, []string{`/keys/0: minLength: got 0, want 1`}},
		{"list_tasks", map[string]any{"state": slices.Repeat([]int{1}, 50_000)}, []string{"/state: has 50000 items; at most 100 are allowed"}},
		{"list_tasks", map[string]any{"state": slices.Repeat([]int{1}, 70_000)}, []string{"more than 65536 values"}},
		{"start_task", map[string]any{"goal": "x", "groups": slices.Repeat([]string{"a"}, 101)}, []string{"/groups: has 101 items"}},
		{"start_task", map[string]any{"goal": "x", "notify": many}, []string{"/notify: has 5000 items"}},
		{"update_state", map[string]any{"task_id": id, "values": many}, []string{"/values: has 5000 items"}},
		{"get_task", many, []string{"there are 5000 arguments", "get_task takes task_id, wait_seconds."}},
		{"get_task", map[string]any{"task_id": id, strings.Repeat("x", 5000): 1}, []string{"…; get_task takes"}},
	}
	for _, test := range tests {
		got := e.call("agent", test.tool, test.arguments).refused
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s with %v gave %q, want to read %q", test.tool, test.arguments, got, want)
			}
		}
		if strings.ContainsAny(got, "&<>") {
			t.Errorf("%s with %v gave %q, want words", test.tool, test.arguments, got)
		}
		if len(got) > 2000 {
			t.Errorf("%s gave %d bytes, too long to be read: %.200s", test.tool, len(got), got)
		}
	}
}

// TestArgumentsCostLittle: arguments that are too long are refused before they are
// decoded.
func TestArgumentsCostLittle(t *testing.T) {
	e := newEnv(t)
	const depth = 60
	hostile := strings.Repeat(strings.Repeat(`{"a":`, depth)+"0"+strings.Repeat("}", depth)+",", (1<<20-1000)/(6*depth+2)) + "0"
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add_message","arguments":{"task_id":"x","type":"thought","content":[%s]}}}`, hostile)
	e.post(http.MethodPost, "agent", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) // until there is all that stays
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, got := e.post(http.MethodPost, "agent", nil, body)
	runtime.ReadMemStats(&after)
	if !strings.Contains(got, "more than 65536 values") {
		t.Errorf("got %.300s, want it refused", got)
	}
	if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 32 {
		t.Errorf("%d MiB were used for a request of one", used)
	}
}
