package web

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/netip"
	"reflect"
	"slices"
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
	// Proxies are the networks of proxies whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
}

// Intersect returns a with only those tokens that next has too, unchanged. A reload
// uses it for the time in which the next Access is not in use yet.
func (a Access) Intersect(next Access) Access {
	a.Tokens = slices.DeleteFunc(slices.Clone(a.Tokens), func(t Token) bool {
		return !slices.ContainsFunc(next.Tokens, func(other Token) bool { return reflect.DeepEqual(t, other) })
	})
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

// tokens are the tokens in use, with their running requests.
type tokens struct {
	mu       sync.Mutex
	list     []*token
	proxies  []netip.Prefix
	stopping bool
}

type token struct {
	Token
	limiter *rate.Limiter
	running map[*runningRequest]bool
}

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
	var next []*token
	for _, given := range a.Tokens {
		t := ts.unchanged(given)
		if t == nil {
			t = &token{Token: given, limiter: rate.NewLimiter(0, 0), running: map[*runningRequest]bool{}}
		}
		if t.limiter.Limit() != rate.Limit(limit) {
			t.limiter = rate.NewLimiter(rate.Limit(limit), 2*limit)
		}
		next = append(next, t)
	}
	for _, old := range ts.list {
		if slices.Contains(next, old) {
			continue
		}
		for r := range old.running {
			r.revoked = true
			r.cancel(errRevoked)
		}
	}
	ts.list, ts.proxies = next, a.Proxies
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
	case !slices.Contains(ts.list, t):
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
	t.running[r] = true
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
	for _, t := range ts.list {
		for r := range t.running {
			r.cancel(errStopping)
		}
	}
}
