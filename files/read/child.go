package read

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"legwork/files/read/parse"
)

// Command is the argument with which a program runs Main.
const Command = "read-file"

// The jobs of the process that reads.
const (
	doFile    = "file"
	doPicture = "picture"
	doMember  = "member"
)

// job is written to the standard input of the process that reads. The file is its
// descriptor 3.
type job struct {
	Do     string `json:"do"`
	Name   string `json:"name,omitempty"` // of the file, or of a member
	Limits Limits `json:"limits"`
	PDF    bool   `json:"pdf,omitempty"`   // the file is one
	Cache  string `json:"cache,omitempty"` // the folder of a Reader
}

// message is a line that this process writes. The last one is Done.
type message struct {
	Ready    *time.Duration `json:"ready,omitempty"` // processor time before the reading began; of PDFs alone
	Part     *Part          `json:"part,omitempty"`
	Data     []byte         `json:"data,omitempty"`
	Document *Document      `json:"document,omitempty"`
	Error    *problem       `json:"error,omitempty"`
	Done     bool           `json:"done,omitempty"`
}

// problem is an error between processes.
type problem struct {
	Reason parse.Error `json:"reason,omitempty"` // one of the constants
	Type   string      `json:"type,omitempty"`   // of a KindError
	Text   string      `json:"text"`
}

func (p problem) Error() string { return p.Text }

func (p problem) Unwrap() error {
	switch {
	case p.Type != "":
		return KindError{Type: p.Type}
	case p.Reason != "":
		return p.Reason
	}
	return nil
}

// waitDelay is how long a process that was killed may keep its output open.
const waitDelay = time.Second

// run reads the file at path.
func run(ctx context.Context, path string, j job, take func(message) error) error {
	file, err := openFile(path, j.Limits)
	if err != nil {
		return err
	}
	defer file.Close()
	return runOpen(ctx, file, j, take)
}

// runOpen starts the process that reads a file, and calls take with each of its messages.
func runOpen(ctx context.Context, file *os.File, j job, take func(message) error) error {
	src, err := source(file, j.Name)
	if err != nil {
		return err
	}
	j.PDF = j.Do == doFile && src.IsPDF()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the path of this program: %w", err)
	}
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	timed, cancel := context.WithCancel(ctx)
	defer cancel()
	wait, used := j.Limits.Time, time.Duration(0)
	if j.PDF {
		wait += LoadTime
	}
	over := time.AfterFunc(wait, cancel)
	defer over.Stop()
	c := exec.CommandContext(timed, self, Command) //nolint:gosec // this program
	c.Env = []string{}                             // it holds secrets
	c.Dir = string(filepath.Separator)
	c.ExtraFiles = []*os.File{file}
	c.Stdin = bytes.NewReader(text)
	errOut := &head{left: 8 << 10}
	c.Stderr = errOut
	c.WaitDelay = waitDelay
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	switch err := c.Start(); {
	case err != nil && ctx.Err() == nil && timed.Err() != nil:
		return ErrTime
	case err != nil:
		return fmt.Errorf("starting the process that reads: %w", err)
	}
	result, taken := receive(out, j.Limits, func(m message) error {
		if m.Ready != nil {
			used = *m.Ready
			over.Reset(j.Limits.Time)
			return nil
		}
		return take(m)
	})
	if result != nil || taken != nil {
		cancel() // a process that has said its last may end as it likes
	}
	exit := c.Wait()
	switch {
	case taken != nil:
		return taken
	case result != nil && result.Error != nil:
		return result.Error
	case result != nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case timed.Err() != nil:
		return ErrTime
	}
	return crash(c, exit, errOut.String(), used+j.Limits.Time)
}

// openFile opens a file that is worth starting a process for.
func openFile(path string, l Limits) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening the file: %w", err)
	case !info.Mode().IsRegular():
		return nil, errors.New("opening the file: it is a folder or a device")
	case info.Size() == 0:
		return nil, ErrEmpty
	case info.Size() > l.Bytes:
		return nil, ErrLarge
	}
	file, err := os.Open(path) //nolint:gosec // the caller's file
	if err != nil {
		return nil, fmt.Errorf("opening the file: %w", err)
	}
	return file, nil
}

// receive reads messages until the last one, which it returns; nil when the process ended
// before. Data and pictures are Base64, and JSON makes a character six at worst.
func receive(out io.Reader, l Limits, take func(message) error) (last *message, err error) {
	most := 6*l.Text + 2*l.Bytes + int64(l.Parts)*4096 + 1<<20
	for decoder := json.NewDecoder(io.LimitReader(out, most)); ; {
		var m message
		if decoder.Decode(&m) != nil {
			return nil, nil //nolint:nilerr // how the process ended tells more
		}
		if m.Ready != nil || m.Part != nil || m.Document != nil || m.Data != nil {
			if err := take(m); err != nil {
				return nil, err
			}
		}
		if m.Done {
			return &m, nil
		}
	}
}

// crash finds out why a process ended without its last message. It had that much
// processor time.
func crash(c *exec.Cmd, exit error, errOut string, had time.Duration) error {
	first, _, _ := strings.Cut(errOut, "\n")
	if exit == nil {
		exit = io.ErrUnexpectedEOF
	}
	reason := ErrDamaged
	switch state := c.ProcessState; {
	case strings.Contains(errOut, "out of memory"), strings.Contains(errOut, "cannot allocate memory"):
		reason = ErrMemory
	case state != nil && state.UserTime()+state.SystemTime() >= had-time.Second:
		reason = ErrTime
	case errOut == "" && state != nil && !state.Exited():
		reason = ErrMemory // killed by the system
	}
	return fmt.Errorf("%w: the process that reads it ended: %w: %.200s", reason, exit, first)
}

// head keeps the beginning of what is written to it.
type head struct {
	strings.Builder
	left int
}

func (h *head) Write(b []byte) (int, error) {
	n := min(len(b), h.left)
	h.left -= n
	h.Builder.Write(b[:n])
	return len(b), nil
}
