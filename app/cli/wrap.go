package cli

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
	"golang.org/x/term"
)

// usualWidth is the width of a terminal that does not say how wide it is.
const usualWidth = 80

// Width is the width of a terminal in columns. It is 0 when out is no terminal:
// programs get each line whole.
func Width(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		return width
	}
	return usualWidth
}

// Wrapping returns a writer that breaks lines between words when out is a terminal. It
// writes whole lines.
func Wrapping(out io.Writer) io.Writer {
	if width := Width(out); width > 0 {
		return &wrapping{out: out, width: width}
	}
	return out
}

type wrapping struct {
	out   io.Writer
	width int
	begun []byte // of a line
}

func (w *wrapping) Write(p []byte) (int, error) {
	w.begun = append(w.begun, p...)
	end := bytes.LastIndexByte(w.begun, '\n') + 1
	_, err := io.WriteString(w.out, Wrap(string(w.begun[:end]), w.width))
	w.begun = w.begun[end:]
	return len(p), err
}

// columnGap is the space before a column of a table, or before an indented line.
var columnGap = regexp.MustCompile(`^ +|  +`)

// Wrap breaks the lines of a text between words; a width of 0 leaves them as they are.
// The rest of a line begins below its last column. A word that is wider than the
// width stays whole.
func Wrap(text string, width int) string {
	if width <= 0 {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		indent := 0
		for _, gap := range columnGap.FindAllStringIndex(line, -1) {
			if column := displaywidth.String(line[:gap[1]]); column <= width*2/3 {
				indent = column
			}
		}
		column := 0
		for rest := line; rest != ""; {
			spaces := len(rest) - len(strings.TrimLeft(rest, " "))
			end := len(rest)
			if i := strings.IndexByte(rest[spaces:], ' '); i >= 0 {
				end = spaces + i
			}
			word := rest[:end]
			rest = rest[end:]
			wide := displaywidth.String(strings.TrimRightFunc(word, unicode.IsSpace))
			if column > indent && column+wide > width {
				out.WriteString("\n" + strings.Repeat(" ", indent))
				word = word[spaces:]
				column = indent
			}
			out.WriteString(word)
			column += displaywidth.String(word)
		}
	}
	return out.String()
}
