package mcp

import (
	"context"
	"errors"
	"fmt"

	"legwork/tasks"
	"legwork/tasks/api"
)

// broken is all that outsiders read of what went wrong inside.
const broken = "Something went wrong inside legwork; its log tells what. Try again later."

// explain says to a model what is wrong and what to do about it. It is the only
// place where errors become results.
func (d *desk) explain(ctx context.Context, p api.Principal, tool string, err error) string {
	var invalid *api.InvalidError
	if errors.As(err, &invalid) {
		return fmt.Sprintf("The value of %s cannot be used: %s.", invalid.Field, invalid.Detail)
	}
	if errors.Is(err, api.ErrForbidden) && d.refused != nil {
		d.refused(ctx, p, tool)
	}
	for _, known := range explained() {
		if errors.Is(err, known.err) {
			return api.Sentence(err) + " " + known.advice
		}
	}
	switch {
	case errors.Is(err, tasks.ErrFull):
		return "legwork's disk is full, and it takes no new work. Tell your user: an admin must make room."
	case errors.Is(err, tasks.ErrDamaged):
		return "What is stored of this task is damaged and cannot be read. Start another task."
	case ctx.Err() != nil:
		return "The call was given up."
	}
	d.log.ErrorContext(ctx, "a tool of the MCP endpoint went wrong", "tool", tool, "token", p.Name, "cause", err)
	return broken
}

// explanation is what to do about an error that tells by itself what is wrong.
type explanation struct {
	err    error
	advice string
}

func explained() []explanation {
	return []explanation{
		{api.ErrForbidden, "Do not try again; it takes another token."},
		{api.ErrNotFound, "list_tasks lists those that you may see."},
		{api.ErrPrecondition, "Nothing was set. Read it with get_state, decide again, and set it with its version."},
		{api.ErrConflict, "get_task tells how it stands."},
		{api.ErrKeyReused, "Use a new idempotency_key for a new call."},
		{api.ErrBusy, "Wait a minute first."},
	}
}
