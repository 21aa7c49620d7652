package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"legwork/app/cli"
	"legwork/conf"
)

// TestSecretsLeaveTheEnvironment: once a config is read, the process's environment
// holds none of its secrets, and the config can be read again.
func TestSecretsLeaveTheEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	text := `models: {main: {base_url: "http://127.0.0.1:1/v1", api_key: "${LW_KEY}", model: fake}}
servers: {remote: {url: "${LW_URL}", headers: {Authorization: "Bearer ${LW_AUTH}"}}}
data_dir: ${LW_DATA}
instructions: "${LANG} ${LW_PROXY} ${LW_LATER:-}"
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := map[string]string{
		"LW_KEY": "sk-in-the-environment", "LW_URL": "https://me:hunter2-hunter2@example.com/mcp", "LW_AUTH": "token-in-the-environment",
		"OPENAI_API_KEY": "sk-that-the-file-does-not-use",
	}
	stay := map[string]string{"LW_DATA": "elsewhere", "LANG": "en", "LW_PROXY": "http://me:hunter2-hunter2@proxy:1"}
	for _, list := range []map[string]string{gone, stay} {
		for name, value := range list {
			t.Setenv(name, value)
		}
	}
	var env conf.Environment
	c := cli.Console{Env: env.Lookup, Hide: env.Hide}
	for range 2 {
		config, _, err := c.LoadConfig(path)
		if err != nil {
			t.Fatalf("LoadConfig: %v", err)
		}
		if got := config.LLM.Models["main"].APIKey; got != gone["LW_KEY"] {
			t.Errorf("the key is %q, want %q", got, gone["LW_KEY"])
		}
		for name := range gone {
			if value, ok := os.LookupEnv(name); ok {
				t.Errorf("%s=%s is still in the environment", name, value)
			}
		}
		for name, want := range stay {
			if got := os.Getenv(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
	}
	t.Setenv("LW_LATER", "sk-in-the-environment")
	if _, _, err := c.LoadConfig(path); err != nil {
		t.Fatalf("LoadConfig: %v", err)
	}
	if value, ok := os.LookupEnv("LW_LATER"); ok {
		t.Errorf("a secret that a reload used is still in the environment: %s", value)
	}
}
