package web

import "time"

// Hurry gives bodies and replies less time than they have otherwise.
func Hurry(c Config, d time.Duration) Config {
	c.hurry = d
	return c
}
