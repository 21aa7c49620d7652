package main

import (
	"legwork/store/bolt"
)

// dataCommand holds what works on the stored data.
type dataCommand struct {
	Verify verifyCommand `cmd:"" help:"Read every record of a data file and check its sum. Nobody may be using it."`
}

type verifyCommand struct {
	Quick bool   `help:"Only walk through the file; leave the sums of the records out."`
	File  string `arg:"" help:"The data file."`
}

// Run fails with the first thing that is wrong. It also serves the store, which
// lets a process of its own look at a file that may end the one that reads it.
func (command verifyCommand) Run() error {
	if command.Quick {
		return bolt.VerifyQuick(command.File)
	}
	return bolt.Verify(command.File)
}
