package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// self is the import path of this package.
const self = "legwork/internal/test/faults"

// edit is a change of one place of the product's source.
type edit struct {
	fault string // what it belongs to; empty: it makes a clock go faster
	in    string // folder of the package; with /... its sub-folders count too
	// old must be found exactly once in the Go files of the folder, tests left
	// out. A run of white space stands for any other one.
	old string
	new string // may call this package, which is imported
}

// Build builds a program with all edits and the tag failpoints. pkg is its
// package, such as "./cmd/legwork".
func Build(ctx context.Context, out, pkg string) error {
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "legwork-overlay-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	if err := overlay(root, dir); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags", "failpoints", "-overlay", filepath.Join(dir, "overlay.json"), "-o", out, pkg) //nolint:gosec // tests name the package
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s with planted faults: %w\n%s", pkg, err, out)
	}
	return nil
}

// moduleRoot is the folder of the module that holds the working directory.
func moduleRoot(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("finding go.mod: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(mod))), nil
}

// overlay writes the edited files and overlay.json into dir. Its error lists all
// edits that do not fit.
func overlay(root, dir string) error {
	s := source{root: root, files: map[string]string{}}
	edited := map[string]bool{}
	var wrong []error
	for _, e := range edits {
		name, err := s.apply(e)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("planting %q in %s: %w", e.fault, e.in, err))
		}
		edited[name] = true
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	replace := map[string]string{}
	for i, name := range slices.Sorted(maps.Keys(edited)) {
		text, err := imported(s.files[name])
		if err != nil {
			return fmt.Errorf("parsing %s with its edits: %w", name, err)
		}
		replace[name] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[name], []byte(text), 0o600); err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600)
}

// source is the product's source as it was read, and edited since.
type source struct {
	root  string
	files map[string]string // by path
}

// apply makes an edit and returns the path of the file.
func (s *source) apply(e edit) (string, error) {
	names, err := s.read(e.in)
	if err != nil {
		return "", err
	}
	words := strings.Fields(e.old)
	for i := range words {
		words[i] = regexp.QuoteMeta(words[i])
	}
	pattern := regexp.MustCompile(strings.Join(words, `\s+`))
	var found string
	var count int
	for _, name := range names {
		if n := len(pattern.FindAllStringIndex(s.files[name], -1)); n > 0 {
			found, count = name, count+n
		}
	}
	if count != 1 {
		return "", fmt.Errorf("this was found %d times, want 1: %s", count, e.old)
	}
	s.files[found] = pattern.ReplaceAllLiteralString(s.files[found], e.new)
	return found, nil
}

// read returns the paths of the Go files of a folder, without tests.
func (s *source) read(in string) ([]string, error) {
	folder, deep := strings.CutSuffix(in, "/...")
	top := filepath.Join(s.root, filepath.FromSlash(folder))
	var names []string
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || !deep && name != top):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		names = append(names, name)
		if _, known := s.files[name]; known {
			return nil
		}
		text, err := os.ReadFile(name)
		s.files[name] = string(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		return err
	})
	return names, err
}

// imported adds the import of this package, in the line of the package clause,
// so that lines keep their numbers above the first edit.
func imported(text string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	end := file.Name.End() - file.FileStart
	return fmt.Sprintf("%s; import %q%s", text[:end], self, text[end:]), nil
}
