package connections_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"legwork/internal/seal"
	"legwork/internal/test/fakes/oauthfake"
	"legwork/internal/test/watch"
	"legwork/store/bolt"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tools"
	"legwork/tools/client"
	"legwork/tools/oauth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env are two servers, the store and the connections, which a restart replaces.
type env struct {
	t       testing.TB
	servers map[string]*oauthfake.Server
	store   tasks.Connections
	key     *seal.Keyring
	now     time.Time
	log     bytes.Buffer
	*connections.Connections
	changed   []tasks.ConnectionID
	addresses map[string]string // of the servers in the config
}

func newEnv(t testing.TB, servers map[string]*oauthfake.Server) *env {
	t.Helper()
	e := &env{t: t, servers: servers, now: time.Now(), addresses: map[string]string{}}
	e.store = memory.New(func() time.Time { return e.now })
	e.key = seal.NewKeyring(nil, seal.NewKey())
	e.restart()
	return e
}

func newServers(t testing.TB) map[string]*oauthfake.Server {
	t.Helper()
	return map[string]*oauthfake.Server{"crm": oauthfake.New(t, "crm"), "wiki": oauthfake.New(t, "wiki")}
}

// restart is a new process on the same store.
func (e *env) restart() {
	e.Connections = connections.New(connections.Config{
		Store: e.store, Sealer: e.key, Redirect: "http://localhost:1/oauth/callback", Now: func() time.Time { return e.now },
		SignsIn: func(server string) bool { return e.addresses[server] != "" },
		Changed: func(_ context.Context, id tasks.ConnectionID) { e.changed = append(e.changed, id) },
		Log:     slog.New(slog.NewTextHandler(&e.log, nil)),
	})
	for name, f := range e.servers {
		e.moves(name, f.URL+"/mcp")
	}
}

// config is the config of a server at an address.
func (e *env) config(address string) tools.ServerConfig {
	return tools.ServerConfig{URL: address, Auth: &tools.Auth{Type: "oauth", Identity: tools.IdentityPerson}}
}

// moves changes the address of a server in the config.
func (e *env) moves(server, address string) {
	e.addresses[server] = address
	e.Authorizer(server, "", e.config(address))
}

func connection(server, person string) tasks.ConnectionID {
	return tasks.ConnectionID{Server: server, Person: person}
}

// token is the one with which a request of an identity is signed; empty: none.
func (e *env) token(id tasks.ConnectionID) (string, error) {
	a := e.Authorizer(id.Server, id.Person, e.config(e.addresses[id.Server]))
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, e.servers[id.Server].URL+"/mcp", http.NoBody)
	if err != nil {
		return "", err
	}
	err = a.Sign(context.Background(), r)
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), err
}

// call makes a signed request, and again after a refusal as package client does.
func (e *env) call(id tasks.ConnectionID) (token string, err error) {
	for range 3 {
		a := e.Authorizer(id.Server, id.Person, e.config(e.addresses[id.Server]))
		r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, e.servers[id.Server].URL+"/mcp", http.NoBody)
		if err != nil {
			return "", err
		}
		if err := a.Sign(context.Background(), r); err != nil {
			return "", err
		}
		token = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return token, err
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusUnauthorized { // an MCP server says what is wrong with the empty request
			return token, nil
		}
		if err := a.Refused(context.Background(), r, resp); err != nil {
			return token, err
		}
	}
	return token, errors.New("refused again and again")
}

// signIn signs a person in.
func (e *env) signIn(id tasks.ConnectionID) {
	e.t.Helper()
	begun, err := e.Begin(e.t.Context(), connections.Wish{ConnectionID: id, By: id.Person, Reader: connections.Reader{Name: "Ann", Language: "en"}})
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.Finish(e.t.Context(), oauthfake.Agree(e.t, begun.URL, id.Person).Query(), id.Person); err != nil {
		e.t.Fatal(err)
	}
}

