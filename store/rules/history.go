package rules

import (
	"fmt"
	"slices"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/tasks"
)

// TurnOf returns a turn with its goal's row.
func TurnOf(r HistoryRow) tasks.Turn {
	return tasks.Turn{Task: r.Task, Order: r.Order, At: r.At, Goal: r.Text, From: r.From}
}

// WithAnswer returns the turn with its answer's row.
func WithAnswer(t tasks.Turn, r HistoryRow) tasks.Turn {
	t.Answer, t.Failed, t.Tainted = r.Text, r.Failed, r.Tainted
	return t
}

// TurnCollector collects turns from the newest to the oldest until their goals and
// answers together would exceed a number of bytes.
type TurnCollector struct {
	left  int
	turns []tasks.Turn
}

// NewTurnCollector returns a collector for at most maxBytes of text.
func NewTurnCollector(maxBytes int) *TurnCollector { return &TurnCollector{left: maxBytes} }

// Add takes the next older turn. It returns false when the turn does not fit,
// which ends the collection. It shortens the newest turn instead, so that one very
// long question does not hide the whole conversation.
func (b *TurnCollector) Add(t tasks.Turn) bool {
	if len(b.turns) == 0 && len(t.Goal)+len(t.Answer) > b.left {
		t.Goal, t.Answer = shorten(t.Goal, b.left/2), shorten(t.Answer, b.left/2)
	}
	b.left -= len(t.Goal) + len(t.Answer)
	if b.left < 0 {
		return false
	}
	b.turns = append(b.turns, t)
	return true
}

// shorten cuts a text to at most n bytes, between two characters.
func shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return clip.Marked(text, max(0, n-len(clip.Mark)))
}

// Turns returns the collected turns, oldest first.
func (b *TurnCollector) Turns() []tasks.Turn {
	slices.Reverse(b.turns)
	return b.turns
}

// Summary implements Snapshot.
func (s *Tx) Summary(conversation string) (tasks.Summary, error) {
	if v, ok := s.changes.Summaries[conversation]; ok {
		return v, nil
	}
	return s.Snapshot.Summary(conversation)
}

// Invalidated implements Snapshot.
func (s *Tx) Invalidated(conversation string) (uint64, error) {
	if v, ok := s.changes.Invalidated[conversation]; ok {
		return v, nil
	}
	return s.Snapshot.Invalidated(conversation)
}

// Summary is the summary of a conversation, unless the conversation was cut
// after it.
func Summary(b Snapshot, conversation string) (tasks.Summary, error) {
	v, err := b.Summary(conversation)
	if err != nil {
		return tasks.Summary{}, err
	}
	cut, err := b.Cut(conversation)
	if err != nil || cut >= v.Until {
		return tasks.Summary{}, err
	}
	return v, nil
}

// PutSummary stores a summary in place of the one that ended with the turn before.
func (s *Tx) PutSummary(conversation string, before uint64, v tasks.Summary) error {
	now, err := Summary(s, conversation)
	if err != nil {
		return err
	}
	cut, err := s.Cut(conversation)
	if err != nil {
		return err
	}
	altered, err := s.Invalidated(conversation)
	if err != nil {
		return err
	}
	if now.Until != before || v.Until <= max(before, cut, altered) {
		return fmt.Errorf("summary of %s up to turn %d, made after turn %d; there is one up to %d, and turns up to %d are no longer what they were: %w",
			conversation, v.Until, before, now.Until, max(cut, altered), tasks.ErrConflict)
	}
	rows, err := s.Turn(conversation, v.Until-1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Order != v.Until {
		return fmt.Errorf("summary of %s up to turn %d, which is not there: %w", conversation, v.Until, tasks.ErrConflict)
	}
	v.At = v.At.Round(0).UTC()
	put(&s.changes.Summaries, conversation, v)
	put(&s.changes.Operations, "summarised", true)
	return nil
}

// dropSummary deletes the summary of a conversation whose turns are being deleted.
// A summary of the turns as they are now is refused from then on; now is the order
// that was given last.
func (s *Tx) dropSummary(conversation string, now uint64) error {
	v, err := s.Summary(conversation)
	if err != nil {
		return err
	}
	if v.Until > 0 {
		put(&s.changes.Summaries, conversation, tasks.Summary{})
	}
	put(&s.changes.Invalidated, conversation, now)
	return nil
}

// moveSummary gives the summary of a conversation to another one. If both have a
// summary, it keeps one that leaves out no turn of the other conversation; without
// such a summary, prompts read the turns themselves.
func (s *Tx) moveSummary(from string, to bot.Chat) error {
	kept := tasks.Summary{}
	for _, c := range [][2]string{{to.Key(), from}, {from, to.Key()}} {
		v, err := Summary(s, c[0])
		if err != nil {
			return err
		}
		apart, err := s.startsAfter(c[1], v.Until)
		if err != nil {
			return err
		}
		if v.Until > 0 && apart {
			kept = v
		}
	}
	for conversation, v := range map[string]tasks.Summary{from: {}, to.Key(): kept} {
		old, err := s.Summary(conversation)
		if err != nil {
			return err
		}
		if old != v {
			put(&s.changes.Summaries, conversation, v)
		}
	}
	return nil
}

// startsAfter reports whether a conversation has no turn up to that order, except
// cut ones.
func (s *Tx) startsAfter(conversation string, order uint64) (bool, error) {
	cut, err := s.Cut(conversation)
	if err != nil {
		return false, err
	}
	rows, err := s.Turn(conversation, cut)
	return len(rows) == 0 || rows[0].Order > order, err
}
