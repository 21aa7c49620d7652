package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/conf"
)

// The tokens of house. Each is its name; in the config stand their hashes.
const (
	adminToken    = "lw_token-of-the-admin-e2e"
	operatorToken = "lw_token-of-the-operator-e2e"
	viewerToken   = "lw_token-of-the-viewer-e2e"
	agentToken    = "lw_token-of-the-agent-e2e"
	otherToken    = "lw_token-of-another-agent-e2e"
	pairToken     = "lw_token-of-an-agent-of-all-programs-e2e"
	farToken      = "lw_token-of-an-operator-elsewhere-e2e"
	goneToken     = "lw_token-that-was-taken-back-e2e"
)

// tokens is http.tokens with all of them.
func tokens() string {
	var b strings.Builder
	for _, t := range []struct{ name, text, role, more string }{
		{"boss", adminToken, "admin", ""},
		{"ops", operatorToken, "operator", ""},
		{"eye", viewerToken, "viewer", ""},
		{"scout", agentToken, "agent", ""},
		{"other", otherToken, "agent", ""},
		{"pair", pairToken, "agent", `, chats: ["api:*"]`},
		{"far", farToken, "operator", `, chats: ["slack:C1"]`},
		{"gone", goneToken, "admin", ""},
	} {
		fmt.Fprintf(&b, "    - {name: %s, role: %s, sha256: %q%s}\n", t.name, t.role, conf.HashToken(t.text), t.more)
	}
	return b.String()
}

// apiEnv is an environment in which programs call the API of legwork serve.
type apiEnv struct {
	*env
	*serving
}

func newAPIEnv(t *testing.T, p options) *apiEnv {
	t.Helper()
	p.more += "log: {level: debug}\nhttp:\n  listen: \"127.0.0.1:0\"\n  rate: 1000\n  tokens:\n" + tokens()
	w := newEnv(t, p)
	return &apiEnv{w, w.serve(adminToken, operatorToken, viewerToken, agentToken, otherToken, pairToken, farToken, goneToken)}
}

// reply is what came of a call.
type reply struct {
	status int
	header http.Header
	body   string
}

// calls sends a request. Of a stream that was begun, only the head is read.
func (o *apiEnv) calls(token, method, path, body string, headers ...string) reply {
	o.env.t.Helper()
	req, err := http.NewRequestWithContext(o.env.t.Context(), method, "http://"+o.address+path, strings.NewReader(body))
	if err != nil {
		o.env.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	switch {
	case strings.HasPrefix(body, "--"):
		req.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	case body != "":
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		o.env.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	r := reply{status: resp.StatusCode, header: resp.Header}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			o.env.t.Fatalf("%s %s: %v", method, path, err)
		}
		r.body = string(text)
	}
	return r
}

// field is a text in a JSON object.
func (r reply) field(t *testing.T, name string) string {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(r.body), &fields); err != nil {
		t.Fatalf("got %d, which is no object: %.300s", r.status, r.body)
	}
	text, _ := fields[name].(string)
	if text == "" {
		t.Fatalf("got %d without %q: %.300s", r.status, name, r.body)
	}
	return text
}

// shares makes a context that agents work on and returns its id.
func (o *apiEnv) shares(token string) string {
	o.env.t.Helper()
	return o.calls(token, "POST", "/v1/tasks", `{"goal":"Review the drafts.","run":false}`).field(o.env.t, "id")
}

// reviews makes a context that waits for a person, and returns its approval.
func (o *apiEnv) reviews() string {
	o.env.t.Helper()
	id := o.shares(agentToken)
	if r := o.calls(agentToken, "PATCH", "/v1/tasks/"+id+"/state", `{"status":"NEEDS_HUMAN_REVIEW"}`); r.status != http.StatusOK {
		o.env.t.Fatalf("asking for a review: got %d %s", r.status, r.body)
	}
	var task struct{ Waiting []string }
	r := o.calls(adminToken, "GET", "/v1/tasks/"+id, "")
	if err := json.Unmarshal([]byte(r.body), &task); err != nil || len(task.Waiting) != 1 {
		o.env.t.Fatalf("a task that asks for a review: got %d %s, want one approval", r.status, r.body)
	}
	return task.Waiting[0]
}

// right is what each role gets of a route. The task is one that the agent scout
// has made; "other" is another agent, "pair" one that sees the tasks of all
// programs, "far" an operator who sees other chats.
type right struct {
	route, body                                      string
	viewer, operator, admin, agent, other, pair, far int
}

