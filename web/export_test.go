package web

import "time"

// Hurry gives bodies and replies less time than they have otherwise.
func Hurry(c Config, d time.Duration) Config {
	c.hurry = d
	return c
}

// Crowded lets in fewer connections than otherwise.
func Crowded(c Config, most int) Config {
	c.most = most
	return c
}
