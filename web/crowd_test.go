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

	"legwork/tasks/contexts"
	"legwork/web"
)

// connection asks over one connection.
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

// asks reports whether a request is answered; the reply is left to be read when it
// is a stream.
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

// TestCrowdOfIdlers: connections that wait for nothing make room for others.
func TestCrowdOfIdlers(t *testing.T) {
	at, _, _ := serve(t, web.Crowded(web.Config{Listen: "127.0.0.1:0"}, 4))
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

// TestCrowdOfStreams: connections that are answered stay, and one more is closed.
func TestCrowdOfStreams(t *testing.T) {
	ops, text := key("ops", contexts.RoleAdmin)
	at, _, _ := serve(t, web.Crowded(web.Config{Listen: "127.0.0.1:0", Access: access(ops), API: stream}, 2))
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
