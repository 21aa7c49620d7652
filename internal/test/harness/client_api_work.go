package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/harness/record"
)

// apiWork is what the programs do for their inputs.
type apiWork struct{ *apiRequests }

// key is an idempotency key of a run.
func (f *apiWork) key(in record.Input) string { return "key of " + in.ID }

// question asks, and waits for the outcome; some programs by a request that is held until
// then.
func (f *apiWork) question(ctx context.Context, in record.Input) {
	id := f.starts(ctx, in)
	if id == "" {
		return
	}
	for record.Hash(in.Text+" waits")%2 == 0 {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/tasks/" + id, prefer: "wait=30"}, http.StatusOK)
		if !ok || decoded[record.Task](f.apiRequests, r).Finished != nil {
			break
		}
	}
	f.await(ctx, func() bool { return f.ended(id) })
}

// starts starts the task of an input, or repeats the request with the same key,
// and follows it.
func (f *apiWork) starts(ctx context.Context, in record.Input) (id string) {
	select {
	case <-f.feed: // it misses nothing
	case <-ctx.Done():
		return ""
	}
	if in.Agent {
		id = f.startsByMCP(ctx, in)
	} else {
		body := map[string]any{"goal": in.Text}
		if files, ok := f.uploads(ctx, in.From, in); !ok {
			return ""
		} else if len(files) > 0 {
			body["files"] = files
		}
		switch {
		case in.Notify == record.WebhookName:
			body["notify"] = map[string]string{"webhook": in.Notify}
		case in.Notify != "":
			body["notify"] = map[string]string{"chat": f.chat.key(in.Notify)}
		}
		if in.Kind == record.Shared {
			body["run"] = false
		}
		r, ok := f.ask(ctx, call{token: in.From, method: http.MethodPost, path: "/v1/tasks", key: f.key(in), body: body}, http.StatusCreated, http.StatusOK)
		if ok {
			id = decoded[record.Task](f.apiRequests, r).ID
		}
	}
	if id != "" && f.addTask(in, id) {
		f.begin(func(ctx context.Context) { f.follow(ctx, ops, "/v1/tasks/"+id+"/events", id) })
	}
	return id
}

// startsByMCP starts it as another agent does.
func (f *apiWork) startsByMCP(ctx context.Context, in record.Input) string {
	arguments := map[string]any{"goal": in.Text, "idempotency_key": f.key(in)}
	if files, ok := f.uploads(ctx, scout, in); !ok {
		return ""
	} else if len(files) > 0 {
		arguments["files"] = files
	}
	r, ok := f.ask(ctx, call{token: scout, method: http.MethodPost, path: "/mcp", body: map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "start_task", "arguments": arguments},
	}}, http.StatusOK)
	if !ok {
		return ""
	}
	got := decoded[struct {
		Result struct {
			StructuredContent record.Task
		}
	}](f.apiRequests, r)
	if got.Result.StructuredContent.ID == "" {
		if strings.Contains(r.Reply, "stopping") { // it ends
			return f.startsByMCP(ctx, in)
		}
		f.misused("start_task returned %s", r.Reply)
	}
	return got.Result.StructuredContent.ID
}

// addTask notes the task of an input; fresh when it was not known.
func (f *apiWork) addTask(in record.Input, id string) (fresh bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.Contains(f.tasks[in.ID], id) {
		return false
	}
	f.tasks[in.ID] = append(f.tasks[in.ID], id)
	return true
}

// adds adds a message: an operator guides, an agent reports. Some send
// it twice.
func (f *apiWork) adds(ctx context.Context, in record.Input) {
	token, kind := ops, "human_input"
	if in.Kind == record.Note {
		token, kind = scout, "observation"
	}
	c := call{
		token: token, method: http.MethodPost, path: "/v1/tasks/" + f.task(in.Gate) + "/messages", key: f.key(in),
		body: map[string]any{"type": kind, "content": in.Text},
	}
	r, ok := f.ask(ctx, c, http.StatusCreated, http.StatusOK, http.StatusConflict)
	if ok && r.Status != http.StatusConflict && record.Hash(in.Text+" again")%2 == 0 {
		_, _ = f.ask(ctx, c, http.StatusOK)
	}
}

// approval is a request for a decision, with the fields that are needed here.
type approval struct {
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Details struct {
		Fields []struct{ Name string }
	} `json:"details"`
	Calls []struct {
		Arguments json.RawMessage `json:"arguments"`
		Shown     string          `json:"shown"`
	} `json:"calls"`
}