// rights is who may do what: every route of the API.
var rights = []right{
	// route                                  body                                         viewer op adm agent other pair far
	{"GET /v1/tasks", "", 200, 200, 200, 200, 200, 200, 200},
	{"POST /v1/tasks", `{"goal":"x","run":false}`, 403, 201, 201, 201, 201, 201, 201},
	{"GET /v1/tasks/{id}", "", 200, 200, 200, 200, 404, 200, 404},
	{"GET /v1/tasks/{id}/context", "", 200, 200, 200, 200, 404, 200, 404},
	{"GET /v1/tasks/{id}/context/{seq}", "", 200, 200, 200, 200, 404, 200, 404},
	{"POST /v1/tasks/{id}/messages", `{"type":"observation","content":{}}`, 403, 201, 201, 201, 404, 201, 404},
	{"GET /v1/tasks/{id}/state", "", 200, 200, 200, 200, 404, 200, 404},
	{"PUT /v1/tasks/{id}/state", `{"draft":1}`, 403, 200, 200, 200, 404, 200, 404},
	{"PATCH /v1/tasks/{id}/state", `{"draft":1}`, 403, 200, 200, 200, 404, 200, 404},
	{"POST /v1/tasks/{id}/answer", `{"text":"Done."}`, 403, 200, 200, 200, 404, 200, 404},
	{"POST /v1/tasks/{id}/cancel", "", 403, 200, 200, 200, 404, 403, 404},
	{"POST /v1/tasks/{id}/retry", "", 403, 201, 201, 201, 404, 403, 404},
	{"GET /v1/tasks/{id}/events", "", 200, 200, 200, 200, 404, 200, 404},
	{"GET /v1/events", "", 200, 200, 200, 200, 200, 200, 200},
	{"GET /v1/approvals", "", 200, 200, 200, 403, 403, 403, 200},
	{"POST /v1/approvals/{id}", `{"decision":"approve"}`, 403, 200, 200, 403, 403, 403, 404},
	{"POST /v1/files", uploaded, 403, 201, 201, 201, 201, 201, 201},
	{"GET /v1/files/{id}", "", 200, 200, 200, 200, 404, 200, 404},
	{"GET /v1/groups", "", 200, 200, 200, 200, 200, 200, 200},
	{"GET /v1/usage", "", 200, 200, 200, 403, 403, 403, 200},
	{"GET /v1/audit", "", 403, 403, 200, 403, 403, 403, 403},
	{"GET /v1/me", "", 200, 200, 200, 200, 200, 200, 200},
	{"GET /v1/config", "", 403, 403, 200, 403, 403, 403, 403},
	{"PUT /v1/config", `{"text":"a: b"}`, 403, 403, 422, 403, 403, 403, 403}, // without If-Match
	{"POST /v1/config/check", `{"text":"a: b"}`, 403, 403, 200, 403, 403, 403, 403},
	{"POST /v1/config/code", `{"text":"a: b"}`, 403, 403, 422, 403, 403, 403, 403}, // the text has mistakes
	{"GET /v1/config/versions", "", 403, 403, 200, 403, 403, 403, 403},
	{"GET /v1/config/versions/{id}", "", 403, 403, 404, 403, 403, 403, 403},
	{"GET /v1/config/schema", "", 403, 403, 200, 403, 403, 403, 403},
	{"GET /v1/tasks/{id}/steps", "", 200, 200, 200, 200, 404, 200, 404},
	{"GET /v1/tasks/{id}/steps/{step}/prompt", "", 404, 404, 404, 403, 403, 403, 404}, // no model worked on the task
	{"POST /v1/tasks/{id}/summary", "", 403, 200, 200, 403, 403, 403, 404},
	{"GET /v1/servers", "", 403, 200, 200, 403, 403, 403, 403},
	{"GET /v1/servers/{server}", "", 403, 404, 404, 403, 403, 403, 403}, // there is no such server
	{"POST /v1/servers/{server}/accept", `{"changes":["x"]}`, 403, 403, 404, 403, 403, 403, 403},
	{"POST /v1/servers/{server}/tools/{tool}/call", `{"arguments":{}}`, 403, 403, 404, 403, 403, 403, 403},
	{"GET /v1/models", "", 403, 200, 200, 403, 403, 403, 403},
	{"GET /v1/health", "", 403, 200, 200, 403, 403, 403, 403},
	{"GET /v1/people", "", 403, 403, 200, 403, 403, 403, 403},
	{"POST /v1/people/{key}", `{"decision":"remove"}`, 403, 403, 409, 403, 403, 403, 403}, // legwork does not know the person
	{"GET /v1/schedules", "", 200, 200, 200, 403, 403, 403, 200},
	{"POST /v1/schedules/{id}", `{"action":"pause"}`, 403, 404, 404, 403, 403, 403, 404}, // there is no such schedule
	{"GET /v1/connections", "", 200, 200, 200, 403, 403, 403, 200},
	{"GET /v1/connections/{server}", "", 403, 403, 200, 403, 403, 403, 403},
	{"POST /v1/connections/{server}", "", 403, 404, 404, 403, 403, 403, 404}, // there is no such server
	{"DELETE /v1/connections/{server}", "", 403, 404, 404, 403, 403, 403, 404},
	{"GET /metrics", "", 200, 200, 200, 403, 403, 403, 200},
	{"POST /mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, 200, 200, 200, 200, 200, 200},
}

// uploaded is the body of an upload.
const uploaded = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nWater boils.\r\n--b--\r\n"

// open is what needs no token.
var open = []string{"/healthz", "/readyz", "/openapi.json", "/docs"}

// TestRoles holds every route to the rights of each role, and to refusing all
// other callers.
func TestRoles(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	o.takesBack(goneToken)
	for _, r := range rights {
		for _, c := range []struct {
			who, token string
			want       int
		}{
			{"viewer", viewerToken, r.viewer},
			{"operator", operatorToken, r.operator},
			{"admin", adminToken, r.admin},
			{"agent", agentToken, r.agent},
			{"another agent", otherToken, r.other},
			{"another agent of all programs", pairToken, r.pair},
			{"operator elsewhere", farToken, r.far},
			{"stranger", "", 401},
			{"wrong token", adminToken + "x", 401},
			{"a token that was taken back", goneToken, 401},
			{"the hash for the token", conf.HashToken(adminToken), 401},
		} {
			method, path := o.scene(r.route)
			got := o.calls(c.token, method, path, r.body, "Accept: application/json, text/event-stream")
			if got.status == http.StatusTooManyRequests && c.want == 401 {
				continue // strangers wait in the end: TestStrangersWait of package web
			}
			if got.status != c.want {
				t.Errorf("%s by %s: got %d %.300s, want %d", r.route, c.who, got.status, got.body, c.want)
			}
			if kind := got.header.Get("Content-Type"); got.status >= 400 && kind != "application/problem+json" {
				t.Errorf("%s by %s: an error of type %q: %.300s", r.route, c.who, kind, got.body)
			}
		}
	}
	for _, path := range open {
		if got := o.calls("", "GET", path, ""); got.status != http.StatusOK {
			t.Errorf("%s by a stranger: got %d, want 200", path, got.status)
		}
	}
	o.everyRouteIsJudged()
	o.seesOnlyIts(farToken)
}

// scene makes what a route is about and puts it in its place.
func (o *apiEnv) scene(route string) (method, path string) {
	method, path, _ = strings.Cut(route, " ")
	path = strings.NewReplacer("{server}", "none", "{tool}", "none", "{key}", "telegram:404", "{step}", "none").Replace(path)
	if strings.HasPrefix(path, "/v1/approvals/") {
		return method, strings.Replace(path, "{id}", o.reviews(), 1)
	}
	if !strings.Contains(path, "{id}") {
		return method, path
	}
	if strings.HasPrefix(path, "/v1/files/") {
		file := o.calls(agentToken, "POST", "/v1/files", strings.Replace(uploaded, "boils", "freezes", 1)).field(o.env.t, "id")
		o.calls(agentToken, "POST", "/v1/tasks", `{"goal":"Read it.","run":false,"files":["`+file+`"]}`).field(o.env.t, "id")
		return method, "/v1/files/" + file
	}
	id := o.shares(agentToken)
	if strings.HasSuffix(path, "/retry") {
		if r := o.calls(agentToken, "POST", "/v1/tasks/"+id+"/answer", `{"text":"Done."}`); r.status != http.StatusOK {
			o.env.t.Fatalf("answering: got %d %s", r.status, r.body)
		}
	}
	return method, strings.NewReplacer("{id}", id, "{seq}", "1").Replace(path)
}

// takesBack takes a token out of the config and waits until that is in use.
func (o *apiEnv) takesBack(token string) {
	o.env.t.Helper()
	if got := o.calls(token, "GET", "/v1/me", ""); got.status != http.StatusOK {
		o.env.t.Fatalf("with a token that is about to be taken back: got %d %s", got.status, got.body)
	}
	var kept []string
	for line := range strings.Lines(o.config) {
		if !strings.Contains(line, conf.HashToken(token)) {
			kept = append(kept, line)
		}
	}
	o.configure(strings.Join(kept, ""))
	o.until("that the token was taken back", func() bool {
		return countLines(o.err.String(), []string{"config reloaded", "http"}) > 0
	})
}

// everyRouteIsJudged compares the table with the API's own document.
func (o *apiEnv) everyRouteIsJudged() {
	o.env.t.Helper()
	var document struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(o.calls("", "GET", "/openapi.json", "").body), &document); err != nil {
		o.env.t.Fatal(err)
	}
	var documented, judged []string
	for path, methods := range document.Paths {
		for method := range methods {
			if slices.Contains([]string{"get", "put", "post", "patch", "delete", "head", "options"}, method) {
				documented = append(documented, strings.ToUpper(method)+" "+path)
			}
		}
	}
	for _, r := range rights {
		judged = append(judged, r.route)
	}
	for _, route := range documented {
		if !slices.Contains(judged, route) {
			o.env.t.Errorf("%s is documented, but the table does not say who may", route)
		}
	}
	for _, route := range judged {
		if strings.Contains(route, " /v1/") && !slices.Contains(documented, route) {
			o.env.t.Errorf("%s is not documented", route)
		}
	}
}

