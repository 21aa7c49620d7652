package main

import (
	"fmt"
	"strings"

	"legwork/app/cli"
	"legwork/planner"
)

type planCommand struct {
	Groups []string `placeholder:"NAME" help:"The tool groups that a plan may use, separated by commas; llm_tool is always allowed. Default: any name."`
	Max    int      `default:"256" placeholder:"N" help:"The most sub-tasks of one plan, as limits.subtasks."`
	JSONL  bool     `name:"jsonl" help:"Read one {\"reply\": TEXT} per line and print one result per line."`
}

// Run prints {"plan": …}, {"answer": …} or {"error": …}; the last fails the
// command unless it is one result of many.
func (command planCommand) Run(c cli.Console) error {
	options := planner.ParseOptions{Max: command.Max}
	if command.Max < 1 {
		return cli.MisuseError("--max must be at least 1")
	}
	for _, group := range command.Groups {
		if group = strings.TrimSpace(group); group == "" {
			return cli.MisuseError("--groups holds an empty name; write --groups web,clock")
		}
		options.Groups = append(options.Groups, group)
	}
	if command.JSONL {
		return cli.EachLine(c, "reply", func(reply string) string {
			return planner.PlanOutput(planner.ParseReply(reply, options))
		})
	}
	reply, err := cli.ReadInput(c)
	if err != nil {
		return err
	}
	parsed, refused := planner.ParseReply(reply, options)
	if _, err := fmt.Fprintln(c.Out, planner.PlanOutput(parsed, refused)); err != nil {
		return err
	}
	if refused != nil {
		return cli.ErrFailed
	}
	return nil
}
