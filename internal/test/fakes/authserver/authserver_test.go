package authserver_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/authserver"
)

const (
	back     = "http://127.0.0.1:9/callback"
	resource = "http://127.0.0.1:9/mcp"
	verifier = "0123456789012345678901234567890123456789012"
)

// post sends a form, or JSON when body is one, and reads the reply.
func post(t *testing.T, address, kind, body string) (status int, reply map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ContentLength != 0 {
		if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode, reply
}

// env is a server with a registered client.
type env struct {
	*testing.T
	*authserver.Server
	client string
}

func newEnv(t *testing.T) *env {
	t.Helper()
	s := authserver.Start(t, authserver.Config{
		People: map[string]map[string]any{"ann": {"email": "ann@example.com", "groups": []string{"ops"}}},
		Scopes: []string{"files.read", "files.write"}, Resources: []string{resource}, AccessTime: 5 * time.Minute,
		Clients: []map[string]any{{"client_id": "robot", "client_secret": "robot-secret", "token_endpoint_auth_method": "client_secret_post", "scope": "files.read"}},
	})
	status, client := post(t, s.URL+"/reg", "application/json", `{"redirect_uris":["`+back+`"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"client_name":"test"}`)
	if status != http.StatusCreated {
		t.Fatalf("registering gave %d %v", status, client)
	}
	return &env{t, s, client["client_id"].(string)}
}

// authorization is the address of an authorization request.
func (e *env) authorization(change map[string]string) string {
	challenge := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {e.client}, "redirect_uri": {back}, "response_type": {"code"}, "scope": {"files.read"}, "state": {"s1"}, "resource": {resource},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"},
	}
	for name, value := range change {
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
	}
	return e.URL + "/auth?" + q.Encode()
}

// token asks for tokens.
func (e *env) token(form url.Values) (int, map[string]any) {
	e.Helper()
	form.Set("client_id", e.client)
	return post(e.T, e.URL+"/token", "application/x-www-form-urlencoded", form.Encode())
}

// back is the query with which a person comes back.
func (e *env) back(address, login string) url.Values {
	e.Helper()
	u, err := url.Parse(e.SignIn(e.T, address, login))
	if err != nil {
		e.Fatal(err)
	}
	return u.Query()
}

func claims(t *testing.T, token string) map[string]any {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is no JWT", token)
	}
	var all map[string]any
	for _, part := range parts[:2] {
		content, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(content, &all); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestPerson: a person signs in; the tokens are refreshed, used twice, and revoked.
func TestPerson(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	q := e.back(e.authorization(nil), "ann")
	if q.Get("state") != "s1" || q.Get("iss") != e.URL || q.Get("code") == "" {
		t.Fatalf("the person comes back with %v", q)
	}
	code := url.Values{"grant_type": {"authorization_code"}, "code": {q.Get("code")}, "redirect_uri": {back}, "code_verifier": {verifier}}
	status, tokens := e.token(code)
	if status != http.StatusOK {
		t.Fatalf("the code gave %d %v", status, tokens)
	}
	if got := claims(t, tokens["access_token"].(string)); got["sub"] != "ann" || got["aud"] != resource || got["scope"] != "files.read" || got["typ"] != "at+jwt" || got["email"] != "ann@example.com" {
		t.Errorf("the access token says %v", got)
	}
	first := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens["refresh_token"].(string)}}
	status, next := e.token(first)
	if status != http.StatusOK || next["refresh_token"] == tokens["refresh_token"] {
		t.Fatalf("refreshing gave %d %v", status, next)
	}
	if status, reply := e.token(first); status != http.StatusBadRequest || reply["error"] != "invalid_grant" {
		t.Errorf("a refresh token that was used before gave %d %v", status, reply)
	}
	if status, reply := e.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {next["refresh_token"].(string)}}); status != http.StatusBadRequest {
		t.Errorf("after that its follower gave %d %v", status, reply)
	}

	code.Set("code", e.back(e.authorization(nil), "ann").Get("code"))
	_, tokens = e.token(code)
	revoke := url.Values{"token": {tokens["refresh_token"].(string)}, "client_id": {e.client}}
	if status, reply := post(t, e.URL+"/token/revocation", "application/x-www-form-urlencoded", revoke.Encode()); status != http.StatusOK {
		t.Errorf("revoking gave %d %v", status, reply)
	}
	if status, reply := e.token(url.Values{"grant_type": {"refresh_token"}, "refresh_token": {tokens["refresh_token"].(string)}}); status != http.StatusBadRequest {
		t.Errorf("a revoked refresh token gave %d %v", status, reply)
	}
	if requests := e.Requests(t); !slices.ContainsFunc(requests, func(r authserver.Request) bool { return r.Path == "/token" && r.Form["grant_type"] == "refresh_token" }) {
		t.Errorf("the server noted %v", requests)
	}
}

// TestProgram: a client gets tokens of its own.
func TestProgram(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {"robot-secret"}, "resource": {resource}, "scope": {"files.read"}}
	status, tokens := post(t, e.URL+"/token", "application/x-www-form-urlencoded", form.Encode())
	if status != http.StatusOK {
		t.Fatalf("got %d %v", status, tokens)
	}
	if got := claims(t, tokens["access_token"].(string)); got["client_id"] != "robot" || got["scope"] != "files.read" {
		t.Errorf("the access token says %v", got)
	}
}

// TestRefusals: people who refuse, and requests that a strict server refuses.
func TestRefusals(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for name, c := range map[string]struct {
		change map[string]string
		login  string
		want   string
	}{
		"nobody":           {nil, "bob", "access_denied"},
		"no PKCE":          {map[string]string{"code_challenge": "", "code_challenge_method": ""}, "ann", "invalid_request"},
		"another resource": {map[string]string{"resource": "https://other.example.com/mcp"}, "ann", "invalid_target"},
	} {
		if q := e.back(e.authorization(c.change), c.login); q.Get("error") != c.want {
			t.Errorf("%s: got %v, want %s", name, q, c.want)
		}
	}
	e.Break(t, authserver.Deny, 0)
	if q := e.back(e.authorization(nil), "ann"); q.Get("error") != "access_denied" || q.Get("code") != "" {
		t.Errorf("a person who refuses comes back with %v", q)
	}
}

// TestFaults: the server does wrong until it is told to stop.
func TestFaults(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	metadata := func() (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, e.URL+"/.well-known/oauth-authorization-server", nil)
		if err != nil {
			t.Fatal(err)
		}
		return http.DefaultClient.Do(r)
	}
	e.Break(t, authserver.Down, 0)
	if resp, err := metadata(); err == nil {
		_ = resp.Body.Close()
		t.Errorf("a server that is down answers %d", resp.StatusCode)
	}
	for fault, want := range map[authserver.Fault]string{authserver.HTML: "200 <!doctype", authserver.Error: "503 try again", authserver.Huge: `200 {"issuer":`, authserver.None: `200 {"`} {
		e.Break(t, fault, time.Millisecond)
		resp, err := metadata()
		if err != nil {
			t.Fatal(err)
		}
		begin := make([]byte, 64)
		n, err := resp.Body.Read(begin)
		_ = resp.Body.Close()
		if got := append([]byte(resp.Status[:4]), begin[:n]...); !bytes.HasPrefix(got, []byte(want)) {
			t.Errorf("%s: got %q and %v, want %q", fault, got, err, want)
		}
	}
}
