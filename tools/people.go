package tools

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"legwork/tools/client"
)

// personIdle is how long the connection of a person to a server is kept without a call.
const personIdle = 10 * time.Minute

// people are the connections of people to the servers at which each person signs in. They
// are made at the first use.
type people struct {
	open  func(server, person string, of built) (*client.Server, error) // makes a connection
	start func(*client.Server) error                                    // runs it, if it does not run yet

	mu      sync.Mutex
	servers map[personServer]*personal
}

// personServer names the connection of a person to a server.
type personServer struct{ server, person string }

// personal is the connection of a person to a server.
type personal struct {
	*client.Server
	used time.Time
	last atomic.Pointer[view]
}

// member returns a server as a person uses it.
func (p *people) member(m *member, of built, person string) (*member, error) {
	one, err := p.connection(personServer{m.Name(), person}, of)
	if err != nil {
		return nil, err
	}
	as := *m
	as.Server, as.last = one.Server, &one.last
	return &as, nil
}

// connection returns a connection that runs, or that Run will start.
func (p *people) connection(key personServer, of built) (*personal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.servers[key]
	if one == nil {
		s, err := p.open(key.server, key.person, of)
		if err == nil {
			err = p.start(s)
		}
		if err != nil {
			return nil, err
		}
		one = &personal{Server: s}
		p.servers[key] = one
	}
	one.used = time.Now()
	return one, nil
}

// startAll starts the connections that were made before Run.
func (p *people) startAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.servers {
		_ = p.start(one.Server) // fails only when Run has ended
	}
}

// take removes the connections for which gone holds, and returns them.
func (p *people) take(gone func(personServer, *personal) bool) (list []*client.Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, one := range p.servers {
		if gone(key, one) {
			delete(p.servers, key)
			list = append(list, one.Server)
		}
	}
	return list
}

// idle removes the connections without a call for personIdle, and returns them.
func (p *people) idle(now time.Time) []*client.Server {
	return p.take(func(_ personServer, one *personal) bool { return now.Sub(one.used) > personIdle && !one.Busy() })
}

// get returns the connection of a person to a server; nil when there is none now.
func (p *people) get(server, person string) *client.Server {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.servers[personServer{server, person}]; one != nil {
		return one.Server
	}
	return nil
}

// group returns a group as a person uses it: with their own connections to the servers at
// which each person signs in. Without a person, it has connections without a sign-in.
func (s *Set) group(name, person string) (*group, error) {
	g := s.groups[name]
	if g == nil {
		return nil, s.noGroup(name)
	}
	if person == "" || !slices.ContainsFunc(g.servers, func(m *member) bool { return m.auth.PerPerson() }) {
		return g, nil
	}
	as := &group{name: g.name, cfg: g.cfg, servers: slices.Clone(g.servers), tools: g.tools, readOnly: g.readOnly, approve: g.approve}
	for i, m := range as.servers {
		if m.auth.PerPerson() {
			var err error
			if as.servers[i], err = s.people.member(m, s.built[m.Name()], person); err != nil {
				return nil, err
			}
		}
	}
	return as, nil
}
