package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/internal/retry"
	"legwork/internal/telemetry"
	"legwork/tools/client/skill"
)

// Refusals of a call before anything was sent. They are wrapped.
var (
	ErrUnavailable = errors.New("the server cannot be called") // down, closed, or not ready in time
	ErrNoTool      = errors.New("the server has no such tool")
	ErrArguments   = errors.New("the arguments do not fit") // the text says what to change
	ErrChanged     = errors.New("the tool was changed by its server since the call was judged")
)

// ErrWithdrawn is the cause of the end of the context of a call that is not wanted any
// more, and will not be resumed.
var ErrWithdrawn = errors.New("the call is not wanted any more")

// unavailableError is ErrUnavailable with a reason, which says enough by itself.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() []error { return []error{ErrUnavailable, e.error} }

// maxAtOnce is how many calls one server gets at once; others wait.
const maxAtOnce = 16

// Call waits for the server, checks the arguments and makes the call. After it
// was sent, whatever goes wrong is a Result with Failed set and a sentence for
// a model; err is the cause, for the log. Before, the Result is empty and err is
// one of the refusals above. When ctx ends first, err is its error.
func (s *Server) Call(ctx context.Context, c Call) (Result, error) {
	ctx, clock := newWorkClock(ctx, c.Timeout)
	defer clock.stop()
	free, err := s.acquireSlot(ctx)
	if err != nil {
		return Result{}, unavailableError{err}
	}
	defer free()
	f := &inFlightCall{call: c, clock: clock, ctx: ctx, freeSlot: free, again: newPauses(time.Second)}
	if c.Progress != nil {
		f.token, f.reports = fmt.Sprintf("call-%d", s.reported.Add(1)), newProgressReports(c.Progress)
		defer f.reports.close()
	}
	later := newPauses(time.Second)
	for renewed := false; ; {
		res, err := s.attempt(ctx, f)
		var status *statusError
		switch {
		case (errors.Is(err, transport.ErrSessionTerminated) || commonRevision(err) != "") && !renewed:
			renewed = true // the server did nothing, since it refused the session or the revision: a new connection is on its way
		case errors.As(err, &status) && status.later():
			pause := max(status.after, later.Next())
			if pause >= clock.remaining() || retry.Sleep(ctx, pause) != nil {
				return res, err
			}
		case err != nil && f.begun.Load() && ctx.Err() == nil && !endsTask(err): // the server goes on with its task, and can be asked again
			if f.again.Sleep(ctx) != nil {
				return res, err
			}
		default:
			return res, err
		}
	}
}

// acquireSlot waits until fewer than maxAtOnce calls are in flight. free gives the
// slot back; it can be called more than once.
func (s *Server) acquireSlot(ctx context.Context) (free func(), err error) {
	if s.slots == nil {
		return func() {}, nil
	}
	select {
	case s.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-s.slots }), nil
	default:
	}
	select {
	case s.slots <- struct{}{}:
		return sync.OnceFunc(func() { <-s.slots }), nil
	case <-ctx.Done():
		return nil, fmt.Errorf("server %q has %d calls in flight: %w", s.name, maxAtOnce, context.Cause(ctx))
	}
}

// attempt makes the call once.
func (s *Server) attempt(ctx context.Context, f *inFlightCall) (Result, error) {
	conn, cat, release, err := s.acquire(ctx)
	if err != nil {
		return Result{}, unavailableError{err}
	}
	d, args, err := cat.check(f.call)
	if err != nil {
		release()
		return Result{}, err
	}
	do := conn.toolRequest(f, d, args)
	switch {
	case d.ForResources:
		do = conn.resourceRequest(d.Name, args)
	case d.Skill != nil:
		if do, err = conn.skillRequest(d, args); err != nil {
			release()
			return Result{}, fmt.Errorf("%w: %w", ErrArguments, err)
		}
	}
	return s.send(ctx, conn, release, f, d, do)
}

