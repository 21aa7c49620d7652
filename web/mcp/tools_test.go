package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/bot"
	"legwork/internal/test/callers"
	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	webmcp "legwork/web/mcp"
)

type list struct {
	Items []api.TaskSummary `json:"items"`
	Next  *string           `json:"next_cursor"`
}

// external starts a shared context.
func (e *env) external(token, goal string) tasks.ID {
	e.t.Helper()
	return into[api.Task](e.t, e.call(token, "start_task", map[string]any{"goal": goal, "run": false})).ID
}

func TestTaskIsDone(t *testing.T) {
	e := newEnv(t)
	started := into[api.Task](t, e.call("agent", "start_task", map[string]any{"goal": "Say hello", "language": "en"}))
	if started.Goal != "Say hello" || !started.Run || started.From != "agent:agent" {
		t.Errorf("the task started as %+v", started)
	}
	done := into[api.Task](t, e.call("agent", "get_task", map[string]any{"task_id": started.ID, "wait_seconds": 20}))
	if done.State != "done" || done.Answer == nil || *done.Answer != "hello" || done.Finished == nil {
		t.Errorf("the task ended as %+v, want it done with the answer hello", done)
	}
}

func TestWaitingEnds(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	for _, token := range []string{"", "wait"} {
		ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
		meta := map[string]any{"progressToken": token}
		if token == "" {
			meta = nil
		}
		got := into[api.Task](t, e.read(servers.Call(ctx, e.as("agent"), "get_task", map[string]any{"task_id": id, "wait_seconds": 0.1}, meta)))
		cancel()
		if got.State != "working" || got.Answer != nil {
			t.Errorf("after the time the task is %+v, want it as it stands", got)
		}
	}
}

func TestWaitingEndsWithLegwork(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	for tool, arguments := range map[string]map[string]any{
		"get_task":  {"task_id": id, "wait_seconds": 300},
		"get_state": {"task_id": id, "wait_seconds": 300},
	} {
		c := e.as("agent")
		got := make(chan result, 1)
		go func() {
			r, err := servers.Call(context.Background(), c, tool, arguments, nil)
			got <- e.read(r, err)
		}()
		if tool == "get_state" {
			close(e.stop)
		}
		defer func() {
			select {
			case r := <-got:
				if r.refused != "" {
					t.Errorf("%s: %s", tool, r.refused)
				}
			case <-time.After(watch.Patience):
				t.Errorf("%s still waits after the end", tool)
			}
		}()
	}
}

func TestWaiterIsGone(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	heard := make(chan string, 10)
	c := e.as("agent")
	c.OnNotification(func(n mcp.JSONRPCNotification) { heard <- n.Method })
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := servers.Call(ctx, c, "get_task", map[string]any{"task_id": id, "wait_seconds": 300}, map[string]any{"progressToken": 1})
		over <- err
	}()
	if method := <-heard; method != "notifications/progress" {
		t.Errorf("the first notification is %s, want progress", method)
	}
	cancel()
	if err := <-over; err == nil {
		t.Error("a call that was given up returned a result")
	}
	// That nothing is left of it is what the end of the tests looks at.
}

func TestStateIsShared(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	set := into[api.State](t, e.call("agent", "update_state", map[string]any{"task_id": id, "values": map[string]any{"outline": []string{"a"}}}))
	if string(set.Values["outline"]) != `["a"]` || set.Version != 1 {
		t.Errorf("the state became %s at version %d, want the outline at 1", set.Values, set.Version)
	}
	waiting := make(chan result, 1)
	go func() {
		waiting <- e.call("other", "get_state", map[string]any{"task_id": id, "keys": []string{"draft"}, "after_version": set.Version, "wait_seconds": 20})
	}()
	into[api.State](t, e.call("agent", "update_state", map[string]any{"task_id": id, "values": map[string]any{"outline": nil}}))
	into[api.State](t, e.call("agent", "update_state", map[string]any{"task_id": id, "values": map[string]any{"draft": "words"}}))
	got := into[api.State](t, <-waiting)
	if len(got.Values) != 1 || string(got.Values["draft"]) != `"words"` {
		t.Errorf("the client that waits for the draft got %s, want it alone", got.Values)
	}
	if r := e.call("other", "update_state", map[string]any{"task_id": id, "values": map[string]any{"draft": "mine"}, "if_version": set.Version}); !strings.Contains(r.refused, "get_state") {
		t.Errorf("a change of an old version gave %+v, want to be told to read it again", r)
	}
	all := into[api.State](t, e.call("other", "get_state", map[string]any{"task_id": id}))
	if _, ok := all.Values["outline"]; ok || string(all.Values["draft"]) != `"words"` {
		t.Errorf("the state is %s, want the draft and no outline", all.Values)
	}
}

