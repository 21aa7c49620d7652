package tools

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"legwork/tools/client"
	"legwork/tools/oauth"
)

// The types of Auth.
const (
	AuthOAuth  = "oauth"
	AuthSecret = "secret" // people give a secret of theirs, which is sent in a header
)

// SecretMark stands for the secret in the header of an Auth.
const SecretMark = "{secret}"

// The identities with which a server is called.
const (
	IdentityShared = "shared" // an admin signs in once for everybody
	IdentityPerson = "person" // each person signs in
)

// Auth says how legwork signs in at a remote server.
type Auth struct {
	Type          string        `yaml:"type" json:"type"`                               // oauth, or secret: people give a secret of theirs
	Identity      string        `yaml:"identity" json:"identity,omitempty"`             // person: each person signs in; shared or empty: one sign-in, by an admin
	Header        string        `yaml:"header" json:"header,omitempty"`                 // of secret: the header that holds it, such as "Authorization: Bearer {secret}"
	Grant         string        `yaml:"grant" json:"grant,omitempty"`                   // code or empty: a person agrees in a browser; client_credentials, assertion and enterprise: no person does
	Scopes        []string      `yaml:"scopes" json:"scopes,omitempty"`                 // of oauth, as all that follow: that are asked for; empty: those that the server names
	ClientID      string        `yaml:"client_id" json:"client_id,omitempty"`           // of legwork at the authorization server; empty: legwork registers itself
	ClientSecret  string        `yaml:"client_secret" json:"client_secret,omitempty"`   // of client_id
	PrivateKey    string        `yaml:"private_key" json:"private_key,omitempty"`       // in PEM: proves that legwork is client_id, in place of client_secret
	AssertionFile string        `yaml:"assertion_file" json:"assertion_file,omitempty"` // of assertion and enterprise: the file with the token that is exchanged; read at each use
	Provider      *AuthProvider `yaml:"provider" json:"provider,omitempty"`             // of enterprise: the company's identity provider
}

// AuthProvider is the identity provider that exchanges an ID token for a token that the
// server's authorization server takes.
type AuthProvider struct {
	TokenURL     string `yaml:"token_url" json:"token_url"`                   // its token endpoint
	ClientID     string `yaml:"client_id" json:"client_id"`                   // of legwork there
	ClientSecret string `yaml:"client_secret" json:"client_secret,omitempty"` // of client_id
}

// TakesSecret reports whether people give a secret in place of signing in elsewhere.
func (a *Auth) TakesSecret() bool { return a != nil && a.Type == AuthSecret }

// SecretHeader is the header that holds a secret.
func (a *Auth) SecretHeader(secret string) (name, value string) {
	name, value = a.header()
	return name, strings.Replace(value, SecretMark, secret, 1)
}

// header is SecretHeader with SecretMark in the place of the secret.
func (a *Auth) header() (name, value string) {
	name, value, _ = strings.Cut(a.Header, ":")
	return strings.TrimSpace(name), strings.TrimSpace(value)
}

// PerPerson reports whether each person signs in.
func (a *Auth) PerPerson() bool { return a != nil && a.Identity == IdentityPerson }

// Asks reports whether a person has to sign in before the server can be called.
func (a *Auth) Asks() bool {
	return a != nil && (a.Grant == "" || a.Grant == string(oauth.Code))
}

// signIn is the sign-in that an error of the server asks people for; nil when it is about
// something else.
func (m *member) signIn(err error) *SignIn {
	needs, ok := errors.AsType[*client.SignInError](err)
	if !ok || !m.auth.Asks() {
		return nil
	}
	s := &SignIn{Server: m.Name(), Shared: !m.auth.PerPerson()}
	if needs.Status == http.StatusForbidden {
		s.Scopes = needs.Scopes
	}
	return s
}

// SignIns lists the sign-ins that the servers of a group require of a person, of those
// that are not starting.
func (s *Set) SignIns(group, person string) (list []SignIn) {
	g, err := s.group(group, person)
	if err != nil {
		return nil
	}
	for _, m := range g.servers {
		if need := m.signIn(m.Problem()); need != nil {
			list = append(list, *need)
		}
	}
	return list
}

// Advice says who has to do what to sign in at a server; person is the key of the one who
// needs it, and empty for no particular one.
func (a *Auth) Advice(server, person string) string {
	who := "an admin has to write"
	switch {
	case a.PerPerson() && person == "":
		who = "each person has to write"
	case a.PerPerson():
		who = "the person has to write"
	}
	return who + " /connect " + server + " to legwork in a private chat"
}

// problem is why people could not sign in at a server that has refused a request with
// err; empty: they can, as far as the server says.
func (a *Auth) problem(ctx context.Context, err error) string {
	needs, ok := errors.AsType[*client.SignInError](err)
	if !ok || a.TakesSecret() {
		return ""
	}
	c := ServerConfig{URL: needs.Server, Auth: a}.OAuth()
	if err := c.Check(ctx, oauth.ParseChallenge(needs.Status, needs.Challenge)); err != nil {
		return "it requires a sign-in, which cannot work: " + err.Error()
	}
	return ""
}

// RefusedAdvice is Advice when the server does not accept the secret of a person.
func (a *Auth) RefusedAdvice(server, person string) string {
	return "the secret for " + server + " was not accepted; for a new one, " + a.Advice(server, person)
}

