package bot

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"sync"
)

// File is a file that goes out with a draft. Without As it is a document that comes before
// the message of the draft, which refers to it. With As the draft is the file: Text is
// its caption, a message of its own where it does not fit, and Post returns the id of the
// message that shows the file.
type File struct {
	Name    string `json:"name"`           // "arguments.json"; platforms send BaseName
	Type    string `json:"type,omitempty"` // MIME type; empty when unknown
	As      FileAs `json:"as,omitempty"`
	Content []byte `json:"content"` // not empty, at most MaxFile
}

// FileAs says how a draft shows its file. A platform shows a document where it cannot, or
// where the content does not fit.
type FileAs string

// The ways to show a file.
const (
	AsDocument FileAs = "document"
	AsPhoto    FileAs = "photo" // PNG, JPEG
	AsVoice    FileAs = "voice" // OGG Opus; other sound is shown as music
)

// MaxFile is the most bytes of a File. All platforms accept that much: Telegram takes 50 MB
// (core.telegram.org/bots/api#senddocument).
const MaxFile = 50_000_000

// IsFile reports whether the draft is a file with a caption.
func (d *Draft) IsFile() bool { return d.File != nil && d.File.As != "" }

// ErrNoFiles is the wrapped error of Post for a draft with a File that can never
// be sent there: the right to send files is missing, or the platform refuses this
// one. Neither the file nor the message was posted; the draft can be posted without
// the File.
var ErrNoFiles = errors.New("files cannot be sent here")

// ErrTooLarge is wrapped beside ErrNoFiles where the platform says that the file is too
// large for it.
var ErrTooLarge = errors.New("the platform takes no files of that size")

// Filer is a platform that can send a file with a message. When the answer to an
// upload gets lost, the file comes twice, because Post is tried again.
type Filer interface {
	// Files reports whether files can be sent in that chat, as far as is known.
	// If it is false, Post returns ErrNoFiles.
	Files(to Chat) bool
}

// maxBase is the most characters of a BaseName.
const maxBase = 80

// BaseName is Name in a form for every system.
func (f *File) BaseName() string { return BaseName(f.Name) }

// BaseName is the name of a file in a form for every system: without folders, and
// without characters that hide its end or change the direction of text.
func BaseName(name string) string {
	base := name[strings.LastIndexAny(name, `/\`)+1:]
	base = strings.Map(func(c rune) rune {
		if hidden(c) || strings.ContainsRune(`:*?"<>|`, c) {
			return '_'
		}
		return c
	}, strings.ToValidUTF8(base, "_"))
	if all := []rune(base); len(all) > maxBase {
		base = string(all[len(all)-maxBase:]) // keeps the extension
	}
	return cmp.Or(strings.Trim(base, ". "), "file")
}

// MediaType is Type if it is valid, and application/octet-stream otherwise.
func (f *File) MediaType() string {
	kind, params, err := mime.ParseMediaType(f.Type)
	if err != nil {
		return "application/octet-stream"
	}
	return cmp.Or(mime.FormatMediaType(kind, params), "application/octet-stream")
}

// check returns ErrNoFiles, wrapped, for a file that no platform accepts.
func (f *File) check() error {
	if n := len(f.Content); n == 0 || n > MaxFile {
		err := ErrNoFiles
		if n > 0 {
			err = errors.Join(ErrNoFiles, ErrTooLarge)
		}
		return fmt.Errorf("sending %s of %d bytes, 1 to %d are allowed: %w", f.BaseName(), n, MaxFile, err)
	}
	return nil
}

// Uploads remember files whose message could not be posted, so that the next try
// does not send them again. The zero value is ready; they are safe for concurrent
// use.
type Uploads struct {
	mu   sync.Mutex
	done []upload // oldest first
}

// upload is a file that was sent, and what its sending returned.
type upload struct {
	key [sha256.Size]byte
	id  string
}

// maxUploads is how many files are remembered.
const maxUploads = 100

// Send sends the file of a draft, unless it was sent already, and then posts the
// message. Of a draft that is a file, the message is what the caption does not hold, or
// nil, and the id is that of the file.
func (u *Uploads) Send(to Chat, d *Draft, file func(*File) (id string, err error), message func() (string, error)) (id string, err error) {
	if d.File == nil {
		return message()
	}
	if err := d.File.check(); err != nil {
		return "", err
	}
	key := sha256.Sum256(slices.Concat([]byte(to.Key()+"\x00"+d.Task+"\x00"+d.Mark+"\x00"+d.File.Name+"\x00"), d.File.Content))
	sent, ok := u.find(key)
	if !ok {
		if sent, err = file(d.File); err != nil {
			return "", err
		}
		u.note(upload{key, sent})
	}
	if message != nil {
		if id, err = message(); err != nil {
			return "", err
		}
	}
	u.forget(key)
	if d.IsFile() {
		id = sent
	}
	return id, nil
}

func (u *Uploads) find(key [sha256.Size]byte) (id string, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, done := range u.done {
		if done.key == key {
			return done.id, true
		}
	}
	return "", false
}

func (u *Uploads) note(done upload) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.done) == maxUploads {
		u.done = u.done[1:]
	}
	u.done = append(u.done, done)
}

func (u *Uploads) forget(key [sha256.Size]byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.done = slices.DeleteFunc(u.done, func(done upload) bool { return done.key == key })
}
