// Package longtask makes journals of long tasks for tests and measurements.
package longtask

import (
	"context"
	"fmt"
	"strings"
	"time"

	"legwork/planner"
	"legwork/tasks"
)

// Events is about the largest journal that the usual limits allow.
const Events = 4000

// Journal is what follows the opening of a task, at least n events: plans of as many
// sub-tasks and turns as the limits of the opening allow, and two tool calls in each turn.
func Journal(opening planner.Event, n int) []planner.Event {
	opening.Seq, opening.At = 1, time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	state := planner.Apply(planner.State{}, opening)
	var journal []planner.Event
	for len(journal) < n {
		e := planner.Event{Seq: state.Seq + 1, At: opening.At}
		switch a := planner.Todo(state)[0]; {
		case a.Kind == planner.KindTool:
			e.Type, e.Action, e.Result = planner.Returned, a.ID, &planner.Result{Text: strings.Repeat("result ", 60)}
		case a.Role == "work" && a.LastTurn:
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{Text: "done"}
		case a.Role == "work":
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{Calls: []planner.Call{
				{ID: "1", Name: "web_fetch", Arguments: `{"url":"https://example.com"}`, Tool: "web.fetch"},
				{ID: "2", Name: "web_fetch", Arguments: `{"url":"https://example.org"}`, Tool: "web.fetch"},
			}}
		default:
			e.Type, e.Action, e.Reply = planner.Replied, a.ID, &planner.Reply{IsPlan: true}
			for i := range state.Limits.Subtasks {
				e.Reply.Plan = append(e.Reply.Plan, planner.Subtask{
					ID: fmt.Sprintf("%d/%d", state.Round+1, i), Name: "web", Description: strings.Repeat("look ", 40),
				})
			}
		}
		journal = append(journal, e)
		state = planner.Apply(state, e)
	}
	return journal
}

// Store stores a task with a journal that somebody stopped at its end.
func Store(ctx context.Context, s tasks.Store, in tasks.Inbound, journal []planner.Event) error {
	if _, err := s.Open(ctx, []tasks.Inbound{in}); err != nil {
		return err
	}
	return s.Append(ctx, in.ID, -1, 0, append(journal, planner.Event{Type: planner.Stopped})...)
}
