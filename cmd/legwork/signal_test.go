package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hanging is a command line that stops for nobody, for TestSecondSignal.
const hanging = "LEGWORK_TEST_HANGS"

// TestSecondSignal: who asks twice is not kept waiting, and nobody is for long.
func TestSecondSignal(t *testing.T) {
	if os.Getenv(hanging) != "" {
		ctx, stop := untilSignal()
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		select {} // a part that does not end
	}
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
		began := time.Now()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch lines.Text() {
			case "ready":
				_ = cmd.Process.Signal(syscall.SIGTERM)
			case "stopping":
				for n := 0; second && n < 50 && cmd.Process.Signal(syscall.SIGTERM) == nil; n++ { // it may not have let go of the first one yet
					<-time.After(20 * time.Millisecond)
				}
			}
		}
		err = cmd.Wait()
		took, limit := time.Since(began), exitTime+5*time.Second
		if second {
			limit = 5 * time.Second
		}
		if err == nil || took > limit || second != strings.Contains(err.Error(), "terminated") {
			t.Errorf("second signal %v: ended with %v after %v, want within %v", second, err, took, limit)
		}
	}
}
