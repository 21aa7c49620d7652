package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/store/bolt"
	"legwork/tasks"
)

const (
	readTasks = 100_000
	readChats = 1000
	readOpen  = 20 // of so many tasks one is not over
	readTurns = 2000
	readPage  = 50
	readDeep  = readTurns / 8         // pages of a state, one after the other
	maxRead   = 10 * time.Millisecond // 99th percentile
)

// readStates are the states that tasks are in.
func readStates() []string { return []string{"done", "stopped", "working"} }

// measureReads reads random pages and tasks of a store that holds many tasks, by
// itself and over the API of the daemon.
func measureReads(ctx context.Context, dir string) ([]figure, error) {
	store, err := bolt.Open(ctx, filepath.Join(dir, "data"), bolt.Options{})
	if err != nil {
		return nil, err
	}
	ids, err := fillReads(ctx, store)
	var figures []figure
	if err == nil {
		figures, err = readStore(ctx, store, ids)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		return nil, err
	}
	more, err := readAPI(ctx, dir, ids)
	return append(figures, more...), err
}

// readChat spreads tasks over chats of several platforms.
func readChat(n int) bot.Chat {
	platform := []string{"telegram", "slack", "api"}[n%3]
	return bot.Chat{Platform: platform, ID: fmt.Sprint(n % readChats), Thread: fmt.Sprint("t", n)}
}

// fillReads stores tasks: one of twenty is a context that agents work on, some were
// stopped, and the rest are answered.
func fillReads(ctx context.Context, s *bolt.Store) ([]tasks.ID, error) {
	ids, errs := make([]tasks.ID, readTasks), make([]error, fillers)
	begin := time.Now().Add(-readTasks * time.Minute)
	for n := range ids {
		ids[n] = tasks.NewID(begin.Add(time.Duration(n) * time.Minute))
	}
	var wg sync.WaitGroup
	for w := range fillers {
		wg.Go(func() {
			for n := w; n < readTasks && errs[w] == nil; n += fillers {
				in := opening(readChat(n), ids[n], strings.Repeat("goal ", 20))
				in.Open.Opening.External = n%readOpen == 0
				if _, errs[w] = s.Open(ctx, []tasks.Inbound{in}); errs[w] != nil {
					return
				}
				switch n % readOpen {
				case 0:
					note := &planner.Note{Type: "thought", Content: json.RawMessage(`"as good as any other"`)}
					errs[w] = s.Append(ctx, ids[n], -1, 0, planner.Event{Type: planner.NoteAdded, By: "agent:bench", Note: note})
				case 1:
					errs[w] = s.Append(ctx, ids[n], -1, 0, planner.Event{Type: planner.Stopped},
						planner.Event{Type: planner.SendStarted, Slot: planner.SlotAnswer},
						planner.Event{Type: planner.Sent, Slot: planner.SlotAnswer, Message: "m", Last: true})
				default:
					errs[w] = finish(ctx, s, ids[n], strings.Repeat("answer ", 20))
				}
			}
		})
	}
	wg.Wait()
	return ids, errors.Join(errs...)
}

