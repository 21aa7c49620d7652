package confedit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"legwork/internal/fsutil"
	webapi "legwork/web/api"
)

// File is a config file that a command changes.
type File struct{ f file }

// Open reads the config file at a path.
func Open(path string) (File, error) {
	f, err := readFile(path)
	if err == nil {
		if why := f.readOnly(); why != "" {
			err = errors.New(why)
		}
	}
	return File{f}, err
}

// Text is the text of the file, byte for byte.
func (f File) Text() string { return string(f.f.raw) }

// ErrChanged is returned by Replace when the file has changed since Open.
var ErrChanged = errors.New("the config file was changed meanwhile")

// Replace replaces the file in one step, unless it has changed since Open.
func (f File) Replace(ctx context.Context, text string) error {
	if len(text) > maxFile {
		return fmt.Errorf("the config file would be larger than %d bytes", maxFile)
	}
	err := f.f.replace(ctx, []byte(text))
	var refused *webapi.ConfigError
	if errors.As(err, &refused) && refused.Changed {
		return ErrChanged
	}
	return err
}

// file is the config file as it is on the disk.
type file struct {
	name string // by which it is read
	path string // where the file itself is: a link was followed
	raw  []byte
	text string // raw with lines that end in \n, without a byte order mark
	mode fs.FileMode
}

const byteOrderMark = "\ufeff"

func (f file) tag() string {
	sum := sha256.Sum256(f.raw)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// bytes is a text as the file has texts: a browser knows only lines that end in \n.
func (f file) bytes(text string) []byte {
	text = newlines(text)
	if raw := string(f.raw); strings.Contains(raw, "\r\n") && strings.Count(raw, "\r\n") == strings.Count(raw, "\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if strings.HasPrefix(string(f.raw), byteOrderMark) {
		text = byteOrderMark + text
	}
	return []byte(text)
}

func newlines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(text, byteOrderMark))
}

// maxFile is the largest config file that legwork reads, in bytes.
const maxFile = 1 << 20

// read reads the config file.
func (e *Editor) read() (file, error) {
	if e.Path == "" {
		return file{}, fs.ErrNotExist
	}
	return readFile(e.Path)
}

func readFile(name string) (file, error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return file{}, fmt.Errorf("reading the config file: %w", err)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	} else if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	f := file{name: name, path: path}
	if err == nil {
		f.mode = info.Mode()
		f.raw, err = os.ReadFile(path)
	}
	if err != nil {
		return file{}, fmt.Errorf("reading the config file: %w", err)
	}
	f.text = newlines(string(f.raw))
	return f, nil
}

// readOnly says why a file cannot be replaced; empty when it can.
func (f file) readOnly() string {
	if f.mode.Perm()&0o222 == 0 {
		return "The file is read-only. To edit it here, give its owner the right to write it: chmod u+w " + f.path
	}
	if fsutil.IsMountPoint(f.path) {
		return "The file is mounted on its own, so that it cannot be replaced. To edit it here, mount its folder in place of the file: " + filepath.Dir(f.path)
	}
	if err := errors.Join(fsutil.Writable(f.path), fsutil.Writable(filepath.Dir(f.path))); err != nil {
		return fmt.Sprintf("legwork may not replace the file: it needs the right to write %s and its folder.", f.path)
	}
	return ""
}

func write(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}

// replace replaces the file in one step, unless it has changed since it was read. Its
// rights stay, and its owner where the system allows it.
func (f file) replace(ctx context.Context, content []byte) error {
	fresh := filepath.Join(filepath.Dir(f.path), "."+filepath.Base(f.path)+".saving")
	if _, err := fsutil.Write(ctx, fresh, write(content)); err != nil {
		return fmt.Errorf("saving the config file: %w", err)
	}
	err := os.Chmod(fresh, f.mode.Perm())
	if err == nil {
		fsutil.KeepOwner(fresh, f.path)
		var now file
		if now, err = readFile(f.name); err == nil && now.tag() != f.tag() {
			err = &webapi.ConfigError{Changed: true}
		}
	}
	if err == nil {
		err = fsutil.Replace(fresh, f.path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(fresh))
	}
	if errors.Is(err, syscall.EBUSY) {
		return &webapi.ConfigError{ReadOnly: "The file is mounted on its own, so that it cannot be replaced. Mount its folder in place of the file."}
	}
	if err != nil {
		return fmt.Errorf("saving the config file: %w", err)
	}
	return nil
}
