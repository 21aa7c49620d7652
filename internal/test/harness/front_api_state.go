package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// What is in the shared state.
const (
	keyLog    = "log" // what was added to it, by name
	keyReady  = "ready"
	keyStatus = "status"

	needsReview = "NEEDS_HUMAN_REVIEW"
)

// shared is a task's shared state as replies tell it.
type shared struct {
	State   map[string]json.RawMessage `json:"state"`
	Version int                        `json:"version"`
	Over    bool                       `json:"over"`
}

// log reads the list that is added to.
func (s shared) log() []string { return logOf(s.State) }

func logOf(state map[string]json.RawMessage) []string {
	list := []string{}
	_ = json.Unmarshal(state[keyLog], &list) // it is not there at first
	return list
}

// merges lets an operator and an agent add to one list at once, each only to
// what it has read.
func (f *apiFront) merges(ctx context.Context, in Input) {
	f.race(ctx, in, f.task(in.Gate), ops, scout)
}

func (f *apiFront) race(ctx context.Context, in Input, id string, tokens ...string) {
	var both sync.WaitGroup
	for _, token := range tokens {
		both.Go(func() {
			for n := range 3 {
				f.append(ctx, token, id, fmt.Sprintf("%s %s %d", in.ID, token, n))
			}
		})
	}
	both.Wait()
}

// append adds to the list until it is there or the task is over.
func (f *apiFront) append(ctx context.Context, token, id, mark string) {
	path := "/v1/tasks/" + id + "/state"
	for {
		r, ok := f.ask(ctx, call{token: token, method: http.MethodGet, path: path}, http.StatusOK)
		if !ok {
			return
		}
		now := decoded[shared](f, r)
		if now.Over || slices.Contains(now.log(), mark) {
			return
		}
		r, ok = f.ask(ctx, call{
			token: token, method: http.MethodPut, path: path, match: strconv.Quote(strconv.Itoa(now.Version)),
			body: map[string]any{keyLog: append(now.log(), mark)},
		}, http.StatusOK, http.StatusPreconditionFailed, http.StatusConflict)
		if !ok || r.Status == http.StatusOK {
			return
		}
	}
}

// sets sets one key.
func (f *apiFront) sets(ctx context.Context, token, id, key string, value any, want ...int) (Request, bool) {
	return f.ask(ctx, call{token: token, method: http.MethodPut, path: "/v1/tasks/" + id + "/state", body: map[string]any{key: value}}, want...)
}

// reviews wants the planned question reviewed, and does that after a while.
func (f *apiFront) reviews(ctx context.Context, in Input) {
	id := f.task(in.Gate)
	if r, ok := f.sets(ctx, scout, id, keyStatus, needsReview, http.StatusOK, http.StatusConflict); ok && r.Status == http.StatusOK {
		f.review(ctx, in, id)
	}
}

// review decides about a review, by the hash of what it belongs to.
func (f *apiFront) review(ctx context.Context, in Input, id string) {
	a, _, ok := f.waits(ctx, id, func(a approval) bool { return a.Kind == "review" })
	if !ok {
		return
	}
	select {
	case <-time.After(time.Duration(hash(in.ID+in.Chat)%600) * time.Millisecond):
	case <-ctx.Done():
	}
	_, _ = f.ask(ctx, call{
		token: ops, method: http.MethodPost, path: "/v1/approvals/" + a.ID, body: map[string]any{"decision": reviewOf(in)},
	}, http.StatusOK, http.StatusConflict, http.StatusNotFound)
}

// reviewOf is how a review ends.
func reviewOf(in Input) string {
	if hash(in.ID+" review")%2 == 0 {
		return "approve"
	}
	return "deny"
}

// shares works with two agents on a context of their own, with a review by a
// person before the answer.
func (f *apiFront) shares(ctx context.Context, in Input) {
	id := f.starts(ctx, in)
	if id == "" {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { f.writes(ctx, in, id) })
	for n := range 3 {
		f.notes(ctx, in, id, scout, "thought", n)
	}
	f.race(ctx, in, id, scout, writer)
	f.sets(ctx, scout, id, keyReady, in.ID, http.StatusOK)
	both.Wait()
	f.await(ctx, func() bool { return f.ended(id) })
}

// notes adds a message under a key, and in half of the cases once more.
func (f *apiFront) notes(ctx context.Context, in Input, id, token, kind string, n int) {
	text := fmt.Sprintf("%s %s %s %d", kind, in.ID, token, n)
	c := call{token: token, method: http.MethodPost, path: "/v1/tasks/" + id + "/messages", key: text, body: map[string]any{"type": kind, "content": text}}
	if _, ok := f.ask(ctx, c, http.StatusCreated, http.StatusOK); ok && hash(text)%2 == 0 {
		_, _ = f.ask(ctx, c, http.StatusOK)
	}
}

// writes waits for the other agent, has what there is reviewed, and hands in the
// answer. It tries to do so before the review is over, and to end that itself.
func (f *apiFront) writes(ctx context.Context, in Input, id string) {
	for n := range 2 {
		f.notes(ctx, in, id, writer, "action", n)
	}
	for ready := false; !ready; {
		r, ok := f.ask(ctx, call{token: writer, method: http.MethodGet, path: "/v1/tasks/" + id + "/state?keys=ready&after=0", prefer: "wait=20"}, http.StatusOK)
		if !ok {
			return
		}
		_, ready = decoded[shared](f, r).State[keyReady]
	}
	if hash(in.ID+" reviewed")%4 > 0 {
		f.sets(ctx, writer, id, keyStatus, needsReview, http.StatusOK)
		f.answers(ctx, in, id, http.StatusConflict, http.StatusOK)
		f.sets(ctx, scout, id, keyStatus, "APPROVED", http.StatusConflict, http.StatusOK)
		f.review(ctx, in, id)
	}
	f.answers(ctx, in, id, http.StatusOK)
}

func (f *apiFront) answers(ctx context.Context, in Input, id string, want ...int) {
	_, _ = f.ask(ctx, call{token: writer, method: http.MethodPost, path: "/v1/tasks/" + id + "/answer", body: map[string]any{"text": in.Text}}, want...)
}
