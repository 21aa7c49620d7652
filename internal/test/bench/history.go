package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/internal/fsutil"
	"legwork/internal/test/fakes/llmfake"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

const (
	chats       = 1024
	fillers     = chats // at once, so that no chat has two tasks at a time
	reads       = 20_000
	historySize = 16 << 10 // bytes, as the executor asks for
)

// measureHistory fills a store, reads the newest turns of random chats, writes
// while it is backed up, and starts the daemon on it, also after a kill.
func measureHistory(ctx context.Context, dir string, messages int) ([]figure, error) {
	data := filepath.Join(dir, "data")
	store, err := bolt.Open(ctx, data, bolt.Options{})
	if err != nil {
		return nil, err
	}
	turns := messages / 2 // a question and an answer each
	if err := fill(ctx, store, turns); err != nil {
		return nil, err
	}
	took, err := readHistory(ctx, store, turns)
	if err != nil {
		return nil, err
	}
	saved, err := writeWhileSaving(ctx, store, turns, filepath.Join(dir, "backup.db"))
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	bare, err := readBare(filepath.Join(data, bolt.FileName))
	if err != nil {
		return nil, err
	}
	starts, err := measureStarts(ctx, dir, messages)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("history of %d KiB read among %d messages", historySize>>10, messages)
	return append(append([]figure{
		within(name, median(took), 100*time.Microsecond, short(median(bare))+" a bare transaction"),
		within("the same, 99th percentile", percentile(took, 0.99), 2*time.Millisecond, short(percentile(bare, 0.99))),
	}, saved...), starts...), nil
}

// readHistory reads the newest turns of random chats.
func readHistory(ctx context.Context, store *bolt.Store, turns int) ([]time.Duration, error) {
	took := make([]time.Duration, 0, reads)
	for range reads {
		c := chat(rand.IntN(chats)) //nolint:gosec // any will do
		from := time.Now()
		got, err := store.History(ctx, c.Key(), "", historySize)
		took = append(took, time.Since(from))
		if err != nil || len(got) < min(60, turns/chats) {
			return nil, fmt.Errorf("history of %s has %d turns, error %w", c.Key(), len(got), err)
		}
	}
	return took, nil
}

func chat(n int) bot.Chat { return bot.Chat{Platform: "bench", ID: fmt.Sprint(n), Private: true} }

// opening is a delivery that opens a task.
func opening(c bot.Chat, id tasks.ID, goal string) tasks.Inbound {
	return tasks.Inbound{
		Key: "bench:" + string(id), Chat: c, ID: id,
		Open: &planner.Event{Type: planner.Opened, Opening: &planner.Opening{
			Goal: goal, Chat: c, From: bot.Person{Platform: "bench", ID: "ann"}, Language: "en", Timezone: "UTC",
			Limits: planner.DefaultLimits(),
		}},
	}
}

// fill stores answered questions, 200 bytes of text each.
func fill(ctx context.Context, s tasks.Store, turns int) error {
	goal, answer := strings.Repeat("g", 80), strings.Repeat("a", 120)
	errs := make([]error, fillers)
	var wg sync.WaitGroup
	for w := range fillers {
		wg.Go(func() {
			for n := w; n < turns && errs[w] == nil; n += fillers {
				id := tasks.ID(fmt.Sprintf("%026d", n))
				if _, errs[w] = s.Open(ctx, []tasks.Inbound{opening(chat(n%chats), id, goal)}); errs[w] != nil {
					return
				}
				errs[w] = finish(ctx, s, id, answer)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// finish answers a question.
func finish(ctx context.Context, s tasks.Store, id tasks.ID, answer string) error {
	return s.Append(ctx, id, -1, 0,
		planner.Event{Type: planner.Replied, Action: planner.DecisionID("plan", 1, 0), Reply: &planner.Reply{Text: answer}},
		planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer},
		planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true})
}

// readBare opens and ends read transactions, with one seek each.
func readBare(path string) ([]time.Duration, error) {
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	took := make([]time.Duration, 0, reads)
	for range reads {
		from := time.Now()
		err := db.View(func(tx *bbolt.Tx) error {
			tx.Cursor().First()
			return nil
		})
		if err != nil {
			return nil, errors.Join(err, db.Close())
		}
		took = append(took, time.Since(from))
	}
	return took, db.Close()
}

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
	h, err := newDaemonEnvOf(ctx, dir, "", func(llmfake.Request) llmfake.Response {
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
func (h *daemonEnv) resume(ctx context.Context, round int) (time.Duration, error) {
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
