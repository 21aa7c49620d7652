package client

import (
	"encoding/json"
	"fmt"
	"sync"
)

// cuts knows the answers that are expected on a connection: what was left out
// of each, and the large ones themselves, which the library would copy several
// times. It is safe for concurrent use.
type cuts struct {
	mu    sync.Mutex
	by    map[string]*answer // by the id of the request
	lists int                // that are waited for
}

// answer is what is known of one.
type answer struct {
	cut   int    // decoded bytes that were left out
	whole []byte // the message; nil when the library has it
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

// expect begins to look out for the answer with this id.
func (c *cuts) expect(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string]*answer{}
	}
	c.by[id] = &answer{}
}

// taken ends that and returns what is known of the answer.
func (c *cuts) taken(id string) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.by[id]
	delete(c.by, id)
	if a == nil {
		return answer{}
	}
	return *a
}

// note keeps what is to be known of a message, and returns what the library
// gets in its place.
func (c *cuts) note(m packet) []byte {
	if m.method || m.dropped == 0 && len(m.raw) <= reusable {
		return m.raw
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.by[m.id]
	if a == nil {
		return m.raw
	}
	a.cut += m.dropped
	if len(m.raw) <= reusable || !m.result || a.whole != nil || !json.Valid(m.raw) {
		return m.raw // the library knows what to do with an odd one
	}
	a.whole = m.raw // so long a buffer is not used again
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id)
}
