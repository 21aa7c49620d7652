package client

import (
	"fmt"
	"os"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// minLandlock is the first version that also keeps files from being truncated: Linux 6.2
// (https://docs.kernel.org/userspace-api/landlock.html#file-truncation-abi-3).
const minLandlock = 3

// SandboxProblem says why this system can run no Sandbox; empty when it can.
func SandboxProblem() string {
	if version, err := ll.LandlockGetABIVersion(); err != nil || version < minLandlock {
		return "a sandbox needs Linux 6.2 or newer with Landlock, which this kernel lacks or has switched off; remove sandbox to run the server without it"
	}
	return ""
}

// restrict closes this process in for good. Where the kernel can, it also keeps signals,
// and sockets that have a name, within the sandbox.
func restrict(read, write []string) error {
	rules := []landlock.Rule{}
	for _, path := range readable() {
		rules = append(rules, rule(path, false).IgnoreIfMissing())
	}
	for _, path := range writable() {
		rules = append(rules, rule(path, true).IgnoreIfMissing())
	}
	for _, path := range read {
		rules = append(rules, rule(path, false))
	}
	for _, path := range write {
		rules = append(rules, rule(path, true))
	}
	if err := landlock.V3.RestrictPaths(rules...); err != nil {
		return err
	}
	if err := landlock.V9.BestEffort().RestrictPaths(rules...); err != nil {
		return err
	}
	return landlock.V9.BestEffort().RestrictScoped()
}

// rule allows a folder or a file.
func rule(path string, write bool) landlock.FSRule {
	info, err := os.Stat(path)
	folder := err == nil && info.IsDir()
	switch {
	case folder && write:
		return landlock.RWDirs(path).WithRefer()
	case folder:
		return landlock.RODirs(path)
	case write:
		return landlock.RWFiles(path)
	default:
		return landlock.ROFiles(path)
	}
}

func become(program string, args []string) error {
	if err := unix.Exec(program, args, os.Environ()); err != nil {
		return fmt.Errorf("starting %q: %w", program, err)
	}
	return nil
}
