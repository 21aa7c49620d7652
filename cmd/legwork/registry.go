package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/app/setup"
	"legwork/app/tooladmin"
	"legwork/tools/registry"
)

// registryTime bounds what a registry may take for one command.
const registryTime = time.Minute

type toolsSearchCommand struct {
	Words    []string `arg:"" help:"Words in the name, title or description of the server."`
	Config   string   `placeholder:"FILE" help:"The config file, which may name a registry. Default: config.yaml, or none."`
	Registry string   `placeholder:"URL" help:"The address of the registry. Default: registry in the config, or the public one."`
	Limit    int      `default:"20" help:"The most servers that are listed, 1 to 200."`
	JSON     bool     `help:"For programs: one JSON object."`
}

// Run lists the servers of a registry. It needs no config.
func (command toolsSearchCommand) Run(ctx context.Context, c cli.Console) error {
	if command.Limit < 1 || command.Limit > 200 {
		return cli.MisuseError(fmt.Sprintf("--limit %d is out of range; allowed: 1 to 200", command.Limit))
	}
	words := strings.Fields(strings.Join(command.Words, " "))
	if len(words) == 0 {
		return cli.MisuseError("a word to search for is missing")
	}
	address := command.Registry
	if config, _, err := c.LoadConfig(command.Config); err != nil && command.Config != "" {
		return err
	} else if err == nil && address == "" {
		address = config.Registry
	}
	client, err := newRegistry(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	found, err := client.Search(ctx, words, command.Limit)
	if err != nil {
		return visible(err)
	}
	if command.JSON {
		fmt.Fprintln(c.Out, tooladmin.FoundJSON(found))
		return nil
	}
	if found.Unreadable > 0 {
		fmt.Fprintf(c.Err, "legwork: servers of the registry that do not have the documented form, and are left out: %d\n", found.Unreadable)
	}
	if len(found.Servers) == 0 {
		fmt.Fprintf(c.Out, "The registry %s has no server with %q in its name, title and description. Try fewer or shorter words: registries look in names alone, so one of them has to be in the name.\n", client.Host(), strings.Join(words, " "))
		return cli.ErrFailed
	}
	if err := tooladmin.PrintFound(c.Out, found); err != nil {
		return fmt.Errorf("writing the list: %w", err)
	}
	if found.More {
		fmt.Fprintln(c.Out, "There are more; add a word, or use --limit.")
	}
	fmt.Fprintln(c.Out, "\n\"legwork tools add NAME\" shows one in full and adds it to the config. Anybody can publish in a registry; add what you trust.")
	return nil
}

func newRegistry(address string) (*registry.Client, error) {
	if problem := registry.AddressProblem(address); address != "" && problem != "" {
		return nil, cli.MisuseError("the address of the registry: " + problem)
	}
	return registry.New(address)
}

// visible is an error with words of a stranger in it, in one line.
func visible(err error) error { return errors.New(cli.OneLine(err.Error())) }

type toolsAddCommand struct {
	Name        string `arg:"" help:"The full name of a server in the registry, such as io.github.example/weather."`
	Version     string `default:"latest" help:"Its version."`
	As          string `placeholder:"NAME" help:"Its name in the config. Default: a short form of its own."`
	Choice      int    `placeholder:"NUMBER" help:"Which of its packages and addresses to use. Default: the only one, or the command asks."`
	Description string `placeholder:"TEXT" help:"The sentence by which models choose it. Default: the command asks; with --yes there is none."`
	Config      string `placeholder:"FILE" default:"config.yaml" help:"The config file."`
	Registry    string `placeholder:"URL" help:"The address of the registry. Default: registry in the config, or the public one."`
	Yes         bool   `help:"Ask nothing. Values that the server needs are left to be set in .env."`
}

// Run adds a server of a registry to the config file. Answers may come from a pipe, one to
// a line.
func (command toolsAddCommand) Run(ctx context.Context, c cli.Console) error {
	if !registry.IsName(command.Name) {
		return cli.MisuseError(fmt.Sprintf("%q is not the full name of a server, such as io.github.example/weather; \"legwork tools search WORDS\" lists names", command.Name))
	}
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	env, err := c.EnvOf(command.Config)
	if err != nil {
		return err
	}
	address := command.Registry
	if address == "" {
		address = config.Registry
	}
	client, err := newRegistry(address)
	if err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, registryTime)
	defer cancel()
	server, err := client.Server(short, command.Name, command.Version)
	if errors.Is(err, registry.ErrNotFound) {
		return fmt.Errorf("the registry %s has no server %s in the version %s; \"legwork tools search WORDS\" lists what it has", client.Host(), command.Name, command.Version)
	}
	if err != nil {
		return visible(err)
	}
	if server.Status == registry.Deleted {
		return fmt.Errorf("the server %s was deleted from the registry, so it may be harmful. %s", command.Name, cli.OneLine(server.StatusMessage))
	}
	added, err := setup.AddServer{
		In: c.In, Out: c.Out, Config: command.Config, Now: config, Env: env, Registry: client.Host(), Server: server,
		Name: command.As, Choice: command.Choice, Description: command.Description, Yes: command.Yes,
	}.Run(ctx)
	if err != nil {
		return err
	}
	command.printNext(c, added)
	return nil
}

// printNext says what was written and what to do next.
func (command toolsAddCommand) printNext(c cli.Console, added setup.Added) {
	out := cli.Wrapping(c.Out)
	fmt.Fprintf(out, "\nAdded %s to %s.\n", added.Name, command.Config)
	if added.EnvFile != "" {
		fmt.Fprintf(out, "Its secrets belong into %s, which only you can read.\n", added.EnvFile)
	}
	if len(added.ToSet) > 0 {
		fmt.Fprintf(out, "Set these there first, behind the equals sign: %s\n", strings.Join(added.ToSet, ", "))
	}
	fmt.Fprintf(out, "A running legwork starts it now. Its tools wait until an admin accepts them:\n")
	file := ""
	if command.Config != cli.DefaultConfig {
		file = " --config " + command.Config
	}
	fmt.Fprintf(out, "  legwork tools accept %s%s\n", added.Name, file)
}
