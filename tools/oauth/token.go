package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"legwork/internal/clip"
)

// request makes a token request and returns the grant with the tokens of the response.
// A refresh token stays when the response has none.
func (f Config) request(ctx context.Context, g Grant, values url.Values) (Grant, error) {
	values.Set("resource", g.Resource) // RFC 8707
	style := oauth2.AuthStyleInParams
	switch g.Client.Auth {
	case authBasic:
		style = oauth2.AuthStyleInHeader
	case authKey:
		assertion, err := f.clientAssertion(g)
		if err != nil {
			return Grant{}, err
		}
		values.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		values.Set("client_assertion", assertion)
	}
	if len(g.ProofKey) > 0 {
		hc := f.http()
		hc.Transport = &proofTransport{base: hc.Transport, key: g.ProofKey, now: f.now}
		ctx = context.WithValue(ctx, oauth2.HTTPClient, hc)
	}
	secret := g.Client.Secret
	if g.Client.Auth == authKey || g.Client.Auth == authNone {
		secret = ""
	}
	t, err := (&clientcredentials.Config{ClientID: g.Client.ID, ClientSecret: secret, TokenURL: g.TokenURL, AuthStyle: style, EndpointParams: values}).Token(ctx)
	if err != nil {
		return Grant{}, tokenError("the authorization server "+g.Issuer+" gave no token", err)
	}
	g.Access, g.Expires = t.AccessToken, t.Expiry
	if seconds, ok := t.Extra("expires_in").(float64); ok && seconds > 0 && seconds < 1e9 {
		g.Expires = f.now().Add(time.Duration(seconds) * time.Second)
	}
	if t.RefreshToken != "" {
		g.Refresh = t.RefreshToken
	}
	if scope, ok := t.Extra("scope").(string); ok && scope != "" {
		g.Scopes = strings.Fields(scope)
	}
	return g, nil
}

// Renew exchanges the refresh token for new tokens. ErrEnded means that a person has to
// sign in again.
func (f Config) Renew(ctx context.Context, g Grant) (Grant, error) {
	if g.Refresh == "" {
		return Grant{}, ErrEnded
	}
	return f.request(f.context(ctx), g, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {g.Refresh}})
}

// Revoke ends the grant at the authorization server (RFC 7009). It returns false when
// the server offers no way to do so.
func (f Config) Revoke(ctx context.Context, g Grant) (bool, error) {
	if g.RevokeURL == "" {
		return false, nil
	}
	values := url.Values{"token": {g.Access}, "token_type_hint": {"access_token"}}
	if g.Refresh != "" {
		values = url.Values{"token": {g.Refresh}, "token_type_hint": {"refresh_token"}}
	}
	if g.Client.Auth != authBasic {
		values.Set("client_id", g.Client.ID)
	}
	if g.Client.Auth == authPost {
		values.Set("client_secret", g.Client.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, g.RevokeURL, strings.NewReader(values.Encode()))
	if err != nil {
		return false, fmt.Errorf("revoking: %w", err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if g.Client.Auth == authBasic {
		r.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(g.Client.Secret))
	}
	resp, err := f.http().Do(r)
	if err != nil {
		return false, fmt.Errorf("revoking: %w", plain(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("revoking: the authorization server answered with status %d", resp.StatusCode)
	}
	return true, nil
}

// tokenError is err without what the server wrote besides the error code: the rest may
// repeat secrets.
func tokenError(what string, err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !ok:
		return fmt.Errorf("%s: %w", what, plain(err))
	case slices.Contains([]string{"invalid_grant", "invalid_client", "unauthorized_client"}, refused.ErrorCode):
		return fmt.Errorf("%s: it answered %s: %w", what, refused.ErrorCode, ErrEnded)
	case refused.ErrorCode != "":
		return fmt.Errorf("%s: it answered %s", what, word(refused.ErrorCode))
	case refused.Response != nil:
		return fmt.Errorf("%s: it answered with status %d", what, refused.Response.StatusCode)
	}
	return fmt.Errorf("%s: its answer holds no token", what)
}

// word is an error code of a stranger in quotes, cut to what people can read.
func word(code string) string { return fmt.Sprintf("%q", clip.Bytes(code, 60)) }

// clientAssertion proves with the key of the config that legwork is the client (RFC
// 7523, section 2.2).
func (f Config) clientAssertion(g Grant) (string, error) {
	key, err := parseKey(f.Key)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm(key), Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", fmt.Errorf("signing with auth.private_key: %w", err)
	}
	now := f.now()
	return jwt.Signed(signer).Claims(jwt.Claims{
		Issuer: g.Client.ID, Subject: g.Client.ID, Audience: jwt.Audience{g.Issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), Expiry: jwt.NewNumericDate(now.Add(5 * time.Minute)),
	}).Serialize()
}

// CheckKey returns an error, for an admin, where a private key in PEM cannot be used.
func CheckKey(text string) error {
	_, err := parseKey(text)
	return err
}

// parseKey reads a private key in PEM.
func parseKey(text string) (crypto.Signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("is not a private key in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, errors.New("cannot be read; allowed is a private key in PEM: RSA, EC or Ed25519")
	}
	signer, ok := key.(crypto.Signer)
	if !ok || algorithm(signer) == "" {
		return nil, errors.New("is of a kind that cannot sign; allowed are RSA, EC and Ed25519")
	}
	return signer, nil
}

// algorithm is the JWS algorithm of a key; empty for a kind that legwork does not use.
func algorithm(key crypto.Signer) jose.SignatureAlgorithm {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return jose.ES256
		case elliptic.P384():
			return jose.ES384
		case elliptic.P521():
			return jose.ES512
		}
	case ed25519.PrivateKey:
		return jose.EdDSA
	}
	return ""
}
