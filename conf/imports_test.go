package conf_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"legwork/conf"
)

// TestImports reads testdata/imports/*.txtar: a config, the files that it
// imports, the servers that come of them, and the warnings.
func TestImports(t *testing.T) {
	paths, err := filepath.Glob("testdata/imports/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	env := variables(map[string]string{"TOKEN": "t0ken", "INPUT_API_KEY": "k3y", "EMPTY": "", "HOME": "/home/a", "N": "7"})
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			folder := t.TempDir()
			want := map[string]string{}
			for _, f := range archive.Files {
				if f.Name == "servers" || f.Name == "warnings" {
					want[f.Name] = string(f.Data)
				} else {
					writeFile(t, filepath.Join(folder, f.Name), f.Data)
				}
			}
			config, err := conf.Load(filepath.Join(folder, "config.yaml"), env)
			if err != nil {
				t.Fatal(err)
			}
			servers, err := json.MarshalIndent(config.Tools.Servers, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{"servers": string(servers) + "\n", "warnings": ""}
			for _, w := range config.Warnings() {
				got["warnings"] += w.Error() + "\n"
			}
			for i, f := range archive.Files {
				if text, result := got[f.Name]; result {
					text = strings.ReplaceAll(text, folder, "FOLDER")
					archive.Files[i].Data = []byte(text)
					if diff := cmp.Diff(want[f.Name], text); diff != "" && !*update {
						t.Errorf("%s of %s (-want +got):\n%s", f.Name, path, diff)
					}
				}
			}
			if *update {
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestImportedSecrets: what files took from the environment is kept out of
// logs, and a group can name an imported server.
func TestImportedSecrets(t *testing.T) {
	path := write(t, "models: {main: {model: m}}\nimport_servers: [mcp.json]\ngroups: {a: {servers: [one]}}\n")
	file := filepath.Join(filepath.Dir(path), "mcp.json")
	writeFile(t, file, []byte(`{"mcpServers": {"one": {"command": "x", "args": ["--token", "${TOKEN}"], "env": {"API_KEY": "literal"}}}}`))
	config, err := conf.Load(path, variables(map[string]string{"TOKEN": "t0ken"}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"literal", "t0ken"}, config.Secrets()); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{file}, config.Imported()); diff != "" {
		t.Errorf("imported files (-want +got):\n%s", diff)
	}
	before := config
	writeFile(t, file, []byte(`{"mcpServers": {"one": {"command": "y"}}}`))
	after, err := conf.Load(path, variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"servers"}, conf.Changed(before, after)); diff != "" {
		t.Errorf("changed keys (-want +got):\n%s", diff)
	}
}

// FuzzImport holds that no text makes an import panic, that mistakes and
// warnings have a place inside the file, and that none shows an expanded value.
func FuzzImport(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/import*.txtar")
	more, _ := filepath.Glob("testdata/imports/*.txtar")
	for _, path := range append(paths, more...) {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if strings.HasSuffix(file.Name, ".json") {
				f.Add(string(file.Data))
			}
		}
	}
	f.Add(strings.Repeat("[", 200))
	f.Add(`{"servers":{"":{"url":"${TOKEN}"},"a\u0000":{}}}`)
	f.Add("\r{}}\n{\"servers\": {}}\x17")
	const secret = "a-value-from-outside"
	env := func(name string) (string, bool) { return secret, !strings.HasPrefix(name, "NO") }
	folder := f.TempDir()
	config, imported := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "mcp.json")
	if err := os.WriteFile(config, []byte("models: {main: {model: m}}\nimport_servers: [mcp.json]\n"), 0o600); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(imported, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		loaded, err := conf.Load(config, env)
		var notes conf.Errors
		if err == nil {
			notes = loaded.Warnings()
		} else if !errors.As(err, &notes) {
			t.Fatalf("Load returned a %T: %v\ninput %q", err, err, text)
		}
		lines := lineBreaks.Split(strings.TrimPrefix(text, "\ufeff"), -1)
		for _, e := range notes {
			if e.File == imported && (e.Line < 1 || e.Line > len(lines) || e.Column < 1 || e.Column > utf8.RuneCountInString(lines[e.Line-1])+1) {
				t.Errorf("the place is outside of the file's %d lines: %v\ninput %q", len(lines), e, text)
			}
			if strings.Contains(e.Error(), secret) && !strings.Contains(text, secret) {
				t.Errorf("an expanded value is shown: %v\ninput %q", e, text)
			}
		}
	})
}
