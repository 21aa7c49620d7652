package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"legwork/internal/clip"

	"github.com/muesli/cancelreader"
)

// Bounds of what is read at once.
const (
	maxLine  = 4 << 20 // bytes of one line
	maxBatch = 256     // lines handed on together
)

// inputLine is one line of input without its end.
type inputLine struct {
	number  int // from 1
	text    string
	tooLong bool // text is only its beginning
}

// readLines hands every line of r to take until r ends or take returns false.
func readLines(r io.Reader, take func(inputLine) bool) error {
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		line, tooLong, err := clip.ReadLine(in, maxLine)
		l := inputLine{number, strings.TrimRight(string(line), "\r\n"), tooLong}
		if (err == nil || l.text != "") && !take(l) {
			err = io.EOF // the reader stops
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// startReading reads lines in a goroutine until the input or ctx ends. wait
// stops it, waits for it and returns its error.
func startReading(ctx context.Context, in io.Reader) (lines <-chan inputLine, wait func() error) {
	ctx, cancel := context.WithCancel(ctx)
	in, interrupt := interruptible(in)
	ch := make(chan inputLine, maxBatch)
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, interrupt)
	go func() {
		defer close(ch)
		done <- readLines(in, func(l inputLine) bool {
			select {
			case ch <- l:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	return ch, func() error {
		over := ctx.Err() != nil
		cancel()
		err := <-done
		stop()
		if over {
			err = nil // cancelling made it fail
		}
		return err
	}
}

// interruptible makes reads that can be cancelled. Files that cannot be polled,
// such as regular ones, never block and stay as they are.
func interruptible(in io.Reader) (io.Reader, func()) {
	if f, ok := in.(*os.File); ok {
		if r, err := cancelreader.NewReader(f); err == nil {
			return r, func() { r.Cancel() }
		}
		return in, func() {}
	}
	if c, ok := in.(io.Closer); ok {
		return in, func() { _ = c.Close() } // the read that it ends reports it
	}
	return in, func() {}
}

// batch waits for a line and adds those that wait already. more is false when the
// input has ended.
func batch(ctx context.Context, lines <-chan inputLine) (all []inputLine, more bool) {
	select {
	case l, ok := <-lines:
		if !ok {
			return nil, false
		}
		all = append(all, l)
	case <-ctx.Done():
		return nil, false
	}
	for len(all) < maxBatch {
		select {
		case l, ok := <-lines:
			if !ok {
				return all, true
			}
			all = append(all, l)
		default:
			return all, true
		}
	}
	return all, true
}
