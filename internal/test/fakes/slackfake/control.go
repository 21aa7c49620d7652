package slackfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"legwork/internal/test/fakes/wire"
)

// order is the body of a control; each uses some of its fields.
type order struct {
	Fault
	Channel, User, Text, Thread, TS, Button, Command, Token, URL, Reason string
	Pings                                                                bool
	World                                                                Channel
	Files                                                                []File
}

// controls are what tests in other processes use: GET for what can be seen,
// POST with a JSON body for what can be done. Errors are 400 with a text.
func (s *Server) controls(mux *http.ServeMux) {
	mux.HandleFunc("GET /fake/messages", func(w http.ResponseWriter, r *http.Request) {
		show(w, s.Messages(r.FormValue("channel")))
	})
	mux.HandleFunc("GET /fake/transcript", func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(s.Transcript(r.FormValue("channel"))))
	})
	mux.HandleFunc("GET /fake/status", func(w http.ResponseWriter, r *http.Request) {
		show(w, s.StatusOf(r.FormValue("channel"), r.FormValue("thread")))
	})
	mux.HandleFunc("GET /fake/log", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Entries()) })
	mux.HandleFunc("GET /fake/violations", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Violations()) })
	mux.HandleFunc("GET /fake/deliveries", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Deliveries()) })
	mux.HandleFunc("GET /fake/connections", func(w http.ResponseWriter, _ *http.Request) { show(w, s.Connections()) })
	for name, do := range s.actions() {
		mux.HandleFunc("POST /fake/"+name, func(w http.ResponseWriter, r *http.Request) {
			var o order
			err := json.NewDecoder(r.Body).Decode(&o)
			var id string
			if err == nil {
				id, err = do(o)
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			show(w, map[string]string{"id": id})
		})
	}
}

func show(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// actions are the controls that do something; what they return is the ts or the
// trigger id, where there is one.
func (s *Server) actions() map[string]func(order) (string, error) {
	done := func(do func(order)) func(order) (string, error) {
		return func(o order) (string, error) { do(o); return "", nil }
	}
	tried := func(do func(order) error) func(order) (string, error) {
		return func(o order) (string, error) { return "", do(o) }
	}
	return map[string]func(order) (string, error){
		"say": func(o order) (string, error) {
			if len(o.Files) > 0 {
				return s.SayFiles(o.Channel, o.User, o.Text, o.Thread, o.Files...), nil
			}
			return s.say(o.Channel, o.User, o.Text, o.Thread)
		},
		"slash":  func(o order) (string, error) { return s.Slash(o.Command, o.Text, o.Channel, o.User) },
		"press":  func(o order) (string, error) { return s.Press(o.Channel, o.TS, o.Button, o.User) },
		"submit": func(o order) (string, error) { return s.Submit(o.User, o.Text) },
		"raw":    func(o order) (string, error) { return s.Raw(o.Text) },

		"stop":   tried(func(o order) error { return s.Stop(o.Channel, o.Thread, o.User) }),
		"edit":   tried(func(o order) error { return s.Edit(o.Channel, o.TS, o.Text) }),
		"delete": tried(func(o order) error { return s.Delete(o.Channel, o.TS) }),
		"repeat": tried(func(o order) error { return s.Repeat(o.TS) }),

		"fault":      done(func(o order) { s.Break(o.Fault) }),
		"down":       done(func(order) { s.Down() }),
		"heal":       done(func(order) { s.Heal() }),
		"revoke":     done(func(o order) { s.Revoke(o.Token, o.Reason) }),
		"refresh":    done(func(order) { s.Refresh() }),
		"disconnect": done(func(o order) { s.Disconnect(o.Reason) }),
		"deafen":     done(func(o order) { s.Deafen(o.Pings) }),
		"app":        done(func(o order) { s.SetApp(o.URL) }),
		"channel":    done(func(o order) { s.SetChannel(o.World) }),
	}
}

// What a Fault does.
const (
	FaultDropBefore = "drop_before" // the connection is cut and nothing happened
	FaultDropAfter  = "drop_after"  // it happened, then the connection is cut
	FaultDelay      = "delay"       // it happens after Delay, and is answered well
	FaultStatus     = "status"      // HTTP status Status with a page of HTML; nothing happened
	FaultStatusLate = "status_late" // the same after it happened
	FaultBusy       = "ratelimited" // 429 with RetryAfter seconds; nothing happened
	FaultError      = "error"       // ok false with Error; nothing happened
	FaultGarbage    = "garbage"     // it happened, and the answer is no JSON
)

// Fault is what the next calls of a method meet.
type Fault struct {
	Method     string        `json:"method"` // "*": every one, response_url and socket included
	Kind       string        `json:"kind"`
	Skip       int           `json:"skip,omitempty"`  // so many calls pass before
	Count      int           `json:"count,omitempty"` // for so many calls; 0: one, below 0: until Heal
	Delay      time.Duration `json:"delay,omitempty"`
	Status     int           `json:"status,omitempty"` // 0: 503
	RetryAfter int           `json:"retry_after,omitempty"`
	Error      string        `json:"error,omitempty"`
}

// Break adds a fault. The oldest one that fits a call is met.
func (s *delivery) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Count == 0 {
		f.Count = 1
	}
	s.faults = append(s.faults, &f)
}