// Secrets are the values that must not appear in a log.
func (a *Auth) Secrets() []string {
	if a == nil {
		return nil
	}
	list := []string{a.ClientSecret, a.PrivateKey}
	if a.Provider != nil {
		list = append(list, a.Provider.ClientSecret)
	}
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// auth checks how legwork signs in at a server.
func (v *validator) auth(at string, s ServerConfig) {
	a := s.Auth
	at += ".auth"
	own := "Authorization" // the header that legwork sets
	if a.TakesSecret() {
		own, _ = a.header()
	}
	for name := range s.Headers {
		if strings.EqualFold(name, own) {
			v.add(at, "and the header %s exclude each other; remove one of them", own)
		}
	}
	if a.Identity != "" && a.Identity != IdentityShared && a.Identity != IdentityPerson {
		v.add(at+".identity", "%q is unknown; allowed are shared and person", a.Identity)
	}
	switch a.Type {
	case AuthSecret:
		v.secretAuth(at, a)
	case AuthOAuth:
		v.oauth(at, a)
	default:
		v.add(at+".type", "%q is unknown; allowed are oauth and secret", a.Type)
	}
}

// secretAuth checks the header that holds the secrets of people.
func (v *validator) secretAuth(at string, a *Auth) {
	v.forbid(at, map[string]bool{
		"grant": a.Grant != "", "scopes": len(a.Scopes) > 0, "client_id": a.ClientID != "", "client_secret": a.ClientSecret != "",
		"private_key": a.PrivateKey != "", "assertion_file": a.AssertionFile != "", "provider": a.Provider != nil,
	}, "is for the type oauth; remove it")
	const such = `write one such as "Authorization: Bearer ` + SecretMark + `"`
	name, value := a.header()
	switch {
	case a.Header == "":
		v.add(at+".header", "is missing; %s", such)
	case !strings.Contains(a.Header, ":"):
		v.add(at+".header", "has no colon after the name of the header; %s", such)
	case !regexp.MustCompile(headerName).MatchString(name):
		v.add(at+".header", "%q cannot be the name of a header", name)
	case slices.Contains(protocolHeaders(), strings.ToLower(name)):
		v.add(at+".header", "%s belongs to the protocol and is set by legwork; take another one", name)
	case strings.Count(value, SecretMark) != 1:
		v.add(at+".header", "must contain %s once, in the place of the secret; %s", SecretMark, such)
	case strings.ContainsFunc(value, unicode.IsControl):
		v.add(at+".header", "has a control character, such as a line break, in its value; remove it")
	}
}

// oauth checks how legwork signs in at an authorization server.
func (v *validator) oauth(at string, a *Auth) {
	v.forbid(at, map[string]bool{"header": a.Header != ""}, "is for the type secret; remove it")
	grants := []string{string(oauth.Code), string(oauth.Credentials), string(oauth.Assertion), string(oauth.Enterprise)}
	exchanges := a.Grant == string(oauth.Assertion) || a.Grant == string(oauth.Enterprise)
	v.forbid(at, map[string]bool{"assertion_file": a.AssertionFile != "" && !exchanges}, "is for the grants assertion and enterprise; remove it")
	v.forbid(at, map[string]bool{"provider": a.Provider != nil && a.Grant != string(oauth.Enterprise)}, "is for the grant enterprise; remove it")
	switch {
	case a.Grant != "" && !slices.Contains(grants, a.Grant):
		v.add(at+".grant", "%q is unknown; allowed are %s", a.Grant, quoted(grants))
	case !a.Asks() && a.Identity == IdentityPerson:
		v.add(at+".identity", "person needs the grant code: with %s no person signs in", a.Grant)
	case !a.Asks() && a.ClientID == "":
		v.add(at+".client_id", "is missing; the authorization server gives it when legwork is registered there")
	case a.ClientID == "" && (a.ClientSecret != "" || a.PrivateKey != ""):
		v.add(at+".client_id", "is missing; client_secret and private_key belong to it")
	case a.ClientSecret != "" && a.PrivateKey != "":
		v.add(at+".private_key", "and client_secret exclude each other; remove one of them")
	case a.Grant == string(oauth.Credentials) && a.ClientSecret == "" && a.PrivateKey == "":
		v.add(at+".client_secret", "is missing; the grant client_credentials needs it, or private_key")
	case exchanges && a.AssertionFile == "":
		v.add(at+".assertion_file", "is missing; name the file with the token that is exchanged")
	case a.Grant == string(oauth.Enterprise) && (a.Provider == nil || a.Provider.TokenURL == "" || a.Provider.ClientID == ""):
		v.add(at+".provider", "is missing or incomplete; write {token_url: ..., client_id: ...} of the company's identity provider")
	}
	if a.PrivateKey != "" {
		if err := oauth.CheckKey(a.PrivateKey); err != nil {
			v.add(at+".private_key", "%v", err)
		}
	}
}

// OAuth is the Config of package oauth without the addresses of legwork, which
// the caller adds.
func (s ServerConfig) OAuth() oauth.Config {
	a := s.Auth
	c := oauth.Config{Server: s.URL, Method: oauth.Method(a.Grant), Scopes: a.Scopes, ClientID: a.ClientID, ClientSecret: a.ClientSecret, Key: a.PrivateKey}
	if p := a.Provider; p != nil {
		c.Provider = oauth.Provider{TokenURL: p.TokenURL, ClientID: p.ClientID, ClientSecret: p.ClientSecret}
	}
	if a.AssertionFile != "" {
		c.Assertion = oauth.FromFile(a.AssertionFile)
	}
	return c
}
