package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/files"
	"legwork/planner"
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
	Files []files.ID `json:"files"`
	Run   *bool      `json:"run"`
	Key   string     `json:"idempotency_key"`
}

func (h *handlers) start(ctx context.Context, p api.Principal, in startIn) (api.Task, error) {
	t, _, err := h.Start(ctx, p, api.NewTask{
		Goal: in.Goal, Groups: in.Groups, Language: in.Language, Notify: (*api.Notify)(in.Notify), External: in.Run != nil && !*in.Run, Key: in.Key,
		Files: in.Files, Hops: hops(ctx),
	})
	return t, err
}

type listIn struct {
	State  states   `json:"state"`
	Chat   string   `json:"chat"`
	Limit  int      `json:"limit"`
	Cursor tasks.ID `json:"cursor"`
}

// states is one state or a list of states.
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
	Items []api.TaskSummary `json:"items"`
	Next  *tasks.ID         `json:"next_cursor"`
}

// The default number of entries in a page, and the bytes of content in a page of
// messages.
const (
	defaultPage = 20
	contextPage = 64 << 10
)

func (h *handlers) list(ctx context.Context, p api.Principal, in listIn) (listOut, error) {
	items, next, err := h.List(ctx, p, api.Query{States: in.State, Chat: in.Chat, Before: in.Cursor, Limit: cmp.Or(in.Limit, defaultPage)})
	out := listOut{Items: append([]api.TaskSummary{}, items...)}
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

func (h *handlers) context(ctx context.Context, p api.Principal, in contextIn) (contextOut, error) {
	c, err := h.Context(ctx, p, in.Task, api.ContextQuery{After: in.After, Types: in.Types, Limit: cmp.Or(in.Limit, defaultPage), Bytes: contextPage})
	return contextOut{c.Messages, c.Next}, err
}

type messageIn struct {
	Task    tasks.ID        `json:"task_id"`
	Type    string          `json:"type"`
	Content json.RawMessage `json:"content"`
	Files   []files.ID      `json:"files"`
	Key     string          `json:"idempotency_key"`
}

func (h *handlers) message(ctx context.Context, p api.Principal, in messageIn) (api.Message, error) {
	m, _, err := h.Add(ctx, p, in.Task, api.NewMessage{Type: in.Type, Content: in.Content, Files: in.Files, Key: in.Key})
	return m, err
}

type sharedIn struct {
	Task  tasks.ID `json:"task_id"`
	Keys  []string `json:"keys"`
	After *int     `json:"after_version"`
	Wait  float64  `json:"wait_seconds"`
}

func (h *handlers) shared(ctx context.Context, p api.Principal, in sharedIn) (api.State, error) {
	s, err := h.State(ctx, p, in.Task)
	if err == nil && in.Wait > 0 {
		after := s.Version
		if in.After != nil {
			after = *in.After
		}
		waiting, end := h.waitContext(ctx, in.Wait)
		defer end()
		s, err = h.AwaitState(waiting, p, in.Task, in.Keys, after)
	}
	return s.Only(in.Keys), err
}

type mergeIn struct {
	Task   tasks.ID                   `json:"task_id"`
	Values map[string]json.RawMessage `json:"values"`
	Match  *int                       `json:"if_version"`
}

func (h *handlers) merge(ctx context.Context, p api.Principal, in mergeIn) (api.State, error) {
	s, err := h.Merge(ctx, p, in.Task, in.Match, in.Values)
	if wrong, ok := errors.AsType[*api.InvalidError](err); ok {
		return s, &api.InvalidError{Field: "values" + strings.TrimPrefix(wrong.Field, "state"), Detail: wrong.Detail}
	}
	return s, err
}

type answerIn struct {
	Task tasks.ID `json:"task_id"`
	Text string   `json:"text"`
}

func (h *handlers) answer(ctx context.Context, p api.Principal, in answerIn) (api.Task, error) {
	return h.Answer(ctx, p, in.Task, in.Text)
}

type cancelIn struct {
	Task tasks.ID `json:"task_id"`
}

func (h *handlers) cancel(ctx context.Context, p api.Principal, in cancelIn) (api.Task, error) {
	return h.Cancel(ctx, p, in.Task)
}

type getIn struct {
	Task tasks.ID `json:"task_id"`
	Wait float64  `json:"wait_seconds"`
}

func (h *handlers) get(ctx context.Context, p api.Principal, in getIn) (api.Task, error) {
	if in.Wait == 0 {
		return h.Get(ctx, p, in.Task)
	}
	waiting, end := h.waitContext(ctx, in.Wait)
	defer end()
	token := ctx.Value(progressKey{})
	if token == nil {
		return h.Wait(waiting, p, in.Task)
	}
	t, err := h.Get(ctx, p, in.Task)
	if err != nil {
		return t, err
	}
	report := &reporter{handlers: h, token: token, ticker: time.NewTicker(progressInterval)}
	defer report.ticker.Stop()
	report.notify(ctx, t)
	// The end of the wait is not an error: the result is the task as it is then.
	err = h.Follow(waiting, p, in.Task, t.Seq, nil, progressInterval, func(m api.Message) error {
		report.latest = m.Seq
		return report.due(ctx, p, in.Task)
	}, func() error { return report.due(ctx, p, in.Task) })
	if err != nil && waiting.Err() == nil {
		return t, err
	}
	return h.Get(ctx, p, in.Task)
}

// waitContext returns a context that ends after some seconds, or when legwork stops.
// end must be called.
func (h *handlers) waitContext(ctx context.Context, seconds float64) (waiting context.Context, end func()) {
	return api.WaitContext(ctx, time.Duration(seconds*float64(time.Second)), h.stop)
}

type progressKey struct{}

// progressInterval is the shortest time between two progress notifications.
const progressInterval = 250 * time.Millisecond

// reporter notifies a client of the progress of a task while it waits for it.
type reporter struct {
	*handlers
	token    mcp.ProgressToken
	ticker   *time.Ticker
	latest   int // seq of the newest message
	reported int // seq of the last notification
}

// due notifies the client if there are new messages, unless it was notified a moment
// ago: then the next message or the next quiet moment does it.
func (r *reporter) due(ctx context.Context, p api.Principal, id tasks.ID) error {
	if r.latest <= r.reported {
		return nil
	}
	select {
	case <-r.ticker.C:
	default:
		return nil
	}
	t, err := r.Get(ctx, p, id)
	if err != nil {
		return err
	}
	r.notify(ctx, t)
	return nil
}

// notify sends a progress notification. Progress is the number of messages: it only
// grows, and the total is unknown.
func (r *reporter) notify(ctx context.Context, t api.Task) {
	if t.Seq <= r.reported {
		return
	}
	r.reported = t.Seq
	_ = r.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{ // the client may be gone
		"progressToken": r.token, "progress": t.Seq, "message": summary(t),
	})
}

// summary describes the progress of a task in one line.
func summary(t api.Task) string {
	all, over, active := len(t.Subtasks), 0, []string(nil)
	for _, s := range t.Subtasks {
		switch {
		case s.ID == planner.ClosingID: // the answer
			all--
		case s.State.Ended():
			over++
		case s.State == planner.SubWorking:
			active = append(active, s.Name)
		}
	}
	line := t.State
	if t.State == "waiting" {
		line = "waiting for a person"
	}
	if all > 0 {
		line = fmt.Sprintf("%s, %d of %d sub-tasks over", line, over, all)
	}
	if len(active) > 0 {
		line += "; working: " + strings.Join(active, ", ")
	}
	return line
}
