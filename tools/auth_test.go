package tools_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.yaml.in/yaml/v3"

	"legwork/tools"
)

// TestAuth: legwork signs in at a server with an account of its own, and again when the
// server takes the token no longer.
func TestAuth(t *testing.T) {
	shop := newEnv(t)
	shop.addTool("buy", "Buys a thing.")
	behind, err := url.Parse(shop.url)
	if err != nil {
		t.Fatal(err)
	}
	behind.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.FlushInterval = -1
	var tokens atomic.Int64 // that were given out; the last one is valid
	var h *httptest.Server
	h = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, secret, _ := r.BasicAuth()
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
			fmt.Fprintf(w, `{"resource": "%s/mcp", "authorization_servers": [%q]}`, h.URL, h.URL)
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			fmt.Fprintf(w, `{"issuer": %q, "token_endpoint": "%s/token", "authorization_endpoint": "%s/a", "response_types_supported": ["code"],
				"code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["client_secret_basic"]}`, h.URL, h.URL, h.URL)
		case r.URL.Path == "/token" && id == "legwork" && secret == "of-legwork" && r.FormValue("grant_type") == "client_credentials" && r.FormValue("scope") == "buy":
			_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprint("token", tokens.Add(1)), "token_type": "Bearer", "expires_in": 3600})
		case r.URL.Path == "/mcp" && r.Header.Get("Authorization") == fmt.Sprint("Bearer token", tokens.Load()):
			w.Header().Del("Content-Type")
			proxy.ServeHTTP(w, r)
		case r.URL.Path == "/mcp":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
	})
	auth := &tools.Auth{Type: "oauth", Grant: "client_credentials", ClientID: "legwork", ClientSecret: "of-legwork", Scopes: []string{"buy"}}
	m := run(t, one(tools.ServerConfig{URL: h.URL + "/mcp", Auth: auth}))
	for n := range 2 {
		r, err := m.Call(t.Context(), tools.Call{Group: "g", Tool: "s.buy", Arguments: json.RawMessage("{}")})
		if err != nil || r.Failed || r.Text != "sold" {
			t.Fatalf("call %d: got %+v, %v, want the result", n, r, err)
		}
		tokens.Add(1) // the token is not valid any more
	}
	if n := len(shop.calls()); n != 2 {
		t.Errorf("the server got %d calls, want 2", n)
	}
	auth = &tools.Auth{Type: "oauth", Grant: "client_credentials", ClientID: "legwork", ClientSecret: "wrong-secret"}
	m = run(t, one(tools.ServerConfig{URL: h.URL + "/mcp", Auth: auth}))
	r, err := m.Call(t.Context(), tools.Call{Group: "g", Tool: "s.buy", Arguments: json.RawMessage("{}")})
	if err != nil || !r.Failed || !strings.Contains(r.Text, "gave no token: it answered with status 400") || strings.Contains(r.Text, "wrong-secret") {
		t.Errorf("with a wrong secret: got %+v, %v, want a failure that says so", r, err)
	}
}

