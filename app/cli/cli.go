// Package cli is what the commands share: their streams, the environment, the
// config file, and errors that have an exit code of their own.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"legwork/bot"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
)

// Console holds the streams and the environment of a command.
type Console struct {
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) (string, bool)
	Hide     func(variables []string) error // removes them from the process, but not from Env; nil: nothing does
}

// ErrFailed ends a command with exit code 1 when it has printed the reason
// already.
var ErrFailed = errors.New("failed")

// MisuseError is an error in how a command was called. It says what to do instead
// and ends the command with exit code 2.
type MisuseError string

func (m MisuseError) Error() string { return string(m) }

// DefaultConfig is the config file when no other is named. It may be absent.
const DefaultConfig = "config.yaml"

// FromEnvironment is the source of a config without a file.
const FromEnvironment = "environment"

// LoadConfig reads the config file at path. When path is empty, it reads
// config.yaml in the working directory, or the environment alone where there is
// no such file. Variables that the environment lacks come from a .env file
// beside the config file, or in the working directory without one. source is
// the file, or FromEnvironment. Secrets that the config took from the environment are
// hidden. The error is a conf.Errors when the config has mistakes.
func (c Console) LoadConfig(path string) (config *conf.Config, source string, err error) {
	config, source, err = c.readConfig(path)
	if err == nil && c.Hide != nil {
		err = c.Hide(config.SecretVariables())
	}
	return config, source, err
}

func (c Console) readConfig(path string) (config *conf.Config, source string, err error) {
	if path == "" {
		if _, err := os.Stat(DefaultConfig); errors.Is(err, fs.ErrNotExist) {
			env, err := c.withEnvFile(".")
			if err != nil {
				return nil, "", err
			}
			config, err := conf.FromEnv(env)
			if err == nil {
				config.Timezone = Timezone(env)
			}
			return config, FromEnvironment, err
		}
		path = DefaultConfig
	}
	env, err := c.withEnvFile(filepath.Dir(path))
	if err != nil {
		return nil, path, err
	}
	config, err = conf.Load(path, env)
	return config, path, err
}

// withEnvFile adds the variables of a .env file in folder to the environment.
func (c Console) withEnvFile(folder string) (func(string) (string, bool), error) {
	env, warning, err := conf.WithEnvFile(folder, c.Env)
	if warning != "" {
		fmt.Fprintln(c.Err, "legwork:", warning)
	}
	return env, err
}

// EnvOf looks up variables as LoadConfig does for the config file at path.
func (c Console) EnvOf(path string) (func(string) (string, bool), error) {
	env, _, err := conf.WithEnvFile(filepath.Dir(path), c.Env) // LoadConfig has printed the warning
	return env, err
}

// Log returns the logger of a config, on standard error.
func (c Console) Log(config *conf.Config) *slog.Logger {
	return NewLog(config.Log, c.Err, redact.New(config.Secrets()))
}

// NewLog returns a logger whose lines hold no secrets.
func NewLog(l conf.Log, out io.Writer, secrets *redact.Redactor) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withoutZeroTime}
	var handler slog.Handler = slog.NewTextHandler(out, options)
	if l.Format == "json" {
		handler = slog.NewJSONHandler(out, options)
	}
	return slog.New(telemetry.LogHandler(redact.Handler(handler, secrets)))
}

// withoutZeroTime drops the attribute of an unknown time, which would be shown as the
// year 1.
func withoutZeroTime(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindTime && a.Value.Time().IsZero() {
		return slog.Attr{}
	}
	return a
}

// OneLine is a text from outside in one line, with invisible characters made
// visible.
func OneLine(text string) string { return bot.Visible(strings.Join(strings.Fields(text), " ")) }

// FirstLines is the beginning of a long text.
func FirstLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	if len(lines) > n {
		lines = append(lines[:n], "…")
	}
	return strings.Join(lines, "\n")
}
