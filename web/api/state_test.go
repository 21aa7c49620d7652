package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"legwork/tasks/api"
)

func TestMergeByVersion(t *testing.T) {
	e := newEnv(t)
	path := "/v1/tasks/" + string(e.share("agent").ID) + "/state"
	read := func() (api.State, answer) {
		return want[api.State](e, 200, request{method: "GET", path: path})
	}
	if s, got := read(); s.Version != 0 || got.header.Get("ETag") != `"0"` {
		t.Fatalf("got %+v %v, want version 0", s, got.header)
	}
	for _, c := range []struct {
		method, match, kind, body string
		status                    int
		etag, state               string
	}{
		{"PUT", "", "", `{"a":1,"b":{"x":1,"y":2}}`, 200, `"1"`, `{"a":1,"b":{"x":1,"y":2}}`},
		{"PUT", `"0"`, "", `{"a":2}`, 412, `"1"`, `{"a":1,"b":{"x":1,"y":2}}`},
		{"PUT", `W/"1"`, "", `{"a":2}`, 412, `"1"`, `{"a":1,"b":{"x":1,"y":2}}`},
		{"PUT", `"abc", "1"`, "", `{"a":2}`, 200, `"2"`, `{"a":2,"b":{"x":1,"y":2}}`},
		{"PATCH", `*`, "", `{"a":null}`, 200, `"3"`, `{"b":{"x":1,"y":2}}`},
		{"PATCH", "", "application/merge-patch+json", `{"b":{"x":null,"z":{"n":null,"m":3}},"c":[1]}`, 200, `"4"`, `{"b":{"y":2,"z":{"m":3}},"c":[1]}`},
		{"PATCH", `"3"`, "application/merge-patch+json", `{"b":{"y":null}}`, 412, `"4"`, `{"b":{"y":2,"z":{"m":3}},"c":[1]}`},
		{"PATCH", "", "", `{"b":{"w":1}}`, 200, `"5"`, `{"b":{"w":1},"c":[1]}`},
	} {
		r := request{method: c.method, path: path, token: "agent", header: map[string]string{}, body: []byte(c.body)}
		if c.match != "" {
			r.header["If-Match"] = c.match
		}
		if c.kind != "" {
			r.header["Content-Type"] = c.kind
		}
		got := e.do(r)
		s, _ := read()
		state, err := json.Marshal(s.Values)
		if err != nil {
			t.Fatal(err)
		}
		if got.status != c.status || got.header.Get("ETag") != c.etag || string(state) != c.state {
			t.Errorf("%s %s If-Match %s: got %d %s %s, state %s, want %d %s %s", c.method, c.body, c.match, got.status, got.header.Get("ETag"), got.body, state, c.status, c.etag, c.state)
		}
		if c.status == 412 {
			var p problem
			if err := json.Unmarshal(got.body, &p); err != nil || p.Code != "precondition_failed" || p.Version == nil || etag(*p.Version) != c.etag {
				t.Errorf("got %s, want the version", got.body)
			}
		}
	}
}

func etag(version int) string { return fmt.Sprintf("%q", fmt.Sprint(version)) }

// TestMergesAtOnce: of those who read the same version, one wins.
func TestMergesAtOnce(t *testing.T) {
	e := newEnv(t)
	path := "/v1/tasks/" + string(e.share("agent").ID) + "/state"
	const writers, each = 8, 5
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for range each {
				for done := false; !done; {
					got := e.do(request{method: "GET", path: path, token: "agent"})
					var s api.State
					var n int
					if err := json.Unmarshal(got.body, &s); err != nil {
						t.Error(err)
						return
					}
					_ = json.Unmarshal(s.Values["n"], &n) // there is none at first
					put := e.do(request{
						method: "PUT", path: path, token: "agent", header: map[string]string{"If-Match": got.header.Get("ETag")},
						body: map[string]any{"n": n + 1, fmt.Sprint("by", w): n},
					})
					done = put.status == 200
					if !done && put.status != 412 {
						t.Errorf("got %d %s, want 200 or 412", put.status, put.body)
						return
					}
				}
			}
		})
	}
	all.Wait()
	s, _ := want[api.State](e, 200, request{method: "GET", path: path})
	if string(s.Values["n"]) != fmt.Sprint(writers*each) || s.Version != writers*each {
		t.Errorf("got n %s at version %d, want %d", s.Values["n"], s.Version, writers*each)
	}
}

// TestPatchesAtOnce: patches of different parts of one value are all kept, whatever
// version they are for.
func TestPatchesAtOnce(t *testing.T) {
	const writers = 40
	var every []string
	for version := range writers + 2 {
		every = append(every, etag(version))
	}
	for _, match := range []string{"", "*", strings.Join(every, ", ")} {
		e := newEnv(t)
		path := "/v1/tasks/" + string(e.share("agent").ID) + "/state"
		want[api.State](e, 200, request{method: "PUT", path: path, token: "agent", body: []byte(`{"all":{}}`)})
		header := map[string]string{"Content-Type": "application/merge-patch+json"}
		if match != "" {
			header["If-Match"] = match
		}
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				got := e.do(request{method: "PATCH", path: path, token: "agent", header: header, body: fmt.Appendf(nil, `{"all":{"k%d":1}}`, w)})
				if got.status != 200 {
					t.Errorf("If-Match %s: got %d %s", match, got.status, got.body)
				}
			})
		}
		all.Wait()
		s, _ := want[api.State](e, 200, request{method: "GET", path: path})
		if n := bytes.Count(s.Values["all"], []byte("k")); n != writers || s.Version != writers+1 {
			t.Errorf("If-Match %s: got %s at version %d, want %d keys", match, s.Values["all"], s.Version, writers)
		}
	}
}

