package web_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"legwork/tools/builtin/web"
)

// privateHosts are spellings of addresses that must never be contacted. PORT is
// where the canary listens.
func privateHosts() []string {
	return []string{
		// plain
		"127.0.0.1:PORT", "127.0.0.2:PORT", "127.255.255.254:PORT", "0.0.0.0:PORT", "0.1.2.3:PORT", "10.0.0.1:PORT", "10.255.255.255:PORT",
		"172.16.0.1:PORT", "172.31.255.255:PORT", "192.168.0.1:PORT", "192.168.1.1", "169.254.0.1:PORT", "169.254.169.254", "169.254.170.2",
		"100.64.0.1:PORT", "100.100.100.200", "192.0.0.1:PORT", "192.0.0.192", "192.0.2.1:PORT", "198.18.0.1:PORT", "198.51.100.7:PORT", "203.0.113.9:PORT",
		"192.88.99.1:PORT", "224.0.0.1:PORT", "239.255.255.250:PORT", "240.0.0.1:PORT", "255.255.255.255:PORT", "168.63.129.16",
		// IPv4 in other clothes
		"127.1:PORT", "127.0.1:PORT", "2130706433:PORT", "0x7f000001:PORT", "0x7F.0.0.1:PORT", "0x7f.1:PORT", "017700000001:PORT", "0177.0.0.1:PORT", "0177.0.0.01:PORT",
		"127.0.0.01:PORT", "00127.0.0.1:PORT", "127.0.0.1.:PORT", "127.0.0.1..:PORT", "127.0.0.256:PORT", "0:PORT", "0x0:PORT", "4294967296:PORT", "425.510.425.510:PORT",
		"0x7f000001.:PORT", "127.0.0.0x1:PORT", "1.2.3.0x7f000001:PORT",
		// IPv6
		"[::1]:PORT", "[0:0:0:0:0:0:0:1]:PORT", "[0000::0001]:PORT", "[::]:PORT", "[::127.0.0.1]:PORT", "[::7f00:1]:PORT", "[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]:PORT",
		"[0:0:0:0:0:ffff:127.0.0.1]:PORT", "[::ffff:10.0.0.1]:PORT", "[::ffff:169.254.169.254]", "[::ffff:0:127.0.0.1]:PORT", "[64:ff9b::127.0.0.1]:PORT", "[64:ff9b::7f00:1]:PORT",
		"[64:ff9b::169.254.169.254]", "[64:ff9b:1::1]:PORT", "[2002:7f00:1::]:PORT", "[2002:a9fe:a9fe::1]", "[2001:0:0:0:0:0:80ff:fffe]:PORT", "[2001:db8::1]:PORT",
		"[3fff::1]:PORT", "[fc00::1]:PORT", "[fd00:ec2::254]", "[fd12:3456::1]:PORT", "[fe80::1]:PORT", "[fe80::1%25lo]:PORT", "[::1%25lo]:PORT", "[::1%25]:PORT", "[fec0::1]:PORT", "[ff02::1]:PORT", "[5f00::1]:PORT",
		"[100::1]:PORT", "[4000::1]:PORT",
		// names
		"localhost:PORT", "LOCALHOST:PORT", "localhost.:PORT", "localhost..:PORT", "ip6-localhost:PORT", "private.test:PORT", "private.test.:PORT", "PRIVATE.test:PORT", "loop.test:PORT", "loop6.test:PORT",
		"mapped.test:PORT", "nat64.test:PORT", "metadata.test", "cgnat.test:PORT", "ula.test", "linklocal.test:PORT", "zero.test:PORT", "all.test:PORT", "sixtofour.test:PORT", "teredo.test:PORT", "compat.test:PORT",
		// Unicode that turns into dots, digits and letters
		"127。0。0。1:PORT", "127.0.0。1:PORT", "127｡0｡0｡1:PORT", "１２７.０.０.１:PORT", "①②⑦.⓪.⓪.①:PORT", "ⓛocalhost:PORT", "ｌｏｃａｌｈｏｓｔ:PORT", "loc\u00adalhost:PORT", "local\u200bhost:PORT", "𝟏𝟐𝟕.𝟎.𝟎.𝟏:PORT",
		// people and ports
		"user@127.0.0.1:PORT", "user:password@localhost:PORT", "example.com@127.0.0.1:PORT", "127.0.0.1:PORT@example.com", "127.0.0.1:PORT#@example.com", "127.0.0.1:PORT?@example.com",
		"127.0.0.1%2f@example.com:PORT", "127.0.0.1\\@example.com:PORT", "example.com\\@127.0.0.1:PORT", "@127.0.0.1:PORT", ":@127.0.0.1:PORT",
		"127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:+80", "127.0.0.1:-1", "127.0.0.1:0x50", "127.0.0.1:80:PORT", "127.0.0.1:", "", ":PORT", "%31%32%37.0.0.1:PORT", "127.0.0.1%00.example.com:PORT",
		"[::1", "::1:PORT", "[127.0.0.1]:PORT", "[::1].example.com:PORT", "[v1.127.0.0.1]:PORT", "127.0.0.1,example.com:PORT", "127.0.0.1 .example.com:PORT", "a..b:PORT", ".localhost:PORT", "-:PORT",
	}
}

