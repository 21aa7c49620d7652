package e2e_test

import (
	"fmt"
	"strings"
	"testing"
)

// attachedEnv is an environment with a running legwork serve.
func attachedEnv(t *testing.T) (*env, *serving) {
	t.Helper()
	o := shopping(orders{words: map[string]string{}}, "book")
	o.more += fmt.Sprintf("http: {listen: 127.0.0.1:0, tokens: [%s]}\n", tokenLine("ops", "operator"))
	w := newEnv(t, o)
	return w, w.serve()
}

// TestAttach: a chat beside legwork serve is a terminal of that process: it shows its
// boards, asks for approvals, has buttons, and says when serve has stopped.
func TestAttach(t *testing.T) {
	t.Parallel()
	w, s := attachedEnv(t)
	chat := w.sit("chat")
	chat.sees("Type a question.", w.text("terminal.attached", nil))
	chat.types(`q1: shop book {"item":"an oar"}` + "\r")
	chat.sees("Allow this action?", `"item": "an oar"`, "1 Allow once")
	w.bought()

	// Leaving does not stop the task. The next chat shows what is open.
	chat.types("\x04")
	chat.leaves()
	chat.sees("1 task goes on in the running legwork.")
	chat = w.sit("chat")
	chat.sees("Allow this action?", `"item": "an oar"`, "1 Allow once")
	chat.types("1")
	chat.sees("[q1] The tools said:")
	w.bought("an oar")

	// The person at the terminal is an admin, and the buttons of notices work.
	chat.types("/pause\r")
	chat.sees("Paused. I make no new calls")
	chat.types("/resume\r")
	chat.sees(w.text("notice.resumed", nil))
	chat.types("/forget\r")
	chat.sees("1 Forget everything")
	chat.types("1\r")
	chat.sees("Deleted: 1 question")

	s.stops()
	<-chat.ended
	chat.sees("has stopped. Unfinished tasks continue")
	if code := chat.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code of the chat after serve has stopped: got %d, want 1", code)
	}
	if log := s.err.String(); strings.Contains(log, "level=ERROR") || strings.Contains(log, "did not stop") {
		t.Errorf("the log of serve: %s", log)
	}
}

// TestAttachPrograms: one question, a pipe and programs work beside legwork serve. Each
// chat gets the outputs of its own conversations.
func TestAttachPrograms(t *testing.T) {
	t.Parallel()
	w, s := attachedEnv(t)
	one := w.start("chat", "q1: hello")
	one.end()
	if got := one.out.String(); !strings.Contains(got, "[q1] answers") || strings.Contains(one.err.String(), "level=") {
		t.Errorf("one question: got %q and on stderr %q", got, one.err.String())
	}
	denied := w.start("chat", `q2: shop book {"item":"a boat"}`)
	denied.end()
	if got := denied.err.String(); !strings.Contains(got, "There is no person to decide") {
		t.Errorf("without a person stderr is %q", got)
	}
	w.bought()

	first, second := w.start("chat", "--json", "--name", "one"), w.start("chat", "--json", "--name", "two")
	first.ask("a", "q3: for one")
	second.ask("b", "q4: for two")
	second.end()
	first.end()
	if strings.Contains(first.out.String(), "q4:") || strings.Contains(second.out.String(), "q3:") {
		t.Errorf("a chat got the outputs of the other one:\n%s\n%s", first.out.String(), second.out.String())
	}

	// An answer that no terminal showed waits for one.
	busy := w.start("chat", "--json")
	busy.send("c", `q5: shop book {"item":"a sail"}`)
	busy.until("a question", func() bool { return strings.Contains(busy.out.String(), `"type":"question"`) })
	busy.kill()
	lines := w.start("chat")
	lines.until("the question again", func() bool { return strings.Contains(lines.err.String(), "1) Allow once") })
	lines.write("1\n")
	lines.until("the answer", func() bool { return strings.Contains(lines.out.String()+lines.err.String(), "[q5] The tools said:") })
	lines.end()
	w.bought("a sail")
	s.stops()
}

// TestDemoLeft: the demo, whose data is deleted, does not say that a task goes on.
func TestDemoLeft(t *testing.T) {
	t.Parallel()
	w := &env{t: t, dir: t.TempDir()}
	s := w.sit("demo")
	s.sees("Type a question.")
	s.types("Save a note: buy milk\r")
	s.sees("Allow this action?")
	s.types("\x04")
	s.leaves()
	<-s.shown
	if text := s.text(); strings.Contains(text, "unfinished") {
		t.Errorf("the demo says that a task is unfinished:\n%s", text)
	}
}

// TestDemoApproval: the demo shows an approval without a config and a key.
func TestDemoApproval(t *testing.T) {
	t.Parallel()
	w := &env{t: t, dir: t.TempDir(), vars: []string{"TZ=Asia/Kathmandu"}}
	s := w.sit("demo")
	s.sees("To see an approval, try: Save a note: buy milk")
	s.types("Save a note: buy milk\r")
	s.sees("Allow this action?", `"content": "buy milk\n"`, `"path": "notes.md"`, "1 Allow once", "3 Deny")
	s.types("1")
	s.sees("Added 9 bytes to notes.md")
	s.types("/settings\r")
	s.sees("Time zone: Asia/Kathmandu")
	s.types("\x04")
	s.leaves()
}
