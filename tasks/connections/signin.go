package connections

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"legwork/tasks"
	"legwork/tools"
	"legwork/tools/oauth"
)

// Begun is a sign-in that a person can agree to.
type Begun struct {
	tasks.Attempt
	Reader
	State string // a secret, with which anybody can go on with the sign-in
	URL   string // where the person agrees; empty: the person gives a secret
}

// Wish is a sign-in that a person asks for.
type Wish struct {
	tasks.ConnectionID
	By     string   // key of the person who will agree
	Task   tasks.ID // that waits for it; empty: none
	Scopes []string // rights that an earlier sign-in lacks; empty: unknown
	Reader Reader
}

// Begin prepares a sign-in. tasks.ErrNoSignIn.
func (c *Connections) Begin(ctx context.Context, w Wish) (Begun, error) {
	id := w.ConnectionID
	if address, ok := c.takesSecret(id.Server); ok {
		return c.begin(ctx, oauth.Attempt{State: rand.Text()}, address, w)
	}
	i, err := c.identity(id)
	if err != nil {
		return Begun{}, err
	}
	_, before, err := i.stored(ctx)
	if err != nil {
		c.Log.WarnContext(ctx, "earlier sign-in not read", "server", id.Server, "cause", err) // the new one takes its place
	}
	a, err := i.config.Begin(ctx, i.wanted(w.Scopes), before)
	if err != nil {
		return Begun{}, fmt.Errorf("preparing the sign-in at %q: %w", id.Server, err)
	}
	return c.begin(ctx, a, i.config.Server, w)
}

// begin stores an attempt at the server of an address.
func (c *Connections) begin(ctx context.Context, a oauth.Attempt, address string, w Wish) (Begun, error) {
	sealed, err := c.seal(sealedAttempt{address, a, w.Reader}, w.ConnectionID)
	if err != nil {
		return Begun{}, err
	}
	attempt := tasks.Attempt{ConnectionID: w.ConnectionID, ID: stateID(a.State), By: w.By, Task: w.Task, Sealed: sealed}
	if err := c.Store.PutAttempt(ctx, attempt); err != nil {
		return Begun{}, fmt.Errorf("storing the sign-in: %w", err)
	}
	return Begun{attempt, w.Reader, a.State, a.URL}, nil
}

// Begun returns the sign-in of a state. tasks.ErrNoConnection.
func (c *Connections) Begun(ctx context.Context, state string) (Begun, error) {
	attempt, err := c.Store.Attempt(ctx, stateID(state))
	if err != nil {
		return Begun{}, err
	}
	var sealed sealedAttempt
	if err := c.open(attempt.Sealed, attempt.ConnectionID, &sealed); err != nil {
		return Begun{}, err
	}
	return Begun{attempt, sealed.Reader, state, sealed.Attempt.URL}, nil
}

// Finish ends a sign-in with the parameters of the address on which the browser ended. By
// is the key of the person who brings the address; only the one who began can finish. The
// errors are tasks.ErrNoConnection, tasks.ErrNoSignIn, tasks.ErrDenied, and others for the
// log.
func (c *Connections) Finish(ctx context.Context, redirect url.Values, by string) (tasks.Attempt, error) {
	attempt, err := c.Store.SpendAttempt(ctx, stateID(redirect.Get("state")), by)
	if err != nil {
		return tasks.Attempt{}, err
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
		return attempt, tasks.ErrNoConnection
	}
	grant, err := i.config.Finish(ctx, sealed.Attempt, redirect)
	if errors.Is(err, oauth.ErrDenied) {
		return attempt, tasks.ErrDenied
	}
	if err != nil {
		return attempt, fmt.Errorf("finishing the sign-in at %q: %w", attempt.Server, err)
	}
	kept, err := c.seal(sealedGrant{i.config.Server, grant}, attempt.ConnectionID)
	if err != nil {
		return attempt, err
	}
	err = c.Store.PutConnection(ctx, tasks.Connection{ConnectionID: attempt.ConnectionID, Kind: tools.AuthOAuth, By: attempt.By, Scopes: grant.Scopes, Sealed: kept})
	if err != nil {
		return attempt, fmt.Errorf("storing the sign-in at %q: %w", attempt.Server, err)
	}
	c.Log.InfoContext(ctx, "signed in", "server", attempt.Server, "by", attempt.By, "task", attempt.Task)
	c.Changed(ctx, attempt.ConnectionID)
	return attempt, nil
}

// stateID is how a sign-in that has begun is stored: the state itself is a secret.
func stateID(state string) string {
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:])
}
