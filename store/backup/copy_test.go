package backup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

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
			})
			if wrong := test.mark != nil || test.verify != nil; (err != nil) != wrong || errors.Is(err, backup.ErrBad) != test.bad {
				t.Errorf("Copy: %v, want an error %v, damage %v", err, wrong, test.bad)
			}
			if _, err := os.Stat(path); (err == nil) != test.left {
				t.Errorf("the copy: %v, want that it is there %v", err, test.left)
			}
		})
	}
}
