package pg

import (
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Proxy stands between a client and a server and breaks their connections.
type Proxy struct {
	target   string
	listener net.Listener
	delay    time.Duration
	wg       sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	conns   map[net.Conn]bool
	frozen  bool
	refuse  bool
	cut     Cut
	cuts    chan struct{}
	trips   int
}

// Cut says how the next commit is broken.
type Cut int

// The ways to break a commit.
const (
	NoCut     Cut = iota
	CutBefore     // the server never gets the commit
	CutAfter      // the server commits, and its reply gets lost
)

// NewProxy starts a proxy in front of a server. Each reply of the server takes delay
// longer.
func NewProxy(t testing.TB, s *Server, delay time.Duration) *Proxy {
	t.Helper()
	p, err := Listen(s, delay)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Listen is NewProxy outside of tests. The caller closes the proxy.
func Listen(s *Server, delay time.Duration) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{target: s.address, listener: listener, delay: delay, conns: map[net.Conn]bool{}, cuts: make(chan struct{}, 16)}
	p.changed = sync.NewCond(&p.mu)
	p.wg.Go(p.accept)
	return p, nil
}

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.Cut(true)
	p.wg.Wait()
}

// URL is the URL of a database of the server, by the proxy.
func (p *Proxy) URL(t testing.TB, database string) string {
	t.Helper()
	through, err := p.Through(database)
	if err != nil {
		t.Fatal(err)
	}
	return through
}

// Through is URL outside of tests.
func (p *Proxy) Through(database string) (string, error) {
	u, err := url.Parse(database)
	if err != nil {
		return "", err
	}
	u.Host = p.listener.Addr().String()
	return u.String(), nil
}

// Cut closes all connections. With refuse it closes new ones as well, until Mend.
func (p *Proxy) Cut(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse, p.frozen = refuse, false
	for c := range p.conns {
		_ = c.Close()
	}
	p.changed.Broadcast()
}

// Freeze stops the flow of data in all connections, until Mend.
func (p *Proxy) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = true
}

// Mend ends what Cut and Freeze did.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.refuse = false, false
	p.changed.Broadcast()
}

// Trips is how many round trips the clients have asked for.
func (p *Proxy) Trips() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips
}

// CutCommit cuts the connection of the next commit. The channel gets a value then.
func (p *Proxy) CutCommit(c Cut) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = c
	return p.cuts
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	if p.refuse {
		p.mu.Unlock()
		return
	}
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.conns, client)
		delete(p.conns, server)
		p.mu.Unlock()
	}()
	c := &connection{proxy: p, statements: map[string]string{}}
	var both sync.WaitGroup
	both.Go(func() {
		defer server.Close()
		defer client.Close()
		c.requests(server, client)
	})
	both.Go(func() {
		defer server.Close()
		defer client.Close()
		c.replies(client, server)
	})
	both.Wait()
}

// wait waits while the proxy is frozen.
func (p *Proxy) wait() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.frozen {
		p.changed.Wait()
	}
}

// takeCut returns how a commit is to be broken, once.
func (p *Proxy) takeCut() Cut {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cut
	p.cut = NoCut
	return c
}

// connection is one client's connection.
type connection struct {
	proxy      *Proxy
	statements map[string]string // prepared ones, by name

	mu   sync.Mutex
	drop bool // the next reply
}

// requests passes on messages of the client. Each is a byte for its type, its length
// with the four bytes of the length, and the rest; only the first has no type.
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func (c *connection) requests(server io.Writer, client io.Reader) {
	for first := true; ; first = false {
		head := make([]byte, 5)
		if first {
			head = head[:4]
		}
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(head[len(head)-4:])-4)
		if _, err := io.ReadFull(client, body); err != nil {
			return
		}
		c.proxy.wait()
		if !first && (head[0] == 'S' || head[0] == 'Q') { // sync, query
			c.proxy.mu.Lock()
			c.proxy.trips++
			c.proxy.mu.Unlock()
		}
		if !first && c.commits(head[0], body) {
			switch cut := c.proxy.takeCut(); cut {
			case CutBefore:
				c.proxy.cuts <- struct{}{}
				return
			case CutAfter:
				c.mu.Lock()
				c.drop = true
				c.mu.Unlock()
			case NoCut:
			}
		}
		if _, err := server.Write(slices.Concat(head, body)); err != nil {
			return
		}
	}
}

// commits reports whether a message runs commit. It notes prepared statements.
func (c *connection) commits(kind byte, body []byte) bool {
	name, rest, _ := strings.Cut(string(body), "\x00")
	text, _, _ := strings.Cut(rest, "\x00")
	switch kind {
	case 'P': // parse: name, text
		c.statements[name] = text
	case 'B': // bind: portal, name
		return c.statements[text] == "commit"
	case 'Q':
		return name == "commit"
	}
	return false
}

// readyForQuery is the beginning of the message that ends the replies to a batch.
const readyForQuery = "Z\x00\x00\x00\x05"

// replies passes on what the server sends.
func (c *connection) replies(client io.Writer, server io.Reader) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		c.proxy.wait()
		c.mu.Lock()
		drop := c.drop
		c.mu.Unlock()
		if drop && strings.Contains(string(buffer[:n]), "COMMIT\x00") {
			c.proxy.cuts <- struct{}{}
			return
		}
		if drop && strings.Contains(string(buffer[:n]), readyForQuery) { // something before the commit failed
			return
		}
		if drop {
			continue
		}
		if c.proxy.delay > 0 {
			<-time.After(c.proxy.delay)
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}
