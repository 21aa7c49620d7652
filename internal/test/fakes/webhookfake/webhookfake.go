// Package webhookfake is a strict receiver of webhooks over a real socket: it
// takes only requests that are signed as Standard Webhooks has it, checked with the
// specification's own library, and answers as a test wants.
package webhookfake

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"legwork/internal/test/watch"
)

// Request is one that came in.
type Request struct {
	ID     string
	Type   string
	Header http.Header
	Body   []byte
	Status int // that was answered; 0: nothing was
	At     time.Time
}

// Task is the id of the task that it is about.
func (r Request) Task() string {
	var p struct {
		Data struct{ Task struct{ ID string } }
	}
	_ = json.Unmarshal(r.Body, &p)
	return p.Data.Task.ID
}

// Reply is what a request is answered.
type Reply struct {
	Status int // 0: 200
	Header map[string]string
	Hang   bool // nothing is answered until the sender gives up
	Body   []byte
}

// Receiver takes requests.
type Receiver struct {
	URL string

	t      testing.TB
	secret *standardwebhooks.Webhook
	server *httptest.Server

	mu       sync.Mutex
	answer   func(n int, r Request) Reply // n counts from 1
	requests []Request
	underway int
	most     int
	changed  chan struct{}
}

// New starts one, at an address of the system's choice when that is empty. It
// fails the test on a request that is not as it should be.
func New(t testing.TB, address, secret string) *Receiver {
	t.Helper()
	signer, err := standardwebhooks.NewWebhookRaw([]byte(secret))
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		signer, err = standardwebhooks.NewWebhook(encoded)
	}
	if err != nil {
		t.Fatalf("preparing the secret: %v", err)
	}
	r := &Receiver{t: t, secret: signer, changed: make(chan struct{})}
	r.server = httptest.NewUnstartedServer(r)
	if address != "" {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatalf("listening: %v", err)
		}
		_ = r.server.Listener.Close()
		r.server.Listener = l
	}
	r.server.Start()
	r.URL = r.server.URL + "/hook"
	t.Cleanup(r.Close)
	return r
}

// Close stops it.
func (r *Receiver) Close() {
	r.server.CloseClientConnections()
	r.server.Close()
}

// Answers sets how requests are answered from now on; nil: with 200.
func (r *Receiver) Answers(answer func(n int, r Request) Reply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// Requests are all that came in so far.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Taken are those that were answered with 2xx.
func (r *Receiver) Taken() []Request {
	return slices.DeleteFunc(r.Requests(), func(q Request) bool { return q.Status < 200 || q.Status > 299 })
}

// MostAtOnce is how many requests were under way at once.
func (r *Receiver) MostAtOnce() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// Until waits until the requests are as wanted.
func (r *Receiver) Until(what string, wanted func([]Request) bool) {
	r.t.Helper()
	limit := time.After(watch.Patience)
	for {
		r.mu.Lock()
		list, changed := slices.Clone(r.requests), r.changed
		r.mu.Unlock()
		if wanted(list) {
			return
		}
		select {
		case <-changed:
		case <-limit:
			r.t.Fatalf("waited in vain: %s; the requests were %s", what, Show(list))
		}
	}
}

// Show is a list of requests for people.
func Show(list []Request) string {
	var b strings.Builder
	for _, q := range list {
		b.WriteString("\n" + q.ID + " " + q.Type + " " + http.StatusText(q.Status) + " " + string(q.Body))
	}
	return b.String()
}

var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	in, ok := r.check(q)
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	n := len(r.requests)
	r.requests = append(r.requests, in)
	answer := r.answer
	r.underway++
	r.most = max(r.most, r.underway)
	r.mu.Unlock()
	var reply Reply
	if answer != nil {
		reply = answer(n+1, in)
	}
	if reply.Hang {
		<-q.Context().Done()
		r.note(n, 0)
		return
	}
	if reply.Status == 0 {
		reply.Status = http.StatusOK
	}
	r.note(n, reply.Status)
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body)
}

func (r *Receiver) note(n, status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underway--
	r.requests[n].Status = status
	close(r.changed)
	r.changed = make(chan struct{})
}

// check reads a request; ok is false when it is not as it should be.
func (r *Receiver) check(q *http.Request) (in Request, ok bool) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return in, false // the sender went away
	}
	problem := ""
	var p struct {
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	strict := json.NewDecoder(bytes.NewReader(body))
	strict.DisallowUnknownFields()
	in = Request{ID: q.Header.Get("webhook-id"), Header: q.Header, Body: body, At: time.Now()}
	switch err := r.secret.Verify(body, q.Header); {
	case err != nil:
		problem = "its signature: " + err.Error()
	case q.Method != http.MethodPost || q.URL.Path != "/hook":
		problem = "it is " + q.Method + " " + q.URL.Path
	case q.Header.Get("Content-Type") != "application/json":
		problem = "its Content-Type is " + q.Header.Get("Content-Type")
	case !strings.HasPrefix(q.Header.Get("User-Agent"), "legwork"):
		problem = "its User-Agent is " + q.Header.Get("User-Agent")
	case !plainID.MatchString(in.ID):
		problem = "its id is " + in.ID
	case strict.Decode(&p) != nil || p.Type == "" || p.Timestamp.IsZero() || len(p.Data) == 0 || p.Data[0] != '{':
		problem = "its body is no payload"
	}
	in.Type = p.Type
	if problem != "" {
		r.t.Errorf("a webhook got a request that it cannot take: %s: %s", problem, body)
	}
	return in, problem == ""
}
