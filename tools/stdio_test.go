package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/need"
	"legwork/internal/test/watch"
	"legwork/tools"
	"legwork/tools/client"
)

func TestStdio(t *testing.T) {
	m := run(t, one(fake(t)))
	wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
	list, err := m.Set().Tools(t.Context(), "g", "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list {
		names = append(names, x.Name+"="+x.Exposed)
	}
	if got, want := strings.Join(names, " "), "s.book=s__book s.lookup=s__lookup s.slow=s__slow"; got != want {
		t.Errorf("tools: got %q, want %q", got, want)
	}
	st := m.Status()[0]
	if st.State != client.Ready || st.Tools != 3 || st.Protocol != "2026-07-28" || st.RoundTrip <= 0 || st.Kind != "stdio" {
		t.Errorf("status: got %+v, want ready, 3 tools, protocol 2026-07-28 and a round trip", st)
	}
}

// TestBadResults is about servers that answer a call in a wrong or odd way; the
// server must be usable afterwards.
func TestBadResults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool   string
		failed bool
		want   []string
	}{
		{"die", true, []string{"stopped during the call", "not known whether it took effect"}},
		{"garbage", true, []string{"did not answer within 300ms"}},
		{"hang", true, []string{"did not answer within 300ms"}},
		{"noise", false, []string{"done"}},
		{"pieces", true, []string{"too large"}},
		{"binary", false, []string{"a\uFFFD\uFFFDbc"}},
		{"fail", true, []string{"the shop is closed"}},
		{"structured", false, []string{`{"answer":42}`}},
		{"odd", false, []string{"first\n[image: image/png, 3 bytes, not shown]\n[audio: unknown type, 6 bytes, not shown]\n[resource: file:///a.txt]\ninside\n[resource: file:///b, unknown type, 3 bytes, not shown]\n[resource: c file:///c]\n[content of type \"hologram\", not shown]\n[an entry that cannot be read]"}},
		{"nothing", true, []string{"no tool \"s.nothing\"", "s.lookup"}},
	} {
		t.Run(c.tool, func(t *testing.T) {
			cfg := one(fake(t, "-faults"))
			g := cfg.Groups["g"]
			if c.tool == "garbage" || c.tool == "hang" {
				g.ToolTimeout = 300 * time.Millisecond
			}
			cfg.Groups["g"] = g
			m := run(t, cfg)
			ready(t, m)
			wantText(t, c.tool, call(t, m, c.tool, ""), c.failed, c.want...)
			wantText(t, "lookup after "+c.tool, call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
		})
	}
}

func TestUnknownOutcome(t *testing.T) {
	m := run(t, one(fake(t, "-faults")))
	if r := call(t, m, "die", "{}"); !r.Unknown || !r.Failed {
		t.Errorf("dies in mid-call: got %+v, want Failed and Unknown", r)
	}
	if r := call(t, m, "lookup", `{"nokey":1}`); r.Unknown {
		t.Errorf("arguments that do not fit: got Unknown, want not")
	}
}

// TestHugeResult bounds the memory that a result of 100 MiB takes.
func TestHugeResult(t *testing.T) {
	m := run(t, one(fake(t, "-faults")))
	call(t, m, "lookup", `{"key":"k"}`)
	var r tools.Result
	grown := watch.Memory(func() { r = call(t, m, "huge", "{}") })
	if r.Failed || len(r.Text) != 1<<20 || r.Bytes != 100<<20 || strings.Trim(r.Text, "x") != "" {
		t.Errorf("huge: got failed %v, %d bytes of %d, want 1 MiB of 100 MiB", r.Failed, len(r.Text), r.Bytes)
	}
	if grown > 8<<20 {
		t.Errorf("memory: grew by %d bytes at most during the call, want at most 8 MiB", grown)
	}
	t.Logf("100 MiB result: heap grew by %.1f MiB at most", float64(grown)/(1<<20))
}

