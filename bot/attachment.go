package bot

import (
	"context"
	"errors"
	"io"
	"strings"
)

// Attachment is a file that a message brings along. Its content is fetched later,
// after the message is stored.
type Attachment struct {
	// Ref is the platform's handle of the file, or KeptRef and the id of a content that
	// is kept already.
	Ref  string         `json:"ref"`
	Kind AttachmentKind `json:"kind"`
	Name string         `json:"name,omitempty"` // as its sender named it; may be anything
	Type string         `json:"type,omitempty"` // MIME type, as the platform says; may be wrong
	// Bytes is the size and Seconds the length of the sound, as the platform says; 0:
	// unknown.
	Bytes   int64 `json:"bytes,omitempty"`
	Seconds int   `json:"seconds,omitempty"`
	// From is the display name of its author, when that is not the person who sent the
	// message; Others says so also where the name is unknown.
	From   string `json:"from,omitempty"`
	Others bool   `json:"others,omitempty"`
}

// KeptRef begins the Ref of a file whose content is kept already.
const KeptRef = "kept:"

// Kept returns the id of the content when it is kept already.
func (a Attachment) Kept() (id string, kept bool) { return strings.CutPrefix(a.Ref, KeptRef) }

// AttachmentKind says how a message shows a file.
type AttachmentKind string

// The kinds of attachment.
const (
	AttachDocument AttachmentKind = "document"
	AttachPhoto    AttachmentKind = "photo"
	AttachVoice    AttachmentKind = "voice" // speech that the author recorded as the message
	AttachAudio    AttachmentKind = "audio"
	AttachVideo    AttachmentKind = "video" // its sound is read
)

// Fetcher is a platform whose messages bring files along.
type Fetcher interface {
	// Fetch writes the content of a file to w. It returns the error of w as it is, and
	// wraps ErrFileGone or ErrFileLarge when no further try will help. Other errors may pass.
	Fetch(ctx context.Context, from Chat, a Attachment, w io.Writer) error
}

// Errors of Fetch.
var (
	// ErrFileGone means that the platform no longer has the file, or does not give it
	// to the bot.
	ErrFileGone = errors.New("the platform does not give the file")
	// ErrFileLarge means that the platform does not give files of that size to bots.
	ErrFileLarge = errors.New("the platform does not give files of that size to bots")
)
