package main

import (
	"errors"
	"io/fs"
	"os"

	"legwork/conf"
)

// defaultConfig is read when no config file is named and it exists.
const defaultConfig = "config.yaml"

// loadConfig reads the config file at path. With an empty path that is
// config.yaml in the working directory, or the environment alone where there is
// no such file. source says what was read. The error is a conf.Errors.
func loadConfig(path string, c console) (config *conf.Config, source string, err error) {
	if path == "" {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			config, err := conf.FromEnv(c.env)
			return config, "environment", err
		}
		path = defaultConfig
	}
	config, err = conf.Load(path, c.env)
	return config, path, err
}
