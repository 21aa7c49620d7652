package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"
)

// Why a wait for an endpoint ended. They are causes of a cancelled context.
var (
	errFirstByte = errors.New("nothing came within first_byte_timeout")
	errIdle      = errors.New("nothing more came within idle_timeout")
	errTimeout   = errors.New("the call took longer than timeout")
	errComplete  = errors.New("the reply is complete, the stream stays open")
)

// errIncomplete ends a stream that stopped without the mark of its end. It is not a
// failure when the model had given a reason to finish before.
var errIncomplete = errors.New("the stream ended before the reply was complete")

// protocolError ends a stream without any event of the protocol.
type protocolError struct{ begin []byte }

func (e *protocolError) Error() string {
	if len(e.begin) == 0 {
		return "the reply is empty"
	}
	return "the reply is not of the protocol, it begins with " + quote(shorten(string(e.begin)))
}

// maxErrorBody is how much of an error's body is read.
const maxErrorBody = 64 << 10

// drainTime is how long a finished stream is read on, so that its connection
// can be used again.
const drainTime = 50 * time.Millisecond

// doer is what go-openai sends one model's requests through. It merges the
// model's extra_body, keeps both timeouts, turns statuses into faults that know
// Retry-After, and hands go-openai a stream without its traps: one line of
// compact events each, never a comment, an end only after [DONE].
type doer struct {
	name   string // of the model in the config
	config ModelConfig
	client *http.Client
	now    func() time.Time
	extra  []byte // members to add to each request's JSON object, with a leading comma
}

func newDoer(name string, config ModelConfig, client *http.Client, now func() time.Time) (*doer, error) {
	d := &doer{name: name, config: config, client: client, now: now}
	for _, key := range slices.Sorted(maps.Keys(config.ExtraBody)) {
		if config.ExtraBody[key] == nil {
			continue
		}
		value, err := json.Marshal(config.ExtraBody[key])
		if err != nil {
			return nil, err
		}
		d.extra = append(append(d.extra, ","+quote(key)+":"...), value...)
	}
	return d, nil
}

// Do implements go-openai's HTTPDoer. The body of a response it returns is a
// *stream; every error is a *fault.
func (d *doer) Do(req *http.Request) (*http.Response, error) {
	resp, err := d.open(d.merged(req), d.config.FirstByteTimeout)
	if err != nil {
		return nil, err
	}
	live := resp.Body.(*liveBody)
	resp.Body = &stream{body: live, events: newEvents(live, d.config.MaxOutputTokens)}
	return resp, nil
}

// open makes a request and returns its response, if that is a success. Every error is
// a *fault. The body is a *liveBody, which the caller closes; its first byte must come
// within the time first.
func (d *doer) open(req *http.Request, first time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	wait := time.AfterFunc(first, func() { cancel(errFirstByte) })
	fail := func(err error) (*http.Response, error) {
		wait.Stop()
		cancel(nil)
		return nil, err
	}
	resp, err := d.client.Do(req.WithContext(ctx))
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fail(d.connectionFault(err))
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		_ = resp.Body.Close()
		return fail(d.statusFault(resp, body))
	}
	resp.Body = &liveBody{cause: func() error { return context.Cause(ctx) }, cancel: cancel, body: resp.Body, wait: wait, idle: d.config.IdleTimeout}
	return resp, nil
}

// merged adds the extra members before the closing brace of the request.
func (d *doer) merged(req *http.Request) *http.Request {
	if len(d.extra) == 0 || req.GetBody == nil || req.ContentLength < 1 {
		return req
	}
	plain, size := req.GetBody, req.ContentLength
	req.ContentLength = size + int64(len(d.extra))
	req.GetBody = func() (io.ReadCloser, error) {
		body, err := plain()
		if err != nil {
			return nil, err
		}
		end := append(slices.Clip(d.extra), '}')
		return io.NopCloser(io.MultiReader(io.LimitReader(body, size-1), bytes.NewReader(end))), nil
	}
	if body, err := req.GetBody(); err == nil {
		req.Body = body
	}
	return req
}

// liveBody is a response's body that must keep speaking. Its clock runs only
// while a read waits, so that a slow reader is not taken for a silent endpoint.
type liveBody struct {
	cause  func() error // why the request was cancelled; nil: it was not
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	wait   *time.Timer // for the first byte, then between two reads
	idle   time.Duration
	spoke  bool
}

func (b *liveBody) Read(p []byte) (int, error) {
	if b.spoke {
		b.wait.Reset(b.idle)
	}
	n, err := b.body.Read(p)
	if n > 0 && b.wait.Stop() && !b.spoke {
		b.spoke = true
		b.wait = time.AfterFunc(b.idle, func() { b.cancel(errIdle) })
		b.wait.Stop()
	}
	if cause := b.cause(); cause != nil && err != nil && !errors.Is(err, io.EOF) {
		err = cause
	}
	return n, err
}

func (b *liveBody) Close() error {
	b.wait.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}

// stream is the body that go-openai reads.
type stream struct {
	body   *liveBody
	events *events
	count  int
	out    []byte // the next reads return it
	err    error  // reads return it after out
}

func (s *stream) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.fill()
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

func (s *stream) fill() {
	data, err := s.events.next()
	switch {
	case errors.Is(err, io.EOF) && s.count == 0:
		s.err = &protocolError{s.events.unknown}
	case errors.Is(err, io.EOF):
		s.err = errIncomplete
	case err != nil:
		s.err = err
	default:
		s.count++
		s.put(data)
		if string(data) == doneMark {
			s.err = io.EOF
		}
	}
}

// put offers an event on one line. go-openai would wait for another line after
// one that begins with {"error" and lose the error: a space hides it.
func (s *stream) put(data []byte) {
	s.out = append(s.out[:0], "data: "...)
	if bytes.HasPrefix(data, []byte(`{"error"`)) {
		s.out = append(s.out, "{ "...)
		data = data[1:]
	}
	at := len(s.out)
	s.out = append(s.out, data...)
	for i, c := range s.out[at:] {
		if c == '\n' {
			s.out[at+i] = ' '
		}
	}
	s.out = append(s.out, "\n\n"...)
}

// Close reads on for a moment when the stream is at its end, as a connection
// can be used again only after the last byte was read.
func (s *stream) Close() error {
	if errors.Is(s.err, io.EOF) {
		rest := time.AfterFunc(drainTime, func() { s.body.cancel(errComplete) })
		_, _ = io.CopyN(io.Discard, s.body.body, 4096)
		rest.Stop()
	}
	return s.body.Close()
}
