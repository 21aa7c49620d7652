package conf_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"legwork/conf"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// TestMistakes reads testdata/mistakes/*.txtar: a config, the variables and
// files it uses, and the lines that people read.
func TestMistakes(t *testing.T) {
	paths, err := filepath.Glob("testdata/mistakes/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			folder, env := t.TempDir(), map[string]string{}
			var want string
			for _, f := range archive.Files {
				switch f.Name {
				case "want":
					want = string(f.Data)
				case "env":
					for line := range strings.Lines(string(f.Data)) {
						name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
						env[name] = value
					}
				default:
					writeFile(t, filepath.Join(folder, f.Name), f.Data)
				}
			}
			lines := problems(t, filepath.Join(folder, "config.yaml"), env)
			got := strings.ReplaceAll(strings.Join(append(lines, ""), "\n"), folder, "FOLDER")
			for name, value := range env {
				if len(value) > 3 && strings.Contains(got, value) {
					t.Errorf("the value of %s is in the errors:\n%s", name, got)
				}
			}
			if *update {
				for i, f := range archive.Files {
					if f.Name == "want" {
						archive.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("errors of %s (-want +got):\n%s", path, diff)
			}
		})
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestUnreadable holds what a config file cannot be, apart from its text.
func TestUnreadable(t *testing.T) {
	folder := t.TempDir()
	large := filepath.Join(folder, "large.yaml")
	writeFile(t, large, append([]byte(minimal), bytes.Repeat([]byte("# x\n"), 1<<18)...))
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(folder, "no.yaml"), "no.yaml: cannot be read: no such file or directory"},
		{"a folder", folder, filepath.Base(folder) + ": is a folder, not a file"},
		{"too large", large, "large.yaml: is larger than 1048576 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff([]string{test.want}, problems(t, test.path, nil)); diff != "" {
				t.Errorf("errors of %s (-want +got):\n%s", test.path, diff)
			}
		})
	}
}

// TestHostileText holds texts that would be awkward in a txtar file.
func TestHostileText(t *testing.T) {
	deep := "models: " + strings.Repeat("[", 20000)
	bomb := "a: &a [x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		prev := string(c - 1)
		bomb += string(c) + ": &" + string(c) + " [*" + prev + ", *" + prev + "]\n"
	}
	bomb += "models: {main: {model: m, extra_body: {x: *z}}}\n"
	merges := "models: {main: &a {model: m, " + strings.Repeat("x: 1, ", 20000) + "}, b: {<<: [" + strings.Repeat("*a, ", 20000) + "]}}\n"
	tests := []struct{ name, text, want string }{
		{"not UTF-8", "language: en\ntimezone: \"\xff\"\n", "config.yaml:2:12: is not UTF-8 text from here on"},
		{"a control character", "language: \"a\x01\"\n", "config.yaml:1:13: is not valid YAML: control characters are not allowed (remove the invisible character)"},
		{"deep nesting", deep, "exceeded max depth"},
		{"aliases of aliases", bomb, "too many values; aliases of aliases multiply them"},
		{"merges of merges", merges, "too many values; aliases of aliases multiply them"},
		{"nothing", "", "config.yaml:1:1: the file is empty"},
		{"a byte-order mark", "\ufeff" + minimal, ""},
		{"carriage returns", "language: en\r\nmodels:\r\n  main: {model: m}\r\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := strings.Join(problems(t, write(t, test.text), nil), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("errors are\n%s\nwant %q in them", got, test.want)
			}
		})
	}
}

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
