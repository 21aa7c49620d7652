package builtin_test

import (
	"errors"
	"strings"
	"testing"

	"legwork/tools/builtin"
)

func TestNames(t *testing.T) {
	if got, want := strings.Join(builtin.Names(), " "), "clock files math memory search web"; got != want {
		t.Errorf("Names: got %q, want %q", got, want)
	}
}

// TestNew: a mistake in options is reported for the option that it is in.
func TestNew(t *testing.T) {
	type values = map[string]any
	for _, c := range []struct {
		name      string
		options   values
		key, want string // no want: fine
	}{
		{"calc", nil, "", "there are clock, "},
		{"math", values{"digits": 3}, "digits", "has no options; remove it"},
		{"clock", nil, "", ""},
		{"web", nil, "", ""},
		{"web", values{"timeout": "5s", "robots": false, "allow_ranges": []any{"10.0.0.0/8"}, "max_bytes": nil}, "", ""},
		{"web", values{"time_out": "5s"}, "time_out", "the nearest known one is timeout; allowed: allow_hosts, "},
		{"web", values{"timeout": 5}, "timeout", "want a text, not such a number"},
		{"web", values{"timeout": "1ms"}, "timeout", "allowed is a duration from 1s to"},
		{"web", values{"robots": "no"}, "robots", "want true or false, not a text"},
		{"web", values{"max_bytes": 1.5}, "max_bytes", "want a whole number, not such a number"},
		{"web", values{"allow_ranges": "10.0.0.0/8"}, "allow_ranges", "want a list such as [a, b], not a text"},
		{"search", values{"url": "https://searx.example.com/search", "headers": values{"Authorization": "Bearer x"}}, "", ""},
		{"files", values{"root": "x/{chat}", "write": true, "max_files": 10}, "", ""},
		{"files", values{"roots": "x"}, "roots", "the nearest known one is root;"},
		{"files", values{"max_files": -1}, "", "must not be negative"},
		{"memory", nil, "", ""},
		{"memory", values{"x": 1}, "x", "the nearest known one is"},
		{"search", nil, "", "url"},
		{"search", values{"url": "ftp://x"}, "url", "no address"},
	} {
		_, err := builtin.New(c.name, c.options, builtin.Env{Base: t.TempDir(), Data: t.TempDir()})
		if c.want == "" {
			if err != nil {
				t.Errorf("New(%q, %v): got error %v, want none", c.name, c.options, err)
			}
			continue
		}
		var option *builtin.OptionError
		errors.As(err, &option)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.key != "" && (option == nil || option.Key != c.key) {
			t.Errorf("New(%q, %v): got %v, want an error of the option %q with %q", c.name, c.options, err, c.key, c.want)
		}
	}
}
