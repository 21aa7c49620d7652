package web

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// rules say which hosts and addresses may be contacted.
type rules struct {
	ranges          []netip.Prefix // let in although they are not public
	allowed, denied []hostPattern
}

// hostPattern is a canonical host, or everything below one.
type hostPattern struct {
	host  string
	below bool
}

func (p hostPattern) matches(host string) bool {
	if p.below {
		return strings.HasSuffix(host, "."+p.host)
	}
	return host == p.host
}

// checkHost tells why a canonical host may not be contacted, by its name alone.
func (r rules) checkHost(host string) error {
	matches := func(p hostPattern) bool { return p.matches(host) }
	if slices.ContainsFunc(r.denied, matches) || (len(r.allowed) > 0 && !slices.ContainsFunc(r.allowed, matches)) {
		return &blockedError{host, "the admin does not allow this host"}
	}
	return nil
}

// checkAddress tells why an address may not be contacted. The text names the
// kind of address, not the address: a name's private address is not for
// others.
func (r rules) checkAddress(host string, a netip.Addr) error {
	a = a.Unmap().WithZone("") // a zone would match no range
	inside := func(p netip.Prefix) bool { return p.Contains(a) }
	if slices.ContainsFunc(r.ranges, inside) {
		return nil
	}
	if nat64.Contains(a) {
		return r.checkAddress(host, embedded(a))
	}
	for _, s := range special() {
		if s.prefix.Contains(a) {
			return &blockedError{host, "its address is " + s.kind}
		}
	}
	if a.Is6() && !global6.Contains(a) {
		return &blockedError{host, "its address is not a public one"}
	}
	return nil
}

// blockedError is why a host may not be contacted.
type blockedError struct{ host, why string }

func (r *blockedError) Error() string {
	return fmt.Sprintf("%s is not contacted: %s. Only public web pages can be fetched; do not try this address again", r.host, r.why)
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052: the last four bytes are an IPv4 address
	global6 = netip.MustParsePrefix("2000::/3")     // all that was ever given out
)

func embedded(a netip.Addr) netip.Addr {
	b := a.As16()
	return netip.AddrFrom4([4]byte(b[12:]))
}

// specialRange is a range that no public web server is in.
type specialRange struct {
	prefix netip.Prefix
	kind   string
}

// special are the ranges of the IANA registries of special-purpose addresses
// (RFC 6890 and what came after) that are not reachable from everywhere, and
// public addresses at which clouds answer their own machines. Addresses
// outside 2000::/3, such as IPv4-compatible ones, need no entry but for their
// name.
func special() []specialRange {
	return []specialRange{
		{prefix("0.0.0.0/8"), "unspecified"},
		{prefix("10.0.0.0/8"), "private"},
		{prefix("100.64.0.0/10"), "shared behind a carrier's NAT"},
		{prefix("127.0.0.0/8"), "loopback"},
		{prefix("168.63.129.16/32"), "a cloud's own service"},
		{prefix("169.254.0.0/16"), "link-local"},
		{prefix("172.16.0.0/12"), "private"},
		{prefix("192.0.0.0/24"), "reserved"},
		{prefix("192.0.2.0/24"), "for documentation"},
		{prefix("192.88.99.0/24"), "a 6to4 relay"},
		{prefix("192.168.0.0/16"), "private"},
		{prefix("198.18.0.0/15"), "for benchmarks"},
		{prefix("198.51.100.0/24"), "for documentation"},
		{prefix("203.0.113.0/24"), "for documentation"},
		{prefix("224.0.0.0/4"), "multicast"},
		{prefix("240.0.0.0/4"), "reserved"},
		{prefix("::/128"), "unspecified"},
		{prefix("::1/128"), "loopback"},
		{prefix("2001::/23"), "for protocols such as Teredo"},
		{prefix("2001:db8::/32"), "for documentation"},
		{prefix("2002::/16"), "6to4"},
		{prefix("3fff::/20"), "for documentation"},
		{prefix("fc00::/7"), "private"},
		{prefix("fe80::/10"), "link-local"},
		{prefix("fec0::/10"), "private"},
		{prefix("ff00::/8"), "multicast"},
	}
}

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// unmapped is a range of IPv4-mapped addresses as one of IPv4.
func unmapped(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}
