package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"legwork/conf"
)

// defaultConfig is read when no config file is named and it exists.
const defaultConfig = "config.yaml"

// fromEnvironment is the source of a config without a file.
const fromEnvironment = "environment"

// loadConfig reads the config file at path. With an empty path that is
// config.yaml in the working directory, or the environment alone where there is
// no such file. Variables that are not in the environment come from a .env
// beside the config file, or in the working directory without one. source says
// what was read. The error is a conf.Errors.
func loadConfig(path string, c console) (config *conf.Config, source string, err error) {
	if path == "" {
		if _, err := os.Stat(defaultConfig); errors.Is(err, fs.ErrNotExist) {
			env, err := c.withEnvFile(".")
			if err != nil {
				return nil, "", err
			}
			config, err := conf.FromEnv(env)
			return config, fromEnvironment, err
		}
		path = defaultConfig
	}
	env, err := c.withEnvFile(filepath.Dir(path))
	if err != nil {
		return nil, path, err
	}
	config, err = conf.Load(path, env)
	return config, path, err
}

// withEnvFile is the environment with the variables of a .env in folder.
func (c console) withEnvFile(folder string) (func(string) (string, bool), error) {
	env, warning, err := conf.WithEnvFile(folder, c.env)
	if warning != "" {
		fmt.Fprintln(c.err, "legwork:", warning)
	}
	return env, err
}
