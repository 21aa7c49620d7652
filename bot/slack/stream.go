package slack

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// stream is a message that Slack draws while it grows. It is ended at four
// minutes, as Slack kills it at about five; the message is then changed by
// edits under the same ts.
type stream struct {
	to      bot.Chat
	id      string
	asker   asker
	started time.Time

	mu      sync.Mutex        // held while a frame is under way; guards what follows
	last    time.Time         // last frame
	title   string            // of the plan
	cards   map[string]string // by id, as they were shown
	open    string            // title of the card that says that work has begun; empty once it is closed
	said    string            // Markdown so far
	planned bool              // it has shown sub-tasks
	over    bool
}

// beginCard is the id of the card that stands for the time before a plan.
const beginCard = "begin"

// startStream posts a board as a native stream. An empty id and no error: Slack
// allows none here, or the budget is spent.
func (s *Slack) startStream(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	who, known := s.askers.Get(to.Key())
	if !s.streams.Load() || to.Thread == "" || !known && !to.Private || !s.live.reserve() {
		return "", nil
	}
	st := &stream{to: to, asker: who, cards: map[string]string{}}
	options := []slackgo.MsgOption{
		thread(to), quiet(), slackgo.MsgOptionTaskDisplayMode(slackgo.TaskDisplayModePlan),
	}
	if known {
		options = append(options, slackgo.MsgOptionRecipientUserID(who.user), slackgo.MsgOptionRecipientTeamID(who.team))
	}
	next := st.boardChunks(*d.Board)
	if under := buttons(d.Buttons); len(under) > 0 {
		next.chunks = append(next.chunks, slackgo.NewBlocksChunk(signed(under, d.Mark)...))
	}
	options = append(options, slackgo.MsgOptionChunks(next.chunks...))
	err := s.call(ctx, request{method: "chat.startStream", private: to.Private, urgency: bot.PriorityFrame}, func(ctx context.Context) (err error) {
		_, st.id, err = s.api.StartStreamContext(ctx, to.ID, options...)
		return err
	})
	if err != nil || st.id == "" {
		s.live.release()
		return "", s.unstreamed(ctx, err)
	}
	st.commit(next)
	st.started, st.last = s.now(), s.now()
	s.live.add(st)
	return st.id, nil
}

// signed puts a draft's mark where a stream can carry it: it gets metadata only
// when it ends.
func signed(under []slackgo.Block, mark string) []slackgo.Block {
	for _, b := range under {
		if actions, ok := b.(*slackgo.ActionBlock); ok {
			actions.BlockID = mark
		}
	}
	return under
}

// bears reports whether a message was posted with that mark.
func bears(m slackgo.Message, mark string) bool {
	if said, _ := m.Metadata.EventPayload["mark"].(string); m.Metadata.EventType == metadataType && said == mark {
		return true
	}
	return mark != "" && slices.ContainsFunc(m.Blocks.BlockSet, func(b slackgo.Block) bool { return b.ID() == mark })
}

// unstreamed says whether a board that could not be streamed can be posted as
// a message instead; the error is nil then.
func (s *Slack) unstreamed(ctx context.Context, err error) error {
	if early(err) {
		return nil
	}
	if code(err) == "" || gone(err) {
		return err // the network: nobody knows whether it was started
	}
	if slices.Contains([]string{"unknown_method", "missing_scope", "not_authorized", "feature_not_enabled", "not_allowed_token_type", "method_deprecated"}, code(err)) {
		s.streams.Store(false)
	}
	s.log.InfoContext(ctx, "slack streams no message here, it is edited instead", "cause", err)
	return nil
}

// feed brings a draft to a stream. done: nothing is left to do; otherwise the
// stream has ended and the message is to be changed as any other.
func (s *Slack) feed(ctx context.Context, st *stream, d bot.Draft) (done bool, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	switch {
	case st.over:
		return false, nil
	case d.Kind == bot.KindBoard && d.Board != nil && st.said != "",
		s.now().Sub(st.started) >= s.pause.rotate,
		d.Partial && d.Text == "" && d.Board == nil:
		return false, s.stopStream(ctx, st, d, growth{}, nil) // words cannot be taken back in a stream
	case d.Partial:
		return s.grow(ctx, st, d)
	}
	next := growth{}
	if d.Kind != bot.KindBoard {
		if rest, ok := strings.CutPrefix(streamable(part(d).rich), st.said); ok {
			next = st.wordChunks(rest)
		}
	} else if d.Board != nil {
		next = st.boardChunks(*d.Board)
	}
	return false, s.stopStream(ctx, st, d, next, foot(d))
}

