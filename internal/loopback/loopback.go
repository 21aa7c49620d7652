// Package loopback tells which hosts are this machine for itself.
package loopback

import (
	"net/netip"
	"net/url"
)

// Host reports whether a host is localhost, or an address such as 127.0.0.1 or ::1.
func Host(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// Address reports the same of the host of an address such as http://localhost:8080.
func Address(address string) bool {
	u, err := url.Parse(address)
	return err == nil && Host(u.Hostname())
}
