package bot_test

import (
	"testing"

	"legwork/bot"
)

func TestWithoutSecret(t *testing.T) {
	for text, want := range map[string]string{
		"/connect wiki a b\nc":              "/connect wiki •••",
		" /Connect@legwork_bot  wiki  abc ": " /Connect@legwork_bot  wiki  •••",
		"/connect wiki":                     "/connect wiki",
		"/connect wiki ":                    "/connect wiki ",
		"/connections wiki abc":             "/connections wiki abc",
		"write /connect wiki abc":           "write /connect wiki abc",
	} {
		if got := bot.WithoutSecret(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
