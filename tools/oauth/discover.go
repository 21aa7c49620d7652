package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"legwork/internal/loopback"
)

// requestTimeout bounds each request to an authorization server.
const requestTimeout = 15 * time.Second

// discovered is what a server and its authorization server say of themselves.
type discovered struct {
	resource string
	meta     *oauthex.AuthServerMeta
	scopes   []string // that the server names
	proof    bool     // tokens must be bound to a key
}

func (d discovered) grant(c Client) Grant {
	return Grant{Resource: d.resource, Issuer: d.meta.Issuer, TokenURL: d.meta.TokenEndpoint, RevokeURL: d.meta.RevocationEndpoint, Client: c}
}

// checkPerson returns an error when people cannot sign in at the authorization server.
func (d discovered) checkPerson() error {
	if d.meta.AuthorizationEndpoint == "" {
		return fmt.Errorf("the authorization server %s names no authorization_endpoint, and a person cannot sign in there", d.meta.Issuer)
	}
	return nil
}

// discover finds the authorization server of the MCP server and reads its metadata.
func (f Config) discover(ctx context.Context, c Challenge) (discovered, error) {
	d := discovered{resource: f.Server, proof: c.Proof}
	issuer, err := origin(f.Server)
	if err != nil {
		return d, err
	}
	prm, err := f.resourceMetadata(ctx, c.Metadata)
	if err != nil {
		return d, err
	}
	if prm != nil {
		if len(prm.AuthorizationServers) == 0 {
			return d, errors.New("the server names no authorization server in its metadata")
		}
		d.resource, d.scopes, issuer = prm.Resource, prm.ScopesSupported, prm.AuthorizationServers[0]
		d.proof = d.proof || prm.DPOPBoundAccessTokensRequired
	}
	if prm == nil {
		d.meta, err = f.earlierMetadata(ctx, issuer)
	} else {
		d.meta, err = auth.GetAuthServerMetadata(ctx, issuer, f.http())
	}
	if err != nil {
		return d, fmt.Errorf("reading the metadata of the authorization server %s: %w", issuer, plain(err))
	}
	if d.meta == nil && prm != nil {
		return d, fmt.Errorf("the authorization server %s has no metadata", issuer)
	}
	if d.meta == nil {
		// https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization, "Fallbacks for Servers without Metadata Discovery"
		d.meta = &oauthex.AuthServerMeta{Issuer: issuer, AuthorizationEndpoint: issuer + "/authorize", TokenEndpoint: issuer + "/token", RegistrationEndpoint: issuer + "/register"}
	}
	return d, f.checkHosts(d.meta)
}

// earlierMetadata reads the metadata of a server of 2025-03-26, which is its own
// authorization server: the issuer may have a path. Nil: there is none.
// https://modelcontextprotocol.io/specification/2025-03-26/basic/authorization
func (f Config) earlierMetadata(ctx context.Context, base string) (*oauthex.AuthServerMeta, error) {
	place := base + "/.well-known/oauth-authorization-server"
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, place, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := f.http().Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 && resp.StatusCode < 500 {
		return nil, nil
	}
	var about struct {
		Issuer string `json:"issuer"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&about); err != nil {
		return nil, errors.New("it is not JSON")
	}
	if at, err := origin(about.Issuer); err != nil || at != base {
		return nil, fmt.Errorf("it is about another issuer, %s", word(about.Issuer))
	}
	return oauthex.GetAuthServerMeta(ctx, place, about.Issuer, f.http())
}

// checkHosts refuses endpoints on this machine for a server that is elsewhere: such a
// server could otherwise send legwork's requests to local programs.
func (f Config) checkHosts(meta *oauthex.AuthServerMeta) error {
	if isLocal(f.Server) {
		return nil
	}
	for _, address := range []string{meta.Issuer, meta.TokenEndpoint, meta.RegistrationEndpoint, meta.RevocationEndpoint} {
		if address != "" && isLocal(address) {
			return fmt.Errorf("the server names an authorization server on this machine, %s; legwork refuses that for servers elsewhere", address)
		}
	}
	return nil
}

// resourceMetadata reads what the server says about its sign-in (RFC 9728): at the
// address of the challenge, else at the well-known places. Nil: it says nothing, as
// servers of 2025-03-26 do.
func (f Config) resourceMetadata(ctx context.Context, address string) (*oauthex.ProtectedResourceMetadata, error) {
	base, err := origin(f.Server)
	if err != nil {
		return nil, err
	}
	u, _ := url.Parse(f.Server) // origin has read it
	path := strings.TrimRight(u.Path, "/")
	places := []string{base + "/.well-known/oauth-protected-resource" + path, base + "/.well-known/oauth-protected-resource"}
	if address != "" {
		places = []string{address}
	}
	for _, place := range slices.Compact(places) {
		if !isLocal(f.Server) && isLocal(place) {
			return nil, errors.New("the server names metadata on this machine; legwork refuses that for servers elsewhere")
		}
		var mismatch error
		for _, resource := range []string{f.Server, base, base + "/"} { // metadata may be about the whole host
			seen := &statusRecorder{}
			hc := *f.http()
			hc.Transport = seen.over(hc.Transport)
			prm, err := oauthex.GetProtectedResourceMetadata(ctx, place, resource, &hc)
			if err == nil {
				return prm, nil
			}
			if address == "" && seen.status >= 400 && seen.status < 500 {
				mismatch = nil
				break // there is none at this place
			}
			if mismatch == nil {
				mismatch = err
			}
			if seen.status != http.StatusOK {
				break
			}
		}
		if mismatch != nil {
			return nil, fmt.Errorf("reading the server's metadata: %w", plain(mismatch))
		}
	}
	return nil, nil
}

// statusRecorder notes the status of the last response.
type statusRecorder struct {
	base   http.RoundTripper
	status int
}

func (s *statusRecorder) over(base http.RoundTripper) *statusRecorder {
	if s.base = base; base == nil {
		s.base = http.DefaultTransport
	}
	return s
}

// RoundTrip makes the request.
func (s *statusRecorder) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.base.RoundTrip(r)
	if s.status = 0; err == nil {
		s.status = resp.StatusCode
	}
	return resp, err
}

// http is the client for all requests to authorization servers. It follows redirects to
// the same host only.
func (f Config) http() *http.Client {
	hc := &http.Client{}
	if f.HTTP != nil {
		copied := *f.HTTP
		hc = &copied
	}
	if hc.Timeout == 0 {
		hc.Timeout = requestTimeout
	}
	hc.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch {
		case r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host:
			return fmt.Errorf("it redirects to another host, %s://%s", r.URL.Scheme, r.URL.Host)
		case len(via) > 3:
			return errors.New("it redirects in a circle")
		}
		return nil
	}
	return hc
}

// context makes x/oauth2 use the client.
func (f Config) context(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, f.http())
}

// origin is the scheme and the host of an address.
func origin(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "", errors.New("the url of the server in the config is not an address")
	}
	return u.Scheme + "://" + u.Host, nil
}

// isLocal reports whether requests to an address go to this machine.
func isLocal(address string) bool {
	if loopback.Address(address) {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsUnspecified()
}

// plain is the cause of an error without the address that it quotes.
func plain(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
