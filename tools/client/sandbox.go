package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Sandbox names the folders and files that a program may use. Everything else on the
// disk is closed to it and to what it starts, but for what programs need to start at
// all: see readable.
type Sandbox struct {
	Read  []string `yaml:"read" json:"read,omitempty"`   // to read and to start programs from
	Write []string `yaml:"write" json:"write,omitempty"` // to change and read
}

// SandboxCommand is the argument that makes legwork run RunSandboxed.
const SandboxCommand = "sandbox"

// readable are the files and folders that every program may read and start: programs,
// libraries, and what name resolution, TLS and clocks need. The rest of /etc, which may
// hold legwork's own config, is not among them.
func readable() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
		"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/gai.conf", "/etc/group",
		"/etc/host.conf", "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types",
		"/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki", "/etc/protocols", "/etc/resolv.conf", "/etc/services", "/etc/ssl", "/etc/timezone",
		"/dev/random", "/dev/urandom", "/dev/zero", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system/cpu",
	}
}

// writable are the devices that every program may write.
func writable() []string { return []string{"/dev/null", "/dev/full"} }

// sandboxed is the command that runs cmd in a sandbox: this program, which closes itself
// in and then becomes the other one.
func sandboxed(cmd *exec.Cmd, s Sandbox) (*exec.Cmd, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	if problem := SandboxProblem(); problem != "" {
		return nil, errors.New(problem)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the path of this program: %w", err)
	}
	var whole Sandbox // the program's working directory is another one
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{s.Read, &whole.Read}, {s.Write, &whole.Write}} {
		for _, path := range list.from {
			full, err := filepath.Abs(path)
			if err != nil {
				return nil, err
			}
			if _, err = os.Stat(full); err != nil {
				return nil, fmt.Errorf("looking at %q of the sandbox: %w", path, errors.Unwrap(err))
			}
			*list.to = append(*list.to, full)
		}
	}
	text, err := json.Marshal(whole)
	if err != nil {
		return nil, err
	}
	// No context: stop ends the whole group.
	return exec.CommandContext(context.Background(), self, append([]string{SandboxCommand, string(text), cmd.Path}, cmd.Args[1:]...)...), nil
}

// RunSandboxed becomes the program of args in a sandbox. args are a Sandbox as JSON, the
// path of the program and its arguments. It returns only when that fails.
func RunSandboxed(args []string) error {
	var s Sandbox
	if len(args) < 2 {
		return errors.New("the sandbox needs folders and a program")
	}
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return fmt.Errorf("reading the folders of the sandbox: %w", err)
	}
	program, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	if err := restrict(append(slices.Clone(s.Read), program), s.Write); err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	return become(program, args[1:])
}