// privateURLs are whole addresses.
func privateURLs() []string {
	list := []string{
		"file:///etc/passwd", "file://localhost/etc/passwd", "gopher://127.0.0.1:PORT/_x", "ftp://127.0.0.1:PORT/", "ftps://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/d:x", "ldap://127.0.0.1:PORT/",
		"tftp://127.0.0.1:PORT/", "ssh://127.0.0.1:PORT/", "ws://127.0.0.1:PORT/", "unix:///run/docker.sock", "http+unix://%2frun%2fdocker.sock/info", "jar:http://127.0.0.1:PORT!/", "data:text/html,<p>hello",
		"javascript:fetch('http://127.0.0.1:PORT')", "about:blank", "view-source:http://127.0.0.1:PORT/", "blob:http://127.0.0.1:PORT/x", "//127.0.0.1:PORT/", "/etc/passwd", "127.0.0.1:PORT", "localhost:PORT/x",
		"http:127.0.0.1:PORT", "http:/127.0.0.1:PORT", "http:///127.0.0.1:PORT", "http:\\\\127.0.0.1:PORT\\", "http://", "https://", "http", ":", "?", "#", " ", "\x00",
		" http://127.0.0.1:PORT/", "http://127.0.0.1:PORT/ ", "ht\ntp://127.0.0.1:PORT/", "http://127.0.0.1:PORT/\r\nHost: example.com", "http://example.com\r\nX: y@127.0.0.1:PORT/", "http://127.0.0.1\t:PORT/",
		"http://127.0.0.1:PORT/%0d%0aHost:%20x", "HTTP://127.0.0.1:PORT/", "hTtPs://127.0.0.1:PORT/", "http://127.0.0.1:PORT\u2028/", "http://\u202e1.0.0.721:PORT/", "http://\xff\xfe127.0.0.1:PORT/",
	}
	for _, host := range privateHosts() {
		list = append(list, "http://"+host+"/latest/meta-data/")
	}
	return list
}

// privateNames are names that somebody else's DNS server leads to private
// addresses.
func privateNames() map[string][]string {
	return map[string][]string{
		"private.test": {"10.0.0.1"}, "loop.test": {"127.0.0.1"}, "loop6.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"}, "nat64.test": {"64:ff9b::7f00:1"},
		"metadata.test": {"169.254.169.254"}, "cgnat.test": {"100.100.100.200"}, "ula.test": {"fd00:ec2::254"}, "linklocal.test": {"fe80::1"}, "zero.test": {"0.0.0.0"},
		"all.test": {"127.0.0.1,10.0.0.1,::1,fe80::1"}, "sixtofour.test": {"2002:7f00:1::"}, "teredo.test": {"2001:0:7f00:1::1"}, "compat.test": {"::127.0.0.1"},
	}
}

