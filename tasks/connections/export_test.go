package connections

// Kept is how many identities take memory.
func (c *Connections) Kept() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.servers {
		n += len(s.identities)
	}
	return n
}
