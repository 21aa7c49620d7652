package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// SignIn says how people sign in at the page.
type SignIn struct {
	Store tasks.Sessions
	// Rights returns what a person who signed in by a link may do now. Its error is
	// api.ErrForbidden when legwork no longer listens to the person.
	Rights func(context.Context, tasks.ChatPerson) (api.Principal, error)
	// Preferences returns what a person has chosen, by the key of the person. Prefer
	// changes the fields that are not empty; its error is a *problem.Error if a value is
	// not known.
	Preferences func(ctx context.Context, person string) (Preferences, error)
	Prefer      func(ctx context.Context, person string, p Preferences) error
	// Record adds an entry to the audit log.
	Record func(context.Context, tasks.AuditEntry)
	// ConfigFile says that admins can read and change the config file in the page.
	ConfigFile bool
	// Version of legwork, for the page.
	Version string
}

// Preferences are the settings of a person that the page and the chats share.
type Preferences struct {
	Language string `json:"language"` // as /lang sets it; empty: none was chosen
	Timezone string `json:"timezone"` // as /timezone sets it, or else of the config
}

// newSecret returns a secret of 260 random bits.
func newSecret() string { return rand.Text() + rand.Text() }

// isSessionCall reports a path of the calls about sessions.
func isSessionCall(path string) bool {
	return path == pathSession || path == pathSessions || strings.HasPrefix(path, pathSession+"/") || strings.HasPrefix(path, pathSessions+"/")
}

// The times of sessions.
const (
	noteUse  = time.Minute      // between two notes in the store that a session is in use
	lookSync = 15 * time.Second // between two checks of the sessions with running requests
)

// errSignedOut means that a cookie is not, or no longer, that of a session.
var errSignedOut = errors.New("signed out")

// secretID is the id of a session or sign-in link, by its secret.
func secretID(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// cookies name and read the cookie of a session.
type cookies struct {
	public  *url.URL // http.public_url; nil: none
	proxies func() []netip.Prefix
}

// secure reports whether the browser has sent a request over https: to legwork itself,
// to a proxy that legwork trusts, or to the public address.
func (c cookies) secure(r *http.Request) bool {
	if r.TLS != nil || c.public != nil && c.public.Scheme == "https" && strings.EqualFold(r.Host, c.public.Host) {
		return true
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return r.Header.Get("X-Forwarded-Proto") == "https" && trusts(c.proxies(), peer.Addr().Unmap().WithZone(""))
}

// name is the name of the cookie: "legwork-8080". Browsers send the cookies of a host
// to all its ports, so the port tells two legworks apart. With the prefix "__Host-"
// they take it over https alone, and from no other host: no page sent over http, and
// no neighbour domain, can replace it.
func (c cookies) name(r *http.Request) string {
	name := "legwork"
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		name += "-" + port
	}
	if c.secure(r) {
		name = "__Host-" + name
	}
	return name
}

// secret returns the secret in the cookie of a request; empty without one.
func (c cookies) secret(r *http.Request) string {
	cookie, err := r.Cookie(c.name(r))
	if err != nil || len(cookie.Value) > 512 {
		return ""
	}
	return cookie.Value
}

// set gives the browser a cookie; with an empty secret it takes the cookie away.
func (c cookies) set(w http.ResponseWriter, r *http.Request, secret string) {
	age := int(tasks.SessionTime / time.Second)
	if secret == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: c.name(r), Value: secret, Path: "/", MaxAge: age, HttpOnly: true, Secure: c.secure(r), SameSite: http.SameSiteStrictMode,
	})
}

// find returns the token or the session of a request. wrong says what is wrong with the
// header of a token. Errors: errSignedOut, those of accessToken, and errors of the store.
func (a *auth) find(r *http.Request) (t *token, wrong string, err error) {
	if a.signIn != nil && len(r.Header.Values("Authorization")) == 0 {
		if secret := a.cookies.secret(r); secret != "" {
			t, err = a.session(r.Context(), secretID(secret))
			return t, "", err
		}
	}
	text, wrong := bearerToken(r)
	if wrong != "" {
		return nil, wrong, nil
	}
	if t = a.tokens.find(text); t == nil {
		t, err = a.accessToken(r, text)
	}
	return t, "", err
}

// session returns a session with the rights that its person has now. errSignedOut.
func (a *auth) session(ctx context.Context, id string) (*token, error) {
	s, err := a.signIn.Store.Session(ctx, id)
	if errors.Is(err, tasks.ErrNoSession) {
		return nil, errSignedOut
	}
	if err != nil {
		return nil, err
	}
	p, from, err := a.principal(ctx, s)
	if err != nil {
		return nil, err
	}
	if a.now().Sub(s.Used) >= noteUse {
		if err := a.signIn.Store.UseSession(ctx, id); err != nil && !errors.Is(err, tasks.ErrNoSession) {
			return nil, err
		}
	}
	if t := a.tokens.caller(id, p, from, time.Time{}); t != nil {
		return t, nil
	}
	return nil, errSignedOut
}

// principal returns what the person of a session may do now. from is the token that
// signed in; nil: none. errSignedOut.
func (a *auth) principal(ctx context.Context, s tasks.Session) (p api.Principal, from *token, err error) {
	switch {
	case s.Token != "":
		if from = a.tokens.named(s.Token, s.TokenHash); from == nil || from.Role == policy.RoleAgent {
			return p, nil, errSignedOut
		}
		p = from.Principal
	case s.Issuer != "":
		provider := a.oidc.Load()
		if provider == nil || provider.Issuer != s.Issuer {
			return p, nil, errSignedOut
		}
		role := provider.personRole(s.Claims)
		if role == "" || role == policy.RoleAgent {
			return p, nil, errSignedOut
		}
		p = provider.principal(s.Person, role)
	default:
		p, err = a.signIn.Rights(ctx, s.ChatPerson)
		if errors.Is(err, api.ErrForbidden) {
			err = errSignedOut
		}
	}
	p.Session = s.ID
	return p, from, err
}

// checkSessions cuts off the running requests of sessions that have ended, or whose
// person lost a right, until ctx ends: at each value of now, and several times a
// minute, because the access of a person is not only in the config.
func (a *auth) checkSessions(ctx context.Context) {
	if a.signIn == nil {
		return
	}
	again := time.NewTicker(lookSync)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
		case <-again.C:
		}
		for _, id := range a.tokens.inUse(a.now()) {
			if strings.HasPrefix(id, accessPrefix) {
				continue
			}
			s, err := a.signIn.Store.Session(ctx, id)
			var p api.Principal
			var from *token
			if err == nil {
				p, from, err = a.principal(ctx, s)
			}
			switch {
			case err == nil:
				a.tokens.caller(id, p, from, time.Time{})
			case errors.Is(err, errSignedOut), errors.Is(err, tasks.ErrNoSession):
				a.tokens.endSession(id)
			case ctx.Err() == nil:
				a.log.WarnContext(ctx, "session not checked", "cause", err)
			}
		}
	}
}

// unavailable answers a request whose session could not be looked up.
func (a *auth) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil { // otherwise the browser is gone
		a.log.ErrorContext(r.Context(), "session not read", "cause", err)
	}
	problem.New(problem.Stopping, "Sessions cannot be read now; try again.").Write(w)
}

// webPerson is a person who has no platform of their own.
func webPerson(id, name string) bot.Person {
	return bot.Person{Platform: tasks.PlatformWeb, ID: id, Name: name}
}
