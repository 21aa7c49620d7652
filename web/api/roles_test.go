package api_test

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/callers"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

// TestRoles: the rights of each role for each call, about a task of ann. A
// new call needs a row.
func TestRoles(t *testing.T) {
	t.Parallel()
	const who = "viewer operator admin agent ann bob"
	// The words of a row are for the callers in who. "yes": the call is done, and shows
	// the task where it shows tasks; "none": it is done, and shows nothing of the task;
	// "no": 403; "hidden": 404, since the task does not exist for the caller.
	table := map[string]struct {
		want string
		body any
	}{
		"GET /v1/approvals":                {"yes yes yes no yes none", nil},
		"POST /v1/approvals/{id}":          {"no yes yes no yes hidden", map[string]any{"decision": "approve"}},
		"GET /v1/audit":                    {"no no yes no no no", nil},
		"GET /v1/events":                   {"yes yes yes none yes none", nil},
		"POST /v1/files":                   {"no yes yes yes yes yes", nil},
		"GET /v1/files/{id}":               {"yes yes yes hidden yes hidden", nil},
		"GET /v1/groups":                   {"yes yes yes yes yes yes", nil},
		"GET /v1/me":                       {"yes yes yes yes yes yes", nil},
		"GET /v1/tasks":                    {"yes yes yes none yes none", nil},
		"POST /v1/tasks":                   {"no yes yes yes no no", map[string]any{"goal": "g", "run": false}},
		"GET /v1/tasks/{id}":               {"yes yes yes hidden yes hidden", nil},
		"POST /v1/tasks/{id}/answer":       {"no yes yes hidden no no", map[string]any{"text": "done"}},
		"POST /v1/tasks/{id}/cancel":       {"no yes yes hidden yes hidden", nil},
		"GET /v1/tasks/{id}/context":       {"yes yes yes hidden yes hidden", nil},
		"GET /v1/tasks/{id}/context/{seq}": {"yes yes yes hidden yes hidden", nil},
		"GET /v1/tasks/{id}/events":        {"yes yes yes hidden yes hidden", nil},
		"POST /v1/tasks/{id}/messages":     {"no yes yes hidden yes hidden", map[string]any{"type": "human_input", "content": "more"}},
		"POST /v1/tasks/{id}/retry":        {"no yes yes hidden yes hidden", nil},
		"GET /v1/tasks/{id}/state":         {"yes yes yes hidden yes hidden", nil},
		"PATCH /v1/tasks/{id}/state":       {"no yes yes hidden yes hidden", map[string]any{"a": 1}},
		"PUT /v1/tasks/{id}/state":         {"no yes yes hidden yes hidden", map[string]any{"a": 1}},
		"GET /v1/tasks/{id}/steps":         {"yes yes yes hidden yes hidden", nil},
		"POST /v1/tasks/{id}/summary":      {"no yes yes no yes hidden", nil},
		// The task has no such step, so roles that may read prompts get a 404.
		"GET /v1/tasks/{id}/steps/{step}/prompt": {"hidden hidden hidden no no no", nil},
		"GET /v1/usage":                          {"yes yes yes no yes yes", nil},
	}
	// The calls about legwork itself: only the refusal is looked at.
	operating := map[string]string{
		"GET /v1/config":                              "no no yes no no no",
		"PUT /v1/config":                              "no no yes no no no",
		"POST /v1/config/check":                       "no no yes no no no",
		"POST /v1/config/code":                        "no no yes no no no",
		"GET /v1/config/schema":                       "no no yes no no no",
		"GET /v1/config/versions":                     "no no yes no no no",
		"GET /v1/config/versions/{id}":                "no no yes no no no",
		"GET /v1/connections":                         "yes yes yes no yes yes",
		"GET /v1/connections/{server}":                "no no yes no no no",
		"POST /v1/connections/{server}":               "no yes yes no yes yes",
		"DELETE /v1/connections/{server}":             "no yes yes no yes yes",
		"GET /v1/health":                              "no yes yes no no no",
		"GET /v1/models":                              "no yes yes no no no",
		"GET /v1/people":                              "no no yes no no no",
		"POST /v1/people/{key}":                       "no no yes no no no",
		"GET /v1/schedules":                           "yes yes yes no yes yes",
		"POST /v1/schedules/{id}":                     "no yes yes no yes yes",
		"GET /v1/servers":                             "no yes yes no no no",
		"GET /v1/servers/{server}":                    "no yes yes no no no",
		"POST /v1/servers/{server}/accept":            "no no yes no no no",
		"POST /v1/servers/{server}/tools/{tool}/call": "no no yes no no no",
	}
	e := newEnv(t)
	for path, calls := range e.contract.Paths {
		for method := range calls {
			name := strings.ToUpper(method) + " " + path
			if row, known := operating[name]; known {
				delete(operating, name)
				for i, caller := range strings.Fields(who) {
					if got, want := e.reaches(request{method: strings.ToUpper(method), path: path, token: caller}), strings.Fields(row)[i]; got != want {
						t.Errorf("%s as %s: got %q, want %q", name, caller, got, want)
					}
				}
				continue
			}
			row, known := table[name]
			if !known {
				t.Errorf("%s has no row in the table", name)
				continue
			}
			delete(table, name)
			for i, caller := range strings.Fields(who) {
				if got, want := e.outcome(name, caller, row.body), strings.Fields(row.want)[i]; got != want {
					t.Errorf("%s as %s: got %q, want %q", name, caller, got, want)
				}
			}
		}
	}
	for name := range table {
		t.Errorf("%s is no call", name)
	}
	for name := range operating {
		t.Errorf("%s is no call", name)
	}
}

