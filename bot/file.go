package bot

import "errors"

// File goes out before the message that refers to it, in the same chat, as a
// document.
type File struct {
	Name    string `json:"name"`           // without folders: "arguments.json"
	Type    string `json:"type,omitempty"` // MIME type; empty for bytes nobody knows
	Content []byte `json:"content"`        // not empty, at most MaxFile
}

// MaxFile is how much a File may hold, in bytes. All platforms take as much.
const MaxFile = 5 << 20

// ErrNoFiles is what Post returns, wrapped, for a draft with a File that cannot
// be sent there however often it is tried: the right to send files is missing,
// or the platform does not take this one. Nothing was posted then, neither the
// file nor the message; without the File the draft can be posted.
var ErrNoFiles = errors.New("files cannot be sent here")

// Filer is an ability of platforms that can send a file with a message. A file
// whose upload was done while the answer to it got lost may come twice, and one
// whose message is posted again after a failure comes again with it.
type Filer interface {
	// Files reports whether files can be sent in that chat, as far as is known.
	// Where it is false, Post returns ErrNoFiles.
	Files(to Chat) bool
}
