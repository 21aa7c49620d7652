package conf_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/conf"
	"legwork/internal/seal"
)

// TestSealingKey: the config counts first, then the variable. No form of the key may
// appear in a log, and the variable is hidden from tool servers.
func TestSealingKey(t *testing.T) {
	key, other := seal.NewKey(), seal.NewKey()
	hex := key.Forms()[1]
	load := func(text string, env map[string]string) (*conf.Config, error) {
		return conf.Load(write(t, minimal+text), variables(env))
	}
	withoutFile := func(env map[string]string) (*conf.Config, error) {
		env["OPENAI_API_KEY"] = "sk-1"
		return conf.FromEnv(variables(env))
	}
	for _, c := range []struct {
		name, place string
		load        func() (*conf.Config, error)
	}{
		{"the file", "sealing_key", func() (*conf.Config, error) {
			return load("sealing_key: ${KEY}\n", map[string]string{"KEY": hex, "LEGWORK_SEALING_KEY": other.Text()})
		}},
		{"the variable", "LEGWORK_SEALING_KEY", func() (*conf.Config, error) {
			return load("", map[string]string{"LEGWORK_SEALING_KEY": key.Text()})
		}},
		{"the variable without a file", "LEGWORK_SEALING_KEY", func() (*conf.Config, error) {
			return withoutFile(map[string]string{"LEGWORK_SEALING_KEY": hex + "\n"})
		}},
	} {
		config, err := c.load()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got, err := seal.ParseKey(config.SealingKey); err != nil || got != key || config.SealingKeyPlace() != c.place {
			t.Errorf("%s: got %v from %q, %v; want %v from %q", c.name, got, config.SealingKeyPlace(), err, key, c.place)
		}
		for _, form := range key.Forms() {
			if !slices.Contains(config.Secrets(), form) || !slices.Contains(config.Credentials(), form) {
				t.Errorf("%s: a form of the key is not among the secrets", c.name)
			}
		}
		if !slices.Contains(config.SecretVariables(), "LEGWORK_SEALING_KEY") {
			t.Errorf("%s: the variable is not hidden", c.name)
		}
	}
	if config, err := load("", nil); err != nil || config.SealingKeyPlace() != "" {
		t.Errorf("without a key: %q, %v", config.SealingKeyPlace(), err)
	}
	bad := map[string]string{"LEGWORK_SEALING_KEY": "canary-canary"}
	for want, load := range map[string]func() (*conf.Config, error){
		"sealing_key: from LEGWORK_SEALING_KEY: the sealing key ": func() (*conf.Config, error) { return load("", bad) },
		"environment: LEGWORK_SEALING_KEY: the sealing key ":      func() (*conf.Config, error) { return withoutFile(bad) },
	} {
		if _, err := load(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("a bad key: %v, want %q", err, want)
		}
	}
}
