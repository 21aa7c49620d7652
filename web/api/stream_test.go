package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tasks/api"
)

// event is one server-sent event, or with an empty name what keeps a stream alive.
type event struct{ id, name, data string }

// events reads a stream as a browser does, until it ends or see returns false;
// last is the id to come back with.
func events(body io.Reader, see func(event) bool) (last string, err error) {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var e event
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case lines.Text() == "":
			if e.id != "" {
				last = e.id
			}
			if !see(e) {
				return last, nil
			}
			e = event{}
		case field == "id":
			e.id = value
		case field == "event":
			e.name = value
		case field == "data":
			e.data = value
		}
	}
	return last, lines.Err()
}

// follow opens a stream and gives its events to see until that returns false, it
// ends, or a minute is over.
func (e *env) follow(path, token, last string, see func(event) bool) (string, int) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), watch.Patience)
	defer cancel()
	r := request{method: "GET", path: path, token: token, header: map[string]string{}}
	if last != "" {
		r.header["Last-Event-ID"] = last
	}
	resp, err := e.try(ctx, r)
	if err != nil {
		e.t.Error(err)
		return last, 0
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return last, resp.StatusCode
	}
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		e.t.Errorf("got the content type %q", kind)
	}
	now, err := events(resp.Body, see)
	if err != nil && ctx.Err() == nil {
		e.t.Errorf("reading %s: %v", path, err)
	}
	if now == "" {
		now = last
	}
	return now, resp.StatusCode
}

// message reads the data of an event, which must keep the contract.
func message(e *env, ev event) api.FeedMessage {
	e.t.Helper()
	var m api.FeedMessage
	if err := json.Unmarshal([]byte(ev.data), &m); err != nil {
		e.t.Errorf("reading %q: %v", ev.data, err)
	}
	return m
}

func TestFollowTask(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	path := "/v1/tasks/" + id + "/events"
	var got []string
	written := 0
	last, _ := e.follow(path, "viewer", "", func(ev event) bool {
		if ev.name == "" {
			return true
		}
		if ev.name == "end" {
			e.contract.validate(t, "/components/schemas/Task", []byte(ev.data))
			got = append(got, "end "+ev.id)
			return true
		}
		e.contract.validate(t, "/components/schemas/Message", []byte(ev.data))
		m := message(e, ev)
		if strconv.Itoa(m.Seq) != ev.id || m.Type != ev.name {
			t.Errorf("got %+v for the message %+v", ev, m)
		}
		got = append(got, ev.name+" "+ev.id)
		switch written++; written {
		case 1:
			want[api.Message](e, 201, request{method: "POST", path: "/v1/tasks/" + id + "/messages", token: "agent", body: []byte("{\"type\":\"thought\",\"content\":{\n \"text\":\"one\\ntwo\"}}")})
		case 2:
			want[api.State](e, 200, request{method: "PUT", path: "/v1/tasks/" + id + "/state", token: "other", body: map[string]any{"a": 1}})
		case 3:
			want[api.Task](e, 200, request{method: "POST", path: "/v1/tasks/" + id + "/answer", token: "agent", body: map[string]any{"text": "Done."}})
		}
		return true
	})
	if len(got) < 5 || strings.Join(got[:4], ", ") != "goal 1, thought 2, status_update 3, answer 4" || !strings.HasPrefix(got[len(got)-1], "end ") {
		t.Errorf("got %v, want goal, thought, status_update, answer and an end", got)
	}
	if _, status := e.follow(path, "viewer", last, nil); status != http.StatusNoContent {
		t.Errorf("after the end: got %d, want 204", status)
	}
	var answers []string
	e.follow(path+"?type=answer&after=1", "viewer", "", func(ev event) bool {
		if ev.name != "" {
			answers = append(answers, ev.name)
		}
		return true
	})
	if strings.Join(answers, " ") != "answer end" {
		t.Errorf("only answers: got %v", answers)
	}
	if p, _ := want[problem](e, 422, request{method: "GET", path: path, header: map[string]string{"Last-Event-ID": "x"}}); p.Errors[0].Location != "header.Last-Event-ID" {
		t.Errorf("got %+v", p)
	}
	want[problem](e, 404, request{method: "GET", path: path, token: "narrow"})
}

