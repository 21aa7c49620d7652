package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/llm"
	"legwork/store/bolt"
	"legwork/tasks"
)

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
			Action: fmt.Sprintf("work %d", n), Day: "2026-11-20", User: "bench:ann", Chat: chat(1).Key(), Model: "main",
			Most: llm.Usage{Input: 4000, Output: 1000}, Budgets: tasks.Budgets{TaskTokens: 1 << 40, DayTokens: 1 << 40},
		}
		err := timed(&reserved, func() error { return store.Reserve(ctx, id, r) })
		if err == nil {
			err = timed(&settled, func() error { return store.Settle(ctx, id, r.Action, llm.Usage{Input: 3000, Output: 200}) })
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
