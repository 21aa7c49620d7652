//go:build !unix

package client

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

// terminateGroup does nothing where there is no polite signal.
func terminateGroup(int) {}

// killGroup kills the leader alone where there are no process groups.
func killGroup(leader int) {
	if p, err := os.FindProcess(leader); err == nil {
		_ = p.Kill()
	}
}
