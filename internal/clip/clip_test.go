package clip_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"legwork/internal/clip"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text                string
		n                   int
		bytes, marked, line string
	}{
		{"", 0, "", "", ""},
		{"abc", 3, "abc", "abc", "abc"},
		{"abc", 2, "ab", "ab…", "ab…"},
		{"abc", 0, "", "…", "…"},
		{"日本語", 9, "日本語", "日本語", "日本語"},
		{"日本語", 8, "日本", "日本…", "日本語"},
		{"日本語", 2, "", "…", "日本…"},
		{"a😀b", 4, "a", "a…", "a😀b"},
		{" a \n\t b  c ", 4, " a \n", " a \n…", "a b…"},
		{"a b", 2, "a ", "a …", "a…"},
		{"\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80", "\x80\x80…", "\x80\x80\x80\x80\x80\x80…"},
	} {
		if got := clip.Bytes(c.text, c.n); got != c.bytes {
			t.Errorf("Bytes(%q, %d) = %q, want %q", c.text, c.n, got, c.bytes)
		}
		if got := clip.Marked(c.text, c.n); got != c.marked {
			t.Errorf("Marked(%q, %d) = %q, want %q", c.text, c.n, got, c.marked)
		}
		if got := clip.Line(c.text, c.n); got != c.line {
			t.Errorf("Line(%q, %d) = %q, want %q", c.text, c.n, got, c.line)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 5, ""},
		{"one two", 7, "one two"},
		{"one two three", 7, "one two…"},
		{"one two three", 9, "one two…"},
		{"one two\nthree", 6, "one…"},
		{"a verylongword", 9, "a verylon…"},
		{"done…", 5, "done…"},
		{"日本語", 2, "日本…"},
	} {
		if got := clip.Words(c.text, c.n); got != c.want {
			t.Errorf("Words(%q, %d) = %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add("日本語", 4)
	f.Add("a\xff\x80", 2)
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = max(0, min(n, 1<<20))
		got := clip.Bytes(text, n)
		if len(got) > n || !strings.HasPrefix(text, got) || len(got) < min(n, len(text))-utf8.UTFMax {
			t.Errorf("Bytes(%q, %d) = %q", text, n, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("Bytes(%q, %d) = %q, which is no valid UTF-8 although all is", text, n, got)
		}
		if got := clip.Line(text, n); utf8.RuneCountInString(got) > n+1 || strings.ContainsAny(got, "\n\t\r") {
			t.Errorf("Line(%q, %d) = %q", text, n, got)
		}
		if got := clip.Words(text, n); utf8.RuneCountInString(got) > n+1 {
			t.Errorf("Words(%q, %d) = %q", text, n, got)
		}
	})
}
