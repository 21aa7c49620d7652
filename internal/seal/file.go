package seal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"legwork/internal/fsutil"
)

// maxFile bounds a key file, in bytes.
const maxFile = 1 << 10

// ReadFile reads a key from a file, which only this user may be able to read.
// fs.ErrNotExist.
func ReadFile(path string) (Key, error) {
	file, err := os.Open(path)
	if err != nil {
		return Key{}, fmt.Errorf("reading the sealing key: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err == nil {
		err = private(path, info)
	}
	if err != nil {
		return Key{}, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return Key{}, fmt.Errorf("reading the sealing key: %w", err)
	}
	k, err := ParseKey(string(text))
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// private refuses a file that others can read, or that another user owns: who owns it can
// replace the key.
func private(path string, info os.FileInfo) error {
	const others = 0o077
	if runtime.GOOS == "windows" {
		return nil
	}
	if info.Mode().Perm()&others != 0 {
		return fmt.Errorf("%s: other users may read or change the sealing key (mode %04o); make it private: chmod 600 %s; if others may have read it, then run \"legwork data rekey\"", path, info.Mode().Perm(), path)
	}
	if owner, known := ownerOf(info); known && owner != os.Geteuid() {
		return fmt.Errorf("%s: the sealing key belongs to user %d, and legwork runs as user %d: run legwork as the owner, or give it the file with chown", path, owner, os.Geteuid())
	}
	return nil
}

// WriteFile writes a key to a file that only this user can read, in place of another one.
func WriteFile(path string, k Key) error {
	_, err := fsutil.Write(context.Background(), path, func(w io.Writer) error {
		_, err := io.WriteString(w, k.Text()+"\n")
		return err
	})
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w; the sealing key must be stored there: let this user write to the folder, or set sealing_key in the config", err)
	}
	return err
}