// says is the whole text for a person.
func (a approval) says() string {
	text := a.Text
	for _, c := range a.Calls {
		text += c.Shown
	}
	return text
}

// waits returns what a task waits for, when it is about something; ok is false
// when the task is over.
func (f *apiWork) waits(ctx context.Context, id string, about func(approval) bool) (a approval, life int, ok bool) {
	for !f.ended(id) {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/approvals?task=" + url.QueryEscape(id)}, http.StatusOK)
		if !ok {
			return a, 0, false
		}
		for _, a := range decoded[struct{ Items []approval }](f.apiRequests, r).Items {
			if about(a) {
				return a, r.Life, true
			}
		}
		select {
		case <-time.After(2 * retryEvery):
		case <-ctx.Done():
			return a, 0, false
		}
	}
	return a, 0, false
}

// decides decides about a sub-task's question, as a person in a chat would: by the
// hash of its subject, some twice, some differently when it is too late, some
// after an agent has tried to.
func (f *apiWork) decides(ctx context.Context, in record.Input) {
	for {
		a, life, ok := f.waits(ctx, f.task(in.Gate), func(a approval) bool { return strings.Contains(a.says(), in.Key) })
		if !ok {
			return
		}
		f.recordShown(in, a, life)
		if habitOf(in.Key) == meddled {
			f.rules(ctx, in, a, scout, record.Other(in.Key), http.StatusForbidden)
		}
		f.presses(in)
		r, ok := f.rules(ctx, in, a, ops, record.Choice(in.Key), http.StatusOK, http.StatusConflict, http.StatusNotFound)
		if !ok {
			return
		}
		if r.Status != http.StatusOK {
			continue // an earlier reply was cut off, or the server asks anew
		}
		f.mu.Lock()
		f.asked = append(f.asked, record.Event{At: r.Done, Life: r.Life, Type: "accepted", Message: in.ID})
		f.mu.Unlock()
		switch habitOf(in.Key) {
		case twice:
			f.rules(ctx, in, a, ops, record.Choice(in.Key), http.StatusOK, http.StatusConflict)
		case wavering:
			f.rules(ctx, in, a, ops, record.Other(in.Key), http.StatusConflict)
		case once, meddled:
		}
		return
	}
}

// rules sends a decision.
func (f *apiWork) rules(ctx context.Context, in record.Input, a approval, token, label string, want ...int) (record.Request, bool) {
	body := map[string]any{"decision": "approve"}
	switch {
	case label == record.LabelDeny || label == record.LabelDecline:
		body["decision"] = "deny"
	case len(a.Details.Fields) > 0:
		body["value"] = map[string]string{a.Details.Fields[0].Name: strings.ToLower(label)}
	}
	return f.ask(ctx, call{token: token, method: http.MethodPost, path: "/v1/approvals/" + a.ID, body: body}, want...)
}

// recordShown notes that something was asked, once in each life.
func (f *apiWork) recordShown(in record.Input, a approval, life int) {
	e := record.Event{At: time.Now(), Life: life, Type: "question", Chat: in.Chat, Task: a.ID, Text: a.says()}
	for _, c := range a.Calls {
		e.Calls = append(e.Calls, struct {
			Arguments json.RawMessage `json:"arguments"`
		}{c.Arguments})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.ContainsFunc(f.asked, func(b record.Event) bool { return b.Type == e.Type && b.Life == life && b.Task == a.ID }) {
		f.asked = append(f.asked, e)
	}
}

// presses notes that a decision is sent.
func (f *apiWork) presses(in record.Input) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recorded = append(f.recorded, record.Press{At: time.Now(), Key: in.Key, Label: record.Choice(in.Key), By: in.From})
}

// shared is a task's shared state as replies tell it.
type shared struct {
	State   map[string]json.RawMessage `json:"state"`
	Version int                        `json:"version"`
	Over    bool                       `json:"over"`
}

// log reads the list that programs append to.
func (s shared) log() []string { return record.LogOf(s.State) }

// merges lets an operator and an agent add to one list at once, each only to
// what it has read.
func (f *apiWork) merges(ctx context.Context, in record.Input) {
	f.race(ctx, in, f.task(in.Gate), ops, scout)
}

