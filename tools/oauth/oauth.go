// Package oauth signs legwork in at MCP servers that want OAuth, as the MCP
// specification says (https://modelcontextprotocol.io/specification, "Authorization").
// It finds the authorization server, registers legwork there, makes the address at which
// a person agrees, exchanges codes for tokens, and refreshes and revokes tokens. It
// stores nothing: its values are stored by the caller, who must encrypt them.
package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Method is how legwork gets its tokens.
type Method string

// The methods.
const (
	Code        Method = "code"               // a person agrees in a browser
	Credentials Method = "client_credentials" // legwork has an account of its own
	Assertion   Method = "assertion"          // a signed assertion of another issuer is exchanged (RFC 7523)
	Enterprise  Method = "enterprise"         // an ID token is exchanged at the company's provider, then at the server's
)

// Config says how legwork signs in at one MCP server.
type Config struct {
	Server string // address of the MCP server
	Method Method // empty: Code

	// Scopes that are asked for. Empty: those that the server names.
	Scopes []string

	// ClientID and ClientSecret are of a client that an admin registered. Empty: legwork
	// registers itself.
	ClientID     string
	ClientSecret string
	// Key is a private key in PEM, with which legwork proves that it is the client, in
	// place of ClientSecret.
	Key string
	// Document is the address of legwork's own client metadata document. Empty: none.
	Document string
	// Redirect is the address to which the browser returns.
	Redirect string

	// Assertion returns the assertion or the ID token of the methods Assertion and
	// Enterprise.
	Assertion func(context.Context) (string, error)
	// Provider is the company's provider of the method Enterprise.
	Provider Provider

	HTTP *http.Client     // nil: one with limits
	Now  func() time.Time // nil: time.Now
}

// Provider is an identity provider that issues assertions for other servers.
type Provider struct {
	TokenURL     string
	ClientID     string
	ClientSecret string
}

// Grant is what one sign-in gave. It holds secrets.
type Grant struct {
	Resource  string   `json:"resource"`
	Issuer    string   `json:"issuer"`
	TokenURL  string   `json:"token_url"`
	RevokeURL string   `json:"revoke_url,omitempty"`
	Client    Client   `json:"client"`
	Scopes    []string `json:"scopes,omitempty"` // that were granted, as far as the server says

	Access  string    `json:"access,omitempty"`
	Refresh string    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // of Access; zero: unknown
	// ProofKey is the private key in JWK to which the tokens are bound (RFC 9449). Empty:
	// they are bound to none.
	ProofKey []byte `json:"proof_key,omitempty"`
}

// Client is legwork as an authorization server knows it.
type Client struct {
	Issuer string `json:"issuer"` // where it is known
	ID     string `json:"id"`
	Secret string `json:"secret,omitempty"`
	Auth   string `json:"auth"` // token endpoint authentication method, see RFC 7591, section 2
}

// Attempt is a sign-in that a person has not agreed to yet. It holds secrets, except
// for URL.
type Attempt struct {
	Grant     Grant  `json:"grant"` // without tokens
	URL       string `json:"url"`   // the address at which the person agrees
	State     string `json:"state"`
	Verifier  string `json:"verifier"`
	Redirect  string `json:"redirect"`
	NeedsIss  bool   `json:"needs_iss,omitempty"` // the redirect must name the issuer (RFC 9207)
	Challenge string `json:"challenge,omitempty"` // of the server, for a second attempt
}

// The errors that callers tell apart.
var (
	// ErrEnded means that the authorization server takes a grant no longer: a person has
	// to sign in again.
	ErrEnded = errors.New("the sign-in has ended at the authorization server")
	// ErrDenied means that the person did not agree.
	ErrDenied = errors.New("the person did not agree")
	// ErrForged means that a redirect does not belong to the sign-in.
	ErrForged = errors.New("the redirect does not belong to this sign-in")
)

