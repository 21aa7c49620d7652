package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/bbolt"

	"legwork/bot"
	"legwork/i18n"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
)

const (
	senders    = 64
	intake     = 6_400 // messages: 100 of each sender, none answered yet
	wantIntake = 4000  // messages/s
	wantP99    = 50 * time.Millisecond
)

// measureIntake lets 64 senders hand messages to the inbox, each waiting for
// the store; then the same with bbolt alone.
func measureIntake(ctx context.Context, dir string) ([]figure, error) {
	store, err := bolt.Open(ctx, filepath.Join(dir, "store"), bolt.Options{})
	if err != nil {
		return nil, err
	}
	got, err := sendTo(ctx, store)
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	bare, err := sendBare(dir)
	if err != nil {
		return nil, err
	}
	return []figure{
		{
			name: "durable intake, 64 senders", measured: fmt.Sprintf("%.0f messages/s", got.rate), limit: fmt.Sprintf("%d messages/s", wantIntake),
			machine: fmt.Sprintf("%.0f/s bare group commits", bare.rate), ok: got.rate >= wantIntake,
		},
		within("the same, 99th percentile", got.p99, wantP99, short(bare.p99)),
	}, nil
}

// sendTo lets the senders hand messages to an inbox over a store.
func sendTo(ctx context.Context, store tasks.Store) (throughput, error) {
	texts, err := i18n.Load("")
	if err != nil {
		return throughput{}, err
	}
	inbox := inbox.New(inbox.Config{
		Store: store, Wake: func(context.Context, tasks.ID) error { return nil }, Texts: texts,
		Chats: tasks.Chats{enginetest.Chat.Platform: enginetest.NewRecorder()}, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Rules: inbox.Rules{Limits: planner.DefaultLimits(), Language: "en", Timezone: "UTC"},
	})
	goal := strings.Repeat("What is it? ", 12)
	start := time.Now()
	return send(func(sender, n int) error {
		m := enginetest.Message(fmt.Sprintf("%d.%d", sender, n), goal, start.Add(time.Duration(n)*time.Second))
		m.Chat = bot.Chat{Platform: enginetest.Chat.Platform, ID: fmt.Sprint(sender), Private: true}
		return inbox.Handle(ctx, []bot.Message{m})
	})
}

// throughput is how a run of many senders went.
type throughput struct {
	rate float64 // per second
	p99  time.Duration
}

// send lets 64 senders call one for each of their messages.
func send(one func(sender, n int) error) (throughput, error) {
	took, errs := make([][]time.Duration, senders), make([]error, senders)
	var wg sync.WaitGroup
	start := time.Now()
	for s := range senders {
		wg.Go(func() {
			for n := range intake / senders {
				from := time.Now()
				if errs[s] = one(s, n); errs[s] != nil {
					return
				}
				took[s] = append(took[s], time.Since(from))
			}
		})
	}
	wg.Wait()
	elapsed := time.Since(start)
	return throughput{intake / elapsed.Seconds(), percentile(slices.Concat(took...), 0.99)}, errors.Join(errs...)
}

// sendBare is what bbolt alone can do: the same senders and about as many
// bytes, one record per message in order of arrival, commits shared.
func sendBare(dir string) (throughput, error) {
	db, err := openBare(dir)
	if err != nil {
		return throughput{}, err
	}
	got, err := sendGrouped(func(group []int) error {
		return db.Update(func(tx *bbolt.Tx) error {
			for _, n := range group {
				if err := tx.Bucket([]byte("b")).Put(binary.BigEndian.AppendUint64(nil, uint64(n)), make([]byte, 1100)); err != nil { //nolint:gosec // not negative
					return err
				}
			}
			return nil
		})
	})
	return got, errors.Join(err, db.Close())
}

// sendGrouped lets the senders wait for one goroutine, which commits the messages that
// wait, by their numbers from 0 on.
func sendGrouped(commit func(group []int) error) (throughput, error) {
	type job struct {
		n    int
		done chan error
	}
	jobs, ended := make(chan job, senders), make(chan struct{})
	go func() {
		defer close(ended)
		for first := range jobs {
			waiting, group := []job{first}, []int{first.n}
			for len(jobs) > 0 {
				next := <-jobs
				waiting, group = append(waiting, next), append(group, next.n)
			}
			err := commit(group)
			for _, j := range waiting {
				j.done <- err
			}
		}
	}()
	got, err := send(func(sender, n int) error {
		j := job{n*senders + sender, make(chan error, 1)}
		jobs <- j
		return <-j.done
	})
	close(jobs)
	<-ended
	return got, err
}
