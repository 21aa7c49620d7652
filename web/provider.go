package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// The times and limits of requests to a provider.
const (
	oidcTime  = 10 * time.Second // for each request
	oidcRetry = 5 * time.Second  // between two times that a provider is asked
	oidcFresh = 15 * time.Minute // after that, addresses and keys are asked for again
	oidcKept  = time.Hour        // after that, they are not used any more if the provider does not answer
	oidcReply = 1 << 20          // bytes of a reply
)

// idp is a provider with what it says about itself.
type idp struct {
	OIDC
	now func() time.Time

	asking sync.Mutex // held while the provider is asked

	mu    sync.Mutex
	known *described // nil before it was reached
	tried time.Time
	err   error // of the last try
}

// described is what a provider says about itself.
type described struct {
	provider *oidc.Provider
	keys     []jose.JSONWebKey
	at       time.Time
}

// reach returns the addresses and keys of the provider. It asks for them when they are
// old, and with renew in any case, but no more often than oidcRetry allows: otherwise
// everybody could have the provider asked by sending tokens with unknown keys.
func (p *idp) reach(ctx context.Context, renew bool) (*described, error) {
	known, due, err := p.latest(renew)
	if !due {
		return known, err
	}
	if known == nil || renew {
		p.asking.Lock()
	} else if !p.asking.TryLock() {
		return known, nil
	}
	defer p.asking.Unlock()
	if known, due, err = p.latest(renew); !due { // another request has asked since
		return known, err
	}
	fresh, err := p.ask(ctx)
	p.mu.Lock()
	if p.tried, p.err = p.now(), err; err == nil {
		p.known = fresh
	}
	p.mu.Unlock()
	known, _, err = p.latest(false)
	return known, err
}

// latest returns what is known, nil for nothing that may be used, and whether the
// provider is to be asked. The error is that of the last try if nothing is known.
func (p *idp) latest(renew bool) (known *described, due bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.known != nil && now.Sub(p.known.at) < oidcKept {
		known = p.known
	} else {
		err = p.err
	}
	due = (known == nil || renew || now.Sub(known.at) >= oidcFresh) && now.Sub(p.tried) >= oidcRetry
	return known, due, err
}

// ask asks the provider for its addresses and keys.
func (p *idp) ask(ctx context.Context) (*described, error) {
	ctx = p.client(context.WithoutCancel(ctx)) // others wait for the reply, too
	provider, err := oidc.NewProvider(ctx, p.Issuer)
	if err != nil {
		return nil, fmt.Errorf("reaching the OIDC provider %s: %w", p.Issuer, err)
	}
	var at struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&at); err != nil {
		return nil, fmt.Errorf("reading the metadata of %s: %w", p.Issuer, err)
	}
	keys, err := p.askKeys(ctx, at.Keys)
	if err != nil {
		return nil, fmt.Errorf("reading the keys of %s: %w", p.Issuer, err)
	}
	return &described{provider, keys, p.now()}, nil
}

// askKeys reads a key set (RFC 7517). Keys of kinds that are not known are left out.
func (p *idp) askKeys(ctx context.Context, address string) (keys []jose.JSONWebKey, err error) {
	if strings.HasPrefix(p.Issuer, "https:") && !strings.HasPrefix(address, "https:") {
		return nil, errors.New("jwks_uri does not begin with https")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	reply, err := p.httpClient().Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		return nil, errors.New(reply.Status)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(reply.Body).Decode(&set); err != nil {
		return nil, err
	}
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if json.Unmarshal(text, &key) == nil && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("it has no key that signs tokens")
	}
	return keys, nil
}

// client returns a context in which the libraries use httpClient.
func (p *idp) client(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.httpClient())
}

// httpClient is the client for requests to the provider.
func (*idp) httpClient() *http.Client {
	return &http.Client{Timeout: oidcTime, Transport: boundedReplies{}, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) >= 3 || via[0].URL.Scheme == "https" && r.URL.Scheme != "https" {
			return errors.New("it redirects too often, or to an address without https")
		}
		return nil
	}}
}

// boundedReplies is http.DefaultTransport with a limit on the length of replies.
type boundedReplies struct{}

// RoundTrip implements http.RoundTripper.
func (boundedReplies) RoundTrip(r *http.Request) (*http.Response, error) {
	reply, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		reply.Body = http.MaxBytesReader(nil, reply.Body, oidcReply)
	}
	return reply, err
}

// algorithms are the signature algorithms that legwork takes. All of them use a public key.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

func algorithmNames() (names []string) {
	for _, a := range algorithms() {
		names = append(names, string(a))
	}
	return names
}

// VerifySignature implements oidc.KeySet. The keys are asked for again when none fits.
func (p *idp) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	signed, err := jose.ParseSigned(token, algorithms())
	if err != nil {
		return nil, err
	}
	for _, renew := range []bool{false, true} {
		known, err := p.reach(ctx, renew)
		if err != nil {
			return nil, err
		}
		if payload, ok := known.verify(signed); ok {
			return payload, nil
		}
	}
	return nil, errors.New("no key of the provider has signed it")
}

// verify returns the payload of a token that one of the keys has signed.
func (d *described) verify(signed *jose.JSONWebSignature) (payload []byte, ok bool) {
	header := signed.Signatures[0].Header // the verifier refuses tokens with more
	i := slices.IndexFunc(d.keys, func(key jose.JSONWebKey) bool {
		if header.KeyID != "" && key.KeyID != header.KeyID || key.Algorithm != "" && key.Algorithm != header.Algorithm {
			return false
		}
		var err error
		payload, err = signed.Verify(key)
		return err == nil
	})
	return payload, i >= 0
}
