package bolt

import (
	"bytes"
	"testing"
	"time"

	"legwork/bot"
	"legwork/store/rules"
	"legwork/tasks"
)

// FuzzRow: no stored row ends the process, and what is read is what was written.
func FuzzRow(f *testing.F) {
	at := time.Date(2026, 11, 21, 1, 2, 3, 4, time.UTC)
	for _, l := range []rules.Listing{
		{},
		{Asked: 7, Webhook: "ops", Row: tasks.Row{
			Chat: bot.Chat{Platform: "slack", ID: "C1", Thread: "7", Private: true}, From: bot.Person{Platform: "slack", ID: "U1", Name: "Ann"},
			Goal: "größe", Status: "waiting", Round: 3, Opened: at, Changed: at.Add(time.Hour), Waits: true, Since: at, External: true,
		}},
	} {
		f.Add(rowBody(l))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		l, err := rowOf("t", body)
		g, ok := readRowHead(body)
		if err != nil {
			return
		}
		if !ok || string(g.status) != l.Status || string(g.platform) != l.Chat.Platform || string(g.chat) != l.Chat.ID || g.waiting != l.Waits {
			t.Errorf("a glimpse of %+v is %q, %q, %q, %v", l, g.status, g.platform, g.chat, g.waiting)
		}
		if again, err := rowOf("t", rowBody(l)); err != nil || again != l {
			t.Errorf("read again: got %+v, %v, want %+v", again, err, l)
		}
	})
}

// FuzzFeed: no record of the feed ends the process.
func FuzzFeed(f *testing.F) {
	f.Add([]byte{1, 1, 't', 1})
	f.Add([]byte{0})
	f.Add([]byte{255, 255, 3})
	key := number(7)
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := readFeedRecord(key, seal(key, body))
		for i, e := range list {
			if err == nil && (e.Cursor != uint64(7+i) || !bytes.Contains(body, []byte(e.Task))) {
				t.Errorf("entry %d of %q: %+v", i, body, e)
			}
		}
	})
}
