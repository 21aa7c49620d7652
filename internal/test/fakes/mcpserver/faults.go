package main

import (
	"cmp"
	"fmt"
	"io"
	"sync"
)

// fault is one way to misbehave.
type fault struct {
	name string
	does string
	only string // onHTTP, or "" for every transport
	on   string // the method it is about unless -on names another; "*" for all

	// One of these is set. start happens before the first message; message
	// happens to a message and reports whether the library shall still see it;
	// list changes the tools that are offered.
	start   func(*fake)
	message func(*fake, *exchange) bool
	list    func(*fake)
}

const onHTTP = "HTTP"

// table holds all faults. Those about a message are also tools, with -faults.
func table() []fault {
	all := []fault{
		{name: "start", does: "exit at once, with a word on stderr", start: cannotStart},
		{name: "deaf", does: "never read; on HTTP, accept connections and no more", start: deaf},
		{name: "child", does: "leave a grandchild, whose id is written to -pidfile, and stay when the input ends", start: leaveChild},
		{name: "stubborn", does: "stay when the input ends", start: func(*fake) {}},
		{name: "stderr", does: "flood the error output", start: floodStderr},

		{name: "probe", does: "exit on the modern greeting", on: "server/discover", message: die},
		{name: "silent", does: "ignore the modern greeting", on: "server/discover", message: hang},
		{name: "mute", does: "never answer", on: "*", message: hang},
	}
	all = append(all, wireFaults()...)
	all = append(all, httpFaults()...)
	return append(all, listFaults()...)
}

func find(name string) (fault, bool) {
	for _, f := range table() {
		if f.name == name {
			return f, true
		}
	}
	return fault{}, false
}

// help prints the table.
func help(w io.Writer) {
	fmt.Fprintln(w, "\nFaults (in brackets the method they are about, unless -on names another; those with one are tools too, with -faults):")
	for _, f := range table() {
		about := f.does
		if f.only != "" {
			about += "; only on " + f.only
		}
		if f.message != nil {
			about += " [" + f.method() + "]"
		}
		fmt.Fprintf(w, "  %-15s %s\n", f.name, about)
	}
}

func (f fault) method() string { return cmp.Or(f.on, "tools/call") }

// trigger decides which messages a fault happens to.
type trigger struct {
	on           string
	after, times int

	mu    sync.Mutex
	seen  int
	fired int
}

func newTrigger(o options) *trigger {
	f, _ := find(o.fault)
	return &trigger{on: cmp.Or(o.on, f.method()), after: o.after, times: o.times}
}

// pull reports whether the fault happens to the next message of a method.
func (t *trigger) pull(method string) bool {
	if t.on != "*" && t.on != method {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen++
	if t.seen <= t.after || t.times > 0 && t.fired >= t.times {
		return false
	}
	t.fired++
	return true
}

// again begins to count anew.
func (t *trigger) again() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = 0
}