func TestPrivateAddressesAreNotContacted(t *testing.T) {
	c := newCanary(t)
	_, resolver := newNames(t, privateNames())
	no := false
	fetch := fetcher(t, web.Options{Robots: &no, Timeout: "5s"}.With(resolver, nil))
	if conn, err := net.Dial("tcp", "127.0.0.1:"+c.port); err != nil {
		t.Fatal(err)
	} else if _, err := conn.Read(make([]byte, 1)); err == nil || c.count.Swap(0) != 1 {
		t.Fatal("the canary does not see connections")
	}
	list := privateURLs()
	if len(list) < 150 {
		t.Fatalf("the list has %d addresses, want 150 or more", len(list))
	}
	for _, u := range list {
		u = strings.ReplaceAll(u, "PORT", c.port)
		if text, failed := fetch(u); !failed {
			t.Errorf("fetch(%q): got %q, want an error", u, text)
		} else if strings.Contains(text, "context deadline") || len(text) < 20 {
			t.Errorf("fetch(%q): got the error %q, want one that says what to do", u, text)
		}
		if n := c.count.Swap(0); n != 0 {
			t.Errorf("fetch(%q): %d connections were made", u, n)
		}
	}
}

// other is an address of this machine that stands for a public one.
const other = "127.0.0.2"

func listenOn(t *testing.T, address string, h http.Handler) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("this machine cannot listen on %s: %v", address, err)
	}
	s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func TestRedirectsToPrivateAddressesAreNotFollowed(t *testing.T) {
	c := newCanary(t)
	_, resolver := newNames(t, privateNames())
	where := ""
	s := listenOn(t, other+":0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header()["Location"] = []string{where}
		w.WriteHeader(http.StatusFound)
	}))
	fetch := fetcher(t, web.Options{AllowRanges: []string{other}, Timeout: "5s"}.With(resolver, nil))
	for _, u := range privateURLs() {
		where = strings.ReplaceAll(u, "PORT", c.port)
		if strings.Contains(where, other+":") {
			continue // allowed here
		}
		if text, failed := fetch(s.URL); !failed && !strings.HasPrefix(text, "The page redirects to ") {
			t.Errorf("fetch of a redirect to %q: got %q, want an error or the address", where, text)
		}
		if n := c.count.Swap(0); n != 0 {
			t.Errorf("fetch of a redirect to %q: %d connections were made", where, n)
		}
	}
}

func TestNameThatChangesItsAddress(t *testing.T) {
	visits := 0
	s := listenOn(t, other+":0", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits++
		w.Header().Set("Connection", "close")
		w.Header().Set("Location", "/again")
		w.WriteHeader(http.StatusFound)
	}))
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	listenOn(t, "127.0.0.1:"+port, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the private server was contacted")
	}))
	n, resolver := newNames(t, map[string][]string{"rebind.test": {other, "127.0.0.1"}, "both.test": {"127.0.0.1," + other}})
	no := false
	fetch := fetcher(t, web.Options{AllowRanges: []string{other}, Robots: &no}.With(resolver, nil))
	text, failed := fetch("http://rebind.test:" + port)
	if want := "rebind.test is not contacted: its address is loopback"; !failed || !strings.Contains(text, want) {
		t.Errorf("fetch of a name that became private: got %q, want %q", text, want)
	}
	if visits != 1 || !n.wasAsked("rebind.test") {
		t.Errorf("the public server had %d visits, want 1", visits)
	}
	if fetch("http://both.test:" + port); visits < 2 {
		t.Errorf("a name with a public and a private address: the public server had %d visits, want more than 1", visits)
	}
}

// What a proxy connects to is checked before it is asked.
func TestProxyIsNotAskedForPrivateAddresses(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "from the proxy")
	}))
	defer proxy.Close()
	answers := privateNames()
	answers["public.test"] = []string{"93.184.215.14"}
	answers["half.test"] = []string{"93.184.215.14,10.0.0.1"}
	_, resolver := newNames(t, answers)
	no := false
	fetch := fetcher(t, web.Options{Proxy: proxy.URL, Robots: &no}.With(resolver, nil))
	if text, failed := fetch("http://public.test/x"); failed || !strings.Contains(text, "from the proxy") {
		t.Errorf("fetch by the proxy: got %q, failed %v", text, failed)
	}
	for _, u := range append(privateURLs(), "http://half.test/") {
		u = strings.ReplaceAll(u, "PORT", "80")
		if text, failed := fetch(u); !failed {
			t.Errorf("fetch(%q) by the proxy: got %q, want an error", u, text)
		}
	}
	if len(asked) != 1 {
		t.Errorf("the proxy was asked for %q, want only the public page", asked)
	}
}

