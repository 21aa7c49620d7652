package main

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/server"
)

// streams are the open event streams by session: those of -sse, and those of a
// GET on -http.
type streams struct {
	mu   sync.Mutex
	open map[string]*stream
}

// stream is an event stream to which the library and the fake write.
type stream struct {
	http.ResponseWriter
	begun atomic.Bool // the header is out
	mu    sync.Mutex
	cut   context.CancelFunc // ends the stream
}

func newStreams() *streams { return &streams{open: map[string]*stream{}} }

func (s *streams) add(session string, one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[session] = one
}

// remove forgets a stream that ended, unless another took its place.
func (s *streams) remove(session string, one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[session] == one {
		delete(s.open, session)
	}
}

// find returns the stream of a session once it has begun, or nil.
func (s *streams) find(session string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.open[session]; one != nil && one.begun.Load() {
		return one
	}
	return nil
}

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ResponseWriter.WriteHeader(status)
	s.begun.Store(status == http.StatusOK)
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun.Store(true)
	return s.ResponseWriter.Write(p)
}

func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// event writes one event made of begin, n times piece and end.
func (s *stream) event(begin, piece string, n int, end string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.WriteString(s.ResponseWriter, "event: message\ndata: "+begin)
	for i := 0; i < n && err == nil; i++ {
		_, err = io.WriteString(s.ResponseWriter, piece)
	}
	_, _ = io.WriteString(s.ResponseWriter, end+"\n\n")
	_ = http.NewResponseController(s.ResponseWriter).Flush()
}

// sseBack is the way back on -sse: the request is accepted, and the answer is
// an event of the stream.
type sseBack struct {
	stream *stream
	w      http.ResponseWriter
}

func (b sseBack) write(begin, piece string, n int, end string) {
	if b.stream != nil {
		b.stream.event(begin, piece, n, end)
	}
}

func (b sseBack) part(text string) {
	if b.stream != nil {
		_, _ = b.stream.Write([]byte(text))
		b.stream.Flush()
	}
}

func (b sseBack) later(work func()) {
	b.accept()
	go work()
}

func (b sseBack) accept() { b.w.WriteHeader(http.StatusAccepted) }

func (f *fake) serveSSE(addr string) error {
	library := server.NewSSEServer(f.mcp, server.WithSessionIDGenerator(func(_ context.Context, r *http.Request) (string, error) {
		x, _ := r.Context().Value(exchangeKey{}).(*exchange)
		id := sessionPrefix + rand.Text()
		if s, ok := x.http.w.(*stream); ok {
			f.streams.add(id, s)
		}
		return id, nil
	}))
	mux := http.NewServeMux()
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		ctx, cut := context.WithCancel(r.Context())
		defer cut()
		h := &httpExchange{w: &stream{ResponseWriter: w, cut: cut}, r: r.WithContext(ctx), plain: true}
		f.front(&exchange{back: h, http: h}, library)
	})
	mux.HandleFunc("POST /message", func(w http.ResponseWriter, r *http.Request) {
		session := r.URL.Query().Get("sessionId")
		h := &httpExchange{w: w, r: r, plain: true}
		f.front(&exchange{session: session, back: sseBack{f.streams.find(session), w}, http: h}, library)
	})
	return f.listen(addr, "/sse", mux)
}
