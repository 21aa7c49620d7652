package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"legwork/tasks/api"
	webapi "legwork/web/api"
)

func TestStartAndWait(t *testing.T) {
	e := newEnv(t)
	task, got := want[api.Task](e, http.StatusCreated, request{
		method: "POST", path: "/v1/tasks", token: "operator", header: map[string]string{"Prefer": "respond-async, wait=20"}, body: map[string]any{"goal": "Say hello."},
	})
	if task.State != "done" || task.Answer == nil || *task.Answer != "hello" || task.From != "api:operator" || task.Chat != "api:operator/"+string(task.ID) {
		t.Errorf("got %+v, want it done with hello", task)
	}
	if got.header.Get("Location") != "/v1/tasks/"+string(task.ID) || got.header.Get("Preference-Applied") != "wait=20" {
		t.Errorf("headers: got %v", got.header)
	}
	same, got := want[api.Task](e, http.StatusOK, request{method: "GET", path: "/v1/tasks/" + string(task.ID), header: map[string]string{"Prefer": "wait=9999"}})
	if same.ID != task.ID || got.header.Get("Preference-Applied") != "wait=300" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %+v %v, want the task and wait=300", same, got.header)
	}
}

func TestIdempotency(t *testing.T) {
	e := newEnv(t)
	start := request{method: "POST", path: "/v1/tasks", body: map[string]any{"goal": "Once.", "idempotency_key": "k1"}}
	first, got := want[api.Task](e, http.StatusCreated, start)
	if got.header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first is called a replay")
	}
	again, got := want[api.Task](e, http.StatusOK, request{
		method: "POST", path: "/v1/tasks", header: map[string]string{"Idempotency-Key": "k1"}, body: map[string]any{"goal": "Once."},
	})
	if again.ID != first.ID || got.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("got task %s %v, want %s replayed", again.ID, got.header, first.ID)
	}
	for _, c := range []struct {
		header string
		body   map[string]any
		code   string
	}{
		{"k1", map[string]any{"goal": "Another."}, "idempotency_key_reused"},
		{"k2", map[string]any{"goal": "Once.", "idempotency_key": "k1"}, "invalid"},
	} {
		p, _ := want[problem](e, http.StatusUnprocessableEntity, request{method: "POST", path: "/v1/tasks", header: map[string]string{"Idempotency-Key": c.header}, body: c.body})
		if p.Code != c.code || p.Type != "urn:legwork:problem:"+c.code {
			t.Errorf("key %s with %v: got %+v, want %s", c.header, c.body, p, c.code)
		}
	}
	shared := e.share("agent")
	note := request{
		method: "POST", path: "/v1/tasks/" + string(shared.ID) + "/messages", token: "agent",
		body: map[string]any{"type": "thought", "content": "hm", "idempotency_key": "m1"},
	}
	one, _ := want[api.Message](e, http.StatusCreated, note)
	two, got := want[api.Message](e, http.StatusOK, note)
	if one.Seq != two.Seq || got.header.Get("Idempotent-Replayed") != "true" || one.SenderID != "agent:agent" {
		t.Errorf("got messages %+v and %+v, want the same", one, two)
	}
}

