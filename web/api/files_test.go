package api_test

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/files"
	"legwork/tasks/api"
)

// upload is a request with a file in the part "file".
func upload(token, name string, content []byte) request {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, _ := w.CreateFormFile("file", name) // to memory
	_, _ = part.Write(content)
	_ = w.Close()
	return request{method: "POST", path: "/v1/files", token: token, header: map[string]string{"Content-Type": w.FormDataContentType()}, body: body.Bytes()}
}

func get(token string, id files.ID) request {
	return request{method: "GET", path: "/v1/files/" + string(id), token: token}
}

// TestFiles: an upload belongs to its token until a task uses it; then those who may
// see the task can read it.
func TestFiles(t *testing.T) {
	e := newEnv(t)
	content := bytes.Repeat([]byte("name,price\n"), 100_000)
	f, got := want[api.File](e, http.StatusCreated, upload("operator", "../offers \u202e.csv", content))
	if f.ID != files.IDOf(content) || f.Name != "offers _.csv" || f.Bytes != int64(len(content)) || f.Type != "text/csv" || got.header.Get("Location") != "/v1/files/"+string(f.ID) {
		t.Fatalf("got %+v %v", f, got.header)
	}
	read := func(token string, status int) answer {
		t.Helper()
		got := e.do(get(token, f.ID))
		if got.status != status {
			t.Fatalf("reading as %s: got %d %s, want %d", token, got.status, got.body, status)
		}
		return got
	}
	got = read("operator", http.StatusOK)
	_, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
	if !bytes.Equal(got.body, content) || err != nil || params["filename"] != f.Name || got.header.Get("Content-Type") != f.Type ||
		got.header.Get("Content-Security-Policy") != "sandbox" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %d bytes, %v, %v", len(got.body), got.header, err)
	}
	part := get("operator", f.ID)
	part.header = map[string]string{"Range": "bytes=11-20"}
	if got := e.do(part); got.status != http.StatusPartialContent || string(got.body) != "name,price" || got.header.Get("Content-Range") != fmt.Sprintf("bytes 11-20/%d", len(content)) {
		t.Errorf("a range: got %d %.50q %v", got.status, got.body, got.header)
	}
	known := get("operator", f.ID)
	known.header = map[string]string{"If-None-Match": got.header.Get("ETag")}
	if got := e.do(known); got.status != http.StatusNotModified || len(got.body) > 0 {
		t.Errorf("a known file: got %d with %d bytes", got.status, len(got.body))
	}
	// Others do not learn that it exists, not even admins.
	for _, token := range []string{"narrow", "agent", "admin"} {
		read(token, http.StatusNotFound)
		p, _ := want[problem](e, http.StatusUnprocessableEntity, request{method: "POST", path: "/v1/tasks", token: token, body: map[string]any{"goal": "Read it.", "files": []files.ID{f.ID}}})
		if p.Code != "invalid" || len(p.Errors) != 1 || p.Errors[0].Location != "body.files" {
			t.Errorf("%s uses the file of another: got %+v", token, p)
		}
	}
	want[problem](e, http.StatusForbidden, upload("viewer", "x", []byte("x")))

	task, _ := want[api.Task](e, http.StatusCreated, request{
		method: "POST", path: "/v1/tasks", token: "operator", body: map[string]any{"goal": "Compare.", "run": false, "files": []files.ID{f.ID, f.ID}, "idempotency_key": "k"},
	})
	opened, err := e.Store.Event(t.Context(), task.ID, 1)
	wanted := bot.Attachment{Ref: bot.KeptRef + string(f.ID), Kind: bot.AttachDocument, Name: f.Name, Type: f.Type, Bytes: f.Bytes}
	if err != nil || len(opened.Opening.Files) != 1 || opened.Opening.Files[0] != wanted {
		t.Fatalf("the opening has the files %+v, %v, want %+v", opened.Opening.Files, err, wanted)
	}
	read("admin", http.StatusOK)
	read("viewer", http.StatusOK)
	read("narrow", http.StatusNotFound)
	again, _ := want[api.Task](e, http.StatusOK, request{
		method: "POST", path: "/v1/tasks", token: "operator", body: map[string]any{"goal": "Compare.", "run": false, "files": []files.ID{f.ID, f.ID}, "idempotency_key": "k"},
	})
	if again.ID != task.ID {
		t.Errorf("the same request started the task %s, want %s", again.ID, task.ID)
	}
	second, _ := want[api.File](e, http.StatusCreated, upload("operator", "b.txt", []byte("more")))
	m, _ := want[api.Message](e, http.StatusCreated, request{
		method: "POST", path: "/v1/tasks/" + string(task.ID) + "/messages", token: "operator", body: map[string]any{"type": "observation", "content": "and this", "files": []files.ID{second.ID}},
	})
	if len(m.Files) != 1 || m.Files[0] != second {
		t.Errorf("the message has the files %+v, want %+v", m.Files, second)
	}
	c, _ := want[api.Context](e, http.StatusOK, request{method: "GET", path: "/v1/tasks/" + string(task.ID) + "/context", token: "operator"})
	if len(c.Messages) != 2 || len(c.Messages[0].Files) != 1 || c.Messages[0].Files[0] != f {
		t.Errorf("the context has %+v, want the file %+v", c.Messages, f)
	}
}

