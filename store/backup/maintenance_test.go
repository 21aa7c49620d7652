package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"legwork/internal/fsutil"
	"legwork/store/backup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is a data file and its maintainer, with a clock that is moved by hand.
type env struct {
	*testing.T
	dir string

	mu        sync.Mutex
	now       time.Duration // ahead of the clock
	content   string
	broken    error // the error of writing it
	damaged   bool
	unsound   error // damage that readers have met
	always    bool  // there is always something to compact
	compacted int
	retained  int
	told      []backup.Notice
}

func (w *env) config() backup.Config {
	locked := func(do func()) { w.mu.Lock(); defer w.mu.Unlock(); do() }
	return backup.Config{
		Dir: w.dir, Every: 24 * time.Hour, Keep: 3,
		Files: []backup.File{{
			Name: "legwork.db",
			Write: func(_ context.Context, to io.Writer) error {
				w.mu.Lock()
				defer w.mu.Unlock()
				if w.broken != nil {
					return w.broken
				}
				_, err := io.WriteString(to, w.content)
				return err
			},
			Size: func() (n int64, err error) { locked(func() { n = int64(len(w.content)) }); return n, nil },
			Verify: func(_ context.Context, path string) (err error) {
				locked(func() {
					if text, readErr := os.ReadFile(path); readErr != nil || w.damaged || string(text) != w.content {
						err = errors.New("task 7 is damaged")
					}
				})
				return err
			},
		}},
		Corruption: func() (file string, err error) { locked(func() { err = w.unsound }); return "legwork.db", err },
		Retain:     func(context.Context) error { locked(func() { w.retained++ }); return nil },
		Freed:      func() (yes bool) { locked(func() { yes = w.always }); return yes },
		Compact:    func(context.Context) error { locked(func() { w.compacted++ }); return nil },
		Now:        func() (now time.Time) { locked(func() { now = time.Now().Add(w.now) }); return now },
		Log:        slog.New(slog.DiscardHandler),
		Notify:     func(_ context.Context, n backup.Notice) { locked(func() { w.told = append(w.told, n) }) },
	}
}

// run lets a maintainer work for that long after its start.
func (w *env) run(d time.Duration) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan error, 1)
	go func() { ended <- backup.New(w.config()).Run(ctx) }()
	time.Sleep(d) //nolint:forbidigo // in a bubble of synctest
	synctest.Wait()
	cancel()
	if err := <-ended; err != nil {
		w.Fatal(err)
	}
}

// inTime runs a test in a bubble whose time passes when all its goroutines wait.
func inTime(t *testing.T, test func(w *env)) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "backups")
	synctest.Test(t, func(t *testing.T) { test(&env{T: t, dir: dir, content: "data"}) })
}

