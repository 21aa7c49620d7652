package telegramfake

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// updates bring events to the bot, which polls or has a webhook.
type updates struct {
	*state

	reply func(*call) (any, *refusal) // executes a method that a webhook's reply calls; under the lock
}

// queue holds what the bot is to be told. It is guarded by the server's lock.
type queue struct {
	next      int
	pending   []update
	again     []update // delivered once more, whatever the offset
	confirmed []update // the last of them
	count     int      // of confirmed ones
	allowed   []string // empty: the usual ones
	offset    int64    // highest so far
	told      int64    // one more than the last id that the last poll brought
	poll      *poll
	hook      *hook
}

type update struct {
	id   int
	body json.RawMessage
}

// poll is a getUpdates that waits.
type poll struct {
	ended  chan struct{} // closed by a newer poll or a webhook
	hooked bool          // it was a webhook
}

const (
	unusual       = "chat_member message_reaction message_reaction_count" // only when asked for
	keptConfirmed = 1000
	maxTimeout    = 50
	// lastBreath is how long a poll that a newer one ended may need to turn out
	// to be dead already.
	lastBreath = 50 * time.Millisecond
	// nearFuture is how far an offset may be ahead of the updates.
	nearFuture = 10
)

// gone is the outcome of a call whose client left.
var gone = &refusal{Code: http.StatusOK}

// push adds an update, when the bot gets that kind; it is called with the lock held.
func (s *updates) push(kind string, value any) int {
	if len(s.queue.allowed) > 0 && !slices.Contains(s.queue.allowed, kind) || len(s.queue.allowed) == 0 && slices.Contains(strings.Fields(unusual), kind) {
		return 0
	}
	id := s.queue.next
	body, err := json.Marshal(map[string]any{"update_id": id, kind: value})
	if err != nil {
		panic(err) // of our own values only
	}
	return s.pushRaw(body)
}

func (s *updates) pushRaw(body []byte) int {
	id := s.queue.next
	s.queue.next++
	s.queue.pending = append(s.queue.pending, update{id, body})
	s.change()
	return id
}

// Raw delivers an update of any shape, for malformed ones. An object without
// update_id gets the next one; everything else goes out as it is. It panics on
// text that is no JSON.
func (s *updates) Raw(body string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !json.Valid([]byte(body)) {
		panic(fmt.Sprintf("telegramfake: %q is no JSON", body))
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &fields) == nil && fields != nil && fields["update_id"] == nil {
		fields["update_id"], _ = json.Marshal(s.queue.next)
		raw, _ := json.Marshal(fields)
		body = string(raw)
	}
	return s.pushRaw([]byte(body))
}

// Redeliver delivers the last n confirmed updates once more.
func (s *updates) Redeliver(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	q.again = append(q.again, q.confirmed[max(0, len(q.confirmed)-n):]...)
	s.change()
}

// Renumber lets the ids of updates begin anew, as the service does after a week
// without any. An offset far above them counts for nothing then.
func (s *updates) Renumber(next int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.next = next
}

// Pending is the number of updates that are not confirmed.
func (s *updates) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue.pending) + len(s.queue.again)
}

// confirm drops everything below an offset.
func (s *updates) confirm(offset int64) {
	q := &s.queue
	for len(q.pending) > 0 && int64(q.pending[0].id) < offset {
		q.confirmed = append(q.confirmed, q.pending[0])
		if q.count++; s.o.Again > 0 && q.count%s.o.Again == 0 {
			q.again = append(q.again, q.pending[0])
		}
		q.pending = q.pending[1:]
	}
	q.confirmed = q.confirmed[max(0, len(q.confirmed)-keptConfirmed):]
	s.change()
}

// take returns what is to be delivered now.
func (q *queue) take(limit int) []update {
	n := min(limit, len(q.again))
	list := slices.Clone(q.again[:n])
	q.again = q.again[n:]
	return append(list, q.pending[:min(limit-n, len(q.pending))]...)
}

