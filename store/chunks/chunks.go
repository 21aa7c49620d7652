// Package chunks keeps the bytes of contents in tables of a database, for databases
// that have no folder beside them. A content is a row of chunks of 256 KiB, each under
// a checksum, so that no transaction and no reader holds more than one of them.
package chunks

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"legwork/files"
	"legwork/store"
	"legwork/tasks"
)

const (
	chunkBytes = 256 << 10
	atOnce     = 500 // chunks that one transaction deletes
)

// Contents implements store.Contents.
type Contents struct{ db store.DB }

// New returns the contents in a database.
func New(db store.DB) *Contents { return &Contents{db} }

// blob is a row of TableBlobs. Its key is the id of a content, or unfinished and Name.
type blob struct {
	Name   string `json:"name"` // random; the beginning of the keys of its chunks
	Chunks int    `json:"chunks"`
	Bytes  int64  `json:"bytes"`
}

// unfinished begins the keys of blobs without an id. It sorts before all ids.
const unfinished = "."

func (b blob) pending() []byte { return []byte(unfinished + b.Name) }

func (b blob) chunk(n int) []byte { return binary.BigEndian.AppendUint32([]byte(b.Name), uint32(n)) }

// put writes a row of TableBlobs.
func put(x store.Tx, key []byte, b blob) error {
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return x.Put(store.TableBlobs, key, store.Seal(key, body))
}

// get reads a row of TableBlobs.
func get(x store.Tx, key []byte) (b blob, found bool, err error) {
	value, err := x.Get(store.TableBlobs, key)
	if err != nil || value == nil {
		return b, false, err
	}
	body, err := store.Unseal(store.Record{Key: key, Value: value})
	if err == nil {
		err = json.Unmarshal(body, &b)
	}
	return b, err == nil, err
}

func (c *Contents) update(ctx context.Context, do func(store.Tx) error) error {
	return c.db.Update(ctx, func(x store.Tx) (func(), error) { return nil, do(x) })
}

// view runs do over the committed records, again when the connection breaks.
func (c *Contents) view(ctx context.Context, do func(store.Tx) error) error {
	for {
		err := c.db.View(ctx, do)
		if !errors.Is(err, store.ErrBroken) || ctx.Err() != nil {
			return err
		}
	}
}

// Stage implements store.Contents. Each chunk is a transaction of its own, and the
// first one already notes the blob, so that Clean finds it.
func (c *Contents) Stage(ctx context.Context, fill func(io.Writer) error) (store.Staged, error) {
	w := &writer{Contents: c, ctx: ctx, blob: blob{Name: rand.Text()}}
	err := fill(w)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		return nil, errors.Join(err, w.Discard())
	}
	return w, nil
}

// writer writes a blob. It implements store.Staged.
type writer struct {
	*Contents
	ctx    context.Context //nolint:containedctx // an io.Writer has no other way to get it
	blob   blob
	buffer []byte
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), chunkBytes-len(w.buffer))]
		w.buffer, p, n = append(w.buffer, part...), p[len(part):], n+len(part)
		if len(w.buffer) == chunkBytes {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// flush writes what is in the buffer as a chunk.
func (w *writer) flush() error {
	if len(w.buffer) == 0 {
		return nil
	}
	key := w.blob.chunk(w.blob.Chunks)
	value := store.Seal(key, w.buffer)
	w.blob.Chunks++
	w.blob.Bytes += int64(len(w.buffer))
	w.buffer = w.buffer[:0]
	return w.update(w.ctx, func(x store.Tx) error {
		return errors.Join(x.Put(store.TableChunks, key, value), put(x, w.blob.pending(), w.blob))
	})
}

// Place implements store.Staged.
func (w *writer) Place(ctx context.Context, id files.ID) error {
	var old blob
	err := w.update(ctx, func(x store.Tx) error {
		var replaces bool
		var err error
		if old, replaces, err = get(x, []byte(id)); err != nil && !errors.Is(err, tasks.ErrDamaged) {
			return err
		}
		if replaces { // so that Clean finds it after a crash
			if err := put(x, old.pending(), old); err != nil {
				return err
			}
		}
		return errors.Join(put(x, []byte(id), w.blob), x.Delete(store.TableBlobs, w.blob.pending()))
	})
	if err != nil {
		return errors.Join(err, w.Discard())
	}
	if old.Name == "" {
		return nil
	}
	return w.drop(ctx, old.pending(), old)
}

// discardTime bounds the deletion of a blob that was not placed.
const discardTime = 10 * time.Second

// Discard implements store.Staged.
func (w *writer) Discard() error {
	if w.blob.Chunks == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), discardTime)
	defer cancel()
	return w.drop(ctx, w.blob.pending(), w.blob)
}

