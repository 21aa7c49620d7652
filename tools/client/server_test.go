package client_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/internal/test/watch"
	"legwork/tools/client"
)

// TestBadStarts is about servers that cannot be used at once.
func TestBadStarts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, by, want string
		args           []string
	}{
		{"ends at once", stdio, "cannot open the database", []string{"-fault", "start"}},
		{"never answers", stdio, "still starting", []string{"-fault", "mute"}},
		{"never reads", stdio, "still starting", []string{"-fault", "deaf"}},
		{"never answers", http, "still starting", []string{"-fault", "mute"}},
		{"never reads", http, "still starting", []string{"-fault", "deaf"}},
		{"never answers", sse, "still starting", []string{"-fault", "mute"}},
		{"breaks down", http, "500 Internal Server Error", []string{"-fault", "500", "-on", "*"}},
		{"is a web page", http, "text/html instead of MCP; check its url", []string{"-fault", "html", "-on", "*"}},
		{"is elsewhere", http, "redirects to another host", []string{"-fault", "redirect", "-on", "*"}},
		{"forbids it", http, "does not allow this", []string{"-fault", "403", "-on", "*"}},
	} {
		t.Run(c.by+" "+c.name, func(t *testing.T) {
			s := start(t, fake(t, c.by, c.args...), func(o *client.Options) { o.RestartDelay = time.Minute }) // it stays down
			if c.want != "still starting" {
				watch.Until(t, "down", func() bool { return s.Status().State == client.Down })
			}
			if _, err := try(t, s, "lookup", `{"key":"k"}`, within(200*time.Millisecond)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	for _, c := range []struct{ name, by, fault string }{
		{"ends on the modern greeting", stdio, "probe"},
		{"is silent on the modern greeting", stdio, "silent"},
		{"is silent on the modern greeting", http, "silent"},
		{"says nothing to the modern greeting", stdio, "empty"},
		{"says nothing to the modern greeting", http, "empty"},
	} {
		t.Run(c.by+" "+c.name, func(t *testing.T) {
			s := ready(t, fake(t, c.by, "-fault", c.fault, "-on", "server/discover"), func(o *client.Options) { o.ProbeTimeout = 100 * time.Millisecond })
			wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
			if st := s.Status(); st.Protocol != "2025-11-25" || st.Restarts != 0 {
				t.Errorf("got %+v, want protocol 2025-11-25 without a restart", st)
			}
		})
	}
	t.Run("floods its error output", func(t *testing.T) {
		l := &watch.Log{}
		s := ready(t, fake(t, stdio, "-fault", "stderr"), withLog(l))
		wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
		watch.Until(t, "the flood is cut", func() bool { return strings.Contains(l.String(), "more than is logged") })
	})
	t.Run("does not end when asked", func(t *testing.T) {
		s := ready(t, fake(t, stdio, "-fault", "stubborn"))
		wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
	})
}

// TestNoCommand: the reason why a program cannot be started names it once.
func TestNoCommand(t *testing.T) {
	folder := t.TempDir()
	for command, want := range map[string]string{
		"no-such-program": `starting "no-such-program": executable file not found in $PATH`,
		folder:            fmt.Sprintf("starting %q: permission denied", folder),
	} {
		s := start(t, client.Config{Name: "s", Command: command})
		watch.Until(t, "down", func() bool { return s.Status().State == client.Down })
		_, err := try(t, s, "lookup", "{}")
		if got := fmt.Sprint(err); got != `server "s" is down: `+want || !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("%s: got %q, want %q after the name of the server", command, got, want)
		}
	}
}

// TestOneHangs: a server that hangs, here for an hour, delays no other server.
func TestOneHangs(t *testing.T) {
	for _, by := range transports() {
		t.Run(by, func(t *testing.T) {
			var all []client.Config
			for i := range 8 {
				args := []string{}
				if i == 3 {
					args = []string{"-fault", "mute"}
				}
				all = append(all, fake(t, by, args...))
			}
			var wait sync.WaitGroup
			for i, cfg := range all {
				s := start(t, cfg, func(o *client.Options) { o.ProbeTimeout = time.Hour })
				if i == 3 {
					continue
				}
				wait.Go(func() {
					if err := s.WaitReady(t.Context()); err != nil {
						t.Errorf("server %d: got %v, want it to be ready", i, err)
					}
				})
			}
			wait.Wait()
		})
	}
}

// TestToken: a server that wants a token says so, and is reached with the right one.
func TestToken(t *testing.T) {
	for _, by := range []string{http, sse} {
		cfg := fake(t, by, "-token", "open-sesame")
		s := start(t, cfg)
		watch.Until(t, "down", func() bool { return s.Status().State == client.Down })
		if got := s.Status().Err; !strings.Contains(got, "401 Unauthorized") || !strings.Contains(got, "set its headers in the config") {
			t.Errorf("%s: got %q, want the headers named", by, got)
		}
		cfg.Headers = map[string]string{"Authorization": "Bearer open-sesame"}
		wantText(t, by, call(t, ready(t, cfg), "lookup", `{"key":"k"}`), false, "value of k")
	}
}

// TestComesBack: a remote server that is not there is reached when it comes, and
// again after it was away.
func TestComesBack(t *testing.T) {
	for _, by := range []string{http, sse} {
		t.Run(by, func(t *testing.T) {
			r := serve(t, by, "127.0.0.1:0")
			address := strings.TrimPrefix(strings.SplitAfter(r.url, r.url[strings.LastIndex(r.url, "/"):])[0], "http://")
			address = address[:strings.LastIndex(address, "/")]
			r.end()
			l := new(watch.Log)
			s := start(t, client.Config{Name: "s", URL: r.url, SSE: by == sse}, withLog(l))
			watch.Until(t, "down", func() bool { return s.Status().State == client.Down && s.Status().Restarts > 1 })
			if n := strings.Count(l.String(), "server is down"); n != 1 {
				t.Errorf("%d restarts for one reason: it is logged %d times, want once:\n%s", s.Status().Restarts, n, l)
			}
			for range 2 {
				r = serve(t, by, address)
				watch.Until(t, "ready", func() bool { return s.Status().State == client.Ready })
				wantText(t, "there", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
				r.end()
				watch.Until(t, "down again", func() bool {
					res, err := try(t, s, "lookup", `{"key":"k"}`, within(time.Second))
					return err != nil && !res.Failed
				})
			}
			if n := strings.Count(l.String(), "server is ready"); n < 2 {
				t.Errorf("it came back twice: logged %d times:\n%s", n, l)
			}
		})
	}
}

// TestLostSession: a call that the server refuses because it forgot the session
// is made again in a new one.
func TestLostSession(t *testing.T) {
	t.Run("forgotten", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		s := ready(t, fake(t, http, "-era", "legacy", "-fault", "session", "-after", "1", "-log", path))
		for i := range 6 {
			wantText(t, fmt.Sprint(i), call(t, s, "book", `{"item":"seat"}`), false, "booked seat")
		}
		if s.Status().Restarts == 0 {
			t.Error("got no new session, want some")
		}
		if n := strings.Count(read(path), `"done"`); n != 6 {
			t.Errorf("booked %d times, want 6; log: %s", n, read(path))
		}
	})
	t.Run("restarted", func(t *testing.T) {
		r := serve(t, http, "127.0.0.1:0", "-era", "legacy")
		s := ready(t, client.Config{Name: "s", URL: r.url})
		wantText(t, "before", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
		r.end()
		serve(t, http, strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/mcp"), "-era", "legacy")
		watch.Until(t, "a call succeeds", func() bool {
			res, _ := try(t, s, "lookup", `{"key":"k"}`, within(2*time.Second))
			return res.Text == "value of k"
		})
	})
}

// TestHealth: an idle server that hangs is found out and connected anew.
func TestHealth(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			s := ready(t, fake(t, http, "-era", era), func(o *client.Options) { o.Health = 20 * time.Millisecond })
			restarts := s.Status().Restarts
			wantText(t, "healthy", call(t, s, "slow", `{"ms":100}`), false, "at last")
			if got := s.Status().Restarts; got != restarts {
				t.Errorf("a healthy server was connected anew %d times", got-restarts)
			}
		})
	}
	t.Run("silent", func(t *testing.T) {
		// A listener that forwards until it is told to stay silent.
		r := serve(t, http, "127.0.0.1:0")
		p := newProxy(t, strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/mcp"))
		s := ready(t, client.Config{Name: "s", URL: "http://" + p.address + "/mcp"}, func(o *client.Options) { o.Health = 20 * time.Millisecond })
		wantText(t, "before", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
		p.cut()
		watch.Until(t, "it is noticed", func() bool { return s.Status().State != client.Ready })
		p.restore()
		watch.Until(t, "it is back", func() bool { return s.Status().State == client.Ready })
		wantText(t, "after", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
	})
}

// proxy passes connections on, until it is cut.
type proxy struct {
	address string
	mu      sync.Mutex
	off     bool
	open    []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String()}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", to)
			if err != nil || !p.keep(in, out) {
				_ = in.Close()
				continue
			}
			wait.Go(func() { copyAll(out, in) })
			wait.Go(func() { copyAll(in, out) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		wait.Wait()
	})
	return p
}

func copyAll(to, from net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := from.Read(b)
		if err != nil {
			_ = to.Close()
			return
		}
		if _, err := to.Write(b[:n]); err != nil {
			_ = from.Close()
			return
		}
	}
}

func (p *proxy) keep(c ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		for _, one := range c {
			_ = one.Close()
		}
		return false
	}
	p.open = append(p.open, c...)
	return true
}

// cut breaks all connections and refuses new ones.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = false
}

