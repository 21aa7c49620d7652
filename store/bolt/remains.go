package bolt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"

	"legwork/tasks"
)

// What a data file looks like to who does not trust it: the layout of version 2
// of bbolt's format, in the byte order of the machine.
const (
	boltMagic    = 0xED0CDAED
	boltVersion  = 2
	headSize     = 16 // of a page: id, flags, count, overflow
	elementSize  = 16 // of an entry of a page
	bucketSize   = 16 // of a bucket's value: root, sequence
	metaSize     = 64 // of a header
	flagBranch   = 1
	flagLeaf     = 2
	flagBucket   = 1 // of an entry
	maxDepth     = 24
	maxPageBytes = 256 << 20
)

// remains reads what is left of a damaged file. It reads bytes and maps nothing,
// so that no damage can end the process, and believes nothing that it has not
// checked.
type remains struct {
	file  io.ReaderAt
	size  int64
	page  int64
	root  uint64
	pages int64 // that may still be read: a tree in circles ends
	heads int   // headers that are whole, of two
}

// lookInto finds the newer one of the file's headers that is whole.
func lookInto(file io.ReaderAt, size int64) (*remains, error) {
	r := &remains{file: file, size: size}
	var newest uint64
	for page := int64(512); page <= 1<<16; page *= 2 {
		for _, at := range []int64{0, page} {
			head := make([]byte, headSize+metaSize)
			if _, err := file.ReadAt(head, at); err != nil {
				continue
			}
			meta := head[headSize:]
			sum := fnv.New64a()
			_, _ = sum.Write(meta[:56])
			word, long := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
			if word(meta) != boltMagic || word(meta[4:]) != boltVersion || int64(word(meta[8:])) != page || long(meta[56:]) != sum.Sum64() {
				continue
			}
			r.heads++
			if txid := long(meta[48:]); r.page == 0 || txid > newest {
				newest, r.page, r.root = txid, page, long(meta[16:])
			}
		}
	}
	if r.page == 0 {
		return nil, fmt.Errorf("%w: no header is whole", tasks.ErrDamaged)
	}
	r.pages = size/r.page + 1
	return r, nil
}

// span is a stretch of keys, from included, to not; a nil to is the end.
type span struct{ from, to []byte }

// finder hears of the entries of a tree in the order of their keys: of those
// that could be read, and of the stretches in which there may have been others.
type finder struct {
	found func(key, value []byte, flags uint32) error
	lost  func(span) error
}

// walk goes through the tree below a page.
func (r *remains) walk(page uint64, in span, depth int, f finder) error {
	body, err := r.read(page)
	if err != nil || depth > maxDepth {
		return f.lost(in)
	}
	return r.entries(body, in, depth, f)
}

// read reads a page with what overflows from it.
func (r *remains) read(page uint64) ([]byte, error) {
	if r.pages--; r.pages < 0 || page < 2 || page > uint64(r.size/r.page) {
		return nil, tasks.ErrDamaged
	}
	at := int64(page) * r.page
	head := make([]byte, headSize)
	if _, err := r.file.ReadAt(head, at); err != nil {
		return nil, err
	}
	length := (int64(binary.NativeEndian.Uint32(head[12:])) + 1) * r.page
	if binary.NativeEndian.Uint64(head) != page || length > maxPageBytes || at+length > r.size {
		return nil, tasks.ErrDamaged
	}
	body := make([]byte, length)
	_, err := r.file.ReadAt(body, at)
	return body, err
}

// entries goes through the entries of a page.
func (r *remains) entries(body []byte, in span, depth int, f finder) error {
	flags, count := binary.NativeEndian.Uint16(body[8:]), int(binary.NativeEndian.Uint16(body[10:]))
	switch flags {
	case flagBranch:
		return r.branch(body, count, in, depth, f)
	case flagLeaf:
		return r.leaf(body, count, in, f)
	}
	return f.lost(in)
}

