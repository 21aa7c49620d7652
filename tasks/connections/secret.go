package connections

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"legwork/tasks"
	"legwork/tools"
	"legwork/tools/client"
)

// sealedSecret is what is stored of a secret that a person gave: it is sent to the server
// that it was given for, not to another one that has its name later.
type sealedSecret struct {
	Server string `json:"server"` // its address
	Secret string `json:"secret"`
}

// bearer signs the requests of one identity to one server with a secret. It implements
// client.Authorizer.
type bearer struct {
	connections *Connections
	id          tasks.ConnectionID
	config      tools.ServerConfig
	hidden      atomic.Value // the secret that was hidden last
}

// Sign implements client.Authorizer. It notes the use of a connection once an hour.
func (b *bearer) Sign(ctx context.Context, r *http.Request) error {
	c, secret, err := b.stored(ctx)
	if err != nil {
		return fmt.Errorf("reading the secret for %q: %w", b.id.Server, err)
	}
	if secret == "" {
		return nil
	}
	if c.Used.Before(b.connections.Now().UTC().Truncate(time.Hour)) {
		if err := b.connections.Store.UseConnection(ctx, b.id); err != nil && !errors.Is(err, tasks.ErrNoConnection) {
			return err
		}
	}
	if b.hidden.Swap(secret) != secret {
		b.connections.Hide(secret)
	}
	r.Header.Set(b.config.Auth.SecretHeader(secret))
	return nil
}

// Refused implements client.Authorizer. A request with an earlier secret is sent again with
// the new one.
func (b *bearer) Refused(ctx context.Context, r *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusUnauthorized {
		return client.ErrNotAuth
	}
	_, secret, err := b.stored(ctx)
	if err != nil {
		return fmt.Errorf("reading the secret for %q: %w", b.id.Server, err)
	}
	advice := b.config.Auth.Advice(b.id.Server, b.id.Person)
	if secret != "" {
		if name, value := b.config.Auth.SecretHeader(secret); r.Header.Get(name) != value {
			return nil
		}
		advice = b.config.Auth.RefusedAdvice(b.id.Server, b.id.Person)
	}
	return &client.SignInError{Server: b.config.URL, Challenge: resp.Header.Values("WWW-Authenticate"), Status: resp.StatusCode, Advice: advice}
}

// stored returns the connection and its secret; both are zero when there is none. A secret
// for another address counts as none.
func (b *bearer) stored(ctx context.Context) (tasks.Connection, string, error) {
	c, err := b.connections.Store.Connection(ctx, b.id)
	if errors.Is(err, tasks.ErrNoConnection) {
		return tasks.Connection{}, "", nil
	}
	if err != nil {
		return tasks.Connection{}, "", err
	}
	var sealed sealedSecret
	if err := b.connections.open(c.Sealed, b.id, &sealed); err != nil {
		return tasks.Connection{}, "", err
	}
	if sealed.Server != b.config.URL {
		return tasks.Connection{}, "", nil
	}
	return c, sealed.Secret, nil
}

// TakesSecret reports whether people give a secret for a server.
func (c *Connections) TakesSecret(server string) bool {
	_, ok := c.takesSecret(server)
	return ok
}

// takesSecret returns the address of a server for which people give a secret.
func (c *Connections) takesSecret(server string) (address string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.servers[server]
	if !known || !s.config.Auth.TakesSecret() || !c.SignsIn(server) {
		return "", false
	}
	return s.config.URL, true
}

// GiveSecret stores the secret of an identity. By is the key of the person who gives it.
// The errors are a *tasks.SecretError, tasks.ErrNoSignIn, and others for the log.
func (c *Connections) GiveSecret(ctx context.Context, id tasks.ConnectionID, by, secret string) error {
	address, ok := c.takesSecret(id.Server)
	if !ok {
		return tasks.ErrNoSignIn
	}
	secret, err := tasks.CheckSecret(secret)
	if err != nil {
		return err
	}
	c.Hide(secret)
	sealed, err := c.seal(sealedSecret{address, secret}, id)
	if err != nil {
		return err
	}
	if err := c.Store.PutConnection(ctx, tasks.Connection{ConnectionID: id, Kind: tools.AuthSecret, By: by, Sealed: sealed}); err != nil {
		return fmt.Errorf("storing the secret for %q: %w", id.Server, err)
	}
	c.Log.InfoContext(ctx, "secret stored", "server", id.Server, "by", by)
	c.Changed(ctx, id)
	return nil
}

// FinishSecret ends an attempt with the secret that its person entered in a page. A secret
// that cannot be used leaves the attempt open. The errors are those of GiveSecret, and
// tasks.ErrNoConnection.
func (c *Connections) FinishSecret(ctx context.Context, state, secret string) (Begun, error) {
	b, err := c.Begun(ctx, state)
	if err != nil {
		return Begun{}, err
	}
	if _, err := tasks.CheckSecret(secret); err != nil {
		return b, err
	}
	attempt, err := c.Store.SpendAttempt(ctx, stateID(state), b.By)
	if err != nil {
		return b, err
	}
	var sealed sealedAttempt
	if err := c.open(attempt.Sealed, attempt.ConnectionID, &sealed); err != nil {
		return b, err
	}
	if address, ok := c.takesSecret(attempt.Server); ok && sealed.Server != address { // it was changed in the config meanwhile
		return b, tasks.ErrNoConnection
	}
	return b, c.GiveSecret(ctx, attempt.ConnectionID, attempt.By, secret)
}