func TestCutOnRune(t *testing.T) {
	cfg := one(fake(t, "-faults"))
	cfg.Groups["g"] = tools.GroupConfig{Servers: []string{"s"}, Approve: tools.Approve{"never"}, MaxResultBytes: 12, ShowResultBytes: 5}
	m := run(t, cfg)
	r := call(t, m, "lookup", `{"key":"日本語"}`)
	if r.Text != "value of 日" || r.Bytes != 18 || r.Show != 5 {
		t.Errorf("got %q, %d bytes, show %d; want %q, 18, 5", r.Text, r.Bytes, r.Show, "value of 日")
	}
}

func TestFlood(t *testing.T) {
	need.Check(t) // it reads 128 MiB
	cfg := one(fake(t, "-faults"))
	g := cfg.Groups["g"]
	g.ToolTimeout = 3 * time.Minute // a busy machine takes its time for 128 MiB
	cfg.Groups["g"] = g
	m := run(t, cfg)
	wantText(t, "flood", call(t, m, "flood", "{}"), true, "stopped during the call")
	wantText(t, "lookup after flood", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	t.Run("dies on start", func(t *testing.T) {
		m := run(t, one(fake(t, "-fault", "start")))
		watch.Until(t, "a second attempt", func() bool { return m.Status()[0].Restarts > 0 })
		watch.Until(t, "down", func() bool { return m.Status()[0].State == client.Down })
		wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), true, `server "s" is down`, "cannot open the database")
		list, err := m.Set().Tools(t.Context(), "g", "")
		if len(list) != 0 || err == nil || !strings.Contains(err.Error(), `server "s" is down`) {
			t.Errorf("Tools: got %v, %v; want none and an error that names the server", list, err)
		}
	})
	t.Run("no such program", func(t *testing.T) {
		m := run(t, one(tools.ServerConfig{Command: "no-such-program"}))
		watch.Until(t, "down", func() bool { return m.Status()[0].State == client.Down })
		wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), true, "no-such-program")
	})
	t.Run("dies on the modern greeting", func(t *testing.T) {
		m := run(t, one(fake(t, "-fault", "probe", "-faults")))
		wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
		if st := m.Status()[0]; st.Protocol != "2025-11-25" || st.Restarts != 0 {
			t.Errorf("got %+v, want protocol 2025-11-25 without a restart", st)
		}
		call(t, m, "die", "{}")
		wantText(t, "lookup after death", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
	})
	t.Run("is silent on the modern greeting", func(t *testing.T) {
		m := run(t, one(fake(t, "-fault", "silent", "-faults")), func(o *tools.Options) { o.ProbeTimeout = 100 * time.Millisecond })
		wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
		if st := m.Status()[0]; st.Protocol != "2025-11-25" {
			t.Errorf("got protocol %s, want 2025-11-25", st.Protocol)
		}
	})
	t.Run("starts slowly", func(t *testing.T) {
		m := run(t, one(fake(t, "-delay", "300ms")))
		if st := m.Status()[0]; st.State != client.Starting {
			t.Errorf("got %s at first, want starting", st.State)
		}
		wantText(t, "lookup waits", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
	})
	t.Run("hangs after a slow start", func(t *testing.T) {
		cfg := one(fake(t, "-delay", "150ms", "-faults"))
		g := cfg.Groups["g"]
		g.ToolTimeout = 3 * time.Second
		cfg.Groups["g"] = g
		r := call(t, run(t, cfg), "hang", "{}")
		if whole := regexp.MustCompile(`did not answer within [123]s and`); !whole.MatchString(r.Text) {
			t.Errorf("got %q, want whole seconds", r.Text)
		}
	})
	for _, fault := range []string{"mute", "deaf"} {
		t.Run("never answers: "+fault, func(t *testing.T) {
			cfg := one(fake(t, "-fault", fault))
			cfg.Groups["g"] = tools.GroupConfig{Servers: []string{"s"}, ToolTimeout: 100 * time.Millisecond}
			m := run(t, cfg)
			wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), true, "still starting")
		})
	}
	t.Run("floods its error output", func(t *testing.T) {
		l := &watch.Log{}
		m := run(t, one(fake(t, "-fault", "stderr")), withLog(l))
		wantText(t, "lookup", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
		watch.Until(t, "the flood is cut", func() bool { return strings.Contains(l.String(), "more than is logged") })
		if n := len(l.String()); n > 1<<20 {
			t.Errorf("the log has %d bytes, want less than 1 MiB", n)
		}
	})
}

