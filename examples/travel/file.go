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

// ledger is all that is remembered.
type ledger struct {
	Version       int            `json:"version"`
	Orders        []Order        `json:"orders"`
	Events        []Event        `json:"events"`
	Notifications []Notification `json:"notifications"`
}

const version = 1

// file is a ledger as JSON. It is replaced as a whole, so that a reader sees a
// complete one at any moment, even after a crash.
type file struct{ path string }

// read returns what the file holds; a missing one is an empty ledger.
func (f file) read() (ledger, error) {
	text, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ledger{Version: version}, nil
	case err != nil:
		return ledger{}, fmt.Errorf("reading the database: %w", err)
	}
	l, err := parse(text)
	if err != nil {
		return ledger{}, fmt.Errorf("reading the database %s: %w; the file was left as it is: repair it, or move it away to begin anew", f.path, err)
	}
	return l, nil
}

// parse refuses what a later write would lose.
func parse(text []byte) (ledger, error) {
	var l ledger
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		return ledger{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return ledger{}, errors.New("something follows after its end")
	}
	if l.Version != version {
		return ledger{}, fmt.Errorf("it has version %d, this program knows version %d", l.Version, version)
	}
	return l, nil
}

// change lets do change the ledger and writes it, unless do returns an error.
// Changes of all processes come one after the other.
func (f file) change(ctx context.Context, do func(*ledger) error) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	lock := flock.New(f.path + ".lock")
	if _, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil {
		return fmt.Errorf("waiting for the database: %w; nothing was changed, try again", err)
	}
	defer lock.Close() //nolint:errcheck // which unlocks it; nothing of it is kept
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

func (f file) write(l ledger) error {
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
		_ = folder.Sync() // so that the new name survives a power cut; not every system can
		folder.Close()
	}
	return nil
}