// TestListChanges: what a server offers anew is known within a second or so,
// and a change of a definition changes its hash.
func TestListChanges(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.by+" "+w.era, func(t *testing.T) {
			s := ready(t, fake(t, w.by, "-faults", "-era", w.era))
			hash := s.Catalog().Tools["lookup"].Hash
			call(t, s, "grow", "{}")
			watch.Until(t, "the new tool", func() bool { return s.Catalog().Tools["grown"] != nil })
			call(t, s, "mutate", "{}")
			watch.Until(t, "the new description", func() bool { return s.Catalog().Tools["lookup"].Hash != hash })
			if s.Status().Restarts != 0 {
				t.Errorf("got %d restarts, want none", s.Status().Restarts)
			}
		})
	}
}

// TestListensAgain: when the stream breaks on which a server reports changes,
// it is opened again, and missed changes are caught up.
func TestListensAgain(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			r := serve(t, http, "127.0.0.1:0", "-faults", "-era", era)
			p := newProxy(t, strings.TrimSuffix(strings.TrimPrefix(r.url, "http://"), "/mcp"))
			s := waitReady(t, start(t, client.Config{Name: "s", URL: "http://" + p.address + "/mcp"}))
			other := waitReady(t, start(t, client.Config{Name: "other", URL: r.url}))
			p.cut()
			call(t, other, "grow", "{}")
			p.restore()
			watch.Until(t, "the tool that was missed", func() bool { return s.Catalog().Tools["grown"] != nil })
			if s.Status().Restarts != 0 {
				t.Errorf("got %d restarts, want none", s.Status().Restarts)
			}
		})
	}
}

// TestQuietChange: a server that does not report a change is listed anew all
// the same, after ten looks.
func TestQuietChange(t *testing.T) {
	s := ready(t, fake(t, http, "-faults"), func(o *client.Options) { o.Health = 20 * time.Millisecond })
	hash := s.Catalog().Tools["lookup"].Hash
	call(t, s, "mutate-silent", "{}")
	watch.Until(t, "the new description", func() bool { return s.Catalog().Tools["lookup"].Hash != hash })
	if _, err := try(t, s, "lookup", `{"key":"k"}`, func(c *client.Call) { c.Definition = hash }); !errors.Is(err, client.ErrChanged) {
		t.Errorf("a call that was judged before: got %v, want %v", err, client.ErrChanged)
	}
}

// TestOddTools is about lists of tools that cannot be used as they are.
func TestOddTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault string
		check func(*client.Catalog) bool
	}{
		{"reserved", func(c *client.Catalog) bool {
			return c.Tools["build"] == nil && c.Tools["click"] == nil && c.Tools["draw"] != nil && c.Tools["odd"] != nil &&
				strings.Contains(c.NotOffered["build"], "runs only as a task") && strings.Contains(c.NotOffered["click"], "its own app only") && len(c.NotOffered) == 2
		}},
		{"many", func(c *client.Catalog) bool { return len(c.Tools) >= 500 }},
		{"endless", func(c *client.Catalog) bool { return len(c.Tools) == 100 }},
		{"fat", func(c *client.Catalog) bool { return c.Tools["lookup"] != nil && c.Tools["fat"] == nil }},
		{"recursive", func(c *client.Catalog) bool { return c.Tools["lookup"] != nil }},
		{"duplicate", func(c *client.Catalog) bool { return c.Tools["lookup"] != nil }},
		{"bad-schema", func(c *client.Catalog) bool { return c.Tools["lookup"] != nil }},
		{"names", func(c *client.Catalog) bool { return c.Tools["lookup"] != nil }},
		{"lies", func(c *client.Catalog) bool { return c.Tools["book"].Annotations.ReadOnly }},
	} {
		for _, by := range transports() {
			t.Run(c.fault+" "+by, func(t *testing.T) {
				s := ready(t, fake(t, by, "-fault", c.fault))
				if cat := s.Catalog(); !c.check(cat) {
					t.Errorf("got %d tools: %v", len(cat.Tools), cat.Tools)
				}
				if c.fault != "endless" {
					wantText(t, "lookup", call(t, s, "lookup", `{"key":"k"}`), false, "value of k")
				}
			})
		}
	}
}

