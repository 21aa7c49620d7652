package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"legwork/tasks/api"
)

// Token is a token of the config. Only its hash is known.
type Token struct {
	Hash [sha256.Size]byte // of the text that clients send
	// Principal is the owner of the token. Each request fills in its Addr.
	api.Principal
}

// Access says who may call.
type Access struct {
	Tokens []Token // each with another name
	// Rate is how many requests per second each token may make, with bursts of
	// twice as many. 0: 100.
	Rate int
	// OIDC is the provider that may sign people in.
	OIDC OIDC
	// Proxies are the networks of proxies whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
}

// Intersect returns a with only those tokens, and the provider, that next has too, unchanged. A reload
// uses it for the time in which the next Access is not in use yet.
func (a Access) Intersect(next Access) Access {
	a.Tokens = slices.DeleteFunc(slices.Clone(a.Tokens), func(t Token) bool {
		return !slices.ContainsFunc(next.Tokens, func(other Token) bool { return reflect.DeepEqual(t, other) })
	})
	if !reflect.DeepEqual(a.OIDC, next.OIDC) {
		a.OIDC = OIDC{}
	}
	return a
}

const (
	defaultRate = 100
	maxRunning  = 256 // requests of one token at once, streams and long polls included
)

// Why a running request is canceled.
var (
	errRevoked  = errors.New("the token was revoked")
	errStopping = errors.New("legwork is stopping")
)

// tokens are the tokens in use, and the sessions that were used lately, with their
// running requests.
type tokens struct {
	mu       sync.Mutex
	list     []*token
	sessions map[string]*token // and access tokens, by their ids
	rate     rate.Limit
	proxies  []netip.Prefix
	stopping bool
}

// token is a token of the config; or the session of a person, or an access token of an
// OIDC provider, which have no hash here.
type token struct {
	Token
	limiter *rate.Limiter
	running map[*runningRequest]bool
	id      string    // of a session or an access token; empty for a token of the config
	from    *token    // of a session: the token that signed in; nil: none
	used    time.Time // the latest request
	until   time.Time // of an access token: when it expires
}

// accessPrefix begins the ids of access tokens of an OIDC provider.
const accessPrefix = "access:"

// runningRequest is a request with a token that was not answered yet.
type runningRequest struct {
	tokens  *tokens
	token   *token
	cancel  context.CancelCauseFunc
	revoked bool // the token was revoked
}

// use replaces the tokens. Tokens that did not change keep their limiter and their
// running requests; requests of other tokens are canceled.
func (ts *tokens) use(a Access) {
	limit := a.Rate
	if limit <= 0 {
		limit = defaultRate
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.rate = rate.Limit(limit)
	var next []*token
	for _, given := range a.Tokens {
		t := ts.unchanged(given)
		if t == nil {
			t = ts.added(given)
		}
		if t.limiter.Limit() != ts.rate {
			t.limiter = ts.limiter()
		}
		next = append(next, t)
	}
	for _, old := range ts.list {
		if !slices.Contains(next, old) {
			old.revoke()
		}
	}
	for id, s := range ts.sessions {
		if s.from != nil && !slices.Contains(next, s.from) {
			s.revoke()
			delete(ts.sessions, id)
		}
	}
	ts.list, ts.proxies = next, a.Proxies
}

// added returns a token without requests.
func (ts *tokens) added(given Token) *token {
	return &token{Token: given, limiter: ts.limiter(), running: map[*runningRequest]bool{}}
}

func (ts *tokens) limiter() *rate.Limiter { return rate.NewLimiter(ts.rate, 2*int(ts.rate)) }

// revoke cuts off the running requests.
func (t *token) revoke() {
	for r := range t.running {
		r.revoked = true
		r.cancel(errRevoked)
	}
}

func (ts *tokens) unchanged(given Token) *token {
	for _, t := range ts.list {
		if reflect.DeepEqual(t.Token, given) {
			return t
		}
	}
	return nil
}

// find returns the token with that text, or nil. It compares with all tokens in
// constant time, so that the time it takes reveals nothing.
func (ts *tokens) find(text string) *token {
	hash := sha256.Sum256([]byte(text))
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var found *token
	for _, t := range ts.list {
		if subtle.ConstantTimeCompare(t.Hash[:], hash[:]) == 1 {
			found = t
		}
	}
	return found
}

// any reports whether there are tokens at all.
func (ts *tokens) any() bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return len(ts.list) > 0
}