// TestStoppedTwice: stopping a task again changes nothing; a task that is done cannot
// be stopped.
func TestStoppedTwice(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	for range 2 {
		if got := into[api.Task](t, e.call("agent", "cancel_task", map[string]any{"task_id": id})); got.Reason != "stopped" {
			t.Errorf("the task is %+v, want it stopped", got)
		}
	}
	done := into[api.Task](t, e.call("agent", "start_task", map[string]any{"goal": "Say hello"}))
	into[api.Task](t, e.call("agent", "get_task", map[string]any{"task_id": done.ID, "wait_seconds": 20}))
	if got := e.call("agent", "cancel_task", map[string]any{"task_id": done.ID}); !strings.Contains(got.refused, "is over") {
		t.Errorf("stopping a task that is done gave %+v, want a refusal", got)
	}
}

func TestMessagesAreAdded(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	content := `{"to":"other","text":"Write the draft"}`
	m := into[api.Message](t, e.call("agent", "add_message", map[string]any{"task_id": id, "type": "delegation", "content": json.RawMessage(content), "idempotency_key": "k"}))
	if m.Type != "delegation" || m.SenderID != "agent:agent" || m.SenderType != "agent" || !strings.Contains(string(m.Content), "Write the draft") {
		t.Errorf("the message is %+v, want it as it was added", m)
	}
	again := into[api.Message](t, e.call("agent", "add_message", map[string]any{"task_id": id, "type": "delegation", "content": json.RawMessage(content), "idempotency_key": "k"}))
	if again.Seq != m.Seq {
		t.Errorf("the same key added %d and %d", m.Seq, again.Seq)
	}
}

// TestSharedContext: agents work on a context from beginning to end.
func TestSharedContext(t *testing.T) {
	e := newEnv(t)
	id := into[api.Task](t, e.call("operator", "start_task", map[string]any{"goal": "Write something", "run": false, "notify": map[string]any{"webhook": "ops"}})).ID
	for _, word := range []string{"one", "two"} {
		into[api.Message](t, e.call("other", "add_message", map[string]any{"task_id": id, "type": "observation", "content": word}))
	}
	type page struct {
		Messages []api.Message `json:"messages"`
		Next     *int          `json:"next_after"`
	}
	first := into[page](t, e.call("agent", "get_context", map[string]any{"task_id": id, "limit": 2}))
	if len(first.Messages) != 2 || first.Messages[0].Type != api.TypeGoal || first.Next == nil {
		t.Fatalf("the first page is %+v, want the goal, a message and where it goes on", first)
	}
	rest := into[page](t, e.call("agent", "get_context", map[string]any{"task_id": id, "after": *first.Next, "types": []string{"observation"}}))
	if len(rest.Messages) != 1 || string(rest.Messages[0].Content) != `"two"` || rest.Messages[0].SenderID != "agent:other" || rest.Next != nil {
		t.Errorf("the rest is %+v, want the second message", rest)
	}
	if none := into[page](t, e.call("agent", "get_context", map[string]any{"task_id": id, "types": []string{"plan"}})); none.Messages == nil || len(none.Messages) != 0 {
		t.Errorf("of plans there are %+v, want an empty list", none)
	}
	for range 2 {
		done := into[api.Task](t, e.call("other", "answer_task", map[string]any{"task_id": id, "text": "one and two"}))
		if done.Answer == nil || *done.Answer != "one and two" || string(done.Notify) != `{"webhook":"ops"}` {
			t.Errorf("answered it is %+v", done)
		}
	}
	if done := into[api.Task](t, e.call("agent", "get_task", map[string]any{"task_id": id, "wait_seconds": 20})); done.State != "done" {
		t.Errorf("at the end it is %+v, want it done", done)
	}
	if got := e.call("other", "answer_task", map[string]any{"task_id": id, "text": "three"}); !strings.Contains(got.refused, "over") {
		t.Errorf("another answer gave %+v, want a refusal", got)
	}
}