func (s *updates) getUpdates(ctx context.Context, c *call) (any, *refusal) {
	offset, why := c.params.int("offset")
	limit, why2 := c.params.int("limit")
	timeout, why3 := c.params.int("timeout")
	for _, w := range []*refusal{why, why2, why3} {
		if w != nil {
			return nil, w
		}
	}
	if limit < 1 || limit > 100 {
		limit = 100
	}
	mine, why := s.startPoll(c, offset)
	if why != nil {
		return nil, why
	}
	timer := time.NewTimer(s.seconds(int(min(max(timeout, 0), maxTimeout))))
	defer timer.Stop()
	return s.wait(ctx, c, mine, timer.C, int(limit))
}

// startPoll ends an older poll and confirms.
func (s *updates) startPoll(c *call, offset int64) (*poll, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	if q.hook != nil {
		s.violate("getUpdates while a webhook is set")
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	if why := s.setAllowed(c); why != nil {
		return nil, why
	}
	switch {
	case offset < 0:
		if n := len(q.pending) + int(offset); n > 0 {
			s.confirm(int64(q.pending[n].id))
		}
	case offset == 0:
		q.offset = 0 // a client that begins knows of none
	case offset < q.offset && offset != q.told:
		s.violate("getUpdates with the offset %d after %d", offset, q.offset)
	case offset > int64(q.next)+nearFuture: // as if there were none
	default:
		s.confirm(offset)
		q.offset = offset
	}
	q.told = 0
	if q.poll != nil {
		close(q.poll.ended)
	}
	q.poll = &poll{ended: make(chan struct{})}
	c.entry.Done = true
	s.change()
	return q.poll, nil
}

func conflict(text string) *refusal {
	return &refusal{Code: http.StatusConflict, Text: "Conflict: " + text}
}

func (s *updates) setAllowed(c *call) *refusal {
	var allowed []string
	if given, why := c.params.object("allowed_updates", &allowed); why != nil || !given {
		return why
	}
	s.queue.allowed = allowed
	return nil
}

// wait returns updates as soon as there are any, or none at the end of the time.
func (s *updates) wait(ctx context.Context, c *call, mine *poll, timeout <-chan time.Time, limit int) (any, *refusal) {
	late := false
	for {
		list, changed, done, down := s.peek(mine, limit, late)
		switch {
		case down:
			return nil, gone
		case done:
			return bodies(list, c), nil
		}
		select {
		case <-changed:
		case <-timeout:
			late = true
		case <-mine.ended:
			return nil, s.supersede(ctx, mine)
		case <-ctx.Done():
			s.mu.Lock()
			if s.queue.poll == mine {
				s.queue.poll = nil
			}
			s.mu.Unlock()
			return nil, gone
		}
	}
}

// peek tells whether a poll is at its end, and with what.
func (s *updates) peek(mine *poll, limit int, late bool) (list []update, changed <-chan struct{}, done, down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue.poll != mine {
		return nil, s.changed, false, false
	}
	down = s.isDown()
	if !down {
		list = s.queue.take(limit)
	}
	if len(list) > 0 {
		s.queue.told = int64(list[len(list)-1].id) + 1
	}
	if done = len(list) > 0 || late; done || down {
		s.queue.poll = nil
	}
	return list, s.changed, done, down
}

// supersede ends a poll that a newer one took over from. A client that was
// killed a moment ago leaves such a poll behind: that is no conflict.
func (s *updates) supersede(ctx context.Context, mine *poll) *refusal {
	timer := time.NewTimer(lastBreath)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return gone
	case <-timer.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if mine.hooked {
		return conflict("terminated by setWebhook request")
	}
	if s.o.Pollers < 2 {
		s.violate("two getUpdates at once")
	}
	return conflict("terminated by other getUpdates request; make sure that only one bot instance is running")
}

func bodies(list []update, c *call) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, u := range list {
		out[i] = u.body
		c.entry.Updates = append(c.entry.Updates, u.id)
	}
	return out
}
