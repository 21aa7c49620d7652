package slackfake

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

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
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Count == 0 {
		f.Count = 1
	}
	s.faults = append(s.faults, &f)
}

// Down cuts off everything until Heal: calls, response URLs, new sockets and
// those that are open.
func (s *Server) Down() {
	s.Break(Fault{Method: "*", Kind: FaultDropBefore, Count: -1})
	s.Disconnect("")
}

// Revoke makes a token worthless: its calls are refused with code, such as
// token_revoked or account_inactive, and with the app token its sockets end.
// An empty code makes it good again.
func (s *Server) Revoke(token, code string) {
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
func (s *Server) fault(method string) *Fault {
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
func (s *Server) fail(w http.ResponseWriter, seq int, method string, f *Fault) {
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
