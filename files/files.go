// Package files names the files that people send and that are made for them. Their
// contents are kept beside the store, by their hash.
package files

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ID names a content: its SHA-256, in lower-case hexadecimal.
type ID string

// IDOf is the id of a content.
func IDOf(content []byte) ID {
	sum := sha256.Sum256(content)
	return ID(hex.EncodeToString(sum[:]))
}

// Valid reports whether the id has the form of one.
func (id ID) Valid() bool {
	return len(id) == 2*sha256.Size && strings.Trim(string(id), "0123456789abcdef") == ""
}

// File is a file whose content is kept.
type File struct {
	ID    ID     `json:"id"`
	Name  string `json:"name"`  // as people see it; may be anything
	Type  string `json:"type"`  // MIME type, found from the content
	Bytes int64  `json:"bytes"` // of the content
}

// Size writes a number of bytes as people read it: "812 bytes", "4.2 MB", "20 MB".
func Size(bytes int64) string {
	switch {
	case bytes < 1000:
		return strconv.FormatInt(bytes, 10) + " bytes"
	case bytes < 10_000:
		return tenths(bytes, 1000) + " kB"
	case bytes < 1_000_000:
		return strconv.FormatInt((bytes+500)/1000, 10) + " kB"
	case bytes < 10_000_000:
		return tenths(bytes, 1_000_000) + " MB"
	}
	return strconv.FormatInt((bytes+500_000)/1_000_000, 10) + " MB"
}

// tenths writes bytes in a unit, with one digit behind the point unless it is 0.
func tenths(bytes, unit int64) string {
	return strconv.FormatFloat(math.Round(10*float64(bytes)/float64(unit))/10, 'f', -1, 64)
}

// Errors of contents.
var (
	// ErrNone means that no content with that id is kept.
	ErrNone = errors.New("no such file")
	// ErrLarge means that a content is larger than a limit.
	ErrLarge = errors.New("the file is too large")
	// ErrRoom means that all files of an owner would be larger than a limit.
	ErrRoom = errors.New("no room is left for the file")
	// ErrTotal is the ErrRoom of the limit for the files of all owners.
	ErrTotal = fmt.Errorf("%w: the files of all chats have reached their limit", ErrRoom)
)
