package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/tasks/api"
	"legwork/tasks/enginetest"
	"legwork/tools"
	webapi "legwork/web/api"
)

// TestWorkOverTheAPI runs a task with a plan, a tool and an approval, and reads its
// context, usage and audit log. Every reply is compared with the document.
func TestWorkOverTheAPI(t *testing.T) {
	e := newEnv(t)
	e.Model.Answer = enginetest.Planned(`{"plan":[{"name":"book","description":"Book a room","id":"a"}]}`)
	e.Tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Ask: true, Definition: "d"} }
	task, _ := want[api.Task](e, http.StatusCreated, request{method: "POST", path: "/v1/tasks", token: "operator", body: map[string]any{"goal": "A room, please.", "groups": []string{"book"}}})
	path := "/v1/tasks/" + string(task.ID)
	var approval api.Approval
	e.follow(path+"/events?type=approval", "viewer", "", func(ev event) bool {
		list, _ := want[webapi.Page[api.Approval]](e, http.StatusOK, request{method: "GET", path: "/v1/approvals?task=" + string(task.ID), token: "viewer"})
		if ev.name == "approval" && len(list.Items) == 1 {
			approval = list.Items[0]
		}
		return ev.name == ""
	})
	if approval.Kind != "calls" || len(approval.Calls) != 1 || !strings.Contains(string(approval.Calls[0].Arguments), "Book a room") {
		t.Fatalf("got %+v, want the call that needs approval", approval)
	}
	waiting, _ := want[api.Task](e, http.StatusOK, request{method: "GET", path: path})
	if waiting.State != "waiting" || !slices.Equal(waiting.Waiting, []string{approval.ID}) || len(waiting.Subtasks) != 1 {
		t.Errorf("got %+v, want it to wait for %s", waiting, approval.ID)
	}
	yes := request{method: "POST", path: "/v1/approvals/" + approval.ID, body: map[string]any{"decision": "approve", "scope": "task"}}
	for token, status := range map[string]int{"viewer": 403, "agent": 403, "other": 403, "narrow": 404} {
		r := yes
		r.token = token
		want[problem](e, status, r)
	}
	yes.token = "operator"
	for range 2 { // a client that missed the reply repeats the request
		want[api.Task](e, http.StatusOK, yes)
	}
	no := yes
	no.body = map[string]any{"decision": "deny"}
	if p, _ := want[problem](e, http.StatusConflict, no); !strings.Contains(p.Detail, "api:operator said yes") {
		t.Errorf("another decision: got %+v, want how it was decided", p)
	}
	done, _ := want[api.Task](e, http.StatusOK, request{method: "GET", path: path, header: map[string]string{"Prefer": "wait=20"}})
	if done.State != "done" || done.Finished == nil || done.Answer == nil || done.Subtasks[0].State != "done" {
		t.Errorf("got %+v, want it done", done)
	}
	e.checkContext(path, []string{"goal", "plan", "tool_call", "approval", "approval", "tool_result", "answer"})
	usage, _ := want[webapi.Page[api.UsageRow]](e, http.StatusOK, request{method: "GET", path: "/v1/usage?by=user,day", token: "viewer"})
	if len(usage.Items) != 1 || usage.Items[0].User != "api:operator" || usage.Items[0].InputTokens == 0 && usage.Items[0].Calls == 0 {
		t.Errorf("got usage %+v, want that of api:operator", usage.Items)
	}
	want[problem](e, http.StatusForbidden, request{method: "GET", path: "/v1/audit", token: "operator"})
	e.checkAudit("task.decide")
	again, got := want[api.Task](e, http.StatusCreated, request{method: "POST", path: path + "/retry", token: "operator", header: map[string]string{"Idempotency-Key": "r"}})
	same, replay := want[api.Task](e, http.StatusOK, request{method: "POST", path: path + "/retry", token: "operator", body: map[string]any{"idempotency_key": "r"}})
	if again.ID == task.ID || again.ID != same.ID || replay.header.Get("Idempotent-Replayed") != "true" || got.header.Get("Location") != "/v1/tasks/"+string(again.ID) {
		t.Errorf("got %s, then %s, want one new task", again.ID, same.ID)
	}
}

// checkContext reads a context two messages at a time. It must contain these types in
// this order, and the parts of each content must add up to it.
func (e *env) checkContext(path string, types []string) {
	e.t.Helper()
	for after := 0; ; {
		c, _ := want[api.Context](e, http.StatusOK, request{method: "GET", path: fmt.Sprintf("%s/context?limit=2&after=%d", path, after)})
		for _, m := range c.Messages {
			if len(types) > 0 && m.Type == types[0] {
				types = types[1:]
			}
			if m.Seq != after+1 {
				e.t.Errorf("got message %d after %d", m.Seq, after)
			}
			after = m.Seq
			if whole := e.content(path, m.Seq); m.Bytes == 0 && whole != string(m.Content) {
				e.t.Errorf("message %d in parts: got %s, want %s", m.Seq, whole, m.Content)
			}
		}
		if c.Next == nil {
			break
		}
		if *c.Next != after {
			e.t.Errorf("got next_after %d after message %d", *c.Next, after)
		}
	}
	if len(types) > 0 {
		e.t.Errorf("the context lacks %v", types)
	}
}

// content reads a content in parts.
func (e *env) content(path string, seq int) string {
	e.t.Helper()
	var whole strings.Builder
	for offset := 0; ; {
		part, _ := want[webapi.ContentPart](e, http.StatusOK, request{method: "GET", path: fmt.Sprintf("%s/context/%d?offset=%d&limit=11", path, seq, offset)})
		whole.WriteString(part.Part)
		if part.Next == nil {
			if whole.Len() != part.Bytes || !json.Valid([]byte(whole.String())) {
				e.t.Errorf("message %d has %d bytes, want %d that are JSON: %s", seq, whole.Len(), part.Bytes, whole.String())
			}
			return whole.String()
		}
		offset = *part.Next
	}
}

// checkAudit reads the audit log in pages. It must contain an action.
func (e *env) checkAudit(action string) {
	e.t.Helper()
	var all []api.AuditEntry
	for path := "/v1/audit?limit=1"; ; {
		p, _ := want[webapi.Page[api.AuditEntry]](e, http.StatusOK, request{method: "GET", path: path})
		all = append(all, p.Items...)
		if p.NextCursor == nil {
			break
		}
		path = "/v1/audit?limit=1&cursor=" + *p.NextCursor
	}
	for i := 1; i < len(all); i++ {
		if all[i].Seq != all[i-1].Seq-1 {
			e.t.Errorf("entry %d follows %d", all[i].Seq, all[i-1].Seq)
		}
	}
	if !slices.ContainsFunc(all, func(ev api.AuditEntry) bool { return ev.Action == action }) {
		e.t.Errorf("got audit log %+v, want %s in it", all, action)
	}
}
