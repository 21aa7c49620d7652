package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"legwork/tools/client"
)

// Vault keeps the grant of one identity at one server.
type Vault interface {
	// Grant returns the grant; the zero Grant when there is none.
	Grant(context.Context) (Grant, error)
	// Renewed stores the grant that takes the place of old. When another one was stored
	// meanwhile, it stores nothing.
	Renewed(ctx context.Context, old, renewed Grant) error
	// Ended removes a grant that the authorization server takes no longer.
	Ended(context.Context, Grant) error
}

// Memory is a Vault that keeps a grant until the process ends: enough where no person has
// to sign in. Its zero value is empty.
type Memory struct {
	mu    sync.Mutex
	grant Grant
}

// Grant implements Vault.
func (m *Memory) Grant(context.Context) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.grant, nil
}

// Renewed implements Vault.
func (m *Memory) Renewed(_ context.Context, old, renewed Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.grant.Access == old.Access {
		m.grant = renewed
	}
	return nil
}

// Ended implements Vault.
func (m *Memory) Ended(ctx context.Context, g Grant) error { return m.Renewed(ctx, g, Grant{}) }

// renewBefore is how long before a token expires it is renewed: calls that are under way
// then still reach the server with a valid one.
const renewBefore = time.Minute

// Session signs the requests of one identity to one server. Its methods are safe for
// concurrent use.
type Session struct {
	config Config
	vault  Vault
	nonces nonces

	mu sync.Mutex // held while tokens are renewed: a refresh token may be good for one use
}

// NewSession returns the Session of the identity whose grant is in the vault.
func NewSession(c Config, v Vault) *Session { return &Session{config: c, vault: v} }

// Sign adds the token of the identity to a request. It renews a token that is about to
// expire. Without a grant it adds nothing: the server says what it wants.
func (s *Session) Sign(ctx context.Context, r *http.Request) error {
	g, err := s.vault.Grant(ctx)
	if err != nil {
		return fmt.Errorf("reading the sign-in: %w", err)
	}
	if g.Access == "" {
		return nil
	}
	if !g.Expires.IsZero() && s.config.now().Add(renewBefore).After(g.Expires) {
		renewed, err := s.renew(ctx, g, Challenge{Scopes: g.Scopes})
		switch {
		case err == nil:
			g = renewed
		case s.config.now().Before(g.Expires): // it still holds
		case errors.Is(err, ErrEnded):
			return s.signIn(http.StatusUnauthorized, nil, nil)
		default:
			return err
		}
	}
	if len(g.ProofKey) == 0 {
		r.Header.Set("Authorization", "Bearer "+g.Access)
		return nil
	}
	text, err := proof(g.ProofKey, r, g.Access, s.nonces.get(r.URL.Host), s.config.now())
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "DPoP "+g.Access)
	r.Header.Set("DPoP", text)
	return nil
}

// Refused renews the token after a response with the status 401, and gets more rights
// after a 403 that asks for them, where no person is needed for that.
func (s *Session) Refused(ctx context.Context, r *http.Request, resp *http.Response) error {
	headers := resp.Header.Values("WWW-Authenticate")
	c := ParseChallenge(resp.StatusCode, headers)
	if nonce := resp.Header.Get("DPoP-Nonce"); nonce != "" && nonce != s.nonces.get(r.URL.Host) {
		s.nonces.set(r.URL.Host, nonce)
		if strings.Contains(strings.Join(headers, " "), "use_dpop_nonce") {
			return nil
		}
	}
	if resp.StatusCode == http.StatusForbidden && !c.Narrow {
		return client.ErrNotAuth
	}
	g, err := s.vault.Grant(ctx)
	if err != nil {
		return fmt.Errorf("reading the sign-in: %w", err)
	}
	_, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if g.Access != "" && sent != g.Access {
		return nil // renewed by another request meanwhile
	}
	if c.Narrow && s.config.method() == Code {
		return s.signIn(resp.StatusCode, headers, union(g.Scopes, c.Scopes))
	}
	_, err = s.renew(ctx, g, c)
	if errors.Is(err, ErrEnded) && s.config.method() == Code {
		return s.signIn(http.StatusUnauthorized, headers, c.Scopes)
	}
	return err
}

func (s *Session) signIn(status int, challenge, scopes []string) error {
	return &client.SignInError{Server: s.config.Server, Challenge: challenge, Status: status, Scopes: scopes}
}

// moved reports that the server has another authorization server than the one that gave
// the grant.
func (s *Session) moved(ctx context.Context, g Grant, c Challenge) bool {
	d, err := s.config.discover(s.config.context(ctx), c)
	return err == nil && d.meta.Issuer != g.Issuer
}

// renew replaces a grant, once for all requests that need it. It goes on when the request
// that began it ends: the authorization server may have used up the refresh token.
func (s *Session) renew(ctx context.Context, old Grant, c Challenge) (Grant, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*requestTimeout)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	g, err := s.vault.Grant(ctx)
	if err != nil {
		return Grant{}, fmt.Errorf("reading the sign-in: %w", err)
	}
	if g.Access != old.Access {
		return g, nil // another request has renewed it, or a person has signed in again
	}
	var renewed Grant
	if s.config.method() == Code {
		renewed, err = s.config.Renew(ctx, g)
	} else {
		renewed, err = s.config.Obtain(ctx, c, g)
	}
	if s.config.method() == Code && err != nil && (errors.Is(err, ErrEnded) || s.moved(ctx, g, c)) {
		if g.Access != "" {
			if err := s.vault.Ended(ctx, g); err != nil {
				return Grant{}, fmt.Errorf("removing an ended sign-in: %w", err)
			}
		}
		return Grant{}, ErrEnded
	}
	if err != nil {
		return Grant{}, err
	}
	if err := s.vault.Renewed(ctx, g, renewed); err != nil {
		return Grant{}, fmt.Errorf("storing a renewed sign-in: %w", err)
	}
	return renewed, nil
}
