package client

import "sync"

// flight is a call that is under way.
type flight struct{}

// flights are the calls that are under way on one connection.
type flights struct {
	mu  sync.Mutex
	all []*flight
}

func (f *flights) progressed(map[string]any) {}