// readStore measures what the API is made of.
func readStore(ctx context.Context, s *bolt.Store, ids []tasks.ID) ([]figure, error) {
	page := func(q tasks.TaskQuery) error {
		q.Limit = readPage
		rows, _, err := s.Tasks(ctx, q)
		if err == nil && len(rows) == 0 && q.Before == "" {
			err = fmt.Errorf("no task of %+v is listed", q)
		}
		return err
	}
	anyOf := func() tasks.ID { return ids[rand.IntN(len(ids))] } //nolint:gosec // any will do
	var figures []figure
	for _, read := range []struct {
		name string
		do   func(n int) error
	}{
		{"newest tasks", func(int) error { return page(tasks.TaskQuery{}) }},
		{"tasks from a random one on", func(int) error { return page(tasks.TaskQuery{Before: anyOf()}) }},
		{"tasks of a state", func(n int) error {
			return page(tasks.TaskQuery{Statuses: []string{"done", "stopped", "working"}[n%3 : n%3+1]})
		}},
		{"tasks of a state, from a random one on", func(n int) error {
			return page(tasks.TaskQuery{Statuses: []string{"done", "stopped", "working"}[n%3 : n%3+1], Before: anyOf()})
		}},
		{"tasks of a chat", func(n int) error { return page(tasks.TaskQuery{Rooms: []string{readChat(n).Room()}}) }},
		{"tasks of a platform and two states", func(int) error {
			return page(tasks.TaskQuery{Rooms: []string{"api:*"}, Statuses: []string{"working", "stopped"}, Before: anyOf()})
		}},
		{"the state of a task", func(int) error { _, err := s.State(ctx, anyOf()); return err }},
		{"its row", func(int) error { _, err := s.Row(ctx, anyOf()); return err }},
		{"its journal", func(int) error { _, err := s.Load(ctx, anyOf(), 0); return err }},
	} {
		var took []time.Duration
		for n := range readTurns {
			if err := timed(&took, func() error { return read.do(n) }); err != nil {
				return nil, fmt.Errorf("reading %s: %w", read.name, err)
			}
		}
		name := fmt.Sprintf("%d tasks in the store: %s, 99th percentile", readTasks, read.name)
		figures = append(figures, within(name, percentile(took, 0.99), maxRead, short(median(took))+" the median"))
	}
	return figures, nil
}

// readAPI measures the same over the API, one request after the other.
func readAPI(ctx context.Context, dir string, ids []tasks.ID) ([]figure, error) {
	return withProgram(ctx, dir, func(p *apiClient, _ int) ([]figure, error) { return readCalls(ctx, p, ids) })
}

func readCalls(ctx context.Context, p *apiClient, ids []tasks.ID) ([]figure, error) {
	anyOf := func() string { return string(ids[rand.IntN(len(ids))]) } //nolint:gosec // any will do
	var figures []figure
	states, cursor, state := readStates(), "", ""
	for _, call := range []struct {
		name string
		path func(n int) string
	}{
		{"GET /v1/tasks, page by page", func(int) string { return "/v1/tasks?limit=50&cursor=" + url.QueryEscape(cursor) }},
		{"GET /v1/tasks?state=", func(n int) string { return "/v1/tasks?limit=50&state=" + states[n%len(states)] }},
		{"GET /v1/tasks?state=, page by page", func(n int) string {
			if n%readDeep == 0 {
				state, cursor = states[n/readDeep%len(states)], ""
			}
			return "/v1/tasks?limit=50&state=" + state + "&cursor=" + url.QueryEscape(cursor)
		}},
		{"GET /v1/tasks?chat=", func(n int) string { return "/v1/tasks?limit=50&chat=" + url.QueryEscape(readChat(n).Room()) }},
		{"GET /v1/tasks/{id}", func(int) string { return "/v1/tasks/" + anyOf() }},
		{"GET /v1/tasks/{id}/context", func(int) string { return "/v1/tasks/" + anyOf() + "/context" }},
		{"GET /v1/tasks/{id}/state", func(int) string { return "/v1/tasks/" + anyOf() + "/state" }},
	} {
		var took []time.Duration
		cursor = ""
		for n := range readTurns {
			var body []byte
			path := call.path(n)
			err := timed(&took, func() (err error) { body, err = p.get(ctx, path); return err })
			if err != nil {
				return nil, err
			}
			if n == 0 { // work for the first request only is no read
				took = took[:0]
			}
			if cursor, err = nextPage(body, !strings.Contains(path, "cursor=") || strings.HasSuffix(path, "cursor=")); err != nil {
				return nil, fmt.Errorf("reading %s: %w", call.name, err)
			}
		}
		figures = append(figures, within("the same, "+call.name, percentile(took, 0.99), maxRead, short(median(took))+" the median"))
	}
	return figures, nil
}

// nextPage reads the cursor of a reply; "" at the end of a list, and of what is
// none. A first page without items would be quick and measure nothing.
func nextPage(body []byte, first bool) (cursor string, err error) {
	var page struct {
		Items *[]json.RawMessage `json:"items"`
		Next  string             `json:"next_cursor"`
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return "", err
	}
	if first && page.Items != nil && len(*page.Items) == 0 {
		return "", fmt.Errorf("nothing is listed: %.200s", body)
	}
	return page.Next, nil
}
