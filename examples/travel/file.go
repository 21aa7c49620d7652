package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// database is the whole state.
type database struct {
	Version       int            `json:"version"`
	Orders        []Order        `json:"orders"`
	Events        []Event        `json:"events"`
	Notifications []Notification `json:"notifications"`
}

const version = 1

// file holds the database as JSON. Each write replaces the whole file, so that a
// reader always sees a complete one, even after a crash.
type file struct{ path string }

// read returns the database; it is empty when the file is missing.
func (f file) read() (database, error) {
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return database{Version: version}, nil
	case err != nil:
		return database{}, fmt.Errorf("reading the database: %w", err)
	}
	l, err := parse(text)
	if err != nil {
		return database{}, fmt.Errorf("reading the database %s: %w; the file was not changed: repair it, or move it away to start again", f.path, err)
	}
	return l, nil
}

// parse refuses unknown keys, because a later write would lose them.
func parse(text []byte) (database, error) {
	var l database
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return database{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return database{}, errors.New("there is text after its end")
	}
	if l.Version != version {
		return database{}, fmt.Errorf("it has version %d, this program knows version %d", l.Version, version)
	}
	return l, nil
}

// change lets do change the database, and writes it unless do returns an error. A lock
// orders the changes of all processes.
func (f file) change(ctx context.Context, do func(*database) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lock := flock.New(f.path + ".lock")
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for the database: %w; nothing was changed, try again", err)
	}
	defer lock.Close() //nolint:errcheck // this releases the lock
	l, err := f.read()
	if err != nil {
		return err
	}
	if err := do(&l); err != nil {
		return err
	}
	if err := f.write(l); err != nil {
		return fmt.Errorf("writing the database: %w", err)
	}
	return nil
}

func (f file) write(l database) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	draft, err := os.OpenFile(f.path+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = draft.Write(append(text, '\n'))
	if err := errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := os.Rename(draft.Name(), f.path); err != nil {
		return err
	}
	if folder, err := os.Open(filepath.Dir(f.path)); err == nil {
		_ = folder.Sync() // so that the rename survives a power cut; not every system supports it
		folder.Close()
	}
	return nil
}