// check finds the tool of a call, and what to send it.
func (c *Catalog) check(call Call) (*Definition, json.RawMessage, error) {
	d := c.Tools[call.Tool]
	switch {
	case d == nil:
		return nil, nil, fmt.Errorf("%w: %q", ErrNoTool, call.Tool)
	case call.Definition != "" && call.Definition != d.Hash:
		return nil, nil, fmt.Errorf("%w: %q", ErrChanged, call.Tool)
	}
	args, err := d.Check(call.Arguments)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	return d, args, nil
}

// Check returns what to send for arguments, or an error that tells a model what
// to change. Nothing, null and an empty string are no arguments: {}.
func (d *Definition) Check(args json.RawMessage) (json.RawMessage, error) { return d.arguments(args) }

// requestFunc makes one request and captures its result.
type requestFunc func(ctx context.Context, got *captured) error

// toolRequest makes the request of a tool call.
func (c *connection) toolRequest(f *inFlightCall, d *Definition, args json.RawMessage) requestFunc {
	return func(ctx context.Context, got *captured) error {
		r := mcp.CallToolRequest{}
		r.Params.Name, r.Params.Arguments = f.call.Tool, args
		if ttl := taskTTL.Milliseconds(); d.task && c.makesTasks() {
			r.Params.Task = &mcp.TaskParams{TTL: &ttl}
		}
		if meta := withTrace(ctx, f.call.Meta); len(meta) > 0 || f.token != "" {
			r.Params.Meta = &mcp.Meta{AdditionalFields: meta}
		}
		if f.token != "" {
			r.Params.Meta.ProgressToken = f.token
		}
		_, err := c.client.CallTool(withCapture(ctx, got), r)
		return err
	}
}

// withTrace adds the trace of ctx to the _meta of a call, so that servers on
// standard input get it as well. The key traceparent is that of W3C Trace Context
// (https://www.w3.org/TR/trace-context/#traceparent-header).
func withTrace(ctx context.Context, meta map[string]any) map[string]any {
	at := telemetry.Traceparent(ctx)
	if at == "" {
		return meta
	}
	all := maps.Clone(meta)
	if all == nil {
		all = map[string]any{}
	}
	all["traceparent"] = at
	return all
}

// send makes the call in a goroutine, because a handler in this process may ignore
// its context. The goroutine calls release, for which the server waits.
func (s *Server) send(ctx context.Context, conn *connection, release func(), f *inFlightCall, d *Definition, request requestFunc) (Result, error) {
	type answer struct {
		outcome
		err error
	}
	mark := int64(0)
	if conn.stdin != nil {
		mark = conn.stdin.writeCount()
	}
	conn.inFlight.add(f)
	done := make(chan answer, 1)
	go func() {
		defer release()
		var a answer
		a.outcome, a.err = conn.callWithInputs(ctx, f, request)
		conn.inFlight.remove(f) // first: a later request of the server does not belong to this call
		done <- a
	}()
	var a answer
	select {
	case a = <-done:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if a.err == nil && a.question != nil {
		return Result{Question: a.question, State: a.state}, nil
	}
	if a.err == nil && d.Skill != nil {
		a.err = conn.checkSkill(d, f.call.Arguments, a.got)
	}
	if a.err == nil {
		res, err := s.result(a.got, d, f.call)
		if err != nil {
			return failed("The tool %s returned something that is not a result: %v.", s.full(d.Name), err), err
		}
		return res, nil
	}
	if ctx.Err() != nil {
		a.err = context.Cause(ctx)
	}
	a.err = plainError(a.err)
	conn.failIfUnusable(a.err, mark)
	return s.failedCall(conn, s.full(d.Name), f.call.Timeout, a.err), a.err
}

// failIfUnusable fails the connection when a failed call shows that no other call
// can succeed either. mark is stdin.writeCount before the call.
func (c *connection) failIfUnusable(err error, mark int64) {
	var op *net.OpError
	switch {
	case errors.Is(err, context.DeadlineExceeded) && c.stdin != nil && c.stdin.stuckSince(mark):
		c.fail(errNotReading)
	case errors.Is(err, context.DeadlineExceeded) && c.stdout != nil && c.stdout.stuck():
		c.fail(errPartialMessage)
	case errors.Is(err, transport.ErrSessionTerminated):
		c.fail(sessionError{})
	case errors.As(err, &op) && op.Op == "dial":
		c.fail(err)
	}
}

// full is a tool's name among all servers.
func (s *Server) full(tool string) string { return s.name + "." + tool }

// failedCall is the Result for the model of a call that returned none.
func (s *Server) failedCall(conn *connection, tool string, timeout time.Duration, err error) Result {
	unknown := "It is not known whether it took effect: check before you call it again."
	var refused *rpcError
	var res Result
	switch {
	case errors.As(err, &refused):
		return s.failed("The tool %s failed: %v", tool, err)
	case errors.Is(err, skill.ErrChanged), errors.Is(err, errSkillTooLong):
		return s.failed("What the tool %s returned cannot be used: %v.", tool, err)
	case errors.Is(err, errTaskCancelled):
		return s.failed("The tool %s did not finish: %v. %s", tool, err, unknown)
	case errors.Is(err, errTaskGone):
		res = s.failed("The tool %s began, but %v. %s", tool, err, unknown)
	case errors.Is(err, errAsk), errors.Is(err, errRounds):
		return s.failed("The tool %s was given up: %v. %s", tool, err, unknown)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		res = s.failed("The tool %s did not answer within %v and was given up. %s", tool, timeout, unknown)
	case notCarriedOut(err):
		return s.failed("The tool %s was not carried out: %v. Try again later, or go on without it.", tool, err)
	case errors.Is(err, transport.ErrTransportClosed), conn.isDead():
		res = s.failed("The server of the tool %s stopped during the call; it is being started again. %s", tool, unknown)
	default:
		res = s.failed("The tool %s failed: %v. %s", tool, err, unknown)
	}
	res.Unknown = true
	return res
}

// failed is a Result that says what went wrong, without the secrets of the
// config that a server may have repeated.
func (s *Server) failed(format string, args ...any) Result {
	return failed("%s", s.secrets.String(fmt.Sprintf(format, args...)))
}

func failed(format string, args ...any) Result {
	text := clean(fmt.Sprintf(format, args...))
	text = clip.Bytes(text, 4<<10)
	return Result{Text: text, Failed: true}
}

// workClock measures the working time of a call. It ends the call's context when
// the time is used up, and stands still while a person is asked.
type workClock struct {
	mu      sync.Mutex
	left    time.Duration // when it last stood still
	since   time.Time     // when it last began to run
	pauses  int
	timer   *time.Timer
	stopped bool
	end     context.CancelCauseFunc
}

// newWorkClock starts a clock. The cause of the context's end is
// context.DeadlineExceeded when the time was used up.
func newWorkClock(ctx context.Context, d time.Duration) (context.Context, *workClock) {
	ctx, end := context.WithCancelCause(ctx)
	c := &workClock{left: d, since: time.Now(), end: end}
	c.timer = time.AfterFunc(d, func() { end(context.DeadlineExceeded) })
	return ctx, c
}

func (c *workClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses++; c.pauses == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}

func (c *workClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses--; c.pauses == 0 && !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(0, c.left))
	}
}

// remaining is the working time that is left.
func (c *workClock) remaining() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pauses > 0 {
		return c.left
	}
	return c.left - time.Since(c.since)
}

// stop ends the context and the clock.
func (c *workClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
	c.end(context.Canceled)
}

// inFlightCall is a call that was started and has not returned.
type inFlightCall struct {
	call       Call
	clock      *workClock
	ctx        context.Context  //nolint:containedctx // of the call: it also ends questions that the server sends on another stream
	token      string           // of progress reports; empty: none are requested
	reports    *progressReports // nil: none are requested
	freeSlot   func()           // lets another call start; can be called more than once
	askMu      sync.Mutex       // serializes the questions to a person
	beingAsked atomic.Bool      // a person is being asked now
	begun      atomic.Bool      // the server does it as a task, which call.Resume names
	again      *retry.Pauses    // between two connections by which the server is asked about the task
}

