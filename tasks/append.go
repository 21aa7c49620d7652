package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"legwork/planner"
)

// IsAdmin reports whether a person is an admin, by the config or by the store.
func IsAdmin(ctx context.Context, store Store, configured []string, person string) bool {
	if slices.Contains(configured, person) {
		return true
	}
	var stored []string
	text, err := store.Setting(ctx, OwnerLegwork, SettingAdmins)
	return err == nil && text != "" && json.Unmarshal([]byte(text), &stored) == nil && slices.Contains(stored, person)
}

// Superseded reports whether the store refused an outcome because the task no longer
// wants it.
func Superseded(err error) bool {
	return errors.Is(err, ErrRefused) || errors.Is(err, ErrConflict)
}

// StoreTimeout is how long to wait for the store after an action was cancelled.
const StoreTimeout = 10 * time.Second

// AppendEvents stores the outcome of an action. It continues after ctx ends, for at
// most StoreTimeout: the outcome may have cost money.
func AppendEvents(ctx context.Context, store Store, now func() time.Time, id ID, e ...planner.Event) error {
	at := now()
	for i := range e {
		e[i].At = at
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), StoreTimeout)
	defer cancel()
	return store.Append(ctx, id, -1, 0, e...)
}