func TestListInPages(t *testing.T) {
	e := newEnv(t)
	var ids []string
	for range 7 {
		ids = append(ids, string(e.share("agent").ID))
	}
	slices.Sort(ids) // those of one millisecond are in no order of making
	slices.Reverse(ids)
	var got []string
	path := "/v1/tasks?limit=3&state=working,waiting&chat=api:agent"
	for pages := 1; ; pages++ {
		p, _ := want[webapi.Page[api.TaskSummary]](e, http.StatusOK, request{method: "GET", path: path, token: "viewer"})
		for _, task := range p.Items {
			got = append(got, string(task.ID))
		}
		if p.NextCursor == nil {
			if pages != 3 {
				t.Errorf("got %d pages, want 3", pages)
			}
			break
		}
		path = "/v1/tasks?limit=3&state=working,waiting&chat=api:agent&cursor=" + *p.NextCursor
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		t.Errorf("got %v, want %v", got, ids)
	}
	for query, n := range map[string]int{"state=done&state=working&limit=5": 5, "state=done&state=failed,waiting": 0, "state=working&state=working": 7} {
		p, _ := want[webapi.Page[api.TaskSummary]](e, http.StatusOK, request{method: "GET", path: "/v1/tasks?" + query, token: "viewer"})
		if len(p.Items) != n {
			t.Errorf("%s: got %d tasks, want %d", query, len(p.Items), n)
		}
	}
	if p, _ := want[webapi.Page[api.TaskSummary]](e, http.StatusOK, request{method: "GET", path: "/v1/tasks", token: "narrow"}); len(p.Items) != 0 {
		t.Errorf("a token that sees nothing of others got %v", p.Items)
	}
}

// many is so many fields of an object.
func many(n int) string {
	fields := make([]string, n)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	return strings.Join(fields, ",")
}