// TestSecrets: what a server repeats of its config in an error is masked.
func TestSecrets(t *testing.T) {
	l := &watch.Log{}
	cfg := fake(t, stdio, "-fault", "start")
	cfg.Command, cfg.Args = "/bin/sh", []string{"-c", "echo cannot log in as $SHOP_KEY >&2; exit 1"}
	cfg.Env = map[string]string{"SHOP_KEY": "hunter2-hunter2"}
	s := start(t, cfg, withLog(l))
	var down client.Status // it is started again at once
	watch.Until(t, "down", func() bool { down = s.Status(); return down.State == client.Down })
	_, err := try(t, s, "lookup", `{"key":"k"}`)
	for _, text := range []string{down.Err, fmt.Sprint(err)} {
		if strings.Contains(text, "hunter2") || !strings.Contains(text, "cannot log in as ***") {
			t.Errorf("got %q, want the key masked", text)
		}
	}
	if strings.Contains(l.String(), "hunter2") {
		t.Errorf("the log has the key: %s", l)
	}

	r := start(t, client.Config{Name: "s", URL: "http://127.0.0.1:1/mcp?key=hunter2-hunter2", Headers: map[string]string{"X-Key": "hunter2-hunter2"}})
	watch.Until(t, "down", func() bool { return r.Status().State == client.Down })
	if text := r.Status().Err; strings.Contains(text, "hunter2") || !strings.Contains(text, "refused") {
		t.Errorf("got %q, want the reason without the key", text)
	}
}