// outcome makes a call about a new task of ann as a caller: see TestRoles.
func (e *env) outcome(name, caller string, body any) string {
	e.t.Helper()
	id := e.externalOf(callers.Principal("ann").Person)
	method, path, _ := strings.Cut(name, " ")
	r := request{method: method, token: caller, body: body}
	shown := string(id)
	switch {
	case strings.HasSuffix(path, "approvals/{id}"), path == "/v1/approvals", strings.HasSuffix(path, "retry"):
		want[api.State](e, http.StatusOK, request{method: "PATCH", path: "/v1/tasks/" + string(id) + "/state", body: map[string]any{planner.KeyStatus: planner.NeedsHumanReview}})
		if strings.HasSuffix(path, "retry") {
			want[api.Task](e, http.StatusOK, request{method: "POST", path: "/v1/tasks/" + string(id) + "/cancel"})
		}
	case strings.HasPrefix(path, "/v1/files"):
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, err := w.CreateFormFile("file", "a.txt")
		if err == nil {
			_, err = part.Write([]byte("text of " + string(id)))
		}
		if err != nil || w.Close() != nil {
			e.t.Fatal("no form was made", err)
		}
		upload := request{method: "POST", path: "/v1/files", token: caller, body: form.Bytes(), header: map[string]string{"Content-Type": w.FormDataContentType()}}
		if method == "POST" {
			return outcomeOf(e.do(upload), "")
		}
		upload.token = "ann"
		f, _ := want[api.File](e, http.StatusCreated, upload)
		want[api.Message](e, http.StatusCreated, request{method: "POST", path: "/v1/tasks/" + string(id) + "/messages", token: "ann", body: map[string]any{"type": "human_input", "content": "read it", "files": []any{f.ID}}})
		path, shown = "/v1/files/"+string(f.ID), ""
	case path == "/v1/usage":
		path, shown = path+"?by=user", ""
	case path == "/v1/groups", path == "/v1/me", path == "/v1/audit", method == "POST" && path == "/v1/tasks":
		shown = ""
	}
	if strings.HasPrefix(path, "/v1/approvals/") {
		t, _ := want[api.Task](e, http.StatusOK, request{method: "GET", path: "/v1/tasks/" + string(id)})
		path, shown = "/v1/approvals/"+t.Waiting[0], ""
	}
	if method != "GET" {
		shown = ""
	}
	if strings.Contains(path, "/tasks/{id}/") && method == "GET" {
		shown = "" // they show no other task
	}
	r.path = strings.NewReplacer("{id}", string(id), "{seq}", "1", "{step}", "plan 1.0").Replace(path)
	if strings.HasSuffix(path, "/events") {
		return e.firstEvent(r, shown)
	}
	return outcomeOf(e.do(r), shown)
}

// reaches makes a call that names nothing real. "no": the role may not make it.
func (e *env) reaches(r request) string {
	e.t.Helper()
	r.path = strings.NewReplacer("{id}", "x", "{key}", "x:y", "{server}", "x", "{tool}", "y").Replace(r.path)
	if r.method != http.MethodGet {
		r.body = map[string]any{}
	}
	resp := e.open(e.t.Context(), r)
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden {
		return "no"
	}
	return "yes"
}

// externalOf opens a task of a person in their private chat, on which outside agents
// work.
func (e *env) externalOf(from bot.Person) tasks.ID {
	e.t.Helper()
	id := tasks.NewID(time.Now())
	chat := bot.Chat{Platform: from.Platform, ID: from.ID, Private: true}
	receipts, err := e.Store.Open(e.t.Context(), []tasks.Inbound{{Key: string(id), Chat: chat, ID: id, Open: &planner.Event{
		Type: planner.Opened, Opening: &planner.Opening{Goal: "g", Chat: chat, From: from, Language: "en", Timezone: "UTC", Limits: planner.DefaultLimits(), External: true},
	}}})
	if err != nil || receipts[0].Err != nil {
		e.t.Fatalf("opening a task: %+v, %v", receipts, err)
	}
	return id
}

// firstEvent follows a stream. When the stream shows a later task of the caller, it has
// shown the task, or never will.
func (e *env) firstEvent(r request, shown string) string {
	e.t.Helper()
	ctx, cancel := context.WithCancel(e.t.Context())
	defer cancel()
	if shown != "" {
		r.header = map[string]string{"Last-Event-ID": "0"}
	}
	resp := e.open(ctx, r)
	defer resp.Body.Close()
	if shown == "" || resp.StatusCode != http.StatusOK { // a stream of one task
		return outcomeOf(answer{status: resp.StatusCode}, "")
	}
	p := callers.Principal(r.token)
	if p.Person.ID == "" {
		p.Person = bot.Person{Platform: tasks.PlatformAPI, ID: p.Name}
	}
	later := string(e.externalOf(p.Person))
	var seen strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(seen.String(), later); {
		n, err := resp.Body.Read(buf)
		if seen.Write(buf[:n]); err != nil {
			e.t.Fatalf("%s as %s: %v", r.path, r.token, err)
		}
	}
	if strings.Contains(seen.String(), shown) {
		return "yes"
	}
	return "none"
}

// outcomeOf names the outcome of a reply; see TestRoles.
func outcomeOf(a answer, shown string) string {
	switch {
	case a.status == http.StatusForbidden:
		return "no"
	case a.status == http.StatusNotFound:
		return "hidden"
	case a.status == http.StatusConflict: // a right, but the chat is not connected here
		return "yes"
	case a.status >= 300:
		return fmt.Sprintf("%d %s", a.status, a.body)
	case !strings.Contains(string(a.body), shown):
		return "none"
	}
	return "yes"
}