// seesOnlyIts holds lists to what the chats of a token let it see.
func (o *apiEnv) seesOnlyIts(token string) {
	o.env.t.Helper()
	for _, path := range []string{"/v1/tasks", "/v1/approvals"} {
		var all, seen struct{ Items []map[string]any }
		for t, list := range map[string]any{adminToken: &all, token: &seen} {
			if err := json.Unmarshal([]byte(o.calls(t, "GET", path, "").body), list); err != nil {
				o.env.t.Fatal(err)
			}
		}
		if len(all.Items) == 0 {
			o.env.t.Errorf("%s: an admin sees nothing", path)
		}
		for _, item := range seen.Items {
			if chat := fmt.Sprint(item["chat"]); !strings.HasPrefix(chat, "api:far") && !strings.HasPrefix(chat, "slack:C1") {
				o.env.t.Errorf("%s: a token that may not see it sees %v", path, item)
			}
		}
	}
}

// TestRefusalsAreAudited: what a role may not is in the audit log, and so is that
// tokens were taken back.
func TestRefusalsAreAudited(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	o.calls(viewerToken, "POST", "/v1/tasks", `{"goal":"x"}`)
	o.takesBack(goneToken)
	o.until("both in the audit log", func() bool {
		text := o.calls(adminToken, "GET", "/v1/audit", "").body
		return strings.Contains(text, `"action":"token.refused"`) && strings.Contains(text, `"who":"api:eye"`) && strings.Contains(text, `"target":"POST /v1/tasks"`) &&
			strings.Contains(text, `"action":"config.reload"`) && strings.Contains(text, "token gone removed")
	})
}

