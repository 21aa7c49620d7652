package web

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"legwork/web/problem"
)

// routes are the handlers that need no token, by exact path.
type routes map[string]route

type route struct {
	method string // GET also serves HEAD
	http.Handler
	anyHost bool // serve it whatever host the request names
}

// mount is everything that one listening address serves.
type mount struct {
	routes
	hostCheck
	auth    *auth        // nil: no path needs a token
	console http.Handler // nil: no page
}

// ServeHTTP implements http.Handler.
func (m mount) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	one, open := m.routes[r.URL.Path]
	if !one.anyHost && !m.allows(r.Host) {
		problem.New(problem.Host, "legwork does not answer under the host name of this request. To make it reachable under that name, set http.public_url in the config.").Write(w)
		return
	}
	switch {
	case open:
		one.serve(w, r)
	case m.start() != "" && (r.URL.Path == "/" && fromBrowser(r) || m.console != nil && r.URL.Path == "/console"):
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Location", m.start()) // relative, because a proxy may serve legwork below a path
		w.WriteHeader(http.StatusFound)
	case m.auth != nil && m.auth.signInOpen(r) != nil:
		setRoute(w, r.Method+" "+r.URL.Path)
		m.auth.signInOpen(r)(w, r)
	case m.auth != nil && m.auth.metadata(r) != nil:
		route{method: http.MethodGet, Handler: m.auth.metadata(r)}.serve(w, r)
	case m.console != nil && strings.HasPrefix(r.URL.Path, "/console/"):
		setRoute(w, "GET /console/")
		m.console.ServeHTTP(w, r)
	case m.auth != nil && m.auth.handler(r.URL.Path) != nil:
		m.auth.ServeHTTP(w, r)
	case m.routes["/docs"].Handler != nil:
		problem.New(problem.NotFound, "There is nothing at this address; /docs lists all calls.").Write(w)
	default:
		problem.New(problem.NotFound, "").Write(w)
	}
}

// start is where a browser at / is sent: to the page, or to the one about the API;
// empty for neither.
func (m mount) start() string {
	switch {
	case m.console != nil:
		return "console/"
	case m.routes["/docs"].Handler != nil:
		return "docs"
	}
	return ""
}

// fromBrowser reports a request for a page that people read.
func fromBrowser(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (one route) serve(w http.ResponseWriter, r *http.Request) {
	allow := one.method
	if allow == http.MethodGet {
		allow = "GET, HEAD"
	}
	if r.Method != one.method && (one.method != http.MethodGet || r.Method != http.MethodHead) {
		problem.WriteMethod(w, r, allow)
		return
	}
	setRoute(w, one.method+" "+r.URL.Path)
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	one.ServeHTTP(w, r)
}

func webhookRoutes(hooks map[string]http.Handler) routes {
	all := routes{}
	for path, h := range hooks {
		all[path] = route{http.MethodPost, h, true}
	}
	return all
}

// publicRoutes are the probes and the pages about the API. /healthz answers while
// the process runs at all, /readyz tells whether its parts work.
func publicRoutes(health func() map[string]error, docs http.Handler, open, forms map[string]http.Handler) routes {
	if health == nil {
		health = func() map[string]error { return nil }
	}
	all := routes{
		"/healthz": {http.MethodGet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reply(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok"))
		}), true},
		"/readyz": {http.MethodGet, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			writeReady(w, health())
		}), false},
	}
	for path, h := range open {
		all[path] = route{method: http.MethodGet, Handler: h}
	}
	for path, h := range forms {
		all[path] = route{method: http.MethodPost, Handler: h}
	}
	if docs != nil {
		for _, path := range []string{"/openapi.json", "/docs"} {
			all[path] = route{method: http.MethodGet, Handler: docs}
		}
	}
	return all
}

func writeReady(w http.ResponseWriter, health map[string]error) {
	answer := struct {
		Status string            `json:"status"`
		Parts  map[string]string `json:"parts"`
	}{statusReady, make(map[string]string, len(health))}
	for part, err := range health {
		answer.Parts[part], answer.Status = partStatus(answer.Status, err)
	}
	status := http.StatusOK
	if answer.Status == statusNotReady {
		status = http.StatusServiceUnavailable
	}
	replyJSON(w, status, answer)
}

// What /readyz says of the whole process.
const (
	statusReady    = "ready"
	statusDegraded = "degraded"
	statusNotReady = "not ready"
)

// partStatus returns the text about one part, and the status of the whole process
// with it.
func partStatus(whole string, err error) (text, now string) {
	switch {
	case err == nil:
		return "ok", whole
	case IsDegraded(err):
		if whole == statusReady {
			whole = statusDegraded
		}
		return "degraded: " + err.Error(), whole
	}
	return err.Error(), statusNotReady
}

// degraded is the problem of a part that legwork can do without.
type degraded struct{ error }

func (d degraded) Unwrap() error { return d.error }

// Degraded marks a problem in Config.Health that does not make the process
// unready: /readyz shows it, but requests still arrive, and people may need them to
// solve it.
func Degraded(err error) error { return degraded{err} }

// IsDegraded reports whether an error was marked by Degraded.
func IsDegraded(err error) bool { return errors.As(err, new(degraded)) }

// hostCheck says under which host names an address serves requests.
type hostCheck struct {
	checked bool   // false: under every name
	public  string // allowed beside the names of this machine; empty: none
}

// allows reports whether a request with this Host may be served. A page of a
// stranger can lead a browser here under a name of its own (DNS rebinding); the
// browser then sends that name.
func (h hostCheck) allows(host string) bool {
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

// trusts reports whether an address is that of a trusted proxy.
func trusts(proxies []netip.Prefix, at netip.Addr) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(at) })
}

// clientAddr is the address of the client: that of the connection, or, when that is
// a trusted proxy, the last address of X-Forwarded-For that is none.
func clientAddr(r *http.Request, proxies []netip.Prefix) netip.Addr {
	port, _ := netip.ParseAddrPort(r.RemoteAddr)
	at := port.Addr().Unmap().WithZone("")
	chain := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, text := range slices.Backward(chain) {
		if !trusts(proxies, at) {
			break
		}
		text = strings.TrimSpace(text)
		before, err := netip.ParseAddr(text)
		if withPort, portErr := netip.ParseAddrPort(text); portErr == nil { // some gateways add a port
			before, err = withPort.Addr(), nil
		}
		if err != nil {
			break
		}
		at = before.Unmap().WithZone("")
	}
	return at
}
