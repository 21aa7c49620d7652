package web

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"legwork/internal/clip"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// pathMetadata is where clients learn which provider gives access tokens for the API,
// and below it for /mcp (RFC 9728).
const pathMetadata = "/.well-known/oauth-protected-resource"

// leeway is how far the clocks of legwork and of a provider may differ.
const leeway = time.Minute

// unreachable is the error of a token that cannot be checked because the provider does
// not answer.
type unreachable struct{ error }

// lackingError is the error of a valid access token that gives no role.
type lackingError struct {
	person string
	scopes string // that would give one; empty: none would
}

// Error implements error.
func (e *lackingError) Error() string { return "the access token of " + e.person + " gives no role" }

// byScope returns the scope of an entry of OIDC.Roles; false for entries of other claims.
func byScope(entry string) (scope string, ok bool) {
	return strings.CutPrefix(entry, scopeClaim+":")
}

// roles returns the roles of the entries that keep reports, those with the most rights
// first.
func (o OIDC) roles(keep func(entry string) bool) (roles []policy.Role) {
	for _, role := range ranks() {
		if slices.ContainsFunc(o.Roles[role], keep) {
			roles = append(roles, role)
		}
	}
	return roles
}

// personRole returns the role that the claims of a person give, without the scopes of
// access tokens; empty for none.
func (o OIDC) personRole(claims []string) policy.Role {
	return append(o.roles(func(entry string) bool {
		_, scope := byScope(entry)
		return !scope && slices.Contains(claims, entry)
	}), "")[0]
}

// accessRole returns the role of an access token, empty for none, and the scopes with
// which a token of the same person would have a role with more rights.
//
// The claims of a person say what the person may do at most, and the scopes what the
// person has allowed the client: the role with fewer rights of the two counts. Roles of
// which none contains the other, such as viewer and person, have no such role. Without
// entries of one kind, those of the other kind count alone.
func (o OIDC) accessRole(claims []string) (role policy.Role, wider string) {
	isScope := func(entry string) bool { _, scope := byScope(entry); return scope }
	isMine := func(entry string) bool { return slices.Contains(claims, entry) }
	scoped := o.roles(isScope)
	most := o.personRole(claims)
	switch {
	case len(scoped) == 0:
		return most, ""
	case len(o.roles(func(entry string) bool { return !isScope(entry) })) == 0:
		most = ranks()[0]
	case most == "":
		return "", ""
	}
	rank := func(r policy.Role) int { return slices.Index(ranks(), r) }
	for _, r := range o.roles(func(entry string) bool { return isScope(entry) && isMine(entry) }) {
		if lesser := most.Lesser(r); lesser != "" && (role == "" || rank(lesser) < rank(role)) {
			role = lesser
		}
	}
	for _, r := range slices.Backward(scoped) {
		if lesser := most.Lesser(r); lesser != "" && (role == "" || rank(lesser) < rank(role)) {
			return role, o.scopes(r)[0]
		}
	}
	return role, ""
}

// scopes lists the scopes that give a role.
func (o OIDC) scopes(role policy.Role) (scopes []string) {
	for _, entry := range o.Roles[role] {
		if scope, ok := byScope(entry); ok {
			scopes = append(scopes, scope)
		}
	}
	return scopes
}

// accessToken returns the caller of an access token of the provider, nil if it is none.
// Errors: unreachable, *lackingError.
func (a *auth) accessToken(r *http.Request, raw string) (*token, error) {
	p := a.oidc.Load()
	if p == nil || p.Audience == "" || strings.Count(raw, ".") != 2 || a.failures.blocked(clientAddr(r, a.tokens.trustedProxies()).String(), a.now()) {
		return nil, nil
	}
	if _, err := p.reach(r.Context(), false); err != nil {
		a.log.WarnContext(r.Context(), "OIDC provider not reached", "cause", clip.Line(err.Error(), 300))
		return nil, unreachable{err}
	}
	who, err := p.verifyAccess(r.Context(), raw, []string{p.Audience, a.address(r), a.address(r) + pathMCP})
	if err != nil {
		a.log.WarnContext(r.Context(), "access token refused", "cause", err)
		return nil, nil
	}
	role, wider := p.accessRole(who.claims)
	if role == "" {
		return nil, &lackingError{who.person.Key(), wider}
	}
	c := p.principal(who.person, role)
	c.Wider = wider
	return a.tokens.caller(accessPrefix+secretID(raw), c, nil, who.until), nil
}

