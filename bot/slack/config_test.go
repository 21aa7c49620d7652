package slack_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"legwork/bot/slack"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares with a file in testdata, which -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s", path, got, want)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := slack.Config{BotToken: "xoxb-1-2-canary", AppToken: "xapp-1-A1-2-canary"}
	tests := []struct {
		name   string
		change func(*slack.Config)
		want   []string // paths
	}{
		{"good", func(*slack.Config) {}, nil},
		{"empty", func(c *slack.Config) { *c = slack.Config{} }, []string{"bot_token", "app_token"}},
		{"tokens swapped", func(c *slack.Config) { c.BotToken, c.AppToken = c.AppToken, c.BotToken }, []string{"bot_token", "app_token"}},
		{"a line break", func(c *slack.Config) { c.BotToken += "\n" }, []string{"bot_token"}},
		{"http without secret", func(c *slack.Config) { c.Mode = "http" }, []string{"signing_secret"}},
		{"http without app token", func(c *slack.Config) { c.Mode, c.AppToken, c.SigningSecret = "http", "", "s" }, nil},
		{"unknown mode", func(c *slack.Config) { c.Mode = "rtm" }, []string{"mode"}},
		{"no address", func(c *slack.Config) { c.APIURL = "slack.com" }, []string{"api_url"}},
		{"reserved", func(c *slack.Config) { c.Commands.Main = "/status" }, []string{"commands.main"}},
		{"no slash", func(c *slack.Config) { c.Commands.Task = "task" }, []string{"commands.task"}},
		{"twice", func(c *slack.Config) { c.Commands.Main = "/task" }, []string{"commands.task"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := good
			test.change(&c)
			var got []string
			for _, i := range c.Validate() {
				got = append(got, i.Path)
				if strings.Contains(i.Problem, "canary") {
					t.Errorf("%s: %s holds the token", i.Path, i.Problem)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got issues at %q, want %q", got, test.want)
			}
			if _, err := slack.New(c, slack.Options{}); (err == nil) != (test.want == nil) {
				t.Errorf("New said %v", err)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, golden, url string
		cfg               slack.Config
		fails             string
	}{
		{name: "socket", golden: "manifest.socket.golden"},
		{name: "http", golden: "manifest.http.golden", url: "https://bot.example.com/", cfg: slack.Config{Mode: "http", Commands: slack.Commands{Main: "/helper", Task: "/do"}}},
		{name: "http without address", cfg: slack.Config{Mode: "http"}, fails: "public_url"},
		{name: "http in the clear", url: "http://bot.example.com", cfg: slack.Config{Mode: "http"}, fails: "https"},
		{name: "reserved", cfg: slack.Config{Commands: slack.Commands{Main: "/who"}}, fails: "commands.main"},
		{name: "unknown mode", cfg: slack.Config{Mode: "rtm"}, fails: "mode"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := slack.Manifest(test.cfg, test.url)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Fatalf("got error %v, want one about %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid([]byte(got)) {
				t.Errorf("no JSON: %s", got)
			}
			golden(t, test.golden, got)
		})
	}
}