func TestSignIn(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	if _, err := e.call(ann); !isSignIn(err) {
		t.Fatalf("got %v, want a request to sign in", err)
	}
	e.signIn(ann)
	token, err := e.call(ann)
	if err != nil || !strings.HasPrefix(token, "secret:crm:slack:U1:") {
		t.Errorf("got token %q, %v, want ann's", token, err)
	}
	if len(e.changed) != 1 || e.changed[0] != ann {
		t.Errorf("got changes of %v, want one of ann's connection", e.changed)
	}
	e.restart()
	if again, err := e.call(ann); again != token || err != nil {
		t.Errorf("after a restart: got %q, %v, want the same token", again, err)
	}
	list, err := e.store.Connections(t.Context())
	if err != nil || len(list) != 1 || list[0].By != "slack:U1" || strings.Join(list[0].Scopes, " ") != "read" || list[0].Used.IsZero() {
		t.Errorf("got %+v, %v, want ann's connection", list, err)
	}
	if bytes.Contains(list[0].Sealed, []byte("secret")) || strings.Contains(e.log.String(), "secret") {
		t.Error("a secret is stored or logged in the clear")
	}
	if revoked, err := e.Disconnect(t.Context(), ann); !revoked || err != nil {
		t.Errorf("disconnecting: got %v, %v", revoked, err)
	}
	if _, err := e.Disconnect(t.Context(), ann); !errors.Is(err, tasks.ErrNoConnection) {
		t.Errorf("disconnecting again: got %v, want ErrNoConnection", err)
	}
	if _, err := e.call(ann); !isSignIn(err) {
		t.Errorf("got %v, want a request to sign in", err)
	}
}

func isSignIn(err error) bool {
	_, ok := errors.AsType[*client.SignInError](err)
	return ok
}

// TestFinishOnce: only the person who began a sign-in finishes it, once, in time, and with
// the server for which it began.
func TestFinishOnce(t *testing.T) {
	const ann, ben = "slack:U1", "slack:U2"
	for name, c := range map[string]struct {
		between func(e *env, redirect url.Values)
		by      string
		want    error
	}{
		"another person":  {func(*env, url.Values) {}, ben, tasks.ErrNoConnection},
		"too late":        {func(e *env, _ url.Values) { e.now = e.now.Add(tasks.AttemptTime) }, ann, tasks.ErrNoConnection},
		"twice":           {func(e *env, q url.Values) { _, _ = e.Finish(e.t.Context(), q, ann) }, ann, tasks.ErrNoConnection},
		"without a state": {func(_ *env, q url.Values) { q.Del("state") }, ann, tasks.ErrNoConnection},
		"other issuer":    {func(_ *env, q url.Values) { q.Set("iss", "https://evil.example") }, ann, oauth.ErrForged},
		"denied":          {func(_ *env, q url.Values) { q.Set("error", "access_denied") }, ann, tasks.ErrDenied},
		"code of nobody":  {func(_ *env, q url.Values) { q.Set("code", "x") }, ann, oauth.ErrEnded},
		"the server moved": {func(e *env, _ url.Values) {
			e.moves("crm", e.servers["wiki"].URL+"/mcp")
		}, ann, tasks.ErrNoConnection},
		"after a restart": {func(e *env, _ url.Values) { e.restart() }, ann, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, newServers(t))
			id := connection("crm", ann)
			begun, err := e.Begin(t.Context(), connections.Wish{ConnectionID: id, By: ann, Task: "task1"})
			if err != nil {
				t.Fatal(err)
			}
			redirect := oauthfake.Agree(t, begun.URL, ann).Query()
			c.between(e, redirect)
			attempt, err := e.Finish(t.Context(), redirect, c.by)
			if !errors.Is(err, c.want) || c.want == nil && (err != nil || attempt.Task != "task1") {
				t.Errorf("got %+v, %v, want %v", attempt, err, c.want)
			}
			if token, err := e.token(id); (token != "") != (c.want == nil || name == "twice") || err != nil {
				t.Errorf("got token %q, %v after it", token, err)
			}
		})
	}
}

// TestMovedServer: tokens for one address are not sent to another one that has the
// server's name later.
func TestMovedServer(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	e.moves("crm", "https://evil.example/mcp")
	if token, err := e.token(ann); token != "" || err != nil {
		t.Errorf("got token %q, %v, want none", token, err)
	}
}

// TestRemovedServer: people sign in at no server that has left the config.
func TestRemovedServer(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	delete(e.addresses, "crm")
	if got := e.Servers(); len(got) != 1 || !got["wiki"] {
		t.Errorf("got the servers %v, want wiki alone", got)
	}
	if _, err := e.ID("crm", "slack:U1"); !errors.Is(err, tasks.ErrNoSignIn) {
		t.Errorf("got %v, want ErrNoSignIn", err)
	}
	if _, err := e.Begin(t.Context(), connections.Wish{ConnectionID: ann, By: "slack:U1"}); !errors.Is(err, tasks.ErrNoSignIn) {
		t.Errorf("beginning: got %v, want ErrNoSignIn", err)
	}
	if _, err := e.Disconnect(t.Context(), ann); err != nil {
		t.Errorf("disconnecting: got %v", err)
	}
}

// TestOtherKey: a sign-in that was sealed with a lost key is an error that says so.
func TestOtherKey(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	e.key = seal.NewKeyring(nil, seal.NewKey())
	e.restart()
	if _, err := e.token(ann); !errors.Is(err, seal.ErrOtherKey) {
		t.Errorf("got %v, want ErrOtherKey", err)
	}
}

