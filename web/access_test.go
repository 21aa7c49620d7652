package web_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"legwork/tasks/policy"
	"legwork/web"
)

func bearer(text string) string { return "Authorization: Bearer " + text }

// opsClaims are the claims of an access token of a person of the group ops, with changes.
func opsClaims(change map[string]any) map[string]any {
	all := map[string]any{"sub": "u1", "aud": "https://legwork.example.com", "groups": "ops"}
	maps.Copy(all, change)
	return all
}

// TestAccessTokens: access tokens of the provider are as good as tokens.
func TestAccessTokens(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	host := strings.TrimPrefix(e.provider.URL, "http://")
	now := func(d time.Duration) int64 { return e.now().Add(d).Unix() }
	good := bearer(e.provider.Sign(t, opsClaims(nil)))
	for name, text := range map[string]string{
		"good":                          e.provider.Sign(t, opsClaims(nil)),
		"of RFC 9068":                   e.provider.SignAs(t, "at+jwt", opsClaims(map[string]any{"nonce": "n"})),
		"with the long type":            e.provider.SignAs(t, "application/at+jwt", opsClaims(nil)),
		"of Keycloak":                   e.provider.SignAs(t, "JWT", opsClaims(map[string]any{"typ": "Bearer"})),
		"for several audiences":         e.provider.Sign(t, opsClaims(map[string]any{"aud": []string{"other", "https://legwork.example.com"}})),
		"for the address of the API":    e.provider.Sign(t, opsClaims(map[string]any{"aud": "http://" + e.at})),
		"for the address of /mcp":       e.provider.Sign(t, opsClaims(map[string]any{"aud": "http://" + e.at + "/mcp"})),
		"expired by another clock":      e.provider.Sign(t, opsClaims(map[string]any{"exp": now(-30 * time.Second)})),
		"of the future, a little":       e.provider.Sign(t, opsClaims(map[string]any{"iat": now(30 * time.Second), "nbf": now(30 * time.Second)})),
		"with a claim of two addresses": e.provider.Sign(t, opsClaims(map[string]any{"email": "ann@example.com"})),
	} {
		if who := e.is(name, "GET", "/v1/tasks", "", 200, bearer(text)); who.body != "web:u1@"+host+" admin 127.0.0.1 0 <nil>" {
			t.Errorf("%s: the caller is %q", name, who.body)
		}
	}
	e.is("me", "GET", "/v1/session", "", 200, good)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"for the page":         e.provider.Sign(t, opsClaims(map[string]any{"aud": "legwork"})),
		"for another program":  e.provider.Sign(t, opsClaims(map[string]any{"aud": []string{"https://legwork.example.com.evil.example", "https://legwork.example.com/"}})),
		"for nothing":          e.provider.Sign(t, opsClaims(map[string]any{"aud": []string{}})),
		"expired":              e.provider.Sign(t, opsClaims(map[string]any{"exp": now(-2 * time.Minute)})),
		"without an end":       e.provider.Sign(t, opsClaims(map[string]any{"exp": nil})),
		"made in ten minutes":  e.provider.Sign(t, opsClaims(map[string]any{"iat": now(10 * time.Minute)})),
		"good in ten minutes":  e.provider.Sign(t, opsClaims(map[string]any{"nbf": now(10 * time.Minute)})),
		"of another issuer":    e.provider.Sign(t, opsClaims(map[string]any{"iss": e.provider.URL + "/"})),
		"of another key":       e.provider.SignWithOtherKey(t, opsClaims(nil)),
		"an ID token":          e.provider.Sign(t, opsClaims(map[string]any{"nonce": "n"})),
		"an ID token by hash":  e.provider.Sign(t, opsClaims(map[string]any{"at_hash": "h"})),
		"a refresh token":      e.provider.Sign(t, opsClaims(map[string]any{"typ": "Refresh"})),
		"a logout token":       e.provider.SignAs(t, "logout+jwt", opsClaims(nil)),
		"without a name":       e.provider.Sign(t, opsClaims(map[string]any{"sub": ""})),
		"signed by a secret":   signed(t, jose.HS256, []byte(e.provider.ClientSecret+strings.Repeat("x", 32)), opsClaims(map[string]any{"iss": e.provider.URL, "exp": now(time.Hour)})),
		"signed by a stranger": signed(t, jose.RS256, rsaKey, opsClaims(map[string]any{"iss": e.provider.URL, "exp": now(time.Hour)})),
		"not signed":           encoded(t, map[string]any{"alg": "none"}) + "." + encoded(t, opsClaims(map[string]any{"iss": e.provider.URL, "exp": now(time.Hour)})) + ".",
		"no token at all":      "a.b.c",
	} {
		got := e.is(name, "GET", "/v1/tasks", "", 401, bearer(text))
		if want := `Bearer realm="legwork", error="invalid_token", resource_metadata="http://` + e.at + `/.well-known/oauth-protected-resource"`; got.header.Get("WWW-Authenticate") != want {
			t.Errorf("%s: WWW-Authenticate is %s, want %s", name, got.header.Get("WWW-Authenticate"), want)
		}
		if strings.Contains(got.body, "evil.example") {
			t.Errorf("%s: the reply repeats the token: %s", name, got.body)
		}
	}
	got := e.is("without a role", "GET", "/v1/tasks", "", 403, bearer(e.provider.Sign(t, opsClaims(map[string]any{"groups": "dev"}))))
	if challenge := got.header.Get("WWW-Authenticate"); !strings.Contains(challenge, `error="insufficient_scope"`) || strings.Contains(challenge, " scope=") {
		t.Errorf("without a role WWW-Authenticate is %s", challenge)
	}
	e.passed.Add(int64(2 * time.Hour))
	e.is("expired since", "GET", "/v1/tasks", "", 401, good)
	e.server.Use(web.Access{})
	got = e.is("without a provider", "GET", "/v1/tasks", "", 401, bearer(e.provider.Sign(t, opsClaims(nil))))
	if challenge := got.header.Get("WWW-Authenticate"); challenge != `Bearer realm="legwork", error="invalid_token"` {
		t.Errorf("without a provider WWW-Authenticate is %s", challenge)
	}
	e.is("no metadata", "GET", "/.well-known/oauth-protected-resource", "", 404)
}

