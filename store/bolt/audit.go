package bolt

import (
	"context"
	"encoding/binary"
	"errors"

	"go.etcd.io/bbolt"

	"legwork/store/rules"
	"legwork/tasks"
)

// Record implements tasks.Audit.
func (s *Store) Record(ctx context.Context, e tasks.AuditEntry) error {
	return s.change(ctx, "entering into the audit log", func(tx *rules.Tx) error { return tx.Record(e) })
}

// AuditLog implements tasks.Audit. A damaged entry is left out.
func (s *Store) AuditLog(ctx context.Context, before uint64, limit int) (list []tasks.AuditEntry, err error) {
	err = s.view(ctx, func(b snapshot) error {
		c := b.bucket(bucketAudit).Cursor()
		back := c.Prev
		if before == 0 {
			back = c.Last
		} else if k, _ := c.Seek(number(before)); k == nil {
			back = c.Last
		}
		for k, v := back(); k != nil && len(list) < limit; k, v = c.Prev() {
			if e, ok := b.auditEntry(k, v); ok {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, wrap("reading the audit log", err)
}

func (b snapshot) auditEntry(key, value []byte) (e tasks.AuditEntry, ok bool) {
	if err := unsealJSON(key, value, &e); err != nil {
		b.log.Error("audit entry skipped", "record", describe(bucketAudit, key), "cause", err)
		return e, false
	}
	return e, true
}

// AuditEntries implements rules.Snapshot.
func (b snapshot) AuditEntries(after uint64, n int) (list []tasks.AuditEntry, err error) {
	err = guard(func() error {
		c := b.bucket(bucketAudit).Cursor()
		for k, v := c.Seek(number(after + 1)); k != nil && len(list) < n; k, v = c.Next() {
			if e, ok := b.auditEntry(k, v); ok {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, err
}

// AuditEnd implements rules.Snapshot. Where the number is damaged, the log tells it.
func (b snapshot) AuditEnd() (last uint64, err error) {
	found, err := b.row(bucketMeta, []byte(metaAuditEnd), &last)
	if found && err == nil || err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return last, err
	}
	err = guard(func() error {
		last = lastNumber(b.bucket(bucketAudit))
		return nil
	})
	return last, err
}

// lastNumber returns the last key of a bucket whose keys are numbers.
func lastNumber(b *bbolt.Bucket) uint64 {
	k, _ := b.Cursor().Last()
	if len(k) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(k)
}

// putAudit writes new and changed entries of the audit log.
func putAudit(b snapshot, c *rules.Changes) error {
	log := b.bucket(bucketAudit)
	log.FillPercent = feedFill
	for _, e := range c.Index.Audit {
		if err := putJSON(b.tx, bucketAudit, number(e.Seq), e); err != nil {
			return err
		}
	}
	for seq, e := range c.Index.AuditChanges {
		write := func() error { return putJSON(b.tx, bucketAudit, number(seq), e) }
		if e == nil {
			write = func() error { return log.Delete(number(seq)) }
		}
		if err := write(); err != nil {
			return err
		}
	}
	if n := len(c.Index.Audit); n > 0 {
		return putJSON(b.tx, bucketMeta, []byte(metaAuditEnd), c.Index.Audit[n-1].Seq)
	}
	return nil
}
