package setup_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"legwork/app/setup"
	"legwork/conf"
	"legwork/internal/test/fakes/slackfake"
	"legwork/llm"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

const (
	key      = "sk-0123456789"
	botToken = "123456:AAAAAAAAAABBBBBBBBBBCCCCCCCCCCDDDDD"
	apiToken = "lw_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	badToken = "123456:ZZZZZZZZZZBBBBBBBBBBCCCCCCCCCCDDDDD"
)

func TestEverything(t *testing.T) {
	for _, language := range []string{"en", "zh", "ru"} {
		t.Run(language, func(t *testing.T) {
			b := newEnv(t)
			outcome, err := b.run(language, b.model, key, "big", botToken, slackfake.BotToken, slackfake.AppToken, "telegram:12345, slack:U012AB3CD", b.search, "Europe/Paris", "lots", "$5", "cheap", "0.25 2.00", "perhaps", "yes")
			if err != nil {
				t.Fatalf("%v\n%s", err, b.out.String())
			}
			want := setup.Outcome{
				Config: b.file("config.yaml"), EnvFile: b.file(".env"), Schema: b.file("config.schema.json"),
				Token: apiToken, Language: language, Platforms: []string{"telegram", "slack"}, Admins: true,
			}
			if diff := cmp.Diff(want, outcome); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
			b.golden(language+".talk.txt", b.out.String())
			b.golden(language+".config.yaml", b.read("config.yaml"))
			b.golden("everything.env", b.read(".env"))
			got := b.load()
			if got.Language != language || got.Timezone != "Europe/Paris" || got.LLM.Models["main"].APIKey != key ||
				got.Telegram.Token != botToken || got.Slack.AppToken != slackfake.AppToken || len(got.Access.Admins) != 2 ||
				got.Tools.Servers["search"].Options["url"] != b.search || len(got.HTTP.Tokens) != 1 || got.HTTP.Tokens[0].SHA256 != conf.HashToken(apiToken) {
				t.Errorf("the written file means %+v", got)
			}
			if first, _, _ := strings.Cut(b.read("config.yaml"), "\n"); first != "# yaml-language-server: $schema=config.schema.json" || b.read("config.schema.json") != string(conf.Schema()) {
				t.Errorf("the config begins with %q, want the schema that is beside it", first)
			}
			if info, err := os.Stat(b.file(".env")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf(".env has the mode %v, want 0600; %v", info.Mode(), err)
			}
			for _, secret := range []string{key, botToken, slackfake.BotToken, slackfake.AppToken, apiToken} {
				if strings.Contains(b.out.String()+b.read("config.yaml"), secret) {
					t.Errorf("a secret is in the talk or in the config:\n%s\n%s", b.out.String(), b.read("config.yaml"))
				}
			}
		})
	}
}

