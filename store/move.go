package store

import (
	"context"

	"legwork/bot"
)

// Move implements tasks.Store. When both conversations have a setting, the other one
// keeps its own; when both have a cut, the later one counts.
func (c Conversations) Move(ctx context.Context, from string, to bot.Chat) error {
	if from == "" || from == to.Key() {
		return nil
	}
	if err := checkConversation(to); err != nil {
		return err
	}
	return c.update(ctx, "moving conversation", func(x *txn) error {
		return x.savepoint(func() error {
			for _, step := range []func() error{
				func() error { return lanes{x}.move(from, to) },
				func() error { return turns{x}.moveSummary(from, to.Key()) },
				func() error { return turns{x}.move(from, to.Key()) },
				func() error { return turns{x}.moveCut(from, to.Key()) },
				func() error { return x.moveSettings(from, to.Key()) },
				func() error { return timetable{x}.move(from, to) },
				func() error { return ledger{x}.moveChat(from, to) },
			} {
				if err := step(); err != nil {
					return err
				}
			}
			if moved, ok := x.Tx.(*Overlay); ok && !moved.Empty() {
				x.step("moved")
			}
			return nil
		})
	})
}

// move gives the turns of a conversation to another one. Orders are given over all
// conversations, so the turns of both stay sorted by time.
func (x turns) move(from, to string) error {
	for after := uint64(0); ; {
		rows, err := x.next(from, after)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			break
		}
		if after == 0 {
			if err := x.alter(to); err != nil {
				return err
			}
		}
		after = rows[0].Order
		if err := x.drop(from, after); err != nil {
			return err
		}
		for _, r := range rows {
			if err := x.put(to, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// moveCut gives the cut of a conversation to another one.
func (x turns) moveCut(from, to string) error {
	old, err := x.cut(from)
	if err != nil || old == 0 {
		return err
	}
	own, err := x.cut(to)
	if err != nil {
		return err
	}
	if err := cuts.drop(x, from); err != nil {
		return err
	}
	return cuts.put(x, to, max(old, own))
}

// moveSettings gives the settings of an owner to another one.
func (x *txn) moveSettings(from, to string) error {
	old, err := x.settingsOf(from)
	if err != nil {
		return err
	}
	own, err := x.settingsOf(to)
	if err != nil {
		return err
	}
	for name, value := range old {
		if err := settings.drop(x, name); err != nil {
			return err
		}
		name.owner = to
		if own[name] != "" {
			continue
		}
		if err := settings.put(x, name, value); err != nil {
			return err
		}
	}
	return nil
}