// Challenge is what a server says about the sign-in that it wants, in the header
// WWW-Authenticate of a response with the status 401 or 403.
type Challenge struct {
	Metadata string   // address of the protected resource metadata; may be empty
	Scopes   []string // that the request needs; may be empty
	Narrow   bool     // there is a sign-in, but its scopes do not suffice
	Proof    bool     // tokens must be bound to a key
}

// ParseChallenge reads the values of the header WWW-Authenticate. Values that cannot be
// read count as none.
func ParseChallenge(status int, headers []string) (c Challenge) {
	list, err := oauthex.ParseWWWAuthenticate(headers)
	if err != nil {
		return Challenge{}
	}
	for _, one := range list {
		if one.Scheme != "bearer" && one.Scheme != "dpop" {
			continue
		}
		c.Metadata = cmp.Or(c.Metadata, one.Params["resource_metadata"])
		c.Scopes = union(c.Scopes, strings.Fields(one.Params["scope"]))
		c.Narrow = c.Narrow || status == http.StatusForbidden && one.Params["error"] == "insufficient_scope"
		c.Proof = c.Proof || one.Scheme == "dpop"
	}
	return c
}

// Check returns why no person can sign in, as far as the server and its authorization
// server say. It changes nothing there.
func (f Config) Check(ctx context.Context, c Challenge) error {
	d, err := f.discover(f.context(ctx), c)
	if err != nil {
		return err
	}
	if f.ClientID == "" && !d.meta.ClientIDMetadataDocumentSupported && d.meta.RegistrationEndpoint == "" {
		return f.noClients(d.meta.Issuer)
	}
	return d.checkPerson()
}

// Begin prepares a sign-in in a browser. Before is the grant of an earlier sign-in of
// the same identity: its client and its scopes are kept where they still fit. The zero
// Grant is none.
func (f Config) Begin(ctx context.Context, c Challenge, before Grant) (Attempt, error) {
	ctx = f.context(ctx)
	d, err := f.discover(ctx, c)
	if err == nil {
		err = d.checkPerson()
	}
	if err != nil {
		return Attempt{}, err
	}
	client, err := f.client(ctx, d.meta, before.Client)
	if err != nil {
		return Attempt{}, err
	}
	a := Attempt{Grant: d.grant(client), State: rand.Text(), Verifier: oauth2.GenerateVerifier(), Redirect: f.Redirect, NeedsIss: d.meta.AuthorizationResponseIssParameterSupported}
	a.Grant.Scopes = f.scopes(d, c, before)
	if d.proof {
		if a.Grant.ProofKey, err = newProofKey(); err != nil {
			return Attempt{}, err
		}
	}
	at := oauth2.Config{ClientID: client.ID, Endpoint: oauth2.Endpoint{AuthURL: d.meta.AuthorizationEndpoint}, RedirectURL: f.Redirect, Scopes: a.Grant.Scopes}
	a.URL = at.AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("resource", a.Grant.Resource))
	return a, nil
}

// scopes are those to ask for: what the server requires now, what it has granted before,
// and else what the config or the server's metadata names. See "Scope Selection
// Strategy" of the MCP specification.
func (f Config) scopes(d discovered, c Challenge, before Grant) []string {
	list := slices.Clone(c.Scopes)
	if len(f.Scopes) > 0 {
		list = union(f.Scopes, list)
	}
	if len(list) == 0 {
		list = slices.Clone(d.scopes)
	}
	if before.Issuer == d.meta.Issuer {
		list = union(before.Scopes, list)
	}
	const offline = "offline_access" // https://modelcontextprotocol.io/seps/2207
	if f.method() == Code && slices.Contains(d.meta.ScopesSupported, offline) {
		list = union(list, []string{offline})
	}
	return list
}

// Finish exchanges the code of a redirect for tokens. The parameters are those of the
// address on which the browser ended.
func (f Config) Finish(ctx context.Context, a Attempt, redirect url.Values) (Grant, error) {
	if err := a.checkRedirect(redirect); err != nil {
		return Grant{}, err
	}
	return f.request(f.context(ctx), a.Grant, url.Values{
		"grant_type": {"authorization_code"}, "code": {redirect.Get("code")}, "redirect_uri": {a.Redirect}, "code_verifier": {a.Verifier},
	})
}

