package tasks

import (
	"context"
	"io"
	"time"

	"legwork/files"
)

// Keep says for whom a content is kept, and how large it may be.
type Keep struct {
	// Owner is the key of the chat (bot.Chat.Room) or token that may use the content.
	Owner string
	Name  string // of the file, as people see it
	Type  string // MIME type
	// Until is how long the content stays while no task of the owner refers to it.
	Until time.Time
	// The limits in bytes: of this content, of all contents of the owner, and of all
	// contents of the store. 0: no limit.
	Max, OwnerMax, TotalMax int64
}

// FileUse is one reason why a content is kept: an upload, or a task that refers to
// it.
type FileUse struct {
	files.File
	Owner string    // key of the chat or token
	Task  ID        // empty: an upload that no task of the owner refers to yet
	Until time.Time // of an upload: when it is deleted
}

// Files keeps the contents of files. A content is stored once, and stays as long as
// an upload or an event of a task's journal refers to it (planner.Event.Contents). An
// event that refers to a content that is not kept is refused with files.ErrNone.
type Files interface {
	// KeepFile stores what r returns as an upload of an owner, and returns when it is
	// durable. An error leaves nothing behind: files.ErrLarge, files.ErrRoom, ErrFull,
	// or that of r. An upload of the owner with the same content is replaced.
	KeepFile(ctx context.Context, r io.Reader, k Keep) (files.File, error)
	// OpenFile opens a content. ctx bounds all reading. files.ErrNone, also from Read when
	// the content was deleted meanwhile.
	OpenFile(ctx context.Context, id files.ID) (io.ReadSeekCloser, error)
	// FileOf returns a use of a content that match accepts; files.ErrNone when there is
	// none. Uploads whose time is over are no uses.
	FileOf(ctx context.Context, id files.ID, match func(FileUse) bool) (FileUse, error)
	// SweepFiles deletes uploads whose time is over. With a time that is not zero it also
	// deletes the files of tasks that ended before that time: the tasks stay, and OpenFile
	// returns files.ErrNone.
	SweepFiles(ctx context.Context, endedBefore time.Time) (Deleted, error)
}
