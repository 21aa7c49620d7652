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

// WithClock sets the clock of the limits on requests.
func WithClock(c Config, now func() time.Time) Config {
	c.now = now
	return c
}

// SecretID is the id of a session or link, by its secret.
func SecretID(secret string) string { return secretID(secret) }
