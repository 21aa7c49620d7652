package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mark3labs/mcp-go/server"
)

// output keeps messages that are written by different goroutines apart. It is
// the way back of all messages on stdio.
type output struct {
	mu sync.Mutex
	w  io.Writer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

func (o *output) write(begin, piece string, n int, end string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(o.w, begin)
	for i := 0; i < n && err == nil; i++ {
		_, err = io.WriteString(o.w, piece)
	}
	_, _ = io.WriteString(o.w, end+"\n")
}

func (o *output) part(text string) { _, _ = io.WriteString(o, text) }

func (o *output) later(work func()) { go work() }

func (o *output) accept() {}

func (f *fake) serveStdio(r io.Reader, w io.Writer) error {
	f.atStart()
	out := &output{w: w}
	in, pipe := io.Pipe()
	go func() { _ = pipe.CloseWithError(f.tap(r, pipe, out)) }()
	if err := server.NewStdioServer(f.mcp).Listen(context.Background(), in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if f.fault == "stubborn" || f.fault == "child" {
		select {}
	}
	return nil
}

// tap passes the input on line by line, but for what is refused or spoiled.
func (f *fake) tap(r io.Reader, w io.Writer, out *output) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		x := &exchange{message: readMessage(line), raw: line, back: out}
		if !f.take(x) {
			continue
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
}
