package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/pg"
)

// newTerminals returns the arguments of two terminals with the same database on a
// Postgres server, each with a data folder of its own.
func (w *env) newTerminals() (first, second []string) {
	w.t.Helper()
	store := fmt.Sprintf("store: {type: postgres, url: %q}\n", pg.Start(w.t).URL(w.t))
	for _, name := range []string{"first", "second"} {
		if err := os.WriteFile(w.file(name+".yaml"), []byte("data_dir: "+name+"\n"+w.config+store), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return []string{"chat", "--config", "first.yaml"}, []string{"chat", "--config", "second.yaml"}
}

// TestStandbyInTerminal: a person waits for an approval when their terminal is
// killed. They see the same question in a second terminal, which stood by, and decide
// it there. A third terminal takes over when the second one freezes; that one ends
// when it wakes.
func TestStandbyInTerminal(t *testing.T) {
	t.Parallel()
	w := newEnv(t, shopping(orders{}, "book"))
	first, second := w.newTerminals()
	a := w.sit(first...)
	a.sees("Type a question.")
	a.types(`q1: shop book {"item":"a boat"} then book {"item":"an oar"}` + "\r")
	a.sees("Allow this action?", `"item": "a boat"`, "1 Allow once")

	b := w.sit(second...)
	b.sees("The database is in use by pid", "legwork chat waits until that process ends.")
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-a.ended
	b.sees("Continuing 1 unfinished task", `"item": "a boat"`, "1 Allow once")
	w.bought()
	b.types("1")
	b.sees("Allow this action?", `"item": "an oar"`)
	w.bought("a boat")

	c := w.sit(first...)
	c.sees("legwork chat waits until that process ends.")
	if err := b.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.sees("Continuing 1 unfinished task", `"item": "an oar"`, "1 Allow once")
	if err := b.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	b.until("why it ends", func(screen string) bool {
		return strings.Contains(strings.Join(strings.Fields(screen), ""), "overthedatabase.Thisprocesscanstorenothing") // it is two lines
	})
	select {
	case <-b.ended:
	case <-time.After(patience):
		t.Fatal("the terminal that lost the database did not end")
	}
	if code := b.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code of the terminal that lost the database: got %d, want 1", code)
	}
	c.types("1")
	c.sees("[q1] The tools said:", "booked an oar")
	w.bought("a boat", "an oar")
	c.types("\x04")
	c.leaves()
}

// TestQuestionDoesNotStandBy: a script with a single question does not wait for a
// database that somebody else uses.
func TestQuestionDoesNotStandBy(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	first, second := w.newTerminals()
	a := w.sit(first...)
	a.sees("Type a question.")
	p := w.start(append(second, "hello")...)
	<-p.ended
	if got := p.err.String(); !strings.Contains(got, "is in use by pid") || !strings.Contains(got, "(legwork chat)") {
		t.Errorf("stderr: got %q, want who uses the database", got)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code: got %d, want 1", code)
	}
}