// TestOneRefresh: requests of one person that meet an expired token share one refresh.
func TestOneRefresh(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	e.now = e.now.Add(2 * time.Hour)
	before := e.servers["crm"].Given()
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if _, err := e.call(ann); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := e.servers["crm"].Given() - before; n != 2 { // an access token and a refresh token
		t.Errorf("got %d new tokens, want 2", n)
	}
}

// TestUnused: an identity that nothing uses takes no memory, and one that is used stays
// the only one of its person.
func TestUnused(t *testing.T) {
	e := newEnv(t, newServers(t))
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	used := e.Authorizer(ann.Server, ann.Person, e.config(e.addresses[ann.Server]))
	for n := range 100 {
		if _, err := e.call(connection("crm", fmt.Sprintf("slack:V%d", n))); !isSignIn(err) {
			t.Fatalf("got %v, want that a sign-in is needed", err)
		}
	}
	watch.Until(t, "only the used identity is kept", func() bool {
		runtime.GC()
		return e.Kept() == 1
	})
	if again := e.Authorizer(ann.Server, ann.Person, e.config(e.addresses[ann.Server])); again != used {
		t.Error("the person has another identity, want the one that is used")
	}
}

// TestIdentities: in whatever order people sign in, call, disconnect, meet faults and
// restarts, each request carries a token of its own person and server, or none.
func TestIdentities(t *testing.T) {
	servers := newServers(t)
	rapid.Check(t, func(r *rapid.T) {
		e := newEnv(t, servers)
		type begun struct {
			id      tasks.ConnectionID
			address string
		}
		var open []begun
		people := []string{"slack:U1", "slack:U2", "telegram:1", ""}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			id := connection(rapid.SampledFrom([]string{"crm", "wiki"}).Draw(r, "server"), rapid.SampledFrom(people).Draw(r, "person"))
			switch rapid.SampledFrom([]string{"begin", "finish", "finish as another", "call", "call", "wait", "forget", "disconnect", "disconnect all", "restart", "break", "mend"}).Draw(r, "step") {
			case "begin":
				b, err := e.Begin(t.Context(), connections.Wish{ConnectionID: id, By: by(id)})
				if err != nil {
					r.Fatalf("beginning for %v: %v", id, err)
				}
				open = append(open, begun{id, b.URL})
			case "finish", "finish as another":
				if len(open) == 0 {
					continue
				}
				b := open[rapid.IntRange(0, len(open)-1).Draw(r, "which")]
				person := rapid.SampledFrom([]string{by(b.id), "slack:U2"}).Draw(r, "by")
				_, err := e.Finish(t.Context(), oauthfake.Agree(t, b.address, by(b.id)).Query(), person)
				if err == nil && person != by(b.id) {
					r.Fatalf("%s finished the sign-in of %v", person, b.id)
				}
			case "call":
				token, _ := e.call(id)
				if want := fmt.Sprintf("secret:%s:%s:", id.Server, by(id)); token != "" && !strings.HasPrefix(token, want) {
					r.Fatalf("a request of %v carried the token %q", id, token)
				}
			case "wait":
				e.now = e.now.Add(50 * time.Minute)
			case "forget":
				servers[id.Server].Forget()
			case "disconnect":
				_, _ = e.Disconnect(t.Context(), id)
			case "disconnect all":
				_, _, _ = e.DisconnectAll(t.Context(), id.Server)
				if list, err := e.store.Connections(t.Context()); err != nil || slices.ContainsFunc(list, func(c tasks.Connection) bool { return c.Server == id.Server }) {
					r.Fatalf("after all connections to %s have ended: got %+v, %v", id.Server, list, err)
				}
			case "restart":
				e.restart()
			case "break":
				servers[id.Server].Break(true)
			case "mend":
				servers[id.Server].Break(false)
			}
		}
	})
}

// by is who signs in for an identity: an admin for the shared one.
func by(id tasks.ConnectionID) string {
	if id.Person == "" {
		return "slack:UADMIN"
	}
	return id.Person
}

// BenchmarkSign is what a valid token adds to a request.
func BenchmarkSign(b *testing.B) {
	e := newEnv(b, newServers(b))
	db, err := bolt.Open(b.Context(), b.TempDir(), bolt.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	e.store = db
	e.restart()
	ann := connection("crm", "slack:U1")
	e.signIn(ann)
	for b.Loop() {
		if token, err := e.token(ann); token == "" || err != nil {
			b.Fatal(token, err)
		}
	}
}
