package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/tools/client"
	"legwork/tools/oauth"
)

// env is a person who signs in at a fake server.
type env struct {
	*fake
	t       *testing.T
	config  oauth.Config
	vault   oauth.Memory
	session *oauth.Session
	ahead   time.Duration // of the clock
	mu      sync.Mutex
}

func newEnv(t *testing.T) *env {
	t.Helper()
	e := &env{fake: newFake(t), t: t}
	e.config = oauth.Config{Server: e.URL + "/mcp", Redirect: "http://localhost:1/callback", Now: func() time.Time {
		e.mu.Lock()
		defer e.mu.Unlock()
		return time.Now().Add(e.ahead)
	}}
	e.session = oauth.NewSession(e.config, &e.vault)
	return e
}

func (e *env) passes(d time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ahead += d
}

// call makes a request to the MCP server, as package client does.
func (e *env) call() error {
	for range 4 {
		r, err := http.NewRequestWithContext(e.t.Context(), http.MethodPost, e.URL+"/mcp", strings.NewReader("{}"))
		if err != nil {
			return err
		}
		if err := e.session.Sign(e.t.Context(), r); err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		if err := e.session.Refused(e.t.Context(), r, resp); err != nil {
			return err
		}
	}
	return errors.New("refused again and again")
}

// agree is the browser of a person who agrees. It returns the parameters of the redirect.
func (e *env) agree(a oauth.Attempt) url.Values {
	e.t.Helper()
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, a.URL, http.NoBody)
	if err != nil {
		e.t.Fatal(err)
	}
	resp, err := browser.Do(r)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	at, err := resp.Location()
	if err != nil {
		e.t.Fatal(err)
	}
	return at.Query()
}

// signIn makes a call that needs a sign-in, and signs in.
func (e *env) signIn() oauth.Attempt {
	e.t.Helper()
	needs, ok := errors.AsType[*client.SignInError](e.call())
	if !ok {
		e.t.Fatal("got no request to sign in")
	}
	before, _ := e.vault.Grant(e.t.Context())
	a, err := e.config.Begin(e.t.Context(), oauth.ParseChallenge(needs.Status, needs.Challenge), before)
	if err != nil {
		e.t.Fatal(err)
	}
	g, err := e.config.Finish(e.t.Context(), a, e.agree(a))
	if err != nil {
		e.t.Fatal(err)
	}
	if err := e.vault.Renewed(e.t.Context(), before, g); err != nil {
		e.t.Fatal(err)
	}
	return a
}

func TestSignIn(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	if err := e.call(); err != nil {
		t.Error(err)
	}
	e.set(func() { e.need = "write" }) // more rights
	e.signIn()
	if err := e.call(); err != nil {
		t.Error(err)
	}
	g, _ := e.vault.Grant(t.Context())
	if got := strings.Join(g.Scopes, " "); got != "read write" || e.clients != 1 {
		t.Errorf("got scopes %q by %d registrations, want both scopes by one", got, e.clients)
	}
	if ended, err := e.config.Revoke(t.Context(), g); !ended || err != nil || len(e.refresh) != 1 {
		t.Errorf("revoking: got %v, %v, %d tokens left of the two sign-ins", ended, err, len(e.refresh))
	}
}

// TestRedirects: a redirect that is not the answer to the attempt gives no tokens.
func TestRedirects(t *testing.T) {
	for name, c := range map[string]struct {
		change func(url.Values)
		want   error
		text   string
	}{
		"denied":          {func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") }, oauth.ErrDenied, ""},
		"other error":     {func(q url.Values) { q.Del("code"); q.Set("error", "server_error\n") }, nil, `"server_error\n"`},
		"wrong state":     {func(q url.Values) { q.Set("state", "x") }, oauth.ErrForged, ""},
		"no state":        {func(q url.Values) { q.Del("state") }, oauth.ErrForged, ""},
		"other issuer":    {func(q url.Values) { q.Set("iss", "https://evil.example") }, oauth.ErrForged, ""},
		"similar issuer":  {func(q url.Values) { q.Set("iss", q.Get("iss")+"/") }, oauth.ErrForged, ""},
		"no issuer":       {func(q url.Values) { q.Del("iss") }, oauth.ErrForged, ""},
		"no code":         {func(q url.Values) { q.Del("code") }, oauth.ErrForged, ""},
		"invented code":   {func(q url.Values) { q.Set("code", "secret-code-x") }, oauth.ErrEnded, "invalid_grant"},
		"denied, forged":  {func(q url.Values) { q.Set("state", "x"); q.Set("error", "access_denied") }, oauth.ErrForged, ""},
		"as it should be": {func(url.Values) {}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			a, err := e.config.Begin(t.Context(), oauth.Challenge{}, oauth.Grant{})
			if err != nil {
				t.Fatal(err)
			}
			q := e.agree(a)
			c.change(q)
			_, err = e.config.Finish(t.Context(), a, q)
			good := name == "as it should be"
			if good != (err == nil) || c.want != nil && !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %v %q", err, c.want, c.text)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error repeats a secret: %v", err)
			}
			if _, again := e.config.Finish(t.Context(), a, q); good && !errors.Is(again, oauth.ErrEnded) {
				t.Errorf("the same redirect once more: got %v, want ErrEnded", again)
			}
		})
	}
}

