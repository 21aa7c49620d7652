package conf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/joho/godotenv"
)

// EnvFile is the name of the file that variables come from which are not in
// the environment.
const EnvFile = ".env"

// maxEnvFile bounds an EnvFile, in bytes.
const maxEnvFile = 64 << 10

// WithEnvFile adds the variables of the EnvFile in folder to env, which looks
// them up as os.LookupEnv does: what env knows already wins, and the process's
// own environment stays as it is. Without such a file the result is env.
// warning says what is unsafe about the file, and is empty for nothing. The
// error is an Errors with the place of the mistake; it never shows a value.
func WithEnvFile(folder string, env func(string) (string, bool)) (with func(string) (string, bool), warning string, err error) {
	path := filepath.Join(folder, EnvFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return env, "", nil
	}
	if err != nil {
		return nil, "", Errors{{File: path, Problem: plainFileError(err).Error()}}
	}
	text, err := readBounded(path)
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("is larger than %d bytes", maxEnvFile)
	}
	if err != nil {
		return nil, "", Errors{{File: path, Problem: err.Error()}}
	}
	values, wrong := parseEnv(path, string(text))
	if wrong != nil {
		return nil, "", Errors{*wrong}
	}
	const others = 0o007
	if len(values) > 0 && info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" {
		warning = path + ": may hold secrets, but everybody on this machine can read it; make it private: chmod 600 " + path
	}
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}, warning, nil
}

// openToAll warns of a file that everybody on the machine can change: it names the
// programs that are started.
func (c *Config) openToAll(file string) {
	const others = 0o002
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" {
		c.warnings = append(c.warnings, Error{File: file, Problem: "everybody on this machine can change it, and so decide which programs are started; take that away: chmod o-w " + file})
	}
}

// parseEnv reads lines such as NAME=VALUE, as shells and other tools write
// them.
func parseEnv(file, text string) (map[string]string, *Error) {
	text = strings.TrimPrefix(text, "\ufeff") + "\n"
	values, err := godotenv.Parse(strings.NewReader(text))
	if err == nil && namesFit(values) {
		return values, nil
	}
	line, problem := badEnvLine(text)
	return nil, &Error{File: file, Line: line, Column: 1, Problem: problem}
}

// badEnvLine finds the first entry that cannot be read. The library's message
// repeats what stands there, which may be a secret, so it is not passed on.
func badEnvLine(text string) (line int, problem string) {
	const shape = "is not a line such as NAME=VALUE; a value with spaces or special characters stands in single quotes"
	entry, at, line, open := "", 1, 0, false
	for piece := range strings.Lines(text) {
		line++
		entry += piece
		if open && !strings.ContainsAny(piece, `'"`) {
			continue
		}
		values, err := godotenv.Parse(strings.NewReader(entry))
		switch {
		case err == nil && namesFit(values):
			entry, at, open = "", line+1, false
		case err == nil || !strings.HasPrefix(err.Error(), "unterminated quoted value"):
			return at, shape
		default:
			open = true
		}
	}
	return at, "a quote is opened here and never closed"
}

// namesFit tells whether all names are those of variables.
func namesFit(values map[string]string) bool {
	for name := range values {
		if name == "" || leadingName(name) != name {
			return false
		}
	}
	return true
}
