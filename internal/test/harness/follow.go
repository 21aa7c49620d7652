package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Told is one event of a stream.
type Told struct {
	At     time.Time
	Life   int    // index into Record.Lives
	Stream string // what is followed: the id of a task, or "all"
	ID     string // of the event
	Event  string
	Task   string
	Seq    int
	Data   string
}

// all is the stream of all tasks.
const all = "all"

// entry is one message of a context, as replies and events tell it.
type entry struct {
	TaskID    string          `json:"task_id"`
	Seq       int             `json:"seq"`
	SenderID  string          `json:"sender_id"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Timestamp time.Time       `json:"timestamp"`
}

// follow reads a stream to its end, over cuts and kills: it comes back with the id
// of the last event that it has read whole.
func (f *apiFront) follow(ctx context.Context, token, path, stream string) {
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
func (f *apiFront) listen(ctx context.Context, token, path, stream, last string) (newest string, over bool) {
	life, base := f.address()
	if base == "" {
		return last, false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer f.cuttable(cancel)()
	q, err := f.request(ctx, call{token: token, method: http.MethodGet, path: path}, base, nil)
	if err != nil {
		return last, true
	}
	if last != "" {
		q.Header.Set("Last-Event-ID", last)
	}
	resp, err := f.client.Do(q)
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
		f.offended("the stream of %s after %q: status %d", stream, last, resp.StatusCode)
	}
	return last, true
}

// events takes what a connection tells. What a cut leaves of an event does not
// count.
func (f *apiFront) events(resp *http.Response, life int, stream, last string) (newest string, over bool) {
	told := Told{Life: life, Stream: stream}
	id := ""
	for reader := bufio.NewReader(resp.Body); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return last, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			id = value
		case "event":
			told.Event = value
		case "data":
			told.Data = value
		case "":
			if line != "\n" {
				continue // a comment
			}
			if id != "" {
				last = id
			}
			if told.Event != "" || told.Data != "" {
				told.ID, told.At = id, time.Now()
				f.took(told)
			} else if id != "" && stream == all {
				f.begun()
			}
			if told.Event == "end" {
				return last, true
			}
			told, id = Told{Life: life, Stream: stream}, ""
		}
	}
}

// took notes an event.
func (f *apiFront) took(t Told) {
	var m entry
	if err := json.Unmarshal([]byte(t.Data), &m); err != nil {
		f.offended("an event of %s is no JSON: %v: %s", t.Stream, err, t.Data)
	}
	t.Seq, t.Task = m.Seq, m.TaskID
	if t.Stream != all {
		t.Task = t.Stream
	}
	f.mu.Lock()
	f.told = append(f.told, t)
	if t.Event == "end" {
		f.over[t.Task] = t.Data
	}
	f.mu.Unlock()
	f.stirred()
}

// ended reports whether the end of a task was read.
func (f *apiFront) ended(task string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over[task] != ""
}

// cuttable lets trouble cut a connection; the function ends that.
func (f *apiFront) cuttable(cut context.CancelFunc) (done func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cuts++
	n := f.cuts
	f.cables[n] = cut
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.cables, n)
	}
}

// cut cuts every stream.
func (f *apiFront) cut() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, cut := range f.cables {
		cut()
	}
}
