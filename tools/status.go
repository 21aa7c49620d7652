package tools

import (
	"cmp"
	"slices"
	"time"
)

// ServerStatus is the health of one server.
type ServerStatus struct {
	Name      string
	Kind      string // "builtin" or "stdio"
	State     State
	Protocol  string // the MCP revision of the last connection; empty before it
	Tools     int    // that the server last listed
	Err       string // why it is down
	Restarts  int
	RoundTrip time.Duration // of the last listing of tools
}

// Status is the health of the servers of the newest snapshot, by name.
func (m *Manager) Status() []ServerStatus {
	var list []ServerStatus
	for _, s := range m.Set().servers {
		list = append(list, s.status())
	}
	slices.SortFunc(list, func(a, b ServerStatus) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (s *server) status() ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{Name: s.name, Kind: "stdio", State: s.state, Protocol: s.agreed, Restarts: s.restarts, RoundTrip: s.trip}
	if s.static != nil {
		st.Kind = "builtin"
	}
	if s.cat != nil {
		st.Tools = len(s.cat.tools)
	}
	if s.problem != nil {
		st.Err = s.problem.Error()
	}
	return st
}
