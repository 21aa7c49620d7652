package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"go.uber.org/goleak"

	"legwork/internal/test/watch"
)

// TestMain lets the test binary be the server, so that tests have processes.
func TestMain(m *testing.M) {
	if os.Getenv("TRAVEL_SERVE") != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// process is a server on standard input and output in a process of its own.
func process(t *testing.T, args ...string) session {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return greet(t, client.NewClient(transport.NewStdio(self, []string{"TRAVEL_SERVE=1"}, args...)))
}

// command is such a process that no client is connected to.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), watch.Patience)
	t.Cleanup(cancel)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Env = append(os.Environ(), "TRAVEL_SERVE=1")
	return c
}

// TestTools: what the server says about its tools is what they are.
func TestTools(t *testing.T) {
	t.Parallel()
	const read, add, once, destroy = "read idempotent", "add", "add idempotent", "destroy"
	want := map[string]map[string]string{
		"travel":   {"search_flights": read, "search_hotels": read, "get_trip_details": read, "book_trip": add, "cancel_trip": destroy},
		"calendar": {"get_calendar_events": read, "add_calendar_event": once},
		"payment":  {"process_payment": destroy},
		"alert":    {"send_notification": add},
	}
	for domain, tools := range want {
		d := process(t, "-domain", domain, "-db", newDB(t))
		list, err := d.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Tools) != len(tools) {
			t.Errorf("domain %s: got %d tools, want %d", domain, len(list.Tools), len(tools))
		}
		for _, tool := range list.Tools {
			h := tool.Annotations
			kind := map[bool]string{true: "read", false: "add"}[*h.ReadOnlyHint]
			if *h.DestructiveHint {
				kind = destroy
			}
			if *h.IdempotentHint {
				kind += " idempotent"
			}
			if kind != tools[tool.Name] || *h.OpenWorldHint {
				t.Errorf("%s is %q, want %q in a closed world", tool.Name, kind, tools[tool.Name])
			}
			if len(tool.InputSchema.Required) == 0 || tool.InputSchema.AdditionalProperties != false || len(tool.OutputSchema.Properties) == 0 {
				t.Errorf("%s: the schemas are %+v and %+v, want required and no other arguments, and an output", tool.Name, tool.InputSchema, tool.OutputSchema)
			}
			if changes := strings.Contains(tool.Description, "Changes nothing"); changes != *h.ReadOnlyHint {
				t.Errorf("%s: the description is %q, but readOnlyHint is %v", tool.Name, tool.Description, *h.ReadOnlyHint)
			}
		}
	}
}

// TestSeveralProcesses: servers that share a file sell each seat once and lose
// nothing.
func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	day := time.Now().AddDate(0, 0, 7).Format(time.DateOnly)
	first := process(t, "-db", db)
	f := get[Flights](first, "search_flights", arguments{"from": "Rome", "to": "Madrid", "date": day}).Flights[0]
	sessions := []session{first, process(t, "-db", db), process(t, "-db", db, "-domain", "travel")}
	var wait sync.WaitGroup
	for i := range 4 * len(sessions) {
		wait.Go(func() {
			text, failed := sessions[i%len(sessions)].call("book_trip", arguments{"travelers": []string{fmt.Sprint("Traveler ", i)}, "flights": []string{f.ID}})
			if failed && !strings.Contains(text, "has 0 seats left") {
				t.Errorf("booking: got the error %q, want that no seat is left", text)
			}
		})
	}
	wait.Wait()
	l, err := file{db}.read()
	if err != nil || len(l.Orders) != f.Seats {
		t.Errorf("%d orders of %d seats are in the file (%v)", len(l.Orders), f.Seats, err)
	}
	numbers := map[string]bool{}
	for _, o := range l.Orders {
		numbers[o.Number] = true
	}
	if len(numbers) != len(l.Orders) {
		t.Errorf("the orders have %d numbers, want %d", len(numbers), len(l.Orders))
	}
}

