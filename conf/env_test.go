package conf_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"legwork/conf"
)

// writeEnv puts a .env into a folder of its own and returns the folder.
func writeEnv(t testing.TB, text string) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, conf.EnvFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestEnvFile(t *testing.T) {
	folder := writeEnv(t, "\ufeff# tokens\nA=from file\r\nexport B='two words $HOME'\n\nC=\"a\\nb\"\nD=x # a remark\nE=\nF='one\ntwo'\n")
	env, warning, err := conf.WithEnvFile(folder, variables(map[string]string{"A": "from outside", "Z": "", "G": "only outside"}))
	if err != nil || warning != "" {
		t.Fatalf("WithEnvFile: warning %q, error %v", warning, err)
	}
	got := map[string]string{}
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "Z", "MISSING"} {
		if value, ok := env(name); ok {
			got[name] = value
		}
	}
	want := map[string]string{
		"A": "from outside", "B": "two words $HOME", "C": "a\nb", "D": "x", "E": "", "F": "one\ntwo", "G": "only outside", "Z": "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if value, ok := os.LookupEnv("D"); ok && value == "x" {
		t.Error("the variables of the file are in the process's environment")
	}
}

func TestNoEnvFile(t *testing.T) {
	env, warning, err := conf.WithEnvFile(t.TempDir(), variables(map[string]string{"A": "1"}))
	if err != nil || warning != "" {
		t.Fatalf("WithEnvFile without a file: warning %q, error %v", warning, err)
	}
	if value, ok := env("A"); !ok || value != "1" {
		t.Errorf("A is %q, %v; want 1, true", value, ok)
	}
}

func TestEnvFileMistakes(t *testing.T) {
	const canary = "canary-0123456789"
	tests := []struct{ name, text, want string }{
		{"no value", "A=1\n\nTOKEN " + canary + "\n", ".env:3:1: is not a line such as NAME=VALUE"},
		{"no name", "A=1\n=" + canary + "\n", ".env:2:1: is not a line such as NAME=VALUE"},
		{"a name with a space", "A B=" + canary + "\n", ".env:1:1: is not a line such as NAME=VALUE"},
		{"a name with a dash", "A=1\nB-C=" + canary + "\n", ".env:2:1: is not a line such as NAME=VALUE"},
		{"words after a quote", "A='x' " + canary + "\nB=1\n", ".env:1:1: is not a line such as NAME=VALUE"},
		{"an open quote", "A='one\ntwo'\nB=\"" + canary + "\nC=3\nD=4\n", ".env:3:1: a quote is opened here and never closed"},
		{"binary", "A=1\n\x00\xff" + canary, ".env:2:1: is not a line such as NAME=VALUE"},
		{"too large", "A=" + strings.Repeat("x", 1<<17), ".env: is larger than 65536 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := writeEnv(t, test.text)
			_, _, err := conf.WithEnvFile(folder, variables(nil))
			if !errors.As(err, new(conf.Errors)) {
				t.Fatalf("WithEnvFile returned %v, want Errors\ninput %q", err, test.text[:min(len(test.text), 80)])
			}
			got := strings.ReplaceAll(err.Error(), folder+string(filepath.Separator), "")
			if !strings.HasPrefix(got, test.want) || strings.Contains(got, "canary") {
				t.Errorf("error is\n%s\nwant %q and no value\ninput %q", got, test.want, test.text[:min(len(test.text), 80)])
			}
		})
	}
}

func TestEnvFileForAll(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are different on Windows: run the tests on another system")
	}
	tests := []struct {
		mode os.FileMode
		text string
		warn bool
	}{
		{0o600, "A=1\n", false},
		{0o640, "A=1\n", false},
		{0o644, "A=1\n", true},
		{0o604, "A=1\n", true},
		{0o644, "# nothing yet\n", false},
	}
	for _, test := range tests {
		folder := writeEnv(t, test.text)
		path := filepath.Join(folder, conf.EnvFile)
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		_, warning, err := conf.WithEnvFile(folder, variables(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(warning, "chmod 600 "+path); got != test.warn {
			t.Errorf("%q with mode %o: warning is %q, want one: %v", test.text, test.mode, warning, test.warn)
		}
	}
}

func TestEnvFileIsAFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, conf.EnvFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conf.WithEnvFile(folder, variables(nil)); err == nil || !strings.HasSuffix(err.Error(), ".env: is a folder, not a file") {
		t.Errorf("WithEnvFile returned %v", err)
	}
}

// FuzzEnvFile holds that a mistake has a place in the file and shows no value,
// and that what is read without one has proper names.
func FuzzEnvFile(f *testing.F) {
	f.Add("A=1\nB='2'\n")
	f.Add("A=\"\n")
	f.Add("export\n")
	f.Add("A=1\r\n#\rB")
	f.Add("A: b\nC")
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(folder, conf.EnvFile)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		env, _, err := conf.WithEnvFile(folder, variables(nil))
		if err == nil {
			if _, ok := env(""); ok {
				t.Errorf("a variable without a name was read from %q", text)
			}
			return
		}
		var errs conf.Errors
		if !errors.As(err, &errs) || len(errs) != 1 {
			t.Fatalf("WithEnvFile returned %v\ninput %q", err, text)
		}
		if e := errs[0]; len(text) < 1<<16 && (e.Line < 1 || e.Line > strings.Count(text, "\n")+1) {
			t.Errorf("the place is outside of the file: %v\ninput %q", e, text)
		}
	})
}

// TestFilesOpenToAll: a config or an imported file that everybody can change is
// warned of, one that others can only read is not.
func TestFilesOpenToAll(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes: run the tests on another system")
	}
	path := write(t, minimal+"import_servers: [mcp.json]\n")
	also := filepath.Join(filepath.Dir(path), "mcp.json")
	writeFile(t, also, []byte(`{"mcpServers": {}}`))
	for _, c := range []struct {
		mode os.FileMode
		want []string
	}{{0o644, nil}, {0o666, []string{path, also}}} {
		for _, file := range []string{path, also} {
			if err := os.Chmod(file, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		config, err := conf.Load(path, variables(nil))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, w := range config.Warnings() {
			got = append(got, w.File)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("with mode %o there are warnings of %q, want %q: %v", c.mode, got, c.want, config.Warnings())
		}
	}
}

// TestTelemetry: the config counts first, then the variables that all programs
// know; headers stay beside the address that they are for.
func TestTelemetry(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=very%20secret, b=2"}
	for _, c := range []struct {
		name, text string
		env        map[string]string
		want       conf.Telemetry
	}{
		{"nothing", "", nil, conf.Telemetry{Sample: 1}},
		{"the environment", "telemetry: {sample: 0.5}\n", env, conf.Telemetry{
			OTLPEndpoint: "http://collector:4318", OTLPHeaders: map[string]string{"x-key": "very secret", "b": "2"}, Sample: 0.5,
		}},
		{"the file", "telemetry: {otlp_endpoint: 'https://t.example.com', otlp_headers: {k: long-enough-value}}\n", env, conf.Telemetry{
			OTLPEndpoint: "https://t.example.com", OTLPHeaders: map[string]string{"k": "long-enough-value"}, Sample: 1,
		}},
	} {
		config, err := conf.Load(write(t, minimal+c.text), variables(c.env))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, config.Telemetry); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		for _, header := range c.want.OTLPHeaders {
			if !slices.Contains(config.Secrets(), header) {
				t.Errorf("%s: the header %q is not among the secrets", c.name, header)
			}
		}
	}
}
