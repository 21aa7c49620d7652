package main

import (
	"legwork/app/cli"
	"legwork/files/read"
)

// readerCommand is the process that package read starts for each file, because a
// hostile file can crash the process that reads it.
type readerCommand struct{}

// Run does the job on standard input with the file that is descriptor 3.
func (readerCommand) Run(c cli.Console) error { return read.Main(c.In, c.Out) }
