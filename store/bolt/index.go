package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/rules"
	"legwork/tasks"
)

// What the index keeps in the meta bucket.
const (
	metaCounts   = "counts"   // tasks of each status
	metaAudited  = "audited"  // number of the audit log that was given last
	metaUnlisted = "unlisted" // tasks before it have no rows yet
)

// groupWaits stands in place of a status for tasks that wait for a person.
const groupWaits = "?"

// listedRow is the stored form of a rules.Listing.
type listedRow struct {
	Chat     bot.Chat   `json:"c"`
	From     bot.Person `json:"f"`
	Goal     string     `json:"g,omitempty"`
	Status   string     `json:"s"`
	Round    int        `json:"r,omitempty"`
	Opened   time.Time  `json:"o"`
	Changed  time.Time  `json:"t"`
	Waits    bool       `json:"w,omitempty"`
	Since    time.Time  `json:"i,omitzero"`
	External bool       `json:"e,omitempty"`
	Asked    int        `json:"a,omitempty"`
	Webhook  string     `json:"h,omitempty"`
}

func storedRow(l rules.Listing) listedRow {
	r := l.Row
	return listedRow{r.Chat, r.From, r.Goal, r.Status, r.Round, r.Opened, r.Changed, r.Waits, r.Since, r.External, l.Asked, l.Webhook}
}

// listing is what storedRow was made of.
func (r listedRow) listing(id tasks.ID) rules.Listing {
	return rules.Listing{Asked: r.Asked, Webhook: r.Webhook, Row: tasks.Row{
		Task: id, Chat: r.Chat, From: r.From, Goal: r.Goal, Status: r.Status, Round: r.Round,
		Opened: r.Opened, Changed: r.Changed, Waits: r.Waits, Since: r.Since, External: r.External,
	}}
}

// group begins the keys of the tasks of a room or a platform that have a status,
// or of all of them when it is empty; the rest of a key is a task's id.
func group(kind byte, name, status string) []byte {
	key := append([]byte{kind}, owned(name)...)
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

// entries are the keys under which a row is found.
func entries(l *rules.Listing) (keys [][]byte) {
	if l == nil {
		return nil
	}
	statuses := []string{l.Status}
	if l.Waits {
		statuses = append(statuses, groupWaits)
	}
	for _, status := range statuses {
		for _, g := range [][]byte{group(ofRoom, l.Chat.Room(), status), group(ofPlatform, l.Chat.Platform, status)} {
			keys = append(keys, append(g, l.Task...))
		}
	}
	return keys
}

// putIndex writes what changes of the index.
func putIndex(b base, c *rules.Changes) error {
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
	if at := c.Index.Unlisted; at != nil {
		write := func() error { return putJSON(b.tx, bucketMeta, []byte(metaUnlisted), at) }
		if *at == "" {
			write = func() error { return b.bucket(bucketMeta).Delete([]byte(metaUnlisted)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	return errors.Join(putFeed(b, c), putAudit(b, c), putDeliveries(b, c))
}

func putListing(b base, id tasks.ID, r rules.Relisting) error {
	before, after := entries(r.Before), entries(r.After)
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
		if r.Again || !has(before, key) {
			if err := listed.Put(key, seal(key, nil)); err != nil {
				return err
			}
		}
	}
	if r.After == nil {
		return b.bucket(bucketRows).Delete([]byte(id))
	}
	return putJSON(b.tx, bucketRows, []byte(id), storedRow(*r.After))
}

// Listing implements rules.Base.
func (b base) Listing(id tasks.ID) (rules.Listing, bool, error) {
	var r listedRow
	if id == "" {
		return rules.Listing{}, false, nil
	}
	found, err := b.row(bucketRows, []byte(id), &r)
	return r.listing(id), found, err
}

// Counts implements rules.Base. When they are damaged, the tasks are counted.
func (b base) Counts() (map[string]int, error) {
	counts := map[string]int{}
	_, err := b.row(bucketMeta, []byte(metaCounts), &counts)
	if errors.Is(err, tasks.ErrDamaged) {
		b.log.Error("counting the tasks anew", "error", err)
		return b.count()
	}
	return counts, err
}

func (b base) count() (map[string]int, error) {
	counts := map[string]int{}
	err := guard(func() error {
		c := b.bucket(bucketListed).Cursor()
		prefix := []byte{ofPlatform}
		for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
			if status := statusOf(k); status != groupWaits {
				counts[status]++
			}
		}
		return nil
	})
	return counts, err
}

// statusOf is the status in a key of the index.
func statusOf(key []byte) string {
	at := 3 + len(conversationOf(key[1:]))
	if at >= len(key) {
		return ""
	}
	return string(key[at+1 : min(at+1+int(key[at]), len(key))])
}

// Journal implements rules.Base.
func (b base) Journal(id tasks.ID) ([]planner.Event, error) { return b.events(id, 0) }

// Event implements rules.Base.
func (b base) Event(id tasks.ID, seq int) (e planner.Event, err error) {
	err = guard(func() (err error) {
		key := journalKey(id, seq)
		e, err = event(key, b.bucket(bucketJournal).Get(key))
		return err
	})
	return e, err
}

// number is a key that is one.
func number(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }
