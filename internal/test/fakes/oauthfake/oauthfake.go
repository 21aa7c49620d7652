// Package oauthfake is an MCP server that wants OAuth, with its authorization server, on
// loopback. It knows everybody: the login in the address of an authorization request says
// who agrees.
package oauthfake

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Server is the MCP server. It has the tool whoami, which returns the login of the caller.
// Its tokens are "secret:NAME:LOGIN:N". It takes each code and each refresh token once.
type Server struct {
	*httptest.Server
	TokenBytes int // how long tokens are at least
	name       string
	mcp        http.Handler

	mu    sync.Mutex
	valid map[string]string // login by code or token
	count int
	down  bool // the token endpoint does not work
}

// loginKey is the key of a caller's login in the context of a call.
type loginKey struct{}

// New starts a server; the test ends it.
func New(t testing.TB, name string) *Server {
	t.Helper()
	f := Start(name)
	t.Cleanup(f.End)
	return f
}

// Start starts a server without a test. The caller ends it.
func Start(name string) *Server {
	f := &Server{name: name, valid: map[string]string{}}
	m := server.NewMCPServer(name, "1", server.WithToolCapabilities(true))
	m.AddTool(mcp.NewTool("whoami", mcp.WithDescription("Returns the login of the caller."), mcp.WithReadOnlyHintAnnotation(true)),
		func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			login, _ := ctx.Value(loginKey{}).(string)
			return mcp.NewToolResultText("You are " + login + "."), nil
		})
	f.mcp = server.NewStreamableHTTPServer(m)
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	return f
}

// End ends the server and its connections.
func (f *Server) End() {
	f.CloseClientConnections()
	f.Close()
}

// Agree is Browse in a test.
func Agree(t testing.TB, address, login string) *url.URL {
	t.Helper()
	at, err := Browse(address, login)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Browse is the browser of a person who agrees at the address of an authorization
// request. It returns the address on which the browser ends, without opening it.
func Browse(address, login string) (*url.URL, error) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address+"&login="+url.QueryEscape(login), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return resp.Location()
}

func (f *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/mcp" {
		f.resource(w, r)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(w, map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{f.URL}})
	case "/.well-known/oauth-authorization-server":
		answer(w, map[string]any{
			"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token", "registration_endpoint": f.URL + "/register",
			"revocation_endpoint": f.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
			"authorization_response_iss_parameter_supported": true, "response_types_supported": []string{"code"},
		})
	case "/register":
		w.WriteHeader(http.StatusCreated)
		answer(w, map[string]any{"client_id": "legwork", "token_endpoint_auth_method": "none"})
	case "/authorize":
		code := f.give(r.URL.Query().Get("login"), 0)
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}, "iss": {f.URL}}.Encode(), http.StatusFound)
	case "/token":
		used := r.FormValue("code") + r.FormValue("refresh_token")
		person, known := f.valid[used]
		switch {
		case f.down:
			w.WriteHeader(http.StatusBadGateway)
		case !known:
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]string{"error": "invalid_grant"})
		default:
			delete(f.valid, used)
			answer(w, map[string]any{"access_token": f.give(person, f.TokenBytes), "refresh_token": f.give(person, f.TokenBytes), "token_type": "Bearer", "expires_in": 3600, "scope": "read"})
		}
	case "/revoke":
		delete(f.valid, r.FormValue("token"))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// resource is the MCP server for callers with a valid token.
func (f *Server) resource(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	login, known := f.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	f.mu.Unlock()
	if !known {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	f.mcp.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), loginKey{}, login)))
}

// give makes a valid code or token of a person, at least so many bytes long.
func (f *Server) give(person string, least int) string {
	f.count++
	text := fmt.Sprintf("secret:%s:%s:%d", f.name, person, f.count)
	text += strings.Repeat("x", max(0, least-len(text)))
	f.valid[text] = person
	return text
}

// Accept makes a secret of the person with that login valid, as a token is.
func (f *Server) Accept(secret, login string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.valid[secret] = login
}

// Forget makes all codes and tokens invalid.
func (f *Server) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.valid)
}

// Break makes the token endpoint fail, or mends it.
func (f *Server) Break(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Given is how many codes and tokens were given out.
func (f *Server) Given() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