// errAsk ends a call whose question could not be asked.
var errAsk = errors.New("its question could not be asked")

// ask brings a question to a person. Meanwhile the call's time stands still and
// another call may use its slot. The question is withdrawn when ctx ends, because
// the server cancelled its request.
func (f *inFlightCall) ask(ctx context.Context, q form.Question) (form.Answer, error) {
	f.clock.pause()
	defer f.clock.resume()
	f.freeSlot()
	f.askMu.Lock()
	defer f.askMu.Unlock()
	f.beingAsked.Store(true)
	defer f.beingAsked.Store(false)
	both, cancel := context.WithCancel(f.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	a, err := f.call.Ask(both, q)
	if err != nil && both.Err() == nil {
		f.clock.end(fmt.Errorf("%w: %w", errAsk, err))
	}
	return a, err
}

// inFlightCalls are the calls in flight on one connection, oldest first.
type inFlightCalls struct {
	mu  sync.Mutex
	all []*inFlightCall
}

func (l *inFlightCalls) add(f *inFlightCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, f)
}

func (l *inFlightCalls) remove(f *inFlightCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(x *inFlightCall) bool { return x == f })
}

// byToken finds the call of a progress token; nil: there is none.
func (l *inFlightCalls) byToken(token string) *inFlightCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.all {
		if token != "" && f.token == token {
			return f
		}
	}
	return nil
}

// bestMatch finds the call that a request of the server most likely belongs to,
// when the request came on a stream that calls share: the oldest call that can
// answer it and is not asking a person already. nil: there is none, or there are
// several that would ask different people.
func (l *inFlightCalls) bestMatch(can func(*inFlightCall) bool) *inFlightCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	var oldest *inFlightCall
	for _, f := range l.all {
		switch {
		case !can(f) || f.beingAsked.Load():
		case oldest == nil:
			oldest = f
		case oldest.call.AskTarget != f.call.AskTarget:
			return nil
		}
	}
	return oldest
}

// reportProgress passes on a report of progress.
func (l *inFlightCalls) reportProgress(fields map[string]any) {
	token, _ := fields["progressToken"].(string)
	if token == "" {
		return
	}
	var p Progress
	p.Done, _ = fields["progress"].(float64)
	p.Total, _ = fields["total"].(float64)
	text, _ := fields["message"].(string)
	p.Message = clip.Bytes(clean(text), maxReport)
	if f := l.byToken(token); f != nil && f.reports != nil {
		f.reports.put(p)
	}
}

// Reports of progress are for a person to look at.
const (
	reportEvery = 200 * time.Millisecond
	maxReport   = 300 // bytes of text
)

// progressReports passes on the progress of one call, one report at a time and not
// more often than people can follow. It skips reports that a newer one replaced,
// but never the last one.
type progressReports struct {
	report func(Progress)
	next   chan Progress // holds the newest report
	stop   chan struct{}
	done   chan struct{}
}

// newProgressReports starts the reports; close ends them.
func newProgressReports(report func(Progress)) *progressReports {
	r := &progressReports{report: report, next: make(chan Progress, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.run()
	return r
}

// put queues a report; it never waits. One goroutine at a time may call it.
func (r *progressReports) put(p Progress) {
	select {
	case <-r.next:
	default:
	}
	select {
	case r.next <- p:
	default:
	}
}

func (r *progressReports) run() {
	defer close(r.done)
	for {
		select {
		case p := <-r.next:
			r.report(p)
		case <-r.stop:
			select {
			case p := <-r.next:
				r.report(p)
			default:
			}
			return
		}
		select {
		case <-time.After(reportEvery):
		case <-r.stop:
		}
	}
}

// close reports the last progress and waits until that is done.
func (r *progressReports) close() {
	close(r.stop)
	<-r.done
}
