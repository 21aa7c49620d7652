package web

import "time"

// WithRequestTime sets the time for a body and for a reply.
func WithRequestTime(c Config, d time.Duration) Config {
	c.requestTime = d
	return c
}

// WithConnLimit sets the number of connections at once.
func WithConnLimit(c Config, limit int) Config {
	c.connLimit = limit
	return c
}
