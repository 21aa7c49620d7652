package main

import (
	"context"
	"fmt"

	"legwork/app"
	"legwork/app/cli"
)

type serveCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run is the daemon: every configured platform, until ctx ends.
func (command serveCommand) Run(ctx context.Context, c cli.Console) error {
	return app.Serve(ctx, command.Config, c)
}

type pauseCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run pauses all work on the data of the config, in the process that holds them
// or, when there is none, in the next one.
func (command pauseCommand) Run(ctx context.Context, c cli.Console) error {
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	was, fresh, running, err := app.Pause(ctx, config, c.Log(config))
	switch {
	case err != nil:
		return err
	case !fresh:
		fmt.Fprintf(c.Out, "legwork is paused already: %s paused it on %s. \"legwork resume\" resumes the work.\n", cli.OneLine(was.Name), was.At.Local().Format("2006-01-02 15:04"))
	case running:
		fmt.Fprintln(c.Out, `Paused. legwork calls no model and no tool until "legwork resume"; running calls finish.`)
	default:
		fmt.Fprintln(c.Out, `Paused. legwork is not running. After the next start it calls no model and no tool until "legwork resume".`)
	}
	return nil
}

type resumeCommand struct {
	Config string `placeholder:"FILE" help:"The config file. Default: config.yaml, or the environment where there is none."`
}

// Run resumes the work that "legwork pause" has stopped.
func (command resumeCommand) Run(ctx context.Context, c cli.Console) error {
	config, _, err := c.LoadConfig(command.Config)
	if err != nil {
		return err
	}
	was, err := app.Resume(ctx, config, c.Log(config))
	switch {
	case err != nil:
		return err
	case was == nil:
		fmt.Fprintln(c.Out, "Nothing is paused.")
	default:
		fmt.Fprintf(c.Out, "Resumed. %s had paused it.\n", cli.OneLine(was.Name))
	}
	return nil
}
