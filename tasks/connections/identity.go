package connections

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"legwork/tasks"
	"legwork/tools/client"
	"legwork/tools/oauth"
)

// identity signs the requests of one identity to one server. It implements
// client.Authorizer and oauth.Vault.
type identity struct {
	connections *Connections
	id          tasks.ConnectionID
	config      oauth.Config
	session     *oauth.Session
	advice      string // for people who need a sign-in

	mu        sync.Mutex
	challenge oauth.Challenge // the server's last, for the next sign-in
	sealed    []byte          // opened last: most requests find the same again
	grant     oauth.Grant     // of sealed
}

// Sign implements client.Authorizer.
func (i *identity) Sign(ctx context.Context, r *http.Request) error { return i.session.Sign(ctx, r) }

// Refused implements client.Authorizer. It keeps what the server wants for the sign-in
// that a person begins.
func (i *identity) Refused(ctx context.Context, r *http.Request, resp *http.Response) error {
	err := i.session.Refused(ctx, r, resp)
	if needs, ok := errors.AsType[*client.SignInError](err); ok {
		i.mu.Lock()
		defer i.mu.Unlock()
		needs.Advice = i.advice
		i.challenge = oauth.ParseChallenge(needs.Status, needs.Challenge)
	}
	return err
}

// wanted is what the server wanted at last. Scopes are what it wanted before a restart.
func (i *identity) wanted(scopes []string) oauth.Challenge {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(scopes) > 0 && !i.challenge.Narrow {
		return oauth.Challenge{Scopes: scopes, Narrow: true, Metadata: i.challenge.Metadata}
	}
	return i.challenge
}

// stored returns the connection and its grant; both are zero when there is none. A grant
// for another address counts as none: it must not be sent there.
func (i *identity) stored(ctx context.Context) (tasks.Connection, oauth.Grant, error) {
	c, err := i.connections.Store.Connection(ctx, i.id)
	if errors.Is(err, tasks.ErrNoConnection) {
		return tasks.Connection{}, oauth.Grant{}, nil
	}
	if err != nil {
		return tasks.Connection{}, oauth.Grant{}, err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if bytes.Equal(c.Sealed, i.sealed) {
		return c, i.grant, nil
	}
	var opened sealedGrant
	if err := i.connections.open(c.Sealed, i.id, &opened); err != nil {
		return tasks.Connection{}, oauth.Grant{}, err
	}
	if opened.Server != i.config.Server {
		return tasks.Connection{}, oauth.Grant{}, nil
	}
	i.sealed, i.grant = c.Sealed, opened.Grant
	return c, i.grant, nil
}

// Grant implements oauth.Vault. It notes the use of a connection once an hour.
func (i *identity) Grant(ctx context.Context) (oauth.Grant, error) {
	c, g, err := i.stored(ctx)
	if err != nil || g.Access == "" || !c.Used.Before(i.connections.Now().UTC().Truncate(time.Hour)) {
		return g, err
	}
	if err := i.connections.Store.UseConnection(ctx, i.id); err != nil && !errors.Is(err, tasks.ErrNoConnection) {
		return oauth.Grant{}, err
	}
	return g, nil
}

// Renewed implements oauth.Vault. It tries again when the secrets were sealed with a new
// key meanwhile: the old refresh token may be used up.
func (i *identity) Renewed(ctx context.Context, old, renewed oauth.Grant) error {
	const tries = 3
	for n := 1; ; n++ {
		c, g, err := i.stored(ctx)
		if err != nil || c.Server == "" || g.Access != old.Access {
			return err // a person has signed in again or out meanwhile
		}
		sealed, err := i.connections.seal(sealedGrant{i.config.Server, renewed}, i.id)
		if err != nil {
			return err
		}
		err = i.connections.Store.RenewConnection(ctx, i.id, c.Sealed, sealed, renewed.Scopes)
		if n == tries || !errors.Is(err, tasks.ErrNoConnection) {
			return err
		}
	}
}

// Ended implements oauth.Vault.
func (i *identity) Ended(ctx context.Context, ended oauth.Grant) error {
	_, g, err := i.stored(ctx)
	if err != nil || g.Access != ended.Access {
		return err
	}
	err = i.connections.Store.DropConnection(ctx, i.id)
	if errors.Is(err, tasks.ErrNoConnection) {
		return nil
	}
	if err == nil {
		i.connections.Log.WarnContext(ctx, "sign-in ended by the authorization server", "server", i.id.Server)
		i.connections.Changed(ctx, i.id)
	}
	return err
}
