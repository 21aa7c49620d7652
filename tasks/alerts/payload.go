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

// Payload is the body of every request: what Standard Webhooks calls a thin or
// full payload, by its type.
type Payload struct {
	Type      string   `json:"type"`
	Timestamp api.Time `json:"timestamp"` // of what happened, not of the request
	Data      Data     `json:"data"`
}

// Data is what a payload tells; only what belongs to its type is set.
type Data struct {
	// Summary is one English sentence for people.
	Summary string `json:"summary"`
	// Task is a Task, or in an outcome that was asked for the whole task as the
	// HTTP API has it.
	Task     json.RawMessage `json:"task,omitempty"`
	Server   *Part           `json:"server,omitempty"`
	Model    *Part           `json:"model,omitempty"`
	Platform *Part           `json:"platform,omitempty"`
	Webhook  *Part           `json:"webhook,omitempty"`
	Budget   *Budget         `json:"budget,omitempty"`
	// Problem is what is wrong, where neither of these says it.
	Problem string `json:"problem,omitempty"`
	Path    string `json:"path,omitempty"` // of the file that it is about
}

// Task is what an alert tells of a task: enough to find it.
type Task struct {
	ID      tasks.ID  `json:"id"`
	State   string    `json:"state"`
	Goal    string    `json:"goal"` // its beginning
	Chat    string    `json:"chat"`
	From    string    `json:"from"`
	Created api.Time  `json:"created_at"`
	Updated api.Time  `json:"updated_at"`
	Since   *api.Time `json:"waits_since,omitempty"`
	Reason  string    `json:"reason,omitempty"` // key of why it failed, such as "unreachable", as a whole task has it
}

// Part is something that legwork depends on.
type Part struct {
	Name    string   `json:"name"`
	Problem string   `json:"problem,omitempty"`
	Hint    string   `json:"hint,omitempty"` // what can be done
	Since   api.Time `json:"since"`
}

// Budget is how a budget stands.
type Budget struct {
	Name  string  `json:"name"` // key below budget in the config
	Who   string  `json:"who,omitempty"`
	Day   string  `json:"day"`
	Unit  string  `json:"unit"` // "usd" or "tokens"
	Limit float64 `json:"limit"`
	Spent float64 `json:"spent"`
}

// budgetOf tells of a budget in the units of the config.
func budgetOf(over planner.Overdraft) Budget {
	b := Budget{Name: over.Budget, Who: over.Who, Day: over.Day, Unit: "tokens", Limit: float64(over.Limit), Spent: float64(over.Spent)}
	if !tasks.InTokens(over.Budget) {
		b.Unit, b.Limit, b.Spent = "usd", b.Limit/1e6, b.Spent/1e6
	}
	return b
}

// body is the JSON of a payload.
func body(kind string, at time.Time, d Data) []byte {
	return object(Payload{kind, api.Time{Time: at}, d})
}

func object(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // only texts, numbers and JSON come here
	}
	return out
}

// maxAnswer is how much of an answer is sent, in bytes; the API has all of it.
const maxAnswer = 256 << 10

// payload is the body of a delivery: what was queued, or of an outcome that was
// asked for the task as it is now.
func (a *Alerts) payload(ctx context.Context, d tasks.Delivery) ([]byte, error) {
	if len(d.Body) > 0 {
		return d.Body, nil
	}
	t, err := a.task(ctx, d.Task)
	if err != nil {
		return nil, fmt.Errorf("reading task %s: %w", d.Task, err)
	}
	t.State = strings.TrimPrefix(d.Kind, "task.") // also while the outcome is on its way to the chat
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
	out := body(d.Kind, t.Finished.Time, Data{Summary: fmt.Sprintf("Task %s: %s.", t.ID, t.State), Task: raw})
	return []byte(a.Hide.String(string(out))), nil
}

// task reads a task. A panic, which one of them may bring about again and again,
// is an error of this one alone.
func (a *Alerts) task(ctx context.Context, id tasks.ID) (t api.Task, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			a.Log.ErrorContext(ctx, "a task cannot be told", "task", id, "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return a.Task(ctx, id)
}
