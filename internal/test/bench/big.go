package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"legwork/internal/fsutil"
	"legwork/internal/test/fakes/llmfake"
	"legwork/store/bolt"
	"legwork/tasks"
)

const (
	bigStarts  = 9
	bigLive    = 100 // tasks that a kill interrupts
	maxBig     = 250 * time.Millisecond
	maxResumed = time.Second
	maxSaving  = 100 * time.Millisecond // of the 99th commit of 100 during a backup
	commits    = 400
)

// measureStarts starts the daemon on a store that is full, after clean ends and
// after kills that interrupt 100 tasks: how long until it polls, and until the
// first of them goes on.
func measureStarts(ctx context.Context, dir string, messages int) ([]figure, error) {
	h, err := newHouseOf(ctx, dir, "", func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: "too late", First: time.Hour}
	})
	if err != nil {
		return nil, err
	}
	var clean, resumed []time.Duration
	for range bigStarts {
		d, err := h.start(ctx)
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		clean = append(clean, d.took)
		if err := d.stop(); err != nil {
			return nil, err
		}
	}
	for n := range bigStarts {
		took, err := h.resume(ctx, n)
		if err != nil {
			return nil, errors.Join(err, h.close())
		}
		resumed = append(resumed, took)
	}
	return []figure{
		within(fmt.Sprintf("start with %d messages in the store, to the first poll", messages), median(clean), maxBig, short(percentile(clean, 1))+" the slowest"),
		within(fmt.Sprintf("restart after a kill with %d tasks under way: the first goes on", bigLive), median(resumed), maxResumed, short(percentile(resumed, 1))+" the slowest"),
	}, h.close()
}

// resume kills the daemon in the midst of 100 tasks and starts it again. It
// returns how long it took from then until the model was asked again.
func (h *house) resume(ctx context.Context, round int) (time.Duration, error) {
	d, err := h.start(ctx)
	if err != nil {
		return 0, err
	}
	if round == 0 { // those of the rounds before are still under way
		for n := range int64(bigLive) {
			who := h.telegram.User(firstPerson+n, fmt.Sprint("P", n), "en")
			h.telegram.Say(who.ID, who, fmt.Sprint("question ", n))
		}
		err := eventually(ctx, "all messages to be taken", func() bool { return h.telegram.Pending() == 0 })
		if err != nil {
			return 0, errors.Join(err, d.stop())
		}
	}
	if err := d.kill(); err != nil {
		return 0, err
	}
	before := len(h.model.Requests())
	from := time.Now()
	again, err := h.launch(ctx)
	if err != nil {
		return 0, err
	}
	err = eventually(ctx, "a task to go on", func() bool { return len(h.model.Requests()) > before })
	took := time.Since(from)
	return took, errors.Join(err, again.kill())
}

// writeWhileSaving compares commits beside a backup with those before it.
func writeWhileSaving(ctx context.Context, store *bolt.Store, turns int, path string) ([]figure, error) {
	n := turns
	write := func(until <-chan error) (took []time.Duration, err error) {
		for ; ; n++ {
			select {
			case err := <-until:
				return took, err
			default:
			}
			if until == nil && len(took) == commits {
				return took, nil
			}
			id := tasks.ID(fmt.Sprintf("%026d", n))
			err := timed(&took, func() error {
				_, err := store.Open(ctx, []tasks.Inbound{opening(chat(n%chats), id, "while it is saved")})
				return err
			})
			if err == nil {
				err = finish(ctx, store, id, "yes")
			}
			if err != nil {
				return nil, err
			}
		}
	}
	before, err := write(nil)
	if err != nil {
		return nil, err
	}
	saved := make(chan error, 1)
	from := time.Now()
	var lasted time.Duration
	var size int64
	go func() {
		var err error // written as the daemon writes backups: in portions, each of them synced
		size, err = fsutil.Write(ctx, path, func(w io.Writer) error { return store.Backup(ctx, w) })
		lasted = time.Since(from)
		saved <- err
	}()
	beside, err := write(saved)
	if err != nil {
		return nil, err
	}
	return []figure{
		within("a commit during a backup, 99th percentile", percentile(beside, 0.99), maxSaving, short(percentile(before, 0.99))+" before it"),
		{name: "the backup", measured: short(lasted), machine: fmt.Sprintf("%d MiB", size>>20)},
	}, os.Remove(path)
}