// signed returns a token that another than the provider has made.
func signed(t *testing.T, algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	object, err := signer.Sign(body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(body)
}

// TestScopes: the rights of a token are those of its person and of its scopes, whichever
// are fewer.
func TestScopes(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	both := map[policy.Role][]string{
		policy.RoleAdmin: {"group:ops", "scope:legwork.admin"}, policy.RoleOperator: {"group:support", "scope:legwork.write"},
		policy.RoleViewer: {"scope:legwork.read"}, policy.RolePerson: {"*"},
	}
	alone := map[policy.Role][]string{policy.RoleOperator: {"scope:legwork.write"}, policy.RoleViewer: {"scope:legwork.read"}}
	for _, c := range []struct {
		name   string
		roles  map[policy.Role][]string
		claims map[string]any
		role   string // empty: refused
		wider  string // scope that the refusal of a call names
	}{
		{"an admin who reads", both, map[string]any{"scope": "openid legwork.read"}, "viewer", "legwork.write"},
		{"an admin who writes", both, map[string]any{"scope": "legwork.read legwork.write"}, "operator", "legwork.admin"},
		{"an admin with all scopes", both, map[string]any{"scope": "legwork.read legwork.write legwork.admin"}, "admin", ""},
		{"scopes as a list", both, map[string]any{"scp": []string{"legwork.write"}}, "operator", "legwork.admin"},
		{"scopes in scp", both, map[string]any{"scp": "legwork.write"}, "operator", "legwork.admin"},
		{"a supporter with all scopes", both, map[string]any{"groups": "support", "scope": "legwork.read legwork.admin"}, "operator", ""},
		{"a person who writes", both, map[string]any{"groups": nil, "scope": "legwork.write"}, "person", ""},
		{"a person who reads", both, map[string]any{"groups": nil, "scope": "legwork.read"}, "", "legwork.write"},
		{"an admin without a scope", both, map[string]any{}, "", "legwork.read"},
		{"a part of a scope", both, map[string]any{"scope": "legwork.read.all notlegwork.read"}, "", "legwork.read"},
		{"scopes alone", alone, map[string]any{"scope": "legwork.read"}, "viewer", "legwork.write"},
		{"all scopes alone", alone, map[string]any{"scope": "legwork.write"}, "operator", ""},
		{"no scope", alone, map[string]any{"scope": "profile"}, "", "legwork.read"},
		{"groups alone", map[policy.Role][]string{policy.RoleViewer: {"group:ops"}}, map[string]any{"scope": "x"}, "viewer", ""},
	} {
		access := e.access
		access.OIDC.Roles = c.roles
		e.server.Use(access)
		token := bearer(e.provider.Sign(t, opsClaims(c.claims)))
		status, path := http.StatusOK, "/v1/tasks"
		if c.role == "" {
			status = http.StatusForbidden
		}
		if who := e.is(c.name, "GET", path, "", status, token); c.role != "" && !strings.Contains(who.body, " "+c.role+" ") {
			t.Errorf("%s: the caller is %q, want %s", c.name, who.body, c.role)
		}
		want := ""
		if c.wider != "" {
			want = `Bearer realm="legwork", error="insufficient_scope", scope="` + c.wider + `", resource_metadata="http://` + e.at + `/.well-known/oauth-protected-resource"`
		}
		if got := e.is(c.name, "GET", "/v1/forbidden", "", http.StatusForbidden, token).header.Get("WWW-Authenticate"); got != want {
			t.Errorf("%s: a refusal says %s, want %s", c.name, got, want)
		}
	}
	e.server.Use(func() web.Access { a := e.access; a.OIDC.Roles = both; return a }())
	first := e.is("without a token", "GET", "/v1/tasks", "", 401).header.Get("WWW-Authenticate")
	if want := `Bearer realm="legwork", scope="legwork.read", resource_metadata="http://` + e.at + `/.well-known/oauth-protected-resource"`; first != want {
		t.Errorf("without a token WWW-Authenticate is %s, want %s", first, want)
	}
	e.provider.Person(map[string]any{"sub": "u1", "groups": "support", "scope": "legwork.admin"}, nil)
	b := e.browser()
	b.open(b.begin())
	if who := e.is("at the page", "GET", "/v1/tasks", b.session(), 200); !strings.Contains(who.body, " operator ") {
		t.Errorf("at the page the caller is %q, want an operator: scopes count for access tokens alone", who.body)
	}
}

// TestResourceMetadata: clients learn where they get tokens.
func TestResourceMetadata(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	e.access.OIDC.Roles[policy.RoleViewer] = []string{"scope:legwork.read"}
	e.server.Use(e.access)
	for path, resource := range map[string]string{"": "", "/mcp": "/mcp"} {
		got := e.is("metadata", "GET", "/.well-known/oauth-protected-resource"+path, "", 200)
		want := fmt.Sprintf(`{"resource":"http://%s","authorization_servers":["%s"],"scopes_supported":["legwork.read"],"bearer_methods_supported":["header"],"resource_name":"legwork"}`+"\n", e.at+resource, e.provider.URL)
		if got.body != want || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s, want %s", path, got.body, want)
		}
	}
	e.is("another path", "GET", "/.well-known/oauth-protected-resource/v1", "", 404)
	e.is("another method", "POST", "/.well-known/oauth-protected-resource", "", 405)
	e.access.OIDC.Audience = ""
	e.server.Use(e.access)
	e.is("without an audience", "GET", "/.well-known/oauth-protected-resource", "", 404)
	public := newSignInEnv(t, func(c *web.Config) { c.PublicURL, c.MCP = "https://bot.example.com/legwork/", whoAmI })
	e.access.OIDC.Audience = "https://bot.example.com"
	public.server.Use(e.access)
	if got := public.is("a public address", "GET", "/.well-known/oauth-protected-resource/mcp", "", 200); !strings.Contains(got.body, `"resource":"https://bot.example.com/legwork/mcp"`) {
		t.Errorf("with a public address: got %s", got.body)
	}
}

