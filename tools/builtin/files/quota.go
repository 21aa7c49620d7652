package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"time"
)

// usage is how full a workspace is.
type usage struct {
	files int // folders too
	bytes int64
	more  bool // it was too much to be counted
}

// tempMaxAge is the age at which a half-written file belongs to no write: none
// takes that long.
const tempMaxAge = time.Hour

// usage counts, and removes on the way what a killed process left half
// written, if the workspace may be written.
func (w *workspace) usage(ctx context.Context) (usage, error) {
	var u usage
	all := bounds{math.MaxInt, w.o.MaxFiles + 1, w.o.MaxFiles + 1}
	more, err := w.walkAll(ctx, ".", all, func(name string, info fs.FileInfo) error {
		half := strings.HasPrefix(info.Name(), tempPrefix) && info.Mode().IsRegular()
		if half && w.o.Write && time.Since(info.ModTime()) > tempMaxAge && w.root.Remove(name) == nil {
			return nil
		}
		u.files++
		if info.Mode().IsRegular() {
			u.bytes += info.Size()
		}
		return nil
	})
	u.more = more
	return u, err
}

// checkQuota refuses a change that would make a workspace larger than is allowed:
// by more bytes, and by what of a path does not exist yet.
func (w *workspace) checkQuota(ctx context.Context, name string, more int64) error {
	u, err := w.usage(ctx)
	if err != nil {
		return pathError("looking at", ".", err)
	}
	made := 0
	for i := range len(name) + 1 {
		if i < len(name) && name[i] != '/' {
			continue
		}
		if _, err := w.root.Lstat(name[:i]); errors.Is(err, fs.ErrNotExist) {
			made++
		}
	}
	if made > 0 && (u.more || u.files+made > w.o.MaxFiles) {
		return fmt.Errorf("the workspace holds %d files and folders, and %d is the most; delete some first, or ask the person which", u.files, w.o.MaxFiles)
	}
	if more > 0 && (u.more || u.bytes+more > w.o.MaxTotalBytes) {
		return fmt.Errorf("the workspace holds %d bytes, and %d is the most, so that %d more do not fit; delete something first, or ask the person what", u.bytes, w.o.MaxTotalBytes, more)
	}
	return nil
}

// checkFileSize refuses a file that is too large.
func (w *workspace) checkFileSize(size int64) error {
	if size > w.o.MaxFileBytes {
		return fmt.Errorf("the file would have %d bytes, and %d is the most; split it into several files", size, w.o.MaxFileBytes)
	}
	return nil
}
