package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"legwork/internal/retry"
	"legwork/internal/telemetry"
)

// How often and how patiently one model is tried within one call.
const (
	maxTries        = 4
	maxPaidTries    = 3               // of these, such that the endpoint had begun to reply
	maxFallbackWait = 5 * time.Second // the longest Retry-After that is waited for when there is a fallback
)

// Call implements Model. It tries the model that r asks for, again where that
// can help, then its fallbacks. Every failure is an *Error, except that a
// cancelled or expired ctx gives ctx.Err(); the Reply then still has Usage and Model
// of the attempts that were paid for.
func (m *Models) Call(ctx context.Context, r Request, stream func(Delta)) (Reply, error) {
	c := &call{models: m, operation: telemetry.Chat, request: r, stream: stream}
	c.once = c.chat
	return c.do(ctx, Check(r))
}

// do makes a call. invalid is the mistake of its request; nil: there is none.
func (c *call) do(ctx context.Context, invalid error) (Reply, error) {
	begin := time.Now()
	first, err := c.models.choose(c.request)
	if err != nil {
		return Reply{}, &Error{Problem: Invalid, Model: c.request.Model, Err: err}
	}
	if invalid != nil {
		return Reply{}, &Error{Problem: Invalid, Model: first.name, Err: fmt.Errorf("checking the request: %w", invalid)}
	}
	ctx, c.span = telemetry.Start(ctx, telemetry.Client, c.operation+" "+first.config.Model)
	reply, err := c.run(ctx, c.models.chain(first))
	reply.Usage = c.usage
	reply.Elapsed = time.Since(begin)
	c.report(first, reply, err)
	return reply, err
}

// call is one call of any kind while it runs.
type call struct {
	models    *Models
	operation string  // for traces
	request   Request // of a call that is no chat: Role, Model and BeforeRetry alone
	// once makes one request and reads its reply. A reply comes beside a fault that is
	// a thought alone.
	once     func(context.Context, *endpoint) (Reply, *fault)
	stream   func(Delta)
	streamed bool // deltas went out since the last Reset
	usage    Usage
	attempts int
	span     *telemetry.Span
	partial  string // the longest text that was cut off
	paid     bool   // an attempt was paid for since the call was let go on
	stopped  bool   // it is not let go on
}

func (c *call) run(ctx context.Context, chain []*endpoint) (Reply, error) {
	var last *Error
	var failed *endpoint
	var f *fault
	for i, e := range chain {
		if f != nil && !mayHelp(f, failed, e) {
			continue
		}
		if f != nil && !c.mayContinue(ctx, failed) {
			break
		}
		var reply Reply
		reply, f = c.callModel(ctx, e, i+1 < len(chain))
		if f == nil {
			return reply, nil
		}
		if ctx.Err() != nil {
			return Reply{Model: e.name}, ctx.Err()
		}
		failed = e
		last = f.describe(e.name, c, last)
	}
	return Reply{Model: last.Model}, last
}

// mayHelp reports whether the model to can succeed where from failed.
func mayHelp(f *fault, from, to *endpoint) bool {
	switch {
	case f.problem == Held:
		return false
	case errors.Is(f.err, ErrSilence):
		return false
	case f.problem == TooLong && !f.media:
		return to.context() > from.context()
	case f.length:
		return to.maxOutput() > from.maxOutput()
	}
	return true
}

// describe makes the error of a call; before is that of the model tried before.
func (f *fault) describe(model string, c *call, before *Error) *Error {
	err := f.err
	if before != nil {
		err = fmt.Errorf("%w; before that, %s", err, before.Error())
	}
	return &Error{
		Problem: f.problem, Model: model, Status: f.status, Hint: f.hint,
		Usage: c.usage, Partial: c.longest(f), Err: err, Wait: f.wait, Length: f.length, Calls: f.calls,
	}
}

// longest is the text to keep beside a fault. The text that a filter stopped is not
// mixed with the text of other attempts.
func (c *call) longest(f *fault) string {
	if f.problem != Filtered && len(c.partial) > len(f.partial) {
		return c.partial
	}
	return f.partial
}

// callModel calls one model, unless its breaker is open.
func (c *call) callModel(ctx context.Context, e *endpoint, fallback bool) (Reply, *fault) {
	leave, f := e.breaker.allow()
	if f != nil {
		c.models.log.DebugContext(ctx, "model skipped", "model", e.name, "cause", f.err)
		return Reply{}, f
	}
	outcome := errCanceled
	defer func() { leave(outcome) }() // also when the stream panics
	reply, f := c.retryModel(ctx, e, fallback)
	switch {
	case f == nil:
		outcome = nil
	case ctx.Err() == nil && f.problem != Held:
		outcome = f
	}
	return reply, f
}

