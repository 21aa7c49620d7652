package web

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// maxConns is how many connections an address has at once: strangers have them, too.
const maxConns = 2048

// crowd bounds connections. For one too many, the one that has had no request for
// longest is closed; where all have one, the one whose request came first of those
// without a valid token; and where all have a token, the one that came.
type crowd struct {
	most int

	mu        sync.Mutex
	open      int       // without those that leave
	rest      list.List // of connections without a request, the longest first
	strangers list.List // of those with a request, and no token in it yet
	at        map[net.Conn]place
	leave     map[net.Conn]bool // closed here, which the server has not noticed yet
}

// place is where a connection stands in a list.
type place struct {
	in *list.List
	*list.Element
}

func newCrowd(most int) *crowd {
	return &crowd{most: most, at: map[net.Conn]place{}, leave: map[net.Conn]bool{}}
}

// changed is told of every change of a connection, as http.Server.ConnState has it.
func (c *crowd) changed(conn net.Conn, to http.ConnState) {
	if leaves := c.note(conn, to); leaves != nil {
		_ = leaves.Close() // what is left of it is of no use
	}
}

// note returns the connection that is to be closed, if one is.
func (c *crowd) note(conn net.Conn, to http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := to == http.StateClosed || to == http.StateHijacked
	switch {
	case c.leave[conn]:
		if over {
			delete(c.leave, conn)
		}
	case over:
		c.put(conn, nil)
		c.open--
	case to == http.StateIdle:
		c.put(conn, &c.rest)
	case to == http.StateActive:
		c.put(conn, &c.strangers)
	case c.open == c.most:
		leaves := c.least(conn)
		c.put(conn, &c.rest)
		c.put(leaves, nil)
		c.leave[leaves] = true
		return leaves
	default:
		c.put(conn, &c.rest)
		c.open++
	}
	return nil
}

// least is the connection that makes room for one that came.
func (c *crowd) least(came net.Conn) net.Conn {
	for _, l := range []*list.List{&c.rest, &c.strangers} {
		if first := l.Front(); first != nil {
			return first.Value.(net.Conn)
		}
	}
	return came
}

// put has a connection stand at the end of a list, or of none.
func (c *crowd) put(conn net.Conn, in *list.List) {
	if before, ok := c.at[conn]; ok {
		before.in.Remove(before.Element)
		delete(c.at, conn)
	}
	if in != nil {
		c.at[conn] = place{in, in.PushBack(conn)}
	}
}

type trustKey struct{}

// with gives the requests of a connection what trusted calls, as
// http.Server.ConnContext has it.
func (c *crowd) with(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, trustKey{}, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.at[conn].in == &c.strangers {
			c.put(conn, nil)
		}
	})
}

// trusted says that a request came with a valid token: until it was answered, its
// connection makes room for none.
func trusted(r *http.Request) {
	if trust, ok := r.Context().Value(trustKey{}).(func()); ok {
		trust()
	}
}