// verifyAccess checks an access token that is a JWT (RFC 9068). It must be for one of
// the audiences.
func (p *idp) verifyAccess(ctx context.Context, raw string, audiences []string) (identity, error) {
	var header struct {
		Type string `json:"typ"`
	}
	head, _, _ := strings.Cut(raw, ".")
	content, err := base64.RawURLEncoding.DecodeString(head)
	if err == nil {
		err = json.Unmarshal(content, &header)
	}
	if err != nil {
		return identity{}, fmt.Errorf("reading the header of the token: %w", err)
	}
	t, err := oidc.NewVerifier(p.Issuer, p, &oidc.Config{SkipClientIDCheck: true, SkipExpiryCheck: true, SupportedSigningAlgs: algorithmNames()}).Verify(ctx, raw)
	if err != nil {
		return identity{}, fmt.Errorf("checking the token of %s: %w", p.Issuer, err)
	}
	who, claims, err := p.identity(t)
	if err != nil {
		return identity{}, err
	}
	now := p.now()
	before, _ := claims["nbf"].(float64)
	switch {
	case !isAccess(header.Type, claims):
		return identity{}, errors.New("it is no access token, but one of another kind")
	case !slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(t.Audience, a) }):
		return identity{}, fmt.Errorf("it is for %q, and not for one of %q", t.Audience, audiences)
	case !now.Before(t.Expiry.Add(leeway)):
		return identity{}, fmt.Errorf("it expired at %s", t.Expiry)
	case now.Add(leeway).Before(t.IssuedAt), now.Add(leeway).Before(time.Unix(int64(before), 0)):
		return identity{}, errors.New("it holds only from a later time on: one of the clocks is wrong")
	}
	who.until = t.Expiry.Add(leeway)
	return who, nil
}

// isAccess reports whether a token with the type in its header and with claims is an
// access token. Providers that do not follow RFC 9068 give no type of its own; then ID
// tokens have claims that access tokens have not (OpenID Connect Core 2, 3.1.3.6, 3.3.2.11).
func isAccess(kind string, claims map[string]any) bool {
	switch strings.TrimPrefix(strings.ToLower(kind), "application/") {
	case "at+jwt":
		return true
	case "", "jwt":
	default:
		return false
	}
	if kind, named := claims["typ"]; named && kind != "Bearer" { // Keycloak
		return false
	}
	return !slices.ContainsFunc([]string{"nonce", "at_hash", "c_hash", "s_hash"}, func(name string) bool { _, has := claims[name]; return has })
}

// address is the base of the addresses of legwork: http.public_url, or that of the
// request, whose host was checked when legwork listens on this machine alone.
func (a *auth) address(r *http.Request) string {
	if a.cookies.public != nil {
		return strings.TrimSuffix(a.cookies.public.String(), "/")
	}
	return "http://" + r.Host
}

// challenge is the header WWW-Authenticate of a refusal (RFC 6750, section 3; RFC 9728,
// section 5.1). wrong is its error, empty when the request came without a token.
// Scopes are those to ask for; empty: none.
func (a *auth) challenge(r *http.Request, wrong, scopes string) string {
	challenge := `Bearer realm="legwork"`
	if wrong != "" {
		challenge += `, error="` + wrong + `"`
	}
	p := a.oidc.Load()
	if p == nil || p.Audience == "" {
		return challenge
	}
	if scopes != "" {
		challenge += `, scope="` + scopes + `"`
	}
	challenge += `, resource_metadata="` + a.address(r) + pathMetadata
	if r.URL.Path == pathMCP {
		challenge += pathMCP
	}
	return challenge + `"`
}

// leastScopes are the scopes that a client should ask for first; empty for none.
func (o OIDC) leastScopes() string {
	for _, role := range slices.Backward(ranks()) {
		if scopes := o.scopes(role); len(scopes) > 0 {
			return scopes[0]
		}
	}
	return ""
}

// metadata returns the handler of the protected resource metadata, or nil.
func (a *auth) metadata(r *http.Request) http.Handler {
	p := a.oidc.Load()
	path, below := strings.CutPrefix(r.URL.Path, pathMetadata)
	if p == nil || p.Audience == "" || !below || path != "" && (path != pathMCP || a.mcp == nil) {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported,omitempty"`
			Methods  []string `json:"bearer_methods_supported"`
			Name     string   `json:"resource_name"`
		}{a.address(r) + path, []string{p.Issuer}, nil, []string{"header"}, "legwork"}
		for _, role := range slices.Backward(ranks()) {
			answer.Scopes = append(answer.Scopes, p.scopes(role)...)
		}
		w.Header().Set("Access-Control-Allow-Origin", "*") // nothing in it is secret
		replyJSON(w, http.StatusOK, answer)
	})
}

// refuseAccess answers a request whose access token cannot be checked, or gives no role.
// It reports whether the error is about that.
func (a *auth) refuseAccess(w http.ResponseWriter, r *http.Request, err error) bool {
	if lacking := new(lackingError); errors.As(err, &lacking) {
		a.log.WarnContext(r.Context(), "access token without a role", "person", lacking.person)
		w.Header().Set("WWW-Authenticate", a.challenge(r, "insufficient_scope", lacking.scopes))
		detail := "http.oidc.roles of the config gives the person of this access token no role."
		if lacking.scopes != "" {
			detail = "This access token gives no role. A token of this person with the scope " + lacking.scopes + " would."
		}
		problem.New(problem.Forbidden, detail).Write(w)
		return true
	}
	if errors.As(err, &unreachable{}) {
		retryLater(w, problem.Stopping, oidcRetry, "The sign-in service "+a.oidc.Load().Issuer+" does not answer as it should, so that legwork cannot check access tokens of it. The log of legwork says why. Tokens of http.tokens work.")
		return true
	}
	return false
}
