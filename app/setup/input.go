package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"

	"legwork/app/cli"
	"legwork/internal/clip"
)

// maxLine bounds one answer, in bytes.
const maxLine = 64 << 10

// lines reads answers, one to a line. On a terminal a person can edit a line before
// Enter.
type lines struct {
	in       *bufio.Reader
	out      io.Writer
	terminal int // file descriptor of In when it is a terminal, otherwise -1
}

// newLines reads from in until ctx ends. The caller calls done at the end.
func newLines(ctx context.Context, in io.Reader, out io.Writer) (l *lines, done func()) {
	l = &lines{out: out, terminal: -1}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		l.terminal = int(file.Fd())
	}
	reader, err := cancelreader.NewReader(in)
	if err != nil { // a file, which never blocks
		l.in = bufio.NewReader(in)
		return l, func() {}
	}
	l.in = bufio.NewReader(reader)
	stop := context.AfterFunc(ctx, func() { reader.Cancel() })
	return l, func() {
		stop()
		_ = reader.Close() // this does not close in
	}
}

const prompt = "> "

// ask asks for a line below a question. Without a terminal it prints the answer too.
func (l *lines) ask(question string) (string, error) {
	l.show("\n" + question + "\n")
	if l.terminal < 0 {
		fmt.Fprint(l.out, prompt)
		answer, err := l.read()
		fmt.Fprintln(l.out, answer)
		return answer, err
	}
	return l.raw(func(in *keys) (string, error) {
		editor := term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{in, l.out}, prompt)
		if width, height, err := term.GetSize(l.terminal); err == nil && width > 0 {
			_ = editor.SetSize(width, height) // fails for no width alone
		}
		return editor.ReadLine()
	})
}

// secret asks for a secret. The terminal shows a star for each character.
func (l *lines) secret(question string) (string, error) {
	l.show("\n" + question + "\n")
	if l.terminal < 0 {
		fmt.Fprint(l.out, prompt)
		answer, err := l.read()
		fmt.Fprintln(l.out)
		return answer, err
	}
	return l.raw(func(in *keys) (string, error) { return stars(in, l.out) })
}

// read returns the next line without surrounding space.
func (l *lines) read() (string, error) {
	line, tooLong, err := clip.ReadLine(l.in, maxLine)
	switch {
	case tooLong:
		return "", fmt.Errorf("an answer is longer than %d bytes; nothing was written", maxLine)
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return strings.TrimSpace(string(line)), nil
	case errors.Is(err, io.EOF):
		return "", ErrEnded
	}
	return "", fmt.Errorf("reading an answer: %w", err)
}

// errInterrupted is returned after Ctrl-C.
var errInterrupted = errors.New("interrupted; nothing was written")

// raw reads an answer while the terminal hands over each key and shows none.
func (l *lines) raw(read func(*keys) (string, error)) (string, error) {
	before, err := term.MakeRaw(l.terminal)
	if err != nil {
		return "", fmt.Errorf("reading keys: %w", err)
	}
	in := &keys{Reader: l.in}
	typed, err := read(in)
	switch {
	case errors.Is(err, io.EOF) && in.last == interrupt:
		err = errInterrupted
	case errors.Is(err, io.EOF):
		err = ErrEnded
	case err != nil:
		err = fmt.Errorf("reading an answer: %w", err)
	}
	if restored := term.Restore(l.terminal, before); err == nil && restored != nil {
		err = fmt.Errorf("restoring the terminal: %w", restored)
	}
	if err != nil {
		fmt.Fprintln(l.out) // the error message begins a line
	}
	return strings.TrimSpace(typed), err
}

// Keys as a terminal sends them.
const (
	interrupt = 3 // Ctrl-C
	endInput  = 4 // Ctrl-D
	backspace = 8
	clearLine = 21 // Ctrl-U
	escape    = 27
	erase     = 127
)

// mostStars keeps the stars of a long secret in one line.
const mostStars = 60

// stars reads a secret up to Enter and writes a star for each character.
func stars(in io.ByteReader, out io.Writer) (string, error) {
	fmt.Fprint(out, prompt)
	var typed []byte
	shown := 0
	show := func() {
		want := min(len([]rune(string(typed))), mostStars)
		if want > shown {
			fmt.Fprint(out, strings.Repeat("*", want-shown))
		} else {
			fmt.Fprint(out, strings.Repeat("\b \b", shown-want))
		}
		shown = want
	}
	for len(typed) <= maxLine {
		key, err := in.ReadByte()
		if err != nil {
			return "", err
		}
		switch {
		case key == '\r' || key == '\n':
			fmt.Fprint(out, "\r\n")
			return string(typed), nil
		case key == interrupt, key == endInput && len(typed) == 0:
			return "", io.EOF
		case key == backspace, key == erase:
			if runes := []rune(string(typed)); len(runes) > 0 {
				typed = []byte(string(runes[:len(runes)-1]))
			}
		case key == clearLine:
			typed = nil
		case key == escape:
			if err := skipSequence(in); err != nil {
				return "", err
			}
		case key >= ' ':
			typed = append(typed, key)
		}
		show()
	}
	return "", fmt.Errorf("an answer is longer than %d bytes", maxLine)
}

// skipSequence drops the rest of a key such as an arrow: [ or O, parameters, and a
// last character from @ to ~.
func skipSequence(in io.ByteReader) error {
	key, err := in.ReadByte()
	for err == nil && (key == '[' || key == 'O' || key < '@') {
		key, err = in.ReadByte()
	}
	return err
}

// keys reads one byte at a time. The next question gets the bytes that the person
// typed ahead.
type keys struct {
	*bufio.Reader
	last byte
}

// Read gives the editor of x/term, which knows Home and End as xterm sends them, these
// two keys of tmux, screen and PuTTY, too.
func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p[:1])
	k.last = p[0]
	if k.last == escape && k.Buffered() >= len("[1~") && len(p) >= len("\x1b[H") {
		rest, _ := k.Peek(len("[1~"))
		if key := map[string]string{"[1~": "[H", "[7~": "[H", "[4~": "[F", "[8~": "[F"}[string(rest)]; key != "" {
			_, _ = k.Discard(len(rest))
			n += copy(p[1:], key)
		}
	}
	return n, err
}

func (k *keys) ReadByte() (byte, error) {
	b, err := k.Reader.ReadByte()
	k.last = b
	return b, err
}

// maxWidth is how wide lines are at most on a terminal.
const maxWidth = 100

// show writes a text. On a terminal its lines break between words.
func (l *lines) show(text string) {
	fmt.Fprint(l.out, cli.Wrap(text, min(maxWidth, cli.Width(l.out))))
}
