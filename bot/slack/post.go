package slack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/bot/markdown"
)

// Post sends a new message and returns its ts. A board in a thread becomes a
// native stream where Slack allows one. Where the bot is not a
// member, a draft that replies to a command goes through the command's response
// URL, which accepts no files. A file comes before its message, as one of its own.
// While the first frame has to wait, a reaction on the question says so.
func (s *Slack) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	hook := strings.HasPrefix(d.ReplyTo, "http")
	if d.IsFile() && !hook {
		return s.postFile(ctx, to, d)
	}
	return s.uploads.Send(to, &d, func(f *bot.File) (string, error) {
		if hook {
			return "", fmt.Errorf("answering a command where the app is not a member: %w", bot.ErrNoFiles)
		}
		return s.sendFile(ctx, to, &d, f, "")
	}, func() (string, error) {
		if hook {
			return s.postToURL(ctx, d.ReplyTo, d)
		}
		id, err := s.post(ctx, to, d)
		s.waitSigns.show(to, d.ReplyTo, tooEarly(err))
		return id, err
	})
}

func (s *Slack) post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	if d.Kind == bot.KindBoard && d.Board != nil {
		id, err := s.startStream(ctx, to, d)
		if err == nil && id != "" {
			s.sessions.show(to, d)
		}
		if err != nil || id != "" {
			return id, wrapGone(err)
		}
	}
	id, err := s.postMessage(ctx, to, d)
	if err != nil {
		return "", wrapGone(err)
	}
	if d.Kind == bot.KindBoard {
		s.active.edited(to.ID, id, s.now())
	}
	s.sessions.show(to, d)
	return id, nil
}

func (s *Slack) postMessage(ctx context.Context, to bot.Chat, d bot.Draft) (id string, err error) {
	if d.Partial {
		d.Text = markdown.Partial(d.Text)
	}
	r := request{method: "chat.postMessage", channel: to.ID, private: to.Private, urgency: d.Priority(true)}
	err = s.tryLooks(ctx, d, func(ctx context.Context, l look) error {
		return s.call(ctx, r, func(ctx context.Context) (err error) {
			_, id, err = s.api.PostMessageContext(ctx, to.ID, l.options(), thread(to), metadata(d))
			return err
		})
	})
	return id, err
}

// tryLooks tries a draft's looks until Slack accepts one.
func (s *webClient) tryLooks(ctx context.Context, d bot.Draft, send func(context.Context, look) error) error {
	var err error
	for _, l := range looks(d) {
		if err = send(ctx, l); err == nil || !contentRefused(err) {
			return err
		}
		s.log.WarnContext(ctx, "slack: layout refused", "task", d.Task, "cause", err)
	}
	return err
}

// Edit replaces a posted message.
func (s *Slack) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if strings.HasPrefix(id, "http") {
		return s.editAtURL(ctx, id, d)
	}
	err := s.edit(ctx, to, id, d)
	if err != nil && notEditable(err) {
		s.log.WarnContext(ctx, "slack: edit refused, sending a new message", "task", d.Task, "chat", to.Key(), "cause", err)
		fresh, err := s.postMessage(ctx, to, d)
		if err != nil {
			return wrapGone(err)
		}
		return &bot.MovedError{ID: fresh}
	}
	if err == nil {
		s.sessions.show(to, d)
	}
	return wrapGone(err)
}

// Removes implements bot.Remover: true but in threads of direct messages, where the
// person looks at the message in which the answer streams.
func (s *Slack) Removes(to bot.Chat) bool { return !to.Private || to.Thread == "" }

// Remove implements bot.Remover. Slack deletes no message that streams.
func (s *Slack) Remove(ctx context.Context, to bot.Chat, id string) error {
	if strings.HasPrefix(id, "http") {
		return nil // a response URL cannot take back what it showed
	}
	if st := s.active.stream(to.ID, id); st != nil {
		if err := st.close(ctx); err != nil {
			return err
		}
	}
	s.active.finished(to.ID, id)
	err := s.delete(ctx, to, id)
	if code(err) == "cant_delete_message" { // it may be a stream that an earlier process began
		if stopped := s.stopForeignStream(ctx, to, id, bot.Draft{Kind: bot.KindBoard}, err); stopped != nil {
			return wrapGone(stopped)
		}
		err = s.delete(ctx, to, id)
	}
	if code(err) == "message_not_found" {
		return nil
	}
	return wrapGone(err)
}

