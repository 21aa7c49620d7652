package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

const (
	maxFirstPoll = 50 * time.Millisecond
	loadChats    = 200
	loadMessages = 10       // of each
	maxGrowth    = 16 << 10 // KiB more than idle

	// maxQuestionTime is the processor time of a plain question.
	maxQuestionTime = 4 * time.Millisecond

	// hangUp is after how long the fakes close a connection that is not used:
	// so that those kept for later are not taken for descriptors left behind.
	hangUp = 5 * time.Second
)

// daemonEnv is what legwork serve finds outside: both platforms and a model, all
// fake and without rates.
type daemonEnv struct {
	telegram *telegramfake.Server
	slack    *slackfake.Server
	model    *llmfake.Server
	line     []string // the command
}

// newDaemonEnv builds the binary and writes a config; the model says at once that
// it has reached the end of a question. Close it.
func newDaemonEnv(ctx context.Context, dir string) (*daemonEnv, error) {
	return newDaemonEnvOf(ctx, dir, "", func(r llmfake.Request) llmfake.Response {
		goal, _ := r.Tagged("goal")
		return llmfake.Say("end of " + goal)
	})
}

// newDaemonEnvOf is newHouse with another model and more tool servers, in YAML.
func newDaemonEnvOf(ctx context.Context, dir, servers string, respond func(llmfake.Request) llmfake.Response) (h *daemonEnv, err error) {
	h = &daemonEnv{line: []string{filepath.Join(dir, "legwork"), "serve", "--config", filepath.Join(dir, "config.yaml")}}
	if err := build(ctx, h.line[0], "./cmd/legwork"); err != nil {
		return nil, err
	}
	if h.telegram, h.slack, err = startFakes(hangUp); err != nil {
		return nil, err
	}
	if h.model, err = llmfake.Start(llmfake.Options{Idle: hangUp, Respond: respond, Log: filepath.Join(dir, "model.jsonl")}); err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`data_dir: data
log: {level: warn}
models:
  main: {base_url: %q, api_key: bench, model: bench}
budget: {day_tokens: 0}
servers:
  clock: {builtin: clock}
  math: {builtin: math}
%stelegram: {token: %q, api_url: %q}
slack: {bot_token: %q, app_token: %q, api_url: %q}
http: {listen: "127.0.0.1:0"}
access: {telegram: {users: ["*"]}, slack: {users: ["*"]}, admins: ["telegram:1"]}
`, h.model.URL, servers, telegramToken, h.telegram.URL, slackfake.BotToken, slackfake.AppToken, h.slack.APIURL)
	return h, os.WriteFile(h.line[3], []byte(text), 0o600)
}

func (h *daemonEnv) close() error {
	return errors.Join(closeFakes(h.telegram, h.slack), h.model.Finish())
}

// daemon is a running legwork serve.
type daemon struct {
	*exec.Cmd
	took time.Duration // from its start to the first poll
	seen int           // entries of Telegram's log before it
}

// start starts legwork serve and returns when it polls Telegram and Slack has a
// connection.
func (h *daemonEnv) start(ctx context.Context) (*daemon, error) {
	from := time.Now()
	d, err := h.launch(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var polled time.Time
	err = h.telegram.WaitFor(ctx, func(v telegramfake.View) bool { polled = time.Now(); return v.Polling() })
	d.took = polled.Sub(from)
	return d, errors.Join(err, h.slack.WaitFor(ctx, "a connection", func() bool { return h.slack.Connections() > 0 }))
}

// launch starts legwork serve.
func (h *daemonEnv) launch(ctx context.Context) (*daemon, error) {
	d := &daemon{Cmd: exec.CommandContext(ctx, h.line[0], h.line[1:]...), seen: len(h.telegram.Log())}
	d.Stderr = os.Stderr
	return d, d.Start()
}

// kill ends it the hard way.
func (d *daemon) kill() error {
	if err := d.Process.Kill(); err != nil {
		return err
	}
	_ = d.Wait() // it was killed
	return nil
}

// stop ends it as an operator does.
func (d *daemon) stop() error {
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return d.Wait()
}

// measureServe starts the daemon again and again.
func measureServe(ctx context.Context, dir string) ([]figure, error) {
	h, err := newDaemonEnv(ctx, dir)
	if err != nil {
		return nil, err
	}
	var took []time.Duration
	for n := range starts {
		d, err := h.start(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 { // the first one makes the data
			took = append(took, d.took)
		}
		if err := d.stop(); err != nil {
			return nil, err
		}
	}
	return []figure{
		within("serve: start to the first poll", median(took), maxFirstPoll, short(percentile(took, 0.95))+" 95th percentile"),
	}, h.close()
}

// settled is the memory of a process that has had nothing to do for a while.
func settled(ctx context.Context, pid int) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(settle):
	}
	return anonymousMemory(pid)
}

