package tools

import (
	"context"
	"errors"
	"slices"
	"strings"

	"legwork/tools/client"
	"legwork/tools/oauth"
)

// AuthOAuth is the type of Auth.
const AuthOAuth = "oauth"

// The identities with which a server is called.
const (
	IdentityShared = "shared" // an admin signs in once for everybody
	IdentityPerson = "person" // each person signs in
)

// Auth says how legwork signs in at a remote server.
type Auth struct {
	Type          string        `yaml:"type" json:"type"`                               // oauth
	Identity      string        `yaml:"identity" json:"identity,omitempty"`             // person: each person signs in; shared or empty: one sign-in, by an admin
	Grant         string        `yaml:"grant" json:"grant,omitempty"`                   // code or empty: a person agrees in a browser; client_credentials, assertion and enterprise: no person does
	Scopes        []string      `yaml:"scopes" json:"scopes,omitempty"`                 // that are asked for; empty: those that the server names
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

// PerPerson reports whether each person signs in.
func (a *Auth) PerPerson() bool { return a != nil && a.Identity == IdentityPerson }

// Asks reports whether a person has to sign in before the server can be called.
func (a *Auth) Asks() bool {
	return a != nil && (a.Grant == "" || a.Grant == string(oauth.Code))
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
	if !ok {
		return ""
	}
	c := ServerConfig{URL: needs.Server, Auth: a}.OAuth()
	if err := c.Check(ctx, oauth.ParseChallenge(needs.Status, needs.Challenge)); err != nil {
		return "it requires a sign-in, which cannot work: " + err.Error()
	}
	return ""
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
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			v.add(at, "and the header Authorization exclude each other; remove one of them")
		}
	}
	if a.Identity != "" && a.Identity != IdentityShared && a.Identity != IdentityPerson {
		v.add(at+".identity", "%q is unknown; allowed are shared and person", a.Identity)
	}
	if a.Type != AuthOAuth {
		v.add(at+".type", "%q is unknown; allowed is oauth", a.Type)
		return
	}
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