// TestBadUploads: the API refuses a body without one whole file, and keeps nothing.
func TestBadUploads(t *testing.T) {
	e := newEnv(t)
	good := upload("operator", "a.txt", []byte("content"))
	change := func(do func(*request)) request {
		r := good
		r.header = map[string]string{"Content-Type": good.header["Content-Type"]}
		do(&r)
		return r
	}
	cut := func(n int) request {
		return change(func(r *request) { r.body = good.body.([]byte)[:n] })
	}
	for name, c := range map[string]struct {
		request
		status int
		code   string
	}{
		"empty":          {upload("operator", "a.txt", nil), 422, "invalid"},
		"without a name": {upload("operator", "", []byte("x")), 422, "invalid"},
		"another part": {change(func(r *request) {
			r.body = bytes.ReplaceAll(good.body.([]byte), []byte(`name="file"`), []byte(`name="data"`))
		}), 422, "invalid"},
		"two parts":      {change(func(r *request) { r.body = twice(good) }), 422, "invalid"},
		"JSON":           {change(func(r *request) { r.header["Content-Type"] = "application/json"; r.body = []byte("{}") }), 415, "unsupported_media_type"},
		"no boundary":    {change(func(r *request) { r.header["Content-Type"] = "multipart/form-data" }), 415, "unsupported_media_type"},
		"no body":        {cut(0), 400, "malformed"},
		"cut in a head":  {cut(40), 400, "malformed"},
		"cut in a file":  {cut(len(good.body.([]byte)) - 65), 400, "malformed"},
		"cut at the end": {cut(len(good.body.([]byte)) - 4), 400, "malformed"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := want[problem](e.in(t), c.status, c.request)
			if p.Code != c.code {
				t.Errorf("got %+v, want %s", p, c.code)
			}
		})
	}
	if n, err := e.Store.(interface {
		FileBytes(ctx context.Context) (int64, error)
	}).FileBytes(t.Context()); err != nil || n != 0 {
		t.Errorf("%d bytes are kept, %v", n, err)
	}
	for _, id := range []string{"x", strings.Repeat("a", 64), "..%2f..%2fetc"} {
		want[problem](e, http.StatusNotFound, request{method: "GET", path: "/v1/files/" + id})
	}
}

// twice is the body of an upload with its part two times.
func twice(r request) []byte {
	body := r.body.([]byte)
	boundary, _, _ := strings.Cut(string(body), "\r\n")
	head, _, _ := bytes.Cut(body, []byte("\r\n"+boundary+"--"))
	return bytes.Join([][]byte{head, body}, []byte("\r\n"))
}

// TestFileLimits: the problem names the limit.
func TestFileLimits(t *testing.T) {
	e := newEnv(t)
	e.limits.Store(&api.FileLimits{File: 1000, Message: 1200, Chat: 1500, Total: 2000})
	content := func(n int, c string) []byte { return []byte(strings.Repeat(c, n)) }
	p, _ := want[problem](e, http.StatusRequestEntityTooLarge, upload("operator", "a", content(1001, "a")))
	if p.Code != "too_large" || !strings.Contains(p.Detail, "1000 bytes") {
		t.Errorf("one file: got %+v", p)
	}
	a, _ := want[api.File](e, http.StatusCreated, upload("operator", "a", content(1000, "a")))
	p, _ = want[problem](e, http.StatusInsufficientStorage, upload("operator", "b", content(501, "b")))
	if p.Code != "no_room" || !strings.Contains(p.Detail, "1500 bytes") {
		t.Errorf("one token: got %+v", p)
	}
	b, _ := want[api.File](e, http.StatusCreated, upload("operator", "b", content(500, "b")))
	p, _ = want[problem](e, http.StatusInsufficientStorage, upload("narrow", "c", content(501, "c")))
	if p.Code != "no_room" || !strings.Contains(p.Detail, "2000 bytes") {
		t.Errorf("in all: got %+v", p)
	}
	p, _ = want[problem](e, http.StatusUnprocessableEntity, request{method: "POST", path: "/v1/tasks", token: "operator", body: map[string]any{"goal": "x", "files": []files.ID{a.ID, b.ID}}})
	if len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Message, "1200") {
		t.Errorf("one message: got %+v", p)
	}
}
