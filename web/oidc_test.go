package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/oidcfake"
	"legwork/tasks/policy"
	"legwork/web"
	"legwork/web/problem"
)

// oidcEnv is a server with an OIDC provider.
type oidcEnv struct {
	*signInEnv
	provider *oidcfake.Provider
	access   web.Access
}

func newOIDCEnv(t *testing.T) *oidcEnv {
	t.Helper()
	e := &oidcEnv{}
	clock := func() time.Time { return e.signInEnv.now() }
	e.signInEnv = newSignInEnv(t, func(c *web.Config) {
		c.PublicURL, c.MCP = "", whoAmI
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/forbidden" {
				problem.New(problem.Forbidden, "").Write(w)
				return
			}
			whoAmI(w, r)
		})
	})
	e.provider = oidcfake.New(t, clock)
	e.access = web.Access{Rate: 10_000, OIDC: web.OIDC{
		Issuer: e.provider.URL, ClientID: e.provider.ClientID, ClientSecret: e.provider.ClientSecret, Audience: "https://legwork.example.com",
		Roles: map[policy.Role][]string{
			policy.RoleAdmin: {"group:ops", "realm_access.role:root"}, policy.RoleOperator: {"department:support"}, policy.RolePerson: {"email_verified:true"},
		},
	}}
	e.server.Use(e.access)
	return e
}

// browser goes through a sign-in and keeps cookies.
type browser struct {
	*oidcEnv
	cookies map[string]string
}

// open follows one link, and returns the answer.
func (b *browser) open(link string) *http.Response {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, link, nil)
	if err != nil {
		b.Fatal(err)
	}
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	resp, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(req)
	if err != nil {
		b.Fatal(err)
	}
	_ = resp.Body.Close()
	for _, c := range resp.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return resp
}

// begin goes to the provider, and returns the link back.
func (b *browser) begin() string {
	b.Helper()
	resp := b.open("http://" + b.at + "/v1/session/oidc")
	if resp.StatusCode != http.StatusSeeOther {
		b.Fatalf("the sign-in begins with %d", resp.StatusCode)
	}
	resp = b.open(resp.Header.Get("Location"))
	if resp.StatusCode != http.StatusFound {
		b.Fatalf("the provider answers %d", resp.StatusCode)
	}
	return resp.Header.Get("Location")
}

// session is the cookie of the session, empty when there is none.
func (b *browser) session() string {
	for name, value := range b.cookies {
		if !strings.HasSuffix(name, "-oidc") {
			return name + "=" + value
		}
	}
	return ""
}

func (e *oidcEnv) browser() *browser { return &browser{e, map[string]string{}} }

