package postgres

import (
	"strings"
	"testing"
)

// TestWrongPart: the error for a wrong URL names the wrong part, and shows neither
// the URL nor the password.
func TestWrongPart(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://u:hidden@h/db?connect_timeout=soon": "connect_timeout",
		"postgres://u:hidden@h/db?sslmode=maybe":        "sslmode",
		"postgres://u:hidden@h/db?pool_max_conns=many":  "pool_max_conns",
		"mysql://u:hidden@h/db":                         "looks like postgres://",
	} {
		_, err := parse(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error for %s is %v, want one that names %q without the password", url, err, want)
		}
	}
}
