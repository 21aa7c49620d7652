package main

import "legwork/tools/client"

// sandboxCommand is what legwork runs instead of a tool server with the key sandbox. It
// closes itself in and becomes the server.
type sandboxCommand struct {
	Args []string `arg:"" passthrough:""`
}

// Run returns only when the server cannot be started.
func (command sandboxCommand) Run() error { return client.RunSandboxed(command.Args) }
