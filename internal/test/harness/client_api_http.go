package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/harness/record"
)

// The tokens of the programs.
const (
	ops    = "ops"    // operator
	scout  = "scout"  // agent
	writer = "writer" // agent
)

// secretOf is a token.
func secretOf(name string) string { return "lw_" + strings.Repeat(name[:1], 52) }

// retryEvery is how long a program waits when there is no answer.
const retryEvery = 30 * time.Millisecond

// call is what a program asks for.
type call struct {
	token, method, path string
	key, match, prefer  string
	body                any
	file                *record.File // in place of body
}

// ask sends a request until it is answered, however many lives that takes. A
// status that is not wanted means a bug of the API or of the
// client; ok is false then, and when the run is over.
func (f *apiRequests) ask(ctx context.Context, c call, want ...int) (r record.Request, ok bool) {
	for {
		r = f.once(ctx, c)
		for _, status := range want {
			if r.Status == status {
				return r, true
			}
		}
		if ctx.Err() != nil {
			return r, false
		}
		if r.Status != 0 && r.Status != http.StatusServiceUnavailable {
			f.misused("%s %s of %s, %s: status %d: %s", c.method, c.path, c.token, r.Body, r.Status, r.Reply)
			return r, false
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// once sends a request to the present life.
func (f *apiRequests) once(ctx context.Context, c call) record.Request {
	life, base := f.address()
	r := record.Request{At: time.Now(), Life: life, Token: c.token, Method: c.method, Path: c.path, Key: c.key, Match: c.match}
	var body io.Reader
	kind := "application/json"
	if c.file != nil {
		text, of, err := form(c.file)
		if err != nil {
			f.misused("encoding a file: %v", err)
			return r
		}
		r.Body, body, kind = c.file.Name, text, of
	}
	if c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			f.misused("encoding a request: %v", err)
			return r
		}
		r.Body, body = string(text), bytes.NewReader(text)
	}
	if base == "" {
		return r
	}
	q, err := f.request(ctx, c, base, body)
	if err != nil {
		f.misused("making a request: %v", err)
		return r
	}
	if body != nil {
		q.Header.Set("Content-Type", kind)
	}
	if resp, err := f.http.Do(q); err == nil {
		text, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil {
			r.Status, r.Reply = resp.StatusCode, string(text)
		}
	}
	r.Done = time.Now()
	f.mu.Lock()
	f.wire = append(f.wire, r)
	f.mu.Unlock()
	if c.method != http.MethodGet { // polling is not news
		f.noticed()
	}
	return r
}

func (f *apiRequests) request(ctx context.Context, c call, base string, body io.Reader) (*http.Request, error) {
	q, err := http.NewRequestWithContext(ctx, c.method, base+c.path, body)
	if err != nil {
		return nil, err
	}
	q.Header.Set("Authorization", "Bearer "+secretOf(c.token))
	for name, value := range map[string]string{"Idempotency-Key": c.key, "If-Match": c.match, "Prefer": c.prefer} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	if c.path == "/mcp" {
		q.Header.Set("Accept", "application/json, text/event-stream")
	}
	return q, nil
}

// address is where the present life listens; empty as long as it does
// not.
func (f *apiRequests) address() (life int, base string) {
	f.mu.Lock()
	p := f.process
	f.mu.Unlock()
	if p == nil {
		return 0, ""
	}
	return p.n, p.address()
}

// decoded reads a reply; one that cannot be read is reported as misuse.
func decoded[T any](f *apiRequests, r record.Request) (v T) {
	if err := json.Unmarshal([]byte(r.Reply), &v); err != nil {
		f.misused("the reply to %s %s is no JSON: %v: %s", r.Method, r.Path, err, r.Reply)
	}
	return v
}

// misused notes a reply that no program should get.
func (f *apiRequests) misused(format string, a ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.misuse = append(f.misuse, fmt.Sprintf(format, a...))
}

// follow reads a stream to its end, over cuts and kills: it comes back with the id
// of the last event that it has read whole.
func (f *apiRequests) follow(ctx context.Context, token, path, stream string) {
	var last string
	for ctx.Err() == nil {
		var over bool
		if last, over = f.listen(ctx, token, path, stream, last); over {
			return
		}
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
		}
	}
}

// listen reads one connection of a stream.
func (f *apiRequests) listen(ctx context.Context, token, path, stream, last string) (newest string, over bool) {
	life, base := f.address()
	if base == "" {
		return last, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.streams.add(cancel)()
	q, err := f.request(ctx, call{token: token, method: http.MethodGet, path: path}, base, nil)
	if err != nil {
		return last, true
	}
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	resp, err := f.http.Do(q)
	if err != nil {
		return last, false
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		return f.events(resp, life, stream, last)
	case http.StatusServiceUnavailable:
		return last, false
	case http.StatusNoContent: // its end had been read
	}
	if resp.StatusCode != http.StatusNoContent || !f.ended(stream) {
		f.misused("the stream of %s after %q: status %d", stream, last, resp.StatusCode)
	}
	return last, true
}

// events takes the events of a connection.
func (f *apiRequests) events(resp *http.Response, life int, stream, last string) (newest string, over bool) {
	readEvents(resp.Body, func(id, name, data string) (more bool) {
		if id != "" {
			last = id
		}
		if name != "" || data != "" {
			f.took(record.StreamEvent{Life: life, Stream: stream, ID: id, Event: name, Data: data, At: time.Now()})
		} else if id != "" && stream == record.All {
			f.begun()
		}
		over = name == "end"
		return !over
	})
	return last, over
}

// readEvents reads server-sent events until the connection ends or take wants no more. An
// event that a cut left incomplete does not count.
func readEvents(body io.Reader, take func(id, name, data string) (more bool)) {
	var id, event, data string
	for reader := bufio.NewReader(body); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id = value
		case "event":
			event = value
		case "data":
			data = value
		case "":
			if line != "\n" {
				continue // a comment
			}
			if !take(id, event, data) {
				return
			}
			id, event, data = "", "", ""
		}
	}
}

// took records an event.
func (f *apiRequests) took(t record.StreamEvent) {
	var m record.Message
	if err := json.Unmarshal([]byte(t.Data), &m); err != nil {
		f.misused("an event of %s is no JSON: %v: %s", t.Stream, err, t.Data)
	}
	t.Seq, t.Task = m.Seq, m.TaskID
	if t.Stream != record.All {
		t.Task = t.Stream
	}
	f.mu.Lock()
	f.streamed = append(f.streamed, t)
	if t.Event == "end" {
		f.over[t.Task] = t.Data
	}
	f.mu.Unlock()
	f.noticed()
}

// ended reports whether the end of a task was read.
func (f *apiRequests) ended(task string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over[task] != ""
}

// streams are the open connections for events. The zero value is ready.
type streams struct {
	mu   sync.Mutex
	open map[int]context.CancelFunc
	all  int // that there ever were
}

// add adds one that cut ends. The caller calls done when it has ended.
func (s *streams) add(cut context.CancelFunc) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[int]context.CancelFunc{}
	}
	s.all++
	n := s.all
	s.open[n] = cut
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, n)
	}
}

// cut cuts all of them.
func (s *streams) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cut := range s.open {
		cut()
	}
}

// any reports whether one is open.
func (s *streams) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) > 0
}