// TestOIDC: claims give people their roles, until the config takes them away.
func TestOIDC(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	host := strings.TrimPrefix(e.provider.URL, "http://")
	if ways := e.is("ways", "GET", "/v1/session/ways", "", 200); !strings.Contains(ways.body, "Sign in with "+host) {
		t.Errorf("ways: %s", ways.body)
	}
	for _, c := range []struct {
		name   string
		claims map[string]any
		role   string // empty: refused
	}{
		{"a group", map[string]any{"sub": "u1", "name": "Ann", "groups": []string{"dev", "ops"}}, "admin"},
		{"one group", map[string]any{"sub": "u1", "group": "ops"}, "admin"},
		{"a claim in another", map[string]any{"sub": "u1", "realm_access": map[string]any{"roles": []string{"root"}}}, "admin"},
		{"a text", map[string]any{"sub": "u2", "department": "support", "email_verified": true}, "operator"},
		{"a truth", map[string]any{"sub": "u3", "email_verified": true}, "person"},
		{"none", map[string]any{"sub": "u4", "groups": []string{"dev", "group:ops"}}, ""},
		{"a part of a name", map[string]any{"sub": "u4", "groups": "ops-visitors, ops"}, ""},
		{"an odd list", map[string]any{"sub": "u4", "groups": []any{[]string{"ops"}, map[string]any{"ops": 1}}}, ""},
	} {
		e.provider.Person(c.claims, nil)
		b := e.browser()
		resp := b.open(b.begin())
		if c.role == "" {
			if resp.StatusCode != http.StatusForbidden || b.session() != "" {
				t.Errorf("%s: got %d and the session %q, want 403 and none", c.name, resp.StatusCode, b.session())
			}
			continue
		}
		if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "../../../console/" {
			t.Errorf("%s: got %d to %q", c.name, resp.StatusCode, resp.Header.Get("Location"))
			continue
		}
		want := "web:" + c.claims["sub"].(string) + "@" + host + " " + c.role + " "
		if who := e.is(c.name, "GET", "/v1/tasks", b.session(), 200); !strings.HasPrefix(who.body, want) {
			t.Errorf("%s: the caller is %q, want %q", c.name, who.body, want)
		}
	}
	e.provider.Person(map[string]any{"sub": "u1", "groups": "ops"}, nil)
	b := e.browser()
	b.open(b.begin())
	less := e.access
	less.OIDC.Roles = map[policy.Role][]string{policy.RoleViewer: {"group:ops"}}
	e.server.Use(less)
	if who := e.is("a lesser role", "GET", "/v1/tasks", b.session(), 200); !strings.Contains(who.body, " viewer ") {
		t.Errorf("the caller is %q", who.body)
	}
	less.OIDC.Roles = nil
	e.server.Use(less)
	e.is("no role", "GET", "/v1/tasks", b.session(), 401)
	e.server.Use(web.Access{})
	e.is("no provider", "GET", "/v1/session/oidc", "", 404)
}

// TestBadOIDC: sign-ins that somebody has tampered with.
func TestBadOIDC(t *testing.T) {
	t.Parallel()
	e := newOIDCEnv(t)
	person := map[string]any{"sub": "u1", "groups": "ops"}
	for _, c := range []struct {
		name   string
		change func(claims map[string]any)
	}{
		{"another issuer", func(claims map[string]any) { claims["iss"] = "https://evil.example.com" }},
		{"another client", func(claims map[string]any) { claims["aud"] = "other" }},
		{"another party", func(claims map[string]any) { claims["azp"] = "other" }},
		{"two clients and no party", func(claims map[string]any) { claims["aud"] = []string{"legwork", "other"} }},
		{"another sign-in", func(claims map[string]any) { claims["nonce"] = "other" }},
		{"no nonce", func(claims map[string]any) { delete(claims, "nonce") }},
		{"expired", func(claims map[string]any) { claims["exp"] = 1 }},
		{"nobody", func(claims map[string]any) { claims["sub"] = "" }},
	} {
		e.provider.Person(person, c.change)
		b := e.browser()
		if resp := b.open(b.begin()); resp.StatusCode != http.StatusBadGateway || b.session() != "" {
			t.Errorf("%s: got %d and the session %q, want 502 and none", c.name, resp.StatusCode, b.session())
		}
	}
	e.provider.Person(person, nil)
	mine, other := e.browser(), e.browser()
	back := mine.begin()
	if resp := other.open(back); resp.StatusCode != http.StatusBadRequest || other.session() != "" {
		t.Errorf("in a browser that began none: got %d", resp.StatusCode)
	}
	other.begin()
	if resp := other.open(back); resp.StatusCode != http.StatusBadRequest || other.session() != "" {
		t.Errorf("in a browser that began another: got %d", resp.StatusCode)
	}
	if resp := mine.open(back); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("in the browser that began it: got %d", resp.StatusCode)
	}
	again := e.browser()
	u, err := url.Parse(again.begin())
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("code", "guessed")
	u.RawQuery = q.Encode()
	if resp := again.open(u.String()); resp.StatusCode != http.StatusBadGateway || again.session() != "" {
		t.Errorf("with a guessed code: got %d", resp.StatusCode)
	}
}
