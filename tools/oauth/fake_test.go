package oauth_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fake is an MCP server that wants OAuth, and its authorization server, which takes
// each code and each refresh token once.
type fake struct {
	*httptest.Server

	mu       sync.Mutex
	meta     map[string]any // of the authorization server; changed by tests
	prm      map[string]any
	special  map[string]http.HandlerFunc // by path, in place of what follows
	codes    map[string]url.Values       // authorization requests by code
	refresh  map[string]bool             // that are valid
	access   map[string]string           // scope by valid token
	need     string                      // scope that the MCP server requires
	refreshs int                         // how many refreshes were made
	clients  int                         // how many clients registered
	count    int
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{special: map[string]http.HandlerFunc{}, codes: map[string]url.Values{}, refresh: map[string]bool{}, access: map[string]string{}, need: "read"}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	f.meta = map[string]any{
		"issuer": f.URL, "authorization_endpoint": f.URL + "/authorize", "token_endpoint": f.URL + "/token", "registration_endpoint": f.URL + "/register",
		"revocation_endpoint": f.URL + "/revoke", "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true, "response_types_supported": []string{"code"},
	}
	f.prm = map[string]any{"resource": f.URL + "/mcp", "authorization_servers": []string{f.URL}}
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.special[r.URL.Path]; h != nil {
		h(w, r)
		return
	}
	switch r.URL.Path {
	case "/.well-known/oauth-protected-resource/mcp":
		answer(w, http.StatusOK, f.prm)
	case "/.well-known/oauth-authorization-server":
		answer(w, http.StatusOK, f.meta)
	case "/register":
		f.clients++
		answer(w, http.StatusCreated, map[string]any{"client_id": fmt.Sprint("client", f.clients), "token_endpoint_auth_method": "none"})
	case "/authorize":
		q := r.URL.Query()
		f.count++
		code := fmt.Sprint("secret-code-", f.count)
		f.codes[code] = q
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {f.URL}}.Encode(), http.StatusFound)
	case "/token":
		f.token(w, r)
	case "/revoke":
		delete(f.refresh, r.FormValue("token"))
		w.WriteHeader(http.StatusOK)
	case "/mcp":
		f.resource(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fake) token(w http.ResponseWriter, r *http.Request) {
	var scope string
	switch r.FormValue("grant_type") {
	case "authorization_code":
		q := f.codes[r.FormValue("code")]
		delete(f.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if q == nil || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || q.Get("client_id") != r.FormValue("client_id") ||
			q.Get("redirect_uri") != r.FormValue("redirect_uri") || q.Get("resource") != r.FormValue("resource") {
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "secret-code of " + r.FormValue("code")})
			return
		}
		scope = q.Get("scope")
	case "refresh_token":
		f.refreshs++
		if !f.refresh[r.FormValue("refresh_token")] {
			f.refresh = map[string]bool{} // used twice: all of the family end
			answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		delete(f.refresh, r.FormValue("refresh_token"))
		scope = "read"
	default:
		answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	f.count++
	access, refresh := fmt.Sprint("secret-access-", f.count), fmt.Sprint("secret-refresh-", f.count)
	f.access = map[string]string{access: scope}
	f.refresh[refresh] = true
	answer(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600, "scope": scope})
}

func (f *fake) resource(w http.ResponseWriter, r *http.Request) {
	scope, known := f.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	challenge := fmt.Sprintf(`Bearer resource_metadata=%q, scope=%q`, f.URL+"/.well-known/oauth-protected-resource/mcp", f.need)
	switch {
	case !known:
		w.Header().Set("WWW-Authenticate", challenge)
		w.WriteHeader(http.StatusUnauthorized)
	case !slices.Contains(strings.Fields(scope), f.need):
		w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
		w.WriteHeader(http.StatusForbidden)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// set changes the fake while it serves.
func (f *fake) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
