package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"legwork/internal/seal"
	"legwork/internal/test/fakes/oauthfake"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/connections"
	"legwork/tasks/inbox"
	"legwork/tools"
	webapi "legwork/web/api"
)

// signIns implements inbox.SignIns.
type signIns struct{ *connections.Connections }

func (s signIns) Begin(ctx context.Context, w inbox.SignIn) (link string, paste bool, err error) {
	b, err := s.Connections.Begin(ctx, connections.Wish{ConnectionID: w.ID, By: w.By.Key(), Reader: connections.Reader{Name: w.By.Name, Language: w.Language}})
	return b.URL, true, err
}

func (s signIns) Callback() string { return s.Redirect }

// signsIn adds servers at which people sign in, with their identities by name.
func (e *env) signsIn(identities map[string]string) {
	e.t.Helper()
	c := connections.New(connections.Config{
		Store: e.Store, Sealer: seal.NewKeyring(nil, seal.NewKey()), Redirect: "http://localhost:1/connections/callback",
		SignsIn: func(string) bool { return true }, Now: time.Now,
	})
	for name, identity := range identities {
		c.Authorizer(name, "", tools.ServerConfig{URL: oauthfake.New(e.t, name).URL + "/mcp", Auth: &tools.Auth{Type: tools.AuthOAuth, Identity: identity}})
	}
	e.Inbox.SignIns = signIns{c}
}

// connects signs a caller in at a server; by is the key of the person.
func (e *env) connects(token, server, by string) {
	e.t.Helper()
	b, _ := want[api.BegunSignIn](e, http.StatusCreated, request{method: "POST", path: "/v1/connections/" + server, token: token})
	if !b.Paste || time.Until(b.Expires.Time) > tasks.AttemptTime {
		e.t.Errorf("got %+v, want one to paste, for %v", b, tasks.AttemptTime)
	}
	if _, err := e.Inbox.SignIns.Finish(e.t.Context(), oauthfake.Agree(e.t, b.URL, by).Query(), by); err != nil {
		e.t.Fatal(err)
	}
}

// connections are the servers as a caller sees them: "server who signed in", by name;
// "+" says that the caller may change it, and a number how many people signed in.
func (e *env) connections(token string) string {
	e.t.Helper()
	list, raw := want[webapi.Page[api.Connection]](e, http.StatusOK, request{method: "GET", path: "/v1/connections", token: token})
	if strings.Contains(string(raw.body), "secret") {
		e.t.Errorf("the reply has a secret: %s", raw.body)
	}
	var words []string
	for _, c := range list.Items {
		word := c.Server + " " + c.Identity
		if c.MayChange {
			word += " +"
		}
		if c.People != nil {
			word += " " + string(rune('0'+*c.People))
		}
		if s := c.SignIn; s != nil {
			word += " by " + s.By + " " + strings.Join(s.Scopes, " ")
			if s.Used != nil || time.Since(s.Since.Time) > time.Hour || s.Kind != tools.AuthOAuth {
				e.t.Errorf("got %+v, want a new sign-in", s)
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

// TestConnections: people sign in for themselves, and admins for everybody. Each sees and
// ends what their role allows.
func TestConnections(t *testing.T) {
	e := newEnv(t)
	if got := e.connections("ann"); got != "" {
		t.Errorf("without servers: got %q", got)
	}
	want[problem](e, http.StatusNotFound, request{method: "POST", path: "/v1/connections/crm"})
	want[problem](e, http.StatusNotFound, request{method: "DELETE", path: "/v1/connections/crm"})
	e.signsIn(map[string]string{"crm": tools.IdentityPerson, "wiki": tools.IdentityShared})
	e.connects("ann", "crm", "phone:ann")
	e.connects("bob", "crm", "phone:bob")
	e.connects("admin", "wiki", "api:admin")
	e.audited(t, "connection.begin", "wiki")
	for token, seen := range map[string]string{
		"ann":    "crm person + by phone:ann read; wiki shared by api:admin read",
		"admin":  "crm person 2; wiki shared + 0 by api:admin read",
		"viewer": "crm person; wiki shared by api:admin read",
		"narrow": "crm person; wiki shared by api:admin read",
	} {
		if got := e.connections(token); got != seen {
			t.Errorf("%s: got %q, want %q", token, got, seen)
		}
	}
	people, _ := want[webapi.Page[api.PersonSignIn]](e, http.StatusOK, request{method: "GET", path: "/v1/connections/crm"})
	if len(people.Items) != 2 || people.Items[0].Person != "phone:ann" || people.Items[1].By != "phone:bob" {
		t.Errorf("got %+v, want ann and bob", people.Items)
	}

	for _, c := range []struct {
		token, method, path string
		status              int
		detail              string
	}{
		{"admin", "POST", "crm", 403, "this token stands for no person"},
		{"admin", "DELETE", "crm", 403, "this token stands for no person"},
		{"ann", "POST", "wiki", 403, "may not change the sign-ins of others at servers, and those that everybody shares"},
		{"ann", "DELETE", "wiki", 403, "may not change"},
		{"ann", "DELETE", "crm?person=phone:bob", 403, "may not change"},
		{"ann", "DELETE", "crm?all=true", 403, "may not change"},
		{"ann", "GET", "crm", 403, "may not change"},
		{"admin", "POST", "none", 404, "at no server of this name"},
		{"admin", "DELETE", "none", 404, "at no server of this name"},
		{"admin", "DELETE", "crm?person=phone:eve", 404, "no such sign-in"},
		{"admin", "DELETE", "crm?person=phone:bob&all=true", 422, ""},
	} {
		p, _ := want[problem](e, c.status, request{method: c.method, path: "/v1/connections/" + c.path, token: c.token})
		if !strings.Contains(p.Detail, c.detail) {
			t.Errorf("%s %s as %s: got %q, want %q", c.method, c.path, c.token, p.Detail, c.detail)
		}
	}

	ends := func(token, path string, n int) {
		t.Helper()
		got, _ := want[api.EndedSignIns](e, http.StatusOK, request{method: "DELETE", path: "/v1/connections/" + path, token: token})
		if got != (api.EndedSignIns{Ended: n, Revoked: n}) {
			t.Errorf("DELETE %s as %s: got %+v, want %d", path, token, got, n)
		}
	}
	ends("ann", "crm", 1)
	want[problem](e, http.StatusNotFound, request{method: "DELETE", path: "/v1/connections/crm", token: "ann"})
	ends("admin", "crm?person="+url.QueryEscape("phone:bob"), 1)
	e.audited(t, "connection.end", "crm")
	ends("admin", "wiki", 1)
	e.connects("ann", "crm", "phone:ann")
	e.connects("bob", "crm", "phone:bob")
	ends("admin", "crm?all=true", 2)
	ends("admin", "crm?all=true", 0)
	if got, want := e.connections("admin"), "crm person 0; wiki shared + 0"; got != want {
		t.Errorf("in the end: got %q, want %q", got, want)
	}
}

// TestBrokenSignIn: a server that is down is a conflict, and begins nothing.
func TestBrokenSignIn(t *testing.T) {
	e := newEnv(t)
	e.signsIn(nil)
	e.Inbox.SignIns.(signIns).Authorizer("down", "", tools.ServerConfig{URL: "http://127.0.0.1:1/mcp", Auth: &tools.Auth{Type: tools.AuthOAuth}})
	want[problem](e, http.StatusConflict, request{method: "POST", path: "/v1/connections/down"})
	if got := e.connections("admin"); !strings.Contains(got, "down shared + 0") {
		t.Errorf("got %q, want the server without a sign-in", got)
	}
}