// branch goes through the pages below a page. The keys tell what each of them
// must hold; when they are not in order, nothing below can be believed.
func (r *remains) branch(body []byte, count int, in span, depth int, f finder) error {
	keys, pages := make([][]byte, count), make([]uint64, count)
	for i := range count {
		at := headSize + i*elementSize
		if at+elementSize > len(body) {
			return f.lost(in)
		}
		key, ok := part(body, at+int(binary.NativeEndian.Uint32(body[at:])), binary.NativeEndian.Uint32(body[at+4:]))
		if !ok || i > 0 && bytes.Compare(keys[i-1], key) >= 0 || i > 0 && !in.holds(key) {
			return f.lost(in)
		}
		keys[i], pages[i] = key, binary.NativeEndian.Uint64(body[at+8:])
	}
	if count == 0 {
		return f.lost(in)
	}
	for i := range count {
		below := in
		if i > 0 {
			below.from = keys[i]
		}
		if i+1 < count {
			below.to = keys[i+1]
		}
		if err := r.walk(pages[i], below, depth+1, f); err != nil {
			return err
		}
	}
	return nil
}

// leaf goes through records. One that cannot be believed is lost, with its
// neighbourhood: its key cannot be believed either.
func (r *remains) leaf(body []byte, count int, in span, f finder) error {
	next := in.from // what comes must not be before it
	whole := true   // nothing was lost since next
	for i := range count {
		at := headSize + i*elementSize
		if at+elementSize > len(body) {
			whole = false
			break
		}
		flags, pos := binary.NativeEndian.Uint32(body[at:]), int(binary.NativeEndian.Uint32(body[at+4:]))
		ksize, vsize := binary.NativeEndian.Uint32(body[at+8:]), binary.NativeEndian.Uint32(body[at+12:])
		key, ok := part(body, at+pos, ksize)
		value, there := part(body, at+pos+int(ksize), vsize)
		if ok && there && flags&flagBucket == 0 {
			_, err := unseal(key, value)
			ok = err == nil
		}
		if !ok || !there || bytes.Compare(key, next) < 0 || !in.holds(key) {
			whole = false
			continue
		}
		if !whole {
			if err := f.lost(span{next, key}); err != nil {
				return err
			}
		}
		if err := f.found(key, value, flags); err != nil {
			return err
		}
		next, whole = append(bytes.Clone(key), 0), true
	}
	if !whole {
		return f.lost(span{next, in.to})
	}
	return nil
}

// part is a stretch of a page; false when it is not in it.
func part(body []byte, at int, size uint32) ([]byte, bool) {
	if at < headSize || at > len(body) || int64(size) > int64(len(body)-at) || size > math.MaxInt32 {
		return nil, false
	}
	return body[at : at+int(size)], true
}

func (s span) holds(key []byte) bool {
	return bytes.Compare(key, s.from) >= 0 && (s.to == nil || bytes.Compare(key, s.to) < 0)
}

// buckets finds the file's buckets: their trees, or their only page where it
// stands in their entry. One whose entry is lost is missing.
func (r *remains) buckets() map[string][]byte {
	found := map[string][]byte{}
	_ = r.walk(r.root, span{}, 0, finder{
		found: func(key, value []byte, flags uint32) error {
			if flags&flagBucket != 0 && len(value) >= bucketSize {
				found[string(key)] = bytes.Clone(value)
			}
			return nil
		},
		lost: func(span) error { return nil },
	})
	return found
}

// bucket goes through the records of a bucket.
func (r *remains) bucket(entry []byte, f finder) error {
	f = finder{lost: f.lost, found: records(f)}
	if len(entry) < bucketSize {
		return f.lost(span{})
	}
	if root := binary.NativeEndian.Uint64(entry); root != 0 {
		return r.walk(root, span{}, 0, f)
	}
	body := entry[bucketSize:]
	if len(body) < headSize {
		return f.lost(span{})
	}
	return r.leaf(body, int(binary.NativeEndian.Uint16(body[10:])), span{}, f)
}

// records passes on what is a record; there are no buckets in buckets.
func records(f finder) func(key, value []byte, flags uint32) error {
	return func(key, value []byte, flags uint32) error {
		if flags != 0 {
			return f.lost(span{key, append(bytes.Clone(key), 0)})
		}
		return f.found(key, value, 0)
	}
}

// errNothing says that of a file nothing is left.
var errNothing = errors.New("nothing in it can be read")