// retryModel makes attempts at one model until one succeeds or none will.
func (c *call) retryModel(ctx context.Context, e *endpoint, fallback bool) (Reply, *fault) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.config.Timeout, errTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	p := newRetryPolicy()
	for {
		reply, f := c.attempt(ctx, e)
		if f == nil || f.thought && !fallback {
			return reply, nil // the caller tells the model that there is no text
		}
		if f.problem != Filtered {
			c.partial = c.longest(f)
		}
		wait, again := p.next(f, time.Until(deadline), fallback)
		again = again && ctx.Err() == nil && c.mayContinue(ctx, e)
		if errors.Is(ctx.Err(), context.Canceled) {
			return Reply{}, f // the caller has no use for it any more
		}
		level := slog.LevelInfo // the caller reports the failure of the whole call
		if !again && fallback {
			level = slog.LevelWarn
		}
		c.models.log.LogAttrs(ctx, level, "model call failed",
			slog.String("model", e.name), slog.String("problem", string(f.problem)), slog.Int("status", f.status),
			slog.String("cause", f.err.Error()), slog.String("hint", f.hint),
			slog.Bool("again", again), slog.Duration("wait", wait))
		if !again || c.models.sleep(ctx, wait) != nil {
			return Reply{}, f
		}
	}
}

// attempt makes one attempt. While a Retry-After of the endpoint holds, as it said to
// this call or to another one, the attempt fails without a request.
func (c *call) attempt(ctx context.Context, e *endpoint) (Reply, *fault) {
	if f := c.models.held(); f != nil {
		return Reply{}, f
	}
	if left := e.paused.remaining(c.models.now()); left > 0 {
		return Reply{}, &fault{problem: Busy, retry: true, wait: left, err: errPaused}
	}
	reply, f := c.once(ctx, e)
	if f != nil {
		e.paused.extend(c.models.now(), f.wait)
	}
	return reply, f
}

// chat makes one attempt at a chat, and a second at once when the endpoint refused a
// field that can be left out.
func (c *call) chat(ctx context.Context, e *endpoint) (Reply, *fault) {
	if c.streamed {
		c.stream(Delta{Reset: true})
		c.streamed = false
	}
	out := e.wire(c.request)
	ctx, given := traceWrite(ctx)
	begin := time.Now()
	d, f := e.send(ctx, out, c.emit())
	for f != nil && (e.adapt(out, f) || e.learnContext(f, sizeOf(out), c.models.log)) {
		out, begin = e.wire(c.request), time.Now()
		d, f = e.send(ctx, out, c.emit())
	}
	usage, paid := e.attemptUsage(d, sizeOf(out), f == nil)
	if !paid && f != nil && f.status == 0 && given.Load() && errors.Is(ctx.Err(), context.Canceled) {
		// The caller waits no longer, but the endpoint works on the reply.
		usage, paid = e.priced(Usage{Input: e.promptTokens(sizeOf(out)), Estimated: true}), true
	}
	if paid {
		c.usage, c.paid = c.usage.Add(usage), true
	}
	c.recordAttempt(ctx, e, begin, d, f, usage)
	if f != nil && !f.thought {
		return Reply{}, f
	}
	return e.reply(d, c.request), f
}

// held returns the fault of an attempt that Options.Gate forbids; nil otherwise.
func (m *Models) held() *fault {
	if m.gate != nil {
		if err := m.gate(); err != nil {
			return &fault{problem: Held, err: err}
		}
	}
	return nil
}

// traceWrite reports, by given, whether the request made with ctx was written to the connection.
func traceWrite(ctx context.Context) (_ context.Context, given *atomic.Bool) {
	given = new(atomic.Bool)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) {
		if i.Err == nil {
			given.Store(true)
		}
	}}), given
}

// mayContinue reports that another attempt may be made after one at that model, which
// may have been paid for.
func (c *call) mayContinue(ctx context.Context, after *endpoint) bool {
	if c.stopped || !c.paid || c.request.BeforeRetry == nil {
		return !c.stopped
	}
	if err := c.request.BeforeRetry(); err != nil {
		c.models.log.WarnContext(ctx, "model not retried", "model", after.name, "cause", err)
		c.stopped = true
		return false
	}
	c.paid = false
	return true
}

var errPaused = errors.New("the endpoint has asked to wait")

// emit hands deltas on and remembers that some went out.
func (c *call) emit() func(Delta) {
	if c.stream == nil {
		return nil
	}
	return func(d Delta) {
		c.streamed = true
		c.stream(d)
	}
}

// retryPolicy decides when to try again. Its waits grow and are spread by chance, and
// are never shorter than the endpoint asked for.
type retryPolicy struct {
	pauses      *retry.Pauses
	tries, paid int
}

func newRetryPolicy() *retryPolicy {
	return &retryPolicy{pauses: retry.New(500*time.Millisecond, 10*time.Second, 0.5)}
}

// next takes the fault of an attempt. left is the time until the whole call
// must be over; fallback tells whether another model waits to be tried. When
// again is false, f has been given a hint where the wait was the reason.
func (p *retryPolicy) next(f *fault, left time.Duration, fallback bool) (wait time.Duration, again bool) {
	p.tries++
	if f.paid {
		p.paid++
	}
	if !f.retry || p.tries >= maxTries || p.paid >= maxPaidTries {
		return 0, false
	}
	wait = p.pauses.Next()
	if f.wait > 0 {
		wait = max(wait, f.wait+wait/4)
	}
	if wait >= left || fallback && f.wait > maxFallbackWait {
		if f.wait > 0 {
			or(&f.hint, "the endpoint asks to wait for "+f.wait.Round(time.Second).String())
		}
		return 0, false
	}
	return wait, true
}

// asFault returns the fault inside an error of go-openai, which wraps the errors of
// the doer.
func asFault(err error) *fault {
	var f *fault
	errors.As(err, &f)
	return f
}