// TestNumbersKeepTheirDigits: numbers in arguments are never decoded into floats.
func TestNumbersKeepTheirDigits(t *testing.T) {
	e := newEnv(t)
	id, number := e.external("agent", "Write something"), "12345678901234567"
	for tool, arguments := range map[string]string{"update_state": `"values":{"n":%s}`, "add_message": `"type":"observation","content":{"n":%s}`} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{"task_id":%q,`+arguments+`}}}`, tool, id, number)
		if _, got := e.post(http.MethodPost, "agent", nil, body); !strings.Contains(got, `"n":`+number) {
			t.Errorf("%s gave %s, want the number %s", tool, got, number)
		}
	}
}

func TestListsArePaged(t *testing.T) {
	e := newEnv(t)
	var want []tasks.ID
	for i := range 5 {
		want = append([]tasks.ID{e.external("agent", fmt.Sprint("Write ", i))}, want...)
	}
	var got []tasks.ID
	arguments := map[string]any{"limit": 2, "state": []string{"working", "waiting"}}
	for range 4 {
		page := into[list](t, e.call("viewer", "list_tasks", arguments))
		for _, item := range page.Items {
			got = append(got, item.ID)
		}
		if page.Next == nil {
			break
		}
		arguments["cursor"] = *page.Next
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the pages held %v, want %v", got, want)
	}
	if none := into[list](t, e.call("viewer", "list_tasks", map[string]any{"state": "failed"})); none.Items == nil || len(none.Items) != 0 || none.Next != nil {
		t.Errorf("of the failed tasks there are %+v, want an empty list", none)
	}
}

// TestRoles calls every tool with a token of every role, for a task that the agent
// started, and with another agent.
func TestRoles(t *testing.T) {
	e := newEnv(t)
	const forbidden = "takes another token"
	tests := []struct {
		tool      string
		arguments map[string]any // besides the task's id
		want      map[string]string
	}{
		{"start_task", map[string]any{"goal": "x", "run": false}, map[string]string{"viewer": forbidden, "operator": "", "admin": "", "agent": "", "other": "", "": forbidden}},
		{"get_task", nil, map[string]string{"viewer": "", "operator": "", "admin": "", "agent": "", "other": "", "": forbidden}},
		{"get_state", nil, map[string]string{"viewer": "", "operator": "", "admin": "", "agent": "", "other": "", "": forbidden}},
		{"get_context", nil, map[string]string{"viewer": "", "operator": "", "admin": "", "agent": "", "other": "", "": forbidden}},
		{"answer_task", map[string]any{"text": "x"}, map[string]string{"viewer": forbidden, "operator": "", "admin": "", "agent": "", "other": ""}},
		{"add_message", map[string]any{"type": "observation", "content": "x"}, map[string]string{"viewer": forbidden, "operator": "", "admin": "", "agent": "", "other": ""}},
		{"update_state", map[string]any{"values": map[string]any{"a": 1}}, map[string]string{"viewer": forbidden, "operator": "", "admin": "", "agent": "", "other": ""}},
		{"cancel_task", nil, map[string]string{"viewer": forbidden, "operator": "", "admin": "", "agent": "", "other": forbidden}},
	}
	for _, test := range tests {
		for role, want := range test.want {
			arguments := map[string]any{}
			for k, v := range test.arguments {
				arguments[k] = v
			}
			if test.tool != "start_task" {
				arguments["task_id"] = e.external("agent", "Write something")
			}
			got := e.call(role, test.tool, arguments)
			if (got.refused == "") != (want == "") || !strings.Contains(got.refused, want) {
				t.Errorf("%s with the role %q gave %+v, want a refusal with %q", test.tool, role, got, want)
			}
		}
	}
	for _, role := range []string{"viewer", "operator", "admin", "agent"} {
		if got := into[list](t, e.call(role, "list_tasks", nil)); len(got.Items) == 0 {
			t.Errorf("the role %q lists no tasks", role)
		}
	}
	if got := e.call("", "list_tasks", nil); !strings.Contains(got.refused, forbidden) {
		t.Errorf("no program lists tasks: %+v", got)
	}
}

// TestOthersTasksAreHidden: a task in a chat that a token may not see does not exist
// for it.
func TestOthersTasksAreHidden(t *testing.T) {
	e := newEnv(t)
	e.Ask(t, bot.Message{ID: "1", Chat: enginetest.Chat, From: enginetest.Person, Text: "a question of a person", At: e.Now()})
	e.Answers(t, 1)
	all := into[list](t, e.call("viewer", "list_tasks", nil))
	if len(all.Items) != 1 {
		t.Fatalf("there are %d tasks, want that of the person", len(all.Items))
	}
	id := all.Items[0].ID
	for tool, arguments := range map[string]map[string]any{
		"get_task": {"wait_seconds": 1}, "get_state": {"wait_seconds": 1}, "get_context": {}, "answer_task": {"text": "x"}, "add_message": {"type": "thought", "content": 1}, "update_state": {"values": map[string]any{"a": 1}}, "cancel_task": {},
	} {
		arguments["task_id"] = id
		if got := e.call("agent", tool, arguments); !strings.Contains(got.refused, "not one that this token may see") {
			t.Errorf("%s of a task in another chat gave %+v, want it hidden", tool, got)
		}
	}
	if seen := into[list](t, e.call("agent", "list_tasks", nil)); len(seen.Items) != 0 {
		t.Errorf("an agent lists %+v, want nothing of that chat", seen.Items)
	}
}

// TestRightsAreThoseOfTheRequest uses the session of one token with another token.
func TestRightsAreThoseOfTheRequest(t *testing.T) {
	e := newEnv(t)
	id := e.external("agent", "Write something")
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cancel_task","arguments":{"task_id":%q}}}`, id)
	for _, session := range []string{"", "agent", "*"} {
		if _, got := e.post(http.MethodPost, "viewer", map[string]string{"Mcp-Session-Id": session}, body); !strings.Contains(got, "takes another token") {
			t.Errorf("with the session %q a viewer got %s", session, got)
		}
	}
	if len(e.refused) != 3 || <-e.refused != "viewer cancel_task" {
		t.Errorf("refused three times, it was told %d times", len(e.refused))
	}
}

// TestInternalErrors: the client does not see internal errors; the log does.
func TestInternalErrors(t *testing.T) {
	var log strings.Builder
	service := api.New(api.Config{Now: time.Now}) // without a store it panics
	handler := webmcp.New(webmcp.Config{Service: service, Log: slog.New(slog.NewTextHandler(&log, nil))})
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_tasks","arguments":{}}}`))
	r.Header.Set("Content-Type", "application/json")
	reply := httptest.NewRecorder()
	handler.ServeHTTP(reply, r.WithContext(api.With(r.Context(), callers.Principal("agent"))))
	if got := reply.Body.String(); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "inside legwork") || strings.Contains(got, "nil pointer") {
		t.Errorf("a tool that panics gave %s, want an error that tells nothing of it", got)
	}
	if got := log.String(); !strings.Contains(got, "nil pointer") || !strings.Contains(got, "tool=list_tasks") || !strings.Contains(got, "token=agent") {
		t.Errorf("the log says %s, want the panic, the tool and the token", got)
	}
}