// TestKeyRotation: new keys are fetched, and no more often than allowed.
func TestKeyRotation(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	token := func() string {
		return bearer(e.provider.Sign(t, opsClaims(map[string]any{"exp": e.now().Add(time.Hour).Unix()})))
	}
	before := token()
	for range 10 {
		e.is("the first key", "GET", "/v1/tasks", "", 200, before)
	}
	if asked := e.provider.Asked(); asked != 1 {
		t.Errorf("ten requests had the provider asked %d times, want once", asked)
	}
	e.provider.Rotate(t, "k2")
	e.passed.Add(int64(6 * time.Second))
	e.is("the second key", "GET", "/v1/tasks", "", 200, token())
	e.is("the key that is gone", "GET", "/v1/tasks", "", 401, before)
	for range 5 {
		e.is("a stranger's key", "GET", "/v1/tasks", "", 401, bearer(e.provider.SignWithOtherKey(t, opsClaims(nil))))
	}
	if asked := e.provider.Asked(); asked != 2 {
		t.Errorf("tokens with wrong keys had the provider asked %d times, want twice in all", asked)
	}
	e.passed.Add(int64(time.Hour))
	e.is("an hour later", "GET", "/v1/tasks", "", 200, token())
	if asked := e.provider.Asked(); asked != 3 {
		t.Errorf("an hour later the provider was asked %d times, want three in all", asked)
	}
}

