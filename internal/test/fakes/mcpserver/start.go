package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// atStart does the faults that come before the first message.
func (f *fake) atStart() {
	if fault, ok := find(f.fault); ok && fault.start != nil {
		fault.start(f)
	}
	<-time.After(f.delay)
}

func cannotStart(*fake) {
	fmt.Fprintln(os.Stderr, "cannot open the database")
	os.Exit(3)
}

// deaf stays; on HTTP, listen does it.
func deaf(f *fake) {
	if f.http == "" && f.sse == "" {
		select {}
	}
}

func floodStderr(*fake) {
	go func() {
		for {
			fmt.Fprintln(os.Stderr, strings.Repeat("too much ", 1000))
		}
	}()
}

func leaveChild(f *fake) {
	c := exec.Command("sleep", "600")
	c.Stdout = os.Stdout // which keeps the pipe open when this process ends
	if err := c.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.WriteFile(f.pidFile, fmt.Appendf(nil, "%d", c.Process.Pid), 0o600)
}
