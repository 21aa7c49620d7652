package web

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"legwork/files/read"
)

// Options are an admin's, from the config's servers.NAME.options. The zero
// value is valid and the safest: public addresses only, robots.txt respected.
type Options struct {
	AllowRanges []string `json:"allow_ranges"` // addresses or CIDR ranges that may be fetched from although they are not public
	AllowHosts  []string `json:"allow_hosts"`  // only these hosts may be fetched from, as example.com or *.example.com; empty: all
	DenyHosts   []string `json:"deny_hosts"`   // hosts that may never be fetched from; wins over AllowHosts
	MaxBytes    int64    `json:"max_bytes"`    // read of one response, after decompression; 0: DefaultMaxBytes
	Timeout     string   `json:"timeout"`      // for one call with its redirects, such as 20s; empty: DefaultTimeout
	Robots      *bool    `json:"robots"`       // respect robots.txt; nil: true
	UserAgent   string   `json:"user_agent"`   // empty: DefaultUserAgent; robots.txt knows it by what comes before the slash

	// Proxy is the address of an http, https or socks5 proxy; empty: none,
	// whatever the environment says. It costs safety: names are looked up and
	// checked here, but the proxy looks them up again and connects, so a name
	// that changes its address in between can lead it to a private one. Let the
	// proxy itself refuse those.
	Proxy string `json:"proxy"`

	// PDFs reads PDFs, by this program.
	PDFs read.Reader `json:"-"`

	resolver *net.Resolver    // nil: the system's
	now      func() time.Time // nil: time.Now
	patience time.Duration    // with a page that is read; 0: readerTime
}

// What a zero value in Options means.
const (
	DefaultMaxBytes  = 5 << 20
	DefaultTimeout   = 20 * time.Second
	DefaultUserAgent = "legwork/1 (fetches pages that people ask for)"
)

// The most that an option may be: every call in flight can cost that much.
const (
	maxBytesLimit = 64 << 20
	timeoutLimit  = 5 * time.Minute
)

// settings are Options that were checked and filled in.
type settings struct {
	rules     rules
	maxBytes  int64
	timeout   time.Duration
	robots    bool
	userAgent string
	product   string // the part of userAgent that robots.txt knows
	proxy     *url.URL
	pdfReader read.Reader
	resolver  *net.Resolver
	now       func() time.Time
	patience  time.Duration
}

// check tells the first mistake in o and what is allowed there.
func (o Options) check() (settings, error) {
	s := settings{
		maxBytes: DefaultMaxBytes, timeout: DefaultTimeout, robots: o.Robots == nil || *o.Robots,
		userAgent: DefaultUserAgent, pdfReader: o.PDFs, resolver: o.resolver, now: o.now, patience: cmp.Or(o.patience, readerTime),
	}
	var err error
	if s.rules, err = o.rules(); err != nil {
		return s, err
	}
	if o.MaxBytes != 0 {
		s.maxBytes = o.MaxBytes
	}
	if s.maxBytes < 1<<10 || s.maxBytes > maxBytesLimit {
		return s, fmt.Errorf("max_bytes is %d; allowed are %d to %d", o.MaxBytes, 1<<10, maxBytesLimit)
	}
	if o.Timeout != "" {
		s.timeout, err = time.ParseDuration(o.Timeout)
		if err != nil || s.timeout < time.Second || s.timeout > timeoutLimit {
			return s, fmt.Errorf("timeout is %q; allowed is a duration from 1s to %v, such as 20s", o.Timeout, timeoutLimit)
		}
	}
	if o.UserAgent != "" {
		s.userAgent = o.UserAgent
	}
	if s.product = product(s.userAgent); s.product == "" || strings.ContainsFunc(s.userAgent, isControl) {
		return s, fmt.Errorf("user_agent is %q; it has to begin with a name of letters, such as %s", o.UserAgent, DefaultUserAgent)
	}
	if s.proxy, err = proxyAddress(o.Proxy); err != nil {
		return s, err
	}
	if s.resolver == nil {
		s.resolver = net.DefaultResolver
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

func (o Options) rules() (rules, error) {
	var r rules
	for _, text := range o.AllowRanges {
		p, err := netip.ParsePrefix(text)
		if one, e := netip.ParseAddr(text); e == nil && one.Zone() == "" {
			p, err = one.Prefix(one.BitLen())
		}
		if err != nil {
			return r, fmt.Errorf("allow_ranges has %q; allowed are addresses and ranges such as 10.0.0.0/8 or fd00::/8", text)
		}
		r.ranges = append(r.ranges, unmapped(p))
	}
	for name, list := range map[string][]string{"allow_hosts": o.AllowHosts, "deny_hosts": o.DenyHosts} {
		for _, pattern := range list {
			rest, wild := strings.CutPrefix(strings.ToLower(pattern), "*.")
			host, err := canonicalHost(rest)
			if err != nil {
				return r, fmt.Errorf("%s has %q; allowed are host names without port, such as example.com or *.example.com", name, pattern)
			}
			p := hostPattern{host, wild}
			if name == "deny_hosts" {
				r.denied = append(r.denied, p)
			} else {
				r.allowed = append(r.allowed, p)
			}
		}
	}
	return r, nil
}

func proxyAddress(text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5") {
		// The address is left out: it may hold a password.
		return nil, fmt.Errorf("proxy is no address of a proxy; allowed are such as http://proxy.example.com:3128 or socks5://127.0.0.1:1080")
	}
	return u, nil
}

// product is the name that robots.txt knows a user agent by: RFC 9309 2.2.1
// allows letters, "-" and "_".
func product(userAgent string) string {
	end := strings.IndexFunc(userAgent, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
	if end < 0 {
		end = len(userAgent)
	}
	return strings.ToLower(userAgent[:end])
}
