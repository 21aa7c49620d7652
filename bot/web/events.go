package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

// heartbeat is how often an idle stream sends a comment, so that proxies keep it.
const heartbeat = 15 * time.Second

// maxReplay is how many changed posts a browser that comes back gets as events. With more
// than that, it reads its conversations anew.
const maxReplay = 500

// hello is the first event of a stream.
type hello struct {
	Seq   uint64 `json:"seq"`             // of the newest change
	Reset bool   `json:"reset,omitempty"` // too much has changed since the seq that the browser named: it must read anew
}

// removed is the event about the posts of a conversation that are deleted.
type removed struct {
	Conversation string `json:"conversation"`
}

// readTo is the event about what the person has read.
type readTo struct {
	Conversation string `json:"conversation"`
	Seq          uint64 `json:"seq"`
}

// events writes the changes of the person's posts as server-sent events
// (html.spec.whatwg.org, section 9.2), until the request ends.
func (w *Web) events(c *call) error {
	after, resumed, err := c.after()
	if err != nil {
		return err
	}
	ctx, owner := c.r.Context(), c.who.Person.Key()
	reader, growing, leave := w.hub.join(owner)
	defer leave()
	if !resumed {
		after = math.MaxUint64 - 1
	}
	list, newest, more, err := w.cfg.Store.ChangedPosts(ctx, owner, after, maxReplay)
	if err != nil {
		return err
	}
	reset := resumed && (more || after > newest) // above newest: the store is another one
	if reset {
		list = nil
	}
	s := &stream{control: http.NewResponseController(c.w), out: c.w, has: map[place]shown{}}
	_ = s.control.SetReadDeadline(time.Time{}) // a stream outlasts the time for reading a request
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.Header().Set("X-Accel-Buffering", "no") // for proxies that would buffer it
	s.buf.WriteString("retry: 1000\n\n")
	s.event("hello", 0, hello{newest, reset})
	for _, post := range list {
		p := read(post)
		s.post(newChange(owner, p))
	}
	s.last = max(s.last, newest)
	for _, g := range growing {
		s.post(g)
	}
	if c.r.Method == http.MethodHead {
		return nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for s.flush() == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-w.cfg.Stop:
			return nil
		case <-w.closed:
			return nil
		case <-beat.C:
			s.buf.WriteString(":\n\n")
		case <-reader.wake:
			for _, change := range w.hub.take(reader) {
				s.change(change, newest)
			}
		}
	}
	return nil
}

// after is the seq up to which the browser has the changes; false when it begins.
func (c *call) after() (seq uint64, resumed bool, err error) {
	text, place := c.r.Header.Get("Last-Event-ID"), "header.Last-Event-ID"
	if text == "" {
		text, place = c.r.URL.Query().Get("after"), "query.after"
	}
	if text == "" {
		return 0, false, nil
	}
	seq, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, invalid(place, "the id of an event of this stream, or nothing")
	}
	return seq, true, nil
}

// stream writes the events of one browser.
type stream struct {
	out     http.ResponseWriter
	control *http.ResponseController
	buf     bytes.Buffer
	has     map[place]shown // what the browser has of growing answers
	last    uint64          // the greatest seq of an event
}

// change writes what changed; not a post that the browser got when the stream began,
// which held all changes up to replayed.
func (s *stream) change(c *change, replayed uint64) {
	has, known := s.has[c.place]
	switch {
	case c.gone && !c.whole:
		s.event("emptied", 0, removed{c.conversation})
	case c.gone:
		s.event("gone", 0, removed{c.conversation})
	case c.read:
		s.event("read", 0, readTo{c.conversation, c.post.Seq})
	case !c.grows && c.post.Seq <= replayed:
	case known && c.grows:
		p, fits := c.pieceAfter(has)
		if !fits {
			s.post(c)
			return
		}
		s.event("piece", 0, p)
		s.note(c)
	default:
		s.post(c)
	}
}

// post writes a whole post.
func (s *stream) post(c *change) {
	s.event("post", c.post.Seq, json.RawMessage(c.encoded()))
	s.note(c)
}

// note keeps what the browser has of a growing answer.
func (s *stream) note(c *change) {
	if delete(s.has, c.place); c.grows {
		s.has[c.place] = shown{c.base, len(c.post.Text), c.units}
	}
}

// event adds an event. Its seq becomes the id from which the browser resumes.
func (s *stream) event(name string, seq uint64, data any) {
	if seq > s.last {
		s.last = seq
		fmt.Fprintf(&s.buf, "id: %d\n", seq)
	}
	text, err := json.Marshal(data)
	if err != nil {
		return // the types here can be written
	}
	fmt.Fprintf(&s.buf, "event: %s\ndata: %s\n\n", name, text)
}

// flush sends the events that were added.
func (s *stream) flush() error {
	_, err := s.out.Write(s.buf.Bytes())
	s.buf.Reset()
	if err != nil {
		return err
	}
	return s.control.Flush()
}
