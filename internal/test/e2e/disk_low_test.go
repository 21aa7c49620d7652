//go:build linux

package e2e_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDiskLow: on a disk with little room new questions are refused with one
// sentence, what has begun is brought to its end, and with room again legwork
// goes on by itself. It needs a file system of its own.
func TestDiskLow(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	if err := os.Mkdir(w.file("data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", w.file("data"), "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("mounting a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(w.file("data"), unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	p := w.start("chat", "--json")
	p.says(p.ask("later0", "later0: before"), false, "later0: before")
	p.send("q1", "q1: slow=1500ms safe one") // begins while there is room
	p.see("the plan of q1", func(e event) bool { return e.Type == "board" && e.ReplyTo == "q1" })
	if err := os.WriteFile(w.file("data/ballast"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	sentence := w.text("problem.disk_full", nil)
	p.send("q2", "later5: no room for this")
	p.notice(sentence)
	p.send("q3", "later6: nor for this")
	p.answer("q1")
	if err := os.Remove(w.file("data/ballast")); err != nil {
		t.Fatal(err)
	}
	p.goesOn()
	for _, e := range p.events() {
		if e.Type == "answer" && (e.ReplyTo == "q2" || e.ReplyTo == "q3") {
			t.Errorf("a refused question was answered: %+v", e)
		}
	}
}
