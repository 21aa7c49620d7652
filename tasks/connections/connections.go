// Package connections keeps the sign-ins of people and of legwork at MCP servers: it
// begins and finishes them, signs requests with them, and ends them. Their secrets are
// stored sealed.
package connections

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"legwork/tasks"
	"legwork/tools"
	"legwork/tools/client"
	"legwork/tools/oauth"
)

// Sealer encrypts secrets. About is bound to a sealed secret: with another value it
// cannot be opened.
type Sealer interface {
	Seal(plain, about []byte) ([]byte, error)
	Open(sealed, about []byte) ([]byte, error)
}

// Config says how people sign in. Store, Sealer, SignsIn and Now are required.
type Config struct {
	Store  tasks.Connections
	Sealer Sealer
	// Redirect is the address to which the browser returns after a sign-in.
	Redirect string
	// Document is the address of legwork's client metadata document. Empty: it has none.
	Document string
	// SignsIn reports whether people sign in at a server by the config of now.
	SignsIn func(server string) bool
	// Changed is called after a person has signed in or a sign-in has ended; nil: nothing
	// is.
	Changed func(context.Context, tasks.ConnectionID)
	// Hide is called with each secret that a person gave before it is used, so that it
	// appears in no log and no result of a tool. Nil: nothing is.
	Hide func(secret string)
	Now  func() time.Time
	Log  *slog.Logger // nil: nothing is logged
}

// Connections are the sign-ins at the servers of the config. Its methods are safe for
// concurrent use.
type Connections struct {
	Config

	mu      sync.Mutex
	servers map[string]server // at which people sign in, by name
}

// server is a server and the identities that use it, by the keys of people. An identity
// that nothing uses any more takes no memory.
type server struct {
	config     tools.ServerConfig
	identities map[string]weak.Pointer[identity]
}

// New prepares the connections. Authorizer adds servers.
func New(c Config) *Connections {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Changed == nil {
		c.Changed = func(context.Context, tasks.ConnectionID) {}
	}
	if c.Hide == nil {
		c.Hide = func(string) {}
	}
	return &Connections{Config: c, servers: map[string]server{}}
}

// Authorizer implements tools.Authorizers.
func (c *Connections) Authorizer(name, person string, cfg tools.ServerConfig) client.Authorizer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, known := c.servers[name]; !known || !reflect.DeepEqual(s.config, cfg) {
		c.servers[name] = server{cfg, map[string]weak.Pointer[identity]{}}
	}
	id := tasks.ConnectionID{Server: name, Person: person}
	if cfg.Auth.TakesSecret() {
		return &bearer{connections: c, id: id, config: cfg}
	}
	return c.identityOf(c.servers[name], id)
}

// identity returns the only identity of that id at a server with OAuth: its requests share
// one refresh. tasks.ErrNoSignIn.
func (c *Connections) identity(id tasks.ConnectionID) (*identity, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.servers[id.Server]
	if !ok || s.config.Auth.TakesSecret() || !c.SignsIn(id.Server) {
		return nil, tasks.ErrNoSignIn
	}
	return c.identityOf(s, id), nil
}

// identityOf is identity for a known server with OAuth. The caller holds the lock.
func (c *Connections) identityOf(s server, id tasks.ConnectionID) *identity {
	if i := s.identities[id.Person].Value(); i != nil {
		return i
	}
	i := &identity{connections: c, id: id, config: c.oauth(s.config), advice: s.config.Auth.Advice(id.Server, id.Person)}
	i.session = oauth.NewSession(i.config, i)
	s.identities[id.Person] = weak.Make(i)
	runtime.AddCleanup(i, func(person string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s.identities[person].Value() == nil { // else there is a new one
			delete(s.identities, person)
		}
	}, id.Person)
	return i
}

// ID names the connection to a server that a person uses: their own, or the shared one.
// tasks.ErrNoSignIn.
func (c *Connections) ID(server, person string) (tasks.ConnectionID, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.servers[server]
	switch {
	case !ok || !c.SignsIn(server):
		return tasks.ConnectionID{}, tasks.ErrNoSignIn
	case s.config.Auth.PerPerson():
		return tasks.ConnectionID{Server: server, Person: person}, nil
	}
	return tasks.ConnectionID{Server: server}, nil
}

// Servers lists the servers at which people sign in, and whether each person does.
func (c *Connections) Servers() (perPerson map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	perPerson = make(map[string]bool, len(c.servers))
	for name, s := range c.servers {
		if c.SignsIn(name) {
			perPerson[name] = s.config.Auth.PerPerson()
		}
	}
	return perPerson
}

