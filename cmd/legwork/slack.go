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
	Manifest manifestCommand `cmd:"" help:"Print the manifest to paste at api.slack.com/apps: Create New App, From a manifest."`
}

type manifestCommand struct {
	Config string `placeholder:"FILE" help:"The config file with the mode and the names of the commands. Default: config.yaml, if there is one."`
	URL    string `name:"url" placeholder:"URL" help:"The public address of legwork, for mode http. Default: http.public_url of the config."`
}

// Run prints the manifest of the app. The app exists before its tokens, so that Run
// reads only the keys that the manifest needs; the rest of the config may be wrong.
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