func TestRefusedRequests(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	for _, c := range []struct {
		name         string
		method, path string
		kind         string // content type
		body         string
		status       int
		code         string
		says         string
	}{
		{"no JSON", "POST", "/v1/tasks", "", `{"goal":`, 400, "malformed", "unexpected end"},
		{"more after it", "POST", "/v1/tasks", "", `{"goal":"x"} {}`, 400, "malformed", "after top-level value"},
		{"a key twice", "POST", "/v1/tasks", "", `{"goal":"x","goal":"y"}`, 400, "malformed", `"goal" is there twice`},
		{"not UTF-8", "POST", "/v1/tasks", "", "{\"goal\":\"\xff\"}", 400, "malformed", "UTF-8"},
		{"NUL", "POST", "/v1/tasks", "", `{"goal":"a\u0000b"}`, 400, "malformed", "NUL"},
		{"half a character", "POST", "/v1/tasks", "", `{"goal":"a\ud800b"}`, 400, "malformed", "surrogate"},
		{"too deep", "POST", "/v1/tasks/" + id + "/messages", "", `{"type":"thought","content":` + deep + `}`, 400, "malformed", "nested"},
		{"a huge number", "PUT", "/v1/tasks/" + id + "/state", "", `{"n":1e99999}`, 400, "malformed", "number"},
		{"a large number", "PUT", "/v1/tasks/" + id + "/state", "", `{"n":1e400}`, 400, "malformed", "the number 1e400 is beyond"},
		{"only space", "POST", "/v1/tasks", "", "  ", 400, "malformed", "unexpected end"},
		{"no body", "POST", "/v1/tasks", "", "", 400, "malformed", "Send a body"},
		{"unknown field", "POST", "/v1/tasks", "", `{"goal":"x","gaol":"y"}`, 422, "invalid", "body.gaol: unexpected property; allowed are files, goal, groups, idempotency_key, language, notify, run"},
		{"unknown field in another", "POST", "/v1/tasks", "", `{"goal":"x","notify":{"url":"http://x"}}`, 422, "invalid", "body.notify.url: unexpected property; allowed are chat, webhook"},
		{"a notice without a place", "POST", "/v1/tasks", "", `{"goal":"x","notify":{}}`, 422, "invalid", "body.notify: "},
		{"a notice that is null", "POST", "/v1/tasks", "", `{"goal":"x","notify":null}`, 422, "invalid", "body.notify: expected object, not null"},
		{"a key without a name", "PUT", "/v1/tasks/" + id + "/state", "", `{"":1}`, 422, "invalid", "body: has a key"},
		{"a large value", "PUT", "/v1/tasks/" + id + "/state", "", `{"k":"` + strings.Repeat("x", 66<<10) + `"}`, 422, "invalid", "body.k: has"},
		{"another case", "POST", "/v1/tasks", "", `{"Goal":"x"}`, 422, "invalid", "body.Goal: unexpected property"},
		{"wrong type", "POST", "/v1/tasks", "", `{"goal":["x"]}`, 422, "invalid", "body.goal: expected string"},
		{"a list", "POST", "/v1/tasks", "", `[1]`, 422, "invalid", "body: expected object"},
		{"another form", "POST", "/v1/tasks", "application/x-www-form-urlencoded", `goal=x`, 415, "unsupported_media_type", "application/json"},
		{"another charset", "POST", "/v1/tasks", "application/json; charset=latin1", `{"goal":"x"}`, 415, "unsupported_media_type", "application/json"},
		{"a merge patch by PUT", "PUT", "/v1/tasks/" + id + "/state", "application/merge-patch+json", `{"a":1}`, 415, "unsupported_media_type", "application/json"},
		{"unknown parameter", "GET", "/v1/tasks?stat=done", "", "", 422, "invalid", "query.stat: unknown query parameter; allowed are chat, cursor, group, limit, person, q, state"},
		{"a parameter where none is", "GET", "/v1/me?x=1", "", "", 422, "invalid", "query.x: unknown query parameter; none are allowed"},
		{"a parameter twice", "GET", "/v1/tasks?limit=1&limit=2", "", "", 422, "invalid", "query.limit: given more than once"},
		{"many values one by one", "GET", "/v1/tasks?" + strings.Repeat("state=done&", 101), "", "", 422, "invalid", "query.state: has 101 values"},
		{"a state that is none", "GET", "/v1/tasks?state=over", "", "", 422, "invalid", "expected value to be one of"},
		{"a limit too high", "GET", "/v1/tasks?limit=201", "", "", 422, "invalid", "query.limit: expected number <= 200"},
		{"a limit that is none", "GET", "/v1/tasks?limit=all", "", "", 422, "invalid", "query.limit: invalid integer"},
		{"a cursor that is none", "GET", "/v1/tasks?cursor=abc", "", "", 422, "invalid", "next_cursor"},
		{"a cursor of another list", "GET", "/v1/tasks?cursor=YXVkaXQ6MTI", "", "", 422, "invalid", "next_cursor"},
		{"a body where none is", "POST", "/v1/tasks/" + id + "/cancel", "", `{"reason":"x"}`, 422, "invalid", "body: this call takes none"},
		{"many unknown fields", "POST", "/v1/tasks", "", "{" + many(30_000) + "}", 422, "invalid", "body.k0: unexpected property"},
		{"many values", "POST", "/v1/tasks", "", `{"goal":"x","groups":[` + strings.Repeat(`"",`, 60_000) + `""]}`, 422, "invalid", "body.groups: expected at most 100 values"},
		{"far too many values", "POST", "/v1/tasks", "", `{"goal":"x","groups":[` + strings.Repeat(`"",`, 70_000) + `""]}`, 400, "malformed", "more than 65536 values"},
		{"a large content", "POST", "/v1/tasks/" + id + "/messages", "", `{"type":"thought","content":[` + strings.Repeat("1,", 40_000) + `1]}`, 422, "invalid", "body.content: has 80003 bytes"},
		{"many keys", "PUT", "/v1/tasks/" + id + "/state", "", "{" + many(30_000) + "}", 422, "invalid", "body: expected object with at most 100 properties"},
		{"many parameters", "GET", "/v1/tasks?" + strings.NewReplacer(`"`, "", ":", "=", ",", "&").Replace(many(4000)), "", "", 422, "invalid", "query: has 4000 parameters"},
		{"many values of a parameter", "GET", "/v1/tasks?state=" + strings.Repeat("x,", 8000), "", "", 422, "invalid", "query.state: has 8001 values"},
		{"nowhere", "GET", "/v1/nothing", "", "", 404, "not_found", "/docs"},
		{"not quite there", "GET", "/v1/tasks/", "", "", 404, "not_found", ""},
		{"roundabout", "GET", "/v1//tasks", "", "", 404, "not_found", ""},
		{"no such task", "GET", "/v1/tasks/01KAHE0A1B2C3D4E5F6G7H8J9K", "", "", 404, "not_found", ""},
		{"no such message", "GET", "/v1/tasks/" + id + "/context/99", "", "", 404, "not_found", "no message 99"},
		{"no such approval", "POST", "/v1/approvals/" + id + ".99.0", "", `{"decision":"approve"}`, 404, "not_found", "No such approval"},
		{"no id", "GET", "/v1/tasks/%00%ff", "", "", 404, "not_found", ""},
		{"another method", "DELETE", "/v1/tasks", "", "", 405, "method_not_allowed", "POST"},
		{"a notice to nowhere", "POST", "/v1/tasks", "", `{"goal":"x","notify":{"webhook":"none"}}`, 422, "invalid", "body.notify.webhook"},
		{"entity tags that are none", "PUT", "/v1/tasks/" + id + "/state", "", `{"a":1}`, 422, "invalid", "header.If-Match"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := request{method: c.method, path: c.path, header: map[string]string{}}
			if c.body != "" {
				r.body = []byte(c.body)
			}
			if c.kind != "" {
				r.header["Content-Type"] = c.kind
			}
			if strings.Contains(c.says, "If-Match") {
				r.header["If-Match"] = "3"
			}
			p, got := want[problem](e, c.status, r)
			if p.Code != c.code || p.Status != c.status || p.Title == "" || got.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("got %s %v, want %s", got.body, got.header, c.code)
			}
			if len(got.body) > 8<<10 {
				t.Errorf("got a problem of %d bytes", len(got.body))
			}
			text := p.Detail
			for _, ev := range p.Errors {
				text += "\n" + ev.Location + ": " + ev.Message
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("got %q, want %q in it", text, c.says)
			}
			if c.status == http.StatusMethodNotAllowed && got.header.Get("Allow") == "" {
				t.Errorf("got no Allow")
			}
		})
	}
	for _, body := range []string{`{}`, `no JSON`} {
		p, _ := want[problem](e, http.StatusForbidden, request{method: "POST", path: "/v1/tasks?stat=done", token: "viewer", body: []byte(body)})
		if says := "operator, admin, agent"; !strings.Contains(p.Detail, says) {
			t.Errorf("a viewer that sends %s is told %q, want which roles may: %s", body, p.Detail, says)
		}
	}
	if got := e.do(request{method: "OPTIONS", path: "/v1/tasks"}); got.status != http.StatusNoContent || !strings.Contains(got.header.Get("Allow"), "POST") {
		t.Errorf("OPTIONS: got %d %v", got.status, got.header)
	}
	if got := e.do(request{method: "HEAD", path: "/v1/tasks/" + id}); got.status != http.StatusOK || len(got.body) != 0 {
		t.Errorf("HEAD: got %d %q", got.status, got.body)
	}
}

// TestEndings: who ends a task can wait until it is over.
func TestEndings(t *testing.T) {
	e := newEnv(t)
	for _, c := range []struct {
		call, state string
		body        any
	}{{"answer", "done", map[string]any{"text": "Two of three agree."}}, {"cancel", "stopped", nil}} {
		r := request{method: "POST", path: "/v1/tasks/" + string(e.share("agent").ID) + "/" + c.call, token: "agent", header: map[string]string{"Prefer": "wait=20"}, body: c.body}
		for range 2 { // the second time because the first reply was lost
			got, reply := want[api.Task](e, http.StatusOK, r)
			if got.State != c.state || got.Finished == nil || reply.header.Get("Preference-Applied") != "wait=20" {
				t.Errorf("%s: got %s %v, want it %s", c.call, reply.body, reply.header, c.state)
			}
		}
	}
}