func (w *env) files() []string {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (w *env) backups() int { return len(backup.List(w.dir, "legwork.db")) }

// TestBackups: one soon, then one a day, and the oldest go; a restart makes none.
func TestBackups(t *testing.T) {
	inTime(t, func(w *env) {
		for day := range 6 {
			w.run(time.Minute)
			if got, want := w.backups(), min(day+1, 3); got != want {
				w.Fatalf("on day %d there are %d backups, want %d", day, got, want)
			}
			w.run(12 * time.Hour)
			list := backup.List(w.dir, "legwork.db")
			if age := time.Now().Add(w.now).Sub(list[0].At); age < 12*time.Hour || age > 12*time.Hour+2*time.Minute {
				w.Fatalf("on day %d the newest is %v old", day, age)
			}
			w.now += 12 * time.Hour // nothing runs
			text, err := os.ReadFile(list[0].Path)
			info, errInfo := os.Stat(list[0].Path)
			if err != nil || errInfo != nil || string(text) != "data" || info.Mode().Perm() != 0o600 {
				w.Fatalf("the newest holds %q, mode %v, %v", text, info.Mode(), err)
			}
		}
		before := w.files()
		w.now -= 1000 * time.Hour // the clock is set back
		w.run(5 * time.Hour)
		if after := w.files(); len(after) != 3 || slices.Equal(before, after) {
			w.Errorf("after the clock was set back: files %v, before %v, want one new", after, before)
		}
		w.run(50 * time.Hour)
		if after := w.files(); len(after) != 3 || slices.Contains(after, before[2]) {
			w.Errorf("two days later: files %v, want none of the future", after)
		}
	})
}

// TestDamaged: a copy that is damaged is told once a day, counts for nothing, and
// the good ones before stay.
func TestDamaged(t *testing.T) {
	inTime(t, func(w *env) {
		w.run(time.Minute)
		w.damaged = true
		w.run(100 * time.Hour)
		if len(w.told) != 4 || w.told[0].Kind != backup.NoticeDamaged || !strings.Contains(w.told[0].Text, "task 7") || w.told[0].File != "legwork.db" {
			w.Errorf("told: %+v", w.told)
		}
		if names := w.files(); len(names) != 2 || w.backups() != 1 {
			w.Errorf("files: %v, want one good backup and the newest damaged one", names)
		}
		w.damaged = false
		w.run(2 * time.Hour)
		if names := w.files(); len(names) != 2 || w.backups() != 2 {
			w.Errorf("files: %v, want two good backups", names)
		}
	})
}

// TestFailing: what cannot be made leaves nothing, and is told.
func TestFailing(t *testing.T) {
	for kind, err := range map[string]error{backup.NoticeNoRoom: fsutil.ErrNoRoom, backup.NoticeFailed: errors.New("no luck")} {
		inTime(t, func(w *env) {
			w.broken = fmt.Errorf("copying: %w", err)
			w.run(3 * time.Hour)
			if len(w.told) != 1 || w.told[0].Kind != kind || len(w.files()) > 0 {
				w.Errorf("%v: told %+v, files %v", err, w.told, w.files())
			}
		})
	}
}

// TestLeftovers: what kills have left is removed; other files are not.
func TestLeftovers(t *testing.T) {
	inTime(t, func(w *env) {
		if err := os.MkdirAll(w.dir, 0o700); err != nil {
			w.Fatal(err)
		}
		for _, name := range []string{
			"legwork-19990101-000000.db.unverified", ".legwork-19990101-000000.db.unverified.123",
			"legwork-mine.db", "memory-19990101-000000.db.unverified", "legwork-19990101-000000.db",
		} {
			if err := os.WriteFile(filepath.Join(w.dir, name), []byte("x"), 0o600); err != nil {
				w.Fatal(err)
			}
		}
		w.run(time.Minute)
		got := strings.Join(w.files(), " ")
		if want := "legwork-19990101-000000.db legwork-20000101-000030.db legwork-mine.db memory-19990101-000000.db.unverified"; got != want {
			w.Errorf("files: got %s, want %s", got, want)
		}
	})
}

// TestNoData: of nothing there is no backup and nothing to tell.
func TestNoData(t *testing.T) {
	inTime(t, func(w *env) {
		w.content = ""
		w.run(5 * time.Hour)
		if w.retained != 1 || len(w.told) > 0 || len(w.files()) > 0 {
			w.Errorf("retained %d times, told %+v, files %v", w.retained, w.told, w.files())
		}
	})
}

// TestDeleted: deleted data leaves the files soon, but not with every
// deletion; old data goes once a day.
func TestDeleted(t *testing.T) {
	inTime(t, func(w *env) {
		w.always = true
		w.run(10 * time.Minute)
		if w.compacted < 3 || w.compacted > 4 || w.retained != 1 {
			w.Errorf("in ten minutes: compacted %d times, retained %d times; want 3 or 4, and 1", w.compacted, w.retained)
		}
		w.always, w.compacted, w.retained = false, 0, 0
		w.run(49 * time.Hour)
		if w.compacted != 0 || w.retained != 3 {
			w.Errorf("in two days: compacted %d times, retained %d times; want 0 and 3", w.compacted, w.retained)
		}
	})
}

// FuzzList: no name in the folder is taken for a backup that is none.
func FuzzList(f *testing.F) {
	f.Add("legwork-20261120-090000.db")
	f.Add("legwork-20261320-090000.db")
	f.Add("legwork-.db")
	f.Fuzz(func(t *testing.T, name string) {
		if name != filepath.Base(name) || strings.ContainsAny(name, "/\x00") || len(name) > 100 || name == "." || name == ".." {
			t.Skip()
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Skip()
		}
		for _, b := range backup.List(dir, "legwork.db") {
			if backup.Path(dir, "legwork.db", b.At) != filepath.Join(dir, name) {
				t.Errorf("%q was taken for the backup of %v", name, b.At)
			}
		}
	})
}

// TestWrite: a file has its name only when it is whole.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	big := bytes.Repeat([]byte("0123456789"), 1<<20)
	n, err := fsutil.Write(t.Context(), path, func(w io.Writer) error { _, err := w.Write(big); return err })
	if err != nil || n != int64(len(big)) {
		t.Fatalf("Write: %d, %v", n, err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, big) {
		t.Fatalf("it holds %d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = fsutil.Write(ctx, path, func(w io.Writer) error {
		cancel()
		_, err := w.Write(big[:8<<20])
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("a write that has to end: got %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, big) {
		t.Errorf("the file before is gone: %d bytes, %v", len(got), err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := fsutil.CheckFree(dir, 1<<60); !errors.Is(err, fsutil.ErrNoRoom) {
		t.Errorf("an exbibyte: got %v", err)
	}
}

// TestUnsound: damage that somebody met is told within a minute, once a day, also
// where no backups are made.
func TestUnsound(t *testing.T) {
	inTime(t, func(w *env) {
		w.run(time.Minute)
		if len(w.told) > 0 {
			w.Fatalf("told without damage: %+v", w.told)
		}
		w.unsound = errors.New("page 7 cannot be read")
		config := w.config()
		config.Every = 0
		ctx, cancel := context.WithTimeout(w.Context(), time.Minute)
		defer cancel()
		if err := backup.New(config).Run(ctx); err != nil {
			w.Fatal(err)
		}
		want := []backup.Notice{{Kind: backup.NoticeDamaged, File: "legwork.db", Text: "page 7 cannot be read"}}
		if !slices.Equal(w.told, want) {
			w.Errorf("told %+v, want %+v", w.told, want)
		}
	})
}
