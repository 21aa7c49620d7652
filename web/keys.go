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

// Token lets in who shows the text of which Hash is the SHA-256.
type Token struct {
	Hash [sha256.Size]byte
	// Principal is who has the token; its Addr is filled in for each request.
	api.Principal
}

// Access says who may call.
type Access struct {
	Tokens []Token // by names that differ
	// Rate is how many requests per second each token may make; twice as many at
	// once. 0: 100.
	Rate int
	// Proxies are believed when they tell, in X-Forwarded-For, who called.
	Proxies []netip.Prefix
}

// Staying is the Access of those tokens that the next one has, too, just as they
// are: what is left while the next one is not in use yet.
func (a Access) Staying(next Access) Access {
	a.Tokens = slices.DeleteFunc(slices.Clone(a.Tokens), func(t Token) bool {
		return !slices.ContainsFunc(next.Tokens, func(stays Token) bool { return reflect.DeepEqual(t, stays) })
	})
	return a
}

const (
	defaultRate = 100
	maxUnderWay = 256 // requests of one token at once, streams and those that wait included
)

// Why a request under way is ended.
var (
	errRevoked  = errors.New("the token was taken back")
	errStopping = errors.New("legwork is stopping")
)

// keys are the tokens, and the requests that are under way with them.
type keys struct {
	mu       sync.Mutex
	tokens   []*key
	proxies  []netip.Prefix
	stopping bool
}

type key struct {
	Token
	pace  *rate.Limiter
	calls map[*call]bool
}

// call is a request with a token.
type call struct {
	of   *keys
	key  *key
	end  context.CancelCauseFunc
	gone bool // its token was taken back
}

// use takes over what there is of the tokens that stay as they were.
func (k *keys) use(a Access) {
	limit := a.Rate
	if limit <= 0 {
		limit = defaultRate
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var next []*key
	for _, t := range a.Tokens {
		one := k.same(t)
		if one == nil {
			one = &key{Token: t, pace: rate.NewLimiter(0, 0), calls: map[*call]bool{}}
		}
		if one.pace.Limit() != rate.Limit(limit) {
			one.pace = rate.NewLimiter(rate.Limit(limit), 2*limit)
		}
		next = append(next, one)
	}
	for _, old := range k.tokens {
		if slices.Contains(next, old) {
			continue
		}
		for c := range old.calls {
			c.gone = true
			c.end(errRevoked)
		}
	}
	k.tokens, k.proxies = next, a.Proxies
}

func (k *keys) same(t Token) *key {
	for _, one := range k.tokens {
		if reflect.DeepEqual(one.Token, t) {
			return one
		}
	}
	return nil
}

// find is whose token this is; nil for nobody's. All are compared, each in the
// same time whatever it is, so that the time tells nothing.
func (k *keys) find(token string) *key {
	hash := sha256.Sum256([]byte(token))
	k.mu.Lock()
	defer k.mu.Unlock()
	var found *key
	for _, one := range k.tokens {
		if subtle.ConstantTimeCompare(one.Hash[:], hash[:]) == 1 {
			found = one
		}
	}
	return found
}

// any reports whether there are tokens at all.
func (k *keys) any() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.tokens) > 0
}

func (k *keys) trusted() []netip.Prefix {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.proxies
}

// begin notes a request that is under way from now on until its done. later says
// how long to wait when there are too many already; then there is no call.
func (k *keys) begin(one *key, end context.CancelCauseFunc) (c *call, later time.Duration, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.stopping:
		return nil, 0, errStopping
	case !slices.Contains(k.tokens, one):
		return nil, 0, errRevoked
	case len(one.calls) >= maxUnderWay:
		return nil, time.Second, nil
	}
	turn := one.pace.Reserve()
	if wait := turn.Delay(); wait > 0 {
		turn.Cancel()
		return nil, wait, nil
	}
	c = &call{of: k, key: one, end: end}
	one.calls[c] = true
	return c, 0, nil
}

func (c *call) done() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	delete(c.key.calls, c)
}

// revoked reports whether nothing more may be said to who called.
func (c *call) revoked() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.gone
}

// close lets no more requests begin.
func (k *keys) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopping = true
}

// end ends the requests under way.
func (k *keys) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, one := range k.tokens {
		for c := range one.calls {
			c.end(errStopping)
		}
	}
}
