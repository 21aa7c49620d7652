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
)

type (
	eventsRequest struct {
		Addressed
		After int `query:"after" minimum:"0" doc:"Only what is newer than this."`
		Typed
		Last string `header:"Last-Event-ID" doc:"'id' of the last event that was received."`
	}
	feedRequest struct {
		After string `query:"after" maxLength:"20" doc:"Only what is newer than this."`
		Typed
		Last string `header:"Last-Event-ID" doc:"'id' of the last event that was received."`
	}
	streamReply struct {
		Body func(huma.Context)
	}
)

// events follows one task until it is over. Whoever has seen the end gets 204,
// which keeps browsers from coming back.
func (c *calls) events(ctx context.Context, in *eventsRequest) (*streamReply, error) {
	from := in.After
	if in.Last != "" {
		last, err := strconv.Atoi(in.Last)
		if err != nil || last < 0 {
			return nil, invalid("header.Last-Event-ID", "not an id of this stream's events; leave it out to begin anew")
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
			return s.event(strconv.Itoa(t.Seq+1), "end", t) // after the last message: who was cut between them comes back for it
		})
	}}, nil
}

// feed follows all tasks that the caller sees.
func (c *calls) feed(ctx context.Context, in *feedRequest) (*streamReply, error) {
	text, place := in.After, "query.after"
	if in.Last != "" {
		text, place = in.Last, "header.Last-Event-ID"
	}
	var from *uint64
	if text != "" {
		cursor, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, invalid(place, "not an id of this stream's events; leave it out to begin with what comes from now on")
		}
		from = &cursor
	}
	who := api.Caller(ctx)
	return &streamReply{Body: func(hc huma.Context) {
		c.stream(hc, func(ctx context.Context, s *stream) error {
			return c.Service.FollowAll(ctx, who, from, in.Type, c.Heartbeat, s.feedMessage, s.place, s.lost)
		})
	}}, nil
}

// stream begins one and ends it with its request or the process.
func (c *calls) stream(hc huma.Context, run func(context.Context, *stream) error) {
	r, w := humago.Unwrap(hc)
	defer c.Metrics.Followed()()
	ctx, done := c.until(r.Context(), 0)
	defer done()
	s := &stream{w: w, patience: c.Patience, rc: http.NewResponseController(w)}
	// Otherwise the server would take a request for cut off when its time for reading
	// one is over.
	_ = s.rc.SetReadDeadline(time.Time{})
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // of proxies that would keep it back
	hc.SetStatus(http.StatusOK)
	err := s.write("retry: 2000\n\n")
	if r.Method != http.MethodHead && err == nil {
		err = run(ctx, s)
	}
	var gone *goneError
	if err == nil || ctx.Err() != nil || errors.As(err, &gone) {
		return
	}
	c.Log.ErrorContext(ctx, "a stream of the API failed", "path", r.URL.Path, "cause", err)
}

// stream writes server-sent events.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	buf bytes.Buffer

	patience time.Duration // for one write
}

// goneError says that the client does not take what is sent.
type goneError struct{ error }

// write sends text, and gives up on a client that does not take it in time.
func (s *stream) write(text string) error {
	_ = s.rc.SetWriteDeadline(soon(s.patience))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return &goneError{err}
	}
	if err := s.rc.Flush(); err != nil {
		return &goneError{err}
	}
	return nil
}

// event sends one; data becomes one line of JSON.
func (s *stream) event(id, name string, data any) error {
	s.buf.Reset()
	s.buf.WriteString("id: " + id + "\nevent: " + name + "\ndata: ")
	encoder := json.NewEncoder(&s.buf)
	encoder.SetEscapeHTML(false) // as in replies
	if err := encoder.Encode(data); err != nil {
		return err
	}
	s.buf.WriteString("\n") // after that of the encoder
	return s.write(s.buf.String())
}

func (s *stream) message(m api.Message) error {
	return s.event(strconv.Itoa(m.Seq), m.Type, m)
}

func (s *stream) feedMessage(m api.FeedMessage) error {
	return s.event(strconv.FormatUint(m.Cursor, 10), m.Type, m)
}

// heartbeat is a comment: clients do not see it, and both sides learn in time that
// the other is gone.
func (s *stream) heartbeat() error { return s.write(": heartbeat\n\n") }

// place is a heartbeat that tells where in the order of all tasks the stream is, so
// that who comes back misses nothing and is not told twice. Clients keep the id and
// see no event.
func (s *stream) place(cursor uint64) error {
	return s.write("id: " + strconv.FormatUint(cursor, 10) + "\n: heartbeat\n\n")
}

// Lost is the event of a feed that says that entries are no longer kept.
type Lost struct {
	Newest uint64 `json:"newest" doc:"The cursor that the stream goes on after."`
}

func (s *stream) lost(newest uint64) error {
	return s.event(strconv.FormatUint(newest, 10), "lost", Lost{newest})
}

func (c *calls) registerStreams(h huma.API) {
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/tasks/{id}/events", id: "followTask", tag: "events",
		summary: "Follow a task", does: api.OpRead,
		text: "Server-sent events: `event` is the type of a message, `id` its seq, `data` the message on one line. A comment comes each 15 s. " +
			"`Last-Event-ID` (or `after`) goes on where another connection was cut. When the task is over, the event `end` with the task comes last, with the id that a next message would have, and the stream ends.",
		also:   []reply{{status: http.StatusNoContent, text: "The task is over and its end was seen: do not come back."}},
		answer: "id: 3\nevent: observation\ndata: {\"seq\":3,\"type\":\"observation\",...}\n\n",
	}, c.events)
	register(c, h, operation{
		method: http.MethodGet, path: "/v1/events", id: "followAll", tag: "events",
		summary: "Follow all tasks", does: api.OpRead,
		text: "As `/v1/tasks/{id}/events`, of all tasks that the token may see, in the order in which their messages were stored; `id` is a cursor, and `data` has the task's id. " +
			"Without `Last-Event-ID` or `after` it begins with what comes from now on. The event `lost` says that messages after the cursor are no longer kept.",
		answer: "id: 4711\nevent: observation\ndata: {\"cursor\":4711,\"task_id\":\"01KA...\",\"seq\":3,...}\n\n",
	}, c.feed)
}
