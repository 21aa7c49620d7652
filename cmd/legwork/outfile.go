package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// create makes a new file in a folder, named after a tool and the first number
// behind n that is free.
func create(folder, tool, end string, n *int) (*os.File, error) {
	name := strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, tool)
	for {
		*n++
		path := filepath.Join(folder, fmt.Sprintf("%s-%d%s", name[:min(len(name), 100)], *n, end))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return file, err
		}
	}
}
