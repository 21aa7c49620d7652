package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"go.yaml.in/yaml/v3"

	"legwork/app/cli"
	"legwork/bot/slack"
)

type slackCommand struct {
	Manifest manifestCommand `cmd:"" help:"Print the manifest to be pasted at api.slack.com/apps: Create New App, From a manifest."`
}

type manifestCommand struct {
	Config string `placeholder:"FILE" help:"The config file whose mode and names of commands are meant. Default: config.yaml, or none where there is none."`
	URL    string `name:"url" placeholder:"URL" help:"How Slack reaches legwork, for mode http. Default: http.public_url of the config."`
}

// Run prints the manifest of the app. The app comes before its tokens, so the
// config file is only read for what the manifest needs: nothing else in it has
// to be right.
func (command manifestCommand) Run(c cli.Console) error {
	var config struct {
		Slack slack.Config `yaml:"slack"`
		HTTP  struct {
			PublicURL string `yaml:"public_url"`
		} `yaml:"http"`
	}
	text, err := os.ReadFile(cmp.Or(command.Config, cli.DefaultConfig))
	if errors.Is(err, fs.ErrNotExist) && command.Config == "" {
		err = nil
	}
	if err == nil {
		err = yaml.Unmarshal(text, &config)
	}
	if err != nil {
		return fmt.Errorf("reading the config file: %w", err)
	}
	manifest, err := slack.Manifest(config.Slack, cmp.Or(command.URL, config.HTTP.PublicURL))
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.Out, manifest)
	return err
}
