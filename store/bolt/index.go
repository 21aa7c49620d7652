package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// Keys of the index in the meta bucket.
const (
	metaCounts    = "counts"   // tasks of each status
	metaAuditEnd  = "audited"  // number of the audit log that was given last
	metaUnindexed = "unlisted" // tasks before it have no rows yet
)

// groupKey is the beginning of the keys of a room's or platform's tasks that ended
// with a status, or with any status when it is empty. The rest of a key is a
// task's id.
func groupKey(kind byte, name, status string) []byte {
	key := append([]byte{kind}, namePrefix(name)...)
	if status == "" {
		return key
	}
	return append(append(key, byte(len(status))), status...)
}

// The kinds of a group.
const (
	ofRoom     = 'r'
	ofPlatform = 'p'
)

// indexKeys are the keys under which a row is found. There are few tasks that have
// not ended: queries look through all of them.
func indexKeys(l *rules.Listing) [][]byte {
	if l == nil || !isFinal(l.Status) {
		return nil
	}
	return [][]byte{
		append(groupKey(ofRoom, l.Chat.Room(), l.Status), l.Task...),
		append(groupKey(ofPlatform, l.Chat.Platform, l.Status), l.Task...),
	}
}

// rowBucket is the bucket that holds a row.
func rowBucket(l *rules.Listing) string {
	if isFinal(l.Status) {
		return bucketRows
	}
	return bucketOpen
}

// putIndex writes the changes of the index.
func putIndex(b snapshot, c *rules.Changes) error {
	b.bucket(bucketRows).FillPercent = feedFill // most tasks end roughly in the order of their ids
	for id, r := range c.Index.Listings {
		if err := putListing(b, id, r); err != nil {
			return err
		}
	}
	if c.Index.Counts != nil {
		if err := putJSON(b.tx, bucketMeta, []byte(metaCounts), c.Index.Counts); err != nil {
			return err
		}
	}
	if at := c.Index.Unindexed; at != nil {
		write := func() error { return putJSON(b.tx, bucketMeta, []byte(metaUnindexed), at) }
		if *at == "" {
			write = func() error { return b.bucket(bucketMeta).Delete([]byte(metaUnindexed)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return errors.Join(putFeed(b, c), putAudit(b, c), putDeliveries(b, c))
}

func putListing(b snapshot, id tasks.ID, r rules.ListingChange) error {
	before, after := indexKeys(r.Before), indexKeys(r.After)
	listed := b.bucket(bucketListed)
	has := func(keys [][]byte, key []byte) bool {
		return slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, key) })
	}
	for _, key := range before {
		if !has(after, key) {
			if err := listed.Delete(key); err != nil {
				return err
			}
		}
	}
	for _, key := range after {
		if r.Rewrite || !has(before, key) {
			if err := listed.Put(key, seal(key, nil)); err != nil {
				return err
			}
		}
	}
	key := []byte(id)
	if r.Rewrite || r.Before != nil && (r.After == nil || rowBucket(r.Before) != rowBucket(r.After)) {
		if err := errors.Join(b.bucket(bucketRows).Delete(key), b.bucket(bucketOpen).Delete(key)); err != nil {
			return err
		}
	}
	if r.After == nil {
		return nil
	}
	return b.bucket(rowBucket(r.After)).Put(key, seal(key, rowBody(*r.After)))
}

// Listing implements rules.Snapshot.
func (b snapshot) Listing(id tasks.ID) (l rules.Listing, found bool, err error) {
	if id == "" {
		return l, false, nil
	}
	key := []byte(id)
	err = guard(func() error {
		for _, name := range []string{bucketOpen, bucketRows} {
			if value := b.bucket(name).Get(key); value != nil {
				found = true
				body, err := unseal(key, value)
				if err == nil {
					l, err = rowOf(id, body)
				}
				return err
			}
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("reading the row of task %s: %w", id, err)
	}
	return l, found, err
}

// Counts implements rules.Snapshot. When they are damaged, the tasks are counted.
func (b snapshot) Counts() (map[string]int, error) {
	counts := map[string]int{}
	_, err := b.row(bucketMeta, []byte(metaCounts), &counts)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("task counts damaged, counting again", "cause", err)
		return b.Recount()
	}
	return counts, err
}

// Recount implements rules.Snapshot.
func (b snapshot) Recount() (map[string]int, error) {
	counts := map[string]int{}
	err := guard(func() error {
		c := b.bucket(bucketListed).Cursor()
		prefix := []byte{ofPlatform}
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			counts[statusOf(k)]++
		}
		c = b.bucket(bucketOpen).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			if body, err := unseal(k, v); err == nil {
				if g, ok := readRowHead(body); ok {
					counts[string(g.status)]++
				}
			}
		}
		return nil
	})
	return counts, err
}

// Outcome implements rules.Snapshot.
func (b snapshot) Outcome(id tasks.ID, c bot.Chat) (status string, err error) {
	err = guard(func() error {
		for _, outcome := range []planner.Outcome{planner.Done, planner.Failed, planner.Halted} {
			if b.bucket(bucketListed).Get(append(groupKey(ofPlatform, c.Platform, string(outcome)), id...)) != nil {
				status = string(outcome)
			}
		}
		return nil
	})
	return status, err
}

// statusOf is the status in a key of the index.
func statusOf(key []byte) string {
	at := 3 + len(conversationOf(key[1:]))
	if at >= len(key) {
		return ""
	}
	return string(key[at+1 : min(at+1+int(key[at]), len(key))])
}

// Journal implements rules.Snapshot.
func (b snapshot) Journal(id tasks.ID) ([]planner.Event, error) { return b.events(id, 0) }

// Event implements rules.Snapshot.
func (b snapshot) Event(id tasks.ID, seq int) (e planner.Event, err error) {
	err = guard(func() (err error) {
		key := journalKey(id, seq)
		e, err = event(key, b.bucket(bucketJournal).Get(key))
		return err
	})
	return e, err
}

// number is the key of a number.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// The flags of a task's row.
const (
	rowWaits = 1 << iota
	rowExternal
	rowPrivate // its chat is
)

// isFinal reports whether a status is final.
func isFinal(status string) bool {
	switch planner.Outcome(status) {
	case planner.Done, planner.Failed, planner.Halted:
		return true
	}
	return false
}

// rowBody is the stored form of a task's row: flags, texts with their lengths, and
// numbers. The fields that queries match come first, see rowHead.
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

// rowHead is the part of a row that queries match.
type rowHead struct {
	status, platform, chat []byte
	waiting                bool
}

// readRowHead reads the beginning of a body that rowBody made.
func readRowHead(body []byte) (g rowHead, ok bool) {
	r := reader{rest: body}
	g.waiting = r.byte()&rowWaits != 0
	g.status, g.platform, g.chat = r.bytes(), r.bytes(), r.bytes()
	return g, !r.short
}

// matches reports whether a row may match a query.
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
	short bool // the body was too short
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
