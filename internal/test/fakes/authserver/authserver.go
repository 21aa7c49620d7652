// Package authserver runs a strict OAuth authorization server on loopback:
// oidc-provider from npm, with dynamic registration, PKCE for every client, resource
// indicators, access tokens that are JWTs, refresh tokens that are replaced at each
// use, revocation, introspection and client credentials.
package authserver

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/servers"
	"legwork/internal/test/watch"
)

//go:embed authserver.mjs
var program string

// Config says whom and what a server knows. The zero value is a server that knows no
// person and allows every resource.
type Config struct {
	// People are the claims of people by their logins, such as
	// {"ann": {"email": "ann@example.com", "groups": ["ops"]}}. The claim sub is the
	// login, unless it is here.
	People map[string]map[string]any
	// Clients are the clients that need no registration, by their metadata
	// (RFC 7591): client_id, client_secret, grant_types and so on.
	Clients []map[string]any
	// Scopes are those of all resources, beside those of OpenID Connect.
	Scopes []string
	// Resources that tokens may be for; the first one where a request names none.
	// Empty: any, and requests that name none get opaque tokens.
	Resources []string
	// AccessTime and RefreshTime are how long tokens hold, in whole seconds.
	// 0: an hour, and two weeks.
	AccessTime, RefreshTime time.Duration
	// NoRegistration turns dynamic registration off.
	NoRegistration bool
}

// Server is a running server.
type Server struct {
	URL string // its issuer

	stop func()
}

// Fault is what a server does wrong.
type Fault string

// The faults. Deny is a person who refuses; the others concern every request.
const (
	None  Fault = ""
	Deny  Fault = "deny"
	Down  Fault = "down"  // closes connections without a reply
	HTML  Fault = "html"  // answers with a page
	Huge  Fault = "huge"  // answers without an end
	Error Fault = "error" // answers with status 503
)

// Request is one that a server got.
type Request struct {
	Path string            `json:"path"`
	Form map[string]string `json:"form"` // grant_type, scope, resource, client_id and response_type
}

// Start starts a server; the test ends it. It runs in make check only.
func Start(t testing.TB, c Config) *Server {
	t.Helper()
	node := need.Node22(t)
	need.NPMPackage(t, "oidc-provider")
	if c.AccessTime == 0 {
		c.AccessTime = time.Hour
	}
	if c.RefreshTime == 0 {
		c.RefreshTime = 14 * 24 * time.Hour
	}
	config, err := json.Marshal(map[string]any{
		"people": c.People, "clients": append([]map[string]any{}, c.Clients...), "scopes": append([]string{}, c.Scopes...), "resources": append([]string{}, c.Resources...),
		"accessSeconds": c.AccessTime / time.Second, "refreshSeconds": c.RefreshTime / time.Second, "noRegistration": c.NoRegistration,
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.Background(), node, "--input-type=module", "-") //nolint:gosec // Node of the tests
	cmd.Dir, cmd.Stdin = filepath.Join(need.Root(t), "internal", "test", "npm"), strings.NewReader(program)
	cmd.Env = append(os.Environ(), "CONFIG="+string(config))
	s := &Server{}
	if s.URL, s.stop, err = servers.Listen(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// Stop ends the server before the test ends.
func (s *Server) Stop() { s.stop() }

// Break makes the server do something wrong from now on, and wait before each reply.
func (s *Server) Break(t testing.TB, fault Fault, slow time.Duration) {
	t.Helper()
	s.control(t, http.MethodPost, map[string]any{"fault": fault, "slowMilliseconds": slow.Milliseconds()})
}

// Requests lists the requests that the server got.
func (s *Server) Requests(t testing.TB) []Request {
	t.Helper()
	return s.control(t, http.MethodGet, nil)
}

func (s *Server) control(t testing.TB, method string, body any) (requests []Request) {
	t.Helper()
	content, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/control", bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := (&http.Client{Timeout: watch.Patience}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if err := json.NewDecoder(reply.Body).Decode(&requests); err != nil {
		t.Fatal(err)
	}
	return requests
}

// SignIn is a person with an empty browser who opens the address of an authorization
// request and consents. It returns the address that the browser is sent back to, without
// opening it.
func (s *Server) SignIn(t testing.TB, address, login string) string {
	t.Helper()
	back, err := s.signIn(t.Context(), address, login)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func (s *Server) signIn(ctx context.Context, address, login string) (string, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, Timeout: watch.Patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	at, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("reading the address: %w", err)
	}
	q := at.Query()
	q.Set("login_hint", login)
	at.RawQuery = q.Encode()
	for strings.HasPrefix(at.String(), s.URL+"/") {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return "", err
		}
		reply, err := browser.Do(r)
		if err != nil {
			return "", fmt.Errorf("signing in: %w", err)
		}
		_ = reply.Body.Close()
		if at, err = reply.Location(); err != nil {
			return "", fmt.Errorf("signing in at %s: status %d: %w", r.URL.Path, reply.StatusCode, err)
		}
	}
	return at.String(), nil
}
