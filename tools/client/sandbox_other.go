//go:build !linux

package client

import "errors"

// SandboxProblem says why this system can run no Sandbox.
func SandboxProblem() string {
	return "a sandbox needs Linux 6.2 or newer; remove sandbox to run the server without it"
}

func restrict([]string, []string) error { return errors.New(SandboxProblem()) }

func become(string, []string) error { return errors.New(SandboxProblem()) }
