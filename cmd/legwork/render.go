package main

import (
	"fmt"

	"legwork/app/cli"
	"legwork/bot/markdown"
)

type renderCommand struct {
	To    string `required:"" enum:"terminal,telegram,slack" placeholder:"PLATFORM" help:"The platform: terminal, telegram or slack."`
	Width int    `default:"80" help:"Columns of the terminal; 0 does not break lines."`
	Color bool   `help:"On a terminal, with ANSI sequences for bold, italic and colours."`
	JSONL bool   `name:"jsonl" help:"Read one {\"markdown\": TEXT} per line and print one result per line."`
}

// Run prints {"parts": [...]}, the messages that the platform would be sent.
func (command renderCommand) Run(c cli.Console) error {
	if command.Width < 0 {
		return cli.MisuseError("--width must not be negative; 0 does not break lines")
	}
	render := func(text string) string {
		return cli.JSON(map[string][]markdown.Part{"parts": command.parts(text)})
	}
	if command.JSONL {
		return cli.EachLine(c, "markdown", render)
	}
	text, err := cli.ReadInput(c)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, render(text))
	return err
}

func (command renderCommand) parts(text string) []markdown.Part {
	switch command.To {
	case "telegram":
		return markdown.Telegram(text)
	case "slack":
		parts := markdown.Slack(text)
		for i := range parts {
			parts[i].Text = markdown.SlackEscape(parts[i].Text)
			if parts[i].Blocks != nil {
				parts[i].MarkdownText = "" // shown when Slack refuses the blocks
			}
		}
		return parts
	default:
		return markdown.TerminalParts(text, command.Width, markdown.Style{Color: command.Color})
	}
}
