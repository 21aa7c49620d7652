package client

import (
	"bufio"
	"log/slog"
	"strings"
	"sync"
	"time"

	"legwork/internal/clip"
)

// drain logs what the server writes to its error output, each line shortened,
// at most a hundred in ten seconds.
func drain(p *process, last *tail, log *slog.Logger) {
	r := bufio.NewReaderSize(p.stderr, 1<<10)
	window, lines := time.Now(), 0
	for {
		line, isPrefix, err := r.ReadLine()
		if err != nil {
			return
		}
		text := clean(strings.TrimSpace(string(line)))
		for isPrefix && err == nil {
			_, isPrefix, err = r.ReadLine()
		}
		if text == "" {
			continue
		}
		last.set(text)
		if time.Since(window) > 10*time.Second {
			window, lines = time.Now(), 0
		}
		switch lines++; {
		case lines < 100:
			log.Debug("server says", "text", text)
		case lines == 100:
			log.Debug("server says more than is logged")
		}
	}
}

// tail remembers the last line of an error output.
type tail struct {
	mu   sync.Mutex
	line string
}

func (t *tail) set(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = clip.Bytes(s, 300)
}

func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}
