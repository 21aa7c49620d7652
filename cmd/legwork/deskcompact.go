package main

import (
	"context"
	"time"

	"legwork/store/bolt"
	"legwork/tools/builtin/memory"
)

// compacted tells what became of the files.
type compacted struct {
	Name   string        `json:"name"`
	Before int64         `json:"before"`
	After  int64         `json:"after"`
	Took   time.Duration `json:"took"`
	Waited time.Duration `json:"waited"`
}

// compactByHand is compact because somebody asked for it.
func (d desk) compactByHand(ctx context.Context, _ struct{}) ([]compacted, error) {
	list, err := d.compact(ctx)
	if err == nil {
		record(ctx, d.store, d.log, byHand("data.compact", "", ""))
	}
	return list, err
}

// compact takes the bytes of what was deleted out of the files.
func (d desk) compact(ctx context.Context) ([]compacted, error) {
	c, err := d.store.Compact(ctx)
	if err != nil {
		return nil, err
	}
	list := []compacted{{bolt.FileName, c.Before, c.After, c.Took, c.Waited}}
	before, err := memory.Size(d.dir)
	if err != nil || before == 0 {
		return list, err
	}
	start := time.Now()
	if err := memory.Compact(d.dir); err != nil {
		return list, err
	}
	after, err := memory.Size(d.dir)
	return append(list, compacted{memory.FileName, before, after, time.Since(start), 0}), err
}
