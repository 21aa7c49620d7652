package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// programToken is the token of all programs.
const programToken = "bench-token-that-nobody-else-has"

// program calls the API of a daemon.
type program struct {
	base   string
	client *http.Client
}

// open lets the daemon listen at an address that is free now, for a token without
// a rate. Call it before the daemon is started.
func (h *house) open() (*program, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(h.line[3])
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(programToken))
	own := fmt.Sprintf("http: {listen: %q, rate: 100000, tokens: [{name: bench, sha256: %s, role: admin}]}", address, hex.EncodeToString(sum[:]))
	changed := strings.Replace(string(text), `http: {listen: "127.0.0.1:0"}`, own, 1)
	p := &program{"http://" + address, &http.Client{Transport: &http.Transport{}}}
	return p, os.WriteFile(h.line[3], []byte(changed), 0o600)
}

func (p *program) close() { p.client.CloseIdleConnections() }

// withProgram starts a daemon in dir, has use measure it with the process of that
// id, and ends it.
func withProgram(ctx context.Context, dir string, use func(p *program, pid int) ([]figure, error)) ([]figure, error) {
	h, err := newHouse(ctx, dir)
	if err != nil {
		return nil, err
	}
	p, err := h.open()
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	d, err := h.start(ctx)
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	figures, err := use(p, d.Process.Pid)
	p.close()
	return figures, errors.Join(err, d.stop(), h.close())
}

// get reads the whole of a reply.
func (p *program) get(ctx context.Context, path string) ([]byte, error) {
	return p.call(ctx, http.MethodGet, path, nil)
}

// call sends what body is as JSON, or nothing, and reads the whole of the reply.
func (p *program) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	var sent io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		sent = bytes.NewReader(text)
	}
	r, err := p.request(ctx, method, path, sent)
	if err != nil {
		return nil, err
	}
	response, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	return text, errors.Join(err, response.Body.Close(), refusal(response, text))
}

func (p *program) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+programToken)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r, nil
}

// refusal is the error of a reply that is none of what was asked for.
func refusal(r *http.Response, body []byte) error {
	if r.StatusCode < http.StatusMultipleChoices {
		return nil
	}
	return fmt.Errorf("%s %s: %s: %.300s", r.Request.Method, r.Request.URL.Path, r.Status, body)
}

// start starts a task, or with run false a context, and returns its id.
func (p *program) start(ctx context.Context, goal string, run bool) (id string, err error) {
	reply, err := p.call(ctx, http.MethodPost, "/v1/tasks", map[string]any{"goal": goal, "run": run})
	var t struct{ ID string }
	return t.ID, errors.Join(err, json.Unmarshal(reply, &t))
}