func TestValidateAuth(t *testing.T) {
	for text, want := range map[string]string{
		`{type: oauth, grant: client_credentials, client_id: x, client_secret: y}`:                    "",
		`{type: oauth, grant: assertion, client_id: x, assertion_file: f}`:                            "",
		`{type: basic, grant: client_credentials}`:                                                    `servers.s.auth.type: "basic" is unknown; allowed are oauth and secret`,
		`{type: oauth, grant: password}`:                                                              `servers.s.auth.grant: "password" is unknown; allowed are "code", "client_credentials", "assertion", "enterprise"`,
		`{type: oauth}`:                                                                               "",
		`{type: oauth, identity: person, scopes: [x]}`:                                                "",
		`{type: oauth, identity: team}`:                                                               `servers.s.auth.identity: "team" is unknown; allowed are shared and person`,
		`{type: oauth, client_secret: y}`:                                                             `servers.s.auth.client_id: is missing; client_secret and private_key belong to it`,
		`{type: oauth, identity: person, grant: client_credentials, client_id: x, client_secret: y}`:  `servers.s.auth.identity: person needs the grant code: with client_credentials no person signs in`,
		`{type: oauth, grant: client_credentials, client_secret: y}`:                                  `servers.s.auth.client_id: is missing; the authorization server gives it when legwork is registered there`,
		`{type: oauth, grant: client_credentials, client_id: x}`:                                      `servers.s.auth.client_secret: is missing; the grant client_credentials needs it, or private_key`,
		`{type: oauth, grant: client_credentials, client_id: x, private_key: "-"}`:                    `servers.s.auth.private_key: is not a private key in PEM`,
		`{type: oauth, grant: assertion, client_id: x}`:                                               `servers.s.auth.assertion_file: is missing; name the file with the token that is exchanged`,
		`{type: oauth, grant: enterprise, client_id: x, assertion_file: f, provider: {client_id: y}}`: `servers.s.auth.provider: is missing or incomplete; write {token_url: ..., client_id: ...} of the company's identity provider`,
		`{type: oauth, grant: client_credentials, client_id: x, client_secret: y, assertion_file: f}`: `servers.s.auth.assertion_file: is for the grants assertion and enterprise; remove it`,
		`{type: oauth, header: "X-Key: {secret}"}`:                                                    `servers.s.auth.header: is for the type secret; remove it`,
		`{type: secret, identity: person, header: "Authorization: Bearer {secret}"}`:                  "",
		`{type: secret, header: "X-Key:{secret}"}`:                                                    "",
		`{type: secret, identity: team, header: "X-Key: {secret}"}`:                                   `servers.s.auth.identity: "team" is unknown; allowed are shared and person`,
		`{type: secret, identity: person}`:                                                            `servers.s.auth.header: is missing; write one such as "Authorization: Bearer {secret}"`,
		`{type: secret, header: "Bearer {secret}"}`:                                                   `servers.s.auth.header: has no colon after the name of the header; write one such as "Authorization: Bearer {secret}"`,
		`{type: secret, header: "X Key: {secret}"}`:                                                   `servers.s.auth.header: "X Key" cannot be the name of a header`,
		`{type: secret, header: "{secret}: x"}`:                                                       `servers.s.auth.header: "{secret}" cannot be the name of a header`,
		`{type: secret, header: ": {secret}"}`:                                                        `servers.s.auth.header: "" cannot be the name of a header`,
		`{type: secret, header: "Host: {secret}"}`:                                                    `servers.s.auth.header: Host belongs to the protocol and is set by legwork; take another one`,
		`{type: secret, header: "Authorization: Bearer"}`:                                             `servers.s.auth.header: must contain {secret} once, in the place of the secret; write one such as "Authorization: Bearer {secret}"`,
		`{type: secret, header: "Authorization: {secret} {secret}"}`:                                  `servers.s.auth.header: must contain {secret} once, in the place of the secret; write one such as "Authorization: Bearer {secret}"`,
		`{type: secret, header: "X-Key: {secret}\nX-Other: y"}`:                                       `servers.s.auth.header: has a control character, such as a line break, in its value; remove it`,
		`{type: secret, header: "X-Key: {secret}", grant: code, scopes: [x], client_id: y}`:           "servers.s.auth.client_id: is for the type oauth; remove it\nservers.s.auth.grant: is for the type oauth; remove it\nservers.s.auth.scopes: is for the type oauth; remove it",
	} {
		var auth tools.Auth
		if err := yaml.Unmarshal([]byte(text), &auth); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, i := range one(tools.ServerConfig{URL: "https://s.example.com/mcp", Auth: &auth}).Validate() {
			got = append(got, i.Path+": "+i.Problem)
		}
		if !slices.Equal(got, strings.FieldsFunc(want, func(r rune) bool { return r == '\n' })) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	c := one(tools.ServerConfig{URL: "https://s.example.com/mcp", Headers: map[string]string{"authorization": "x"}, Auth: &tools.Auth{Type: "oauth", Grant: "client_credentials", ClientID: "x", ClientSecret: "y"}})
	if got := c.Validate(); len(got) != 1 || !strings.Contains(got[0].Problem, "exclude each other") {
		t.Errorf("got %v, want one mistake", got)
	}
	c = one(tools.ServerConfig{URL: "https://s.example.com/mcp", Headers: map[string]string{"x-key": "x", "Authorization": "y"}, Auth: &tools.Auth{Type: "secret", Header: "X-Key: {secret}"}})
	if got := c.Validate(); len(got) != 1 || !strings.Contains(got[0].Problem, "and the header X-Key exclude each other") {
		t.Errorf("got %v, want one mistake", got)
	}
}
