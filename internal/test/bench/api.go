package main

import (
	"bufio"
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
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// programToken is the token of all programs.
const programToken = "bench-token-of-the-run"

// apiClient calls the API of a daemon.
type apiClient struct {
	base   string
	client *http.Client
}

// open lets the daemon listen at an address that is free now, for a token without
// a rate. Call it before the daemon is started.
func (h *daemonEnv) open() (*apiClient, error) {
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
	p := &apiClient{"http://" + address, &http.Client{Transport: &http.Transport{}}}
	return p, os.WriteFile(h.line[3], []byte(changed), 0o600)
}

func (p *apiClient) close() { p.client.CloseIdleConnections() }

// withProgram starts a daemon in dir, has use measure it with the process of that
// id, and ends it.
func withProgram(ctx context.Context, dir string, use func(p *apiClient, pid int) ([]figure, error)) ([]figure, error) {
	h, err := newDaemonEnv(ctx, dir)
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
func (p *apiClient) get(ctx context.Context, path string) ([]byte, error) {
	return p.call(ctx, http.MethodGet, path, nil)
}

// call sends what body is as JSON, or nothing, and reads the whole of the reply.
func (p *apiClient) call(ctx context.Context, method, path string, body any) ([]byte, error) {
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

func (p *apiClient) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
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
func (p *apiClient) start(ctx context.Context, goal string, run bool) (id string, err error) {
	reply, err := p.call(ctx, http.MethodPost, "/v1/tasks", map[string]any{"goal": goal, "run": run})
	var t struct{ ID string }
	return t.ID, errors.Join(err, json.Unmarshal(reply, &t))
}

const (
	followers     = 200
	followEvents  = 300
	followPace    = 20 * time.Millisecond // between an event that all have and the next one
	followLimit   = 10 * time.Second      // until all have one
	maxFollow     = 50 * time.Millisecond // 99th percentile
	followMark    = "bench-event-"
	followContent = followMark + "%d "
)

// followerGroup listens to streams of events.
type followerGroup struct {
	sent    []time.Time
	took    [][]time.Duration // of each event, by follower
	heard   chan int          // the number of an event, once for each follower
	working sync.WaitGroup
}

// measureFollowers adds messages to a context that 200 programs follow, and looks
// at when each of them has it: in the stream of the task, then in that of all tasks,
// and from a server that does nothing but hand it on.
func measureFollowers(ctx context.Context, dir string) ([]figure, error) {
	return withProgram(ctx, dir, func(p *apiClient, _ int) ([]figure, error) { return p.followed(ctx) })
}

func (p *apiClient) followed(ctx context.Context) (figures []figure, err error) {
	least, err := echoed(ctx)
	if err != nil {
		return nil, fmt.Errorf("following a bare server: %w", err)
	}
	for _, all := range []bool{false, true} {
		id, err := p.start(ctx, "be followed", false)
		if err != nil {
			return nil, err
		}
		name, path := "GET /v1/tasks/{id}/events", "/v1/tasks/"+id+"/events"
		if all {
			name, path = "GET /v1/events", "/v1/events"
		}
		a, err := p.listened(ctx, path, "/v1/tasks/"+id+"/messages", thought)
		if err != nil {
			return nil, fmt.Errorf("following %s: %w", path, err)
		}
		figures = append(figures, a.figures(fmt.Sprintf("an event of %s reaches %d followers", name, followers), least)...)
	}
	return figures, nil
}

// figures are those of a and, beside them, of the least that can be.
func (a *followerGroup) figures(name string, least *followerGroup) []figure {
	each, last := a.all()
	bareEach, bareLast := least.all()
	return []figure{
		within(name+": any of them, 99th percentile", percentile(each, 0.99), maxFollow, short(percentile(bareEach, 0.99))+" from a bare server; medians "+short(median(each))+" and "+short(median(bareEach))),
		within("the same: the last of them, 99th percentile", percentile(last, 0.99), maxFollow, short(percentile(bareLast, 0.99))),
	}
}

// all returns how long each took, and the slowest of each event.
func (a *followerGroup) all() (each, last []time.Duration) {
	for _, took := range a.took {
		each = append(each, took...)
		last = append(last, percentile(took, 1))
	}
	return each, last
}

// thought is a message of a task.
func thought(content string) any { return map[string]string{"type": "thought", "content": content} }

// listened lets everybody follow one path, and adds messages at another, with bodies that
// hold a content.
func (p *apiClient) listened(ctx context.Context, path, to string, body func(content string) any) (*followerGroup, error) {
	ctx, end := context.WithCancel(ctx)
	a := &followerGroup{sent: make([]time.Time, followEvents), heard: make(chan int, followers)}
	for range followEvents {
		a.took = append(a.took, make([]time.Duration, followers))
	}
	defer a.working.Wait()
	defer end()
	for n := range followers {
		r, err := p.request(ctx, http.MethodGet, path, nil)
		if err != nil {
			return nil, err
		}
		response, err := p.client.Do(r)
		if err != nil {
			return nil, err
		}
		if err := refusal(response, nil); err != nil {
			return nil, errors.Join(err, response.Body.Close())
		}
		a.working.Go(func() {
			defer response.Body.Close()
			a.listen(response.Body, n)
		})
	}
	for n := range followEvents {
		a.sent[n] = time.Now()
		if _, err := p.call(ctx, http.MethodPost, to, body(fmt.Sprintf(followContent, n))); err != nil {
			return nil, err
		}
		if err := a.await(ctx, n); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// listen notes when the follower n has read which event.
func (a *followerGroup) listen(stream io.Reader, n int) {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		_, rest, found := bytes.Cut(lines.Bytes(), []byte(followMark))
		if !found || !bytes.HasPrefix(lines.Bytes(), []byte("data: ")) {
			continue
		}
		number, _, _ := bytes.Cut(rest, []byte(" "))
		event, err := strconv.Atoi(string(number))
		if err != nil || event >= len(a.took) || a.took[event][n] != 0 { // an answer may repeat it
			continue
		}
		a.took[event][n] = time.Since(a.sent[event])
		a.heard <- event
	}
}

// await waits until all have the event, and then for a moment.
func (a *followerGroup) await(ctx context.Context, event int) error {
	late, cancel := context.WithTimeout(ctx, followLimit)
	defer cancel()
	for n := range followers {
		select {
		case <-late.Done():
			return fmt.Errorf("event %d: only %d of %d followers have it: %w", event, n, followers, late.Err())
		case heard := <-a.heard:
			if heard != event {
				return fmt.Errorf("event %d came in place of %d", heard, event)
			}
		}
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(followPace):
		return nil
	}
}

// echoed is the same with a server that only hands on what it is sent.
func echoed(ctx context.Context) (*followerGroup, error) {
	var mu sync.Mutex
	var lines []chan []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, _ := io.ReadAll(r.Body) // cut short, it is not heard
			mu.Lock()
			defer mu.Unlock()
			for _, line := range lines {
				line <- body
			}
			return
		}
		line := make(chan []byte, 1)
		mu.Lock()
		lines = append(lines, line)
		mu.Unlock()
		rc := http.NewResponseController(w)
		for err := rc.Flush(); err == nil; err = rc.Flush() {
			select {
			case <-r.Context().Done():
				return
			case text := <-line:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", text) // flushing says what is wrong
			}
		}
	}))
	defer s.Close()
	p := &apiClient{s.URL, &http.Client{Transport: &http.Transport{}}}
	defer p.close()
	return p.listened(ctx, "/", "/", thought)
}
