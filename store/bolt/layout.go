package bolt

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// format is the version of the layout below, and oldest the first version that can
// be read: opening an older file upgrades it. The version grows when earlier
// versions of legwork would misread files of this one. Version 3 has other names of
// events and settings, so that no earlier file can be read. A new bucket does not
// need a new version: opening a file without it creates the bucket and notes its
// name under "added", and from then on it must exist.
const (
	format = 3
	oldest = 3
)

// The buckets. Every value is sealed: CRC-32C of key and body, then the body.
const (
	bucketMeta     = "meta"     // "format": number; "order": the order number given last; "added": names of added buckets; see index.go
	bucketJournal  = "journal"  // task id, seq -> planner.Event as JSON
	bucketTasks    = "tasks"    // task id -> rules.Task as JSON
	bucketLive     = "live"     // conversation, order -> liveRow as JSON: the conversation's lane
	bucketSeen     = "seen"     // dedupe key -> rules.SeenDelivery as JSON
	bucketExpiry   = "expiry"   // time, dedupe key -> nothing: the order in which seen rows expire
	bucketHistory  = "history"  // conversation, order, goal or answer -> rules.HistoryRow, binary
	bucketCuts     = "cuts"     // conversation -> order
	bucketSettings = "settings" // owner, name -> text
)

// Buckets that the first version did not have.
const (
	bucketAccounts  = "accounts"  // task id -> rules.Account as JSON, until it is over
	bucketSums      = "sums"      // day, kind, person or chat -> rules.Total as JSON
	bucketSpent     = "spent"     // day, person, chat, model -> calls and usage, binary
	bucketSchedules = "schedules" // id -> tasks.Schedule as JSON
	bucketDue       = "due"       // time, id of a schedule -> nothing: the due-table
	bucketSummaries = "summaries" // conversation -> tasks.Summary as JSON

	bucketOpen     = "open"     // task id -> rules.Listing, binary, until the task's status is final
	bucketRows     = "rows"     // task id -> rules.Listing, binary, from then on
	bucketListed   = "listed"   // room or platform, final status, task id -> nothing: see groupKey
	bucketFeed     = "feed"     // cursor of the first -> entries of the feed, binary
	bucketTail     = "tail"     // the same: the last record of the feed, while it grows
	bucketAudit    = "audit"    // number -> tasks.AuditEntry as JSON
	bucketOutgoing = "outgoing" // id -> tasks.Delivery as JSON
	bucketOutbox   = "outbox"   // time, id of a delivery -> when it is due, webhook
)

// firstBuckets are the buckets that every file has.
func firstBuckets() []string {
	return []string{
		bucketMeta, bucketJournal, bucketTasks, bucketLive, bucketSeen,
		bucketExpiry, bucketHistory, bucketCuts, bucketSettings,
	}
}

// addedBuckets are the buckets that files of earlier versions do not have.
func addedBuckets() []string {
	return []string{
		bucketAccounts, bucketSums, bucketSpent, bucketSchedules, bucketDue, bucketSummaries,
		bucketOpen, bucketRows, bucketListed, bucketFeed, bucketTail, bucketAudit, bucketOutgoing, bucketOutbox,
	}
}

func buckets() []string { return append(firstBuckets(), addedBuckets()...) }

// liveRow is one entry of a conversation's lane: a task that has not ended.
type liveRow struct {
	rules.Task
	tasks.LaneEntry
}

// seal returns the stored value of a body.
func seal(key, body []byte) []byte {
	value := make([]byte, 4, 4+len(body))
	value = append(value, body...)
	binary.BigEndian.PutUint32(value, checksum(key, body))
	return value
}

// unseal returns the body of a stored value, which it shares, or ErrDamaged.
func unseal(key, value []byte) ([]byte, error) {
	if len(value) < 4 || binary.BigEndian.Uint32(value) != checksum(key, value[4:]) {
		return nil, fmt.Errorf("%w: checksum", tasks.ErrDamaged)
	}
	return value[4:], nil
}

