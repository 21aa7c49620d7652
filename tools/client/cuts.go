package client

import "sync"

// cuts counts what is left out of the answers that are expected on a
// connection. It is safe for concurrent use.
type cuts struct {
	mu    sync.Mutex
	by    map[string]int // decoded bytes by the id of the request
	lists int            // that are waited for
}

// list notes that a list is waited for, until done.
func (c *cuts) list() (done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lists--
	}
}

// slack is what a message may have beyond its longest string.
func (c *cuts) slack() int {
	if c == nil {
		return lineSlack
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists > 0 {
		return listSlack
	}
	return lineSlack
}

// expect starts counting what is left out of the answer with this id.
func (c *cuts) expect(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]int{}
	}
	c.by[id] = 0
}

// taken ends the counting and returns the bytes that were left out.
func (c *cuts) taken(id string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.by[id]
	delete(c.by, id)
	return n
}

func (c *cuts) note(m packet) {
	if m.dropped == 0 || m.method {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, expected := c.by[m.id]; expected {
		c.by[m.id] += m.dropped
	}
}
