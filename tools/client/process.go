package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/internal/clip"
)

// EnvAllowed are the variables of legwork's own environment that a server
// inherits; a trailing * stands for any ending. Everything else, keys and
// tokens above all, must be given to it under env.
func EnvAllowed() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
		"SystemRoot", "SystemDrive", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT", "TEMP", "TMP", "ComSpec",
	}
}

// Inherits reports whether a server inherits a variable of legwork.
func Inherits(name string) bool {
	return slices.ContainsFunc(EnvAllowed(), func(p string) bool { ok, _ := filepath.Match(p, name); return ok })
}

// environment is what a child sees: the allowed part of ours and extra, which wins.
func environment(ours []string, extra map[string]string) []string {
	env := []string{}
	for _, kv := range ours {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := extra[name]; replaced || name == "" {
			continue
		}
		if Inherits(name) {
			env = append(env, kv)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		env = append(env, name+"="+extra[name])
	}
	return env
}

// process is a running child, the leader of a process group of its own.
type process struct {
	stdin  io.WriteCloser
	stdout *os.File
	stderr *os.File
	pid    int
	gone   chan struct{} // closed when the child was waited for
	once   sync.Once
	guard  *ProcessGuard
}

// How long a child may take to end: after its input was closed, and after SIGTERM.
const (
	graceClosed = 500 * time.Millisecond
	graceTerm   = time.Second
)

// start runs a server's command in a process group of its own. stop kills the
// group, and the guard does when this process dies.
func start(cfg Config, g *ProcessGuard) (*process, error) {
	// No context: stop ends the whole group.
	cmd := exec.CommandContext(context.Background(), cfg.Command, cfg.Args...)
	if cfg.Sandbox != nil {
		var err error
		if cmd, err = sandboxed(cmd, *cfg.Sandbox); err != nil {
			return nil, fmt.Errorf("starting %q: %w", cfg.Command, err)
		}
	}
	cmd.Dir = cfg.Cwd
	cmd.Env = environment(os.Environ(), cfg.Env)
	cmd.SysProcAttr = ownGroup()
	p, ends, err := newPipes(cmd)
	if err != nil {
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	err = cmd.Start()
	for _, f := range ends {
		_ = f.Close()
	}
	if err != nil {
		p.closePipes()
		var missing *exec.Error
		var failed *fs.PathError
		if errors.As(err, &missing) {
			err = missing.Err // without the name of the command once more
		} else if errors.As(err, &failed) && failed.Op == "fork/exec" {
			err = failed.Err
		}
		return nil, fmt.Errorf("starting %q: %w", cfg.Command, err)
	}
	p.guard, p.pid = g, cmd.Process.Pid
	g.add(p.pid)
	go func() {
		_ = cmd.Wait()
		close(p.gone)
	}()
	return p, nil
}

// newPipes connects cmd to fresh pipes; ends are the child's sides, to be
// closed here after it was started.
func newPipes(cmd *exec.Cmd) (p *process, ends []*os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			for _, f := range all {
				_ = f.Close()
			}
			return nil, nil, err
		}
		all = append(all, r, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = all[0], all[3], all[5]
	p = &process{stdin: all[1], stdout: all[2], stderr: all[4], gone: make(chan struct{})}
	return p, []*os.File{all[0], all[3], all[5]}, nil
}

func (p *process) closePipes() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	_ = p.stderr.Close()
}

// stop ends the child and everything in its group, politely first unless now
// is set, and waits for the child. It can be called more than once.
func (p *process) stop(now bool) {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !now && !p.ended(graceClosed) {
			terminateGroup(p.pid)
			p.ended(graceTerm)
		}
		killGroup(p.pid)
		<-p.gone
		p.guard.remove(p.pid)
		p.closePipes()
	})
	<-p.gone
}

func (p *process) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.gone:
		return true
	case <-t.C:
		return false
	}
}

// guardScript reads "+ LEADER" and "- LEADER" lines and, when its input ends,
// kills the groups that are left. It ignores the signals of a terminal.
const guardScript = `trap '' INT TERM HUP QUIT
all=" "
while read -r op id; do
  case $op in
    +) all="$all$id " ;;
    -) case $all in *" $id "*) all="${all%% $id *} ${all#* $id }" ;; esac ;;
  esac
done
for id in $all; do kill -s KILL -- "-$id"; done 2>/dev/null
exit 0`

// ProcessGuard is one small shell beside the daemon. When the daemon is killed, even
// by SIGKILL, the guard's input ends and it kills the process groups of the
// servers, grandchildren included. It starts with the first child. Where there is
// no shell it does nothing, and servers end because their input does.
type ProcessGuard struct {
	log     *slog.Logger
	mu      sync.Mutex
	started bool
	in      io.WriteCloser // nil when it is not running
	cmd     *exec.Cmd
}

func (g *ProcessGuard) add(leader int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		g.started = true
		g.start()
	}
	g.send("+", leader)
}

func (g *ProcessGuard) remove(leader int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.send("-", leader)
}

func (g *ProcessGuard) start() {
	cmd := exec.CommandContext(context.Background(), "/bin/sh", "-c", guardScript)
	cmd.Env = []string{}
	cmd.SysProcAttr = ownGroup() // out of reach of the terminal's signals
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		g.log.Debug("process guard not started", "cause", err)
		return
	}
	g.in, g.cmd = in, cmd
}

// send ignores errors: without a guard the end of their input still stops servers.
func (g *ProcessGuard) send(op string, leader int) {
	if g.in != nil {
		_, _ = fmt.Fprintf(g.in, "%s %d\n", op, leader)
	}
}

// NewProcessGuard makes a guard for the servers that are given it.
func NewProcessGuard(log *slog.Logger) *ProcessGuard { return &ProcessGuard{log: log} }

// Close ends the guard, which kills the groups it still knows, and waits for it.
func (g *ProcessGuard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait()
		g.in = nil
	}
}

// logStderr logs what the server writes to its error output, each line shortened,
// at most a hundred in ten seconds.
func logStderr(p *process, last *lastLine, log *slog.Logger) {
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

// lastLine remembers the last line of an error output.
type lastLine struct {
	mu   sync.Mutex
	line string
}

func (t *lastLine) set(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line = clip.Bytes(s, 300)
}

func (t *lastLine) get() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.line
}
