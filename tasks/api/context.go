package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/planner"
	"legwork/tasks"
)

// ContextQuery chooses messages.
type ContextQuery struct {
	After int      // only messages with a higher seq
	Types []string // none: all
	Limit int      // 1 to 1000; 0: 200
	Bytes int      // of content, where a page ends; 0: the most, 512 KiB
}

// The bounds of a page of messages; it ends when it has so many bytes of content, or
// so many messages were looked at.
const (
	maxMessages   = 1000
	usualMessages = 200
	maxPage       = 512 << 10
)

// Context reads messages and the shared state.
func (s *Service) Context(ctx context.Context, p Principal, id tasks.ID, q ContextQuery) (Context, error) {
	limit, err := within(q.Limit, usualMessages, maxMessages)
	if err == nil {
		err = known(q.Types)
	}
	if err != nil {
		return Context{}, err
	}
	if q.After < 0 {
		return Context{}, &InvalidError{"after", "is less than 0"}
	}
	if _, err := s.may(ctx, p, OpRead, id); err != nil {
		return Context{}, err
	}
	state, err := s.state(ctx, id)
	if err != nil {
		return Context{}, err
	}
	j := journal{store: s.Store, id: id}
	tell := telling{id, state, j.read(ctx)}
	c := Context{TaskID: id, Created: Time{state.Opened}, Messages: []Message{}, Version: state.Version, Shared: tell.shared()}
	bytes, most := 0, cmp.Or(min(q.Bytes, maxPage), maxPage)
	err = s.each(ctx, id, q.After, state.Seq, func(e planner.Event) error {
		if before := e.Seq - 1; len(c.Messages) == limit || bytes > most || before-q.After >= maxMessages {
			c.Next = &before
			return errEnough
		}
		m, ok, err := tell.chosen(e, q.Types)
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

// known is an *InvalidError when one of the types is none.
func known(types []string) error {
	for _, kind := range types {
		if !slices.Contains(Types(), kind) {
			return &InvalidError{"type", fmt.Sprintf("%q is none; there are %s", kind, strings.Join(Types(), ", "))}
		}
	}
	return nil
}

// wants reports that a type is one of those that were asked for, if any were.
func wants(types []string, kind string) bool {
	return len(types) == 0 || slices.Contains(types, kind)
}

// chosen is the message of an event; false when it is of none of the types.
func (t telling) chosen(e planner.Event, types []string) (Message, bool, error) {
	m, content := t.message(e)
	if !wants(types, m.Type) {
		return m, false, nil
	}
	var err error
	m.Content, m.Bytes, err = fitted(content)
	return m, true, err
}

// errEnough ends each without an error.
var errEnough = errors.New("enough")

// each calls do for the events of a task with a seq above after and up to last.
// It reads them one by one: a page of a long journal costs what it shows, and
// large results are in memory one at a time.
func (s *Service) each(ctx context.Context, id tasks.ID, after, last int, do func(planner.Event) error) error {
	for seq := after; seq < last; {
		seq++
		e, err := s.Store.Event(ctx, id, seq)
		if err != nil {
			return told(id, err)
		}
		switch err := do(e); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		}
	}
	return nil
}

// The bounds of a part of a content.
const (
	maxPart   = 1 << 20
	usualPart = 64 << 10
)

// Content is a part of the whole content of one message, as JSON text: at most
// limit bytes (0: 64 KiB) from offset on, cut between characters; next is the
// offset of the next part, 0 at the end, bytes the length of it all.
func (s *Service) Content(ctx context.Context, p Principal, id tasks.ID, seq, offset, limit int) (part string, next, bytes int, err error) {
	if limit, err = within(limit, usualPart, maxPart); err != nil {
		return "", 0, 0, err
	}
	if _, err := s.may(ctx, p, OpRead, id); err != nil {
		return "", 0, 0, err
	}
	state, err := s.state(ctx, id)
	if err != nil {
		return "", 0, 0, err
	}
	if seq < 1 || seq > state.Seq {
		return "", 0, 0, missingError(fmt.Sprintf("the task has no message %d", seq))
	}
	j := journal{store: s.Store, id: id}
	tell := telling{id, state, j.read(ctx)}
	_, content := tell.message(tell.journal(seq))
	if j.err != nil {
		return "", 0, 0, j.err
	}
	whole, err := encoded(content)
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

// boundary is the beginning of the character that is at an offset.
func boundary(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
