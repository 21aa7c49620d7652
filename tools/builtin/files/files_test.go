package files_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/builtin/caller"
	"legwork/tools/builtin/files"
)

// TestOffered checks which tools there are and what they say about themselves.
func TestOffered(t *testing.T) {
	reads, adds, harms := "reads", "adds", "destroys"
	readers := map[string]string{"list": reads, "read": reads, "search": reads, "info": reads}
	writers := map[string]string{
		"list": reads, "read": reads, "search": reads, "info": reads,
		"write": harms + " repeats", "append": adds, "edit": harms, "make_dir": adds + " repeats", "move": harms, "copy": adds + " repeats", "delete": harms + " repeats",
	}
	for write, want := range map[bool]map[string]string{false: readers, true: writers} {
		d := open(t, files.Options{Write: write})
		res, err := d.client.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, tool := range res.Tools {
			a := tool.Annotations
			word := adds
			switch {
			case *a.ReadOnlyHint:
				word = reads
			case *a.DestructiveHint:
				word = harms
			}
			if *a.IdempotentHint && word != reads {
				word += " repeats"
			}
			if *a.OpenWorldHint {
				t.Errorf("%s is said to reach the open world", tool.Name)
			}
			got[tool.Name] = word
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("tools with write %v (-want +got):\n%s", write, diff)
		}
	}
	d := open(t, files.Options{})
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = "write", args{"path": "a", "content": "b"}
	if res, err := d.client.CallTool(t.Context(), r); err == nil && !res.IsError {
		t.Error("write worked without the option write")
	}
}

