package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// client talks to legwork's HTTP API about one task.
type client struct {
	url   string // such as http://127.0.0.1:8080
	token string
	task  string
	log   func(format string, a ...any)
}

// state is the shared state of the task.
type state struct {
	Values  map[string]json.RawMessage `json:"state"`
	Version int                        `json:"version"`
	Over    bool                       `json:"over"`
}

// read decodes a key into v, which stays as it is when there is no such key.
func (s state) read(key string, v any) error {
	if s.Values[key] == nil {
		return nil
	}
	if err := json.Unmarshal(s.Values[key], v); err != nil {
		return fmt.Errorf("reading the key %q: %w", key, err)
	}
	return nil
}

// errLost says that somebody else changed the state first: read it again and decide
// again.
var errLost = errors.New("the task has changed meanwhile")

// problem is an error of legwork (RFC 9457).
type problem struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string {
	return fmt.Sprintf("legwork answers %d: %s: %s", p.Status, p.Title, p.Detail)
}

// call sends a request until legwork accepts it. It retries after network errors, a
// restart (5xx) and "too many requests" (429), so that each request must be safe to
// repeat: it only reads, or has an idempotency key or an If-Match.
func (c *client) call(ctx context.Context, method, path string, header http.Header, body, into any) error {
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encoding a request: %w", err)
	}
	for pause := 200 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		after, err := c.once(ctx, method, path, header, payload, into)
		var p *problem
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.As(err, &p) && (p.Status == http.StatusConflict || p.Status == http.StatusPreconditionFailed):
			return fmt.Errorf("%w: %w", errLost, err)
		case errors.As(err, &p) && p.Status < 500 && p.Status != http.StatusTooManyRequests:
			return err
		}
		c.log("waiting for legwork: %v", err)
		select {
		case <-time.After(max(after, pause/2+rand.N(pause/2))): // not all agents at once
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// once sends a request once; after is how long legwork asks to wait.
func (c *client) once(ctx context.Context, method, path string, header http.Header, payload []byte, into any) (after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	var body io.Reader
	if method != http.MethodGet {
		body = bytes.NewReader(payload)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, body)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		r.Header[name] = values
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(io.LimitReader(reply.Body, 16<<20))
	if err != nil {
		return 0, err
	}
	if reply.StatusCode >= 300 {
		p := &problem{Detail: strings.TrimSpace(string(text))}
		_ = json.Unmarshal(text, p) // a proxy may answer with something else
		p.Status = reply.StatusCode
		seconds, _ := strconv.Atoi(reply.Header.Get("Retry-After"))
		return time.Duration(seconds) * time.Second, p
	}
	return 0, json.Unmarshal(text, into)
}

// start opens a shared context with a goal, once for each goal.
func (c *client) start(ctx context.Context, goal string) error {
	key := fmt.Sprintf("reviewer-%x", sha256.Sum256([]byte(goal)))
	var task struct {
		ID string `json:"id"`
	}
	err := c.call(ctx, http.MethodPost, "/v1/tasks", nil, map[string]any{"goal": goal, "run": false, "idempotency_key": key}, &task)
	c.task = task.ID
	return err
}

func (c *client) path(rest string) string { return "/v1/tasks/" + url.PathEscape(c.task) + rest }

// goal returns what the task is about.
func (c *client) goal(ctx context.Context) (string, error) {
	var task struct {
		Goal string `json:"goal"`
	}
	err := c.call(ctx, http.MethodGet, c.path(""), nil, nil, &task)
	return task.Goal, err
}

// say adds a message to the context. The idempotency key makes sure that it is there
// once, even if the agent is restarted.
func (c *client) say(ctx context.Context, kind, key string, content any) error {
	return c.call(ctx, http.MethodPost, c.path("/messages"), nil, map[string]any{"type": kind, "content": content, "idempotency_key": c.task + "/" + key}, &struct{}{})
}

// set changes keys of the shared state, unless it has changed since that version:
// errLost.
func (c *client) set(ctx context.Context, version int, values map[string]any) error {
	header := http.Header{"If-Match": {strconv.Quote(strconv.Itoa(version))}}
	return c.call(ctx, http.MethodPatch, c.path("/state"), header, values, &state{})
}

// await returns the whole shared state as soon as one of the keys has changed after a
// version, the task is over, or half a minute has passed. Without keys any change
// counts. With a negative version it returns at once.
func (c *client) await(ctx context.Context, after int, keys ...string) (state, error) {
	var s state
	if after >= 0 {
		query := url.Values{"after": {strconv.Itoa(after)}}
		if len(keys) > 0 {
			query.Set("keys", strings.Join(keys, ","))
		}
		err := c.call(ctx, http.MethodGet, c.path("/state?"+query.Encode()), http.Header{"Prefer": {"wait=30"}}, nil, &state{})
		if err != nil {
			return s, err
		}
	}
	err := c.call(ctx, http.MethodGet, c.path("/state"), nil, nil, &s)
	return s, err
}

// remark returns the last comment of a person, in a review or as a message.
func (c *client) remark(ctx context.Context) (string, error) {
	var page struct {
		Messages []struct {
			SenderType string `json:"sender_type"`
			Content    struct {
				Comment string `json:"comment"` // of an approval
				Text    string `json:"text"`    // of human_input
			} `json:"content"`
		} `json:"messages"`
		Next *int `json:"next_after"`
	}
	last, after := "", 0
	for {
		page.Messages, page.Next = nil, nil
		path := c.path("/context?type=approval,human_input&after=" + strconv.Itoa(after))
		if err := c.call(ctx, http.MethodGet, path, nil, nil, &page); err != nil {
			return "", err
		}
		for _, m := range page.Messages {
			if m.SenderType == "human" {
				last = cmp.Or(m.Content.Comment, m.Content.Text, last)
			}
		}
		if page.Next == nil {
			return last, nil
		}
		after = *page.Next
	}
}

// answer submits the answer of the task.
func (c *client) answer(ctx context.Context, text string) error {
	return c.call(ctx, http.MethodPost, c.path("/answer"), nil, map[string]string{"text": text}, &struct{}{})
}
