package mcp

import (
	"context"
	"errors"
	"fmt"

	"legwork/tasks"
	"legwork/tasks/contexts"
)

// explain says to a model what is wrong and what to do about it. It is the only
// place where errors become results.
func (d *desk) explain(ctx context.Context, p contexts.Principal, tool string, err error) string {
	var invalid *contexts.InvalidError
	switch {
	case errors.As(err, &invalid):
		return fmt.Sprintf("The value of %s cannot be used: %s.", invalid.Field, invalid.Detail)
	case errors.Is(err, contexts.ErrForbidden):
		return fmt.Sprintf("The token %q has the role %q, which may not do this. Do not try again; ask for a token of another role.", p.Name, p.Role)
	}
	for _, known := range explained() {
		if errors.Is(err, known.err) {
			return known.text
		}
	}
	if ctx.Err() == nil {
		d.log.ErrorContext(ctx, "a tool of the MCP endpoint went wrong", "tool", tool, "token", p.Name, "error", err)
	}
	return "Something went wrong inside legwork; its log tells what. Try again later."
}

type explanation struct {
	err  error
	text string
}

func explained() []explanation {
	return []explanation{
		{contexts.ErrNotFound, "There is no such task, or it is not one that you may see. list_tasks lists those that you may see."},
		{contexts.ErrPrecondition, "The shared state has changed since that version, and nothing was set. Read it with get_state, decide again, and set it with the new version."},
		{contexts.ErrConflict, "The task takes this no longer: it is over, or it waits for a person to decide. get_task tells its state."},
		{contexts.ErrKeyReused, "This idempotency_key was used before, with other arguments. Use a new one for a new call."},
		{contexts.ErrBusy, "legwork has too much to do at the moment. Wait a minute and try again."},
		{tasks.ErrFull, "legwork's disk is full, and it takes no new work. Tell your user: an admin must make room."},
		{tasks.ErrDamaged, "What is stored of this task is damaged and cannot be read. Start another task."},
	}
}
