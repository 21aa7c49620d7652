package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// Context is what a task's context says in the end.
type Context struct {
	Messages []entry                    `json:"messages"`
	State    map[string]json.RawMessage `json:"shared_state"`
	Version  int                        `json:"version"`
	Next     *int                       `json:"next_after"`
	Task     outline                    `json:"-"`
}

// look reads all contexts and the list of tasks, as they stand in the end.
func (f *apiFront) look(ctx context.Context) {
	f.mu.Lock()
	var ids []string
	for _, list := range f.tasks {
		ids = append(ids, list...)
	}
	f.mu.Unlock()
	for _, id := range ids {
		if c, ok := f.context(ctx, id); ok {
			f.mu.Lock()
			f.final[id] = c
			f.mu.Unlock()
		}
	}
	var all []outline
	for cursor := ""; ; {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/tasks?limit=3&cursor=" + url.QueryEscape(cursor)}, http.StatusOK)
		if !ok {
			return
		}
		page := decoded[struct {
			Items []outline
			Next  *string `json:"next_cursor"`
		}](f, r)
		all = append(all, page.Items...)
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	f.mu.Lock()
	f.listed = all
	f.mu.Unlock()
	f.stirred()
}

// context reads one, page by page.
func (f *apiFront) context(ctx context.Context, id string) (whole Context, ok bool) {
	for after := 0; ; {
		r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: fmt.Sprintf("/v1/tasks/%s/context?limit=20&after=%d", id, after)}, http.StatusOK)
		if !ok {
			return whole, false
		}
		page := decoded[Context](f, r)
		page.Messages = append(whole.Messages, page.Messages...)
		whole = page
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	r, ok := f.ask(ctx, call{token: ops, method: http.MethodGet, path: "/v1/tasks/" + id}, http.StatusOK)
	whole.Task = decoded[outline](f, r)
	return whole, ok
}

// outcomes are the ends that streams told, as answers.
func (f *apiFront) outcomes() []Event {
	var list []Event
	for _, t := range f.told {
		if t.Event != "end" {
			continue
		}
		for _, in := range f.s.record.Inputs {
			if !in.question() || !slices.Contains(f.tasks[in.ID], t.Task) {
				continue
			}
			var task outline
			_ = json.Unmarshal([]byte(t.Data), &task) // offended before
			e := Event{At: t.At, Life: t.Life, Type: "answer", Task: t.Task, Chat: in.Chat, Failed: task.State == "failed"}
			if task.Answer != nil {
				e.Text = *task.Answer
			}
			if halted(in, f.s.record.Inputs) && mark(e.Text) == "" {
				e.Text = "[" + in.ID + "] " + e.Text // stopped before there was any
			}
			list = append(list, e)
		}
	}
	return list
}
