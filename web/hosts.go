package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hosts are the names under which something is served.
type hosts struct {
	checked bool   // otherwise under every name
	public  string // beside those of this machine; empty for none
}

// answers reports whether a request that names this host is meant for us. A
// browser that was led here by a name of somebody else's says so.
func (h hosts) answers(host string) bool {
	if !h.checked || host == "" {
		return true
	}
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && address.Unmap().IsLoopback() || host == h.public
}

// publicHost is the host of an address, empty for none.
func publicHost(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", fmt.Errorf("reading the public address: %w", err)
	}
	return strings.ToLower(u.Hostname()), nil
}

func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// caller is the address of who called: of the connection, or, when that is a
// proxy's, the last address of X-Forwarded-For that is none's.
func caller(r *http.Request, proxies []netip.Prefix) netip.Addr {
	port, _ := netip.ParseAddrPort(r.RemoteAddr)
	at := port.Addr().Unmap().WithZone("")
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(chain) {
		if !slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) }) {
			break
		}
		text = strings.TrimSpace(text)
		before, err := netip.ParseAddr(text)
		if with, odd := netip.ParseAddrPort(text); odd == nil { // as some gateways write it
			before, err = with.Addr(), nil
		}
		if err != nil {
			break
		}
		at = before.Unmap().WithZone("")
	}
	return at
}