// TestCutBeforeTheEnd: a client that was cut between the last message and the
// end gets the end when it comes again.
func TestCutBeforeTheEnd(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	want[api.Task](e, 200, request{method: "POST", path: "/v1/tasks/" + id + "/answer", token: "agent", body: map[string]any{"text": "Done."}})
	path, last, ended := "/v1/tasks/"+id+"/events", "", 0
	for range 100 { // each line is cut after one event
		now, status := e.follow(path, "viewer", last, func(ev event) bool {
			if ev.name == "end" {
				ended++
			}
			return ev.name == ""
		})
		if status == http.StatusNoContent {
			break
		}
		last = now
	}
	if ended != 1 {
		t.Errorf("the end came %d times, want once", ended)
	}
}

// TestStreamsEndWithTheProcess: streams and waiting requests do not hold it up.
func TestStreamsEndWithTheProcess(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	var all sync.WaitGroup
	begun := make(chan bool, 2)
	for _, path := range []string{"/v1/events", "/v1/tasks/" + id + "/events"} {
		all.Go(func() {
			first := sync.OnceFunc(func() { begun <- true })
			e.follow(path, "viewer", "", func(ev event) bool { first(); return ev.name != "end" })
		})
	}
	all.Go(func() {
		got := e.do(request{method: "GET", path: "/v1/tasks/" + id, header: map[string]string{"Prefer": "wait=300"}})
		if got.status != http.StatusOK {
			t.Errorf("the waiting client got %d %s, want the task as it stands", got.status, got.body)
		}
	})
	<-begun
	<-begun
	close(e.stop)
	all.Wait() // the test's own time is what they would otherwise take
}

// TestSilentClient: a client that asks for a stream and reads nothing of it is
// cut after a while, and holds up no other.
func TestSilentClient(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	filler := strings.Repeat("x", 12<<10)
	post := func() {
		want[api.Message](e, 201, request{method: "POST", path: "/v1/tasks/" + id + "/messages", token: "agent", body: map[string]any{"type": "thought", "content": filler}})
	}
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(e.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /v1/tasks/"+id+"/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer viewer\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	watch.Until(t, "a stream", func() bool { return e.streams.Load() == 1 })
	for range 100 {
		post()
	}
	watch.Until(t, "its end", func() bool { return e.streams.Load() == 0 })
}

// TestHeadOfStream: the head comes at once, and no stream.
func TestHeadOfStream(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	for _, path := range []string{"/v1/events", "/v1/tasks/" + id + "/events"} {
		got := e.do(request{method: "HEAD", path: path})
		if got.status != 200 || got.header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: got %d %v", path, got.status, got.header)
		}
	}
}

// TestHeartbeat: a stream in which nothing happens says that it is alive, and the
// feed says where it is.
func TestHeartbeat(t *testing.T) {
	e := newEnv(t)
	e.share("agent")
	var ids []string
	last, _ := e.follow("/v1/events?type=error", "viewer", "", func(ev event) bool {
		ids = append(ids, ev.id)
		return len(ids) < 3
	})
	if last != "1" || strings.Join(ids, ",") != ",1,1" { // the first only tells when to come back
		t.Errorf("got the ids %q and %q to come back with, want 1", ids, last)
	}
}

// TestLost: a client with a cursor that is not known, as after a backup was
// put in the data's place, is told so and goes on with new events, also when
// cut then.
func TestLost(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	add := func() {
		want[api.Message](e, 201, request{method: "POST", path: "/v1/tasks/" + id + "/messages", token: "agent", body: map[string]any{"type": "thought", "content": 1}})
	}
	add()
	last, _ := e.follow("/v1/events", "viewer", "1000000", func(ev event) bool {
		if ev.name != "" && (ev.name != "lost" || ev.id != "2" || ev.data != `{"newest":2}`) {
			t.Errorf("got %+v, want that all up to 2 is lost", ev)
		}
		return ev.name == ""
	})
	add()
	e.follow("/v1/events", "viewer", last, func(ev event) bool {
		if ev.name != "" && (ev.name != "thought" || ev.id != "3") {
			t.Errorf("after %q: got %+v, want the third message", last, ev)
		}
		return ev.name == ""
	})
}

