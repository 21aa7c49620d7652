package bolt

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// The flags of a task's row.
const (
	rowWaits = 1 << iota
	rowExternal
	rowPrivate // its chat is
)

// isFinal reports that a status is one that does not change any more.
func isFinal(status string) bool {
	switch planner.Outcome(status) {
	case planner.Done, planner.Failed, planner.Halted:
		return true
	}
	return false
}

// rowBody is the stored form of a task's row: flags, texts each with its length,
// and numbers. What lists look for comes first, see glimpse.
func rowBody(l rules.Listing) []byte {
	flags := flag(rowWaits, l.Waits) | flag(rowExternal, l.External) | flag(rowPrivate, l.Chat.Private)
	body := append(make([]byte, 0, 160+len(l.Goal)), flags)
	for _, text := range []string{
		l.Status, l.Chat.Platform, l.Chat.ID, l.Chat.Thread, l.From.Platform, l.From.ID, l.From.Name, l.Webhook, l.Goal,
	} {
		body = append(binary.AppendUvarint(body, uint64(len(text))), text...)
	}
	body = binary.AppendUvarint(binary.AppendUvarint(body, uint64(l.Round)), uint64(l.Asked))
	for _, at := range []time.Time{l.Opened, l.Changed, l.Since} {
		body = binary.AppendUvarint(binary.AppendVarint(body, at.Unix()), uint64(at.Nanosecond()))
	}
	return body
}

func flag(bit byte, set bool) byte {
	if set {
		return bit
	}
	return 0
}

// rowOf reads what rowBody wrote.
func rowOf(id tasks.ID, body []byte) (rules.Listing, error) {
	r := reader{rest: body}
	flags := r.byte()
	l := rules.Listing{Row: tasks.Row{
		Task: id, Waits: flags&rowWaits != 0, External: flags&rowExternal != 0,
		Status: r.text(), Chat: bot.Chat{Platform: r.text(), ID: r.text(), Thread: r.text(), Private: flags&rowPrivate != 0},
		From: bot.Person{Platform: r.text(), ID: r.text(), Name: r.text()},
	}}
	l.Webhook, l.Goal = r.text(), r.text()
	l.Round, l.Asked = int(r.number()), int(r.number())
	l.Opened, l.Changed, l.Since = r.time(), r.time(), r.time()
	if r.short {
		return rules.Listing{}, fmt.Errorf("%w: row", tasks.ErrDamaged)
	}
	return l, nil
}

// rowHead is what lists look for in a row.
type rowHead struct {
	status, platform, chat []byte
	waiting                bool
}

// readRowHead reads the beginning of what rowBody wrote.
func readRowHead(body []byte) (g rowHead, ok bool) {
	r := reader{rest: body}
	g.waiting = r.byte()&rowWaits != 0
	g.status, g.platform, g.chat = r.bytes(), r.bytes(), r.bytes()
	return g, !r.short
}

// matches reports that a row may be what a query is about.
func (g rowHead) matches(q tasks.TaskQuery) bool {
	if q.Waits && !g.waiting {
		return false
	}
	if len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, func(s string) bool { return s == string(g.status) }) {
		return false
	}
	return q.Rooms == nil || slices.ContainsFunc(q.Rooms, g.inRoom)
}

func (g rowHead) inRoom(room string) bool {
	if platform, all := rules.PlatformOf(room); all {
		return platform == "" || platform == string(g.platform)
	}
	at := len(g.platform)
	return len(room) == at+1+len(g.chat) && room[:at] == string(g.platform) && room[at] == ':' && room[at+1:] == string(g.chat)
}

// reader reads the parts of a body, empty ones after its end.
type reader struct {
	rest  []byte
	short bool // there was less than was to be read
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.short = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.short, size, n = true, 0, 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) bytes() []byte {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.short = true
		return nil
	}
	part := r.rest[:n]
	r.rest = r.rest[n:]
	return part
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) time() time.Time {
	seconds, size := binary.Varint(r.rest)
	if size <= 0 {
		r.short = true
		return time.Time{}
	}
	r.rest = r.rest[size:]
	return time.Unix(seconds, int64(r.number()%uint64(time.Second))).UTC()
}