// drop deletes the chunks of a blob, and then its row under a key.
func (c *Contents) drop(ctx context.Context, key []byte, b blob) error {
	for n := 0; ; n += atOnce {
		err := c.update(ctx, func(x store.Tx) error {
			for i := n; i < min(n+atOnce, b.Chunks); i++ {
				if err := x.Delete(store.TableChunks, b.chunk(i)); err != nil {
					return err
				}
			}
			if n+atOnce < b.Chunks {
				return nil
			}
			if now, found, err := get(x, key); err != nil || !found || now.Name != b.Name {
				return err // the id has another blob now
			}
			return x.Delete(store.TableBlobs, key)
		})
		if err != nil || n+atOnce >= b.Chunks {
			return err
		}
	}
}

// find returns the blob of a content. files.ErrNone.
func (c *Contents) find(ctx context.Context, id files.ID) (b blob, err error) {
	err = c.view(ctx, func(x store.Tx) error {
		var found bool
		if b, found, err = get(x, []byte(id)); err == nil && !found {
			err = fmt.Errorf("%w: %.64q", files.ErrNone, id)
		}
		return err
	})
	return b, err
}

// Open implements store.Contents.
func (c *Contents) Open(ctx context.Context, id files.ID) (io.ReadSeekCloser, error) {
	b, err := c.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return &reader{Contents: c, ctx: ctx, blob: b, at: -1}, nil
}

// Remove implements store.Contents.
func (c *Contents) Remove(ctx context.Context, id files.ID) error {
	b, err := c.find(ctx, id)
	if errors.Is(err, files.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.drop(ctx, []byte(id), b)
}

// IDs implements store.Contents.
func (c *Contents) IDs(ctx context.Context) iter.Seq2[files.ID, error] {
	return func(yield func(files.ID, error) bool) {
		err := c.db.View(ctx, func(x store.Tx) error {
			for r, err := range x.Range(store.TableBlobs, []byte("0"), nil, store.Ascending) {
				if err != nil {
					return err
				}
				if !yield(files.ID(r.Key), nil) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// Clean implements store.Contents.
func (c *Contents) Clean(ctx context.Context) error {
	var left []blob
	err := c.view(ctx, func(x store.Tx) error {
		left = nil
		for r, err := range x.Range(store.TableBlobs, []byte(unfinished), []byte("0"), store.Ascending) {
			if err != nil {
				return err
			}
			var b blob
			if body, err := store.Unseal(r); err == nil && json.Unmarshal(body, &b) == nil {
				left = append(left, b)
			}
		}
		return nil
	})
	for _, b := range left {
		if err == nil {
			err = c.drop(ctx, b.pending(), b)
		}
	}
	return err
}

// reader reads a content, one chunk at a time.
type reader struct {
	*Contents
	ctx   context.Context //nolint:containedctx // an io.Reader has no other way to get it
	blob  blob
	off   int64
	at    int // the chunk in chunk; -1: none
	chunk []byte
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.off >= r.blob.Bytes {
		return 0, io.EOF
	}
	if n := int(r.off / chunkBytes); n != r.at {
		if err := r.load(n); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.chunk[min(int(r.off%chunkBytes), len(r.chunk)):])
	if n == 0 && len(p) > 0 {
		return 0, fmt.Errorf("%w: chunk %d of a content is short", tasks.ErrDamaged, r.at)
	}
	r.off += int64(n)
	return n, nil
}

func (r *reader) load(n int) error {
	r.at = -1
	err := r.view(r.ctx, func(x store.Tx) error {
		key := r.blob.chunk(n)
		value, err := x.Get(store.TableChunks, key)
		if err != nil {
			return err
		}
		if value == nil {
			return files.ErrNone // it was deleted meanwhile
		}
		body, err := store.Unseal(store.Record{Key: key, Value: value})
		r.chunk = append(r.chunk[:0], body...)
		return err
	})
	if err == nil {
		r.at = n
	}
	return err
}

// Seek implements io.Seeker.
func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.off
	case io.SeekEnd:
		offset += r.blob.Bytes
	}
	if offset < 0 {
		return 0, errors.New("seeking before the beginning of a content")
	}
	r.off = offset
	return offset, nil
}

// Close implements io.Closer.
func (*reader) Close() error { return nil }
