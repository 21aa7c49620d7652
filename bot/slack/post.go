package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/bot"
	"legwork/bot/markdown"

	slackgo "github.com/slack-go/slack"
)

// Post sends a new message and returns its ts. A board in a thread becomes a
// native stream where Slack allows one. A draft that replies to a command given
// where the bot is no member goes through the command's response URL, which
// takes no files. A file comes before its message, as one of its own.
func (s *Slack) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	hook := strings.HasPrefix(d.ReplyTo, "http")
	return s.uploads.Send(to, &d, func(f *bot.File) error {
		if hook {
			return fmt.Errorf("answering a command where the app is no member: %w", bot.ErrNoFiles)
		}
		return s.sendFile(ctx, to, &d, f)
	}, func() (string, error) {
		if hook {
			return s.hooked(ctx, d.ReplyTo, d)
		}
		return s.post(ctx, to, d)
	})
}

func (s *Slack) post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	if d.Kind == bot.KindBoard && d.Board != nil {
		id, err := s.startStream(ctx, to, d)
		if err == nil && id != "" {
			s.session(to, d)
		}
		if err != nil || id != "" {
			return id, mark(err)
		}
	}
	id, err := s.postMessage(ctx, to, d)
	if err != nil {
		return "", mark(err)
	}
	if d.Kind == bot.KindBoard {
		s.live.edited(to.ID, id, s.now())
	}
	s.session(to, d)
	return id, nil
}

func (s *Slack) postMessage(ctx context.Context, to bot.Chat, d bot.Draft) (id string, err error) {
	if d.Partial {
		d.Text = markdown.Partial(d.Text)
	}
	r := request{method: "chat.postMessage", channel: to.ID, private: to.Private, urgency: d.Priority(true)}
	err = s.shown(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) (err error) {
			_, id, err = s.api.PostMessageContext(ctx, to.ID, l.options(), thread(to), marked(d))
			return err
		})
	})
	return id, err
}

// shown tries a draft's looks until Slack takes one.
func (s *Slack) shown(ctx context.Context, d bot.Draft, send func(context.Context, look) error) error {
	var err error
	for _, l := range looks(d) {
		if err = send(ctx, l); err == nil || !refused(err) {
			return err
		}
		s.log.WarnContext(ctx, "slack refused how a message looks", "task", d.Task, "cause", err)
	}
	return err
}

// Edit replaces a posted message.
func (s *Slack) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if strings.HasPrefix(id, "http") {
		return s.rehooked(ctx, id, d)
	}
	err := s.edit(ctx, to, id, d)
	if err != nil && lost(err) {
		fresh, err := s.postMessage(ctx, to, d)
		if err != nil {
			return mark(err)
		}
		return &bot.MovedError{ID: fresh}
	}
	if err == nil {
		s.session(to, d)
	}
	return mark(err)
}

func (s *Slack) edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if st := s.live.stream(to.ID, id); st != nil {
		done, err := s.feed(ctx, st, d)
		if done || err != nil {
			return err
		}
	}
	return s.update(ctx, to, id, d)
}

// update changes a message that does not stream. Frames keep their distance:
// the more messages are being changed, the longer.
func (s *Slack) update(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if d.Partial {
		if wait := s.live.turn(to.ID, id, s.now(), s.pause.update); wait > 0 {
			return &bot.LaterError{After: wait}
		}
		d.Text = markdown.Partial(d.Text)
	}
	r := request{method: "chat.update", channel: to.ID, private: to.Private, urgency: d.Priority(false)}
	err := s.shown(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) error {
			_, _, _, err := s.api.UpdateMessageContext(ctx, to.ID, id, l.options(), marked(d))
			return err
		})
	})
	switch {
	case err == nil && d.Partial:
		s.live.edited(to.ID, id, s.now())
	case err == nil:
		s.live.settled(to.ID, id)
	case code(err) == "streaming_state_conflict":
		return s.unstream(ctx, to, id, d, err)
	}
	return err
}

// unstream ends a stream that a process before this one began, and changes the
// message after that.
func (s *Slack) unstream(ctx context.Context, to bot.Chat, id string, d bot.Draft, conflict error) error {
	r := request{method: "chat.stopStream", channel: to.ID, private: to.Private, urgency: d.Priority(false)}
	err := s.call(ctx, r, func(ctx context.Context) error {
		_, _, err := s.api.StopStreamContext(ctx, to.ID, id)
		return err
	})
	if early(err) || ctx.Err() != nil {
		return err
	}
	if err != nil && !broken(err) {
		return errors.Join(conflict, err)
	}
	r.method = "chat.update"
	return s.shown(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) error {
			_, _, _, err := s.api.UpdateMessageContext(ctx, to.ID, id, l.options(), marked(d))
			return err
		})
	})
}

// thread puts a message where the conversation is.
func thread(to bot.Chat) slackgo.MsgOption {
	if to.Thread == "" {
		return slackgo.MsgOptionCompose()
	}
	return slackgo.MsgOptionTS(to.Thread)
}

// metadataType names legwork's metadata.
const metadataType = "legwork"

// marked lets a message be found again.
func marked(d bot.Draft) slackgo.MsgOption {
	if d.Mark == "" {
		return slackgo.MsgOptionCompose()
	}
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"mark": d.Mark}})
}

// How a message is looked for: in the newest messages of direct
// messages, from the first one of a thread on.
const (
	findPage  = 500
	findPages = 5
	findSpan  = 20 * time.Second
)

// Find looks for a message that was posted with Mark, in the newest messages
// of direct messages, and in all of a thread within reason.
func (s *Slack) Find(ctx context.Context, to bot.Chat, mark string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, findSpan)
	defer cancel()
	cursor := ""
	for range findPages {
		found, next, err := s.page(ctx, to, cursor)
		if err != nil {
			return "", err
		}
		for _, m := range found {
			if bears(m, mark) {
				return m.Timestamp, nil
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return "", nil
}

func (s *Slack) page(ctx context.Context, to bot.Chat, cursor string) (found []slackgo.Message, next string, err error) {
	if to.Thread != "" {
		err = s.call(ctx, request{method: "conversations.replies", urgency: bot.PriorityHigh}, func(ctx context.Context) (err error) {
			found, _, next, err = s.api.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
				ChannelID: to.ID, Timestamp: to.Thread, Cursor: cursor, Limit: findPage, IncludeAllMetadata: true,
			})
			return err
		})
		return found, next, err
	}
	err = s.call(ctx, request{method: "conversations.history", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		h, err := s.api.GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: to.ID, Cursor: cursor, Limit: findPage, IncludeAllMetadata: true,
		})
		if err == nil {
			found, next = h.Messages, h.ResponseMetaData.NextCursor
		}
		return err
	})
	return found, next, err
}
