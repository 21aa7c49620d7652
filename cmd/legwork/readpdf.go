package main

import (
	"legwork/app/cli"
	"legwork/tools/builtin/web"
)

// readPDFCommand is what the server web starts for each PDF: a hostile file can
// end only the process that reads it.
type readPDFCommand struct{}

// Run reads a PDF on standard input and writes what is in it as JSON.
func (readPDFCommand) Run(c cli.Console) error { return web.ReadPDF(c.In, c.Out) }
