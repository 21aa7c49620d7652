package setup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

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
	var b strings.Builder
	for {
		part, err := l.in.ReadSlice('\n')
		if b.Len()+len(part) > maxLine {
			return "", fmt.Errorf("an answer is longer than %d bytes; nothing was written", maxLine)
		}
		b.Write(part)
		switch {
		case err == nil, errors.Is(err, io.EOF) && b.Len() > 0:
			return strings.TrimSpace(b.String()), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return "", ErrEnded
		default:
			return "", fmt.Errorf("reading an answer: %w", err)
		}
	}
}

// The keys with a meaning while a secret is typed.
const (
	keyInterrupt = 3
	keyEnd       = 4
	keyBackspace = 8
	keyErase     = 21
	keyDelete    = 127
)

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
	typed, err := l.typed()
	if restored := term.Restore(l.terminal, before); err == nil && restored != nil {
		err = fmt.Errorf("showing the input again: %w", restored)
	}
	fmt.Fprintln(l.out)
	return strings.TrimSpace(typed), err
}

// typed reads from a raw terminal until Enter.
func (l *lines) typed() (string, error) {
	var text []byte
	for len(text) < maxLine {
		b, err := l.in.ReadByte()
		if err != nil {
			return "", fmt.Errorf("reading an answer: %w", err)
		}
		switch b {
		case '\r', '\n':
			return string(text), nil
		case keyInterrupt:
			return "", errInterrupted
		case keyEnd:
			if len(text) == 0 {
				return "", ErrEnded
			}
		case keyBackspace, keyDelete:
			_, size := utf8.DecodeLastRune(text)
			text = text[:len(text)-size]
		case keyErase:
			text = nil
		default:
			if b >= ' ' {
				text = append(text, b)
			}
		}
	}
	return "", fmt.Errorf("an answer is longer than %d bytes; nothing was written", maxLine)
}