func TestList(t *testing.T) {
	d := open(t, files.Options{})
	for _, tool := range []string{"list", "search", "info"} {
		if got, failed := d.call(tool, args{"path": ".", "glob": "*"}); failed && tool == "search" {
			t.Errorf("%s of a workspace that nobody wrote to failed: %s", tool, got)
		}
	}
	if got := d.must("list", args{}); got != "The folder is empty." {
		t.Errorf("list of nothing said %q", got)
	}
	if got := d.must("info", args{}); !strings.Contains(got, "0 files and folders with 0 bytes") {
		t.Errorf("info of nothing said %q", got)
	}
	if _, err := os.Stat(filepath.Join(d.base, "workspace")); err == nil {
		t.Error("reading made a folder")
	}
	plant(t, d.home(), map[string]string{"b.txt": "12345", "a/deep/c.txt": "", "A.txt": "1", ".legwork-half": "x"})
	at := time.Date(2026, 11, 20, 15, 30, 0, 0, time.UTC)
	for _, name := range []string{"b.txt", "A.txt", "a/deep/c.txt"} {
		if err := os.Chtimes(filepath.Join(d.home(), name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("b.txt", filepath.Join(d.home(), "z")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		a    args
		want string
	}{
		{args{}, "A.txt (1 bytes, 2026-11-20 15:30 UTC)\na/\nb.txt (5 bytes, 2026-11-20 15:30 UTC)\nz (link)"},
		{args{"path": "a"}, "a/deep/"},
		{args{"path": "./a/"}, "a/deep/"},
		{args{"path": "a", "recursive": true}, "a/deep/\na/deep/c.txt (0 bytes, 2026-11-20 15:30 UTC)"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, d.must("list", test.a)); diff != "" {
			t.Errorf("list of %v (-want +got):\n%s", test.a, diff)
		}
	}
	d.mustFail("list", args{"path": "b.txt"}, "it is not a folder")
	d.mustFail("list", args{"path": "none"}, "does not exist")
}

func TestListIsBounded(t *testing.T) {
	d := open(t, files.Options{})
	many := map[string]string{}
	for i := range 1200 {
		many[fmt.Sprintf("d/%04d", i)] = ""
	}
	many["d/evil\nfile \u202egpj.exe"] = ""
	plant(t, d.home(), many)
	got := d.must("list", args{"recursive": true})
	if lines := strings.Count(got, "\n"); lines != 1000 || !strings.HasSuffix(got, "[This is not all; the first 1000 are shown. List one of the folders, or search by name with a glob.]") {
		t.Errorf("list of 1200 files has %d lines and ends %q", lines, got[len(got)-120:])
	}
	if got := d.must("search", args{"glob": "evil*"}); !strings.HasPrefix(got, `"d/evil\nfile \u202egpj.exe" (0 bytes`) {
		t.Errorf("a name with a line break shows as %q", got)
	}
}

func TestRead(t *testing.T) {
	d := open(t, files.Options{})
	var numbers strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&numbers, "line %d\n", i+1)
	}
	long := strings.Repeat("ы", 20000)
	plant(t, d.home(), map[string]string{
		"small.txt": "one\ntwo\nthree", "ends.txt": "one\ntwo\n", "empty.txt": "", "numbers.txt": numbers.String(), "long.txt": "a\n" + long + "\nz\n",
		"bom.txt": "\ufeffhi\n", "utf16.txt": "\xff\xfeh\x00i\x00\n\x00", "binary.bin": "\x00\x01\x02", "page.pdf": "%PDF-1.7\n\x00\xff", "中文.txt": "你好，世界\n",
		"latin1.txt": "caf\xe9 cr\xe8me", "split.txt": strings.Repeat("a", 8191) + "é" + "b",
	})
	tests := []struct {
		a    args
		want string
	}{
		{args{"path": "small.txt"}, "one\ntwo\nthree"},
		{args{"path": "ends.txt"}, "one\ntwo\n"},
		{args{"path": "empty.txt"}, "[The file is empty.]"},
		{args{"path": "small.txt", "offset": 1, "limit": 1}, "two\n\n[Lines 2 to 2. Go on with offset 2.]"},
		{args{"path": "small.txt", "offset": 1}, "two\nthree\n[Lines 2 to 3, where the file ends.]"},
		{args{"path": "ends.txt", "offset": 1, "limit": 1}, "two\n\n[Lines 2 to 2, where the file ends.]"},
		{args{"path": "small.txt", "offset": 9}, "[The file ends before that: it has 3 lines.]"},
		{args{"path": "small.txt", "unit": "bytes", "offset": 4, "limit": 3}, "two\n[Bytes 4 to 7 of 13. Go on with offset 7.]"},
		{args{"path": "small.txt", "unit": "bytes", "offset": 8}, "three"},
		{args{"path": "small.txt", "unit": "bytes", "offset": 13}, "[The file ends before that: it has 13 bytes.]"},
		{args{"path": "numbers.txt", "offset": 2499}, "line 2500\n\n[Lines 2500 to 2500, where the file ends.]"},
		{args{"path": "bom.txt"}, "hi\n"},
		{args{"path": "utf16.txt"}, "hi\n"},
		{args{"path": "中文.txt"}, "你好，世界\n"},
		{args{"path": "中文.txt", "unit": "bytes", "limit": 4}, "你\uFFFD\n[Bytes 0 to 4 of 16. Go on with offset 4.]"},
		{args{"path": "binary.bin"}, "binary.bin is no text: application/octet-stream, 3 bytes. Its content cannot be shown."},
		{args{"path": "page.pdf"}, "page.pdf is no text: application/pdf, 11 bytes. Its content cannot be shown."},
		{args{"path": "split.txt"}, strings.Repeat("a", 8191) + "éb"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, d.must("read", test.a)); diff != "" {
			t.Errorf("read of %v (-want +got):\n%s", test.a, diff)
		}
	}
	if got := d.must("read", args{"path": "numbers.txt"}); !strings.HasSuffix(got, "line 1000\n\n[Lines 1 to 1000. Go on with offset 1000.]") {
		t.Errorf("read of 2500 lines ends with %q", got[len(got)-80:])
	}
	if got := d.must("read", args{"path": "long.txt"}); !strings.Contains(got, "…\nz\n") || !strings.HasSuffix(got, `[Lines that end in "…" are cut; read with unit "bytes" for the rest.]`) {
		t.Errorf("read of a long line ends with %q", got[len(got)-120:])
	}
	if got := d.must("read", args{"path": "latin1.txt"}); !strings.Contains(got, "is no text") {
		t.Errorf("read of an old encoding gave %q", got)
	}
	d.mustFail("read", args{"path": "small.txt", "offset": -1}, "offset")
	d.mustFail("read", args{"path": "small.txt", "offset": 1e300}, "offset")
	d.mustFail("read", args{}, "path")
	d.mustFail("read", args{"path": "a", "patth": "b"}, "patth")
}

// TestHugeFile reads a file that no memory holds.
func TestHugeFile(t *testing.T) {
	d := open(t, files.Options{Write: true})
	plant(t, d.home(), map[string]string{"huge.txt": strings.Repeat("row\n", 3000)})
	huge := filepath.Join(d.home(), "huge.txt")
	if err := os.Truncate(huge, 1<<40); err != nil {
		t.Skip("the file system has no room for a file with holes:", err)
	}
	if got := d.must("read", args{"path": "huge.txt", "limit": 2}); got != "row\nrow\n\n[Lines 1 to 2. Go on with offset 2.]" {
		t.Errorf("the first lines are %q", got)
	}
	if got := d.must("read", args{"path": "huge.txt", "unit": "bytes", "limit": 4}); got != "row\n\n[Bytes 0 to 4 of 1099511627776. Go on with offset 4.]" {
		t.Errorf("the first bytes are %q", got)
	}
	if got := d.must("read", args{"path": "huge.txt", "offset": 5000}); !strings.Contains(got, "too far from the beginning") {
		t.Errorf("far away are %.200q", got)
	}
	if got := d.must("search", args{"text": "row"}); !strings.Contains(got, "Too large to be searched: 1 files, such as huge.txt") {
		t.Errorf("search said %.200q", got)
	}
	d.mustFail("edit", args{"path": "huge.txt", "old_text": "row", "new_text": "x"}, "is the most")
	d.mustFail("append", args{"path": "huge.txt", "content": "row"}, "is the most")
	d.mustFail("copy", args{"from": "huge.txt", "to": "copy.txt"}, "is the most")
	d.must("delete", args{"path": "huge.txt"})
}

func TestReadImage(t *testing.T) {
	d := open(t, files.Options{})
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	plant(t, d.home(), map[string]string{"dot.png": b.String(), "large.png": b.String() + strings.Repeat("\x00", 5<<20)})
	r := d.result(caller.Caller{}, "read", args{"path": "dot.png"})
	picture, ok := r.Content[len(r.Content)-1].(mcp.ImageContent)
	if !ok || picture.MIMEType != "image/png" || picture.Data != base64.StdEncoding.EncodeToString(b.Bytes()) {
		t.Errorf("reading an image gave %v", r.Content)
	}
	if got := d.must("read", args{"path": "large.png"}); !strings.Contains(got, "It is larger than the 5242880 bytes") {
		t.Errorf("reading a large image said %q", got)
	}
}

func TestSearch(t *testing.T) {
	d := open(t, files.Options{})
	plant(t, d.home(), map[string]string{
		"a.md": "# Title\nThe Budget is 10.5 EUR\n", "notes/b.md": "no budget\r\nbudget two\r\n", "notes/deep/c.txt": "бюджет и Бюджет\n预算是十\n", "bin.dat": "budget\x00",
		"long.txt": strings.Repeat("é", 500) + "needle" + strings.Repeat("é", 500), "far.txt": strings.Repeat("x", 100<<10) + "needle\nneedle", "esc.txt": "a\x1b[31mneedle\u202e!",
	})
	long := strings.Repeat("é", 50) + "needle" + strings.Repeat("é", 97)
	tests := []struct {
		a    args
		want string
	}{
		{args{"text": "budget"}, "a.md:2: The Budget is 10.5 EUR\nnotes/b.md:1: no budget\nnotes/b.md:2: budget two"},
		{args{"text": "budget", "match_case": true, "path": "notes"}, "notes/b.md:1: no budget\nnotes/b.md:2: budget two"},
		{args{"text": "budget", "path": "a.md"}, "a.md:2: The Budget is 10.5 EUR"},
		{args{"text": "БЮДЖЕТ"}, "notes/deep/c.txt:1: бюджет и Бюджет"},
		{args{"text": "预算"}, "notes/deep/c.txt:2: 预算是十"},
		{args{"text": "10.5"}, "a.md:2: The Budget is 10.5 EUR"},
		{args{"text": "1.\\.5", "regex": true}, "a.md:2: The Budget is 10.5 EUR"},
		{args{"text": "10x5"}, "Nothing was found."},
		{args{"text": "budget", "glob": "a.*"}, "a.md:2: The Budget is 10.5 EUR"},
		{args{"text": "title", "glob": "notes/**"}, "Nothing was found."},
		{args{"text": "two", "glob": "*.{md,txt}"}, "notes/b.md:2: budget two"},
		{args{"text": "needle", "glob": "long.txt"}, "long.txt:1: …" + long + "…"},
		{args{"text": "needle", "glob": "esc.txt"}, "esc.txt:1: a [31mneedle !"},
		{args{"text": "budget", "limit": 1}, "a.md:2: The Budget is 10.5 EUR\n[Not everything was searched: 1 were found until then. Search for something rarer, or in one folder.]"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, d.must("search", test.a)); diff != "" {
			t.Errorf("search with %v (-want +got):\n%s", test.a, diff)
		}
	}
	if got := d.must("search", args{"text": "needle", "glob": "far.txt"}); strings.Count(got, "\n") != 1 || !strings.Contains(got, "far.txt:2: needle") {
		t.Errorf("search far into a line found %q", got)
	}
	for glob, want := range map[string]string{"*.md": "a.md notes/b.md", "notes/*": "notes/b.md notes/deep/", "**/c.*": "notes/deep/c.txt", "deep": "notes/deep/", "none*": "Nothing"} {
		got := []string{}
		for line := range strings.Lines(d.must("search", args{"glob": glob})) {
			got = append(got, strings.Fields(line)[0])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("glob %s found %q, want %q", glob, got, want)
		}
	}
	d.mustFail("search", args{}, "nothing to search for")
	d.mustFail("search", args{"text": "(", "regex": true}, "cannot be read")
	d.mustFail("search", args{"glob": "[a"}, "cannot be read")
	d.mustFail("search", args{"glob": strings.Repeat("*a", 20)}, "too many stars")
}

func TestInfo(t *testing.T) {
	d := open(t, files.Options{Write: true, MaxTotalBytes: 1000, MaxFiles: 9})
	plant(t, d.home(), map[string]string{"a.txt": "12345", "d/b": "1"})
	for path, want := range map[string]string{
		"a.txt": "size: 5 bytes\ncontent: text/plain; charset=utf-8", "d": "entries: 1",
		".": "holds 3 files and folders with 6 bytes. It can hold 9 files and folders with 1000 bytes, and 1000 bytes in one file.",
	} {
		if got := d.must("info", args{"path": path}); !strings.Contains(got, want) {
			t.Errorf("info of %s said %q, want %q in it", path, got, want)
		}
	}
	d.mustFail("info", args{"path": "none"}, "does not exist")
}

// BenchmarkWrite writes a small file into a workspace of many.
func BenchmarkWrite(b *testing.B) {
	d := open(b, files.Options{Write: true})
	many := map[string]string{}
	for i := range 1000 {
		many[fmt.Sprintf("d%d/f%d.txt", i%20, i)] = "text"
	}
	plant(b, d.home(), many)
	for b.Loop() {
		d.must("write", args{"path": "d1/new.txt", "content": "hello"})
	}
}

func BenchmarkRead(b *testing.B) {
	d := open(b, files.Options{})
	plant(b, d.home(), map[string]string{"f.txt": strings.Repeat("a line of text\n", 600)})
	for b.Loop() {
		d.must("read", args{"path": "f.txt"})
	}
}
