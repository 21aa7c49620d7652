package tools

// Busy tells whether a call of the server is under way.
func (s *Set) Busy(name string) bool {
	sv := s.servers[name]
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.inflight > 0
}