// TestChangesAreAudited: actions by hand beside a running legwork are in its
// audit log.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	o.runs([]string{"Paused"}, "pause")
	o.runs([]string{"paused already"}, "pause") // it changes nothing, and is not logged
	o.runs([]string{"Resumed"}, "resume")
	o.runs([]string{"good"}, "data", "backup", o.file("copy.db"))
	o.runs([]string{"before"}, "data", "compact")
	o.runs([]string{"legwork stores nothing about slack:U9"}, "data", "forget", "--yes", "slack:U9")
	o.configure(strings.Replace(o.config, "log: {level", "lgo: {level", 1))
	audited := func() string { return o.calls(adminToken, "GET", "/v1/audit?limit=50", "").body }
	o.until("the bad reload", func() bool { return strings.Contains(audited(), "not used, mistakes: 1") })
	var log struct {
		Items []struct{ Who, Action, Target string }
	}
	if err := json.Unmarshal([]byte(audited()), &log); err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, e := range slices.Backward(log.Items) {
		actions = append(actions, e.Action)
		if byHand := e.Action != "config.reload"; byHand != strings.HasPrefix(e.Who, "terminal:") || strings.Contains(e.Target, "U9") {
			t.Errorf("the entry %+v", e)
		}
	}
	if n := strings.Count(o.serving.err.String(), "msg=paused"); n != 1 {
		t.Errorf("the log has %d lines for the pause, want 1", n)
	}
	if want := []string{"pause", "resume", "data.backup", "data.compact", "data.forget", "config.reload"}; !slices.Equal(actions, want) {
		t.Errorf("the audit log holds %q, want %q", actions, want)
	}
}

// TestStreamEndsWithItsToken: who follows is cut off when the token is taken back.
func TestStreamEndsWithItsToken(t *testing.T) {
	t.Parallel()
	o := newAPIEnv(t, options{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+o.address+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+goneToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("following: %v, %v", resp, err)
	}
	defer func() { _ = resp.Body.Close() }()
	ended := make(chan string, 1)
	go func() {
		text, err := io.ReadAll(resp.Body)
		ended <- fmt.Sprintf("%s %v", text, err)
	}()
	o.takesBack(goneToken)
	o.shares(adminToken)
	o.until("the end of the stream", func() bool { return len(ended) == 1 })
	if got := <-ended; strings.Contains(got, "Review the drafts") {
		t.Errorf("after the token was taken back the stream told: %s", got)
	}
}