func checksum(key, body []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, body)
}

// sealJSON seals v as JSON.
func sealJSON(key []byte, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return seal(key, body), nil
}

// unsealJSON reads what sealJSON wrote.
func unsealJSON(key, value []byte, v any) error {
	body, err := unseal(key, value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", tasks.ErrDamaged, err)
	}
	return nil
}

func journalKey(id tasks.ID, seq int) []byte {
	return binary.BigEndian.AppendUint64([]byte(id), uint64(seq))
}

// namePrefix is the beginning of a key: a name of any length, with no name the
// beginning of another.
func namePrefix(name string) []byte {
	return append(binary.BigEndian.AppendUint16(make([]byte, 0, len(name)+16), uint16(len(name))), name...)
}

func liveKey(conversation string, order uint64) []byte {
	return binary.BigEndian.AppendUint64(namePrefix(conversation), order)
}

func historyKey(conversation string, order uint64, answer bool) []byte {
	key := liveKey(conversation, order)
	if answer {
		return append(key, 1)
	}
	return append(key, 0)
}

func settingKey(owner, name string) []byte { return append(namePrefix(owner), name...) }

// seenKey is the stored form of a dedupe key. Keys that are too long are hashed.
// So are keys of programs, which may contain anything that a program chose, and
// which stay for a while after everything else about their task is deleted.
func seenKey(key string) []byte {
	if len(key) > rules.MaxName || strings.HasPrefix(key, tasks.PlatformAPI+":") {
		sum := sha256.Sum256([]byte(key))
		return append([]byte("sha256:"), sum[:]...)
	}
	return []byte(key)
}

func expiryKey(at time.Time, seen []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), seen...)
}

// The flags of a row of the history.
const (
	rowFailed  = 1 << iota
	rowTainted // of an answer
	rowFrom    // the person who asked comes before the text
)

// historyValue is the sealed form of a row: flags, time, task, who asked where
// that is told, text.
func historyValue(key []byte, r rules.HistoryRow) []byte {
	body := make([]byte, 0, 12+len(r.Task)+len(r.From)+len(r.Text))
	flags := byte(0)
	if r.Failed {
		flags |= rowFailed
	}
	if r.Tainted {
		flags |= rowTainted
	}
	tells := r.From != "" && len(r.From) <= math.MaxUint8
	if tells {
		flags |= rowFrom
	}
	body = append(body, flags, byte(len(r.Task)))
	body = binary.BigEndian.AppendUint64(body, uint64(r.At.UnixNano()))
	body = append(body, r.Task...)
	if tells {
		body = append(append(body, byte(len(r.From))), r.From...)
	}
	return seal(key, append(body, r.Text...))
}

// historyRow reads what historyValue wrote; key must be a whole key of the
// history bucket.
func historyRow(key, value []byte) (rules.HistoryRow, error) {
	var r rules.HistoryRow
	if len(key) < 11 {
		return r, fmt.Errorf("%w: history key", tasks.ErrDamaged)
	}
	end := len(key) - 1
	r.Order, r.Answer = binary.BigEndian.Uint64(key[end-8:end]), key[end] == 1
	body, err := unseal(key, value)
	if err != nil {
		return r, err
	}
	if len(body) < 10 || len(body) < 10+int(body[1]) {
		return r, fmt.Errorf("%w: history row", tasks.ErrDamaged)
	}
	text := 10 + int(body[1])
	r.Failed, r.Tainted = body[0]&rowFailed != 0, body[0]&rowTainted != 0
	r.At = time.Unix(0, int64(binary.BigEndian.Uint64(body[2:10]))).UTC()
	r.Task = tasks.ID(body[10:text])
	if body[0]&rowFrom != 0 {
		if len(body) <= text || len(body) < text+1+int(body[text]) {
			return r, fmt.Errorf("%w: history row", tasks.ErrDamaged)
		}
		from := text + 1
		text = from + int(body[text])
		r.From = string(body[from:text])
	}
	r.Text = string(body[text:])
	return r, nil
}

