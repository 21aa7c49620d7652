package oauth

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// newProofKey makes a key to which tokens are bound, as JWK.
func newProofKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return jose.JSONWebKey{Key: key, Algorithm: string(jose.ES256)}.MarshalJSON()
}

// proof shows that the sender of a request has the key (RFC 9449). Access is the token
// of the request, and empty for a token request.
func proof(key []byte, r *http.Request, access, nonce string, now time.Time) (string, error) {
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(key); err != nil {
		return "", fmt.Errorf("reading the key of a sign-in: %w", err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jwk.Key}, (&jose.SignerOptions{EmbedJWK: true}).WithType("dpop+jwt"))
	if err != nil {
		return "", fmt.Errorf("signing with the key of a sign-in: %w", err)
	}
	at := *r.URL
	at.RawQuery, at.Fragment = "", ""
	claims := map[string]any{"jti": rand.Text(), "htm": r.Method, "htu": at.String(), "iat": now.Unix()}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// proofTransport adds a proof to token requests. It repeats a request once with the
// nonce that the server wants.
type proofTransport struct {
	base http.RoundTripper
	key  []byte
	now  func() time.Time
}

// RoundTrip makes a request with a proof.
func (p *proofTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := cmp.Or(p.base, http.DefaultTransport)
	nonce := ""
	for again := false; ; again = true {
		next := r.Clone(r.Context())
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			next.Body = body
		}
		text, err := proof(p.key, next, "", nonce, p.now())
		if err != nil {
			return nil, err
		}
		next.Header.Set("DPoP", text)
		resp, err := base.RoundTrip(next)
		if err != nil || again || resp.StatusCode != http.StatusBadRequest || resp.Header.Get("DPoP-Nonce") == "" {
			return resp, err
		}
		nonce = resp.Header.Get("DPoP-Nonce")
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection is used again
		_ = resp.Body.Close()
	}
}

// nonces are the last nonces of MCP servers, by host.
type nonces struct {
	mu   sync.Mutex
	last map[string]string
}

func (n *nonces) get(host string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last[host]
}

func (n *nonces) set(host, nonce string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last == nil {
		n.last = map[string]string{}
	}
	n.last[host] = nonce
}
