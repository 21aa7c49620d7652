package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/files"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/input"
	"legwork/tasks/policy"
)

// Context is a part of the context of a task.
type Context struct {
	TaskID   tasks.ID                   `json:"task_id" doc:"The id of the task."`
	Created  Time                       `json:"created_at" doc:"When the task was opened."`
	Messages []Message                  `json:"messages" doc:"The messages, in order."`
	Shared   map[string]json.RawMessage `json:"shared_state" doc:"Keys and values that everybody who works on the task shares."`
	Version  int                        `json:"version" doc:"The version of the shared state."`
	Next     *int                       `json:"next_after" doc:"The value of 'after' for more messages; null when there are no more now."`
}

// ContextQuery selects messages.
type ContextQuery struct {
	After int      // only messages with a higher seq
	Types []string // none: all
	Limit int      // 1 to 1000; 0: 200
	Bytes int      // of content in a page; 0: the most, 512 KiB
}

// Limits of a page of messages. It ends after maxPage bytes of content, or after
// maxMessages messages, whether they are of the selected types or not.
const (
	maxMessages     = 1000
	defaultMessages = 200
	maxPage         = 512 << 10
)

// Context reads messages and the shared state.
func (s *Service) Context(ctx context.Context, p Principal, id tasks.ID, q ContextQuery) (Context, error) {
	limit, err := checkLimit(q.Limit, defaultMessages, maxMessages)
	if err == nil {
		err = checkTypes(q.Types)
	}
	if err != nil {
		return Context{}, err
	}
	if q.After < 0 {
		return Context{}, &InvalidError{"after", "is less than 0"}
	}
	seen, err := s.authorize(ctx, p, policy.OpRead, id)
	if err != nil {
		return Context{}, err
	}
	state, err := s.foldedState(ctx, id)
	if err != nil {
		return Context{}, err
	}
	j := journal{store: s.Store, id: id}
	tr := translator{id, state, j.read(ctx), p.values(seen.row.From)}
	c := Context{TaskID: id, Created: Time{state.Opened}, Messages: []Message{}, Version: state.Version, Shared: tr.sharedState()}
	bytes, most := 0, cmp.Or(min(q.Bytes, maxPage), maxPage)
	err = s.eachEvent(ctx, id, q.After, state.Seq, func(e planner.Event) error {
		if before := e.Seq - 1; len(c.Messages) == limit || bytes > most || before-q.After >= maxMessages {
			c.Next = &before
			return errStop
		}
		m, ok, err := tr.filtered(e, q.Types)
		if ok && err == nil {
			c.Messages = append(c.Messages, m)
			bytes += len(m.Content)
		}
		return err
	})
	if err == nil {
		err = j.err
	}
	return c, err
}

// checkTypes returns an *InvalidError for an unknown type.
func checkTypes(types []string) error {
	for _, kind := range types {
		if !slices.Contains(Types(), kind) {
			return &InvalidError{"type", fmt.Sprintf("%q is none; there are %s", kind, strings.Join(Types(), ", "))}
		}
	}
	return nil
}

// wants reports whether a type is among the selected types; none selected: all.
func wants(types []string, kind string) bool {
	return len(types) == 0 || slices.Contains(types, kind)
}

// filtered returns the message of an event; false when it is not of the selected
// types.
func (t translator) filtered(e planner.Event, types []string) (Message, bool, error) {
	m, content := t.message(e)
	if !wants(types, m.Type) {
		return m, false, nil
	}
	var err error
	m.Content, m.Bytes, err = shortContent(content)
	return m, true, err
}

// errStop ends eachEvent without an error.
var errStop = errors.New("enough")

// Limits of a part of a content.
const (
	maxPart     = 1 << 20
	defaultPart = 64 << 10
)

// Content returns a part of the content of one message as JSON text: at most limit
// bytes (0: 64 KiB) from offset on, cut between characters. next is the offset of
// the next part, 0 at the end; bytes is the whole length.
func (s *Service) Content(ctx context.Context, p Principal, id tasks.ID, seq, offset, limit int) (part string, next, bytes int, err error) {
	if limit, err = checkLimit(limit, defaultPart, maxPart); err != nil {
		return "", 0, 0, err
	}
	seen, err := s.authorize(ctx, p, policy.OpRead, id)
	if err != nil {
		return "", 0, 0, err
	}
	state, err := s.foldedState(ctx, id)
	if err != nil {
		return "", 0, 0, err
	}
	if seq < 1 || seq > state.Seq {
		return "", 0, 0, notFoundError(fmt.Sprintf("the task has no message %d", seq))
	}
	j := journal{store: s.Store, id: id}
	tr := translator{id, state, j.read(ctx), p.values(seen.row.From)}
	_, content := tr.message(tr.journal(seq))
	if j.err != nil {
		return "", 0, 0, j.err
	}
	whole, err := encode(content)
	if err != nil {
		return "", 0, 0, err
	}
	if offset < 0 || offset > len(whole) {
		return "", 0, 0, &InvalidError{"offset", fmt.Sprintf("is %d; the content has %d bytes", offset, len(whole))}
	}
	start, end := boundary(whole, offset), boundary(whole, min(offset+limit, len(whole)))
	if end <= start && start < len(whole) { // a character is longer than the limit
		_, n := utf8.DecodeRune(whole[start:])
		end = start + n
	}
	if end < len(whole) {
		next = end
	}
	return string(whole[start:end]), next, len(whole), nil
}

