package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/bot/web"
	"legwork/files"
	"legwork/store"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/web/problem"
)

// talk and other are ids of conversations.
const (
	talk  = "01jdtestconversation000001"
	other = "01jdtestconversation000002"
)

// env is the web chat over a real store and a real socket. The header Person says who
// calls.
type env struct {
	*testing.T
	web   *web.Web
	store *store.Store
	url   string
	stop  func() // ends Run

	mu       sync.Mutex
	messages []bot.Message
	handle   func(bot.Message) error // nil: all messages are taken
}

func newEnv(t *testing.T) *env {
	s, err := store.Open(t.Context(), memory.NewDB(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := &env{T: t, store: s}
	stop := make(chan struct{})
	e.web = web.New(web.Config{
		Store: s, Now: time.Now, Stop: stop,
		Caller: func(r *http.Request) (tasks.ChatPerson, bool) {
			platform, id, may := strings.Cut(r.Header.Get("Person"), ":")
			return tasks.ChatPerson{Person: bot.Person{Platform: platform, ID: id, Name: id}, External: strings.HasPrefix(id, "guest")}, may
		},
		Attach: func(_ *http.Request, ids []string) (list []bot.Attachment, err error) {
			for _, id := range ids {
				if !files.ID(id).Valid() {
					return nil, problem.New(problem.Invalid, "no such upload")
				}
				list = append(list, bot.Attachment{Ref: bot.KeptRef + id, Name: "a.png", Type: "image/png", Bytes: 3})
			}
			return list, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- e.web.Run(ctx, e.take) }()
	e.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(e.web.Handler())
	e.url = server.URL
	t.Cleanup(func() {
		close(stop)
		e.stop()
		server.Close()
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *env) take(_ context.Context, list []bot.Message) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range list {
		if e.handle != nil {
			if err := e.handle(m); err != nil {
				return err
			}
		}
		e.messages = append(e.messages, m)
	}
	return nil
}

// taken are the messages that were handed on.
func (e *env) taken() []bot.Message {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.messages
}

// call makes a request of a person, and reads the reply into a value.
func (e *env) call(person, method, path, body string, into any) int {
	e.Helper()
	r, err := http.NewRequestWithContext(e.Context(), method, e.url+"/v1/chat/"+path, strings.NewReader(body))
	if err != nil {
		e.Fatal(err)
	}
	r.Header.Set("Person", person)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept-Language", "ru-RU,ru;q=0.9,en;q=0.8")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		e.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			e.Fatalf("%s %s: %d, %q is no JSON: %v", method, path, reply.StatusCode, text, err)
		}
	}
	return reply.StatusCode
}

// want is call with a status that must come.
func (e *env) want(status int, person, method, path, body string, into any) {
	e.Helper()
	if got := e.call(person, method, path, body, into); got != status {
		e.Fatalf("%s %s by %s with %.200s: got %d, want %d", method, path, person, body, got, status)
	}
}

// post posts a draft in a conversation.
func (e *env) post(id string, d bot.Draft) string {
	e.Helper()
	post, err := e.web.Post(e.Context(), bot.Chat{Platform: web.Name, ID: id, Private: true}, d)
	if err != nil {
		e.Fatal(err)
	}
	return post
}

func (e *env) edit(id, post string, d bot.Draft) {
	e.Helper()
	if err := e.web.Edit(e.Context(), bot.Chat{Platform: web.Name, ID: id, Private: true}, post, d); err != nil {
		e.Fatal(err)
	}
}

// posts are the posts of a conversation.
func (e *env) posts(person, id string) []web.Post {
	e.Helper()
	var page struct{ Items []web.Post }
	e.want(http.StatusOK, person, "GET", "conversations/"+id+"/posts", "", &page)
	return page.Items
}

// event is one server-sent event.
type event struct {
	id, name string
	data     string
}

func (v event) post(t *testing.T) (p web.Post) {
	t.Helper()
	if err := json.Unmarshal([]byte(v.data), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// browser is an open stream of events.
type browser struct {
	e    *env
	in   *bufio.Reader
	body io.Closer
}

func (e *env) stream(person, last string) *browser {
	e.Helper()
	r, err := http.NewRequestWithContext(e.Context(), http.MethodGet, e.url+"/v1/chat/events", nil)
	if err != nil {
		e.Fatal(err)
	}
	r.Header.Set("Person", person)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		e.Fatal(err)
	}
	if reply.StatusCode != http.StatusOK {
		e.Fatalf("stream of %s: got %d", person, reply.StatusCode)
	}
	b := &browser{e: e, in: bufio.NewReader(reply.Body), body: reply.Body}
	e.Cleanup(b.leave)
	return b
}

func (b *browser) leave() { _ = b.body.Close() }

// next waits for an event.
func (b *browser) next(name string) (v event) {
	b.e.Helper()
	for {
		line, err := b.in.ReadString('\n')
		if err != nil {
			b.e.Fatalf("waiting for %s: %v", name, err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch {
		case key == "id":
			v.id = value
		case key == "event":
			v.name = value
		case key == "data":
			v.data = value
		case key == "" && v.name != "":
			if v.name != name {
				b.e.Fatalf("got event %+v, want %s", v, name)
			}
			return v
		}
	}
}

var errRefused = errors.New("refused")

// fill is a text of n bytes.
func fill(n int) string { return string(bytes.Repeat([]byte("x"), n)) }
