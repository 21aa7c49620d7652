package cli_test

import (
	"strings"
	"testing"

	"github.com/creack/pty"

	"legwork/app/cli"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"", 10, ""},
		{"one two three\nfour\n", 8, "one two\nthree\nfour\n"},
		{"one two three", 0, "one two three"},
		{"https://example.com/long two\n", 8, "https://example.com/long\ntwo\n"},
		{"  indented text here\n", 12, "  indented\n  text here\n"},
		{"name   a long text here\nother  short\n", 18, "name   a long text\n       here\nother  short\n"},
		{"a very very wide column before  text here\n", 24, "a very very wide column\nbefore  text here\n"},
		{"日本語 日本語\n", 7, "日本語\n日本語\n"},
		{"exactly 10\nexactly 10\n", 10, "exactly 10\nexactly 10\n"},
	} {
		if got := cli.Wrap(c.text, c.width); got != c.want {
			t.Errorf("Wrap(%q, %d) = %q, want %q", c.text, c.width, got, c.want)
		}
	}
}

// TestWrapping: a terminal gets lines of its width, whatever the pieces are in which
// they are written; anything else gets them whole.
func TestWrapping(t *testing.T) {
	var whole strings.Builder
	if out := cli.Wrapping(&whole); out != &whole {
		t.Errorf("a writer that is no terminal became %T", out)
	}
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	if got := cli.Width(slave); got != 80 {
		t.Errorf("a terminal that does not say how wide it is has the width %d, want 80", got)
	}
	if err := pty.Setsize(master, &pty.Winsize{Rows: 5, Cols: 12}); err != nil {
		t.Fatal(err)
	}
	out := cli.Wrapping(slave)
	for _, piece := range []string{"one two th", "ree four", " five\n"} {
		if _, err := out.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	shown, want := make([]byte, 100), "one two\r\nthree four\r\nfive\r\n"
	n, err := master.Read(shown)
	if got := string(shown[:n]); err != nil || got != want {
		t.Errorf("the terminal shows %q, %v; want %q", got, err, want)
	}
}
