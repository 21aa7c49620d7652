package memory

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"legwork/tools/builtin/caller"
)

// note is something remembered.
type note struct {
	Text  string    `json:"text"`
	About []string  `json:"about,omitempty"`
	Chat  string    `json:"chat"` // where it was told
	At    time.Time `json:"at"`

	scope string // ofPerson or ofChat
	id    uint64 // within the notes of its owner
}

// name is the id that models see: "p3" of a person, "c3" of a chat.
func (n note) name() string { return fmt.Sprintf("%c%d", n.scope[0], n.id) }

// line is a note as models read it.
func (n note) line() string {
	about := ""
	if len(n.About) > 0 {
		about = "about: " + cleanText(strings.Join(n.About, ", ")) + "; "
	}
	return fmt.Sprintf("[%s] %s (%s%s)", n.name(), strings.ReplaceAll(n.Text, "\n", "\n  "), about, n.At.Format(time.DateOnly))
}

// owner is whose note it is.
func owner(scope string, who caller.Caller) []byte {
	if scope == ofChat {
		return []byte(who.Chat)
	}
	return []byte(who.Person)
}

// noteTx is one transaction on the file: a bucket for each scope, in it one for
// each owner, in it a record for each note. Without a transaction it is empty.
type noteTx struct {
	tx      *bbolt.Tx
	damaged int // notes that could not be read
}

func (p *noteTx) bucket(scope string, who caller.Caller) *bbolt.Bucket {
	if p.tx == nil {
		return nil
	}
	if all := p.tx.Bucket([]byte(scope)); all != nil {
		return all.Bucket(owner(scope, who))
	}
	return nil
}

// notes are the notes of an owner that the caller may see here, oldest first. A
// note that a person told in one chat does not show in another chat, where other
// people may read it. In private, a person sees all own notes.
func (p *noteTx) notes(scope string, who caller.Caller) []note {
	var list []note
	b := p.bucket(scope, who)
	if b == nil {
		return nil
	}
	for c, k, v := cursor(b); k != nil; k, v = c.Next() {
		n, err := decode(k, v)
		if err != nil {
			p.damaged++
			continue
		}
		if n.scope = scope; n.Chat == who.Chat || scope == ofPerson && who.Private {
			list = append(list, n)
		}
	}
	return list
}

func cursor(b *bbolt.Bucket) (c *bbolt.Cursor, k, v []byte) {
	c = b.Cursor()
	k, v = c.First()
	return c, k, v
}

// count counts all notes of an owner, wherever they were told.
func (p *noteTx) count(scope string, who caller.Caller) int {
	if b := p.bucket(scope, who); b != nil {
		return countNotes(b)
	}
	return 0
}

func countNotes(b *bbolt.Bucket) (n int) {
	for c, k, _ := cursor(b); k != nil; k, _ = c.Next() {
		n++
	}
	return n
}

// add stores a new note and returns its id.
func (p *noteTx) add(n note, who caller.Caller) (uint64, error) {
	all, err := p.tx.CreateBucketIfNotExists([]byte(n.scope))
	if err != nil {
		return 0, err
	}
	b, err := all.CreateBucketIfNotExists(owner(n.scope, who))
	if err != nil {
		return 0, err
	}
	if n.id, err = b.NextSequence(); err != nil {
		return 0, err
	}
	return n.id, p.put(n, who)
}

func (p *noteTx) put(n note, who caller.Caller) error {
	k, v, err := encode(n)
	if err != nil {
		return err
	}
	return p.bucket(n.scope, who).Put(k, v)
}

func (p *noteTx) remove(n note, who caller.Caller) error {
	return p.bucket(n.scope, who).Delete(binary.BigEndian.AppendUint64(nil, n.id))
}

// erase deletes all notes that somebody owns and that were told in a chat.
func (p *noteTx) erase(who string) (n int, err error) {
	for _, scope := range []string{ofPerson, ofChat} {
		all := p.tx.Bucket([]byte(scope))
		if all == nil {
			continue
		}
		if b := all.Bucket([]byte(who)); b != nil {
			n += countNotes(b)
			if err := all.DeleteBucket([]byte(who)); err != nil && !errors.Is(err, bolterrors.ErrBucketNotFound) {
				return 0, err
			}
		}
		told, err := eraseChat(all, who)
		if err != nil {
			return 0, err
		}
		n += told
	}
	return n, nil
}

// eraseChat deletes what anybody told in a chat.
func eraseChat(all *bbolt.Bucket, chat string) (n int, err error) {
	err = all.ForEachBucket(func(person []byte) error {
		b := all.Bucket(person)
		var keys [][]byte
		for c, k, v := cursor(b); k != nil; k, v = c.Next() {
			if told, err := decode(k, v); err == nil && told.Chat == chat {
				keys = append(keys, bytes.Clone(k))
			}
		}
		for _, k := range keys {
			if err := b.Delete(k); err != nil {
				return err
			}
		}
		n += len(keys)
		return nil
	})
	return n, err
}

// A record is the id, and the note as JSON after a checksum of both.

func encode(n note) (k, v []byte, err error) {
	k = binary.BigEndian.AppendUint64(nil, n.id)
	body, err := json.Marshal(n)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a note: %w", err)
	}
	return k, append(binary.BigEndian.AppendUint32(nil, checksum(k, body)), body...), nil
}

func decode(k, v []byte) (note, error) {
	var n note
	if len(k) != 8 || len(v) < 4 || binary.BigEndian.Uint32(v) != checksum(k, v[4:]) {
		return n, errDamaged
	}
	n.id = binary.BigEndian.Uint64(k)
	if err := json.Unmarshal(v[4:], &n); err != nil {
		return n, fmt.Errorf("reading a note: %w", err)
	}
	return n, nil
}

func checksum(k, body []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(k), crc32.IEEETable, body)
}
