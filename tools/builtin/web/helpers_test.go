package web_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"legwork/files/read"
	"legwork/internal/test/need"
	"legwork/internal/test/servers"
	"legwork/tools/builtin/web"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// pdfReader keeps the code of the PDF library for all tests.
var pdfReader read.Reader

// TestMain lets the test binary read PDFs for itself, as legwork does.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == read.Command {
		if err := read.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	need.Parallel(8)
	cache, err := os.MkdirTemp("", "legwork-code-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	pdfReader.Cache = cache
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(cache)
		os.Exit(code)
	}))
}

// loopback are the options of tests that serve their own pages.
func loopback() web.Options {
	return web.Options{AllowRanges: []string{"127.0.0.0/8", "::1"}, PDFs: pdfReader}
}

// fetcher makes a server and returns a function that calls its tool: the text,
// and whether it is an error.
func fetcher(t testing.TB, o web.Options) func(args ...any) (string, bool) {
	t.Helper()
	call := caller(t, o)
	return func(args ...any) (string, bool) {
		t.Helper()
		in := map[string]any{"url": args[0]}
		for i := 1; i < len(args); i += 2 {
			in[args[i].(string)] = args[i+1]
		}
		res, err := call(t.Context(), in)
		if err != nil {
			return err.Error(), true
		}
		return servers.Text(res), res.IsError
	}
}

func caller(t testing.TB, o web.Options) func(context.Context, map[string]any) (*mcp.CallToolResult, error) {
	t.Helper()
	s, err := web.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c := servers.Connect(t, s)
	return func(ctx context.Context, args map[string]any) (*mcp.CallToolResult, error) {
		return servers.Call(ctx, c, "fetch", args, nil)
	}
}

// serve answers every path but robots.txt with a body.
func serve(t testing.TB, contentType, body string) *httptest.Server {
	t.Helper()
	return site(t, func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		_, _ = w.Write([]byte(body))
	})
}

// site has no robots.txt.
func site(t testing.TB, handle http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		handle(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// canary counts the connections that reach this machine, at any of its
// addresses.
type canary struct {
	port  string
	count atomic.Int64
}

func newCanary(t *testing.T) *canary {
	t.Helper()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{}
	_, c.port, _ = net.SplitHostPort(l.Addr().String())
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			c.count.Add(1)
			conn.Close()
		}
	})
	t.Cleanup(func() { l.Close(); all.Wait() })
	return c
}

// names is a DNS server that speaks the real protocol. A name with several
// answers gives one after the other, and the last one for ever; answers are
// addresses with commas between.
type names struct {
	mu      sync.Mutex
	answers map[string][]string
	asked   []string
}

func newNames(t testing.TB, answers map[string][]string) (*names, *net.Resolver) {
	t.Helper()
	n := &names{answers: answers}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for b := make([]byte, 4096); ; {
			size, from, err := conn.ReadFrom(b)
			if err != nil {
				return
			}
			if reply := n.reply(b[:size]); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	})
	t.Cleanup(func() { _ = conn.Close(); all.Wait() })
	return n, &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (n *names) reply(query []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(query) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	name := strings.TrimSuffix(strings.ToLower(q.Name.String()), ".")
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	list, known := n.next(name, q.Type)
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, text := range list {
		head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
		ip := net.ParseIP(text)
		if ip4 := ip.To4(); ip4 != nil && !strings.Contains(text, ":") && q.Type == dnsmessage.TypeA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AResource{A: [4]byte(ip4)}})
		} else if strings.Contains(text, ":") && q.Type == dnsmessage.TypeAAAA {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: head, Body: &dnsmessage.AAAAResource{AAAA: [16]byte(ip.To16())}})
		}
	}
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}

// next goes on to a name's next answer when its A records were asked for.
func (n *names) next(name string, kind dnsmessage.Type) ([]string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	list, ok := n.answers[name]
	if !ok {
		return nil, false
	}
	if kind == dnsmessage.TypeA {
		n.asked = append(n.asked, name)
		if len(list) > 1 {
			n.answers[name] = list[1:]
		}
	}
	return strings.Split(list[0], ","), true
}

func (n *names) wasAsked(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.asked, name)
}
