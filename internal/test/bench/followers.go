package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"
)

const (
	followers     = 200
	followEvents  = 300
	followPace    = 20 * time.Millisecond // between an event that all have and the next one
	followLimit   = 10 * time.Second      // until all have one
	maxFollow     = 50 * time.Millisecond // 99th percentile
	followMark    = "bench-event-"
	followContent = followMark + "%d "
)

// audience listens to streams of events.
type audience struct {
	sent    []time.Time
	took    [][]time.Duration // of each event, by follower
	heard   chan int          // the number of an event, once for each follower
	working sync.WaitGroup
}

// measureFollowers adds messages to a context that 200 programs follow, and looks
// at when each of them has it: in the stream of the task, then in that of all tasks,
// and from a server that does nothing but hand it on.
func measureFollowers(ctx context.Context, dir string) ([]figure, error) {
	return withProgram(ctx, dir, func(p *program, _ int) ([]figure, error) { return p.followed(ctx) })
}

func (p *program) followed(ctx context.Context) (figures []figure, err error) {
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
		a, err := p.listened(ctx, path, "/v1/tasks/"+id+"/messages")
		if err != nil {
			return nil, fmt.Errorf("following %s: %w", path, err)
		}
		figures = append(figures, a.figures(fmt.Sprintf("an event of %s reaches %d followers", name, followers), least)...)
	}
	return figures, nil
}

// figures are those of a and, beside them, of the least that can be.
func (a *audience) figures(name string, least *audience) []figure {
	each, last := a.all()
	bareEach, bareLast := least.all()
	return []figure{
		within(name+": any of them, 99th percentile", percentile(each, 0.99), maxFollow, short(percentile(bareEach, 0.99))+" from a bare server; medians "+short(median(each))+" and "+short(median(bareEach))),
		within("the same: the last of them, 99th percentile", percentile(last, 0.99), maxFollow, short(percentile(bareLast, 0.99))),
	}
}

// all returns how long each took, and the slowest of each event.
func (a *audience) all() (each, last []time.Duration) {
	for _, took := range a.took {
		each = append(each, took...)
		last = append(last, percentile(took, 1))
	}
	return each, last
}

// listened lets everybody follow one path, and adds messages at another.
func (p *program) listened(ctx context.Context, path, to string) (*audience, error) {
	ctx, end := context.WithCancel(ctx)
	a := &audience{sent: make([]time.Time, followEvents), heard: make(chan int, followers)}
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
		content := json.RawMessage(strconv.Quote(fmt.Sprintf(followContent, n)))
		if _, err := p.call(ctx, http.MethodPost, to, map[string]any{"type": "thought", "content": content}); err != nil {
			return nil, err
		}
		if err := a.await(ctx, n); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// listen notes when the follower n has read which event.
func (a *audience) listen(stream io.Reader, n int) {
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		_, rest, found := bytes.Cut(lines.Bytes(), []byte(followMark))
		if !found || !bytes.HasPrefix(lines.Bytes(), []byte("data: ")) {
			continue
		}
		number, _, _ := bytes.Cut(rest, []byte(" "))
		event, err := strconv.Atoi(string(number))
		if err != nil || event >= len(a.took) {
			continue
		}
		a.took[event][n] = time.Since(a.sent[event])
		a.heard <- event
	}
}

// await waits until all have the event, and then for a moment.
func (a *audience) await(ctx context.Context, event int) error {
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
func echoed(ctx context.Context) (*audience, error) {
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
	p := &program{s.URL, &http.Client{Transport: &http.Transport{}}}
	defer p.close()
	return p.listened(ctx, "/", "/")
}
