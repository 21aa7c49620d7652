package terminal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/test/need"
)

// asProgram, when set, makes the test binary a chat with two streaming tasks,
// for terminals that start programs.
const asProgram = "LEGWORK_TEST_CHAT"

// program is what the test binary does then.
func program() {
	texts, err := i18n.Load("")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	t := New(Config{In: os.Stdin, Out: os.Stdout, Interactive: true, Texts: texts})
	ctx, cancel := context.WithCancel(context.Background())
	posted := make(chan error, 1)
	go func() { posted <- stream(ctx, t) }()
	err = t.Run(ctx, func(_ context.Context, all []bot.Message) error {
		for _, m := range all {
			if _, err := t.Post(ctx, m.Chat, bot.Draft{Kind: bot.KindNotice, Text: "you said " + m.Text, ReplyTo: m.ID}); err != nil {
				return err
			}
		}
		return nil
	})
	cancel()
	fmt.Println("over", err, <-posted)
}

func stream(ctx context.Context, t *Terminal) error {
	for _, task := range []string{"t", "u"} {
		if _, err := t.Post(ctx, t.Chat(), board(task, "task "+task, "Writing with a status that is long enough to be cut", "done", "done")); err != nil {
			return err
		}
		if err := t.Stream(ctx, t.Chat(), bot.Draft{Task: task, Text: points(200)}); err != nil {
			return err
		}
	}
	return nil
}

// tmux breaks the rows that became too long, as terminals in use do; the screen
// of the other tests does not.
func TestConsoleResizes(t *testing.T) {
	binary := need.Tmux(t)
	dir := t.TempDir()
	tmux := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(binary, append([]string{"-S", filepath.Join(dir, "s"), "-f", os.DevNull}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", asProgram+"=1", "NO_COLOR=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return string(out)
	}
	see := func(what string, ok func(screen string) bool) {
		t.Helper()
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		late := time.After(patience)
		for {
			screen := tmux("capture-pane", "-p")
			if ok(screen) {
				return
			}
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("%s is not on the screen:\n%s", what, screen)
			}
		}
	}
	// Rows that a smaller screen pushed out come back above the tasks of a
	// larger one.
	whole := func(screen string) bool {
		_, shown, _ := strings.Cut(screen, "task t")
		return strings.Count(screen, "task t") == 1 && strings.Count(screen, "task u") == 1 &&
			strings.Count(shown, "200. point") == 2 && strings.Count(screen, "›") == 1
	}
	tmux("new-session", "-d", "-x", "80", "-y", "24", os.Args[0]+"; cat")
	defer tmux("kill-server")
	see("both tasks", whole)
	for _, size := range [][2]string{{"40", "24"}, {"40", "14"}, {"100", "14"}, {"100", "40"}, {"30", "16"}} {
		tmux("resize-window", "-x", size[0], "-y", size[1])
		see("both tasks, once, at "+strings.Join(size[:], "x"), whole)
	}
	tmux("send-keys", "世界 hi", "Enter")
	see("the notice", func(screen string) bool { return strings.Contains(screen, "you said 世界 hi") && whole(screen) })
	tmux("send-keys", "C-d")
	see("the end", func(screen string) bool { return strings.Contains(screen, "over <nil> <nil>") })
}