// TestDeaf is about a server that stops reading: calls cost their timeout,
// never more, and it is started again.
func TestDeaf(t *testing.T) {
	t.Parallel()
	cfg := one(fake(t, "-faults"))
	g := cfg.Groups["g"]
	g.ToolTimeout = time.Second
	cfg.Groups["g"] = g
	var l watch.Log
	m := run(t, cfg, withLog(&l))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logged:\n%s\nstatus: %+v", l.String(), m.Status())
		}
	})
	ready(t, m)
	first := call(t, m, "pid", "{}").Text
	pid, err := strconv.Atoi(first)
	if err != nil { // 0 would stop the test itself
		t.Fatalf("pid: got %q, want a number", first)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds, and checked in no time: otherwise it is not written.
	big, _ := json.Marshal(map[string]string{"key": strings.Repeat("k", 256<<10)})
	from := time.Now()
	wantText(t, "lookup", call(t, m, "lookup", string(big)), true, "did not answer within 1s")
	if took := time.Since(from); took > watch.Patience { // for ever, when nothing ends it
		t.Errorf("the call took %v, want about 1s", took)
	}
	watch.Until(t, "a new process", func() bool {
		r := call(t, m, "pid", "{}")
		if r.Failed { // on a busy machine the first one may not have been written in time
			call(t, m, "lookup", string(big))
		}
		return !r.Failed && r.Text != first
	})
}

func TestEnvironment(t *testing.T) {
	t.Setenv("LEGWORK_SECRET", "do not tell")
	t.Setenv("LC_ALL", "C")
	s := fake(t, "-faults")
	s.Env = map[string]string{"GIVEN": "yes", "HOME": "/elsewhere"}
	got := call(t, run(t, one(s)), "env", "{}").Text
	for _, want := range []string{"GIVEN=yes", "HOME=/elsewhere", "PATH=", "LC_ALL=C"} {
		if !strings.Contains(got, want) {
			t.Errorf("environment: got %q, want it to contain %q", got, want)
		}
	}
	if strings.Contains(got, "do not tell") || strings.Count(got, "HOME=") != 1 {
		t.Errorf("environment: got %q, want no secret and HOME once", got)
	}
}

// TestCancel is about a caller that gives up: it gets its context's error at
// once, and the server is told.
func TestCancel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	m := run(t, one(fake(t, "-log", path)))
	call(t, m, "lookup", `{"key":"k"}`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		watch.Until(t, "the call arrived", func() bool { return strings.Contains(read(path), `"slow"`) })
		cancel()
	}()
	_, err := m.Set().Call(ctx, tools.Call{Group: "g", Tool: "s.slow", Arguments: json.RawMessage(`{"ms":60000}`)})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	watch.Until(t, "the server is told", func() bool { return strings.Contains(read(path), `"cancelled"`) })
}

func TestChangedTools(t *testing.T) {
	for _, protocol := range []string{"", "2025-11-25"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			s := fake(t, "-faults")
			s.Protocol = protocol
			m := run(t, one(s))
			wantText(t, "grown before", call(t, m, "grown", "{}"), true, "no tool")
			watch.Until(t, "the new tool", func() bool {
				call(t, m, "grow", "{}")
				return !call(t, m, "grown", "{}").Failed
			})
		})
	}
}

