package conf_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"legwork/conf"
)

// lineBreaks are what the YAML library counts lines by.
var lineBreaks = regexp.MustCompile("\r\n|[\n\r\u0085\u2028\u2029]")

// FuzzLoad holds that no text makes Load panic, that a mistake always has a
// place inside the file, and that no message shows an expanded value.
func FuzzLoad(f *testing.F) {
	paths, _ := filepath.Glob("testdata/mistakes/*.txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if file.Name == "config.yaml" {
				f.Add(string(file.Data))
			}
		}
	}
	f.Add(minimal)
	f.Add("? \n")
	f.Add("a: &a\n*a : b\n<<: *a\n")
	f.Add("models: !!map {main: !x {model: !!binary aGk=}}\n")
	const secret = "a-value-from-outside"
	env := func(name string) (string, bool) { return secret, !strings.HasPrefix(name, "NO") }
	path := filepath.Join(f.TempDir(), "config.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := conf.Load(path, env)
		if err == nil {
			return
		}
		var errs conf.Errors
		if !errors.As(err, &errs) {
			t.Fatalf("Load returned a %T: %v\ninput %q", err, err, text)
		}
		lines := lineBreaks.Split(text, -1)
		for _, e := range errs {
			if e.File != path {
				continue // a file that the text names
			}
			if e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1])+1 {
				t.Errorf("the place is outside of the file's %d lines: %v\ninput %q", len(lines), e, text)
			}
			if strings.Contains(e.Problem, secret) && !strings.Contains(text, secret) {
				t.Errorf("an expanded value is shown: %v\ninput %q", e, text)
			}
		}
	})
}