func (ts *tokens) trustedProxies() []netip.Prefix {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.proxies
}

// begin registers a running request until its done is called. When the token has
// too many requests, it returns no request and how long to wait.
func (ts *tokens) begin(t *token, now time.Time, cancel context.CancelCauseFunc) (r *runningRequest, retry time.Duration, err error) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.stopping:
		return nil, 0, errStopping
	case t.id == "" && !slices.Contains(ts.list, t) || t.id != "" && ts.sessions[t.id] != t:
		return nil, 0, errRevoked
	case len(t.running) >= maxRunning:
		return nil, time.Second, nil
	}
	reservation := t.limiter.ReserveN(now, 1)
	if wait := reservation.DelayFrom(now); wait > 0 {
		reservation.CancelAt(now)
		return nil, wait, nil
	}
	r = &runningRequest{tokens: ts, token: t, cancel: cancel}
	t.running[r], t.used = true, now
	return r, 0, nil
}

func (r *runningRequest) done() {
	r.tokens.mu.Lock()
	defer r.tokens.mu.Unlock()
	delete(r.token.running, r)
}

// isRevoked reports whether the client must not read anything more.
func (r *runningRequest) isRevoked() bool {
	r.tokens.mu.Lock()
	defer r.tokens.mu.Unlock()
	return r.revoked
}

// stop refuses further requests.
func (ts *tokens) stop() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.stopping = true
}

// cancelAll cancels the running requests.
func (ts *tokens) cancelAll() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range slices.AppendSeq(slices.Clone(ts.list), maps.Values(ts.sessions)) {
		for r := range t.running {
			r.cancel(errStopping)
		}
	}
}

// named returns the token with a name and a hash in hexadecimal, or nil.
func (ts *tokens) named(name, hash string) *token {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for _, t := range ts.list {
		if t.Name == name && hex.EncodeToString(t.Hash[:]) == hash {
			return t
		}
	}
	return nil
}

// caller returns a session or an access token with the rights that its person has now.
// When they have changed, it cuts off the requests with the earlier ones. from is the
// token that signed in, or nil; the result is nil when that token is gone.
func (ts *tokens) caller(id string, p api.Principal, from *token, until time.Time) *token {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	known := ts.sessions[id]
	if known != nil && known.from == from && reflect.DeepEqual(known.Principal, p) {
		return known
	}
	if known != nil {
		known.revoke()
	}
	if from != nil && !slices.Contains(ts.list, from) {
		delete(ts.sessions, id)
		return nil
	}
	s := ts.added(Token{Principal: p})
	s.id, s.from, s.until = id, from, until
	for other, t := range ts.sessions { // all access tokens of a person have one limit
		if strings.HasPrefix(id, accessPrefix) && strings.HasPrefix(other, accessPrefix) && t.Key() == p.Key() {
			s.limiter = t.limiter
		}
	}
	if ts.sessions == nil {
		ts.sessions = map[string]*token{}
	}
	ts.sessions[id] = s
	return s
}

// knows reports whether a session was used lately.
func (ts *tokens) knows(session string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return ts.sessions[session] != nil
}

// endSession cuts off the requests of a session.
func (ts *tokens) endSession(id string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if s := ts.sessions[id]; s != nil {
		s.revoke()
		delete(ts.sessions, id)
	}
}

// inUse lists the sessions and access tokens with running requests. It forgets those
// that had none for a minute, and cuts off expired access tokens.
func (ts *tokens) inUse(now time.Time) (ids []string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for id, s := range ts.sessions {
		switch {
		case !s.until.IsZero() && !now.Before(s.until):
			s.revoke()
			delete(ts.sessions, id)
		case len(s.running) > 0:
			ids = append(ids, id)
		case now.Sub(s.used) > time.Minute:
			delete(ts.sessions, id)
		}
	}
	return ids
}

// endAccess cuts off all access tokens.
func (ts *tokens) endAccess() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	for id, s := range ts.sessions {
		if strings.HasPrefix(id, accessPrefix) {
			s.revoke()
			delete(ts.sessions, id)
		}
	}
}
