package console_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/web/console"
)

// post is a post of the web chat as browsers get it.
type post map[string]any

// fake is the server that the page sees: the page itself and a strict web chat. What
// the page does wrong fails the test.
type fake struct {
	*testing.T
	url string

	mu       sync.Mutex
	seq      int
	signedIn bool
	posts    map[string][]post // by conversation
	uploads  map[string][]byte
	streams  map[chan string]bool
	pressed  []post // bodies of presses
	sent     []post // bodies of messages
	keys     map[string]bool
	read     map[string]int // the newest post that was read, by conversation
	changed  chan struct{}  // a press arrived
	down     bool           // all calls fail: the network is gone
	language string         // that the person has chosen
	timezone string         // of the person
	refused  string         // why messages are refused; empty: they are not
}

func newFake(t *testing.T) *fake {
	f := &fake{T: t, signedIn: true, posts: map[string][]post{}, uploads: map[string][]byte{}, streams: map[chan string]bool{}, keys: map[string]bool{}, read: map[string]int{}, changed: make(chan struct{}, 100)}
	mux := http.NewServeMux()
	mux.Handle("/console/", console.Handler())
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request){
		"GET /v1/session":                              f.session,
		"POST /v1/session":                             f.signIn,
		"PATCH /v1/session":                            f.prefer,
		"DELETE /v1/session":                           f.signOut,
		"GET /v1/sessions":                             f.sessions,
		"GET /v1/chat/conversations":                   f.list,
		"DELETE /v1/chat/conversations/{id}":           f.forget,
		"GET /v1/chat/conversations/{id}/posts":        f.page,
		"POST /v1/chat/conversations/{id}/messages":    f.message,
		"POST /v1/chat/conversations/{id}/press":       f.press,
		"POST /v1/chat/conversations/{id}/read":        f.markRead,
		"GET /v1/chat/conversations/{id}/files/{file}": f.file,
		"GET /v1/groups": func(w http.ResponseWriter, _ *http.Request) {
			reply(w, 200, post{"items": []post{{"name": "web"}}, "next_cursor": nil})
		},
		"POST /v1/files":      f.upload,
		"GET /v1/chat/events": f.events,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if f.refuses(w, r) {
				return
			}
			serve(w, r)
		})
	}
	mux.HandleFunc("GET /v1/session/ways", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, post{"token": true, "oidc": ""}) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the page asks for %s %s, which is no call", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	})
	server := httptest.NewServer(mux)
	f.url = server.URL + "/console/"
	t.Cleanup(func() {
		f.cut()
		server.CloseClientConnections()
		server.Close()
	})
	return f
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the browser may be gone
}

func (f *fake) refuses(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.down:
		panic(http.ErrAbortHandler)
	case !f.signedIn && (r.Method != http.MethodPost || r.URL.Path != "/v1/session"):
		reply(w, 401, post{"status": 401, "code": "unauthorized", "title": "Not signed in"})
		return true
	}
	return false
}

// set changes the state of the fake.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// await waits for presses until what they left is as wanted.
func (f *fake) await(done func() bool) {
	for {
		f.mu.Lock()
		ok := done()
		f.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-f.changed:
		case <-f.Context().Done():
			f.Fatal("the page did not press")
		}
	}
}

func (f *fake) session(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	reply(w, 200, post{
		"name": "Ann", "role": "admin", "person": "telegram:1", "chats": []string{}, "language": f.language, "timezone": f.timezone, "can": []string{"read", "start"},
		"chat": true, "config": true, "session": post{"id": "s1", "expires_at": "2030-01-01T00:00:00Z"}, "version": "test",
	})
}

