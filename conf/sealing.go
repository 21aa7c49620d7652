package conf

import (
	"cmp"
	"strings"

	"legwork/internal/seal"
)

// sealFromEnv fills in the sealing key when the file does not set it.
func (c *Config) sealFromEnv(get func(string) string) {
	if c.SealingKey != "" {
		return
	}
	if c.SealingKey = get(envSealing); c.SealingKey != "" {
		c.sealedBy = envSealing
	}
}

// ownSealing checks the sealing key.
func (c *Config) ownSealing(l *issues) {
	if c.SealingKey == "" {
		return
	}
	if _, err := seal.ParseKey(c.SealingKey); err != nil {
		of := ""
		if c.sealedBy != "" && c.file != "environment" {
			of = "from " + c.sealedBy + ": "
		}
		l.Add("sealing_key", "%s%v", of, err)
	}
}

// SealingKeyPlace is where the config has its sealing key from: the key sealing_key, or
// a variable. It is empty when it has none.
func (c *Config) SealingKeyPlace() string {
	if c.SealingKey == "" {
		return ""
	}
	return cmp.Or(c.sealedBy, "sealing_key")
}

// SealingKeyFile is the file that holds the sealing key of the config; empty when no file
// does.
func (c *Config) SealingKeyFile() string {
	for _, f := range c.filled {
		if path, ok := strings.CutPrefix(f.reference, "${file:"); ok && f.key == "sealing_key" {
			return beside(c.folder, strings.TrimSuffix(path, "}"))
		}
	}
	return ""
}
