package e2e_test

import (
	"bytes"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/store/bolt"
)

// TestKillInMidTask: after kill -9 the next run goes on where the first one
// was: results are not looked up again, and the answer comes.
func TestKillInMidTask(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: slowly(`{"ms": 3000}`), tools: ", slow", limit: time.Minute})
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	p.working()
	p.kill()
	again := w.start("chat", "--json")
	answer := again.answer("q")
	again.says(answer, false, "value of quick")
	again.says(answer, false, "at last")
	if n, m := len(w.calls("lookup")), len(w.asked("first: a question")); n != 1 || m != 2 {
		t.Errorf("got %d lookups and %d calls of the model that hold the goal, want 1 and 2: the plan and its review, which answers", n, m)
	}
	again.goesOn()
}

// TestSignals: a signal in the middle ends the process cleanly and soon, and the
// next run goes on.
func TestSignals(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": os.Interrupt} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{think: slowly(`{"ms": 2000}`), tools: ", slow", limit: time.Minute})
			p := w.start("chat", "--json")
			p.send("q", "first: a question")
			p.working()
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := p.code(); code != 0 { // it is 1 where the end takes more than 10 s
				t.Errorf("got exit code %d, want 0", code)
			}
			if text := p.err.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "goroutine ") {
				t.Errorf("the log of a clean end: %s", text)
			}
			if lock, err := os.ReadFile(w.file("data/lock.json")); err != nil || len(lock) > 0 {
				t.Errorf("the lock after the end: got %q, %v; want it empty", lock, err)
			}
			again := w.start("chat", "--json")
			again.says(again.answer("q"), false, "at last")
			if n := len(w.calls("lookup")); n != 1 {
				t.Errorf("got %d lookups, want the one of the first run", n)
			}
			again.goesOn()
		})
	}
}

// TestSignalWhileStreaming: an answer that was being streamed comes whole after
// the next start.
func TestSignalWhileStreaming(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{think: func(r llmfake.Request) llmfake.Response {
		response := llmfake.Say("This answer has ten words, of which none gets lost.")
		if r.Seq == 1 {
			response.PerToken = 300 * time.Millisecond
		}
		return response
	}})
	p := w.start("chat", "--json")
	p.send("q", "first: a question")
	p.see("the first words", func(e event) bool { return e.Type == "delta" })
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	again := w.start("chat", "--json")
	again.says(again.answer("q"), false, "This answer has ten words, of which none gets lost.")
	again.goesOn()
}

// TestDamagedRecord: a task whose record is damaged costs its own answer: the
// chat reads a sentence, the log names the task, the tasks behind it go on, and
// so does every later start, though there is no backup.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	w := newEnv(t, options{wait: time.Minute, think: func(r llmfake.Request) llmfake.Response {
		if !mended.Load() {
			return llmfake.Response{Fault: llmfake.Fault{Kind: llmfake.FaultHang}}
		}
		return llmfake.Brain{}.Respond(r)
	}})
	p := w.start("chat", "--json")
	p.send("q1", "first: a question whose record breaks")
	task := p.see("a board", func(e event) bool { return e.Type == "board" }).Task
	p.send("q2", "second: a question behind it")
	p.see("the second question stored", func(e event) bool { return e.Type == "accepted" && e.Message == "q2" })
	p.kill()

	file := w.file("data/" + bolt.FileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sound := []byte(`"goal":"first: a question whose record breaks"`)
	if !bytes.Contains(data, sound) {
		t.Fatalf("the data file does not hold %s", sound)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(data, sound, bytes.ReplaceAll(sound, []byte("breaks"), []byte("br\x01aks"))), 0o600); err != nil {
		t.Fatal(err)
	}
	mended.Store(true)
	again := w.start("chat", "--json")
	again.notice(w.text("problem.damaged", nil))
	again.logged("level=ERROR", "task="+task, "damaged")
	again.says(again.answer("q2"), false, "second: a question behind it")
	again.goesOn()
	for _, text := range []string{"later: hello", "and later: hello"} {
		next := w.start("chat", text)
		next.end()
		if strings.Contains(next.err.String(), task) {
			t.Errorf("a later run still has the damaged task: %s", next.err.String())
		}
	}
}

// TestDamagedFile: a data file that cannot be trusted is not touched, and the
// sentence says so.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	w := newEnv(t, options{})
	w.start("chat", "first: hello").end()
	file := w.file("data/" + bolt.FileName)
	garbage := bytes.Repeat([]byte("this is no data file "), 5000)
	if err := os.WriteFile(file, garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	p := w.start("chat", "hello")
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), bolt.FileName) || !strings.Contains(p.err.String(), "damaged") {
		t.Errorf("got exit code %d, %q; want 1 and the file that is damaged", code, p.err.String())
	}
	if data, err := os.ReadFile(file); err != nil || !bytes.Equal(data, garbage) {
		t.Errorf("the damaged file was changed: %v", err)
	}
}
