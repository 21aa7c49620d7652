package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"legwork/app/cli"
	"legwork/app/tooladmin"
)

// toolsCommand works on tools without a model.
type toolsCommand struct {
	List   toolsListCommand   `cmd:"" help:"List groups, servers and tools, and which tools ask for approval or are quarantined."`
	Call   toolsCallCommand   `cmd:"" help:"Call one tool and print its result; or read a resource or a prompt of a server."`
	Search toolsSearchCommand `cmd:"" help:"Find MCP servers in a registry."`
	Add    toolsAddCommand    `cmd:"" help:"Add a server of a registry to the config file. Its tools wait until an admin accepts them."`
	Accept toolsAcceptCommand `cmd:"" help:"Show the tools that are new or that their servers changed, and accept them."`
}

type toolsListCommand struct {
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	JSON   bool          `help:"For programs: one JSON object, with the schemas of all tools."`
	Wait   time.Duration `default:"10s" help:"How long a server may take to answer."`
}

// Run starts every server once and prints what the groups offer. It fails when
// a server cannot be used; the others are listed all the same.
func (command toolsListCommand) Run(ctx context.Context, c cli.Console) error {
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	i, err := tooladmin.Take(ctx, config, command.Wait, c)
	if err != nil {
		return err
	}
	if command.JSON {
		fmt.Fprintln(c.Out, cli.JSON(i))
	} else if err := i.Print(c.Out); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if i.Failing() {
		return cli.ErrFailed
	}
	return nil
}

// checkWait refuses a time in which no server could answer.
func checkWait(wait time.Duration) error {
	if wait < time.Second || wait > 10*time.Minute {
		return cli.MisuseError(fmt.Sprintf("--wait %v is out of range; allowed: 1s to 10m", wait))
	}
	return nil
}

type toolsCallCommand struct {
	Server    string        `arg:"" help:"A server of the config."`
	Tool      string        `arg:"" help:"One of its tools; or resources/list, resources/read, prompts/list or prompts/get."`
	Arguments string        `arg:"" optional:"" placeholder:"JSON" help:"A JSON object; - reads it from standard input. Default: {}."`
	Config    string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Group     string        `placeholder:"NAME" help:"Apply the rules of this group. Default: the first one that offers the tool."`
	Yes       bool          `help:"Call it without asking for approval."`
	Out       string        `placeholder:"DIR" help:"Save the images of the result as files in this folder."`
	Chat      string        `placeholder:"KEY" help:"Built-in servers work for this chat, such as telegram:-100987. Default: that of legwork chat."`
	Wait      time.Duration `default:"30s" help:"How long the server may take to start."`
}

// Run calls a tool by the rules of the config. The result goes to standard output,
// everything else to standard error.
func (command toolsCallCommand) Run(ctx context.Context, c cli.Console) error {
	arguments, err := command.arguments(c)
	if err != nil {
		return err
	}
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	return tooladmin.CallRequest{
		Server: command.Server, Tool: command.Tool, Arguments: arguments, StdinUsed: command.Arguments == "-", Group: command.Group,
		Yes: command.Yes, Out: command.Out, Chat: command.Chat, Wait: command.Wait,
	}.Run(ctx, c, config)
}

// arguments are the arguments of the call. They must be a JSON object; the server
// checks the rest.
func (command toolsCallCommand) arguments(c cli.Console) (json.RawMessage, error) {
	text := cmp.Or(command.Arguments, "{}")
	if text == "-" {
		var err error
		if text, err = cli.ReadInput(c); err != nil {
			return nil, err
		}
	}
	raw := bytes.TrimSpace([]byte(text))
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		why := ""
		if err != nil && !json.Valid(raw) {
			why = fmt.Sprintf(" (%v)", err)
		}
		return nil, cli.MisuseError(fmt.Sprintf(`the arguments are not a JSON object%s; write one such as '{"city": "Rome"}', or - to read it from standard input`, why))
	}
	return raw, nil
}

type toolsAcceptCommand struct {
	Tool   string        `arg:"" optional:"" placeholder:"SERVER.TOOL" help:"The tool to use, or a server for all of its tools that wait. Default: all changes are shown, and nothing is accepted."`
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Yes    bool          `help:"Accept without asking whether. A running legwork still wants the code."`
	Code   string        `placeholder:"CODE" help:"The code that the running legwork has shown to its admins and in its terminal. Default: the command asks for it."`
	Wait   time.Duration `default:"30s" help:"How long a server may take to answer when legwork is not running."`
}

// Run shows which tools are new or were changed by their servers, and accepts one that is
// named.
func (command toolsAcceptCommand) Run(ctx context.Context, c cli.Console) error {
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	return tooladmin.AcceptRequest{Tool: command.Tool, Yes: command.Yes, Code: command.Code, Wait: command.Wait}.Run(ctx, c, config)
}