// isNew reports whether nothing was ever committed to the file: bbolt gives a new
// one the transaction ids 0 and 1.
func isNew(tx *bbolt.Tx) bool { return tx.ID() <= 1 }

// checkLength checks that the file is as long as its header says. Otherwise bbolt
// would fault on the missing part only when it reads it.
func checkLength(db *bbolt.DB) error {
	return db.View(func(tx *bbolt.Tx) error {
		info, err := os.Stat(db.Path())
		if err != nil {
			return err
		}
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: the file has %d bytes of %d", tasks.ErrDamaged, info.Size(), tx.Size())
		}
		return nil
	})
}

// describe names a record in a message.
func describe(bucket string, key []byte) string {
	if bucket == bucketJournal && len(key) > 8 {
		at := len(key) - 8
		return fmt.Sprintf("task %s, event %d", key[:at], binary.BigEndian.Uint64(key[at:]))
	}
	if len(key) > 80 {
		key = key[:80]
	}
	return fmt.Sprintf("%s %q", bucket, key)
}

// prepare creates the buckets of a new file, and those that an earlier version
// lacks. It refuses a file of another layout, and one that lost a bucket.
func prepare(db *bbolt.DB) error {
	var create []string
	found := 0
	err := db.View(func(tx *bbolt.Tx) (err error) {
		create, found, err = missingBuckets(tx)
		return err
	})
	if err != nil || len(create) == 0 && found == format {
		return err
	}
	return db.Update(func(tx *bbolt.Tx) error {
		for _, name := range create {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		if found > 0 && slices.Contains(create, bucketRows) {
			if err := markUnindexed(tx); err != nil {
				return err
			}
		}
		if err := putJSON(tx, bucketMeta, []byte("added"), addedBuckets()); err != nil {
			return err
		}
		return putJSON(tx, bucketMeta, []byte("format"), format)
	})
}

// missingBuckets lists the buckets to create in a file, and returns its format.
func missingBuckets(tx *bbolt.Tx) (create []string, found int, err error) {
	meta := tx.Bucket([]byte(bucketMeta))
	if meta == nil && isNew(tx) {
		return buckets(), 0, nil
	}
	if meta == nil {
		return nil, 0, checkMissing(tx, bucketMeta)
	}
	key := []byte("format")
	if err := unsealJSON(key, meta.Get(key), &found); err != nil {
		return nil, 0, fmt.Errorf("reading format: %w", err)
	}
	if found > format {
		return nil, found, fmt.Errorf("the file has format %d, this version of legwork reads %d: use the version that wrote it, or a newer one", found, format)
	}
	if found < oldest {
		return nil, found, fmt.Errorf("the file has format %d, which this version of legwork cannot read: use the version that wrote it, or an empty data_dir", found)
	}
	for _, name := range buckets() {
		if tx.Bucket([]byte(name)) != nil {
			continue
		}
		if err := checkMissing(tx, name); err != nil {
			return nil, found, err
		}
		create = append(create, name)
	}
	return create, found, nil
}

// checkMissing decides what a missing bucket means: damage, or nothing, because an
// earlier version wrote the file.
func checkMissing(tx *bbolt.Tx, name string) error {
	if meta := tx.Bucket([]byte(bucketMeta)); meta != nil && !slices.Contains(firstBuckets(), name) {
		key := []byte("added")
		value := meta.Get(key)
		if value == nil {
			return nil
		}
		var had []string
		if err := unsealJSON(key, value, &had); err == nil && !slices.Contains(had, name) {
			return nil
		}
	}
	return fmt.Errorf("%w: bucket %q is missing", tasks.ErrDamaged, name)
}
