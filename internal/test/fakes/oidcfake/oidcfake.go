// Package oidcfake is a strict OpenID Connect provider over a real socket. It signs in
// every browser as the person that the test has chosen.
package oidcfake

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Provider is a provider with one client.
type Provider struct {
	URL                    string
	ClientID, ClientSecret string

	now func() time.Time

	mu     sync.Mutex
	key    *rsa.PrivateKey
	keyID  string
	wrong  http.HandlerFunc // answers in place of the provider; nil: none
	asked  int              // for the keys
	claims map[string]any   // of the person who signs in
	change func(claims map[string]any)
	codes  map[string]url.Values // of the requests that got them
}

// New starts a provider with a clock. The test ends it.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{ClientID: "legwork", ClientSecret: "client secret", now: now, codes: map[string]url.Values{}}
	p.Rotate(t, "k1")
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /keys", p.keys)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		wrong := p.wrong
		p.mu.Unlock()
		if wrong != nil {
			wrong(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	p.URL = s.URL
	return p
}

// Person chooses who signs in, by their claims. change, unless nil, changes each ID
// token before it is signed.
func (p *Provider) Person(claims map[string]any, change func(claims map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims, p.change = claims, change
}

// Rotate replaces the key of the provider by a new one.
func (p *Provider) Rotate(t testing.TB, keyID string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.keyID = key, keyID
}

// Break lets a function answer in place of the provider; nil ends that.
func (p *Provider) Break(wrong http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = wrong
}

// Asked counts the requests for the keys.
func (p *Provider) Asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	p.asked++
	key, id := p.key, p.keyID
	p.mu.Unlock()
	write(w, http.StatusOK, map[string]any{"keys": []any{ // a provider also has keys for other purposes, and of kinds that few know
		map[string]string{"kty": "OKP", "crv": "X448", "kid": id, "x": "AAAA"},
		jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: "RSA-OAEP", Use: "enc"},
		jose.JSONWebKey{Key: key.Public(), KeyID: id, Algorithm: "RS256", Use: "sig"},
	}})
}

// Sign returns a token with claims, with the usual ones filled in.
func (p *Provider) Sign(t testing.TB, claims map[string]any) string {
	t.Helper()
	return p.SignAs(t, "", claims)
}

// SignAs is Sign with a type in the header of the token.
func (p *Provider) SignAs(t testing.TB, kind string, claims map[string]any) string {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := sign(p.key, p.keyID, kind, p.filled(claims))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// SignWithOtherKey returns a token like Sign, signed with a key that is not the
// provider's.
func (p *Provider) SignWithOtherKey(t testing.TB, claims map[string]any) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := sign(key, p.keyID, "", p.filled(claims))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (p *Provider) filled(claims map[string]any) map[string]any {
	all := map[string]any{"iss": p.URL, "aud": p.ClientID, "iat": p.now().Unix(), "exp": p.now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	return all
}

func sign(key *rsa.PrivateKey, keyID, kind string, claims map[string]any) (string, error) {
	var options jose.SignerOptions
	if kind != "" {
		options.WithType(jose.ContentType(kind))
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: keyID}}, &options)
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(body)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	write(w, http.StatusOK, map[string]any{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

// authorize sends the browser back with a code (OpenID Connect Core 3.1.2, RFC 7636).
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != p.ClientID || q.Get("state") == "" || q.Get("nonce") == "" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("scope") != "openid profile email" {
		http.Error(w, "bad request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	to, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || to.Path != "/v1/session/oidc/callback" {
		http.Error(w, "bad redirect_uri", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	to.RawQuery = url.Values{"code": {code}, "state": {q.Get("state")}}.Encode()
	w.Header().Set("Location", to.String())
	w.WriteHeader(http.StatusFound)
}

// token gives an ID token for a code, once.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id, _ = url.QueryUnescape(id); id != p.ClientID {
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	if secret, _ = url.QueryUnescape(secret); secret != p.ClientSecret && secret != url.QueryEscape(p.ClientSecret) {
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	q, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != q.Get("code_challenge") {
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := p.filled(p.claims)
	claims["nonce"] = q.Get("nonce")
	if p.change != nil {
		p.change(claims)
	}
	raw, err := sign(p.key, p.keyID, "", claims)
	if err != nil {
		write(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	write(w, http.StatusOK, map[string]any{"access_token": "opaque", "token_type": "Bearer", "expires_in": 3600, "id_token": raw})
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}
