package tools

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// FilesRead is the value of GroupConfig.Files that lets tools read files of the task.
const FilesRead = "read"

// maxSentFile is the most bytes of a file that a remote server gets.
const maxSentFile = 8 << 20

// withFiles returns the arguments of a call with the files that they name. A program on
// this machine gets the path of a copy, a remote server the address data: with the
// content (RFC 2397).
func (g *group) withFiles(c Call, sv *member) (json.RawMessage, error) {
	if len(c.Files) == 0 {
		return c.Arguments, nil
	}
	if g.cfg.Files != FilesRead {
		return nil, errors.New("its group may not read files of the task")
	}
	d := json.NewDecoder(bytes.NewReader(c.Arguments))
	d.UseNumber() // numbers stay as they are written
	var arguments any
	if err := d.Decode(&arguments); err != nil {
		return nil, fmt.Errorf("reading its arguments: %w", err)
	}
	arguments, err := replaced(arguments, func(name string) (string, error) {
		f, ok := c.Files[name]
		if !ok || !sv.remote {
			return f.Path, nil
		}
		content, err := os.ReadFile(f.Path)
		if err != nil {
			return "", fmt.Errorf("reading a file: %w", errors.Unwrap(err))
		}
		if len(content) > maxSentFile {
			return "", fmt.Errorf("the file has %d bytes, and a remote server gets at most %d", len(content), maxSentFile)
		}
		return "data:" + f.Type + ";base64," + base64.StdEncoding.EncodeToString(content), nil
	})
	if err != nil {
		return nil, err
	}
	return json.Marshal(arguments)
}

// replaced is a JSON value in which each text that has a replacement, which is not empty,
// stands for it.
func replaced(v any, with func(string) (string, error)) (_ any, err error) {
	switch v := v.(type) {
	case string:
		if text, err := with(v); err != nil || text != "" {
			return text, err
		}
	case []any:
		for i := range v {
			if v[i], err = replaced(v[i], with); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = replaced(v[key], with); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}
