package web

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// maxConns is how many connections an address has at once: strangers have them, too.
const maxConns = 2048

// crowd bounds connections. For one too many, the one that has had no request for
// longest is closed; where all have one, that is the one that came.
type crowd struct {
	most int

	mu   sync.Mutex
	open int
	rest list.List // those without a request, the longest first
	at   map[net.Conn]*list.Element
}

func newCrowd(most int) *crowd { return &crowd{most: most, at: map[net.Conn]*list.Element{}} }

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
	if e := c.at[conn]; e != nil {
		c.rest.Remove(e)
		delete(c.at, conn)
	}
	switch to {
	case http.StateNew, http.StateIdle:
		c.at[conn] = c.rest.PushBack(conn)
		if to == http.StateNew {
			c.open++
		}
	case http.StateClosed, http.StateHijacked:
		c.open--
	case http.StateActive:
	}
	if to != http.StateNew || c.open <= c.most {
		return nil
	}
	return c.rest.Front().Value.(net.Conn)
}
