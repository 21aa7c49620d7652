package files_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/tools/builtin/files"
)

// FuzzPath uses a path in every way: nothing outside of the workspace shows or
// changes.
func FuzzPath(f *testing.F) {
	for i := 0; i < len(outward); i += 12 { // TestNothingLeaves has all of them
		f.Add(outward[i])
	}
	f.Fuzz(func(t *testing.T, path string) {
		d := playground(t)
		before := snapshot(t, d.base, d.home())
		for _, attempt := range attempts(path) {
			if tool, answer := attempt(d); strings.Contains(answer, secret) {
				t.Errorf("%s of %q showed %q", tool, path, answer)
			}
		}
		if after := snapshot(t, d.base, d.home()); after != before {
			t.Errorf("using %q changed what is outside of the workspace:\n%s", path, after)
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("a\nb\r\nc", "b", "x", false)
	f.Add("aaaa", "aa", "", true)
	f.Add("你好", "好", "$0", false)
	f.Fuzz(func(t *testing.T, before, old, replacement string, all bool) {
		if !utf8.ValidString(before) || !utf8.ValidString(old) || !utf8.ValidString(replacement) {
			t.Skip("JSON has no such strings")
		}
		d := open(t, files.Options{Write: true})
		plant(t, d.home(), map[string]string{"f": before})
		answer, failed := d.call("edit", args{"path": "f", "old_text": old, "new_text": replacement, "replace_all": all})
		n, want := strings.Count(before, old), before
		if ok := old != "" && old != replacement && (n == 1 || n > 1 && all); ok == failed {
			t.Fatalf("edit of %q from %q to %q said %q", before, old, replacement, answer)
		} else if ok {
			want = strings.ReplaceAll(before, old, replacement)
		}
		if got := content(t, d, "f"); got != want {
			t.Errorf("edit of %q from %q to %q made %q, want %q", before, old, replacement, got, want)
		}
	})
}

func FuzzSearch(f *testing.F) {
	f.Add("needle in hay", "needle", "*.txt", false)
	f.Add("a\x00b", "a.b", "**/{a,b}*", true)
	f.Add("İstanbul ſ", "i", "[!a-z]*", true)
	f.Fuzz(func(t *testing.T, text, pattern, glob string, regex bool) {
		d := open(t, files.Options{})
		plant(t, d.home(), map[string]string{"d/f.txt": text})
		answer, _ := d.call("search", args{"text": pattern, "glob": glob, "regex": regex})
		if !utf8.ValidString(answer) || strings.ContainsAny(answer, "\x00\x1b\u202e") {
			t.Errorf("search for %q in %q said %q", pattern, text, answer)
		}
		plain := utf8.ValidString(text) && utf8.ValidString(pattern) && pattern != "" && len(pattern) < 300 && !strings.ContainsAny(pattern, "\n") && !strings.Contains(text, "\x00")
		if !plain || strings.HasPrefix(text, "\ufeff") || !strings.Contains(text, pattern) {
			return
		}
		if got, failed := d.call("search", args{"text": pattern}); failed || !strings.HasPrefix(got, "d/f.txt:") {
			t.Errorf("search for %q in %q found %q", pattern, text, got)
		}
	})
}

// FuzzRead reads a text piece by piece and gets all of it.
func FuzzRead(f *testing.F) {
	f.Add("one\ntwo\nthree", 1)
	f.Add("\xff\xfeh\x00", 2)
	f.Fuzz(func(t *testing.T, content string, limit int) {
		d := open(t, files.Options{})
		plant(t, d.home(), map[string]string{"f": content})
		limit = max(1, limit%7)
		answer, failed := d.call("read", args{"path": "f", "limit": limit})
		if failed || answer == "" || !utf8.ValidString(answer) {
			t.Fatalf("reading %q gave %q", content, answer)
		}
		if strings.ContainsAny(content, "\x00") || !utf8.ValidString(content) || strings.HasPrefix(content, "\ufeff") || content == "" || len(content) > 10000 {
			return
		}
		whole := ""
		for at := 0; at <= strings.Count(content, "\n"); at += limit {
			piece, _ := d.call("read", args{"path": "f", "offset": at, "limit": limit})
			piece, _, _ = strings.Cut(piece, "\n[Lines ")
			piece, _, _ = strings.Cut(piece, "[The file ends before that")
			whole += piece
		}
		if whole != content && !strings.Contains(content, "[") {
			t.Errorf("reading %q by %d lines gave %q", content, limit, whole)
		}
	})
}
