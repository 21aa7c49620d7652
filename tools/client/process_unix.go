//go:build unix && !linux

package client

import "syscall"

// ownGroup makes the child lead a group.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
