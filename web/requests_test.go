package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/tasks/policy"
	"legwork/web"
)

// TestFailedAuthLimit: after many failed attempts an address has to wait, but requests
// with a valid token from there do not.
func TestFailedAuthLimit(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	logged := &log{}
	at, _, _ := serve(t, web.WithClock(web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI, Log: slog.New(slog.NewTextHandler(logged, nil))}, new(testClock).now))
	var last answer
	tries := 0
	for ; tries < 100 && last.status != 429; tries++ {
		last = ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer guess-"+strconv.Itoa(tries))
	}
	wait, err := strconv.Atoi(last.header.Get("Retry-After"))
	if last.status != 429 || last.code() != "too_many_requests" || err != nil || wait < 1 || wait > 10 {
		t.Fatalf("after %d attempts: got %+v", tries, last)
	}
	if tries < 10 {
		t.Errorf("attempt %d was already refused", tries)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text); got.status != 200 {
		t.Errorf("with a token from the same address: got %d, want 200", got.status)
	}
	if n := strings.Count(logged.String(), "wrong token"); n != tries-1 {
		t.Errorf("the log has %d wrong tokens, want %d: %s", n, tries-1, logged)
	}
	if strings.Contains(logged.String(), "guess-") {
		t.Errorf("the log shows the text of a wrong token: %s", logged)
	}
}

// testClock goes on only when a test says so.
type testClock struct{ passed atomic.Int64 }

func (c *testClock) now() time.Time {
	return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).Add(time.Duration(c.passed.Load()))
}

// TestRate: a token may make a burst of requests, then as many as its rate allows.
func TestRate(t *testing.T) {
	t.Parallel()
	clock := new(testClock)
	ops, text := newToken("ops", policy.RoleAdmin)
	other, otherText := newToken("other", policy.RoleViewer)
	at, _, _ := serve(t, web.WithClock(web.Config{Listen: "127.0.0.1:0", Access: web.Access{Tokens: []web.Token{ops, other}, Rate: 1}, API: whoAmI}, clock.now))
	var statuses []int
	var last answer
	for range 4 {
		last = ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text)
		statuses = append(statuses, last.status)
	}
	if !slices.Equal(statuses, []int{200, 200, 429, 429}) || last.code() != "too_many_requests" || last.header.Get("Retry-After") != "1" {
		t.Errorf("four requests at one per second: got %v, %+v", statuses, last)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+otherText); got.status != 200 {
		t.Errorf("with another token: got %d, want 200", got.status)
	}
	clock.passed.Add(int64(time.Second))
	for i, want := range []int{200, 429} {
		if got := ask(t, "GET", "http://"+at+"/v1/tasks", "", "Authorization: Bearer "+text); got.status != want {
			t.Errorf("request %d after a second: got %d, want %d", i+1, got.status, want)
		}
	}
}

// TestRunningLimit: the running requests of a token are limited, and the end of one
// permits another.
func TestRunningLimit(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	other, otherText := newToken("other", policy.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops, other), API: stream})
	var open []*http.Response
	for range 256 {
		resp, lines := follow(t, at, text)
		if line, err := lines.ReadString('\n'); err != nil || line != "begun\n" {
			t.Fatalf("stream %d: got %q, %v", len(open), line, err)
		}
		open = append(open, resp)
	}
	if got := ask(t, "GET", "http://"+at+"/v1/events", "", "Authorization: Bearer "+text); got.status != 429 || got.header.Get("Retry-After") == "" {
		t.Errorf("one stream more: got %+v, want 429", got)
	}
	if resp, _ := follow(t, at, otherText); resp.StatusCode != http.StatusOK {
		t.Errorf("a stream of another token: got %d", resp.StatusCode)
	}
	_ = open[0].Body.Close()
	for { // until the server has seen that
		resp, _ := follow(t, at, text)
		if resp.StatusCode == http.StatusOK {
			break
		}
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("after one stream ended: got %d", resp.StatusCode)
		}
	}
}

