package files_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"legwork/tools/builtin/files"
)

func content(t *testing.T, d *env, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(d.home(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWrite(t *testing.T) {
	d := open(t, files.Options{Write: true})
	if got := d.must("write", args{"path": "notes/2026/план.md", "content": "один"}); got != "Wrote notes/2026/план.md: 8 bytes." {
		t.Errorf("writing said %q", got)
	}
	if got := d.must("write", args{"path": "notes/2026/план.md", "content": ""}); got != "Replaced the content of notes/2026/план.md: 0 bytes." {
		t.Errorf("replacing said %q", got)
	}
	d.must("append", args{"path": "notes/2026/план.md", "content": "a\n"})
	if got := d.must("append", args{"path": "notes/2026/план.md", "content": "b\n"}); got != "Added 2 bytes to notes/2026/план.md, which has 4 now." {
		t.Errorf("appending said %q", got)
	}
	d.must("append", args{"path": "new.txt", "content": "first"})
	if got := content(t, d, "notes/2026/план.md") + content(t, d, "new.txt"); got != "a\nb\nfirst" {
		t.Errorf("the files hold %q", got)
	}
	if err := os.Chmod(filepath.Join(d.home(), "new.txt"), 0o640); err != nil {
		t.Fatal(err)
	}
	d.must("write", args{"path": "new.txt", "content": "second"})
	for name, want := range map[string]fs.FileMode{"new.txt": 0o640, "notes/2026/план.md": 0o600, "notes": 0o700 | fs.ModeDir, ".": 0o700 | fs.ModeDir} {
		if i, err := os.Stat(filepath.Join(d.home(), name)); err != nil || i.Mode() != want {
			t.Errorf("the mode of %s is %v (%v), want %v", name, i.Mode(), err, want)
		}
	}
	if err := os.Symlink("new.txt", filepath.Join(d.home(), "link")); err != nil {
		t.Fatal(err)
	}
	d.mustFail("write", args{"path": "link", "content": "x"}, "it is a link")
	d.mustFail("edit", args{"path": "link", "old_text": "s", "new_text": "x"}, "it is a link")
	d.mustFail("write", args{"path": "notes", "content": "x"}, "it is a folder")
	d.mustFail("write", args{"path": "new.txt/x", "content": "x"}, "a file, not a folder")
	for _, name := range []string{"", ".", "a:b", "what?", "nul", "x/COM3.txt", "dot.", " x", ".legwork-x", ".LEGWORK-x", strings.Repeat("x", 256)} {
		if answer, failed := d.call("write", args{"path": name, "content": "x"}); !failed {
			t.Errorf("writing to %q said %q", name, answer)
		}
	}
}

func TestEdit(t *testing.T) {
	tests := []struct {
		name, before, old, replacement string
		all                            bool
		after, words                   string // after is empty for an error
	}{
		{name: "once", before: "a\nb\nc\n", old: "b\n", replacement: "B\nB\n", after: "a\nB\nB\nc\n", words: "in line 2"},
		{name: "to nothing", before: "abc", old: "b", after: "ac", words: "in line 1"},
		{name: "dollars are plain", before: "x", old: "x", replacement: "$1 ${a} \\1", after: "$1 ${a} \\1", words: "line 1"},
		{name: "twice", before: "a a", old: "a", replacement: "b", words: "there 2 times"},
		{name: "all", before: "a\na", old: "a", replacement: "b", all: true, after: "b\nb", words: "2 passages of f.txt, the first in line 1"},
		{name: "missing", before: "a", old: "b", replacement: "c", words: "not in the file"},
		{name: "other line ends", before: "a\r\nb\r\n", old: "a\nb", replacement: "c", words: `\r\n`},
		{name: "other spaces", before: "a  b\tc", old: "a b c", replacement: "c", words: "other spaces"},
		{name: "the same", before: "a", old: "a", replacement: "a", words: "the same"},
		{name: "empty", before: "a", old: "", replacement: "a", words: "old_text"},
		{name: "Chinese", before: "北京到上海", old: "上海", replacement: "广州", after: "北京到广州", words: "line 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := open(t, files.Options{Write: true})
			plant(t, d.home(), map[string]string{"f.txt": test.before})
			a := args{"path": "f.txt", "old_text": test.old, "new_text": test.replacement, "replace_all": test.all}
			want := test.after
			if want == "" {
				d.mustFail("edit", a, test.words)
				want = test.before
			} else if got := d.must("edit", a); !strings.Contains(got, test.words) {
				t.Errorf("editing said %q, want %q in it", got, test.words)
			}
			if got := content(t, d, "f.txt"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
	open(t, files.Options{Write: true}).mustFail("edit", args{"path": "none", "old_text": "a", "new_text": "b"}, "does not exist")
}

func TestMove(t *testing.T) {
	d := open(t, files.Options{Write: true})
	plant(t, d.home(), map[string]string{"a.txt": "a", "d/b.txt": "b"})
	d.must("make_dir", args{"path": "x/y"})
	d.must("make_dir", args{"path": "x/y"})
	d.must("move", args{"from": "a.txt", "to": "x/z/a.txt"})
	d.must("move", args{"from": "d", "to": "x/y/d"})
	d.must("copy", args{"from": "x/y/d/b.txt", "to": "c/b.txt"})
	if got := content(t, d, "x/z/a.txt") + content(t, d, "x/y/d/b.txt") + content(t, d, "c/b.txt"); got != "abb" {
		t.Errorf("after moving the files hold %q", got)
	}
	d.mustFail("move", args{"from": "c/b.txt", "to": "x/z/a.txt"}, "exists already")
	d.mustFail("copy", args{"from": "c/b.txt", "to": "x"}, "exists already")
	d.mustFail("copy", args{"from": "x", "to": "w"}, "it is a folder")
	d.mustFail("move", args{"from": "none", "to": "w"}, "does not exist")
	d.mustFail("move", args{"from": ".", "to": "w"}, "the workspace itself")
	d.mustFail("make_dir", args{"path": "c/b.txt"}, "")
	d.mustFail("delete", args{"path": "x"}, "recursive to true")
	d.must("delete", args{"path": "c/b.txt"})
	d.must("delete", args{"path": "c"})
	d.must("delete", args{"path": "x", "recursive": true})
	d.mustFail("delete", args{"path": "x"}, "does not exist")
	if got := d.must("list", args{}); got != "The folder is empty." {
		t.Errorf("after deleting everything there is %q", got)
	}
}

func TestQuotas(t *testing.T) {
	d := open(t, files.Options{Write: true, MaxFileBytes: 100, MaxTotalBytes: 250, MaxFiles: 6})
	block := strings.Repeat("x", 100)
	d.mustFail("write", args{"path": "a", "content": block + "x"}, "101 bytes, and 100 is the most")
	d.must("write", args{"path": "a", "content": block})
	d.mustFail("append", args{"path": "a", "content": "x"}, "101 bytes, and 100 is the most")
	d.mustFail("edit", args{"path": "a", "old_text": block, "new_text": block + "x"}, "100 is the most")
	d.must("copy", args{"from": "a", "to": "b"})
	d.mustFail("copy", args{"from": "a", "to": "c"}, "holds 200 bytes, and 250 is the most")
	d.must("write", args{"path": "a", "content": block[1:]}) // no more than was there
	d.must("append", args{"path": "c", "content": block[:51]})
	d.mustFail("append", args{"path": "c", "content": "x"}, "250 is the most")
	d.mustFail("make_dir", args{"path": "d/e/f/g"}, "holds 3 files and folders, and 6 is the most")
	d.must("make_dir", args{"path": "d/e/f"})
	d.mustFail("write", args{"path": "g", "content": ""}, "6 is the most")
	d.mustFail("move", args{"from": "a", "to": "g/a"}, "6 is the most")
	d.must("move", args{"from": "a", "to": "g"})
	d.must("delete", args{"path": "d", "recursive": true})
	d.must("write", args{"path": "d", "content": ""})
	if s := snapshot(t, d.home(), ""); strings.Contains(s, ".legwork-") {
		t.Errorf("refused writes left something:\n%s", s)
	}
}

// TestQuotaAtOnce writes from many callers into little room.
func TestQuotaAtOnce(t *testing.T) {
	d := open(t, files.Options{Write: true, MaxTotalBytes: 1000})
	var g sync.WaitGroup
	for i := range 20 {
		g.Go(func() { d.call("write", args{"path": fmt.Sprint(i), "content": strings.Repeat("x", 100)}) })
	}
	g.Wait()
	if got := d.must("info", args{}); !strings.Contains(got, "10 files and folders with 1000 bytes") {
		t.Errorf("info said %q, want 10 files with 1000 bytes", got)
	}
}

// TestEditsAtOnce: no edit is lost.
func TestEditsAtOnce(t *testing.T) {
	d := open(t, files.Options{Write: true})
	d.must("write", args{"path": "n", "content": "."})
	var g sync.WaitGroup
	for range 30 {
		g.Go(func() { d.call("append", args{"path": "n", "content": "x"}) })
	}
	g.Wait()
	if got := content(t, d, "n"); got != "."+strings.Repeat("x", 30) {
		t.Errorf("30 additions at once left %q", got)
	}
}

// TestQuotaFarDown nests folders deeper than a path may be.
func TestQuotaFarDown(t *testing.T) {
	d := open(t, files.Options{Write: true, MaxTotalBytes: 100})
	deep := strings.TrimSuffix(strings.Repeat("a/", 30), "/")
	d.must("make_dir", args{"path": deep})
	d.must("make_dir", args{"path": strings.ReplaceAll(deep, "a", "b")})
	d.must("write", args{"path": strings.ReplaceAll(deep, "a", "b") + "/f", "content": strings.Repeat("x", 90)})
	d.must("move", args{"from": "b", "to": deep + "/b"})
	d.mustFail("write", args{"path": "g", "content": strings.Repeat("x", 90)}, "holds 90 bytes, and 100 is the most")
}

// TestKilled kills a process between writing and renaming: the old content
// stays, and what it left does not show and goes away.
func TestKilled(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "writer")
	if out, err := exec.Command("go", "build", "-tags", "failpoints", "-o", bin, "./testdata/writer").CombinedOutput(); err != nil {
		t.Fatalf("building the writer: %v\n%s", err, out)
	}
	for _, call := range []string{
		`{"tool": "write", "path": "f.txt", "content": "new"}`,
		`{"tool": "append", "path": "f.txt", "content": "new"}`,
		`{"tool": "edit", "path": "f.txt", "old_text": "old", "new_text": "new"}`,
	} {
		d := open(t, files.Options{Write: true})
		plant(t, d.home(), map[string]string{"f.txt": "old"})
		writer := exec.Command(bin, d.home(), call)
		writer.Env = append(os.Environ(), "LEGWORK_FAILPOINT=files.before.rename:1")
		out, _ := writer.CombinedOutput()
		if s, ok := writer.ProcessState.Sys().(syscall.WaitStatus); !ok || !s.Signaled() {
			t.Fatalf("the writer was not killed: %v %s", writer.ProcessState, out)
		}
		if got := content(t, d, "f.txt"); got != "old" {
			t.Errorf("%s, killed, left %q, want old", call, got)
		}
		if got := d.must("list", args{}); strings.Contains(got, "\n") || !strings.HasPrefix(got, "f.txt (3 bytes") {
			t.Errorf("after the kill there is %q", got)
		}
		half, err := filepath.Glob(filepath.Join(d.home(), ".legwork-*"))
		if err != nil || len(half) != 1 {
			t.Fatalf("the kill left %q (%v), want one file", half, err)
		}
		d.must("append", args{"path": "f.txt", "content": "er"})
		if _, err := os.Stat(half[0]); err != nil {
			t.Errorf("a half-written file that may be somebody's is gone: %v", err)
		}
		past := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(half[0], past, past); err != nil {
			t.Fatal(err)
		}
		d.must("append", args{"path": "f.txt", "content": "!"})
		if _, err := os.Stat(half[0]); err == nil {
			t.Error("an abandoned half-written file is still there")
		}
		if got := content(t, d, "f.txt"); got != "older!" {
			t.Errorf("after the kill two additions made %q, want older!", got)
		}
	}
}
