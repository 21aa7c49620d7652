package web

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How often an address may come without a valid token: some times at once, then
// every few seconds.
const (
	attempts     = 20
	attemptEvery = 3 * time.Second
	maxStrangers = 4096 // addresses that are remembered
)

// strangers are the addresses that came without a valid token. The zero value is
// ready.
type strangers struct {
	mu    sync.Mutex
	known map[string]*rate.Limiter
}

// attempt notes one and says how long this address has to wait before the next
// is looked at; 0 when this one may be.
func (s *strangers) attempt(address string, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	address = network(address)
	pace := s.known[address]
	if pace == nil {
		if s.known == nil {
			s.known = map[string]*rate.Limiter{}
		}
		if len(s.known) >= maxStrangers {
			s.forget(now)
		}
		if len(s.known) >= maxStrangers {
			address = "" // shared by all that there is no room for
			pace = s.known[address]
		}
		if pace == nil {
			pace = rate.NewLimiter(rate.Every(attemptEvery), attempts)
			s.known[address] = pace
		}
	}
	turn := pace.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > 0 {
		turn.CancelAt(now)
	}
	return wait
}

// forget drops those who have not come for long.
func (s *strangers) forget(now time.Time) {
	for address, pace := range s.known {
		if pace.TokensAt(now) >= attempts {
			delete(s.known, address)
		}
	}
}

// network is what one owner of addresses has: of the sixth version of the
// protocol, whole networks.
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