// TestRefusalIsReadable: a client that is refused while it still sends the body can
// read the whole reply, since the connection is not reset at once.
func TestRefusalIsReadable(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI, Webhooks: map[string]http.Handler{"/hook": echo(t)}})
	for _, path := range []string{"/v1/tasks", "/hook"} {
		err := refusal(at, path, text)
		for try := 0; err != nil && try < 5; try++ { // the server waits half a second, in which a busy machine may not get here
			err = refusal(at, path, text)
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// refusal sends all of a body that is too long and reads the reply.
func refusal(at, path, token string) error {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	const size = 3 << 19
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n", path, token, size)
	if _, err := io.WriteString(c, head+strings.Repeat("x", size)); err != nil {
		return err
	}
	reply, err := io.ReadAll(c)
	if err == nil && !strings.HasPrefix(string(reply), "HTTP/1.1 413 ") {
		err = fmt.Errorf("got %q, want 413", reply)
	}
	return err
}

// TestBodies: bodies are read before the handler runs, and their size is limited.
func TestBodies(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI})
	for size, want := range map[int]int{1 << 20: 200, 1<<20 + 1: 413} {
		got := ask(t, "POST", "http://"+at+"/v1/tasks", strings.Repeat("x", size), "Authorization: Bearer "+text)
		if got.status != want || want == 413 && got.code() != "too_large" {
			t.Errorf("a body of %d bytes: got %d, want %d", size, got.status, want)
		}
	}
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprintf(c, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\nhalf", text); err != nil {
		t.Fatal(err)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, "400") {
		t.Errorf("half a body: got %q, %v, want 400", line, err)
	}
}

// TestBodiesAreReleased: waiting requests hold no bodies in memory, neither bodies that
// were read nor bodies of GET requests.
func TestBodiesAreReleased(t *testing.T) {
	t.Parallel()
	const requests = 32
	ops, text := newToken("ops", policy.RoleAdmin)
	begun, end := make(chan int64), make(chan struct{})
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int64(0)
		if r.Method == http.MethodPost {
			n, _ = io.Copy(io.Discard, r.Body)
		}
		begun <- n
		<-end
		left, err := io.ReadAll(r.Body)
		_, _ = fmt.Fprint(w, len(left), err)
	})})
	body := strings.Repeat("x", 1<<20)
	for method, read := range map[string]int64{"GET": 0, "POST": 1 << 20} {
		before := heap()
		var replies sync.WaitGroup
		for range requests {
			replies.Go(func() {
				if got := ask(t, method, "http://"+at+"/v1/events", body, "Authorization: Bearer "+text); got.status != 200 || got.body != "0 <nil>" {
					t.Errorf("%s: got %+v", method, got)
				}
			})
		}
		for range requests {
			if n := <-begun; n != read {
				t.Errorf("%s: got a body of %d bytes, want %d", method, n, read)
			}
		}
		if after := heap(); after > before+requests<<20/2 {
			t.Errorf("%s: %d requests that wait hold %d KiB", method, requests, (after-before)>>10)
		}
		for range requests {
			end <- struct{}{}
		}
		replies.Wait()
	}
}

// heap is the memory in use, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestHead: the reply to HEAD of a stream ends at once.
func TestHead(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: stream})
	if got := ask(t, "HEAD", "http://"+at+"/v1/events", "", "Authorization: Bearer "+text); got.status != 200 || got.body != "" {
		t.Errorf("HEAD of a stream: got %+v", got)
	}
}

// TestLongPoll: a handler may take longer than the time for a body or a reply, and
// its context does not end; a body that arrives too slowly gets 408.
func TestLongPoll(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	const limit = 300 * time.Millisecond
	at, _, _ := serve(t, web.WithRequestTime(web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-time.After(3 * limit):
		}
		_, _ = fmt.Fprint(w, "ended: ", r.Context().Err())
	})}, limit))
	for _, c := range [][2]string{{http.MethodGet, ""}, {http.MethodPost, "{}"}} {
		if got := ask(t, c[0], "http://"+at+"/v1/tasks", c[1], "Authorization: Bearer "+text); got.status != 200 || got.body != "ended: <nil>" {
			t.Errorf("%s: got %+v", c[0], got)
		}
	}
	slow, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprintf(slow, "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\nhalf", text); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "408") {
		t.Errorf("a body that does not come: got %q, %v, want 408", line, err)
	}
}

// TestStreamedBody: a handler reads a body of any length as it arrives. A body that stops
// coming ends with an error, and the client gets the reply.
func TestStreamedBody(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	errs := make(chan error, 2)
	at, _, _ := serve(t, web.WithRequestTime(web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), Streams: func(r *http.Request) bool { return r.URL.Path == "/v1/files" },
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			errs <- err
			_, _ = fmt.Fprintf(w, "%d bytes", n)
		}),
	}, 3*time.Second))
	if got := ask(t, http.MethodPost, "http://"+at+"/v1/files", strings.Repeat("x", 3<<20), "Authorization: Bearer "+text); got.body != "3145728 bytes" || <-errs != nil {
		t.Errorf("a long body: got %+v", got)
	}
	slow, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprintf(slow, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 100\r\n\r\nhalf", text); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(slow).ReadString('\n'); err != nil || !strings.Contains(line, "200") || !errors.Is(<-errs, os.ErrDeadlineExceeded) {
		t.Errorf("a body that stops coming: got %q, %v, want a reply and a deadline that has passed", line, err)
	}
}
