package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/golang-lru/v2"
)

// Of robots.txt, after RFC 9309: how much is read (2.5), how many sites are
// remembered, how long an answer holds (2.4), and how long a failure does.
const (
	maxRobots      = 500 << 10
	robotsSites    = 128
	robotsBytes    = 32 << 10 // of one site; what says more is asked for every time
	robotsLifetime = 24 * time.Hour
	robotsRetry    = time.Minute
)

// robots knows what sites let programs fetch.
type robots struct {
	known *lru.Cache[string, siteRules] // by scheme and host with port
}

// siteRules is what a site's robots.txt says to this program.
type siteRules struct {
	rules      []robotsRule
	unreadable bool // it could not be asked: everything is forbidden (RFC 9309 2.3.1.4)
	expires    time.Time
}

// size is about what m takes in memory.
func (m siteRules) size() int {
	n := 0
	for _, r := range m.rules {
		n += 24 + len(r.pattern)
	}
	return n
}

func newRobots() *robots {
	known, err := lru.New[string, siteRules](robotsSites)
	if err != nil {
		panic("making the cache of robots.txt: " + err.Error()) // only of a size below 1
	}
	return &robots{known}
}

// check tells why u may not be fetched by a program.
func (r *robots) check(ctx context.Context, f *fetcher, client *http.Client, u *url.URL) error {
	if u.EscapedPath() == "/robots.txt" {
		return nil
	}
	site := u.Scheme + "://" + u.Host
	m, ok := r.known.Get(site)
	if !ok || !f.now().Before(m.expires) {
		var err error
		if m, err = fetchRobots(ctx, f, client, u); err != nil {
			return err
		}
		if r.known.Remove(site); f.now().Before(m.expires) {
			r.known.Add(site, m)
		}
	}
	switch {
	case m.unreadable:
		return fmt.Errorf("%s did not tell whether programs may fetch its pages (its robots.txt cannot be read); use another source, or try again later", u.Host)
	case !permits(m.rules, robotsPath(u)):
		return fmt.Errorf("the robots.txt of %s asks programs not to fetch this page; respect that and use another source", u.Host)
	}
	return nil
}

// fetchRobots fetches a site's robots.txt. The error is one of the site itself: that it
// may not be contacted, or does not answer.
func fetchRobots(ctx context.Context, f *fetcher, client *http.Client, u *url.URL) (siteRules, error) {
	failed := siteRules{unreadable: true, expires: f.now().Add(robotsRetry)}
	free := siteRules{expires: f.now().Add(robotsLifetime)}
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	for hop := range maxRedirects + 1 {
		res, err := f.open(ctx, client, at)
		if err != nil && hop == 0 {
			return failed, err // the page itself could not be fetched either
		} else if err != nil {
			return failed, nil //nolint:nilerr // a site that cannot be asked forbids everything
		}
		next, wrong := redirect(res, at)
		body, err := io.ReadAll(io.LimitReader(res.Body, maxRobots))
		res.Body.Close()
		switch {
		case next != nil && !sameHost(at, next):
			return free, nil // legwork may not ask that host unjudged, so the site has no rules of its own
		case next != nil:
			at = next
			continue
		case err != nil || wrong != nil || res.StatusCode >= 500:
			return failed, nil //nolint:nilerr // a site that cannot be asked forbids everything
		case res.StatusCode >= 300:
			return free, nil
		}
		m := siteRules{rules: parseRobots(string(body), f.product), expires: f.now()}
		if m.size() <= robotsBytes {
			m.expires = free.expires
		}
		return m, nil
	}
	return failed, nil
}

// robotsPath is what rules are compared with.
func robotsPath(u *url.URL) string {
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return encoded(path)
}

// robotsRule allows or forbids paths; "*" in it is any text, "$" at its end the
// end of the path.
type robotsRule struct {
	pattern string
	allow   bool
}

// parseRobots returns the rules for one program: those of the groups that name
// it, else those for all. Whatever cannot be understood is left out.
func parseRobots(text, product string) []robotsRule {
	var ours, all []robotsRule
	named, forUs, forAll, inAgents := false, false, false, false
	for line := range strings.FieldsFuncSeq(strings.TrimPrefix(text, "\ufeff"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, ok := strings.Cut(line, ":")
		if key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value); !ok {
			continue
		}
		switch key {
		case "user-agent":
			if !inAgents {
				forUs, forAll = false, false
			}
			inAgents = true
			forUs = forUs || strings.EqualFold(value, product)
			forAll = forAll || value == "*"
			named = named || forUs
		case "allow", "disallow":
			inAgents = false
			rule := robotsRule{encoded(value), key == "allow"}
			if forUs && value != "" {
				ours = append(ours, rule)
			}
			if forAll && value != "" {
				all = append(all, rule)
			}
		}
	}
	if named {
		return ours
	}
	return all
}

// permits follows the longest rule that fits; of two equally long ones that
// which allows (RFC 9309 2.2.2).
func permits(rules []robotsRule, path string) bool {
	longest, allow := -1, true
	for _, r := range rules {
		if n := len(r.pattern); (n > longest || n == longest && r.allow) && fits(r.pattern, path) {
			longest, allow = n, r.allow
		}
	}
	return allow
}

// fits compares without going back by more than one "*", so that no pattern
// takes more than the product of both lengths.
func fits(pattern, path string) bool {
	pattern, whole := strings.CutSuffix(pattern, "$")
	pieces := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(path, pieces[0])
	if !ok {
		return false
	}
	for i, piece := range pieces[1:] {
		if whole && i == len(pieces)-2 {
			return strings.HasSuffix(rest, piece)
		}
		_, after, found := strings.Cut(rest, piece)
		if !found {
			return false
		}
		rest = after
	}
	return !whole || rest == ""
}

// encoded writes a path or pattern in the one way in which two of them can be
// compared: what needs no escape has none, escapes are in upper case.
func encoded(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			code := strings.ToUpper(s[i+1 : i+3])
			if n := unhex(code[0])<<4 | unhex(code[1]); unreserved(n) {
				b.WriteByte(n)
			} else {
				b.WriteString("%" + code)
			}
			i += 2
			continue
		}
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c - 'A' + 10
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
