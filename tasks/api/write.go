package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/planner"
	"legwork/tasks"
)

// NewMessage is something to be added to a context.
type NewMessage struct {
	Type    string
	Content json.RawMessage // any JSON of at most 64 KiB
	Key     string          // idempotency key; empty: none
}

// Addable are the types of messages that can be added: the others are what
// becomes of something else that is done with a task.
func Addable() []string {
	return slices.DeleteFunc(Types(), func(kind string) bool { return kind == TypeGoal || kind == TypeApproval || kind == TypeAnswer })
}

// Add adds a message: one of type human_input by a person is guidance for the
// next decision; everything else is data that it sees. again is as with Start.
// ErrConflict when the task takes none any more.
func (s *Service) Add(ctx context.Context, p Principal, id tasks.ID, m NewMessage) (added Message, again bool, err error) {
	if err := p.Allowed(OpAdd); err != nil {
		return Message{}, false, err
	}
	if !slices.Contains(Addable(), m.Type) {
		return Message{}, false, &InvalidError{"type", fmt.Sprintf("%q cannot be added; %s can", m.Type, strings.Join(Addable(), ", "))}
	}
	key, err := p.key(m.Key)
	if err == nil {
		err = fitsJSON("content", m.Content)
	}
	if err != nil {
		return Message{}, false, err
	}
	if _, err := s.may(ctx, p, OpAdd, id); err != nil {
		return Message{}, false, err
	}
	e, err := p.speech(m)
	if err != nil {
		return Message{}, false, err
	}
	e.Message = key
	receipt, err := tasks.AddEvent(ctx, s.Inbox, id, key, e)
	switch {
	case errors.Is(err, tasks.ErrCrowded):
		return Message{}, false, fmt.Errorf("%w: %w", ErrConflict, err)
	case err != nil:
		return Message{}, false, gone(err)
	case receipt.Again && receipt.Task != id:
		return Message{}, false, ErrKeyReused
	case receipt.Err != nil:
		return Message{}, false, s.unheard(ctx, id, e, receipt.Err)
	case receipt.Again:
		added, err = s.repeated(ctx, id, e)
		return added, true, err
	}
	added, err = s.messageAt(ctx, id, receipt.Seq)
	return added, false, err
}

// speech is the event of a message: a person guides, and everything else is
// noted.
func (p Principal) speech(m NewMessage) (planner.Event, error) {
	content := compact(m.Content)
	if m.Type != TypeHumanInput {
		return planner.Event{Type: planner.Noted, By: p.Key(), Note: &planner.Note{Type: m.Type, Content: content}}, nil
	}
	if p.Role == RoleAgent {
		return planner.Event{}, &InvalidError{"type", "human_input is what people say; an agent uses observation or another type"}
	}
	text := tasks.Clean(textOf(content))
	if text == "" {
		return planner.Event{}, &InvalidError{"content", "is empty: say what should be heeded"}
	}
	return planner.Event{Type: planner.Said, By: p.Key(), Text: text}, nil
}

// textOf is the text of a content: a JSON text, that of a field "text" which
// stands alone, or the JSON itself.
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

// unheard says why a task did not take a message.
func (s *Service) unheard(ctx context.Context, id tasks.ID, e planner.Event, cause error) error {
	if errors.Is(cause, tasks.ErrNoTask) {
		return ErrNotFound
	}
	if !errors.Is(cause, tasks.ErrRefused) {
		return cause
	}
	state, err := s.state(ctx, id)
	switch {
	case err != nil:
		return err
	case state.Settled():
		return fmt.Errorf("%w: it is over", ErrConflict)
	case e.Type == planner.Said:
		return fmt.Errorf("%w: its answer is being written already; start a task of its own", ErrConflict)
	}
	return fmt.Errorf("%w: its context holds %d messages of others, which is the most", ErrConflict, state.Limits.Notes)
}

// repeated finds the message that was added under the same key before.
func (s *Service) repeated(ctx context.Context, id tasks.ID, e planner.Event) (Message, error) {
	state, err := s.state(ctx, id)
	if err != nil {
		return Message{}, err
	}
	heard := slices.Concat(state.Heard, state.Noted)
	slices.Sort(heard)
	for _, seq := range slices.Backward(heard) {
		before, err := s.Store.Event(ctx, id, seq)
		if err != nil {
			return Message{}, told(id, err)
		}
		if before.Message != e.Message || before.By != e.By {
			continue
		}
		same := before.Type == e.Type && before.Text == e.Text
		if same && e.Note != nil {
			same = before.Note != nil && before.Note.Type == e.Note.Type && string(compact(before.Note.Content)) == string(e.Note.Content)
		}
		if !same {
			return Message{}, ErrKeyReused
		}
		return s.messageAt(ctx, id, seq)
	}
	return Message{}, ErrKeyReused
}

