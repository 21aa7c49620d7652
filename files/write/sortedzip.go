package write

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// sortedZip is a ZIP archive with its parts in the order of their names: the XLSX
// library writes them in an order that changes. Parts are kept compressed until
// Close.
type sortedZip struct {
	w     io.Writer
	now   time.Time
	parts map[string]*part
	size  int
	last  *part
}

type part struct {
	zip      *sortedZip
	data     bytes.Buffer
	deflate  *flate.Writer
	checksum hash.Hash32
	size     uint64
}

// Create begins a part and ends the one before.
func (z *sortedZip) Create(name string) (io.Writer, error) {
	if err := z.end(); err != nil {
		return nil, err
	}
	if z.parts == nil {
		z.parts = map[string]*part{}
	}
	p := &part{zip: z, checksum: crc32.NewIEEE()}
	var err error
	if p.deflate, err = flate.NewWriter(&p.data, flate.BestSpeed); err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	z.parts[name], z.last = p, p
	return p, nil
}

func (p *part) Write(data []byte) (int, error) {
	_, _ = p.checksum.Write(data) // a hash never fails
	p.size += uint64(len(data))
	n, err := p.deflate.Write(data)
	if err == nil && p.zip.size+p.data.Len() > MaxBytes {
		err = &TooLargeError{What: "bytes of the made file", Limit: MaxBytes}
	}
	return n, err
}

func (z *sortedZip) end() error {
	if z.last == nil {
		return nil
	}
	err := z.last.deflate.Close()
	z.last.deflate = nil // its tables are large
	z.size += z.last.data.Len()
	z.last = nil
	return err
}

// Close writes the archive.
func (z *sortedZip) Close() error {
	if err := z.end(); err != nil {
		return err
	}
	archive := zip.NewWriter(z.w)
	for _, name := range slices.Sorted(maps.Keys(z.parts)) {
		p := z.parts[name]
		file, err := archive.CreateRaw(&zip.FileHeader{
			Name: name, Method: zip.Deflate, Modified: z.now, CRC32: p.checksum.Sum32(),
			CompressedSize64: uint64(p.data.Len()), UncompressedSize64: p.size,
		})
		if err == nil {
			_, err = p.data.WriteTo(file)
		}
		if err != nil {
			return err
		}
	}
	return archive.Close()
}

// AddFS is not used.
func (z *sortedZip) AddFS(fs.FS) error { return errors.ErrUnsupported }
