package client

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
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

// environment is what a child sees: the allowed part of ours and extra, which wins.
func environment(ours []string, extra map[string]string) []string {
	env := []string{}
	for _, kv := range ours {
		name, _, _ := strings.Cut(kv, "=")
		if _, replaced := extra[name]; replaced || name == "" {
			continue
		}
		if slices.ContainsFunc(EnvAllowed(), func(p string) bool { ok, _ := filepath.Match(p, name); return ok }) {
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
	guard  *Guard
}

// graces of a child that is told to end: after its input was closed, and after
// it was asked to terminate.
const (
	graceClosed = 500 * time.Millisecond
	graceTerm   = time.Second
)

// start runs a server's command. The group it starts is killed by stop, and by
// the guard or the kernel when this process dies.
func start(cfg Config, g *Guard) (*process, error) {
	// No context: the whole group is ended, by stop.
	cmd := exec.CommandContext(context.Background(), cfg.Command, cfg.Args...)
	cmd.Dir = cfg.Cwd
	cmd.Env = environment(os.Environ(), cfg.Env)
	cmd.SysProcAttr = ownGroup()
	p, ends, err := newPipes(cmd)
	if err != nil {
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	p.guard = g
	started := make(chan error)
	go func() {
		// The kernel sends the parent-death signal when the starting thread
		// ends, so this thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		for _, f := range ends {
			_ = f.Close()
		}
		if err == nil {
			p.pid = cmd.Process.Pid
			g.add(p.pid)
		}
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.gone)
	}()
	if err := <-started; err != nil {
		p.closePipes()
		return nil, fmt.Errorf("starting %q: %w", cfg.Command, err)
	}
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