// messageAt reads one message.
func (s *Service) messageAt(ctx context.Context, id tasks.ID, seq int) (Message, error) {
	state, err := s.state(ctx, id)
	if err != nil {
		return Message{}, err
	}
	j := journal{store: s.Store, id: id}
	tell := telling{id, state, j.read(ctx)}
	e := tell.journal(seq)
	if j.err != nil {
		return Message{}, j.err
	}
	m, _, err := tell.chosen(e, nil)
	if err == nil {
		err = j.err
	}
	return m, err
}

// Answer hands in the answer of a task that agents from outside work on.
func (s *Service) Answer(ctx context.Context, p Principal, id tasks.ID, text string) (Task, error) {
	if err := p.Allowed(OpAnswer); err != nil {
		return Task{}, err
	}
	text = tasks.Clean(text)
	switch {
	case text == "":
		return Task{}, &InvalidError{"text", "is empty"}
	case len(text) > tasks.MaxGoal:
		return Task{}, &InvalidError{"text", fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), tasks.MaxGoal)}
	}
	t, err := s.may(ctx, p, OpAnswer, id)
	if err != nil {
		return Task{}, err
	}
	if !t.row.External {
		return Task{}, fmt.Errorf("%w: legwork itself answers it (only a context that was started with run: false takes an answer)", ErrConflict)
	}
	err = tasks.ChangeTask(ctx, s.Inbox, id, func(state planner.State) ([]planner.Event, error) {
		switch {
		case state.Settled():
			return nil, s.answeredBy(ctx, p, id, state, text)
		case state.Review > 0 && p.Role == RoleAgent:
			return nil, fmt.Errorf("%w: a person reviews it; hand the answer in when they have decided", ErrConflict)
		}
		return []planner.Event{{Type: planner.Answered, By: p.Key(), Text: text}}, nil
	})
	return s.changed(ctx, id, err)
}

// answeredBy is nil when the answer of a task that is over is this one: handed in
// again, it is the same.
func (s *Service) answeredBy(ctx context.Context, p Principal, id tasks.ID, state planner.State, text string) error {
	if state.Answer > 0 {
		e, err := s.Store.Event(ctx, id, state.Answer)
		if err != nil {
			return told(id, err)
		}
		if e.Type == planner.Answered && e.By == p.Key() && e.Text == text {
			return nil
		}
	}
	return fmt.Errorf("%w: it is over", ErrConflict)
}

// changed reads a task after it was changed.
func (s *Service) changed(ctx context.Context, id tasks.ID, err error) (Task, error) {
	if errors.Is(err, tasks.ErrRefused) {
		return Task{}, ErrConflict
	}
	if err != nil {
		return Task{}, gone(err)
	}
	return s.task(ctx, id)
}

// Cancel stops a task; what was found is told by the answer. One that is being
// stopped goes on to its end.
func (s *Service) Cancel(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	if _, err := s.may(ctx, p, OpCancel, id); err != nil {
		return Task{}, err
	}
	err := tasks.ChangeTask(ctx, s.Inbox, id, func(state planner.State) ([]planner.Event, error) {
		switch {
		case state.Why == planner.WhyStopped:
			return nil, nil
		case state.Settled():
			return nil, fmt.Errorf("%w: it is over", ErrConflict)
		}
		return []planner.Event{{Type: planner.Stopped, By: p.Key()}}, nil
	})
	return s.changed(ctx, id, err)
}

// Retry starts a task anew that is over: in its chat where it was asked in one,
// otherwise as a task of the principal's own. again is as with Start.
func (s *Service) Retry(ctx context.Context, p Principal, id tasks.ID, key string) (t Task, again bool, err error) {
	seen, err := s.may(ctx, p, OpRetry, id)
	if err != nil {
		return Task{}, false, err
	}
	state, err := s.state(ctx, id)
	if err != nil {
		return Task{}, false, err
	}
	if !state.Settled() {
		return Task{}, false, fmt.Errorf("%w: it is not over yet", ErrConflict)
	}
	before, err := s.opening(ctx, id)
	if err != nil {
		return Task{}, false, err
	}
	o := tasks.Order{From: p.person(), Goal: before.Goal, Language: before.Language, Notify: s.still(p, before.Notify), External: before.External, Request: hashOf("retry", id)}
	if o.Key, err = p.key(key); err != nil {
		return Task{}, false, err
	}
	if o.Only = before.Only; o.Only == nil {
		o.Only = p.Groups
	} else if p.Groups != nil {
		o.Only = slices.DeleteFunc(slices.Clone(o.Only), func(g string) bool { return !slices.Contains(p.Groups, g) })
	}
	var receipt tasks.Receipt
	if seen.row.Chat.Platform == Platform {
		receipt, err = tasks.StartTask(ctx, s.Inbox, o)
	} else {
		receipt, err = tasks.StartAgain(ctx, s.Inbox, o, seen.row.Chat, before)
	}
	if errors.Is(err, tasks.ErrRefused) {
		return Task{}, false, fmt.Errorf("%w: its chat is not connected", ErrConflict)
	}
	return s.started(ctx, o, receipt, err)
}