// The environment's proxy would connect to anything.
func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	s := serve(t, "text/plain", "direct")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:9")
	t.Setenv("http_proxy", "http://127.0.0.1:9")
	_, resolver := newNames(t, map[string][]string{"page.test": {"127.0.0.1"}})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	if text, failed := fetcher(t, loopback().With(resolver, nil))("http://page.test:" + port); failed || !strings.Contains(text, "direct") {
		t.Errorf("fetch with a proxy in the environment: got %q, failed %v", text, failed)
	}
}

func TestHosts(t *testing.T) {
	s := serve(t, "text/plain", "hello")
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	_, resolver := newNames(t, map[string][]string{"good.test": {"127.0.0.1"}, "a.good.test": {"127.0.0.1"}, "bad.good.test": {"127.0.0.1"}, "xgood.test": {"127.0.0.1"}})
	o := loopback()
	o.AllowHosts, o.DenyHosts = []string{"Good.test", "*.good.test"}, []string{"bad.good.test."}
	fetch := fetcher(t, o.With(resolver, nil))
	for host, ok := range map[string]bool{"good.test": true, "GOOD.test.": true, "a.good.test": true, "bad.good.test": false, "BAD.good.test.": false, "xgood.test": false, "127.0.0.1": false} {
		text, failed := fetch("http://" + host + ":" + port + "/")
		if failed == ok || (!ok && !strings.Contains(text, "the admin does not allow this host")) {
			t.Errorf("fetch from %s: got %q, failed %v; want failed %v", host, text, failed, !ok)
		}
	}
}

func TestHost(t *testing.T) {
	for in, want := range map[string]string{
		"https://Example.COM./a?b#c": "example.com", "http://example.com:8080": "example.com", "https://[2A00:1450::1]:443/": "2a00:1450::1", "http://1.2.3.4": "1.2.3.4",
		"https://кремль.рф/": "xn--e1ajeds9e.xn--p1ai", "https://例え。テスト/": "xn--r8jz45g.xn--zckzah", "https://a_b.example.com": "a_b.example.com",
	} {
		if got, err := web.Host(in); got != want || err != nil {
			t.Errorf("Host(%q): got %q, %v; want %q", in, got, err, want)
		}
	}
	for _, in := range privateURLs() {
		if got, err := web.Host(strings.ReplaceAll(in, "PORT", "80")); err == nil && strings.ContainsAny(got, "@\\/ ?#%") {
			t.Errorf("Host(%q): got %q", in, got)
		}
	}
}

func TestAllowRanges(t *testing.T) {
	s := serve(t, "text/plain", "hello")
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	for _, c := range []struct {
		ranges string
		ok     bool
	}{{"127.0.0.1", true}, {"127.0.0.0/8", true}, {"::ffff:127.0.0.1", true}, {"::ffff:127.0.0.0/104", true}, {"0.0.0.0/0", true}, {"127.0.0.2", false}, {"::/0", false}, {"10.0.0.0/8", false}} {
		fetch := fetcher(t, web.Options{AllowRanges: []string{c.ranges}})
		for _, host := range []string{"127.0.0.1", "[::ffff:127.0.0.1]"} {
			if text, failed := fetch("http://" + host + ":" + port); failed == c.ok {
				t.Errorf("fetch from %s with allow_ranges %s: got %q, failed %v; want failed %v", host, c.ranges, text, failed, !c.ok)
			}
		}
	}
}

func TestPublicAddressesAreNotRefused(t *testing.T) {
	// They get no data: the time is over at once.
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "198.20.0.1", "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "2620:fe::fe"} {
		addr := netip.MustParseAddr(a)
		if err := web.CheckAddress(addr); err != nil {
			t.Errorf("%s: got %v, want no error", a, err)
		}
	}
}

func FuzzHost(f *testing.F) {
	for _, u := range privateURLs() {
		f.Add(strings.ReplaceAll(u, "PORT", "80"))
	}
	f.Fuzz(func(t *testing.T, raw string) {
		host, err := web.Host(raw)
		if err != nil {
			return
		}
		if again, err := web.Host("http://" + bracket(host) + "/"); err != nil || again != host {
			t.Errorf("Host(%q) is %q, which reads as %q, %v", raw, host, again, err)
		}
		if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("@/\\?#%[]", r) }) {
			t.Errorf("Host(%q): got %q", raw, host)
		}
	})
}

func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
