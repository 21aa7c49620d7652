package terminal

import (
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
