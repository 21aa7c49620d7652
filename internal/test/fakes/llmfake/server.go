// Package llmfake is a strict stand-in for an OpenAI-compatible endpoint, for
// tests: chat completions over a real socket, streamed or not, transcriptions,
// speech and pictures, with the faults that real endpoints show. It refuses what the strictest of them refuse, and
// remembers every such request as a violation, so that a client which sends
// invalid prompts cannot pass a test by chance.
package llmfake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/fakes/wire"
)

// Options say how a fake behaves. The zero value knows every model, accepts any
// key and answers with Brain.
type Options struct {
	// Key is the only accepted bearer token; empty: any that is not empty.
	Key string
	// Models are the known names, the rest is answered with 404; empty: all are.
	Models []string
	// ContextTokens bounds a prompt at four bytes per token; 0: no bound.
	ContextTokens int
	// Description bounds the description of a tool, in characters; 0: no bound.
	// OpenAI's is 1024.
	Description int
	// Extra are top-level request fields that are accepted besides OpenAI's.
	Extra []string
	// Respond answers a valid request. It is called from many goroutines at
	// once. nil: Brain{}.Respond.
	Respond func(Request) Response
	// Media answers a valid call that is no chat. It is called from many goroutines at
	// once. nil: Usual.
	Media func(Request) Response
	// Log is the file that gets the wire log, one JSON Entry per line, each with
	// one write; it is appended to. Empty: none.
	Log string
	// Idle is after how long a connection without requests is closed; 0: never.
	Idle time.Duration
	// Listen is the address; empty: a free port of the loopback.
	Listen string
}

// Server is a running fake. Its methods are safe for concurrent use.
type Server struct {
	URL string // base URL with /v1, as it belongs into base_url

	o    Options
	wire *wire.Server
	log  *wire.Log
	busy sync.WaitGroup

	close func() error

	mu         sync.Mutex
	requests   []Request
	violations []string
	seq        int
}

// New starts a fake for one test, stops it at the test's end and fails the
// test when a request violated the protocol.
func New(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	wire.Guard(t, s, "the model endpoint refused a request")
	return s
}

// Start starts a fake; the caller closes it and looks at Violations.
func Start(o Options) (*Server, error) {
	if o.Respond == nil {
		o.Respond = Brain{}.Respond
	}
	if o.Media == nil {
		o.Media = Usual
	}
	log, err := wire.OpenLog(o.Log)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, log: log}
	s.wire, err = wire.Serve(o.Listen, o.Idle, func(url string) http.Handler {
		s.URL = url + "/v1"
		return s
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	s.close = sync.OnceValue(func() error {
		err := s.wire.Close()
		s.busy.Wait()
		return errors.Join(err, s.log.Close())
	})
	return s, nil
}

// Close ends all replies, also hanging ones, and waits for them. It can be
// called again.
func (s *Server) Close() error { return s.close() }

// Finish is Close with an error that lists the violations, for programs that are
// no tests.
func (s *Server) Finish() error {
	err := s.Close()
	for _, v := range s.Violations() {
		err = errors.Join(err, fmt.Errorf("the model endpoint refused a request: %s", v))
	}
	return err
}

// Requests are the accepted requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations are the refused requests: the mistake and how they began. Wrong
// keys, unknown models and requests too long for the endpoint are not among
// them: they are faults of the configuration, not of the client.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// ServeHTTP speaks POST /v1/chat/completions, /v1/audio/transcriptions,
// /v1/audio/speech and /v1/images/generations, and GET /v1/models.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.busy.Add(1)
	defer s.busy.Done()
	if refusal := s.authorise(r); refusal != nil {
		refusal.write(w)
		return
	}
	call, media := mediaCalls()[r.URL.Path]
	switch target := r.Method + " " + r.URL.Path; {
	case target == "GET /v1/models":
		s.models(w)
	case target == "POST /v1/chat/completions":
		s.answer(w, r, s.read, s.o.Respond)
	case media && r.Method == http.MethodPost:
		s.answer(w, r, func(r *http.Request) (Request, *refusal) { return s.readMedia(r, call) }, s.o.Media)
	default:
		(&refusal{
			Status: http.StatusNotFound, Type: "invalid_request_error",
			Message: fmt.Sprintf("Invalid URL (%s %s)", r.Method, r.URL.Path),
		}).write(w)
	}
}

func (s *Server) models(w http.ResponseWriter) {
	type model struct {
		ID     string `json:"id"`
		Object string `json:"object"`
	}
	list := make([]model, 0, len(s.o.Models))
	for _, name := range s.o.Models {
		list = append(list, model{ID: name, Object: "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list})
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, read func(*http.Request) (Request, *refusal), respond func(Request) Response) {
	arrived := time.Now()
	request, refusal := read(r)
	if refusal == nil {
		refusal = s.checkModel(request)
	}
	if refusal != nil {
		s.refuse(request, refusal)
		refusal.write(w)
		return
	}
	request.At, request.Header = arrived, r.Header
	request.Key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	request.Seq = s.accept(&request)
	response := respond(request)
	if response.ToolCalls != nil {
		response.ToolCalls = named(response.ToolCalls, request.Seq)
	}
	outcome := send(r.Context(), w, request, response)
	s.log.Add(Entry{Seq: request.Seq, At: time.Now(), Event: outcome, Reply: &response})
	if outcome == EventBroken {
		panic(http.ErrAbortHandler) // the connection ends here, visibly unfinished
	}
}

func (s *Server) accept(r *Request) int {
	s.mu.Lock()
	s.seq++
	r.Seq = s.seq
	s.requests = append(s.requests, *r)
	s.mu.Unlock()
	s.log.Add(Entry{Seq: r.Seq, At: r.At, Event: EventRequest, Request: r})
	return r.Seq
}

func (s *Server) refuse(r Request, why *refusal) {
	if why.Status == statusGone {
		return
	}
	if why.Status != http.StatusNotFound && !why.lawful {
		head := r.Raw
		if len(head) > 2000 {
			head = head[len(head)-2000:]
		}
		s.mu.Lock()
		s.violations = append(s.violations, fmt.Sprintf("%s (%s): request ends with: %s", why.Message, why.Param, head))
		s.mu.Unlock()
	}
	event := EventRefused
	if why.lawful {
		event = EventTooLong
	}
	s.log.Add(Entry{At: time.Now(), Event: event, Problem: why.Message})
}

// named gives ids to the calls that have none.
func named(calls []ToolCall, seq int) []ToolCall {
	calls = slices.Clone(calls)
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d_%d", seq, i+1)
		}
	}
	return calls
}
