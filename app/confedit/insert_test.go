package confedit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"legwork/app/confedit"
)

// TestInsert: an entry is added to a section; all other bytes stay.
func TestInsert(t *testing.T) {
	entry := confedit.Entry{Name: "weather", Comment: "from x", Keys: []confedit.Key{{"command", "npx"}, {"args", `["-y", "a: #b"]`}}}
	const block = "  # from x\n  weather:\n    command: npx\n    args: [\"-y\", \"a: #b\"]\n"
	const flow = `weather: {command: npx, args: ["-y", "a: #b"]}`
	for name, c := range map[string]struct{ before, after string }{ // | marks the place
		"at the end of the file":     {"# head\nservers:\n  a: {builtin: math} # x\n|", block},
		"before the next section":    {"servers:\n  a:\n    url: x\n  # about a\n|\n# about groups\ngroups:\n  b: {}\n", block},
		"no line break at the end":   {"servers:\n  a: {builtin: math}|", "\n" + block},
		"deeper":                     {"servers:\n      a: {b: c}\n|groups: {}\n", "      # from x\n      weather:\n        command: npx\n        args: [\"-y\", \"a: #b\"]\n"},
		"an empty section":           {"servers:\n  # none yet\n|\nlanguage: en\n", block},
		"no section":                 {"language: en # x\n|", "\nservers:\n" + block},
		"line breaks of Windows":     {"servers:\r\n  a: {b: c}\r\n|\r\nx: 1\r\n", strings.ReplaceAll(block, "\n", "\r\n")},
		"a text of several lines":    {"servers:\n  a:\n    b: |2\n      # text\n\n      more\n|# x\ny: 1\n", block},
		"in braces":                  {"a: é\nservers: {|b: {c: d}} # x\n", flow + ", "},
		"in empty braces":            {"servers: {|}\n", flow},
		"the whole file in braces":   {`{"servers": {|"b": {"c": "d"}}, "x": 1}`, flow + ", "},
		"tabs, comments, odd spaces": {"\n\n#\t\nservers:   # all\n\n  a:   {b:   c}\n|\n#---\nz:   1\n\n\n", block},
	} {
		t.Run(name, func(t *testing.T) {
			marked := c.before
			if name == "a text of several lines" { // it holds a | itself
				marked = strings.Replace(marked, "b: |2", "b: \x002", 1)
			}
			want := strings.Replace(strings.Replace(marked, "|", c.after, 1), "\x00", "|", 1)
			before := strings.Replace(strings.Replace(marked, "|", "", 1), "\x00", "|", 1)
			got, err := confedit.Insert(before, "servers", entry)
			if err != nil || got != want {
				t.Errorf("got %v\n%q\nwant\n%q", err, got, want)
			}
		})
	}
	for name, text := range map[string]string{
		"no YAML": "servers: [", "a list": "- a\n", "an alias": "a: &a {b: {c: d}}\nservers: *a\n", "it is there": "servers:\n  weather: {a: b}\n",
		"a null": "servers: ~\n", "an end of the document": "language: en\n...\n", "braces without the section": "{language: en}", "a text that keeps its end": "servers:\n  a:\n    b: |+\n      text\n\n\nx: 1\n",
	} {
		if got, err := confedit.Insert(text, "servers", entry); err == nil {
			t.Errorf("%s: got %q, want an error", name, got)
		}
	}
}

// FuzzInsert: a text that Insert makes holds the old one, with something added in one place.
func FuzzInsert(f *testing.F) {
	f.Add("servers:\n  a: {b: c}\n", "w")
	f.Add("x: 1\r\nservers: {}\r\n", "null")
	f.Fuzz(func(t *testing.T, text, name string) {
		got, err := confedit.Insert(text, "servers", confedit.Entry{Name: name, Keys: []confedit.Key{{"a", "1"}}})
		if err != nil {
			return
		}
		same := 0
		for same < len(text) && text[same] == got[same] {
			same++
		}
		if !strings.HasSuffix(got, text[same:]) {
			t.Errorf("%q became %q", text, got)
		}
	})
}

// TestReplaceFile: a file that was changed since it was opened stays as it is, and so do the
// rights of one that is replaced.
func TestReplaceFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	write("a: 1\r\n")
	file, err := confedit.Open(path)
	if err != nil || file.Text() != "a: 1\r\n" {
		t.Fatalf("got %q, %v", file.Text(), err)
	}
	write("a: 2\n")
	if err := file.Replace(t.Context(), "a: 3\n"); !errors.Is(err, confedit.ErrChanged) {
		t.Errorf("a changed file: got %v, want ErrChanged", err)
	}
	if file, err = confedit.Open(path); err != nil || file.Text() != "a: 2\n" {
		t.Fatalf("got %q, %v", file.Text(), err)
	}
	if err := file.Replace(t.Context(), "a: 3\r\n"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(text) != "a: 3\r\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("got %q, %v, %v", text, info.Mode(), err)
	}
	if _, err := confedit.Open(filepath.Dir(path)); err == nil {
		t.Error("a folder was opened")
	}
}
