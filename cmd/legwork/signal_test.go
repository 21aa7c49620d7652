package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// hanging is a command line that does not stop, for TestSecondSignal.
const hanging = "LEGWORK_TEST_HANGS"

// TestSecondSignal: a second signal stops at once, and no signal keeps people
// waiting for long.
func TestSecondSignal(t *testing.T) {
	if os.Getenv(hanging) != "" {
		ctx, stop := untilSignal()
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		select {} // a part that does not end
	}
	t.Parallel()
	for _, second := range []bool{true, false} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=TestSecondSignal$")
		cmd.Env = append(os.Environ(), hanging+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var signals sync.WaitGroup
		over := make(chan struct{})
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch lines.Text() {
			case "ready":
				_ = cmd.Process.Signal(syscall.SIGTERM)
			case "stopping":
				signals.Go(func() {
					again := time.NewTicker(20 * time.Millisecond) // it may not have let go of the first one yet
					defer again.Stop()
					for second && cmd.Process.Signal(syscall.SIGTERM) == nil {
						select {
						case <-again.C:
						case <-over:
							return
						}
					}
				})
			}
		}
		close(over)
		signals.Wait()
		if err = cmd.Wait(); err == nil || second != strings.Contains(err.Error(), "terminated") {
			t.Errorf("second signal %v: ended with %v, want that signal to end it, or else exitTime", second, err)
		}
	}
}