// checkRedirect returns an error where a redirect is not the answer to the attempt.
func (a Attempt) checkRedirect(redirect url.Values) error {
	iss := redirect.Get("iss")
	switch {
	case a.State == "" || redirect.Get("state") != a.State:
		return fmt.Errorf("%w: it has another state", ErrForged)
	case a.NeedsIss && iss == "":
		return fmt.Errorf("%w: it does not name the authorization server", ErrForged)
	case iss != "" && iss != a.Grant.Issuer: // byte by byte: https://www.rfc-editor.org/rfc/rfc9207#section-2.4
		return fmt.Errorf("%w: it comes from another authorization server", ErrForged)
	case redirect.Get("error") == "access_denied":
		return ErrDenied
	case redirect.Get("error") != "":
		return fmt.Errorf("the authorization server answered %s", word(redirect.Get("error")))
	case redirect.Get("code") == "":
		return fmt.Errorf("%w: it has no code", ErrForged)
	}
	return nil
}

// Obtain gets tokens without a person. It returns an error for the method Code.
func (f Config) Obtain(ctx context.Context, c Challenge, before Grant) (Grant, error) {
	ctx = f.context(ctx)
	d, err := f.discover(ctx, c)
	if err != nil {
		return Grant{}, err
	}
	client := Client{Issuer: d.meta.Issuer, ID: f.ClientID, Secret: f.ClientSecret, Auth: f.authMethod(d.meta.TokenEndpointAuthMethodsSupported)}
	g := d.grant(client)
	g.Scopes = f.scopes(d, c, before)
	if d.proof {
		if g.ProofKey, err = newProofKey(); err != nil {
			return Grant{}, err
		}
	}
	values := url.Values{}
	if len(g.Scopes) > 0 {
		values.Set("scope", strings.Join(g.Scopes, " "))
	}
	switch f.method() {
	case Credentials:
		values.Set("grant_type", "client_credentials")
	case Assertion, Enterprise:
		assertion, err := f.assertion(ctx, g)
		if err != nil {
			return Grant{}, err
		}
		values.Set("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer")
		values.Set("assertion", assertion)
	default:
		return Grant{}, errors.New("a person has to sign in")
	}
	return f.request(ctx, g, values)
}

// assertion is what the authorization server takes in place of a person's consent.
func (f Config) assertion(ctx context.Context, g Grant) (string, error) {
	token, err := f.Assertion(ctx)
	if err != nil {
		return "", fmt.Errorf("reading the assertion: %w", err)
	}
	if f.method() == Assertion {
		return token, nil
	}
	// https://modelcontextprotocol.io/extensions/auth/enterprise-managed-authorization
	out, err := oauthex.ExchangeToken(ctx, f.Provider.TokenURL, &oauthex.TokenExchangeRequest{
		RequestedTokenType: oauthex.TokenTypeIDJAG, Audience: g.Issuer, Resource: g.Resource, Scope: g.Scopes,
		SubjectToken: token, SubjectTokenType: oauthex.TokenTypeIDToken,
	}, f.Provider.credentials(), f.http())
	if err != nil {
		return "", tokenError("the company's provider refused the exchange", err)
	}
	return out.AccessToken, nil
}

func (p Provider) credentials() *oauthex.ClientCredentials {
	c := &oauthex.ClientCredentials{ClientID: p.ClientID}
	if p.ClientSecret != "" {
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: p.ClientSecret}
	}
	return c
}

// FromFile returns the text of a file, without white space around it, at each call.
func FromFile(path string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) {
		b, err := os.ReadFile(path)
		return strings.TrimSpace(string(b)), err
	}
}

func (f Config) method() Method { return cmp.Or(f.Method, Code) }

func (f Config) now() time.Time {
	if f.Now == nil {
		return time.Now()
	}
	return f.Now()
}

// union is a with those of b that it lacks, in order.
func union(a, b []string) []string {
	list := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
