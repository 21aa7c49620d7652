package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"legwork/tasks/api"
	"legwork/tasks/policy"
)

type (
	eventsRequest struct {
		TaskPath
		After int `query:"after" minimum:"0" doc:"Only newer entries than this one."`
		TypeFilter
		Last string `header:"Last-Event-ID" doc:"The 'id' of the last event that you received."`
	}
	feedRequest struct {
		After string `query:"after" maxLength:"20" doc:"Only newer entries than this one."`
		TypeFilter
		Last string `header:"Last-Event-ID" doc:"The 'id' of the last event that you received."`
	}
	streamReply struct {
		Body func(huma.Context)
	}
)

// events follows one task until it is over. A client that has already seen the end
// gets 204, which stops browsers from reconnecting.
func (c *calls) events(ctx context.Context, in *eventsRequest) (*streamReply, error) {
	from := in.After
	if in.Last != "" {
		last, err := strconv.Atoi(in.Last)
		if err != nil || last < 0 {
			return nil, invalid("header.Last-Event-ID", "not an id of an event of this stream; leave it out to start at the beginning")
		}
		from = last
	}
	who := api.Caller(ctx)
	t, err := c.Service.Get(ctx, who, in.id())
	if err != nil {
		return nil, err
	}
	if t.Finished != nil && from > t.Seq {
		return &streamReply{Body: func(ctx huma.Context) { ctx.SetStatus(http.StatusNoContent) }}, nil
	}
	return &streamReply{Body: func(hc huma.Context) {
		c.stream(hc, func(ctx context.Context, s *stream) error {
			err := c.Service.Follow(ctx, who, in.id(), from, in.Type, c.Heartbeat, s.message, s.heartbeat)
			if err != nil {
				return err
			}
			t, err := c.Service.Get(ctx, who, in.id())
			if err != nil {
				return err
			}
			return s.event(strconv.Itoa(t.Seq+1), "end", t) // one more than the last message, so that a client that was cut off between them gets it
		})
	}}, nil
}

// feed follows all tasks that the caller may see.
func (c *calls) feed(ctx context.Context, in *feedRequest) (*streamReply, error) {
	text, place := in.After, "query.after"
	if in.Last != "" {
		text, place = in.Last, "header.Last-Event-ID"
	}
	var from *uint64
	if text != "" {
		cursor, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, invalid(place, "not an id of an event of this stream; leave it out to start with new messages")
		}
		from = &cursor
	}
	who := api.Caller(ctx)
	return &streamReply{Body: func(hc huma.Context) {
		c.stream(hc, func(ctx context.Context, s *stream) error {
			return c.Service.FollowAll(ctx, who, from, in.Type, c.Heartbeat, s.feedMessage, s.position, s.lost)
		})
	}}, nil
}

// stream runs a stream until its request ends or the process stops.
func (c *calls) stream(hc huma.Context, run func(context.Context, *stream) error) {
	r, w := humago.Unwrap(hc)
	defer c.Metrics.Followed()()
	ctx, done := c.waitContext(r.Context(), 0)
	defer done()
	s := &stream{w: w, timeout: c.WriteTimeout, rc: http.NewResponseController(w)}
	// Otherwise the server would end the request at the deadline for reading it.
	_ = s.rc.SetReadDeadline(time.Time{})
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // for proxies that would buffer it
	hc.SetStatus(http.StatusOK)
	err := s.write("retry: 2000\n\n")
	if r.Method != http.MethodHead && err == nil {
		err = run(ctx, s)
	}
	var gone *goneError
	if err == nil || ctx.Err() != nil || errors.As(err, &gone) {
		return
	}
	c.Log.ErrorContext(ctx, "API stream failed", "path", r.URL.Path, "cause", err)
}

// stream writes server-sent events.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer

	timeout time.Duration // of one write
}

// goneError says that the client does not read the stream.
type goneError struct{ error }

// write sends text. It fails when the client does not read it in time.
func (s *stream) write(text string) error {
	_ = s.rc.SetWriteDeadline(time.Now().Add(s.timeout))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return &goneError{err}
	}
	if err := s.rc.Flush(); err != nil {
		return &goneError{err}
	}
	return nil
}

// event sends an event with data as one line of JSON.
func (s *stream) event(id, name string, data any) error {
	s.buf.Reset()
	s.buf.WriteString("id: " + id + "\nevent: " + name + "\ndata: ")
	encoder := json.NewEncoder(&s.buf)
	encoder.SetEscapeHTML(false) // as in replies
	if err := encoder.Encode(data); err != nil {
		return err
	}
	s.buf.WriteString("\n") // the encoder has written one, too
	return s.write(s.buf.String())
}

func (s *stream) message(m api.Message) error {
	return s.event(strconv.Itoa(m.Seq), m.Type, m)
}

func (s *stream) feedMessage(m api.FeedMessage) error {
	return s.event(strconv.FormatUint(m.Cursor, 10), m.Type, m)
}

// heartbeat sends a comment. Clients ignore it, and both sides notice in time when the
// other is gone.
func (s *stream) heartbeat() error { return s.write(": heartbeat\n\n") }

// position sends a heartbeat with the cursor of the stream, so that a client that
// reconnects misses nothing and gets nothing twice. Clients keep the id and see no
// event.
func (s *stream) position(cursor uint64) error {
	return s.write("id: " + strconv.FormatUint(cursor, 10) + "\n: heartbeat\n\n")
}

// Lost is the event of a feed whose next entries are no longer kept.
type Lost struct {
	Newest uint64 `json:"newest" doc:"The cursor after which the stream continues."`
}

func (s *stream) lost(newest uint64) error {
	return s.event(strconv.FormatUint(newest, 10), "lost", Lost{newest})
}

func (c *calls) registerStreams(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/events", id: "followTask", tag: "events",
		summary: "Follow a task", op: policy.OpRead,
		text: "Server-sent events: `event` is the type of a message, `id` its seq, `data` the message on one line. Every 15 s there is a comment. " +
			"`Last-Event-ID` (or `after`) continues after that message. When the task is over, the event `end` with the task is the last one; its id is that of the last message plus one.",
		also:   []reply{{status: http.StatusNoContent, text: "The task is over and you have seen its end: do not reconnect."}},
		answer: "id: 3\nevent: observation\ndata: {\"seq\":3,\"type\":\"observation\",...}\n\n",
	}, c.events)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/events", id: "followAll", tag: "events",
		summary: "Follow all tasks", op: policy.OpRead,
		text: "Like `/v1/tasks/{id}/events`, for all tasks that the token may see, in the order in which their messages were stored; `id` is a cursor, and `data` has the id of the task. " +
			"Without `Last-Event-ID` or `after` the stream starts with new messages. The event `lost` says that messages after the cursor are no longer kept.",
		answer: "id: 4711\nevent: observation\ndata: {\"cursor\":4711,\"task_id\":\"01KA...\",\"seq\":3,...}\n\n",
	}, c.feed)
}
