package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"legwork/conf"
)

type checkCommand struct {
	Config string        `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
	Probe  bool          `help:"Also call each model, platform and webhook once and start each server once, and print a table."`
	Wait   time.Duration `default:"10s" help:"How long a server may take to answer a probe."`
}

// Run prints every mistake in the configuration, or one line that there is
// none. The mistakes are what was asked for, so they go to standard output.
func (command checkCommand) Run(ctx context.Context, c console) error {
	if err := checkWait(command.Wait); err != nil {
		return err
	}
	config, source, err := loadConfig(command.Config, c)
	var mistakes conf.Errors
	switch {
	case errors.As(err, &mistakes):
		fmt.Fprintln(c.out, mistakes)
		return errFailed
	case err != nil:
		return err
	}
	for _, w := range config.Warnings() {
		fmt.Fprintf(c.out, "warning: %v\n", w)
	}
	fmt.Fprintf(c.out, "%s: no mistakes; models: %d, servers: %d, groups: %d\n", source,
		len(config.LLM.Models), len(config.Tools.Servers), len(config.GroupNames()))
	if command.Probe {
		return probe(ctx, config, command.Wait, c)
	}
	return nil
}
