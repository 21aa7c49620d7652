package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.etcd.io/bbolt"

	"legwork/internal/test/fakes/llmfake"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

// measureQuestion asks plain questions and calls the model alone in turn: the
// difference is what legwork adds.
func measureQuestion(ctx context.Context, dir string) ([]figure, error) {
	const rounds = 40
	answer := strings.Repeat("word ", 20)
	r, err := newEngineEnv(dir, func(llmfake.Request) llmfake.Response {
		return llmfake.Response{Text: answer, PerToken: tokenDelay}
	}, 0)
	if err != nil {
		return nil, err
	}
	db, err := openBare(dir)
	if err != nil {
		return nil, err
	}
	var whole, model, commit []time.Duration
	for range rounds {
		took, _, err := r.ask(ctx, "How are you?")
		if err != nil {
			return nil, err
		}
		whole = append(whole, took)
		if took, err = callBare(ctx, r); err != nil {
			return nil, err
		}
		model = append(model, took)
		if took, err = commitBare(db); err != nil {
			return nil, err
		}
		commit = append(commit, took)
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	added := make([]time.Duration, rounds)
	for i := range rounds {
		added[i] = whole[i] - model[i]
	}
	limit := 2*median(commit) + 2*time.Millisecond
	return []figure{
		within("added to a plain question of "+short(median(whole)), median(added), limit, short(median(commit))+" a bare commit"),
	}, r.close()
}

// callBare makes the request of the last question again, by the model's client
// alone.
func callBare(ctx context.Context, r *engineEnv) (time.Duration, error) {
	requests := r.fake.Requests()
	last := requests[len(requests)-1]
	again := llm.Request{Role: llm.RolePlan}
	for _, m := range last.Messages {
		again.Messages = append(again.Messages, llm.Message{Role: m.Role, Content: m.Content})
	}
	for _, t := range last.Tools {
		again.Tools = append(again.Tools, llm.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	began := time.Now()
	_, err := r.models.Call(ctx, again, func(llm.Delta) {})
	return time.Since(began), err
}

// openBare makes a bbolt file beside the store.
func openBare(dir string) (*bbolt.DB, error) {
	db, err := bbolt.Open(filepath.Join(dir, "bare.db"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		return nil, err
	}
	return db, db.Update(func(tx *bbolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists([]byte("b"))
		return err
	})
}

// commitBare writes one record of the size of a small task's, durably.
func commitBare(db *bbolt.DB) (time.Duration, error) {
	began := time.Now()
	err := db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("b"))
		n, err := b.NextSequence()
		if err != nil {
			return err
		}
		return b.Put([]byte{byte(n >> 8), byte(n)}, make([]byte, 1000))
	})
	return time.Since(began), err
}

const (
	reservations = 500
	maxReserve   = 10 * time.Millisecond
)

// measureReserve makes reservations for calls one after the other, beside
// nothing else: what a budget adds to a call is one commit.
func measureReserve(ctx context.Context, dir string) ([]figure, error) {
	store, err := bolt.Open(ctx, dir, bolt.Options{})
	if err != nil {
		return nil, err
	}
	id := tasks.ID(fmt.Sprintf("%026d", 1))
	if _, err := store.Open(ctx, []tasks.Inbound{opening(chat(1), id, "what it costs")}); err != nil {
		return nil, err
	}
	var reserved, settled, bare []time.Duration
	for n := range reservations {
		r := tasks.Reservation{
			ID: tasks.ReservationID{Call: fmt.Sprintf("work %d", n)}, Day: "2026-11-20", User: "bench:ann", Chat: chat(1).Key(), Model: "main",
			Most: llm.Usage{Input: 4000, Output: 1000}, Budgets: tasks.Budgets{TaskTokens: 1 << 40, DayTokens: 1 << 40},
		}
		err := timed(&reserved, func() error { return store.Reserve(ctx, id, r) })
		if err == nil {
			err = timed(&settled, func() error { return store.Settle(ctx, id, r.ID, llm.Usage{Input: 3000, Output: 200}) })
		}
		if err == nil {
			err = timed(&bare, func() error { return store.PutSetting(ctx, "bench", "bare", fmt.Sprint(n)) })
		}
		if err != nil {
			return nil, errors.Join(err, store.Close())
		}
	}
	return []figure{
		within("a budget's reservation for a call", median(reserved), maxReserve, short(median(bare))+" a commit of one setting"),
		within("the same, 99th percentile", percentile(reserved, 0.99), 5*maxReserve, short(percentile(bare, 0.99))),
		{name: "its settlement, where no event brings it", measured: short(median(settled))},
	}, store.Close()
}

const (
	appends      = 500
	appendRounds = 6
	maxAppend    = 36 * time.Microsecond
	memoryDir    = "/dev/shm"
)

// measureAppend appends events one after the other to a store whose files are in
// memory, so that the disk does not count, in turns with bare commits there.
func measureAppend(ctx context.Context, _ string) ([]figure, error) {
	dir, err := os.MkdirTemp(memoryDir, "legwork-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	db, err := openBare(dir)
	if err != nil {
		return nil, err
	}
	best, bestBare := time.Hour, time.Hour
	for n := range appendRounds {
		store, err := bolt.Open(ctx, filepath.Join(dir, fmt.Sprint(n)), bolt.Options{})
		if err != nil {
			return nil, err
		}
		took, err := appendEvents(ctx, store)
		if err := errors.Join(err, store.Close()); err != nil {
			return nil, err
		}
		bare := make([]time.Duration, appends)
		for i := range bare {
			if bare[i], err = commitBare(db); err != nil {
				return nil, err
			}
		}
		best, bestBare = min(best, median(took)), min(bestBare, median(bare))
	}
	name := fmt.Sprintf("an event appended, files in memory, the lowest median of %d", appendRounds)
	return []figure{within(name, best, maxAppend, short(bestBare)+" a bare commit")}, db.Close()
}

// appendEvents opens a task and appends events to it, one after the other.
func appendEvents(ctx context.Context, s tasks.Store) (took []time.Duration, err error) {
	if _, err := s.Open(ctx, []tasks.Inbound{opening(chat(0), "t", "goal")}); err != nil {
		return nil, err
	}
	for range appends {
		err := timed(&took, func() error {
			return s.Append(ctx, "t", -1, 0, planner.Event{Type: planner.GuidanceAdded, Text: "hint"})
		})
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}