// TestWholeSchema: nothing of a tool's schema is lost on the way to the model.
func TestWholeSchema(t *testing.T) {
	m := run(t, one(fake(t, "-faults")))
	list, err := m.Set().Tools(t.Context(), "g", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range list {
		if x.Name != "s.strange" {
			continue
		}
		for _, want := range []string{`"$schema"`, `"title":"Strange"`, `"$defs"`, `"oneOf"`, `"default":3`, `"pattern":"^(?!x)[a-z]+$"`} {
			if !strings.Contains(string(x.Schema), want) {
				t.Errorf("schema: got %s, want it to contain %s", x.Schema, want)
			}
		}
	}
	wantText(t, "strange fits", call(t, m, "strange", `{"n":12345678901234567}`), false)
	wantText(t, "strange with both", call(t, m, "strange", `{"n":1,"id":"a"}`), true, "do not fit", "oneOf")
	wantText(t, "strange of a wrong type", call(t, m, "strange", `{"n":"x"}`), true, `"n"`, "integer")
}

func TestArguments(t *testing.T) {
	m := run(t, one(fake(t, "-faults")))
	for _, c := range []struct {
		args   string
		failed bool
		want   string
	}{
		{`{"key":"k"}`, false, "value of k"},
		{`{"key":5}`, true, `"key": got number, want string`},
		{`{}`, true, "missing property 'key'"},
		{``, true, "missing property 'key'"},
		{`null`, true, "missing property 'key'"},
		{`[1]`, true, "must be a JSON object"},
		{`{"key":`, true, "not valid JSON"},
		{"\xff", true, "not valid JSON"},
		{`{"key":"k","\u006bey":"l"}`, true, `the key "key" appears twice`},
	} {
		r := call(t, m, "lookup", c.args)
		wantText(t, c.args, r, c.failed, c.want)
		before := m.Set().Verdict(t.Context(), "g", "", "s.lookup", json.RawMessage(c.args)).Refusal
		if c.failed && before != r.Text || !c.failed && before != "" {
			t.Errorf("%s: before the call it is said %q, after it %q", c.args, before, r.Text)
		}
	}
	wantText(t, "no arguments", call(t, m, "pid", ""), false)
}

// TestGrandchildren: nothing of a server's group survives it.
func TestGrandchildren(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pid")
	t.Run("closed", func(t *testing.T) {
		m := run(t, one(fake(t, "-fault", "child", "-pidfile", path)))
		call(t, m, "lookup", `{"key":"k"}`)
	})
	watch.Until(t, "the grandchild ended", func() bool { return !alive(path) })

	t.Run("leader died", func(t *testing.T) {
		m := run(t, one(fake(t, "-fault", "child", "-pidfile", path, "-faults")))
		wantText(t, "die", call(t, m, "die", ""), true, "stopped during the call")
		wantText(t, "lookup after die", call(t, m, "lookup", `{"key":"k"}`), false, "value of k")
	})

	t.Run("daemon killed", func(t *testing.T) {
		_ = os.Remove(path)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TOOLS_TEST_DAEMON="+fakeServer(t), "TOOLS_TEST_PIDFILE="+path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watch.Until(t, "the grandchild started", func() bool { return alive(path) })
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		watch.Until(t, "the grandchild ended", func() bool { return !alive(path) })
	})
}

// daemon is the process that TestGrandchildren kills.
func daemon() {
	cfg := tools.Config{Servers: map[string]tools.ServerConfig{"s": {
		Command: os.Getenv("TOOLS_TEST_DAEMON"), Args: []string{"-fault", "child", "-pidfile", os.Getenv("TOOLS_TEST_PIDFILE")},
	}}}
	m, err := tools.New(cfg, tools.Options{})
	if err == nil {
		err = m.Run(context.Background())
	}
	if err != nil {
		panic(err)
	}
}

func alive(path string) bool {
	pid, err := strconv.Atoi(read(path))
	if err != nil {
		return false
	}
	state, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return os.IsPermission(err) || (!exists("/proc/self") && syscall.Kill(pid, 0) == nil)
	}
	_, rest, _ := strings.Cut(string(state), ") ")
	return !strings.HasPrefix(rest, "Z") // no caller may wait for it here
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func read(path string) string { b, _ := os.ReadFile(path); return string(b) }