// grow sends a frame: what has changed since the last one.
func (s *Slack) grow(ctx context.Context, st *stream, d bot.Draft) (done bool, err error) {
	if wait := s.live.gap(s.pause.append) - s.now().Sub(st.last); wait > 0 {
		return true, &bot.LaterError{After: wait}
	}
	next := growth{}
	if d.Kind == bot.KindBoard {
		next = st.boardChunks(*d.Board)
	} else if rest, ok := strings.CutPrefix(steady(d), st.said); ok {
		next = st.wordChunks(rest)
	}
	if len(next.chunks) == 0 {
		return true, nil
	}
	err = s.call(ctx, request{method: "chat.appendStream", private: st.to.Private, urgency: bot.PriorityFrame}, func(ctx context.Context) error {
		_, _, err := s.api.AppendStreamContext(ctx, st.to.ID, st.id, slackgo.MsgOptionChunks(next.chunks...), quiet())
		return err
	})
	switch {
	case err == nil:
		st.commit(next)
		st.last = s.now()
		return true, nil
	case broken(err):
		s.end(st)
		s.stoppedBy(ctx, st, err)
		return code(err) == "stopped_by_user", nil
	}
	return true, err
}

// stopStream ends a stream with the rest of its content. It is harmless when
// the stream has ended already.
func (s *Slack) stopStream(ctx context.Context, st *stream, d bot.Draft, next growth, under []slackgo.Block) error {
	options := []slackgo.MsgOption{quiet(), marked(d)}
	if len(next.chunks) > 0 {
		options = append(options, slackgo.MsgOptionChunks(next.chunks...))
	}
	if len(under) > 0 {
		options = append(options, slackgo.MsgOptionBlocks(under...))
	}
	level := d.Priority(false)
	if !level.Waits() {
		level = bot.PriorityNormal // it is not worth a stream that Slack kills
	}
	err := s.call(ctx, request{method: "chat.stopStream", private: st.to.Private, urgency: level}, func(ctx context.Context) error {
		_, _, err := s.api.StopStreamContext(ctx, st.to.ID, st.id, options...)
		return err
	})
	if err != nil && code(err) == "" {
		return err
	}
	if err != nil && !broken(err) {
		s.log.WarnContext(ctx, "a stream could not be ended", "task", d.Task, "cause", err)
	}
	s.end(st)
	return nil
}

// end leaves a stream to edits. The caller holds its lock.
func (s *Slack) end(st *stream) {
	st.over = true
	s.live.forget(st)
}

// broken reports whether a stream has ended without our doing.
func broken(err error) bool {
	switch code(err) {
	case "message_not_in_streaming_state", "stopped_by_user", "streaming_state_conflict", "message_not_found", "streaming_mode_mismatch":
		return true
	}
	return false
}

// stoppedBy tells that a person pressed Slack's own Stop, in case that the
// event about it does not come: both have the same key.
func (s *Slack) stoppedBy(ctx context.Context, st *stream, err error) {
	h := s.handler.Load()
	if code(err) != "stopped_by_user" || st.asker.user == "" || h == nil {
		return
	}
	m := bot.Message{
		Key: stopKey(st.to.ID, st.id), Chat: st.to, From: bot.Person{Platform: Name, ID: st.asker.user},
		Text: "/stop", At: s.now(), InThread: true, Team: st.asker.team,
	}
	s.people.identify(ctx, &m)
	s.later(func(ctx context.Context) {
		if err := h.handle(ctx, []bot.Message{m}); err != nil {
			s.log.ErrorContext(ctx, "a stop could not be stored", "chat", m.Chat.Key(), "cause", err)
		}
	})
}

// stopKey names a press of Slack's own Stop on a stream.
func stopKey(channel, ts string) string { return "slack:stop:" + channel + ":" + ts }

// runRotation ends streams before Slack kills them.
func (s *Slack) runRotation(ctx context.Context) {
	tick := time.NewTicker(max(s.pause.rotate/50, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, st := range s.live.old(s.now().Add(-s.pause.rotate)) {
			st.mu.Lock()
			if !st.over {
				if err := s.stopStream(ctx, st, bot.Draft{Kind: bot.KindBoard}, growth{}, nil); err != nil && ctx.Err() == nil {
					s.log.WarnContext(ctx, "a stream could not be ended", "chat", st.to.Key(), "cause", err)
					s.end(st)
				}
			}
			st.mu.Unlock()
		}
	}
}