// TestKilled: a process that is killed in the middle of its work loses no
// order that it has confirmed.
func TestKilled(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	day := time.Now().AddDate(0, 0, 7)
	told := 0
	for round := range 3 {
		c := command(t, "-db", db)
		in, err := c.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		send := func(format string, args ...any) { _, _ = fmt.Fprintf(in, format+"\n", args...) }
		send(`{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}`)
		for i := range 30 {
			h := hotels(cities[i%len(cities)], day.AddDate(0, 0, round), day.AddDate(0, 0, round+1), "USD")[0]
			send(`{"jsonrpc": "2.0", "id": %d, "method": "tools/call", "params": {"name": "book_trip", "arguments": {"travelers": ["Ann Lee"], "hotel": %q}}}`, i+1, h.ID)
		}
		lines := bufio.NewScanner(out)
		for n := 0; n < 12 && lines.Scan(); n++ {
			told += strings.Count(lines.Text(), `"structuredContent"`)
		}
		_ = c.Process.Kill()
		_ = c.Wait() // its outcome is the kill
	}
	l, err := file{db}.read()
	if err != nil || told == 0 || len(l.Orders) < told {
		t.Errorf("the file has %d orders (%v), want at least the %d confirmed ones", len(l.Orders), err, told)
	}
	get[Notification](open(t, db, noon), "send_notification", arguments{"to": "Ann", "message": "all is well"})
}

// TestHTTP: the same tools by streamable HTTP, until the process is told to end.
func TestHTTP(t *testing.T) {
	t.Parallel()
	c := command(t, "-http", "127.0.0.1:0", "-db", newDB(t))
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 200)
	n, err := stderr.Read(line)
	address := regexp.MustCompile(`http://\S+`).FindString(string(line[:n]))
	if address == "" {
		t.Fatalf("the server said %q (%v), want its address", line[:n], err)
	}
	over, err := transport.NewStreamableHTTP(address)
	if err != nil {
		t.Fatal(err)
	}
	d := greet(t, client.NewClient(over))
	if found := get[Events](d, "get_calendar_events", arguments{"from": "2026-01-01", "to": "2027-01-01"}); len(found.Events) != 0 {
		t.Errorf("a new calendar has %+v", found)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(stderr)
	if err := c.Wait(); err != nil || len(rest) > 0 {
		t.Errorf("it ended with %v and %q, want silence", err, rest)
	}
}

// TestDatabase: a file that cannot be understood is reported and kept.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"cut off":       {`{"version": 1, "orders": [{"ord`, "unexpected EOF"},
		"empty":         {"", "EOF"},
		"not ours":      {`{"version": 1, "songs": []}`, "songs"},
		"from tomorrow": {`{"version": 2, "orders": []}`, "version 2"},
		"two of them":   {`{"version": 1}{"version": 1}`, "after its end"},
		"another shape": {`[1, 2]`, "array"},
	} {
		db := newDB(t)
		if err := os.WriteFile(db, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		start := command(t, "-db", db)
		start.Stderr = &stderr
		err := start.Run()
		for _, want := range []string{db, c.want, "was not changed", "move it away"} {
			if err == nil || !strings.Contains(stderr.String(), want) {
				t.Errorf("%s: starting ends with %v and %q, want an error with %q", name, err, stderr.String(), want)
			}
		}
		d := open(t, db, noon)
		d.refused(db, "send_notification", arguments{"to": "Ann", "message": "hi"}, db, c.want, "was not changed")
		d.refused(db, "search_flights", arguments{"from": "Rome", "to": "Paris", "date": "2026-11-21"}, "was not changed")
	}
}

// TestUnknownDomain: a word that is none ends with the words that are.
func TestUnknownDomain(t *testing.T) {
	t.Parallel()
	out, err := command(t, "-domain", "hotels", "-db", newDB(t)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "alert, calendar, payment, travel and all") {
		t.Errorf("got %v and %q, want an error with the domains", err, out)
	}
}

func FuzzDatabase(f *testing.F) {
	f.Add([]byte(`{"version": 1, "orders": [{"order": "TRV-222222", "travelers": ["Ann"], "hotel": {"city": "Atlantis"}, "flights": [{"departs": "2026-11-21T08:00:00+08:00"}]}]}`))
	f.Add([]byte(`{"version": 1, "orders": null, "events": [{}], "notifications": []}`))
	f.Add([]byte(`{"version": 1} `))
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parse(text)
		if err != nil {
			return
		}
		written, err := json.Marshal(l)
		if err != nil {
			t.Fatalf("%q was read, but cannot be written: %v", text, err)
		}
		if again, err := parse(written); err != nil || len(again.Orders) != len(l.Orders) {
			t.Errorf("%q was read and written as %q, which is read as %+v (%v)", text, written, again, err)
		}
		for _, o := range l.Orders {
			if _, err := l.order(o.Number); err != nil && !slices.ContainsFunc([]rune(o.Number), func(r rune) bool { return r > 'Z' }) {
				t.Errorf("order %q is not found in %q", o.Number, text)
			}
			_ = o.begins()
			_ = l.room(o)
		}
	})
}