// oauth is the way of signing in at a server.
func (c *Connections) oauth(cfg tools.ServerConfig) oauth.Config {
	o := cfg.OAuth()
	o.Redirect, o.Document, o.Now = c.Redirect, c.Document, c.Now
	return o
}

// Disconnect ends a connection: here, and at the authorization server if that offers a
// way. It reports whether it was ended there. tasks.ErrNoConnection.
func (c *Connections) Disconnect(ctx context.Context, id tasks.ConnectionID) (revoked bool, err error) {
	stored, err := c.Store.Connection(ctx, id)
	if err != nil {
		return false, err
	}
	if err := c.Store.DropConnection(ctx, id); err != nil { // first: it must not be used any more
		return false, err
	}
	c.Changed(ctx, id)
	return c.revoke(ctx, stored), nil
}

// The bounds of revoking many connections.
const (
	maxRevoking = 8 // at once
	revokeTime  = time.Minute
)

// DisconnectAll ends the connections of everybody to a server, as Disconnect does.
// Revoked is how many of them the authorization server has ended, too.
func (c *Connections) DisconnectAll(ctx context.Context, server string) (ended []tasks.ConnectionID, revoked int, err error) {
	list, err := c.Store.Connections(ctx)
	if err != nil {
		return nil, 0, err
	}
	list = slices.DeleteFunc(list, func(one tasks.Connection) bool { return one.Server != server })
	for _, one := range list {
		err := c.Store.DropConnection(ctx, one.ConnectionID)
		if err != nil && !errors.Is(err, tasks.ErrNoConnection) {
			return ended, 0, err
		}
		c.Changed(ctx, one.ConnectionID)
		ended = append(ended, one.ConnectionID)
	}
	ctx, cancel := context.WithTimeout(ctx, revokeTime)
	defer cancel()
	var revoking sync.WaitGroup
	var count atomic.Int64
	slots := make(chan struct{}, maxRevoking)
	for _, one := range list {
		slots <- struct{}{}
		revoking.Go(func() {
			if c.revoke(ctx, one) {
				count.Add(1)
			}
			<-slots
		})
	}
	revoking.Wait()
	return ended, int(count.Load()), nil
}

// revoke ends a connection that was dropped at the authorization server, and reports
// whether that worked.
func (c *Connections) revoke(ctx context.Context, dropped tasks.Connection) bool {
	i, err := c.identity(dropped.ConnectionID)
	if err != nil {
		return false // the server was removed from the config
	}
	var sealed sealedGrant
	if err := c.open(dropped.Sealed, dropped.ConnectionID, &sealed); err != nil || sealed.Server != i.config.Server {
		return false // the secrets are lost, so that they end nowhere else
	}
	revoked, err := i.config.Revoke(ctx, sealed.Grant)
	if err != nil {
		c.Log.WarnContext(ctx, "sign-in not revoked at the server", "server", dropped.Server, "cause", err)
	}
	return revoked
}

// sealedGrant is what is stored of a sign-in: a grant is used for the server that it was
// given for, not for another one that has its name later.
type sealedGrant struct {
	Server string      `json:"server"` // its address
	Grant  oauth.Grant `json:"grant"`
}

// sealedAttempt is what is stored of a sign-in that has begun.
type sealedAttempt struct {
	Server  string        `json:"server"`
	Attempt oauth.Attempt `json:"attempt"`
	Reader  Reader        `json:"reader"`
}

// Reader is the person who reads the pages of a sign-in.
type Reader struct {
	Name     string `json:"name,omitempty"`
	Language string `json:"language"`
}

// seal encrypts a value for a connection.
func (c *Connections) seal(v any, id tasks.ConnectionID) ([]byte, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("sealing a sign-in: %w", err)
	}
	sealed, err := c.Sealer.Seal(plain, id.About())
	if err != nil {
		return nil, fmt.Errorf("sealing a sign-in: %w", err)
	}
	return sealed, nil
}

// open decrypts a value of a connection.
func (c *Connections) open(sealed []byte, id tasks.ConnectionID, v any) error {
	plain, err := c.Sealer.Open(sealed, id.About())
	if err != nil {
		return fmt.Errorf("opening a sign-in: %w", err)
	}
	if err := json.Unmarshal(plain, v); err != nil {
		return fmt.Errorf("opening a sign-in: %w", err)
	}
	return nil
}

// ClientDocument is legwork's client metadata document.
func (c *Connections) ClientDocument() ([]byte, error) {
	return oauth.Config{Redirect: c.Redirect, Document: c.Document}.MetadataDocument()
}
