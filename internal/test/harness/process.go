package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"legwork/internal/test/harness/record"
)

// process is one life of legwork as it runs.
type process struct {
	n     int // the lives before it
	cmd   *exec.Cmd
	stdin io.WriteCloser
	life  record.Life
	hits  string            // file of the failpoints it passed
	said  string            // file of its stderr
	lines chan record.Event // of stdout; closed when it has ended

	mu   sync.Mutex // guards base
	base string     // of address; empty: not known yet
}

// command is the command of legwork that the client talks to.
func (s *session) command() []string {
	if _, terminal := s.client.(*terminalClient); terminal {
		return []string{"chat", "--json"}
	}
	return []string{"serve"}
}

// storing is the number of the life that stores the schedules, before all others.
const storing = -1

// launch starts a life. The caller reads lines until they are closed and
// then calls wait.
func (s *session) launch(n int, k Kill) (*process, error) {
	p := &process{n: n, hits: filepath.Join(s.dir, fmt.Sprintf("hits.%d", n)), lines: make(chan record.Event, 64)}
	p.cmd = exec.Command(s.h.Legwork, append(s.command(), "--config", filepath.Join(s.dir, "config.yaml"))...)
	p.cmd.Dir = s.dir
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + os.TempDir(),
		"LEGWORK_FAILPOINT=" + k.Point, "LEGWORK_FAILPOINT_LOG=" + p.hits, "LEGWORK_FAULT=" + s.fault, fmt.Sprintf("LEGWORK_HASTE=%d", haste), "LEGWORK_AHEAD=" + s.ahead.String(),
	}
	p.cmd.WaitDelay = 5 * time.Second
	p.said = filepath.Join(s.dir, fmt.Sprintf("stderr.%d", n))
	stderr, err := os.Create(p.said)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	p.cmd.Stderr = stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.life = record.Life{Start: time.Now(), Point: k.String()}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting legwork: %w", err)
	}
	seen, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("stdout.%d", n)))
	if err != nil {
		p.kill()
		return nil, errors.Join(err, p.cmd.Wait())
	}
	go p.read(n, stdout, seen)
	return p, nil
}

// read turns stdout into events until it ends, and keeps the lines in seen for
// people.
func (p *process) read(n int, stdout io.Reader, seen *os.File) {
	defer close(p.lines)
	defer seen.Close()
	for reader := bufio.NewReaderSize(stdout, 1<<16); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			e := record.Event{}
			e.Bad = json.Unmarshal([]byte(line), &e) != nil
			e.At, e.Life, e.Line = time.Now(), n, line
			_, _ = fmt.Fprintf(seen, "%s %s", e.At.Format("05.000000"), line)
			p.lines <- e
		}
		if err != nil {
			return
		}
	}
}

// write sends one input. A process that has ended takes none: the input counts as
// sent and not accepted.
func (p *process) write(in record.Input, files []string) {
	p.send(map[string]any{"id": in.ID, "chat": in.Chat, "text": in.Text, "standalone": in.Kind != record.Guidance, "files": files})
}

// press sends the press of a button.
func (p *process) press(id, chat, data string) {
	p.send(map[string]any{"id": id, "chat": chat, "press": data})
}

func (p *process) send(request map[string]any) {
	line, err := json.Marshal(request)
	if err == nil {
		_, _ = p.stdin.Write(append(line, '\n'))
	}
}

// begun reports that it has logged something, as serve does at its start.
func (p *process) begun() bool {
	info, err := os.Stat(p.said)
	return err == nil && info.Size() > 0
}

var listening = regexp.MustCompile(`msg=listening address=(\S+) for=http\.listen`)

// address is the URL where it listens, by its log; empty as long as it does not.
func (p *process) address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base == "" {
		log, err := os.ReadFile(p.said)
		if m := listening.FindSubmatch(log); err == nil && m != nil {
			p.base = "http://" + string(m[1])
		}
	}
	return p.base
}

// listened waits until it listens, and reports false when it ends before.
func (p *process) listened(ctx context.Context) bool {
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for p.address() == "" {
		select {
		case _, ok := <-p.lines:
			if !ok {
				return false
			}
		case <-look.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// terminate asks it to end.
func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// kill ends it the hard way.
func (p *process) kill() { _ = p.cmd.Process.Kill() }

// wait gathers how it ended, after lines were closed.
func (p *process) wait() (record.Life, error) {
	_ = p.stdin.Close()
	p.life.End = time.Now()
	if err := p.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
			return p.life, fmt.Errorf("waiting for legwork: %w", err)
		}
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.life.Killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL && !p.life.Hung
	p.life.Exit = p.cmd.ProcessState.ExitCode()
	p.life.Lost = p.life.Exit == 1 && p.lostDatabase()
	hits, err := os.ReadFile(p.hits)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return p.life, fmt.Errorf("reading failpoints: %w", err)
	}
	p.life.Hits = strings.Fields(string(hits))
	if ok && status.Signaled() && status.Signal() == syscall.SIGTERM && len(p.life.Hits) == 0 {
		p.life.Exit = 0 // it got SIGTERM before it had begun
	}
	return p.life, nil
}

// withoutDatabase are errors of a process that ends because it lost its database or
// could not reach it.
var withoutDatabase = regexp.MustCompile(`Postgres at \S+ (cannot be reached|is starting or stopping)|did not renew the lease|conn closed|unexpected EOF|connection reset by peer|SQLSTATE 57P0`)

// lostDatabase reports whether the process says at its end that it has no database.
func (p *process) lostDatabase() bool {
	text, err := os.ReadFile(p.said)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return err == nil && withoutDatabase.MatchString(lines[len(lines)-1])
}