// TestProviderFails: without an answer of the provider tokens cannot be checked, which
// clients are told, and nothing of that lasts.
func TestProviderFails(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]http.HandlerFunc{
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"an error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<!doctype html><p>Welcome")) },
		"another issuer": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"issuer":"https://evil.example.com"}`))
		},
		"without end": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for _, err := w.Write([]byte(`{"issuer":"`)); err == nil; {
				_, err = w.Write([]byte(strings.Repeat("x", 1<<16)))
			}
		},
		"without keys": func(w http.ResponseWriter, r *http.Request) {
			base := "http://" + r.Host
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q,"keys":[]}`, base, base+"/keys")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newOIDCEnv(t)
			e.provider.Break(wrong)
			token := bearer(e.provider.Sign(t, opsClaims(nil)))
			got := e.is("broken", "GET", "/v1/tasks", "", 503, token)
			if got.header.Get("Retry-After") == "" || !strings.Contains(got.body, e.provider.URL) || strings.Contains(got.body, "evil") {
				t.Errorf("the reply is %v %s", got.header, got.body)
			}
			e.is("a token of nobody", "GET", "/v1/tasks", "", 401, bearer("lw_unknown"))
			e.provider.Break(nil)
			e.is("asked a moment ago", "GET", "/v1/tasks", "", 503, token)
			e.passed.Add(int64(6 * time.Second))
			e.is("well again", "GET", "/v1/tasks", "", 200, token)
			e.provider.Break(wrong)
			e.passed.Add(int64(20 * time.Minute))
			e.is("broken for a while", "GET", "/v1/tasks", "", 200, token)
			e.passed.Add(int64(50 * time.Minute))
			e.is("broken for long", "GET", "/v1/tasks", "", 503, bearer(e.provider.Sign(t, opsClaims(nil))))
		})
	}
}

// TestAccessRate: all access tokens of a person have one limit.
func TestAccessRate(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	e.access.Rate = 1
	e.server.Use(e.access)
	token := func(sub string, i int) string {
		return bearer(e.provider.Sign(t, opsClaims(map[string]any{"sub": sub, "jti": i})))
	}
	e.is("the first", "GET", "/v1/tasks", "", 200, token("u1", 1))
	e.is("the second", "GET", "/v1/tasks", "", 200, token("u1", 2))
	e.is("one too many", "GET", "/v1/tasks", "", 429, token("u1", 3))
	e.is("another person", "GET", "/v1/tasks", "", 200, token("u2", 1))
}