// TestAnswers holds what comes of answers that are left out, wrong, or taken
// from before.
func TestAnswers(t *testing.T) {
	known := map[string]string{
		"OPENAI_API_KEY": key, "OPENAI_MODEL": "big", "TELEGRAM_BOT_TOKEN": botToken,
		"SLACK_BOT_TOKEN": slackfake.BotToken, "SLACK_APP_TOKEN": slackfake.AppToken,
	}
	tests := []struct {
		name   string
		env    map[string]string // of the process
		saved  string            // in .env before
		lines  []string          // MODEL is the model's address
		talk   []string          // must be said, in this order
		config []string          // must be in the config file; a leading ! means must not
		after  string            // in .env
	}{
		{
			name: "no platform", lines: []string{"", "MODEL", key, "big", "", "", "", ""},
			talk:   []string{"It works: big"},
			config: []string{"language: en", `timezone: "Asia/Tokyo"`, "api_key: ${OPENAI_API_KEY}", "!telegram:", "!slack:", "!access:"},
			after:  "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "all from the environment", env: known, lines: []string{"", "MODEL", "", "", "", "", "", "", "", ""},
			talk:   []string{"keep the key from OPENAI_API_KEY", "It works: big", "keep the token from TELEGRAM_BOT_TOKEN", "It works: @legwork_bot", "It works: @"},
			config: []string{"token: ${TELEGRAM_BOT_TOKEN}", "bot_token: ${SLACK_BOT_TOKEN}", "app_token: ${SLACK_APP_TOKEN}", "!access:"},
		},
		{
			name: "known, but declined", env: known, lines: []string{"", "MODEL", "", "", "-", "-", "", ""},
			config: []string{"!telegram:", "!slack:"},
		},
		{
			name: "from .env, which is kept", saved: "# mine\nOTHER='1 2'\nOPENAI_API_KEY=" + key, lines: []string{"", "MODEL", "", "big", botToken, "", "", "", ""},
			config: []string{"api_key: ${OPENAI_API_KEY}", "token: ${TELEGRAM_BOT_TOKEN}"},
			after:  "# mine\nOTHER='1 2'\nOPENAI_API_KEY=" + key + "\nTELEGRAM_BOT_TOKEN=" + botToken + "\n",
		},
		{
			name: "another value than in .env", saved: "OPENAI_API_KEY=sk-old\n", lines: []string{"", "MODEL", key, "big", "", "", "", ""},
			after: "OPENAI_API_KEY=sk-old\nOPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "another value than in the environment", env: map[string]string{"OPENAI_API_KEY": "sk-old"}, lines: []string{"", "MODEL", key, "big", "", "", "", ""},
			talk:  []string{"OPENAI_API_KEY is also set in the environment"},
			after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a wrong key, then the right one", lines: []string{"", "MODEL", "sk-wrong", "", key, "big", "", "", "", ""},
			talk:  []string{"It does not work: the endpoint does not accept the key. Copy the key again", "Press Enter to answer again", "Press Enter to keep the key that you typed", "It works: MODEL", "It works: big"},
			after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "not reachable, used anyway", lines: []string{"", "http://127.0.0.1:1/v1", "", "u", "m", "u", "", "", "", ""},
			talk:   []string{"It does not work: nothing listens at 127.0.0.1:1. Start the server there, or check the address.", "type u to use it anyway", "Model name", "It does not work: "},
			config: []string{`base_url: "http://127.0.0.1:1/v1"`, "!api_key", `model: "m"`},
		},
		{
			name: "values of the wrong shape", lines: []string{"klingon", "en", "ftp://x", "MODEL", "two words", key, "big", "not-a-token", botToken, "", "alice", "telegram:1", "searx", "SEARCH", "Mars/Olympus", "UTC"},
			talk: []string{
				"I have no texts in that language", "Your answer is not an address", "Your answer contains a space",
				"Your answer is not the token of a bot", "Your answer \"alice\"", "It does not work: this is not an address such as https://searx.example.com/search", "It works: SEARCH", "I do not know this time zone",
			},
			config: []string{`timezone: "UTC"`, `admins: ["telegram:1"]`},
			after:  "OPENAI_API_KEY=" + key + "\nTELEGRAM_BOT_TOKEN=" + botToken + "\n",
		},
		{
			name: "a known search", env: map[string]string{"LEGWORK_SEARCH_URL": "http://127.0.0.1:1/search"},
			lines:  []string{"", "MODEL", key, "big", "", "", "", "", "SEARCH", ""},
			talk:   []string{"type - to skip search", "[http://127.0.0.1:1/search]", "It does not work: ", "[http://127.0.0.1:1/search]", "It works: SEARCH"},
			config: []string{"web: {builtin: web}", "search: {builtin: search, options: {url: "},
			after:  "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a known search, but declined", env: map[string]string{"LEGWORK_SEARCH_URL": "http://127.0.0.1:1/search"},
			lines:  []string{"", "MODEL", key, "big", "", "", "-", ""},
			config: []string{"web: {builtin: web}", "!builtin: search"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a wrong token of Telegram, then none", lines: []string{"", "MODEL", key, "big", badToken, "", "-", "", "", ""},
			talk:   []string{"It does not work: ", "type - to skip Telegram"},
			config: []string{"!telegram:"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name:  "Slack's tokens the wrong way round, then unknown ones, then right",
			lines: []string{"", "MODEL", key, "big", "", slackfake.AppToken, "xoxb-unknown", slackfake.BotToken, slackfake.AppToken, "", slackfake.BotToken, slackfake.AppToken, "", "", ""},
			talk: []string{
				"Your answer is the app-level token", "Your answer is the bot token", "It does not work: ", "It works: @",
			},
			config: []string{"budget:\n  day_tokens: 2000000"},
			after:  "OPENAI_API_KEY=" + key + "\nSLACK_BOT_TOKEN=" + slackfake.BotToken + "\nSLACK_APP_TOKEN=" + slackfake.AppToken + "\n",
		},
		{
			name: "a budget in tokens", lines: []string{"", "MODEL", key, "big", "", "", "", "", "5 euros", "1,500,000"},
			talk: []string{"[2000000]", "Type a number of tokens"}, config: []string{"day_tokens: 1500000", "!price", "!day_usd"},
			after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "no budget", lines: []string{"", "MODEL", key, "big", "", "", "", "", "-"},
			config: []string{"!budget"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a budget of nothing", lines: []string{"", "MODEL", key, "big", "", "", "", "", "$0", "0", "$0.5", "1 2"},
			talk: []string{"or type - for no limit", "or type - for no limit", "per million tokens"}, config: []string{"day_usd: 0.5"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a budget in dollars without a price", lines: []string{"", "MODEL", key, "big", "", "", "", "", "$3", ""},
			talk:   []string{"Press Enter if you do not know it.", "limits in dollars count nothing; limits in tokens do count"},
			config: []string{"budget:\n  day_usd: 3\n  day_tokens: 2000000\n", "!price"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "numbers that the lists do not have", lines: []string{"", "0", "10", "MODEL", key, "7", "1", "", "", "6", "", ""},
			talk: []string{
				"no number 0 in the list. Type a number from 1 to 9, or a name.", "no number 10 in", "no number 7 in the list. Type a number from 1 to 1,",
				"It works: big", "no number 6 in the list. Type a number from 1 to 5,",
			},
			after: "OPENAI_API_KEY=" + key + "\n",
		},
		{
			name: "a budget in dollars", lines: []string{"", "MODEL", key, "big", "", "", "", "", "$2.50", "2", "2 ten", "0.25 10"},
			talk:   []string{"per million tokens", "Type two numbers"},
			config: []string{"budget:\n  day_usd: 2.5", "price: {input: 0.25, output: 10}", "!day_tokens"}, after: "OPENAI_API_KEY=" + key + "\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newEnv(t)
			for name, value := range test.env {
				b.vars[name] = value
			}
			if test.saved != "" {
				b.write(".env", test.saved)
			}
			if !strings.Contains(test.name, "budget") { // the usual one
				test.lines = append(test.lines, "")
			}
			test.lines = append(test.lines, "") // no token
			fill := strings.NewReplacer("MODEL", b.model, "SEARCH", b.search)
			for i, line := range test.lines {
				switch line {
				case "MODEL":
					test.lines[i] = b.model
				case "SEARCH":
					test.lines[i] = b.search
				}
			}
			if _, err := b.run(test.lines...); err != nil {
				t.Fatalf("%v\n%s", err, b.out.String())
			}
			rest := b.out.String()
			for _, words := range test.talk {
				_, after, found := strings.Cut(rest, fill.Replace(words))
				if !found {
					t.Fatalf("%q is not said, or not in that order:\n%s", words, b.out.String())
				}
				rest = after
			}
			config := b.read("config.yaml")
			for _, words := range test.config {
				unwanted := strings.HasPrefix(words, "!")
				if words = strings.TrimPrefix(words, "!"); strings.Contains(config, words) == unwanted {
					t.Errorf("the config has %q: %v, want %v\n%s", words, unwanted, !unwanted, config)
				}
			}
			after, err := os.ReadFile(b.file(".env"))
			if err != nil && test.after != "" {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(after)); diff != "" {
				t.Errorf(".env (-want +got):\n%s", diff)
			}
			b.load()
		})
	}
}

// TestEndInTheMiddle holds that nothing is written before the last answer.
func TestEndInTheMiddle(t *testing.T) {
	all := func(b *env) []string {
		return []string{"en", b.model, key, "big", botToken, slackfake.BotToken, slackfake.AppToken, "telegram:1", b.search, "UTC"}
	}
	for n := range 10 {
		t.Run(fmt.Sprint(n, " answers"), func(t *testing.T) {
			b := newEnv(t)
			b.write(".env", "OTHER=1\n")
			b.write("config.yaml", "old")
			b.options.Replace = true
			if _, err := b.run(all(b)[:n]...); n > 0 && !errors.Is(err, setup.ErrEnded) {
				t.Errorf("Run returned %v, want ErrEnded", err)
			}
			entries, err := os.ReadDir(b.folder)
			if err != nil || len(entries) != 2 || b.read(".env") != "OTHER=1\n" || b.read("config.yaml") != "old" {
				t.Errorf("something was written: %v %v", entries, err)
			}
		})
	}
}

func TestReplace(t *testing.T) {
	b := newEnv(t)
	b.write("config.yaml", "old")
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "--force") || b.out.Len() > 0 {
		t.Errorf("Run returned %v after\n%s\nwant a refusal that names --force, and no question", err, b.out.String())
	}
	b.options.Replace = true
	outcome, err := b.run("", b.model, key, "big", "", "", "", "", "", "")
	if err != nil || outcome.Backup != b.file("config.yaml.bak") || b.read("config.yaml.bak") != "old" {
		t.Errorf("Run returned %+v, %v; want the old file kept", outcome, err)
	}
	b.load()
	outcome, err = b.run("", b.model, key, "big", "", "", "", "", "", "")
	if err != nil || outcome.Backup != b.file("config.yaml.bak.2") || b.read("config.yaml.bak") != "old" {
		t.Errorf("Run again returned %+v, %v; want the first file kept too", outcome, err)
	}
	b.load()
}

// TestNotWritable holds that an error names the file.
func TestNotWritable(t *testing.T) {
	b := newEnv(t)
	b.options.Config = b.file("missing/config.yaml")
	if _, err := b.run("", b.model, key, "big", "", "", "", "", "", ""); err == nil || !strings.Contains(err.Error(), "writing "+b.file("missing/.env")) {
		t.Errorf("Run returned %v, want one that names the file", err)
	}
}

// TestOddKey holds that any key that can be sent is read back as it was.
func TestOddKey(t *testing.T) {
	for _, odd := range []string{"a$HOME", "it's", `"quoted"`, `a'b"c$d\e`, "with#hash", `back\slash`} {
		b := newEnv(t)
		b.options.Try.Models = func(context.Context, llm.ModelConfig) ([]string, error) { return nil, nil }
		b.options.Try.Model = func(context.Context, llm.ModelConfig) error { return nil }
		if _, err := b.run("", b.model, odd, "big$1", "", "", "", "", "", ""); err != nil {
			t.Fatalf("%q: %v", odd, err)
		}
		if got := b.load().LLM.Models["main"]; got.APIKey != odd || got.Model != "big$1" {
			t.Errorf("the key %q was read back as %q, the model big$1 as %q; .env is\n%s", odd, got.APIKey, got.Model, b.read(".env"))
		}
	}
}
