package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/pg"
)

const (
	takeOvers = 3 // of each kind
	maxKilled = 10 * time.Second
	maxFrozen = 15 * time.Second
)

// measureTakeOver lets one legwork serve work and another one stand by. It kills or
// freezes the first one, and measures until the second one answers a question.
func measureTakeOver(ctx context.Context, dir string, server *pg.Server) (figures []figure, err error) {
	url, err := server.Create()
	if err != nil {
		return nil, err
	}
	h, err := newDaemonEnv(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	person := h.telegram.User(firstPerson, "Ann", "en")
	works, waits := *h, *h
	for n, of := range []*daemonEnv{&works, &waits} {
		if of.line, err = onPostgres(h.line, url, fmt.Sprint("node", n)); err != nil {
			return nil, err
		}
	}
	worker, err := works.launchUntil(ctx, "telegram: messages arrive")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, worker.stop()) }()
	for _, end := range []struct {
		name   string
		signal syscall.Signal
		limit  time.Duration
	}{
		{"killed", syscall.SIGKILL, maxKilled},
		{"frozen", syscall.SIGSTOP, maxFrozen},
	} {
		var took []time.Duration
		for n := range takeOvers {
			standby, err := waits.launchUntil(ctx, "standing by")
			if err != nil {
				return nil, err
			}
			from, question := time.Now(), fmt.Sprint(end.name, n)
			if err := worker.Process.Signal(end.signal); err != nil {
				return nil, errors.Join(err, standby.kill())
			}
			h.telegram.Say(firstPerson, person, question)
			err = h.awaitAnswer(ctx, question)
			took = append(took, time.Since(from))
			if err := errors.Join(err, worker.kill()); err != nil {
				return nil, errors.Join(err, standby.kill())
			}
			worker, works, waits = standby, waits, works
		}
		figures = append(figures, within("a standby's first answer after the worker is "+end.name, slices.Max(took), end.limit,
			fmt.Sprintf("the slowest of %d; %s the median", takeOvers, short(median(took)))))
	}
	return figures, nil
}

// onPostgres returns the command that runs legwork on a Postgres database, with a
// config and a data folder of that name.
func onPostgres(line []string, url, name string) ([]string, error) {
	text, err := os.ReadFile(line[3])
	if err != nil {
		return nil, err
	}
	config := strings.Replace(string(text), "data_dir: data\nlog: {level: warn}\n",
		fmt.Sprintf("data_dir: %s\nlog: {level: info}\nstore: {type: postgres, url: %q}\n", name, url), 1)
	path := filepath.Join(filepath.Dir(line[3]), name+".yaml")
	return []string{line[0], line[1], line[2], path}, os.WriteFile(path, []byte(config), 0o600)
}

// launchUntil starts legwork serve, and returns when its log holds words.
func (h *daemonEnv) launchUntil(ctx context.Context, words string) (*daemon, error) {
	d := &daemon{Cmd: exec.CommandContext(ctx, h.line[0], h.line[1:]...)}
	log, err := d.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.Start(); err != nil {
		return nil, err
	}
	var last string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if last = lines.Text(); strings.Contains(last, words) {
			go io.Copy(io.Discard, log) //nolint:errcheck // it ends with the process
			return d, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("legwork serve ended before it logged %q: %s", words, last), d.kill())
}

// awaitAnswer waits for the answer to a question.
func (h *daemonEnv) awaitAnswer(ctx context.Context, question string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return h.telegram.WaitFor(ctx, func(v telegramfake.View) bool {
		said := v.Chat(firstPerson).Bots()
		return len(said) > 0 && strings.Contains(said[len(said)-1].Text, "end of "+question)
	})
}