func (f *fake) signIn(w http.ResponseWriter, r *http.Request) {
	body := f.body(r, "token", "link")
	if body["token"] != "good" && body["link"] != "CODE" {
		reply(w, 401, post{"status": 401, "code": "unauthorized", "title": "No"})
		return
	}
	f.set(func() { f.signedIn = true })
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) prefer(w http.ResponseWriter, r *http.Request) {
	body := f.body(r, "language", "timezone")
	f.set(func() {
		for name, of := range map[string]*string{"language": &f.language, "timezone": &f.timezone} {
			if value, ok := body[name].(string); ok {
				*of = value
			}
		}
	})
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) signOut(w http.ResponseWriter, _ *http.Request) {
	f.set(func() { f.signedIn = false })
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) sessions(w http.ResponseWriter, _ *http.Request) {
	now := time.Now()
	reply(w, 200, post{"items": []post{
		{"id": "s1", "name": "Ann", "way": "link", "browser": "Firefox, Linux", "address": "127.0.0.1", "used_at": now, "expires_at": now.Add(12 * time.Hour)},
		{"id": "s2", "name": "Ann", "way": "token", "browser": "Safari, iPhone", "address": "10.0.0.7", "used_at": now.Add(-3 * time.Hour), "expires_at": now.Add(9 * time.Hour)},
	}})
}

// body reads a body of JSON that may have only these keys.
func (f *fake) body(r *http.Request, keys ...string) post {
	var body post
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		f.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	for key := range body {
		if !slices.Contains(keys, key) {
			f.Errorf("%s %s: the body has %q, which the call does not take", r.Method, r.URL.Path, key)
		}
	}
	return body
}

func (f *fake) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q, items := r.URL.Query().Get("q"), []post{}
	for id, posts := range f.posts {
		text := fmt.Sprint(posts[0]["text"])
		if strings.Contains(text, q) {
			one := post{"id": id, "title": text[:min(len(text), 200)], "last_at": posts[len(posts)-1]["at"], "unread": f.unread(id), "task": ""}
			if q != "" {
				one["found"] = text[:min(len(text), 200)]
			}
			items = append(items, one)
		}
	}
	slices.SortFunc(items, func(a, b post) int { return strings.Compare(fmt.Sprint(b["id"]), fmt.Sprint(a["id"])) })
	reply(w, 200, post{"items": items, "next_cursor": nil})
}

// unread reports whether legwork has added a post that was not read.
func (f *fake) unread(id string) bool {
	return slices.ContainsFunc(f.posts[id], func(p post) bool {
		var number int
		_, _ = fmt.Sscan(fmt.Sprint(p["id"]), &number) // the ids are numbers
		return p["mine"] == nil && number > f.read[id]
	})
}

func (f *fake) markRead(w http.ResponseWriter, r *http.Request) {
	id, body := r.PathValue("id"), f.body(r, "seq")
	seq, _ := body["seq"].(float64)
	f.mu.Lock()
	defer f.mu.Unlock()
	if seq < 1 {
		f.Errorf("the page has read %s up to %v, which is no post", id, body["seq"])
	}
	f.read[id] = max(f.read[id], int(seq))
	f.send("read", 0, post{"conversation": id, "seq": f.read[id]})
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) forget(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.posts, r.PathValue("id"))
	f.send("gone", 0, post{"conversation": r.PathValue("id")})
	w.WriteHeader(http.StatusNoContent)
}

func (f *fake) page(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, ok := f.posts[r.PathValue("id")]
	if !ok {
		reply(w, 404, post{"status": 404, "code": "not_found", "title": "No"})
		return
	}
	var before, limit int
	_, _ = fmt.Sscan(r.URL.Query().Get("before"), &before) // 0: the newest
	if _, err := fmt.Sscan(r.URL.Query().Get("limit"), &limit); err != nil || limit < 1 || limit > 200 {
		f.Errorf("posts with the limit %q", r.URL.Query().Get("limit"))
	}
	end := len(all)
	if before > 0 {
		end = slices.IndexFunc(all, func(p post) bool { return p["id"] == fmt.Sprint(before) })
	}
	start := max(0, end-limit)
	var next any
	if start > 0 {
		next = all[start]["id"]
	}
	reply(w, 200, post{"items": all[start:end], "next_cursor": next})
}

var validID = regexp.MustCompile(`^[0-9a-z]{26}$`)