func (s *Slack) delete(ctx context.Context, to bot.Chat, id string) error {
	r := request{method: "chat.delete", channel: to.ID, private: to.Private, urgency: bot.PriorityNormal}
	return s.call(ctx, r, func(ctx context.Context) error {
		_, _, err := s.api.DeleteMessageContext(ctx, to.ID, id)
		return err
	})
}

func (s *Slack) edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if st := s.active.stream(to.ID, id); st != nil {
		done, err := st.feed(ctx, d)
		if done || err != nil {
			return err
		}
	}
	return s.update(ctx, to, id, d)
}

// update changes a message that does not stream. The more messages are changing,
// the longer the time between two frames.
func (s *Slack) update(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	if d.Partial {
		if wait := s.active.untilNextFrame(to.ID, id, s.now(), s.timings.update); wait > 0 {
			return &bot.LaterError{After: wait}
		}
		d.Text = markdown.Partial(d.Text)
	}
	change := func() error {
		r := request{method: "chat.update", channel: to.ID, private: to.Private, urgency: d.Priority(false)}
		return s.tryLooks(ctx, d, func(ctx context.Context, l look) error {
			return s.call(ctx, r, func(ctx context.Context) error {
				_, _, _, err := s.api.UpdateMessageContext(ctx, to.ID, id, l.options(), metadata(d))
				return err
			})
		})
	}
	err := change()
	switch {
	case err == nil && d.Partial:
		s.active.edited(to.ID, id, s.now())
	case err == nil:
		s.active.finished(to.ID, id)
	case code(err) == "streaming_state_conflict":
		if err := s.stopForeignStream(ctx, to, id, d, err); err != nil {
			return err
		}
		return change()
	}
	return err
}

// stopForeignStream ends a stream that an earlier process began. conflict is the error
// that showed it.
func (s *Slack) stopForeignStream(ctx context.Context, to bot.Chat, id string, d bot.Draft, conflict error) error {
	r := request{method: "chat.stopStream", channel: to.ID, private: to.Private, urgency: d.Priority(false)}
	err := s.call(ctx, r, func(ctx context.Context) error {
		_, _, err := s.api.StopStreamContext(ctx, to.ID, id)
		return err
	})
	switch {
	case err == nil || tooEarly(err) || ctx.Err() != nil:
		return err
	case !streamEnded(err):
		return errors.Join(conflict, err)
	}
	return nil
}

// thread puts a message into the conversation's thread.
func thread(to bot.Chat) slackgo.MsgOption {
	if to.Thread == "" {
		return slackgo.MsgOptionCompose()
	}
	return slackgo.MsgOptionTS(to.Thread)
}

// metadataType names legwork's metadata.
const metadataType = "legwork"

// metadata carries the draft's mark, by which Find finds the message.
func metadata(d bot.Draft) slackgo.MsgOption {
	if d.Mark == "" {
		return slackgo.MsgOptionCompose()
	}
	return slackgo.MsgOptionMetadata(slackgo.SlackMetadata{EventType: metadataType, EventPayload: map[string]any{"mark": d.Mark}})
}

// How far Find looks: from the newest message of direct messages, from the first
// one of a thread.
const (
	findPage  = 500
	findPages = 5
	findSpan  = 20 * time.Second
)

// Find looks for a message that was posted with Mark, in the newest messages
// of direct messages, or in a thread.
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
			if hasMark(m, mark) {
				return m.Timestamp, nil
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return "", nil
}

func (s *webClient) page(ctx context.Context, to bot.Chat, cursor string) (found []slackgo.Message, next string, err error) {
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
