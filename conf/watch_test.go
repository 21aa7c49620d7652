package conf_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"legwork/conf"
	"legwork/internal/test/watch"
)

// TestWatch: a change of the config file or of .env is told, however it is
// written; other files are not.
func TestWatch(t *testing.T) {
	replace := func(path, text string) error {
		fresh := path + ".new"
		if err := os.WriteFile(fresh, []byte(text), 0o600); err != nil {
			return err
		}
		return os.Rename(fresh, path)
	}
	write := func(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }
	for _, test := range []struct {
		name, file string
		change     func(path, text string) error
		want       bool
	}{
		{"written over", "config.yaml", write, true},
		{"replaced", "config.yaml", replace, true},
		{"variables", ".env", write, true},
		{"another file", "notes.txt", write, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "config.yaml")
			if err := write(path, "language: en\n"); err != nil {
				t.Fatal(err)
			}
			changed := make(chan struct{}, 1)
			w, err := conf.Watch(path, slog.New(slog.DiscardHandler), changed)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if err := test.change(filepath.Join(folder, test.file), "language: ru\n"); err != nil {
				t.Fatal(err)
			}
			if !test.want { // what must be told comes after it
				if err := write(path, "language: zh\n"); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case <-changed:
			case <-time.After(watch.Patience):
				t.Fatal("the change was not told")
			}
			select {
			case <-changed:
				t.Error("one change was told twice")
			case <-time.After(500 * time.Millisecond):
			}
		})
	}
}

// TestWatchImports: imported files are watched as long as they are imported,
// and the config file all the time.
func TestWatchImports(t *testing.T) {
	folder, other := t.TempDir(), t.TempDir()
	path, imported := filepath.Join(folder, "config.yaml"), filepath.Join(other, "mcp.json")
	write := func(path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(path)
	write(imported)
	changed := make(chan struct{}, 1)
	w, err := conf.Watch(path, slog.New(slog.DiscardHandler), changed)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	told := func(what string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(watch.Patience):
			t.Fatalf("a change of %s was not told", what)
		}
	}
	w.Also(imported, filepath.Join(folder, "more.json"))
	write(imported)
	told("the imported file")
	write(filepath.Join(folder, "more.json"))
	told("a file beside the config")
	write(path)
	told("the config file")
	w.Also()
	write(imported)
	write(filepath.Join(folder, "more.json"))
	select {
	case <-changed:
		t.Error("a change of a file that is no longer imported was told")
	case <-time.After(600 * time.Millisecond):
	}
	write(path)
	told("the config file")
}
