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
	return c.update(ctx, "moving conversation", func(x *txn) {
		x.fail(x.savepoint(func() error {
			lanes{x}.move(from, to)
			turns{x}.moveSummary(from, to.Key())
			turns{x}.move(from, to.Key())
			turns{x}.moveCut(from, to.Key())
			x.moveSettings(from, to.Key())
			timetable{x}.move(from, to)
			if to.Thread == "" { // budgets are those of whole chats
				ledger{x}.moveChat(from, to.Key())
			}
			if moved, ok := x.Tx.(*Overlay); ok && !moved.Empty() {
				x.step("moved")
			}
			return nil
		}))
	})
}

// move gives the turns of a conversation to another one. Orders are given over all
// conversations, so the turns of both stay sorted by time.
func (x turns) move(from, to string) {
	rows := x.next(from, 0)
	if len(rows) > 0 {
		x.alter(to)
	}
	for ; len(rows) > 0; rows = x.next(from, rows[0].Order) {
		x.drop(from, rows[0].Order)
		for _, r := range rows {
			x.put(to, r)
		}
	}
}

// moveCut gives the cut of a conversation to another one.
func (x turns) moveCut(from, to string) {
	if old := x.cut(from); old > 0 {
		cuts.drop(x, from)
		cuts.put(x, to, max(old, x.cut(to)))
	}
}

// moveSettings gives the settings of an owner to another one.
func (x *txn) moveSettings(from, to string) {
	own := x.settingsOf(to)
	for name, value := range x.settingsOf(from) {
		settings.drop(x, name)
		name.owner = to
		if own[name] == "" {
			settings.put(x, name, value)
		}
	}
}
