package telegram

import (
	"encoding/json"
	"net/http"
	"time"

	"legwork/bot"
)

// WithTransport lets a test answer requests without a socket.
func (o Options) WithTransport(t http.RoundTripper) Options {
	o.transport = t
	return o
}

// CutStallsAfter shortens how long a download may bring nothing.
func (t *Telegram) CutStallsAfter(d time.Duration) { t.api.stall = d }

// Queued is how many deliveries of the webhook in a chat are not done.
func (t *Telegram) Queued(chat string) int { return t.receiver.lanes.Len(chat) }

// Read reads the only update of a poll that began at offset.
func Read(raw []byte, offset int64) (m bot.Message, ok bool, next int64) {
	if !json.Valid(raw) {
		return bot.Message{}, false, offset
	}
	b := readBatch([]json.RawMessage{raw}, offset)
	if len(b.updates) == 0 {
		return bot.Message{}, false, b.next
	}
	r := reader{albums: newAlbums(), account: "1000", me: user{ID: 1000, Username: "legwork_bot"}, knows: func(string) bool { return true }, now: time.Now}
	m, ok = r.read(b.updates[0])
	return m, ok, b.next
}
