package main

import (
	"legwork/app/cli"
	"legwork/tools/builtin/web"
)

// readPDFCommand is the process that the server web starts for each PDF, because a
// hostile file can crash the process that reads it.
type readPDFCommand struct{}

// Run reads a PDF on standard input and writes its contents as JSON.
func (readPDFCommand) Run(c cli.Console) error { return web.ReadPDF(c.In, c.Out) }
