package e2e_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runs runs legwork to its end, which must be good, and checks what it says.
func (w *env) runs(words []string, args ...string) {
	w.t.Helper()
	code, out, said := w.finish("", args...)
	if code != 0 || !holdsAll(out, words) {
		w.t.Fatalf("legwork %s: exit code %d, %q, %q; want 0 and %q", strings.Join(args, " "), code, out, said, words)
	}
}

// stored lists the files of the data folder that hold a text.
func (w *env) stored(text string) (files []string) {
	w.t.Helper()
	err := filepath.WalkDir(w.file("data"), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return files
}

// TestDataBeside: while legwork serves, its data are backed up, verified, made
// small, and somebody is forgotten down to the bytes; everybody else goes on.
func TestDataBeside(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.bob, b.ann))
	b.Say(b.bob.ID, b.bob, "later0: tattletale")
	b.once(b.bob.ID, "answers: later0: tattletale")
	b.Say(group, b.bob, "/task later1: tattletale again")
	b.once(group, "answers: later1: tattletale again")
	b.Say(group, b.ann, "/task later2: keepsake")
	b.once(group, "answers: later2: keepsake")
	b.Say(b.bob.ID, b.bob, "/timezone Paris")
	b.runs([]string{"legwork.db: ", ", good."}, "data", "verify")
	b.runs([]string{"outside.db: ", "read again and good"}, "data", "backup", "outside.db")
	b.runs([]string{"legwork.db: ", "writes waited for"}, "data", "compact")
	if files := b.stored("tattletale"); len(files) != 1 {
		t.Fatalf("the secret is in %q, want the data file", files)
	}
	b.Say(b.bob.ID, b.bob, "/plan q3: desk tattletale")
	b.offers(b.bob.ID, "Run")
	b.runs([]string{"tasks with their steps", "3\n", "questions and answers", "settings and permissions", "legwork stopped 1 running tasks first"},
		"data", "forget", "--yes", "telegram:2")
	if files := b.stored("tattletale"); len(files) > 0 {
		t.Errorf("the secret is still in %q", files)
	}
	if len(b.stored("keepsake")) == 0 {
		t.Error("what another person asked is gone")
	}
	if code, _, said := b.finish("", "data", "backup", "outside.db"); code != 1 || !strings.Contains(said, "exists already") {
		t.Errorf("a backup over another one: got exit code %d, %q", code, said)
	}
	if code, _, said := b.finish("", "data", "restore", "--from", "outside.db"); code != 1 || !strings.Contains(said, "is in use by") || strings.Contains(said, "yes") {
		t.Errorf("a restore beside legwork serve: got exit code %d, %q; want 1 and no question", code, said)
	}
	b.goesOn(b.bob)
	b.goesOn(b.ann)
	s.alive()
	s.stops()
	if code, _, said := b.finish("", "data", "restore", "--from", "nowhere.db"); code != 1 || !strings.Contains(said, "no good backup") || strings.Contains(said, "Type") {
		t.Errorf("a restore from no backup: got exit code %d, %q; want 1 and no question", code, said)
	}
	if code, _, said := b.finish("no\n", "data", "restore", "--from", "outside.db"); code != 2 || !holdsAll(said, []string{"outside.db replaces ", "Everything stored after ", "nothing was changed"}) {
		t.Errorf("a restore that is declined: got exit code %d, %q", code, said)
	}
	b.runs([]string{"outside.db: ", ", good."}, "data", "verify", "outside.db")
	copied, err := os.ReadFile(b.file("outside.db"))
	if err != nil {
		t.Fatal(err)
	}
	for at := range copied { // also where it stood before
		if bytes.HasPrefix(copied[at:], []byte("keepsake")) {
			copied[at] ^= 1
		}
	}
	if err := os.WriteFile(b.file("memory-of-outside.db"), copied, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory-of-outside.db": "damaged", "nowhere.db": "no such file"} {
		if code, out, said := b.finish("", "data", "verify", file); code != 1 || out != "" || !strings.Contains(said, want) {
			t.Errorf("verifying %s: got exit code %d, %q, %q; want 1 and %q", file, code, out, said, want)
		}
	}
}

// TestDataRestored: a data file that is damaged by a crash is replaced at the
// next start, the admins read what that has cost, and everything goes on.
func TestDataRestored(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.goesOn(b.ann)
	if err := os.MkdirAll(b.file("data/backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.runs([]string{"good"}, "data", "backup", "data/backups/legwork-20260101-000000.db")
	b.goesOn(b.bob)
	s.kill()
	file := b.file("data/legwork.db")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole { // also where it stood before
		if page := at / 4096; bytes.HasPrefix(whole[at:], []byte(`"goal":"later0`)) {
			clear(whole[page*4096 : (page+1)*4096])
		}
	}
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	s = b.opens()
	b.sees(b.ann.ID, "The stored data was damaged, and the backup of 2026-01-01 00:00", "legwork.db.damaged-")
	s.logged("level=ERROR", "data file replaced by a backup", "everything stored after")
	b.goesOn(b.bob)
	b.goesOn(b.ann)
	s.stops()
	b.runs([]string{"legwork.db: ", ", good."}, "data", "verify")
}

// TestDataGone: a data file that is gone does not make an empty bot while there
// are backups: its conversations come back, and the admins read what was lost.
func TestDataGone(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.Say(b.bob.ID, b.bob, "gone0: keepsake")
	b.once(b.bob.ID, "answers: gone0: keepsake")
	if err := os.MkdirAll(b.file("data/backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.runs([]string{"good"}, "data", "backup", "data/backups/legwork-20260101-000000.db")
	s.stops()
	if err := os.Remove(b.file("data/legwork.db")); err != nil {
		t.Fatal(err)
	}
	s = b.opens()
	b.sees(b.ann.ID, "The stored data was damaged, and the backup of 2026-01-01 00:00")
	s.logged("level=ERROR", "data file replaced by a backup", "legwork-20260101-000000.db")
	b.Say(b.bob.ID, b.bob, "/history")
	b.sees(b.bob.ID, "gone0: keepsake →")
	s.stops()
}
