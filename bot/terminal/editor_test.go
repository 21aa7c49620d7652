package terminal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// type into a new editor what a keyboard sends.
func typed(in string) *editor {
	var d decoder
	e := &editor{}
	for _, k := range d.feed([]byte(in)) {
		switch k.name {
		case keyUp:
			e.up()
		case keyDown:
			e.down()
		default:
			e.apply(k)
		}
	}
	return e
}

func TestEditor(t *testing.T) {
	const left, right, up, down = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[B"
	for _, c := range []struct{ name, in, want string }{ // | is the cursor
		{"typing", "abc", "abc|"},
		{"moving", "abc" + left + left + right, "ab|c"},
		{"inserting", "ac" + left + "b", "ab|c"},
		{"backspace", "abc\x7f", "ab|"},
		{"backspace at the start", "a\x01\x7f", "|a"},
		{"delete", "abc\x01\x1b[3~", "|bc"},
		{"wide characters", "你好" + left + "\x7f", "|好"},
		{"combining mark", "e\u0301x\x7f\x7f", "|"},
		{"mark joins", "e" + "\u0301" + left, "|e\u0301"},
		{"emoji of several code points", "👩‍👩‍👧" + left, "|👩‍👩‍👧"},
		{"home and end", "ab\x01x\x05y", "xaby|"},
		{"words", "one two three\x1bb\x1bb", "one |two three"},
		{"word forward", "one two\x01\x1bf", "one| two"},
		{"kill word", "one two\x17", "one |"},
		{"kill and yank", "one two\x17\x01\x19", "two|one "},
		{"kill to the end", "one two\x01\x1bf\x0b", "one|"},
		{"kill to the start", "one two\x15", "|"},
		{"kill joins lines", "a\nb" + up + "\x05\x0b", "a|b"},
		{"up and down", "abc\nd" + up + "x" + down + "y", "axbc\ndy|"},
		{"home in a line", "ab\ncd\x01x", "ab\nx|cd"},
		{"paste", "a\x1b[200~1\r2\x1b[201~b", "a1\n2b|"},
		{"paste of controls", "\x1b[200~\x00a\x1b[2Jb\x07\x1b[201~", "a␛[2Jb␇|"},
		{"invalid bytes", "\xff\xfe", "\uFFFD\uFFFD|"},
	} {
		e := typed(c.in)
		got := strings.Join(e.text[:e.pos], "") + "|" + strings.Join(e.text[e.pos:], "")
		if got != c.want {
			t.Errorf("%s: after %q got %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestEditorLayout(t *testing.T) {
	for _, c := range []struct {
		in          string
		rows        []string
		row, column int
	}{
		{"", []string{""}, 0, 0},
		{"abc", []string{"abc"}, 0, 3},
		{"abcdef", []string{"abcde", "f"}, 1, 1},
		{"abcde", []string{"abcde", ""}, 1, 0},
		{"你好世", []string{"你好", "世"}, 1, 2},
		{"a\nb\x1b[A", []string{"a", "b"}, 0, 1},
		{"a\x1b[200~\t\x1b[201~b", []string{"a    ", "b"}, 1, 1},
	} {
		rows, row, column := typed(c.in).layout(5)
		if diff := cmp.Diff(c.rows, rows); diff != "" || row != c.row || column != c.column {
			t.Errorf("layout of %q: cursor %d,%d, want %d,%d; rows (-want +got):\n%s", c.in, row, column, c.row, c.column, diff)
		}
	}
}

func BenchmarkEditorLayoutOfALongPaste(b *testing.B) {
	e := &editor{}
	e.insert(strings.Repeat("some words 你好 ", 6000))
	b.ReportMetric(float64(len(e.String())), "bytes")
	for b.Loop() {
		e.layout(77)
	}
}

func TestHistoryIsKeptInItsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sub", "history")
	h, err := openHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range []string{"one", "two\nlines", "two\nlines", strings.Repeat("x", maxHistoryEntry+1)} {
		if err := h.add(entry); err != nil {
			t.Fatal(err)
		}
	}
	if h, err = openHistory(file); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		newer bool
		want  string
		ok    bool
	}{
		{false, "two\nlines", true},
		{false, "one", true},
		{false, "", false},
		{true, "two\nlines", true},
		{true, "draft", true},
		{true, "", false},
	}
	for i, s := range steps {
		step := h.newer
		if !s.newer {
			step = func() (string, bool) { return h.older("draft") }
		}
		got, ok := step()
		if got != s.want || ok != s.ok {
			t.Errorf("step %d: got %q, %v; want %q, %v", i, got, ok, s.want, s.ok)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("history file: %v, %v; want mode 0600", info.Mode(), err)
	}
}

func TestHistoryFileStaysShort(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	b.WriteString("no JSON\n")
	for i := range 2*maxHistory + 1 {
		fmt.Fprintf(&b, "\"entry %d\"\n", i)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openHistory(file); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	if len(lines) != maxHistory || lines[len(lines)-1] != fmt.Sprintf("%q", fmt.Sprintf("entry %d", 2*maxHistory)) {
		t.Errorf("the file has %d entries and ends with %s, want %d and the newest", len(lines), lines[len(lines)-1], maxHistory)
	}
}

func TestDecoder(t *testing.T) {
	text := func(s string) key { return key{name: keyText, text: s} }
	for _, c := range []struct {
		in   string
		want []key
	}{
		{"ab é 世", []key{text("ab é 世")}},
		{"a\rb\n\t\x7f", []key{text("a"), {name: keyEnter}, text("b"), {name: keyNewline}, {name: keyTab}, {name: keyBackspace}}},
		{"\x01\x05\x15\x0b\x17\x19\x12\x0c", []key{
			{name: keyHome},
			{name: keyEnd},
			{name: keyKillToStart},
			{name: keyKillToEnd},
			{name: keyKillWordLeft},
			{name: keyYank},
			{name: keySearch},
			{name: keyRedraw},
		}},
		{"\x03\x04", []key{{name: keyInterrupt}, {name: keyLeave}}},
		{"\x1b[A\x1b[B\x1bOC\x1bOD", []key{{name: keyUp}, {name: keyDown}, {name: keyRight}, {name: keyLeft}}},
		{"\x1b[1;5C\x1b[1;3D\x1bb\x1bf", []key{{name: keyWordRight}, {name: keyWordLeft}, {name: keyWordLeft}, {name: keyWordRight}}},
		{"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", []key{{name: keyHome}, {name: keyEnd}, {name: keyHome}, {name: keyEnd}, {name: keyDelete}}},
		{"\x1b\r\x1b[13;2u\x1b[27;2;13~\x1b[13u", []key{{name: keyNewline}, {name: keyNewline}, {name: keyNewline}, {name: keyEnter}}},
		{"\x1bd\x1b\x7f", []key{{name: keyKillWordRight}, {name: keyKillWordLeft}}},
		{"\x1b[200~a\rb\r\nc\x1b[31m\x1b[201~d", []key{{name: keyPaste, text: "a\nb\nc\x1b[31m"}, text("d")}},
		{"\x1b[99;99Xa\x1b[?25ha", []key{text("a"), text("a")}},
		{"\x1b[5\x01", []key{{name: keyHome}}},
		{"\xffa", []key{text("\uFFFDa")}},
		{"\u009b31m", []key{text("31m")}},
	} {
		var d decoder
		if diff := cmp.Diff(joined(c.want), joined(d.feed([]byte(c.in))), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q (-want +got):\n%s", c.in, diff)
		}
		var slow decoder
		var got []key
		for i := range len(c.in) {
			got = append(got, slow.feed([]byte{c.in[i]})...)
		}
		if diff := cmp.Diff(joined(c.want), joined(got), cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q, byte by byte (-want +got):\n%s", c.in, diff)
		}
	}
}

// joined puts texts together that follow each other: how they were split
// depends on how the bytes arrived.
func joined(keys []key) []key {
	var all []key
	for _, k := range keys {
		if n := len(all); n > 0 && k.name == keyText && all[n-1].name == keyText {
			all[n-1].text += k.text
			continue
		}
		all = append(all, k)
	}
	return all
}

func TestDecoderTellsEscapeFromSequences(t *testing.T) {
	var d decoder
	if got := d.feed([]byte("\x1b")); len(got) != 0 || !d.waiting() {
		t.Fatalf("after ESC: got %v, waiting %v; want it held back", got, d.waiting())
	}
	if got := d.flush(); len(got) != 1 || got[0].name != keyEscape || d.waiting() {
		t.Errorf("after a while: got %v, want the escape key", got)
	}
}

func FuzzDecoder(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\x1b[1;5C\xe4\xb8"), 3)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		if cut < 0 || cut > len(in) {
			cut = len(in) / 2
		}
		var whole, parts decoder
		want := joined(whole.feed(in))
		got := parts.feed(in[:cut])
		got = joined(append(got, parts.feed(in[cut:])...))
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(key{})); diff != "" {
			t.Errorf("keys of %q change when it is cut at %d (-whole +cut):\n%s", in, cut, diff)
		}
		var e editor
		for _, k := range want {
			e.apply(k)
		}
		rows, row, column := e.layout(10)
		if row >= len(rows) || column > 10 || e.pos > len(e.text) {
			t.Errorf("after %q the cursor is at row %d of %d, column %d of 10", in, row, len(rows), column)
		}
	})
}
