package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"legwork/internal/clip"

	"github.com/muesli/cancelreader"
	"golang.org/x/term"
)

// maxLine bounds one answer, in bytes.
const maxLine = 64 << 10

// lines reads answers, one to a line.
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

// ask asks for a line. Without a terminal it prints the answer too.
func (l *lines) ask(question string) (string, error) {
	fmt.Fprint(l.out, question)
	answer, err := l.read()
	if l.terminal < 0 {
		fmt.Fprintln(l.out, answer)
	}
	return answer, err
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

// errInterrupted is returned after Ctrl-C while a secret is typed.
var errInterrupted = errors.New("interrupted; nothing was written")

// secret asks for a secret. The terminal stops showing what is typed before the
// question appears.
func (l *lines) secret(question string) (string, error) {
	if l.terminal < 0 {
		fmt.Fprint(l.out, question)
		answer, err := l.read()
		fmt.Fprintln(l.out)
		return answer, err
	}
	before, err := term.MakeRaw(l.terminal)
	if err != nil {
		return "", fmt.Errorf("hiding the input: %w", err)
	}
	fmt.Fprint(l.out, strings.ReplaceAll(question, "\n", "\r\n"))
	keys := &keys{Reader: l.in}
	typed, err := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{keys, l.out}, "").ReadPassword("")
	switch {
	case errors.Is(err, io.EOF) && keys.last == interrupt:
		err = errInterrupted
	case errors.Is(err, io.EOF):
		err = ErrEnded
	case err != nil:
		err = fmt.Errorf("reading an answer: %w", err)
	}
	if restored := term.Restore(l.terminal, before); err == nil && restored != nil {
		err = fmt.Errorf("showing the input again: %w", restored)
	}
	return strings.TrimSpace(typed), err
}

// interrupt is what Ctrl-C sends while a secret is typed.
const interrupt = 3

// keys reads one byte at a time. The next question gets the bytes that the person
// typed ahead.
type keys struct {
	*bufio.Reader
	last byte
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.Reader.Read(p[:1])
	k.last = p[0]
	return n, err
}
