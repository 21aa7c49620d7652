package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"legwork/internal/test/fakes/llmfake"
)

const (
	starts       = 25
	maxStart     = 30 * time.Millisecond
	maxAnonymous = 8 << 10          // KiB
	settle       = 12 * time.Second // longer than legwork needs to see that it has nothing to do
)

// emptyProgram is the least that a Go program can be.
const emptyProgram = "package main\n\nimport \"time\"\n\nfunc main() { time.Sleep(time.Hour) }\n"

const endingProgram = "package main\n\nfunc main() {}\n"

// measureProcess builds the binary as releases are, and measures its start and
// its memory.
func measureProcess(ctx context.Context, dir string) (figures []figure, err error) {
	binary, empty, ending := filepath.Join(dir, "legwork"), filepath.Join(dir, "empty"), filepath.Join(dir, "ending")
	if err := build(ctx, binary, "./cmd/legwork"); err != nil {
		return nil, err
	}
	for path, text := range map[string]string{empty: emptyProgram, ending: endingProgram} {
		if err := os.WriteFile(path+".go", []byte(text), 0o600); err != nil {
			return nil, err
		}
		if err := build(ctx, path, path+".go"); err != nil {
			return nil, err
		}
	}
	fake, err := llmfake.Start(llmfake.Options{Respond: func(llmfake.Request) llmfake.Response { return llmfake.Say("hello") }})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fake.Finish()) }()
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf("data_dir: data\nlog: {level: warn}\nmodels:\n  main: {base_url: %q, api_key: bench, model: bench}\nbudget: {day_tokens: 0}\n"+
		"servers:\n  clock: {builtin: clock}\n  math: {builtin: math}\n", fake.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	chat := []string{binary, "chat", "--json", "--config", config}
	used, err := idle(ctx, chat, true)
	if err != nil {
		return nil, fmt.Errorf("looking at the idle process: %w", err)
	}
	least, err := idle(ctx, []string{empty}, false)
	if err != nil {
		return nil, err
	}
	took, bare, err := startTimes(ctx, chat, ending)
	if err != nil {
		return nil, err
	}
	return []figure{
		within("start and clean end, existing data", median(took), maxStart, short(median(bare))+" an empty Go program"),
		memory("anonymous memory, idle after a question", used, maxAnonymous, mib(least)+" an empty Go program"),
	}, nil
}

func memory(name string, got, limit int, machine string) figure {
	return figure{name: name, measured: mib(got), limit: mib(limit), machine: machine, ok: got <= limit}
}

func mib(kib int) string { return fmt.Sprintf("%.1f MiB", float64(kib)/1024) }

func build(ctx context.Context, out, what string) error {
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, what)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, text)
	}
	return nil
}

// startTimes runs both programs in turn from start to end, without input.
func startTimes(ctx context.Context, chat []string, ending string) (took, bare []time.Duration, err error) {
	for range starts {
		if err := timed(&took, exec.CommandContext(ctx, chat[0], chat[1:]...).Run); err != nil {
			return nil, nil, fmt.Errorf("running %s: %w", strings.Join(chat, " "), err)
		}
		if err := timed(&bare, exec.CommandContext(ctx, ending).Run); err != nil {
			return nil, nil, err
		}
	}
	return took, bare, nil
}

// idle starts a program, asks it a question when it is legwork, and looks at
// its memory when it has had nothing to do for a while.
func idle(ctx context.Context, line []string, ask bool) (kib int, err error) {
	c, err := startPiped(ctx, nil, line...)
	if err != nil {
		return 0, err
	}
	defer c.end()
	if ask {
		if _, err := io.WriteString(c.in, `{"id":"1","text":"How are you?"}`+"\n"); err != nil {
			return 0, err
		}
		if err := awaitAnswer(c.out); err != nil {
			return 0, err
		}
	}
	return settled(ctx, c.Process.Pid)
}

// piped is a running program: it reads from in, and out is what it writes, errors too.
type piped struct {
	*exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// startPiped starts a program; an empty env is the environment of this process.
func startPiped(ctx context.Context, env []string, line ...string) (*piped, error) {
	p := &piped{Cmd: exec.CommandContext(ctx, line[0], line[1:]...)}
	p.Env = env
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.StdoutPipe(); err != nil {
		return nil, err
	}
	p.Stderr = p.Stdout
	return p, p.Start()
}

// end ends the program and waits for it.
func (p *piped) end() {
	_ = p.in.Close()
	_ = p.Process.Signal(syscall.SIGTERM) // for a program that does not read
	_ = p.Wait()                          // it was told to end
}

func awaitAnswer(out io.Reader) error {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var e struct{ Type string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("reading %s: %w", lines.Text(), err)
		}
		if e.Type == "answer" {
			return nil
		}
	}
	return fmt.Errorf("no answer came: %w", lines.Err())
}

// anonymousMemory asks the kernel for the memory of a process that no file backs, in
// KiB. Only Linux knows it. Pages of files, such as the program's own code, come and
// go with the page cache and are not counted.
func anonymousMemory(pid int) (kib int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "Anonymous:"); found {
			_, err = fmt.Sscan(value, &kib)
		}
	}
	return kib, err
}

const (
	idleCalls         = 200
	maxServeAnonymous = 10 << 10 // KiB, of a daemon that has had no request yet
	maxUsedAnonymous  = 12 << 10 // KiB
)

// measureIdle looks at a daemon with all that serves: when it was never asked
// anything, and again after programs used it and one of them still listens.
func measureIdle(ctx context.Context, dir string) ([]figure, error) {
	return withProgram(ctx, dir, func(p *apiClient, pid int) ([]figure, error) {
		before, err := settled(ctx, pid)
		if err != nil {
			return nil, err
		}
		after, err := p.usedAndLeft(ctx, pid)
		if err != nil {
			return nil, err
		}
		return []figure{
			memory("anonymous memory, idle with both platforms", before, maxServeAnonymous, ""),
			memory(fmt.Sprintf("the same after %d calls of the API, with a follower", idleCalls), after, maxUsedAnonymous, ""),
		}, nil
	})
}

// usedAndLeft uses the API and is the memory when all but a follower are gone.
func (p *apiClient) usedAndLeft(ctx context.Context, pid int) (kib int, err error) {
	id, err := p.start(ctx, "idle", true)
	if err != nil {
		return 0, err
	}
	follow, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	r, err := p.request(follow, http.MethodGet, "/v1/events", nil)
	if err != nil {
		return 0, err
	}
	stream, err := p.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer stream.Body.Close()
	go io.Copy(io.Discard, stream.Body) //nolint:errcheck // it ends with its context
	paths := []string{
		"/v1/tasks", "/v1/tasks/" + id, "/v1/tasks/" + id + "/context", "/v1/tasks/" + id + "/state",
		"/v1/approvals", "/v1/usage", "/v1/groups", "/v1/audit", "/metrics", "/openapi.json", "/docs",
	}
	for n := range idleCalls {
		if n%10 == 0 {
			_, err = p.start(ctx, fmt.Sprint("idle ", n), true)
		} else {
			_, err = p.get(ctx, paths[n%len(paths)])
		}
		if err != nil {
			return 0, err
		}
	}
	return settled(ctx, pid)
}
