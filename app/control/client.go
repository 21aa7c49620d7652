package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// ErrNoProcess says that no process answers on the data directory's socket.
var ErrNoProcess = errors.New("no legwork is running on this data directory")

// Client calls the process that owns a data directory. It is safe for concurrent
// use.
type Client struct {
	http *http.Client
}

// NewClient returns a client for the owner of dir. Close frees its connections.
func NewClient(dir string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var c net.Conn
		err := reach(dir, func(short string) (err error) {
			c, err = new(net.Dialer).DialContext(ctx, "unix", short)
			return err
		})
		return c, err
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Close frees the client's connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call makes a call, with in as JSON when it is not nil, and decodes the reply
// into out unless that is nil. ErrNoProcess when there is no owner to answer.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	body := ""
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encoding %T: %w", in, err)
		}
		body = string(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("calling %s %s: %w", method, path, err)
	}
	reply, err := c.http.Do(r)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return ErrNoProcess
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New("the running legwork ended before it answered: start it again, and repeat the command")
	}
	if err != nil {
		return fmt.Errorf("calling %s %s: %w", method, path, err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return fmt.Errorf("reading reply to %s %s: %w", method, path, err)
	}
	if reply.StatusCode == http.StatusInternalServerError {
		return errors.New(strings.TrimSpace(string(text))) // the text of the error, see Reply
	}
	if reply.StatusCode >= 300 {
		return fmt.Errorf("calling %s %s: %s: %s", method, path, reply.Status, strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("reading reply to %s %s: %w", method, path, err)
	}
	return nil
}

// Stream makes a GET call whose reply is read bit by bit. The caller closes it.
func (c *Client) Stream(ctx context.Context, path string) (io.ReadCloser, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://control"+path, nil)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", path, err)
	}
	reply, err := c.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", path, err)
	}
	if reply.StatusCode != http.StatusOK {
		defer reply.Body.Close()
		text, _ := io.ReadAll(reply.Body) // the status is the error
		return nil, fmt.Errorf("calling %s: %s: %s", path, reply.Status, strings.TrimSpace(string(text)))
	}
	return reply.Body, nil
}

// Status asks the owner for its status.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var s Status
	err := c.Call(ctx, http.MethodGet, "/status", nil, &s)
	return s, err
}
