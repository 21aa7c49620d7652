package web_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"legwork/tasks/policy"
	"legwork/web"
)

// connection sends requests over one connection.
type connection struct {
	net.Conn
	*bufio.Reader
}

func connect(t *testing.T, at string) connection {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return connection{c, bufio.NewReader(c)}
}

// asks reports whether a request is answered with 200. It does not read a stream.
func (c connection) asks(t *testing.T, path, token string) bool {
	t.Helper()
	if _, err := fmt.Fprintf(c.Conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", path, token); err != nil {
		return false
	}
	resp, err := http.ReadResponse(c.Reader, nil)
	if err != nil {
		return false
	}
	if path == "/healthz" {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return err == nil && resp.StatusCode == http.StatusOK
}

// TestConnLimitIdle: idle connections are closed for new ones.
func TestConnLimitIdle(t *testing.T) {
	t.Parallel()
	at, _, _ := serve(t, web.WithConnLimit(web.Config{Listen: "127.0.0.1:0"}, 4))
	var rest []connection
	for range 5 {
		c := connect(t, at)
		for !c.asks(t, "/healthz", "") { // until the server knows that others rest
			c = connect(t, at)
		}
		rest = append(rest, c)
	}
	closed := 0
	for _, c := range rest {
		if !c.asks(t, "/healthz", "") {
			closed++
		}
	}
	if closed == 0 {
		t.Errorf("of %d idle connections, where 4 are allowed, none was closed", len(rest))
	}
}

// TestConnLimitBurst: no more connections stay than allowed, however fast they arrive.
func TestConnLimitBurst(t *testing.T) {
	t.Parallel()
	const most = 4
	at, _, _ := serve(t, web.WithConnLimit(web.Config{Listen: "127.0.0.1:0"}, most))
	var all []connection
	for range 100 {
		all = append(all, connect(t, at))
	}
	if !all[len(all)-1].asks(t, "/healthz", "") { // then the server has let in all before it
		t.Fatal("the last one is not answered")
	}
	stayed := 0
	for _, c := range all {
		if c.asks(t, "/healthz", "") {
			stayed++
		}
	}
	if stayed != most {
		t.Errorf("of %d connections, where %d are allowed, %d stayed", len(all), most, stayed)
	}
}

// TestConnLimitStreams: authorized streams stay, and one more connection is closed.
func TestConnLimitStreams(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	at, _, _ := serve(t, web.WithConnLimit(web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: stream}, 2))
	streams := []connection{connect(t, at), connect(t, at)}
	for i, c := range streams {
		if !c.asks(t, "/v1/events", text) {
			t.Fatalf("stream %d was not begun", i)
		}
	}
	if _, err := connect(t, at).ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one more connection: got %v, want it closed", err)
	}
	if err := streams[0].Close(); err != nil {
		t.Fatal(err)
	}
	for !connect(t, at).asks(t, "/healthz", "") { // until the server has seen that
	}
}

// TestConnLimitUnauthorized: a request with a token replaces one without.
func TestConnLimitUnauthorized(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	begun := make(chan bool)
	hook := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		begun <- true
		_, _ = io.Copy(io.Discard, r.Body)
	})
	at, _, _ := serve(t, web.WithConnLimit(web.Config{
		Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI, Webhooks: map[string]http.Handler{"/telegram/webhook": hook},
	}, 2))
	unauthorized := []connection{connect(t, at), connect(t, at)}
	for _, c := range unauthorized {
		if _, err := io.WriteString(c.Conn, "POST /telegram/webhook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-begun
	}
	if !connect(t, at).asks(t, "/v1/me", text) {
		t.Error("a request with a token was not served")
	}
	if _, err := unauthorized[0].ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the first connection without a token: got %v, want it closed", err)
	}
}

// TestUnreadBodies: the server does not wait for a body that no handler reads.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	at, _, _ := serve(t, web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: whoAmI})
	for _, c := range []struct {
		path, token string
		status      int
	}{{"/healthz", "", 405}, {"/nothing", "", 404}, {"/v1/tasks", "guess", 401}, {"/nothing", text, 404}} {
		conn := connect(t, at)
		if _, err := fmt.Fprintf(conn.Conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 200000\r\n\r\n", c.path, c.token); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(conn.Reader, nil)
		if err != nil || resp.StatusCode != c.status || !resp.Close {
			t.Fatalf("%s: got %+v, %v, want %d and that the connection closes", c.path, resp, err, c.status)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		if err := conn.SetReadDeadline(time.Now().Add(15 * time.Second)); err != nil { // half of what bodies are given
			t.Fatal(err)
		}
		if _, err := conn.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: got %v, want the connection closed", c.path, err)
		}
	}
}
