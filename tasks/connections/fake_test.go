package connections_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// fake is an MCP server with its authorization server. Its tokens name the server and the
// person who agreed: "secret:SERVER:PERSON:N". It takes each code and each refresh token
// once.
type fake struct {
	*httptest.Server
	name string

	mu    sync.Mutex
	valid map[string]string // person by code or token
	count int
	down  bool // the token endpoint does not work
}

func newFake(t testing.TB, name string) *fake {
	t.Helper()
	f := &fake{name: name, valid: map[string]string{}}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
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
		code := f.give(r.URL.Query().Get("login"))
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
			answer(w, map[string]any{"access_token": f.give(person), "refresh_token": f.give(person), "token_type": "Bearer", "expires_in": 3600, "scope": "read"})
		}
	case "/revoke":
		delete(f.valid, r.FormValue("token"))
	case "/mcp":
		if _, known := f.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]; !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// give makes a valid code or token of a person.
func (f *fake) give(person string) string {
	f.count++
	text := fmt.Sprintf("secret:%s:%s:%d", f.name, person, f.count)
	f.valid[text] = person
	return text
}

// forget makes all codes and tokens invalid.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.valid)
}

func (f *fake) breaks(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

func answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }
