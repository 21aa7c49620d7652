package web

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
)

// OIDC is an OpenID Connect provider that knows who people are. The zero value is none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string
	// Roles lists the claims that give a role: "group:ops" for people whose claim group
	// or groups is or holds "ops", "realm_access.roles:ops" for a claim within another,
	// "*" for everybody, "scope:legwork.read" for access tokens with a scope. The role with
	// the most rights counts; see role.
	Roles map[policy.Role][]string
	// Audience of the access tokens of the provider that the API and /mcp take. Empty:
	// they take none.
	Audience string
}

// Host is the part of the issuer by which people know it, and the end of their ids.
func (o OIDC) Host() string {
	u, err := url.Parse(o.Issuer)
	if err != nil {
		return o.Issuer
	}
	return u.Host
}

// everyone is the entry of OIDC.Roles that everybody matches, and scopeClaim the claim of
// the entries that only access tokens match.
const (
	everyone   = "*"
	scopeClaim = "scope"
)

// ranks orders the roles by their rights.
func ranks() []policy.Role {
	return []policy.Role{policy.RoleAdmin, policy.RoleOperator, policy.RoleViewer, policy.RolePerson, policy.RoleAgent}
}

// matched returns the entries of Roles that the claims of a token match.
func (o OIDC) matched(claims map[string]any) (entries []string) {
	for _, role := range ranks() {
		for _, entry := range o.Roles[role] {
			if matches(claims, entry) && !slices.Contains(entries, entry) {
				entries = append(entries, entry)
			}
		}
	}
	return entries
}

// matches reports whether claims hold what an entry of OIDC.Roles names.
func matches(claims map[string]any, entry string) bool {
	if entry == everyone {
		return true
	}
	name, value, _ := strings.Cut(entry, ":")
	if name == scopeClaim { // RFC 6749, section 3.3: names with spaces between them; some providers send a list as scp
		list, _ := claims[name].(string)
		return slices.Contains(strings.Fields(list), value) || holds(claims["scp"], value)
	}
	return holds(claimAt(claims, name), value) || holds(claimAt(claims, name+"s"), value)
}