// boundary is the start of the character at an offset.
func boundary(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// NewMessage is a message to add to a context.
type NewMessage struct {
	Type    string
	Content json.RawMessage // any JSON of at most 64 KiB
	Files   []files.ID
	Key     string // idempotency key; empty: none
}

// Addable are the types of messages that Add accepts. Other operations make the
// other types.
func Addable() []string {
	return slices.DeleteFunc(Types(), func(kind string) bool { return kind == TypeGoal || kind == TypeApproval || kind == TypeAnswer })
}

// Add adds a message. human_input of a person is guidance for the next decision;
// everything else is data that it sees. again is as in Start. ErrConflict when the
// task reads a task. The caller has checked that the principal may see it.
func (s *Service) Add(ctx context.Context, p Principal, id tasks.ID, m NewMessage) (added Message, again bool, err error) {
	if err := p.Allowed(policy.OpAdd); err != nil {
		return Message{}, false, err
	}
	if !slices.Contains(Addable(), m.Type) {
		return Message{}, false, &InvalidError{"type", fmt.Sprintf("%q cannot be added; %s can", m.Type, strings.Join(Addable(), ", "))}
	}
	key, err := p.key(m.Key)
	if err == nil {
		err = checkJSON("content", m.Content)
	}
	if err != nil {
		return Message{}, false, err
	}
	if _, err := s.authorize(ctx, p, policy.OpAdd, id); err != nil {
		return Message{}, false, err
	}
	e, err := p.messageEvent(m)
	if err != nil {
		return Message{}, false, err
	}
	if e.Files, err = s.Attachments(ctx, p, m.Files); err != nil {
		return Message{}, false, err
	}
	e.Message = key
	receipt, err := inbox.AddEvent(ctx, s.Inbox, id, key, e)
	switch {
	case errors.Is(err, inbox.ErrOverloaded):
		return Message{}, false, fmt.Errorf("%w: %w", ErrConflict, err)
	case err != nil:
		return Message{}, false, notFound(err)
	case errors.Is(receipt.Err, files.ErrNone): // it was deleted a moment ago
		return Message{}, false, &InvalidError{"files", receipt.Err.Error()}
	case receipt.Again && receipt.Task != id:
		return Message{}, false, ErrKeyReused
	case receipt.Err != nil:
		return Message{}, false, s.notAccepted(ctx, id, e, receipt.Err)
	case receipt.Again:
		added, err = s.findRepeated(ctx, id, e)
		return added, true, err
	}
	added, err = s.messageAt(ctx, id, receipt.Seq, false)
	return added, false, err
}

// messageEvent is the event of a message: guidance of a person, otherwise a note.
func (p Principal) messageEvent(m NewMessage) (planner.Event, error) {
	content := compact(m.Content)
	if m.Type != TypeHumanInput {
		return planner.Event{Type: planner.NoteAdded, By: p.Key(), Note: &planner.Note{Type: m.Type, Content: content}}, nil
	}
	if p.Role == policy.RoleAgent {
		return planner.Event{}, &InvalidError{"type", "human_input is what people say; an agent uses observation or another type"}
	}
	text := input.Clean(textOf(content))
	if text == "" {
		return planner.Event{}, &InvalidError{"content", "is empty: say what should be heeded"}
	}
	return planner.Event{Type: planner.GuidanceAdded, By: p.Key(), Text: text}, nil
}

// textOf is the text of a content: a JSON string, the only field "text" of an
// object, or else the JSON itself.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(content, &fields) == nil && len(fields) == 1 && json.Unmarshal(fields["text"], &text) == nil {
		return text
	}
	return string(content)
}

// notAccepted says why a task did not accept a message.
func (all journals) notAccepted(ctx context.Context, id tasks.ID, e planner.Event, cause error) error {
	if errors.Is(cause, tasks.ErrNoTask) {
		return ErrNotFound
	}
	if !errors.Is(cause, tasks.ErrRefused) {
		return cause
	}
	state, err := all.foldedState(ctx, id)
	switch {
	case err != nil:
		return err
	case state.Settled():
		return fmt.Errorf("%w: it is over", ErrConflict)
	case e.Type == planner.GuidanceAdded:
		return fmt.Errorf("%w: its answer is being written already; start a task of its own", ErrConflict)
	}
	return fmt.Errorf("%w: its context holds %d messages of others, which is the most", ErrConflict, state.Limits.Notes)
}
