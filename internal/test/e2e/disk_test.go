//go:build linux

package e2e_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
)

// TestDiskFull: without room for the data, a question is refused with a
// sentence; accepted messages are kept, and with room again they are answered
// and work goes on, in the same process.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	p := w.start("chat", "--json")
	p.says(p.ask("q0", "q0: before"), false, "q0: before")
	room := p.limitFiles(256 << 10)
	asked, sentence := 0, w.text("problem.disk_full", nil)
	refused := func() bool {
		for _, e := range p.events() {
			if e.Type == "error" && e.Message != "" {
				return true
			}
		}
		return false
	}
	for ; !refused() && asked < 200; asked++ {
		id := "f" + strings.Repeat("i", asked) // which Brain repeats as [id]
		p.send(id, id+": "+strings.Repeat("fill ", 2000))
		p.see("a reply to "+id, func(e event) bool {
			return e.Message == id && e.Type == "error" || e.ReplyTo == id && e.Type == "answer" || e.Type == "notice" && e.Text == sentence
		})
	}
	if !refused() {
		t.Fatalf("%d questions were accepted into 256 KiB", asked)
	}
	p.notice(sentence)
	p.logged("not stored", "file too large")
	p.alive()
	room()
	p.goesOn()

	next := w.start("chat", "--json")
	next.says(next.ask("later9", "later9: safe once more"), false, "value of later9")
	next.end()
}

// TestReadyWithoutRoom: /readyz says that nothing can be stored, and by itself that
// there is room again.
func TestReadyWithoutRoom(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.serve(telegramToken)
	s.readyAgain(patience)
	room := s.limitFiles(64 << 10)
	b.Say(b.bob.ID, b.bob, "first: "+strings.Repeat("fill ", 700))
	s.becomes("not ready without room", patience, func(r readiness) bool {
		return r.Code == http.StatusServiceUnavailable && r.Status == "not ready" && r.Parts["store"] == "the disk is full"
	})
	room()
	s.readyAgain(patience)
	s.stops()
}

// TestOutcomeWaitsForRoom: a reply that does not fit is kept until there is
// room; the model is not asked again.
func TestOutcomeWaitsForRoom(t *testing.T) {
	t.Parallel()
	long := llmfake.Say("The beginning. " + strings.Repeat("And more of it. ", 20_000) + "The end.")
	long.Token = 1 << 14
	w := newEnv(t, options{think: always(long)})
	p := w.start("chat", "--json")
	p.says(p.ask("later0", "later0: before"), false, "later0: before")
	room := p.limitFiles(256 << 10)
	p.send("q", "first: a long story")
	p.notice(w.text("problem.disk_full", nil))
	p.logged("level=ERROR", "disk full, outcome not stored", "task=")
	p.logged("disk full, outcome not stored", "in=800ms") // the third try
	room()
	p.says(p.answer("q"), false, "The end.")
	if n := len(w.models.Requests()) - len(w.summaries()); n != 2 {
		t.Errorf("the model was called %d times, want once for each question", n)
	}
	p.goesOn()
}

// limitFiles lets the process write no file beyond size bytes; the function
// that it returns takes the limit away.
func (p *program) limitFiles(size uint64) (room func()) {
	p.t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, nil, &before); err != nil {
		p.t.Fatal(err)
	}
	set := func(l unix.Rlimit) {
		if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, &l, nil); err != nil {
			p.t.Fatal(err)
		}
	}
	set(unix.Rlimit{Cur: size, Max: before.Max})
	return func() { set(before) }
}

// TestNoRoomAtAll: on a disk that is full from the start the sentence says so.
func TestNoRoomAtAll(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	cmd := w.command("chat", "hello")
	shell, err := filepath.Abs("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(shell); err != nil {
		t.Fatal(err)
	}
	cmd.Args = append([]string{shell, "-c", `ulimit -f 1; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = shell
	p := w.launch(cmd)
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "full") {
		t.Errorf("got exit code %d, %q; want 1 and that the disk is full", code, p.err.String())
	}
}

// TestDiskLow: on a disk with little room new questions are refused with one
// sentence, what has begun is brought to its end, and with room again legwork
// goes on by itself. It needs a file system of its own.
func TestDiskLow(t *testing.T) {
	t.Parallel()
	reply := make(chan struct{})
	w := newEnv(t, options{think: func(r llmfake.Request) llmfake.Response {
		select { // q1 is at work until the test lets it end
		case <-reply:
		case <-t.Context().Done():
		}
		return llmfake.Brain{}.Respond(r)
	}})
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
	p.send("q1", "q1: safe one") // begins while there is room
	p.see("the plan of q1", func(e event) bool { return e.Type == "board" && e.ReplyTo == "q1" })
	if err := os.WriteFile(w.file("data/ballast"), make([]byte, 40<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	sentence := w.text("problem.disk_full", nil)
	p.send("q2", "later5: no room for this")
	p.notice(sentence)
	p.send("q3", "later6: nor for this")
	p.see("that q3 was read", func(e event) bool { return e.Type == "accepted" && e.Message == "q3" })
	close(reply)
	p.says(p.answer("q1"), false, "value of q1 safe one")
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

// TestDiskFullInMidDownload: a file for which there is no room is not kept. The person
// reads why, and the same file can be read when there is room. The download
// leaves no part of the file on the disk.
func TestDiskFullInMidDownload(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{options: options{think: readsFiles}})
	s := b.opens()
	book := telegramfake.File{Name: "book.txt", Content: []byte("It begins.\n" + strings.Repeat("A line of the book.\n", 100_000))}
	room := s.limitFiles(1 << 20)
	b.Say(b.bob.ID, b.bob, "how does it begin?", telegramfake.Attach("document", book))
	b.once(b.bob.ID, "goal: how does it begin?", b.says("file.disk", map[string]any{"Name": "book.txt"}))
	b.unread(s, "file too large")
	room()
	b.Say(b.bob.ID, b.bob, "and now?", telegramfake.Attach("document", book))
	b.once(b.bob.ID, "goal: and now?", "file f1 book.txt", "It begins.")
	b.goesOn(b.bob)
	s.stops()
	for _, dir := range []string{"data/tmp", "data/files"} {
		left, err := os.ReadDir(b.file(dir))
		for _, e := range left {
			if dir == "data/tmp" || !e.IsDir() {
				t.Errorf("in %s %s was left behind", dir, e.Name())
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
}
