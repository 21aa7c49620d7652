package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// maxURL is longer than any address that servers take.
const maxURL = 8 << 10

// parseTarget reads the address of a page. There is one way to read what it
// accepts: what programs understand differently is refused.
func parseTarget(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fmt.Errorf("the url is longer than %d bytes", maxURL)
	}
	if strings.ContainsFunc(raw, func(r rune) bool {
		return isControl(r) || unicode.IsSpace(r) || r == '\\' || r == unicode.ReplacementChar
	}) {
		return nil, errors.New("the url has spaces, control characters or backslashes in it; write them as %20 and the like")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("the url cannot be read (%w); give one such as https://example.com/page", innerError(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("the url has to begin with https:// or http://; other schemes cannot be fetched")
	}
	if u.User != nil {
		return nil, errors.New("the url holds a user name or password; give it without")
	}
	if u.Host == "" {
		return nil, errors.New("the url has no host; give one such as https://example.com/page")
	}
	port := u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535) {
		return nil, fmt.Errorf("the port %s does not exist; ports are 1 to 65535", port)
	}
	host, err := canonicalHost(u.Hostname())
	if err != nil {
		return nil, fmt.Errorf("the host of the url cannot be read: %w", err)
	}
	if port != "" {
		u.Host = net.JoinHostPort(host, port)
	} else if u.Host = host; strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// innerError is what is wrong with an address, without the address, which the
// model knows.
func innerError(err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		return inner.Err
	}
	return err
}

// canonicalHost brings a name or an address into its only form. Numbers that
// some resolvers take for addresses (0x7f.1, 2130706433) are errors.
func canonicalHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", errors.New("it is no IPv6 address without a zone")
		}
		return a.String(), nil
	}
	host = strings.ToLower(host)
	if !ascii(host) {
		// Unicode has other dots and digits; after this only ASCII is left.
		var err error
		if host, err = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(true)).ToASCII(host); err != nil {
			return "", errors.New("it is no international domain name")
		}
	}
	host = strings.TrimSuffix(host, ".")
	labels := strings.Split(host, ".")
	if len(host) > 253 {
		return "", errors.New("it is longer than 253 characters")
	}
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, notInName) {
			return "", errors.New("names have letters, digits and hyphens between single dots")
		}
	}
	if last := labels[len(labels)-1]; numeric(last) {
		if a, err := netip.ParseAddr(host); err != nil || !a.Is4() {
			return "", errors.New("an IPv4 address is four decimal numbers from 0 to 255")
		}
	}
	return host, nil
}

func notInName(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// numeric reports, from the last label of a name, whether programs may take
// the whole for an IPv4 address (WHATWG URL, "ends in a number").
func numeric(label string) bool {
	if strings.Trim(label, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(label, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

func isControl(r rune) bool { return unicode.IsControl(r) }
