package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"legwork/app/cli"
	"legwork/internal/nearest"
	"legwork/tools/builtin"
)

type mcpCommand struct {
	Name    string `arg:"" help:"The built-in server: clock, files, math, memory, search or web."`
	Options string `placeholder:"JSON" default:"{}" help:"Its options, as in the config under servers.NAME.options."`
	Data    string `placeholder:"DIR" default:"data" help:"The folder for its data."`
}

// Run serves until standard input ends.
func (command mcpCommand) Run(ctx context.Context, c cli.Console) error {
	if names := builtin.Names(); !slices.Contains(names, command.Name) {
		perhaps := ""
		if near := nearest.Typo(command.Name, names); near != "" {
			perhaps = fmt.Sprintf(", the nearest one is %q", near)
		}
		return cli.MisuseError(fmt.Sprintf("there is no built-in server %q%s; there are: %s", command.Name, perhaps, strings.Join(names, ", ")))
	}
	var options map[string]any
	decoder := json.NewDecoder(bytes.NewReader([]byte(command.Options)))
	if err := decoder.Decode(&options); err != nil || decoder.More() {
		return cli.MisuseError(`--options is not a JSON object; write one such as '{"root": "docs"}'`)
	}
	env := builtin.Env{Data: command.Data}
	var wrong *builtin.OptionError
	if _, err := builtin.New(command.Name, options, env); errors.As(err, &wrong) {
		return cli.MisuseError("--options: " + wrong.Error())
	}
	return builtin.ServeStdio(ctx, command.Name, options, env, c.In, c.Out)
}