// measureLoad lets 200 people send 10 messages each, as fast as they are
// answered, and looks at the daemon's memory and descriptors before and after.
func measureLoad(ctx context.Context, dir string) ([]figure, error) {
	h, err := newDaemonEnv(ctx, dir)
	if err != nil {
		return nil, err
	}
	d, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	before, err := settled(ctx, d.Process.Pid)
	if err != nil {
		return nil, err
	}
	files, err := descriptors(d.Process.Pid)
	if err != nil {
		return nil, err
	}
	busy, err := childTime(d.Process.Pid)
	if err != nil {
		return nil, err
	}
	var peak int
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { peak = peakMemory(d.Process.Pid, ended) })
	err = h.talkAll(ctx)
	close(ended)
	watching.Wait()
	if err != nil {
		return nil, err
	}
	worked, err := childTime(d.Process.Pid)
	if err != nil {
		return nil, err
	}
	after, err := settled(ctx, d.Process.Pid)
	if err != nil {
		return nil, err
	}
	left, err := descriptors(d.Process.Pid)
	if err := errors.Join(err, d.stop(), h.close()); err != nil {
		return nil, err
	}
	return []figure{
		memory(fmt.Sprintf("%d chats x %d messages: anonymous memory after them", loadChats, loadMessages), after, maxServeAnonymous+maxGrowth, mib(before)+" before"),
		memory("the same at its peak", peak, maxServeAnonymous+maxGrowth, mib(before)+" before"),
		within("processor time of a plain question", (worked-busy)/(loadChats*loadMessages), maxQuestionTime, ""),
		{name: "descriptors left behind", measured: fmt.Sprint(left - files), limit: "0", machine: fmt.Sprintf("%d before", files), ok: left <= files},
	}, nil
}

// talkAll lets everybody talk until all have their last answer.
func (h *daemonEnv) talkAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	people, asked := map[int64]telegramfake.User{}, map[int64]int{}
	ask := func(id int64) {
		asked[id]++
		h.telegram.Say(id, people[id], fmt.Sprintf("%d.%d", id, asked[id]))
	}
	seen := len(h.telegram.Log())
	for i := range int64(loadChats) {
		id := firstPerson + i
		people[id] = h.telegram.User(id, fmt.Sprint("P", id), "en")
		ask(id)
	}
	for left := loadChats * loadMessages; left > 0; {
		var answered []int64
		err := h.telegram.WaitFor(ctx, func(v telegramfake.View) bool {
			for _, e := range v.Log()[seen:] {
				seen++
				if e.Done && isAnswer(e, "end of ") {
					answered = append(answered, e.Chat)
				}
			}
			return len(answered) > 0
		})
		if err != nil {
			return fmt.Errorf("waiting for %d more answers: %w", left, err)
		}
		left -= len(answered)
		for _, id := range answered {
			if asked[id] < loadMessages {
				ask(id)
			}
		}
	}
	return nil
}

// peakMemory watches the memory of a process until ended, and returns the most.
func peakMemory(pid int, ended <-chan struct{}) (most int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if kib, err := anonymousMemory(pid); err == nil {
			most = max(most, kib)
		}
		select {
		case <-ended:
			return most
		case <-tick.C:
		}
	}
}

// childTime is how long a process has used a processor so far, in steps of
// 10 ms.
func childTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading processor time: %w", err)
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the name may hold spaces
	parts := strings.Fields(fields)
	if len(parts) < 13 {
		return 0, fmt.Errorf("reading processor time: %q", text)
	}
	var ticks int64
	for _, part := range parts[11:13] { // in user mode, in the kernel
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// descriptors is how many files and sockets a process has open.
func descriptors(pid int) (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return 0, fmt.Errorf("counting descriptors: %w", err)
	}
	return len(list), nil
}