// TestFollowersCutAtRandom: a client that comes back with the last id gets
// every message once and in order, at whatever point the connection was cut.
func TestFollowersCutAtRandom(t *testing.T) {
	e := newEnv(t)
	const contextsAtOnce, notes, followers = 6, 25, 12
	ids := make([]string, contextsAtOnce)
	for i := range ids {
		ids[i] = string(e.share("agent").ID)
	}
	want := contextsAtOnce * (notes + 1) // each with its goal
	var all sync.WaitGroup
	for n := range followers {
		all.Go(func() { e.checkFeed(rand.New(rand.NewPCG(uint64(n), 1)), ids, want) })
	}
	for n, id := range ids {
		all.Go(func() { e.checkTask(rand.New(rand.NewPCG(uint64(n), 2)), id, notes+1) })
	}
	for _, id := range ids {
		all.Go(func() {
			for i := range notes {
				got := e.do(request{method: "POST", path: "/v1/tasks/" + id + "/messages", token: "agent", body: map[string]any{"type": "observation", "content": i}})
				if got.status != 201 {
					t.Errorf("got %d %s, want 201", got.status, got.body)
				}
			}
		})
	}
	all.Wait()
}

// checkFeed follows all tasks over connections that are cut at random.
func (e *env) checkFeed(r *rand.Rand, ids []string, want int) {
	seen := map[string]bool{}
	next := map[string]int{}
	last := "0"
	for deadline := time.Now().Add(time.Minute); len(seen) < want && time.Now().Before(deadline); {
		left := 1 + r.IntN(20)
		last, _ = e.follow("/v1/events", "viewer", last, func(ev event) bool {
			if ev.name == "" {
				return len(seen) < want
			}
			m := message(e, ev)
			place := fmt.Sprint(m.TaskID, " ", m.Seq)
			if seen[place] || m.Seq != next[string(m.TaskID)]+1 {
				e.t.Errorf("got message %s after %d: lost or doubled", place, next[string(m.TaskID)])
			}
			seen[place], next[string(m.TaskID)] = true, m.Seq
			left--
			return left > 0 && len(seen) < want
		})
	}
	if len(seen) != want || len(next) != len(ids) {
		e.t.Errorf("a follower got %d messages of %d tasks, want %d of %d", len(seen), len(next), want, len(ids))
	}
}

// checkTask follows one task over connections that are cut at random.
func (e *env) checkTask(r *rand.Rand, id string, want int) {
	seq, last := 0, ""
	for deadline := time.Now().Add(time.Minute); seq < want && time.Now().Before(deadline); {
		left := 1 + r.IntN(5)
		last, _ = e.follow("/v1/tasks/"+id+"/events", "viewer", last, func(ev event) bool {
			if ev.name == "" {
				return true
			}
			if m := message(e, ev); m.Seq != seq+1 {
				e.t.Errorf("task %s: got message %d after %d", id, m.Seq, seq)
			}
			seq++
			left--
			return left > 0 && seq < want
		})
	}
	if seq != want {
		e.t.Errorf("task %s: got %d messages, want %d", id, seq, want)
	}
}

// TestLettersOfHTML: a sent text comes back letter by letter, wherever it is
// read.
func TestLettersOfHTML(t *testing.T) {
	e := newEnv(t)
	id := string(e.share("agent").ID)
	path := "/v1/tasks/" + id
	const text = `"<b> & é"`
	want[api.Message](e, http.StatusCreated, request{method: "POST", path: path + "/messages", body: map[string]any{"type": "thought", "content": json.RawMessage(text)}})
	want[api.State](e, http.StatusOK, request{method: "PUT", path: path + "/state", body: []byte(`{"d":` + text + `}`)})
	for part, times := range map[string]int{"/context": 3, "/state": 1} { // a message, its key in another, and the state
		if got := e.do(request{method: "GET", path: path + part}); strings.Count(string(got.body), text) != times {
			t.Errorf("%s: got %s, want %s in it %d times", part, got.body, text, times)
		}
	}
	for _, path := range []string{path + "/events?after=1", "/v1/events?after=1"} {
		seen := 0
		e.follow(path, "viewer", "", func(ev event) bool {
			if ev.name != "" {
				seen++
				if !strings.Contains(ev.data, text) {
					t.Errorf("%s: got %s, want %s in it", path, ev.data, text)
				}
			}
			return seen < 2
		})
	}
	if p := e.do(request{method: "GET", path: "/v1/tasks?a;b"}); !strings.Contains(string(p.body), "name=value&name=value") {
		t.Errorf("a problem: got %s", p.body)
	}
}
