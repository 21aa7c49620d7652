package telegram

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	"legwork/bot"
)

// Telegram removes a preview after 30 s (core.telegram.org/bots/api#sendmessagedraft),
// so it is sent again before. A preview that did not change for long belongs to
// a task that is over.
const (
	draftRefresh = 20 * time.Second
	draftLife    = 15 * time.Minute
	draftTimeout = 5 * time.Second // of one call; a later frame is as good
)

// streams are the drafts that are shown now, by task. They are safe for
// concurrent use.
type streams struct {
	send func(context.Context, outgoing) error
	wake chan struct{}

	mu   sync.Mutex
	live map[string]*stream
}

// stream is one draft. Its lock is held while a frame is sent, so that no frame
// can arrive after the answer.
type stream struct {
	mu      sync.Mutex
	over    bool
	frame   outgoing
	sent    time.Time // when the preview was last shown
	changed time.Time // when its text was
}

func newStreams(send func(context.Context, outgoing) error) *streams {
	return &streams{send: send, wake: make(chan struct{}, 1), live: map[string]*stream{}}
}

// Streams implements bot.Streamer: drafts exist in private chats, where Telegram did
// not refuse one not long ago.
func (t *Telegram) Streams(to bot.Chat) bool {
	return to.Private && !t.chats.refused(draftMethod, to.ID)
}

const draftMethod = "sendMessageDraft"

// Stream implements bot.Streamer. Without text the apps show that the bot
// is thinking. Of a text that is too long for a message, the end is shown.
func (t *Telegram) Stream(ctx context.Context, to bot.Chat, d bot.Draft) error {
	frame := outgoing{method: draftMethod, to: to, draft: draftID(d.Task), priority: bot.PriorityFrame}
	if d.Text != "" {
		d.Kind, d.Partial, d.Part, d.Footer = bot.KindAnswer, d.Board == nil, 0, ""
		pages := render(&d)
		frame.page = pages[len(pages)-1]
		frame.asRich(t.richText(to, &d), "")
	} else if d.Board == nil {
		return t.streams.takeBack(ctx, d.Task, frame)
	}
	return t.streams.show(ctx, d.Task, frame)
}

// draftID is the same for all frames of a task, and never 0.
func draftID(task string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(task)) // never fails
	return int(h.Sum32()>>1) + 1
}

// sendDraft sends a frame. Where Telegram refuses one, answers are shown by edits for
// a while.
func (t *Telegram) sendDraft(ctx context.Context, frame outgoing) error {
	_, err := t.send(ctx, &frame)
	refused, ok := asRefusal(err)
	off := ok && !errors.Is(err, bot.ErrGone) && (refused.code == http.StatusNotFound || refused.code == http.StatusBadRequest)
	if status, ok := errors.AsType[statusError](err); ok {
		off = status == http.StatusNotFound || status == http.StatusNotImplemented
	}
	if off && t.chats.noteRefused(draftMethod, frame.to.ID) {
		t.log.WarnContext(ctx, "telegram: draft refused, showing answers in this chat by edits", "chat", frame.to.ID, "for", refusedFor, "cause", err)
	}
	return err
}

// show sends a frame and keeps it alive.
func (s *streams) show(ctx context.Context, task string, frame outgoing) error {
	s.mu.Lock()
	one := s.live[task]
	if one == nil {
		one = &stream{}
		s.live[task] = one
	}
	s.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.over {
		return nil
	}
	if err := s.send(ctx, frame); err != nil {
		if one.sent.IsZero() {
			s.forget(task, one)
		}
		return err
	}
	now := time.Now()
	one.frame, one.sent, one.changed = frame, now, now
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// takeBack hides text that turned out not to be an answer.
func (s *streams) takeBack(ctx context.Context, task string, empty outgoing) error {
	s.mu.Lock()
	one := s.live[task]
	s.mu.Unlock()
	if one == nil {
		return nil
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.over || one.frame.html == "" {
		s.forget(task, one)
		return nil
	}
	err := s.send(ctx, empty)
	if later, ok := errors.AsType[*bot.LaterError](err); ok {
		return later
	}
	s.forget(task, one)
	return err
}

// end stops a task's draft, which the next message replaces, and waits until
// nothing of it is on its way.
func (s *streams) end(task string) {
	s.mu.Lock()
	one := s.live[task]
	s.mu.Unlock()
	if one == nil {
		return
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	s.forget(task, one)
}

// forget is called with the stream's lock held.
func (s *streams) forget(task string, one *stream) {
	one.over = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live[task] == one {
		delete(s.live, task)
	}
}

// run sends drafts again before they vanish, until ctx ends.
func (s *streams) run(ctx context.Context) {
	timer := time.NewTimer(draftRefresh)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
		timer.Reset(s.refresh(ctx))
	}
}

// refresh sends the drafts again that are due, and returns when the next one is.
func (s *streams) refresh(ctx context.Context) time.Duration {
	s.mu.Lock()
	all := make(map[string]*stream, len(s.live))
	for task, one := range s.live {
		all[task] = one
	}
	s.mu.Unlock()
	next := draftRefresh
	for task, one := range all {
		next = min(next, s.repeat(ctx, task, one))
	}
	return max(next, 100*time.Millisecond)
}

// repeat sends a draft again if it is due, and returns when it is next. It
// does not wait for one that is being sent.
func (s *streams) repeat(ctx context.Context, task string, one *stream) time.Duration {
	if !one.mu.TryLock() {
		return time.Second
	}
	defer one.mu.Unlock()
	now := time.Now()
	switch {
	case one.over || one.sent.IsZero():
		return draftRefresh
	case now.Sub(one.changed) >= draftLife:
		s.forget(task, one)
		return draftRefresh
	case now.Sub(one.sent) < draftRefresh:
		return draftRefresh - now.Sub(one.sent)
	}
	if err := s.send(ctx, one.frame); err != nil {
		if later, ok := errors.AsType[*bot.LaterError](err); ok {
			return max(later.After, time.Second)
		}
		if _, ok := asRefusal(err); ok {
			s.forget(task, one)
		}
		return time.Second
	}
	one.sent = now
	return draftRefresh
}