// claimAt returns a claim by its name, or by the names on the way to it: "a.b". A name
// may itself have dots, as addresses do.
func claimAt(claims map[string]any, name string) any {
	if v, ok := claims[name]; ok {
		return v
	}
	for i, c := range name {
		if inner, ok := claims[name[:i]].(map[string]any); ok && c == '.' {
			if v := claimAt(inner, name[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// holds reports whether a claim is a value or a list with it.
func holds(claim any, value string) bool {
	switch c := claim.(type) {
	case nil, map[string]any:
		return false
	case []any:
		return slices.ContainsFunc(c, func(one any) bool { _, list := one.([]any); return !list && holds(one, value) })
	default:
		return fmt.Sprint(c) == value
	}
}

// identity is a person or a program, as a token of the provider tells.
type identity struct {
	person bot.Person
	claims []string // see OIDC.matched
	until  time.Time
}

// verifyID checks the ID token of a sign-in.
func (p *idp) verifyID(ctx context.Context, raw, nonce string) (identity, error) {
	t, err := oidc.NewVerifier(p.Issuer, p, &oidc.Config{ClientID: p.ClientID, Now: p.now, SupportedSigningAlgs: algorithmNames()}).Verify(ctx, raw)
	if err != nil {
		return identity{}, fmt.Errorf("checking the token of %s: %w", p.Issuer, err)
	}
	who, claims, err := p.identity(t)
	party, named := claims["azp"]
	switch {
	case err != nil:
		return identity{}, err
	case t.Nonce != nonce:
		return identity{}, errors.New("the token is of another sign-in")
	case len(t.Audience) > 1 && !named || named && party != p.ClientID:
		return identity{}, errors.New("the token was made for another client") // OpenID Connect Core 3.1.3.7
	}
	return who, nil
}

// identity returns whom a token names, and its claims.
func (p *idp) identity(t *oidc.IDToken) (who identity, claims map[string]any, err error) {
	if err := t.Claims(&claims); err != nil {
		return who, nil, fmt.Errorf("reading the claims of %s: %w", p.Issuer, err)
	}
	if t.Subject == "" {
		return who, nil, errors.New("the token names no subject")
	}
	name := t.Subject
	for _, claim := range []string{"email", "preferred_username", "name"} {
		if s, _ := claims[claim].(string); s != "" {
			name = s
		}
	}
	return identity{webPerson(t.Subject+"@"+p.Host(), name), p.matched(claims), t.Expiry}, claims, nil
}

// principal returns what a person of the provider may do with a role.
func (*idp) principal(person bot.Person, role policy.Role) api.Principal {
	c := api.Principal{Role: role, Person: person, Chats: []string{everyone}, Webhooks: []string{everyone}}
	switch role {
	case policy.RolePerson:
		c.Chats, c.Webhooks = nil, nil
	case policy.RoleViewer: // has no chats
		c.Name, c.Person = person.ID, bot.Person{}
	case policy.RoleAgent:
		c.Name, c.Person, c.Chats = person.ID, bot.Person{}, []string{tasks.PlatformAPI + ":" + person.ID}
	}
	return c
}

// button is what the button for the provider says.
func (p *idp) button() string {
	return "Sign in with " + p.Host()
}

// useOIDC replaces the provider, unless it is the same.
func (a *auth) useOIDC(o OIDC) {
	now := a.oidc.Load()
	switch {
	case now != nil && reflect.DeepEqual(now.OIDC, o):
	case o.Issuer == "":
		a.oidc.Store(nil)
	default:
		a.oidc.Store(&idp{OIDC: o, now: a.now})
	}
}

// oidcCookie names the cookie of a sign-in that is under way. It holds a secret from
// which state, nonce and PKCE verifier are made, so that only the browser that began a
// sign-in can end it.
func (c cookies) oidcCookie(r *http.Request) string { return c.name(r) + "-oidc" }

func (c cookies) setOIDC(w http.ResponseWriter, r *http.Request, secret string) {
	age := int(tasks.LinkTime / time.Second)
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{ // Lax: the provider sends the browser back, which is another site
		Name: c.oidcCookie(r), Value: secret, Path: "/", MaxAge: age, HttpOnly: true, Secure: c.secure(r), SameSite: http.SameSiteLaxMode,
	})
}

// flow returns the values of a sign-in by its secret.
func flow(secret string) (state, nonce, verifier string) {
	return secretID("state " + secret), secretID("nonce " + secret), secretID("verifier " + secret)
}

// oauth is the client of the provider. The browser comes back to the host that it was
// at.
func (a *auth) oauth(r *http.Request, p *idp, provider *oidc.Provider) *oauth2.Config {
	base := "http://" + r.Host
	if a.cookies.secure(r) {
		base = "https://" + r.Host
	}
	if a.cookies.public != nil && strings.EqualFold(a.cookies.public.Host, r.Host) {
		base = strings.TrimSuffix(a.cookies.public.String(), "/")
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: provider.Endpoint(), RedirectURL: base + pathCallback,
		Scopes: []string{oidc.ScopeOpenID, "profile", "email"},
	}
}

// beginOIDC sends the browser to the provider: from the public address, which the
// provider knows.
func (a *auth) beginOIDC(w http.ResponseWriter, r *http.Request) {
	p := a.oidc.Load()
	if p == nil {
		a.oidcProblem(w, http.StatusNotFound, "http.oidc of the config names no provider.")
		return
	}
	if public := a.cookies.public; public != nil && !strings.EqualFold(public.Host, r.Host) {
		redirect(w, strings.TrimSuffix(public.String(), "/")+pathOIDC)
		return
	}
	known, err := p.reach(r.Context(), false)
	if err != nil {
		a.log.ErrorContext(r.Context(), "OIDC provider not reached", "cause", err)
		a.oidcProblem(w, http.StatusBadGateway, "The sign-in service "+p.Issuer+" does not answer. Try again, or sign in with a token.")
		return
	}
	secret := newSecret()
	state, nonce, verifier := flow(secret)
	a.cookies.setOIDC(w, r, secret)
	redirect(w, a.oauth(r, p, known.provider).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)))
}

// endOIDC takes the browser back from the provider, and signs the person in.
func (a *auth) endOIDC(w http.ResponseWriter, r *http.Request) {
	p, q := a.oidc.Load(), r.URL.Query()
	cookie, err := r.Cookie(a.cookies.oidcCookie(r))
	if p == nil || err != nil {
		a.oidcProblem(w, http.StatusBadRequest, "This sign-in was not begun in this browser, or more than ten minutes ago.")
		return
	}
	a.cookies.setOIDC(w, r, "") // each sign-in has one end
	state, nonce, verifier := flow(cookie.Value)
	switch {
	case q.Get("state") != state:
		a.oidcProblem(w, http.StatusBadRequest, "This sign-in was not begun in this browser, or more than ten minutes ago.")
		return
	case q.Get("error") != "":
		a.oidcProblem(w, http.StatusForbidden, "The sign-in service "+p.Issuer+" refused: "+q.Get("error")+" "+q.Get("error_description"))
		return
	}
	who, err := a.exchange(r, p, q.Get("code"), nonce, verifier)
	if err != nil {
		a.log.WarnContext(r.Context(), "OIDC sign-in failed", "cause", err)
		a.oidcProblem(w, http.StatusBadGateway, "The answer of the sign-in service "+p.Issuer+" cannot be used. The log of legwork says why.")
		return
	}
	s := tasks.Session{ChatPerson: tasks.ChatPerson{Person: who.person}, Issuer: p.Issuer, Claims: who.claims}
	switch err := a.openSession(w, r, s); {
	case errors.Is(err, errSignedOut):
		a.log.WarnContext(r.Context(), "OIDC sign-in without a role", "person", who.person.Key())
		a.oidcProblem(w, http.StatusForbidden, who.person.Name+" may not use legwork. An admin can give a role to one of your groups in http.oidc.roles of the config.")
	case err != nil:
		a.unavailable(w, r, err)
	default:
		redirect(w, "../../../console/") // relative, because a proxy may serve legwork below a path
	}
}

// exchange gets the ID token for a code, and checks it.
func (a *auth) exchange(r *http.Request, p *idp, code, nonce, verifier string) (identity, error) {
	known, err := p.reach(r.Context(), false)
	if err != nil {
		return identity{}, err
	}
	t, err := a.oauth(r, p, known.provider).Exchange(p.client(r.Context()), code, oauth2.VerifierOption(verifier))
	if err != nil {
		if refused := new(oauth2.RetrieveError); errors.As(err, &refused) { // its text would hold the whole reply
			return identity{}, fmt.Errorf("exchanging the code: %s refused it: %s", p.Issuer, refused.ErrorCode)
		}
		return identity{}, fmt.Errorf("exchanging the code: %w", err)
	}
	raw, ok := t.Extra("id_token").(string)
	if !ok {
		return identity{}, errors.New("exchanging the code: the reply has no ID token")
	}
	return p.verifyID(r.Context(), raw, nonce)
}

func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// oidcProblem answers a browser on its way with a sentence.
func (*auth) oidcProblem(w http.ResponseWriter, status int, text string) {
	text = strings.ToUpper(text[:1]) + text[1:]
	reply(w, status, "text/html; charset=utf-8", []byte(`<!doctype html><html lang="en"><title>legwork</title><p>`+html.EscapeString(text)+`</p><p><a href="/console/">Back to the sign-in page</a></p></html>`))
}
