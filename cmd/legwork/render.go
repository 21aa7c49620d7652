package main

import (
	"fmt"

	"legwork/bot/markdown"
)

type renderCommand struct {
	To    string `required:"" enum:"terminal,telegram,slack" placeholder:"PLATFORM" help:"The platform: terminal."`
	Width int    `default:"80" help:"Columns of the terminal; 0 does not break lines."`
	Color bool   `help:"With ANSI sequences for bold, italic and colours."`
	JSONL bool   `name:"jsonl" help:"Read one {\"markdown\": TEXT} per line and print one result per line."`
}

// Run prints {"parts": [{"text", "parse_mode"}]}.
func (command renderCommand) Run(c console) error {
	if command.To != "terminal" {
		return misuse(fmt.Sprintf("rendering for %s is not in this version; use --to terminal", command.To))
	}
	if command.Width < 0 {
		return misuse("--width must not be negative; 0 does not break lines")
	}
	render := func(text string) string {
		parts := markdown.TerminalParts(text, command.Width, markdown.Style{Color: command.Color})
		return toJSON(map[string][]markdown.Part{"parts": parts})
	}
	if command.JSONL {
		return eachLine(c, "markdown", render)
	}
	text, err := readInput(c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, render(text))
	return err
}
