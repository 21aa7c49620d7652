package web

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// maxConns is how many connections one listening address accepts at once, those
// of clients without a token included.
const maxConns = 2048

// connLimiter limits the number of open connections. When one too many arrives,
// it closes another: the connection that has been idle for longest; if none is
// idle, the oldest one whose request has not shown a valid token; if all have
// shown one, the new connection.
type connLimiter struct {
	limit int

	mu           sync.Mutex
	open         int       // without those in closing
	idle         list.List // connections without a request, the longest idle first
	unauthorized list.List // connections with a request that has not shown a token yet
	positions    map[net.Conn]position
	closing      map[net.Conn]bool // closed here, but the server has not noticed yet
}

// position is the place of a connection in one of the lists.
type position struct {
	list *list.List
	*list.Element
}

func newConnLimiter(limit int) *connLimiter {
	return &connLimiter{limit: limit, positions: map[net.Conn]position{}, closing: map[net.Conn]bool{}}
}

// onState implements http.Server.ConnState.
func (l *connLimiter) onState(conn net.Conn, state http.ConnState) {
	if victim := l.update(conn, state); victim != nil {
		_ = victim.Close() // its error changes nothing
	}
}

// update records the state of a connection. It returns a connection that the
// caller must close, or nil.
func (l *connLimiter) update(conn net.Conn, state http.ConnState) net.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := state == http.StateClosed || state == http.StateHijacked
	switch {
	case l.closing[conn]:
		if ended {
			delete(l.closing, conn)
		}
	case ended:
		l.move(conn, nil)
		l.open--
	case state == http.StateIdle:
		l.move(conn, &l.idle)
	case state == http.StateActive:
		l.move(conn, &l.unauthorized)
	case l.open == l.limit:
		victim := l.victim(conn)
		l.move(conn, &l.idle)
		l.move(victim, nil)
		l.closing[victim] = true
		return victim
	default:
		l.move(conn, &l.idle)
		l.open++
	}
	return nil
}

// victim chooses the connection to close so that a new one can stay.
func (l *connLimiter) victim(latest net.Conn) net.Conn {
	for _, candidates := range []*list.List{&l.idle, &l.unauthorized} {
		if first := candidates.Front(); first != nil {
			return first.Value.(net.Conn)
		}
	}
	return latest
}

// move puts a connection at the end of a list; nil takes it out of all lists.
func (l *connLimiter) move(conn net.Conn, to *list.List) {
	if before, ok := l.positions[conn]; ok {
		before.list.Remove(before.Element)
		delete(l.positions, conn)
	}
	if to != nil {
		l.positions[conn] = position{to, to.PushBack(conn)}
	}
}

type authorizedKey struct{}

// connContext implements http.Server.ConnContext: it gives the requests of a
// connection the function that markAuthorized calls.
func (l *connLimiter) connContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, authorizedKey{}, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.positions[conn].list == &l.unauthorized {
			l.move(conn, nil)
		}
	})
}

// markAuthorized protects the connection of a request with a valid token from the
// connection limiter until the request was answered.
func markAuthorized(r *http.Request) {
	if mark, ok := r.Context().Value(authorizedKey{}).(func()); ok {
		mark()
	}
}

// One address may send failedBurst requests without a valid token at once, then
// one every failedInterval.
const (
	failedBurst    = 20
	failedInterval = 3 * time.Second
	maxAddresses   = 4096 // that are remembered
)

// failedAuthLimiter limits how often an address may send requests without a valid
// token.
type failedAuthLimiter struct {
	limiters *lru.Cache[string, *rate.Limiter] // by network
}

func newFailedAuthLimiter() (failedAuthLimiter, error) {
	limiters, err := lru.New[string, *rate.Limiter](maxAddresses)
	return failedAuthLimiter{limiters}, err
}

// wait counts a failed request. It returns how long the address has to wait before
// its next request is looked at, 0 while it is within the limit.
func (l failedAuthLimiter) wait(address string, now time.Time) time.Duration {
	fresh := rate.NewLimiter(rate.Every(failedInterval), failedBurst)
	limiter, known, _ := l.limiters.PeekOrAdd(network(address), fresh)
	if !known {
		limiter = fresh
	}
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// blocked reports whether an address has to wait. It counts nothing.
func (l failedAuthLimiter) blocked(address string, now time.Time) bool {
	limiter, known := l.limiters.Peek(network(address))
	return known && limiter.TokensAt(now) < 1
}

// network is what one client usually has: an IPv4 address, or a /64 of IPv6.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil || a.Is4() {
		return address
	}
	p, err := a.Prefix(64)
	if err != nil {
		return address
	}
	return p.String()
}
