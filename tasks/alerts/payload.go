package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

// Payload is the body of a request.
type Payload struct {
	Type      string   `json:"type"`
	Timestamp api.Time `json:"timestamp"` // of the event, not of the request
	Data      Data     `json:"data"`
}

// Data is the content of a payload. Only the fields of its type are set.
type Data struct {
	// Summary is one English sentence for people.
	Summary string `json:"summary"`
	// Task is a Task; in an outcome it is the whole task as in the HTTP API.
	Task     json.RawMessage `json:"task,omitempty"`
	Server   *Part           `json:"server,omitempty"`
	Model    *Part           `json:"model,omitempty"`
	Platform *Part           `json:"platform,omitempty"`
	Webhook  *Part           `json:"webhook,omitempty"`
	Budget   *Budget         `json:"budget,omitempty"`
	// Problem is the problem of alerts without one of these.
	Problem string `json:"problem,omitempty"`
	Path    string `json:"path,omitempty"` // the file concerned
	URL     string `json:"url,omitempty"`  // of the task in the page in the browser
}

// Task is what an alert says about a task: enough to find it.
type Task struct {
	ID      tasks.ID  `json:"id"`
	State   string    `json:"state"`
	Goal    string    `json:"goal"` // shortened
	Chat    string    `json:"chat"`
	From    string    `json:"from"`
	Created api.Time  `json:"created_at"`
	Updated api.Time  `json:"updated_at"`
	Since   *api.Time `json:"waits_since,omitempty"`
	Reason  string    `json:"reason,omitempty"` // key of the reason, such as "unreachable"
}

// Part is a server, model, platform or webhook.
type Part struct {
	Name    string   `json:"name"`
	Problem string   `json:"problem,omitempty"`
	Hint    string   `json:"hint,omitempty"` // what to do
	Since   api.Time `json:"since"`
}

// Budget is the state of a budget.
type Budget struct {
	Name  string  `json:"name"` // key below budget in the config
	Who   string  `json:"who,omitempty"`
	Day   string  `json:"day"`
	Unit  string  `json:"unit"` // "usd" or "tokens"
	Limit float64 `json:"limit"`
	Spent float64 `json:"spent"`
}

// budgetOf describes a budget in the units of the config.
func budgetOf(over planner.Overdraft) Budget {
	b := Budget{Name: over.Budget, Who: over.Who, Day: over.Day, Unit: "tokens", Limit: float64(over.Limit), Spent: float64(over.Spent)}
	if !tasks.InTokens(over.Budget) {
		b.Unit, b.Limit, b.Spent = "usd", b.Limit/1e6, b.Spent/1e6
	}
	return b
}

// body is a payload as JSON.
func body(kind string, at time.Time, d Data) []byte {
	return object(Payload{kind, api.Time{Time: at}, d})
}

func object(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // callers pass only texts, numbers and JSON
	}
	return out
}

// maxAnswer is the longest answer in a payload, in bytes; the API has all of it.
const maxAnswer = 256 << 10

// payload is the body of a delivery. For an outcome it is made from the current
// task; for other alerts it was queued.
func (a *Alerts) payload(ctx context.Context, d tasks.Delivery) ([]byte, error) {
	if len(d.Body) > 0 {
		return d.Body, nil
	}
	t, err := a.task(ctx, d.Task)
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", d.Task, err)
	}
	t.State = strings.TrimPrefix(d.Kind, "task.") // even while the outcome is still being delivered to the chat
	if t.Finished == nil {
		t.Finished = &api.Time{Time: d.At}
	}
	if t.Answer != nil {
		short := clip.Marked(*t.Answer, maxAnswer)
		t.Answer = &short
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("writing task %s: %w", d.Task, err)
	}
	out := body(d.Kind, t.Finished.Time, Data{Summary: fmt.Sprintf("Task %s: %s.", t.ID, t.State), Task: raw, URL: a.Page.Task(t.ID)})
	return []byte(a.Hide.String(string(out))), nil
}

// task reads a task. A panic becomes an error, since the same task may cause it
// again and again.
func (a *Alerts) task(ctx context.Context, id tasks.ID) (t api.Task, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Log.ErrorContext(ctx, "task reader panicked", "task", id, "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return a.Task(ctx, id)
}
