package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"legwork/tasks"
	"legwork/tasks/api"
)

type startIn struct {
	Goal     string   `json:"goal"`
	Groups   []string `json:"groups"`
	Language string   `json:"language"`
	Notify   *struct {
		Chat    string `json:"chat"`
		Webhook string `json:"webhook"`
	} `json:"notify"`
	Run *bool  `json:"run"`
	Key string `json:"idempotency_key"`
}

func (d *desk) start(ctx context.Context, p api.Principal, in startIn) (api.Task, error) {
	t, _, err := d.Start(ctx, p, api.NewTask{
		Goal: in.Goal, Groups: in.Groups, Language: in.Language, Notify: (*api.Notify)(in.Notify), External: in.Run != nil && !*in.Run, Key: in.Key,
		Hops: hops(ctx),
	})
	return t, err
}

type listIn struct {
	State  states   `json:"state"`
	Chat   string   `json:"chat"`
	Limit  int      `json:"limit"`
	Cursor tasks.ID `json:"cursor"`
}

// states are one state, or several.
type states []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *states) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*s = states{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(s))
}

type listOut struct {
	Items []api.Listed `json:"items"`
	Next  *tasks.ID    `json:"next_cursor"`
}

// How many entries a page has unless a caller says, and how many bytes of content
// one of messages.
const (
	defaultPage = 20
	contextPage = 64 << 10
)

func (d *desk) list(ctx context.Context, p api.Principal, in listIn) (listOut, error) {
	items, next, err := d.List(ctx, p, api.Query{States: in.State, Chat: in.Chat, Before: in.Cursor, Limit: cmp.Or(in.Limit, defaultPage)})
	out := listOut{Items: append([]api.Listed{}, items...)}
	if next != "" {
		out.Next = &next
	}
	return out, err
}

type contextIn struct {
	Task  tasks.ID `json:"task_id"`
	After int      `json:"after"`
	Types []string `json:"types"`
	Limit int      `json:"limit"`
}

type contextOut struct {
	Messages []api.Message `json:"messages"`
	Next     *int          `json:"next_after"`
}

func (d *desk) context(ctx context.Context, p api.Principal, in contextIn) (contextOut, error) {
	c, err := d.Context(ctx, p, in.Task, api.ContextQuery{After: in.After, Types: in.Types, Limit: cmp.Or(in.Limit, defaultPage), Bytes: contextPage})
	return contextOut{c.Messages, c.Next}, err
}

type messageIn struct {
	Task    tasks.ID        `json:"task_id"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Key     string          `json:"idempotency_key"`
}

func (d *desk) message(ctx context.Context, p api.Principal, in messageIn) (api.Message, error) {
	m, _, err := d.Add(ctx, p, in.Task, api.NewMessage{Type: in.Type, Content: in.Content, Key: in.Key})
	return m, err
}

type sharedIn struct {
	Task  tasks.ID `json:"task_id"`
	Keys  []string `json:"keys"`
	After *int     `json:"after_version"`
	Wait  float64  `json:"wait_seconds"`
}

func (d *desk) shared(ctx context.Context, p api.Principal, in sharedIn) (api.Shared, error) {
	s, err := d.Shared(ctx, p, in.Task)
	if err == nil && in.Wait > 0 {
		after := s.Version
		if in.After != nil {
			after = *in.After
		}
		waiting, end := d.patience(ctx, in.Wait)
		defer end()
		s, err = d.AwaitShared(waiting, p, in.Task, in.Keys, after)
	}
	return only(s, in.Keys), err
}

// only is the shared state with no other keys; none: all.
func only(s api.Shared, keys []string) api.Shared {
	s.Values, s.Versions = orEmpty(s.Values), orEmpty(s.Versions)
	if len(keys) == 0 {
		return s
	}
	maps.DeleteFunc(s.Values, func(k string, _ json.RawMessage) bool { return !slices.Contains(keys, k) })
	maps.DeleteFunc(s.Versions, func(k string, _ int) bool { return !slices.Contains(keys, k) })
	return s
}

// orEmpty is a copy that is never nil.
func orEmpty[V any](m map[string]V) map[string]V {
	own := make(map[string]V, len(m))
	maps.Copy(own, m)
	return own
}

type mergeIn struct {
	Task   tasks.ID                   `json:"task_id"`
	Values map[string]json.RawMessage `json:"values"`
	Match  *int                       `json:"if_version"`
}

func (d *desk) merge(ctx context.Context, p api.Principal, in mergeIn) (api.Shared, error) {
	s, err := d.Merge(ctx, p, in.Task, in.Match, in.Values)
	if wrong, ok := errors.AsType[*api.InvalidError](err); ok {
		return s, &api.InvalidError{Field: "values" + strings.TrimPrefix(wrong.Field, "state"), Detail: wrong.Detail}
	}
	return only(s, nil), err
}

type answerIn struct {
	Task tasks.ID `json:"task_id"`
	Text string   `json:"text"`
}

func (d *desk) hand(ctx context.Context, p api.Principal, in answerIn) (api.Task, error) {
	return d.Answer(ctx, p, in.Task, in.Text)
}

type cancelIn struct {
	Task tasks.ID `json:"task_id"`
}

func (d *desk) cancel(ctx context.Context, p api.Principal, in cancelIn) (api.Task, error) {
	return d.Cancel(ctx, p, in.Task)
}
