package client

import "time"

// Status is the health of one server.
type Status struct {
	Name      string
	Kind      string // "builtin", "stdio", "http" or "sse"
	State     State
	Protocol  string // the MCP revision of the last connection; empty before it
	Tools     int    // that the server last listed
	Err       string // why it is down
	Restarts  int
	RoundTrip time.Duration // of the last listing of tools
}

// Status tells how the server is.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.name, Kind: s.dialer.cfg.kind(), State: s.state, Protocol: s.agreed, Restarts: s.restarts, RoundTrip: s.trip}
	if s.cat != nil {
		for _, d := range s.cat.Tools {
			if !d.Own {
				st.Tools++
			}
		}
	}
	if s.problem != nil {
		st.Err = s.problem.Error()
	}
	return st
}

func (c Config) kind() string {
	switch {
	case c.Local != nil:
		return "builtin"
	case c.SSE:
		return "sse"
	case c.URL != "":
		return "http"
	}
	return "stdio"
}

// Name is that of the Config.
func (s *Server) Name() string { return s.name }

// Local tells that the server is part of this process.
func (s *Server) Local() bool { return s.dialer.cfg.Local != nil }

// Busy tells whether a call is under way.
func (s *Server) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inflight > 0
}
