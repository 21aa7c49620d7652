package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/app/cli"
	"legwork/app/data"
	"legwork/app/probe"
	"legwork/conf"
	"legwork/internal/telemetry"
)

type checkCommand struct {
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Probe  bool          `help:"Also call each model, platform and webhook once and start each server once, and print a table."`
	Wait   time.Duration `default:"10s" help:"How long a server may take to answer a probe."`
}

// Run prints every mistake in the configuration, or one line when there is none.
// The mistakes are the result of the command, so they go to standard output.
func (command checkCommand) Run(ctx context.Context, c cli.Console) error {
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	c.Out = cli.Wrapping(c.Out)
	config, source, err := c.LoadConfig(command.Config)
	var mistakes conf.Errors
	switch {
	case errors.As(err, &mistakes):
		fmt.Fprintln(c.Out, mistakes)
		return cli.ErrFailed
	case err != nil:
		return err
	}
	if models := config.LLM.Unpriced(); len(models) > 0 && !slices.ContainsFunc(config.Warnings(), func(w conf.Error) bool { return w.Key == "budget" }) {
		fmt.Fprintf(c.Out, "hint: limits in US dollars count nothing for models without a price: %s; limits in tokens count: budget.day_tokens is %d; set models.NAME.price to count dollars, too\n", strings.Join(models, ", "), config.Budget.DayTokens)
	}
	for _, w := range slices.Concat(config.Warnings(), probe.MissingPrograms(config)) {
		fmt.Fprintf(c.Out, "warning: %v\n", w)
	}
	for _, name := range config.Tools.Undescribed() {
		fmt.Fprintf(c.Out, "hint: groups.%s.description is missing: the planner chooses a group by this sentence, and sees only the names of the tools without it\n", name)
	}
	if open := config.Tools.Open(); len(open) > 0 {
		fmt.Fprintf(c.Out, "hint: these servers can read and change all files of legwork's user: %s; on Linux, servers.NAME.sandbox names the folders that they need (docs/security.md)\n", strings.Join(open, ", "))
	}
	if err := checkKeys(ctx, config, c); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s: no mistakes; models: %d, servers: %d, groups: %d\n", source,
		len(config.LLM.Models), len(config.Tools.Servers), len(config.GroupNames()))
	if command.Probe {
		return probe.Run(ctx, config, command.Wait, c)
	}
	return nil
}

// checkKeys prints what is wrong with the sealing key and the sign-ins that it seals.
func checkKeys(ctx context.Context, config *conf.Config, c cli.Console) error {
	sealed, err := data.Owner{Config: config, Log: c.Log(config)}.Sealed(ctx)
	if err != nil {
		fmt.Fprintln(c.Out, err)
		return cli.ErrFailed
	}
	for _, advice := range sealed.Advice() {
		fmt.Fprintf(c.Out, "warning: %s\n", advice)
	}
	if config.Store.Type == "postgres" && config.SealingKey == "" {
		fmt.Fprintln(c.Out, "hint: with postgres, set sealing_key or LEGWORK_SEALING_KEY: each legwork on the database needs the same key to read the stored sign-ins (docs/data.md)")
	}
	return nil
}

type schemaCommand struct{}

// Run prints the JSON Schema of the config file.
func (schemaCommand) Run(c cli.Console) error {
	_, err := c.Out.Write(conf.Schema())
	return err
}

type versionCommand struct{}

// Run prints one line: version, commit, Go version.
func (versionCommand) Run(c cli.Console) error {
	b := telemetry.ReadBuild()
	_, err := fmt.Fprintf(c.Out, "legwork %s, commit %s, %s\n", b.Version, b.Commit, b.Go)
	return err
}
