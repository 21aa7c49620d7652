package web

import (
	"net"
	"net/netip"
	"time"
)

// With returns o with a resolver and a clock of tests.
func (o Options) With(resolver *net.Resolver, now func() time.Time) Options {
	o.resolver, o.now = resolver, now
	return o
}

// Patient returns o with a time that pages may take to be read.
func (o Options) Patient(d time.Duration) Options {
	o.patience = d
	return o
}

// Host is the host that fetch contacts first for an address; an error means
// that it refuses it.
func Host(at string) (string, error) {
	u, err := parseTarget(at)
	if err != nil {
		return "", err
	}
	return u.Hostname(), nil
}

// SameHost tells whether a redirect from a to b is followed.
func SameHost(a, b string) bool {
	from, err := parseTarget(a)
	to, wrong := parseTarget(b)
	return err == nil && wrong == nil && sameHost(from, to)
}

// ReadHTML is what fetch does with a page.
var ReadHTML = func(page, at string, whole bool) (string, error) {
	u, err := parseTarget(at)
	if err != nil {
		return "", err
	}
	d, err := readHTML(page, u, whole)
	return d.text, err
}

// Permits tells whether a robots.txt lets a program fetch an address.
func Permits(robots, product, at string) bool {
	u, err := parseTarget(at)
	return err == nil && permits(parseRobots(robots, product), robotsPath(u))
}

// Decode is what fetch does with bytes.
var Decode = decode

// CheckAddress tells why an address may not be contacted by default.
func CheckAddress(a netip.Addr) error { return rules{}.checkAddress("host", a) }
