package tools

// Busy tells whether a call of the server is under way.
func (s *Set) Busy(name string) bool { return s.servers[name].Busy() }