func TestWaitForKeys(t *testing.T) {
	e := newEnv(t)
	path := "/v1/tasks/" + string(e.share("agent").ID) + "/state"
	put := func(body string) {
		t.Helper()
		want[api.State](e, 200, request{method: "PUT", path: path, token: "agent", body: []byte(body)})
	}
	put(`{"draft":1,"other":1}`)
	for _, c := range []struct {
		query  string
		header map[string]string
		status int
	}{
		{"", map[string]string{"If-None-Match": `"1"`}, http.StatusNotModified},
		{"", map[string]string{"If-None-Match": `W/"1", "x"`}, http.StatusNotModified},
		{"", map[string]string{"If-None-Match": `*`}, http.StatusNotModified},
		{"", map[string]string{"If-None-Match": `"0"`}, http.StatusOK},
		{"", map[string]string{"If-None-Match": `"1"`, "Prefer": "wait=1"}, http.StatusNotModified},
		{"?after=1", map[string]string{"Prefer": "wait=1"}, http.StatusOK},
		{"?after=0&keys=draft", map[string]string{"Prefer": "wait=20"}, http.StatusOK},
	} {
		got := e.do(request{method: "GET", path: path + c.query, header: c.header})
		if got.status != c.status || got.header.Get("ETag") != `"1"` || (c.status == http.StatusNotModified) != (len(got.body) == 0) {
			t.Errorf("%s %v: got %d %v %q, want %d", c.query, c.header, got.status, got.header, got.body, c.status)
		}
	}
	for _, body := range []string{`{"draft":2}`, `{"draft":null}`} {
		before, _ := want[api.State](e, 200, request{method: "GET", path: path})
		waiter := make(chan answer, 1)
		go func() {
			waiter <- e.do(request{
				method: "GET", path: path + "?keys=draft,review", token: "other",
				header: map[string]string{"If-None-Match": etag(before.Version), "Prefer": "wait=20"},
			})
		}()
		put(`{"other":` + fmt.Sprint(before.Version+5) + `}`) // of no interest
		put(body)
		got := <-waiter
		var s api.State
		if err := json.Unmarshal(got.body, &s); err != nil || got.status != 200 || s.Version != before.Version+2 || s.Values["other"] != nil {
			t.Errorf("%s: got %d %s, want what has changed", body, got.status, got.body)
		}
	}
}

// TestReviewOfAVersion: a yes counts for what was looked at, and for nothing else.
func TestReviewOfAVersion(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	decide := request{method: "POST", path: "/v1/approvals/" + e.review(id), body: map[string]any{"decision": "approve", "version": 7}}
	if p, got := want[problem](e, http.StatusPreconditionFailed, decide); p.Code != "precondition_failed" || p.Version == nil || *p.Version != 1 || got.header.Get("ETag") != `"1"` {
		t.Errorf("got %s %v, want the version that the state has now", got.body, got.header)
	}
	decide.body = map[string]any{"decision": "approve", "version": 1}
	want[api.Task](e, http.StatusOK, decide)
}

// TestHeadersOfChanges: lines of a list are one list, and what would protect a
// change is not left out silently.
func TestHeadersOfChanges(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	state, task := "/v1/tasks/"+id+"/state", map[string]any{"goal": "Review the literature.", "run": false}
	for _, c := range []struct {
		method, path string
		body         any
		name, value  string // of the header; its lines
		status       int
		says         string
	}{
		{"PUT", state, map[string]any{"a": 1}, "If-Match", "\"7\"\n\"0\"", 200, `"version":1`},
		{"PUT", state, map[string]any{"a": 2}, "If-Match", "", 422, "header.If-Match"},
		{"PUT", state, map[string]any{"a": 2}, "If-None-Match", "*", 422, "header.If-None-Match"},
		{"PATCH", state, map[string]any{"a": 2}, "If-Match", " ", 422, "header.If-Match"},
		{"GET", state, nil, "If-None-Match", "\"7\"\n\"1\"", 304, ""},
		{"POST", "/v1/tasks/" + id + "/messages", map[string]any{"type": "thought", "content": 1}, "If-Match", `"1"`, 422, "header.If-Match"},
		{"POST", "/v1/tasks/" + id + "/cancel", nil, "If-Match", `"1"`, 422, "header.If-Match"},
		{"POST", "/v1/tasks", task, "Idempotency-Key", "", 422, "header.Idempotency-Key"},
		{"POST", "/v1/tasks", task, "Idempotency-Key", "one\ntwo", 422, "header.Idempotency-Key"},
		{"POST", "/v1/tasks", task, "Content-Type", "application/json\ntext/plain", 422, "header.Content-Type"},
		{"GET", "/v1/tasks/" + id + "/events", nil, "Last-Event-ID", "1\n2", 422, "header.Last-Event-ID"},
		{"POST", "/v1/tasks/" + id + "/cancel", map[string]any{}, "Prefer", "respond-async", 200, `"stopped"`},
		{"GET", "/v1/tasks/" + id, nil, "Prefer", "respond-async\nwait=7", 200, `"stopped"`},
	} {
		got := e.do(request{method: c.method, path: c.path, header: map[string]string{c.name: c.value}, body: c.body})
		if got.status != c.status || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%s %s with %s: %q: got %d %s, want %d and %q", c.method, c.path, c.name, c.value, got.status, got.body, c.status, c.says)
		}
		if applied := got.header.Get("Preference-Applied"); strings.Contains(c.value, "wait") && applied != "wait=7" {
			t.Errorf("%q in two lines: got %q", c.value, applied)
		}
	}
}
