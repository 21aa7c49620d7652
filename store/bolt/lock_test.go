package bolt_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/store/bolt"
)

// TestLocked: a second process learns who holds the directory, and gets it as
// soon as the first one is gone, killed or not.
func TestLocked(t *testing.T) {
	for _, end := range []string{"closed", "killed"} {
		t.Run(end, func(t *testing.T) {
			dir := t.TempDir()
			c := child(t, "hold", dir)
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "open\n" {
				t.Fatalf("the child said %q, %v", line, err)
			}
			start := time.Now()
			_, err = bolt.Open(t.Context(), dir, bolt.Options{})
			checkLocked(t, err, dir, c.Process.Pid)
			if took := time.Since(start); took > watch.Patience {
				t.Fatalf("finding the directory locked took %v", took)
			}
			if end == "killed" {
				_ = c.Process.Kill()
			}
			_, _ = io.WriteString(in, "\n")
			_ = c.Wait()
			open(t, dir, bolt.Options{})
		})
	}
}

func checkLocked(t *testing.T, err error, dir string, pid int) {
	t.Helper()
	var locked *bolt.LockedError
	if !errors.As(err, &locked) {
		t.Fatalf("opening a directory in use: got %v, want a LockedError", err)
	}
	if locked.Holder.PID != pid || locked.Holder.Command != "legwork chat" || time.Since(locked.Holder.Since) > time.Hour {
		t.Fatalf("holder: got %+v, want pid %d of legwork chat since just now", locked.Holder, pid)
	}
	want := fmt.Sprintf("data directory %s is in use by pid %d (legwork chat, since %s); stop it or choose another data_dir",
		dir, pid, locked.Holder.Since.Local().Format("15:04"))
	if got := err.Error(); got != want {
		t.Fatalf("message:\n got %s\nwant %s", got, want)
	}
}

// TestStaleHolder: a lock file that names a process that is gone, or holds
// garbage, keeps no process out.
func TestStaleHolder(t *testing.T) {
	for _, text := range []string{`{"pid":1,"command":"legwork serve","since":"2020-01-01T00:00:00Z"}`, "garbage", "{}", strings.Repeat("\x00", 4096)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lock.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s := open(t, dir, bolt.Options{})
		if err := s.PutSetting(t.Context(), "o", "n", "v"); err != nil {
			t.Fatalf("lock file %.20q: %v", text, err)
		}
	}
}

// TestLockMessage covers what the other tests cannot bring about.
func TestLockMessage(t *testing.T) {
	old := time.Date(2020, 5, 1, 8, 30, 0, 0, time.Local)
	for _, c := range []struct {
		err  bolt.LockedError
		want string
	}{
		{bolt.LockedError{Dir: "data"}, "data directory data is in use by another process; stop it or choose another data_dir"},
		{
			bolt.LockedError{Dir: "data", Holder: bolt.Holder{PID: 7, Command: "legwork serve", Since: old, Host: "elsewhere"}},
			"data directory data is in use by pid 7 on elsewhere (legwork serve, since 2020-05-01 08:30); stop it or choose another data_dir",
		},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.err, got, c.want)
		}
	}
}

// TestPrivate: other users of the machine may not read what people asked.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	open(t, dir, bolt.Options{})
	for path, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, filepath.Join(dir, bolt.FileName): 0o600, filepath.Join(dir, "lock.json"): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// TestUnusable: directories that no store can be in.
func TestUnusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if s, err := bolt.Open(t.Context(), dir, bolt.Options{}); err == nil {
			t.Errorf("Open(%s): got %v, want an error", dir, s)
		}
	}
}