func (f *fake) message(w http.ResponseWriter, r *http.Request) {
	body := f.body(r, "key", "text", "files", "reply_to")
	id := r.PathValue("id")
	if !validID.MatchString(id) {
		f.Errorf("the id of a conversation is %q", id)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refused != "" {
		reply(w, 422, post{"status": 422, "code": "invalid", "title": "No", "detail": f.refused})
		return
	}
	if key := fmt.Sprint(body["key"]); f.keys[key] {
		reply(w, 202, f.posts[id][len(f.posts[id])-1])
		return
	} else {
		f.keys[key] = true
	}
	f.sent = append(f.sent, body)
	p := post{"kind": "text", "mine": true, "text": body["text"]}
	if names, ok := body["files"].([]any); ok && len(names) > 0 {
		files := []post{}
		for _, name := range names {
			files = append(files, post{"id": name, "name": "notes.txt", "type": "text/plain", "bytes": len(f.uploads[fmt.Sprint(name)])})
		}
		p["files"] = files
	}
	reply(w, 202, f.put(id, p))
}

// put adds a post, or changes the one with its id, and announces it.
func (f *fake) put(conversation string, p post) post {
	f.seq++
	p["seq"], p["conversation"] = f.seq, conversation
	if p["id"] == nil {
		p["id"] = fmt.Sprint(f.seq)
	}
	if p["at"] == nil {
		p["at"] = time.Now().Format(time.RFC3339)
	}
	at := slices.IndexFunc(f.posts[conversation], func(q post) bool { return q["id"] == p["id"] })
	if at < 0 {
		f.posts[conversation] = append(f.posts[conversation], p)
	} else {
		f.posts[conversation][at] = p
	}
	f.send("post", f.seq, p)
	return p
}

// say adds a post of legwork.
func (f *fake) say(conversation string, p post) post {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.put(conversation, p)
}

func (f *fake) press(w http.ResponseWriter, r *http.Request) {
	body := f.body(r, "key", "post", "data", "text", "form", "plan")
	f.set(func() { f.pressed = append(f.pressed, body) })
	f.changed <- struct{}{}
	reply(w, 202, post{"note": "**Allowed**"})
}

func (f *fake) file(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.uploads[r.PathValue("file")])
}

func (f *fake) upload(w http.ResponseWriter, r *http.Request) {
	part, head, err := r.FormFile("file")
	if err != nil {
		f.Errorf("an upload without a file: %v", err)
		return
	}
	content, _ := io.ReadAll(part) // a short read shows as a wrong size
	f.mu.Lock()
	defer f.mu.Unlock()
	id := fmt.Sprint("u", len(f.uploads)+1)
	f.uploads[id] = content
	reply(w, 201, post{"id": id, "name": head.Filename, "bytes": len(content)})
}

// send sends an event to all streams. The caller holds the lock.
func (f *fake) send(event string, seq int, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		f.Fatal(err)
	}
	frame := fmt.Sprintf("event: %s\ndata: %s\n\n", event, text)
	if seq > 0 {
		frame = fmt.Sprintf("id: %d\n", seq) + frame
	}
	for stream := range f.streams {
		stream <- frame
	}
}

// cut ends all streams, as a lost connection does.
func (f *fake) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for stream := range f.streams {
		close(stream)
	}
	clear(f.streams)
}

func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	stream := make(chan string, 4096)
	w.Header().Set("Content-Type", "text/event-stream")
	f.mu.Lock()
	f.streams[stream] = true
	_, _ = fmt.Fprintf(w, "event: hello\ndata: {\"seq\":%d}\n\n", f.seq)
	if last := 0; r.Header.Get("Last-Event-ID") != "" {
		_, _ = fmt.Sscan(r.Header.Get("Last-Event-ID"), &last) // 0: everything
		for _, posts := range f.posts {
			for _, p := range posts {
				if p["seq"].(int) > last {
					text, _ := json.Marshal(p)
					_, _ = fmt.Fprintf(w, "id: %d\nevent: post\ndata: %s\n\n", p["seq"], text)
				}
			}
		}
	}
	f.mu.Unlock()
	control := http.NewResponseController(w)
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for control.Flush() == nil {
		select {
		case <-beat.C:
			_, _ = io.WriteString(w, ":\n\n")
		case <-r.Context().Done():
			f.mu.Lock()
			delete(f.streams, stream)
			f.mu.Unlock()
			return
		case frame, open := <-stream:
			if !open {
				return
			}
			_, _ = io.WriteString(w, frame)
		}
	}
}