func (f *apiWork) race(ctx context.Context, in record.Input, id string, tokens ...string) {
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
func (f *apiWork) append(ctx context.Context, token, id, mark string) {
	path := "/v1/tasks/" + id + "/state"
	for {
		r, ok := f.ask(ctx, call{token: token, method: http.MethodGet, path: path}, http.StatusOK)
		if !ok {
			return
		}
		now := decoded[shared](f.apiRequests, r)
		if now.Over || slices.Contains(now.log(), mark) {
			return
		}
		r, ok = f.ask(ctx, call{
			token: token, method: http.MethodPut, path: path, match: strconv.Quote(strconv.Itoa(now.Version)),
			body: map[string]any{record.KeyLog: append(now.log(), mark)},
		}, http.StatusOK, http.StatusPreconditionFailed, http.StatusConflict)
		if !ok || r.Status == http.StatusOK {
			return
		}
	}
}

// sets sets one key.
func (f *apiWork) sets(ctx context.Context, token, id, key string, value any, want ...int) (record.Request, bool) {
	return f.ask(ctx, call{token: token, method: http.MethodPut, path: "/v1/tasks/" + id + "/state", body: map[string]any{key: value}}, want...)
}

// reviews asks for a review of the planned question, and reviews it after a while.
func (f *apiWork) reviews(ctx context.Context, in record.Input) {
	id := f.task(in.Gate)
	if r, ok := f.sets(ctx, scout, id, record.KeyStatus, record.NeedsReview, http.StatusOK, http.StatusConflict); ok && r.Status == http.StatusOK {
		f.review(ctx, in, id)
	}
}

// review decides about a review, by the hash of its input.
func (f *apiWork) review(ctx context.Context, in record.Input, id string) {
	a, _, ok := f.waits(ctx, id, func(a approval) bool { return a.Kind == "review" })
	if !ok {
		return
	}
	select {
	case <-time.After(time.Duration(record.Hash(in.ID+in.Chat)%600) * time.Millisecond):
	case <-ctx.Done():
	}
	_, _ = f.ask(ctx, call{
		token: ops, method: http.MethodPost, path: "/v1/approvals/" + a.ID, body: map[string]any{"decision": record.ReviewOf(in)},
	}, http.StatusOK, http.StatusConflict, http.StatusNotFound)
}

// shares works with two agents on a context of their own, with a review by a
// person before the answer.
func (f *apiWork) shares(ctx context.Context, in record.Input) {
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
	f.sets(ctx, scout, id, record.KeyReady, in.ID, http.StatusOK)
	both.Wait()
	f.await(ctx, func() bool { return f.ended(id) })
}

// notes adds a message under a key, and in half of the cases once more.
func (f *apiWork) notes(ctx context.Context, in record.Input, id, token, kind string, n int) {
	text := fmt.Sprintf("%s %s %s %d", kind, in.ID, token, n)
	c := call{token: token, method: http.MethodPost, path: "/v1/tasks/" + id + "/messages", key: text, body: map[string]any{"type": kind, "content": text}}
	if _, ok := f.ask(ctx, c, http.StatusCreated, http.StatusOK); ok && record.Hash(text)%2 == 0 {
		_, _ = f.ask(ctx, c, http.StatusOK)
	}
}

// writes waits for the other agent, asks for a review, and hands in the
// answer. It also tries to answer before the review is over, and to end the review itself.
func (f *apiWork) writes(ctx context.Context, in record.Input, id string) {
	for n := range 2 {
		f.notes(ctx, in, id, writer, "action", n)
	}
	for ready := false; !ready; {
		r, ok := f.ask(ctx, call{token: writer, method: http.MethodGet, path: "/v1/tasks/" + id + "/state?keys=ready&after=0", prefer: "wait=20"}, http.StatusOK)
		if !ok {
			return
		}
		_, ready = decoded[shared](f.apiRequests, r).State[record.KeyReady]
	}
	if record.Hash(in.ID+" reviewed")%4 > 0 {
		f.sets(ctx, writer, id, record.KeyStatus, record.NeedsReview, http.StatusOK)
		f.answers(ctx, in, id, http.StatusConflict, http.StatusOK)
		f.sets(ctx, scout, id, record.KeyStatus, "APPROVED", http.StatusConflict, http.StatusOK)
		f.review(ctx, in, id)
	}
	f.answers(ctx, in, id, http.StatusOK)
}

func (f *apiWork) answers(ctx context.Context, in record.Input, id string, want ...int) {
	_, _ = f.ask(ctx, call{token: writer, method: http.MethodPost, path: "/v1/tasks/" + id + "/answer", body: map[string]any{"text": in.Text}}, want...)
}
