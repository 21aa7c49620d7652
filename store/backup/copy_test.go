package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/store/backup"
)

// TestCopy: a copy is marked before it is read again, and only a copy that was
// read and found bad is damage: a copy that could not be read says nothing
// about the data.
func TestCopy(t *testing.T) {
	luck, bad := errors.New("no luck"), errors.New("record 7")
	for _, test := range []struct {
		name         string
		mark, verify error
		bad, left    bool
	}{
		{name: "good", left: true},
		{name: "bad", verify: bad, bad: true, left: true},
		{name: "it cannot be read", verify: fmt.Errorf("%w: %w", backup.ErrUnread, luck)},
		{name: "it cannot be marked", mark: luck},
		{name: "it cannot be marked and is bad", mark: luck, verify: bad, bad: true, left: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			path, marked := filepath.Join(t.TempDir(), "copy"), false
			_, err := backup.Copy(t.Context(), path, backup.File{
				Name:  "legwork.db",
				Write: func(_ context.Context, w io.Writer) error { _, err := io.WriteString(w, "data"); return err },
				Size:  func() (int64, error) { return 4, nil },
				Mark:  func(string) error { marked = true; return test.mark },
				Verify: func(context.Context, string) error {
					if !marked {
						t.Error("it is read before it is marked")
					}
					return test.verify
				},
			}, "")
			if wrong := test.mark != nil || test.verify != nil; (err != nil) != wrong || errors.Is(err, backup.ErrBad) != test.bad {
				t.Errorf("Copy: %v, want an error %v, damage %v", err, wrong, test.bad)
			}
			if _, err := os.Stat(path); (err == nil) != test.left {
				t.Errorf("the copy: %v, want that it is there %v", err, test.left)
			}
		})
	}
}

// TestBeside: the files beside a data file are pinned before the copy begins, and copied
// after it was read again; those of old backups go with them.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	var steps []string
	step := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	f := backup.File{
		Name: "legwork.db",
		Write: func(_ context.Context, w io.Writer) error {
			step("write")
			_, err := io.WriteString(w, "data")
			return err
		},
		Size:   func() (int64, error) { return 4, nil },
		Verify: func(context.Context, string) error { step("verify"); return nil },
		Beside: &backup.Beside{
			Pin:  func() func() { step("pin"); return func() { step("unpin") } },
			Copy: func(_ context.Context, _, folder string) error { step("copy to %s", filepath.Base(folder)); return nil },
			Tidy: func(folder string, copies []string) error {
				step("tidy %s of %d", filepath.Base(folder), len(copies))
				return nil
			},
		},
	}
	if _, err := backup.Make(t.Context(), dir, f, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := backup.Tidy(dir, f); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(steps, ", "), "pin, write, verify, copy to files, unpin, tidy files of 1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	steps, f.Beside.Copy = nil, func(context.Context, string, string) error { return errors.New("no room") }
	if _, err := backup.Make(t.Context(), dir, f, time.Now().Add(time.Hour)); err == nil || len(backup.List(dir, f.Name)) != 1 {
		t.Errorf("a backup whose files could not be copied: got %v and %d backups, want an error and 1", err, len(backup.List(dir, f.Name)))
	}
}