// TestBadServers: a fault of an authorization server is an error, and no person is sent
// there.
func TestBadServers(t *testing.T) {
	prm, meta := "/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-authorization-server"
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>Hello</p>")
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"issuer": "`)
		for word := []byte(strings.Repeat("x", 64<<10)); r.Context().Err() == nil; {
			if _, err := w.Write(word); err != nil {
				return
			}
		}
	}
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.2:1/x", http.StatusFound)
	}
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	for name, change := range map[string]func(*fake){
		"metadata is a page":          func(f *fake) { f.special[meta] = page },
		"metadata has no end":         func(f *fake) { f.special[meta] = endless },
		"metadata redirects":          func(f *fake) { f.special[meta] = elsewhere },
		"metadata is down":            func(f *fake) { f.special[meta] = down },
		"resource is a page":          func(f *fake) { f.special[prm] = page },
		"resource redirects":          func(f *fake) { f.special[prm] = elsewhere },
		"resource is down":            func(f *fake) { f.special[prm] = down },
		"another resource":            func(f *fake) { f.prm["resource"] = "https://other.example/mcp" },
		"no authorization server":     func(f *fake) { f.prm["authorization_servers"] = []string{} },
		"authorization server hidden": func(f *fake) { f.prm["authorization_servers"] = []string{"javascript:alert(1)"} },
		"another issuer":              func(f *fake) { f.meta["issuer"] = "https://other.example" },
		"no PKCE":                     func(f *fake) { delete(f.meta, "code_challenge_methods_supported") },
		"plain HTTP elsewhere":        func(f *fake) { f.meta["token_endpoint"] = "http://192.0.2.1/token" },
		"no place to agree":           func(f *fake) { delete(f.meta, "authorization_endpoint") },
		"no registration":             func(f *fake) { delete(f.meta, "registration_endpoint") },
		"registration is a page":      func(f *fake) { f.special["/register"] = page },
		"registration refused": func(f *fake) {
			f.special["/register"] = func(w http.ResponseWriter, _ *http.Request) {
				answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_redirect_uri"})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.set(func() { change(e.fake) })
			err := e.config.Check(t.Context(), oauth.Challenge{})
			if unseen := strings.HasPrefix(name, "registration "); (err == nil) != unseen || e.clients != 0 {
				t.Errorf("checking: got %v and %d clients, want none, and an error except for what a registration shows", err, e.clients)
			}
			if a, err := e.config.Begin(t.Context(), oauth.Challenge{}, oauth.Grant{}); err == nil {
				t.Errorf("got the address %s, want an error", a.URL)
			}
		})
	}
}

// TestLocalAuthorizationServer: a server elsewhere cannot make legwork send requests to
// programs on its machine.
func TestLocalAuthorizationServer(t *testing.T) {
	e := newEnv(t)
	e.config.Server = "http://192.0.2.1/mcp"
	_, err := e.config.Begin(t.Context(), oauth.Challenge{Metadata: e.URL + "/.well-known/oauth-protected-resource/mcp"}, oauth.Grant{})
	if err == nil || !strings.Contains(err.Error(), "on this machine") || e.clients != 0 {
		t.Errorf("got %v, want a refusal", err)
	}
}

// TestOneRefresh: of a hundred calls that meet an expired token, one refreshes it.
func TestOneRefresh(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	e.passes(59*time.Minute + 30*time.Second) // it is about to expire
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if err := e.call(); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if e.refreshs != 1 {
		t.Errorf("got %d refreshes, want 1", e.refreshs)
	}
}

// TestRevoked: a token that the server takes no longer is refreshed; when that is refused,
// a person has to sign in again, and one refresh was tried.
func TestRevoked(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	e.set(func() { e.access = map[string]string{} })
	if err := e.call(); err != nil || e.refreshs != 1 {
		t.Errorf("got %v after %d refreshes, want a call after one", err, e.refreshs)
	}
	e.set(func() { e.access, e.refresh = map[string]string{}, map[string]bool{} })
	for range 2 {
		if _, ok := errors.AsType[*client.SignInError](e.call()); !ok || e.refreshs != 2 {
			t.Errorf("got %d refreshes, want two and a request to sign in", e.refreshs)
		}
	}
	e.signIn()
	if err := e.call(); err != nil {
		t.Error(err)
	}
}

// TestDownForADay: while the authorization server is down, a token is used as long as it
// holds, and no sign-in is lost.
func TestDownForADay(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	e.set(func() {
		e.special["/token"] = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
	})
	e.passes(59*time.Minute + 30*time.Second)
	if err := e.call(); err != nil {
		t.Errorf("the token still holds: got %v", err)
	}
	e.passes(24 * time.Hour)
	err := e.call()
	if _, asks := errors.AsType[*client.SignInError](err); asks || err == nil || !strings.Contains(err.Error(), "status 502") {
		t.Errorf("got %v, want an error that names the status and asks nobody to sign in", err)
	}
	e.set(func() { delete(e.special, "/token") })
	if err := e.call(); err != nil {
		t.Errorf("the authorization server is back: got %v", err)
	}
}

// TestClientForgotten: a client that the authorization server has forgotten registers
// again.
func TestClientForgotten(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	e.set(func() {
		e.access = map[string]string{}
		e.special["/token"] = func(w http.ResponseWriter, _ *http.Request) {
			answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		}
	})
	if _, ok := errors.AsType[*client.SignInError](e.call()); !ok {
		t.Error("got no request to sign in")
	}
	e.set(func() { delete(e.special, "/token") })
	e.signIn()
	if err := e.call(); err != nil || e.clients != 2 {
		t.Errorf("got %v and %d registrations, want a call and two", err, e.clients)
	}
}

// TestStopped: a call that ends during a refresh does not spoil the refresh token.
func TestStopped(t *testing.T) {
	e := newEnv(t)
	e.signIn()
	e.passes(2 * time.Hour)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/mcp", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	_ = e.session.Sign(ctx, r)
	if err := e.call(); err != nil || e.refreshs != 1 {
		t.Errorf("got %v after %d refreshes, want one", err, e.refreshs)
	}
}
