package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"legwork/tools/client"
	"legwork/tools/oauth"
)

// maxSignIns is how often a person would sign in for one server that asks again and
// again.
const maxSignIns = 3

// signIn signs in as a person who agrees to everything.
type signIn struct {
	config  oauth.Config
	session *oauth.Session
	vault   oauth.Memory
	count   int
}

// newSignIn uses what the scenario tells about the client, and otherwise registers.
func newSignIn(given scenarioContext, server string) *signIn {
	s := &signIn{config: oauth.Config{
		Server: server, Redirect: "http://localhost:3000/callback",
		ClientID: given.ClientID, ClientSecret: given.ClientSecret, Key: given.PrivateKey,
		Document: "https://conformance-test.local/client-metadata.json",
	}}
	switch os.Getenv("MCP_CONFORMANCE_SCENARIO") {
	case "auth/client-credentials-jwt", "auth/client-credentials-basic":
		s.config.Method = oauth.Credentials
	case "auth/cross-app-access-complete-flow", "auth/enterprise-managed-authorization":
		s.config.Method = oauth.Enterprise
		s.config.Provider = oauth.Provider{TokenURL: given.ProviderTokenURL, ClientID: given.ProviderClientID}
		s.config.Assertion = func(context.Context) (string, error) { return given.IDToken, nil }
	case "auth/wif-jwt-bearer":
		s.config.Method = oauth.Assertion
		s.config.Assertion = func(context.Context) (string, error) { return given.Assertion, nil }
	}
	s.session = oauth.NewSession(s.config, &s.vault)
	return s
}

// consents signs in as a person would, in a browser that follows no redirect.
func (s *signIn) consents(ctx context.Context, needs *client.SignInError) bool {
	if s == nil {
		return false
	}
	if s.count++; s.count > maxSignIns {
		fmt.Fprintln(os.Stderr, "gave up after", maxSignIns, "sign-ins")
		return false
	}
	before, _ := s.vault.Grant(ctx)
	err := func() error {
		a, err := s.config.Begin(ctx, oauth.ParseChallenge(needs.Status, needs.Challenge), before)
		if err != nil {
			return err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, http.NoBody)
		if err != nil {
			return err
		}
		browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := browser.Do(r)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		at, err := resp.Location()
		if err != nil {
			return fmt.Errorf("the authorization server answered %s without a redirect: %w", resp.Status, err)
		}
		granted, err := s.config.Finish(ctx, a, at.Query())
		if err != nil {
			return err
		}
		return s.vault.Renewed(ctx, before, granted)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "signing in:", err)
	}
	return err == nil
}