// Down cuts off everything until Heal: calls, response URLs, new sockets and
// those that are open.
func (s *delivery) Down() {
	s.Break(Fault{Method: "*", Kind: FaultDropBefore, Count: -1})
	s.Disconnect("")
}

// Revoke makes a token worthless: its calls are refused with code, such as
// token_revoked or account_inactive, and with the app token its sockets end.
// An empty code makes it good again.
func (s *delivery) Revoke(token, code string) {
	s.mu.Lock()
	s.revoked[token] = code
	ends := code != "" && token == s.o.AppToken
	s.mu.Unlock()
	if ends {
		s.Disconnect("link_disabled")
	}
}

// fault returns what a call of a method meets, nil for nothing. The caller
// holds the lock.
func (s *workspace) fault(method string) *Fault {
	for _, f := range s.faults {
		if f.Method != method && f.Method != "*" || f.Count == 0 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			f.Count--
		}
		met := *f
		return &met
	}
	return nil
}

// before reports whether nothing is to happen.
func (f *Fault) before() bool {
	if f == nil {
		return false
	}
	switch f.Kind {
	case FaultDropAfter, FaultDelay, FaultStatusLate, FaultGarbage:
		return false
	}
	return true
}

// fail answers a call with its fault.
func (s *workspace) fail(w http.ResponseWriter, seq int, method string, f *Fault) {
	s.mu.Lock()
	s.note(Entry{Seq: seq, Event: EventFault, Method: method, Performed: !f.before(), Problem: f.Kind})
	s.mu.Unlock()
	switch f.Kind {
	case FaultStatus, FaultStatusLate:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		status := f.Status
		if status == 0 {
			status = http.StatusServiceUnavailable
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, "<!doctype html><title>Server Error</title>")
	case FaultBusy:
		headers := map[string]string{"Retry-After": strconv.Itoa(max(1, f.RetryAfter))}
		respond(w, nil, &refusal{code: "ratelimited", status: http.StatusTooManyRequests, headers: headers})
	case FaultError:
		respond(w, nil, refuse(or(f.Error, "internal_error")))
	case FaultGarbage:
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = fmt.Fprint(w, `{"ok":tru`)
	default:
		panic(http.ErrAbortHandler)
	}
}

// What an Entry of the wire log tells.
const (
	EventCall      = "call"      // a call of the Web API or of a response URL arrived
	EventAnswer    = "answer"    // it was answered; Error says with what, if not ok
	EventFault     = "fault"     // it got the fault that was asked for; Performed says whether it took effect
	EventDeliver   = "deliver"   // an envelope or webhook was sent to the app
	EventAck       = "ack"       // the app acknowledged it; After is how long it took
	EventTimeout   = "timeout"   // it was not acknowledged in time
	EventLost      = "lost"      // it was given up
	EventConnect   = "connect"   // a socket was opened
	EventClose     = "close"     // a socket was closed
	EventViolation = "violation" // the client did wrong
)

// Entry is one line of the wire log. Seq joins a call with its outcome and
// counts from 1; deliveries are joined by Envelope. Tokens are not in it.
type Entry struct {
	Seq       int             `json:"seq,omitempty"`
	At        time.Time       `json:"at"`
	Event     string          `json:"event"`
	Method    string          `json:"method,omitempty"` // "chat.update", "response_url"; of deliveries "message", "/task", "block_actions"
	Args      map[string]any  `json:"args,omitempty"`
	Error     string          `json:"error,omitempty"`
	Performed bool            `json:"performed,omitempty"`
	TS        string          `json:"ts,omitempty"` // the message an answer speaks of
	Envelope  string          `json:"envelope,omitempty"`
	EventID   string          `json:"event_id,omitempty"` // of events; of commands and presses the trigger id
	Attempt   int             `json:"attempt,omitempty"`
	Socket    int             `json:"socket,omitempty"` // which connection, from 1
	After     time.Duration   `json:"after,omitempty"`
	Payload   json.RawMessage `json:"payload,omitempty"` // of an acknowledgement
	Problem   string          `json:"problem,omitempty"`
}

// note adds an entry. The caller holds the lock.
func (s *workspace) note(e Entry) {
	e.At = time.Now()
	s.entries = append(s.entries, e)
	s.change()
	s.log.Add(e)
}

// Entries are the wire log so far.
func (s *workspace) Entries() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.entries)
}

// Calls are the calls of a method so far, in order of arrival; of all when the
// method is empty.
func (s *workspace) Calls(method string) []Entry {
	var calls []Entry
	for _, e := range s.Entries() {
		if e.Event == EventCall && (method == "" || e.Method == method) {
			calls = append(calls, e)
		}
	}
	return calls
}

// ReadLog reads a wire log.
func ReadLog(path string) ([]Entry, error) { return wire.ReadLog[Entry](path) }
