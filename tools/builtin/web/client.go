package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"legwork/internal/clip"
)

const (
	maxRedirects = 5
	maxHeader    = 256 << 10
	dialTimeout  = 10 * time.Second
)

// fetcher gets pages. Every connection it makes is checked when its address is
// known, so that no name, redirect or second lookup leads to a private one.
type fetcher struct {
	settings
	site  *robots       // what sites allow; nil: not asked
	pages chan struct{} // holds a token for each page that is being read
	pdfs  chan struct{} // and for each PDF
}

// response is what a server answered after all redirects.
type response struct {
	hops   []*url.URL // the addresses it went through; the last one answered
	status int
	header http.Header
	body   []byte // at most maxBytes
	cut    bool   // there was more
}

func (r *response) url() *url.URL { return r.hops[len(r.hops)-1] }

// connections makes a client for one call: nothing of it outlives the call.
func (f *fetcher) connections() (*http.Client, func()) {
	d := &net.Dialer{Timeout: dialTimeout, Resolver: f.resolver, ControlContext: f.control}
	t := &http.Transport{
		DialContext:            d.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    dialTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    1,
	}
	if f.proxy != nil {
		// Only the proxy itself is ever dialled, which the admin chose.
		t.DialContext = (&net.Dialer{Timeout: dialTimeout, Resolver: f.resolver}).DialContext
		t.Proxy = http.ProxyURL(f.proxy)
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: t, CheckRedirect: stay}, t.CloseIdleConnections
}

// control is called before each connect, with the address that a name has at
// that moment.
func (f *fetcher) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("reading the address to connect to: %w", err)
	}
	return f.rules.checkAddress(hostOf(ctx), a.Addr())
}

// get reads the page. It follows redirects from u that stay on its host. One that
// leaves the host is an elsewhereError: the next call is judged by its own address.
func (f *fetcher) get(ctx context.Context, u *url.URL) (*response, error) {
	client, done := f.connections()
	defer done()
	r := &response{}
	for {
		r.hops = append(r.hops, u)
		if f.site != nil {
			if err := f.site.check(ctx, f, client, u); err != nil {
				return nil, err
			}
		}
		res, err := f.open(ctx, client, u)
		if err != nil {
			return nil, err
		}
		next, err := redirect(res, u)
		if err == nil && next == nil {
			return r, f.read(res, r)
		}
		res.Body.Close()
		switch {
		case err != nil:
			return nil, err
		case !sameHost(u, next):
			return nil, &elsewhereError{next}
		case len(r.hops) > maxRedirects:
			return nil, fmt.Errorf("%s redirects more than %d times, at last to %s; find another address of the page", r.hops[0].Host, maxRedirects, next.Host)
		}
		u = next
	}
}

// elsewhereError is a redirect to another host.
type elsewhereError struct{ to *url.URL }

func (e *elsewhereError) Error() string {
	return fmt.Sprintf("The page redirects to %s. Call fetch with that address to follow it.", e.to)
}

// sameHost reports that two addresses are of one host: http and https on their usual
// ports are, and so is the name with "www." before it.
func sameHost(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		if p := u.Port(); p != "80" && p != "443" {
			return p
		}
		return ""
	}
	name := func(u *url.URL) string { return strings.TrimPrefix(u.Hostname(), "www.") }
	return name(a) == name(b) && port(a) == port(b)
}

// open sends one request. The caller closes the body.
func (f *fetcher) open(ctx context.Context, client *http.Client, u *url.URL) (*http.Response, error) {
	host := u.Hostname()
	if err := f.rules.checkHost(host); err != nil {
		return nil, err
	}
	if err := f.checkBeforeProxy(ctx, host); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(withHost(ctx, host), http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", host, err)
	}
	req.Header.Set("User-Agent", f.userAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/markdown, application/pdf;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5")
	res, err := client.Do(req)
	if err != nil {
		return nil, f.explain(host, err)
	}
	return res, nil
}

// checkBeforeProxy looks a name up when a proxy will connect.
func (f *fetcher) checkBeforeProxy(ctx context.Context, host string) error {
	if f.proxy == nil {
		return nil
	}
	addresses, err := f.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return f.explain(host, err)
	}
	for _, a := range addresses {
		if err := f.rules.checkAddress(host, a); err != nil {
			return err
		}
	}
	return nil
}

// redirect is where a response leads; nil when it leads nowhere.
func redirect(res *http.Response, from *url.URL) (*url.URL, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	where := res.Header.Get("Location")
	if where == "" {
		return nil, nil
	}
	ref, err := url.Parse(where)
	if err != nil {
		return nil, fmt.Errorf("%s redirects to an address that cannot be read; find another address of the page", from.Host)
	}
	next, err := parseTarget(from.ResolveReference(ref).String())
	if err != nil {
		return nil, fmt.Errorf("%s redirects to an address that is refused: %w", from.Host, err)
	}
	return next, nil
}

// read takes the body of res, which it closes, into r. Parts that no reader
// will see are not read.
func (f *fetcher) read(res *http.Response, r *response) error {
	defer res.Body.Close()
	r.status, r.header = res.StatusCode, res.Header
	if coding := res.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fmt.Errorf("%s sent the page in the encoding %s, which was not asked for and cannot be read", r.url().Host, clip.Line(coding, 40))
	}
	if readable(kind(res.Header.Get("Content-Type"))) == "" {
		return nil
	}
	var err error
	r.body, err = io.ReadAll(io.LimitReader(res.Body, f.maxBytes+1))
	if int64(len(r.body)) > f.maxBytes {
		r.body, r.cut = r.body[:f.maxBytes], true
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the page (%d bytes came): %w", len(r.body), f.explain(r.url().Hostname(), err))
	}
	return nil
}

// explain says what went wrong with a host and what to do about it.
func (f *fetcher) explain(host string, err error) error {
	var no *blockedError
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &no):
		return no
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("there is no host %s; check the spelling, or search for the right address", host)
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("asking %s: %w", host, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s did not answer completely within %v; try again later or use another source", host, f.timeout)
	}
	return fmt.Errorf("asking %s: %w; try another address or another source", host, innerError(err))
}

type hostKey struct{}

// withHost lets control name the host that was asked for.
func withHost(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, hostKey{}, host)
}

func hostOf(ctx context.Context) string {
	host, _ := ctx.Value(hostKey{}).(string)
	return host
}
