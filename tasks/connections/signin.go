package connections

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"legwork/tasks"
)

// Begin prepares a sign-in and returns the address at which the person agrees. By is the
// key of the person who will do so, and task the one that waits for it; empty for none.
// ErrNoServer.
func (c *Connections) Begin(ctx context.Context, id tasks.ConnectionID, by string, task tasks.ID) (string, error) {
	i, err := c.identity(id)
	if err != nil {
		return "", err
	}
	_, before, err := i.stored(ctx)
	if err != nil {
		return "", err
	}
	a, err := i.config.Begin(ctx, i.wanted(), before)
	if err != nil {
		return "", fmt.Errorf("preparing the sign-in at %q: %w", id.Server, err)
	}
	sealed, err := c.seal(sealedAttempt{i.config.Server, a}, id)
	if err != nil {
		return "", err
	}
	err = c.Store.PutAttempt(ctx, tasks.Attempt{ConnectionID: id, ID: stateID(a.State), By: by, Task: task, Sealed: sealed})
	if err != nil {
		return "", fmt.Errorf("storing the sign-in: %w", err)
	}
	return a.URL, nil
}

// Finish ends a sign-in with the parameters of the address on which the browser ended. By
// is the key of the person who brings the address; only the one who began can finish. The
// errors are ErrUnknown, oauth.ErrDenied, oauth.ErrForged, and others for the log.
func (c *Connections) Finish(ctx context.Context, redirect url.Values, by string) (tasks.Attempt, error) {
	attempt, err := c.Store.SpendAttempt(ctx, stateID(redirect.Get("state")), by)
	if errors.Is(err, tasks.ErrNoConnection) {
		return tasks.Attempt{}, ErrUnknown
	}
	if err != nil {
		return tasks.Attempt{}, fmt.Errorf("reading the sign-in: %w", err)
	}
	i, err := c.identity(attempt.ConnectionID)
	if err != nil {
		return attempt, err
	}
	var sealed sealedAttempt
	if err := c.open(attempt.Sealed, attempt.ConnectionID, &sealed); err != nil {
		return attempt, err
	}
	if sealed.Server != i.config.Server { // it was changed in the config meanwhile
		return attempt, ErrUnknown
	}
	grant, err := i.config.Finish(ctx, sealed.Attempt, redirect)
	if err != nil {
		return attempt, fmt.Errorf("finishing the sign-in at %q: %w", attempt.Server, err)
	}
	kept, err := c.seal(sealedGrant{i.config.Server, grant}, attempt.ConnectionID)
	if err != nil {
		return attempt, err
	}
	err = c.Store.PutConnection(ctx, tasks.Connection{ConnectionID: attempt.ConnectionID, Kind: "oauth", By: attempt.By, Scopes: grant.Scopes, Sealed: kept})
	if err != nil {
		return attempt, fmt.Errorf("storing the sign-in at %q: %w", attempt.Server, err)
	}
	c.Log.InfoContext(ctx, "signed in", "server", attempt.Server, "by", attempt.By)
	c.Changed(ctx, attempt.ConnectionID)
	return attempt, nil
}

// stateID is how a sign-in that has begun is stored: the state itself is a secret.
func stateID(state string) string {
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:])
}
