package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"legwork/planner"
)

// IsAdmin reports that a person is an admin, by the config or by the store.
func IsAdmin(ctx context.Context, store Store, configured []string, person string) bool {
	if slices.Contains(configured, person) {
		return true
	}
	var stored []string
	text, err := store.Setting(ctx, OwnerLegwork, SettingAdmins)
	return err == nil && text != "" && json.Unmarshal([]byte(text), &stored) == nil && slices.Contains(stored, person)
}

// Superseded reports that an outcome was not wanted any more when it came.
func Superseded(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrConflict)
}

// StoreTimeout is how long it is worth to wait for the store after an action was
// cancelled.
const StoreTimeout = 10 * time.Second

// AppendEvents outlives the action's cancellation: a result that is here
// already, and perhaps paid for, is worth a moment.
func AppendEvents(ctx context.Context, store Store, now func() time.Time, id ID, e ...planner.Event) error {
	at := now()
	for i := range e {
		e[i].At = at
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
	defer cancel()
	return store.Append(ctx, id, -1, 0, e...)
}
