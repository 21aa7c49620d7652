package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/api"
)

type getIn struct {
	Task tasks.ID `json:"task_id"`
	Wait float64  `json:"wait_seconds"`
}

func (d *desk) get(ctx context.Context, p api.Principal, in getIn) (api.Task, error) {
	if in.Wait == 0 {
		return d.Get(ctx, p, in.Task)
	}
	waiting, end := d.patience(ctx, in.Wait)
	defer end()
	token := ctx.Value(progressKey{})
	if token == nil {
		return d.Wait(waiting, p, in.Task)
	}
	t, err := d.Get(ctx, p, in.Task)
	if err != nil {
		return t, err
	}
	report := &reporter{desk: d, token: token, pace: time.NewTicker(pace)}
	defer report.pace.Stop()
	report.tell(ctx, t)
	// That it ends with waiting is no error: then the task is as it stands.
	err = d.Follow(waiting, p, in.Task, t.Seq, nil, pace, func(m api.Message) error {
		report.news = m.Seq
		return report.due(ctx, p, in.Task)
	}, func() error { return report.due(ctx, p, in.Task) })
	if err != nil && waiting.Err() == nil {
		return t, err
	}
	return d.Get(ctx, p, in.Task)
}

// patience is a context that ends when a caller has waited long enough, or when
// legwork stops. end must be called.
func (d *desk) patience(ctx context.Context, seconds float64) (waiting context.Context, end func()) {
	return api.Patience(ctx, time.Duration(seconds*float64(time.Second)), d.stop)
}

type progressKey struct{}

// pace is how often progress is told at most.
const pace = 250 * time.Millisecond

// reporter tells a client what becomes of a task while it waits.
type reporter struct {
	*desk
	token mcp.ProgressToken
	pace  *time.Ticker
	news  int // seq of the newest message
	told  int // seq up to which the client knows
}

// due tells what is new unless something was told a moment ago: then what
// follows, or the next quiet moment, tells it as well.
func (r *reporter) due(ctx context.Context, p api.Principal, id tasks.ID) error {
	if r.news <= r.told {
		return nil
	}
	select {
	case <-r.pace.C:
	default:
		return nil
	}
	t, err := r.Get(ctx, p, id)
	if err != nil {
		return err
	}
	r.tell(ctx, t)
	return nil
}

// tell sends a notification. The number of messages is the measure, as it only
// grows; nobody knows how many there will be.
func (r *reporter) tell(ctx context.Context, t api.Task) {
	if t.Seq <= r.told {
		return
	}
	r.told = t.Seq
	_ = r.server.SendNotificationToClient(ctx, "notifications/progress", map[string]any{ // who is gone hears nothing
		"progressToken": r.token, "progress": t.Seq, "message": summary(t),
	})
}

// summary says in a line how far a task is.
func summary(t api.Task) string {
	over, active := 0, []string(nil)
	for _, s := range t.Subtasks {
		switch {
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
	if len(t.Subtasks) > 0 {
		line = fmt.Sprintf("%s, %d of %d sub-tasks over", line, over, len(t.Subtasks))
	}
	if len(active) > 0 {
		line += "; working: " + strings.Join(active, ", ")
	}
	return line
}
