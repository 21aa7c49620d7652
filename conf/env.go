package conf

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/joho/godotenv"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/llm"
)

// The environment variables that FromEnv reads.
const (
	envKey            = "OPENAI_API_KEY"
	envURL            = "OPENAI_BASE_URL"
	envModel          = "OPENAI_MODEL"
	envTelegramToken  = "TELEGRAM_BOT_TOKEN"      //nolint:gosec // the name of a variable
	envTelegramSecret = "TELEGRAM_WEBHOOK_SECRET" //nolint:gosec // the name of a variable
	envSlackBot       = "SLACK_BOT_TOKEN"         //nolint:gosec // the name of a variable
	envSlackApp       = "SLACK_APP_TOKEN"         //nolint:gosec // the name of a variable
	envSlackSecret    = "SLACK_SIGNING_SECRET"    //nolint:gosec // the name of a variable
	envAdmins         = "LEGWORK_ADMINS"
	envSearch         = "LEGWORK_SEARCH_URL"
	envSealing        = "LEGWORK_SEALING_KEY" //nolint:gosec // the name of a variable
)

// defaultModel is used when the environment names none.
const defaultModel = "gpt-5-mini"

// FromEnv makes a config from environment variables alone. env looks up a
// variable, as os.LookupEnv does; an empty one counts as not set. The error is
// an Errors that names variables.
//
// OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL give the one model, which
// plays every role. The tool groups are clock, math and web, and search when
// LEGWORK_SEARCH_URL is the address of a SearXNG-compatible endpoint.
//
// TELEGRAM_BOT_TOKEN connects to Telegram. TELEGRAM_WEBHOOK_SECRET is checked, but
// messages are still polled: webhooks need a public address, and only a config file
// can name one.
//
// SLACK_BOT_TOKEN connects to Slack: by Socket Mode when SLACK_APP_TOKEN is
// set, else by deliveries when SLACK_SIGNING_SECRET is.
//
// LEGWORK_ADMINS lists admins: telegram:123,slack:U1.
//
// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS set where traces go, and
// LEGWORK_SEALING_KEY is the key for stored sign-ins, also when a config file does not
// set them.
func FromEnv(env func(string) (string, bool)) (*Config, error) {
	get := func(name string) string {
		value, _ := env(name)
		return strings.TrimSpace(value)
	}
	key, url, model := get(envKey), get(envURL), get(envModel)
	if key == "" && url == "" {
		return nil, Errors{{File: "environment", Problem: "no model is configured; set " + envKey +
			", or " + envURL + " for any OpenAI-compatible endpoint (and " + envModel +
			"), or name a config file with --config; \"legwork init\" writes one; \"legwork demo\" needs none of them"}}
	}
	model = cmp.Or(model, defaultModel)
	config := Default()
	config.file = "environment"
	config.LLM.Models = map[string]llm.ModelConfig{"main": {BaseURL: url, APIKey: key, Model: model}}
	config.Tools = envTools(get(envSearch))
	config.Platforms.fromEnv(get)
	config.Telemetry.fromEnv(get)
	config.sealFromEnv(get)
	if errs := config.envMistakes(); len(errs) > 0 {
		return nil, errs
	}
	return config, nil
}

// fromEnv fills in the platforms whose variables are set.
func (p *Platforms) fromEnv(get func(string) string) {
	if token, secret := get(envTelegramToken), get(envTelegramSecret); token != "" || secret != "" {
		p.Telegram = &telegram.Config{Token: token, Webhook: telegram.Webhook{Secret: secret}}
	}
	if s := (slack.Config{BotToken: get(envSlackBot), AppToken: get(envSlackApp), SigningSecret: get(envSlackSecret)}); s != (slack.Config{}) {
		if s.AppToken == "" && s.SigningSecret != "" {
			s.Mode = slack.ModeHTTP
		}
		p.Slack = &s
	}
	for admin := range strings.SplitSeq(get(envAdmins), ",") {
		if admin = strings.TrimSpace(admin); admin != "" {
			p.Access.Admins = append(p.Access.Admins, admin)
		}
	}
}

// envMistakes lists the mistakes by the names of the variables.
func (c *Config) envMistakes() Errors {
	variables := map[string]string{
		"models.main.api_key":     envKey,
		"models.main.base_url":    envURL,
		"models.main.model":       envModel,
		"telegram.token":          envTelegramToken,
		"telegram.webhook.secret": envTelegramSecret,
		"slack.bot_token":         envSlackBot,
		"slack.app_token":         envSlackApp,
		"slack.signing_secret":    envSlackSecret,

		"telemetry.otlp_endpoint": envOTLP,
		"sealing_key":             envSealing,

		"servers.search.options":     envSearch,
		"servers.search.options.url": envSearch,
	}
	for i := range c.Access.Admins {
		variables[fmt.Sprintf("access.admins[%d]", i)] = envAdmins
	}
	var l issues
	l.Include("", c.LLM.Validate())
	l.Include("", c.Tools.Validate())
	c.ownPlatforms(&l)
	c.ownSealing(&l)
	c.Telemetry.validate(&l)
	var errs Errors
	for _, i := range l.List {
		errs = append(errs, Error{File: "environment", Key: cmp.Or(variables[i.Path], i.Path), Problem: i.Problem})
	}
	return errs
}

// Environment is the process's environment, without the secrets that configs used. The
// zero value is usable, and safe for concurrent use.
type Environment struct{ hidden sync.Map } // of values by name

// Lookup finds a variable, hidden ones too, so that a config can be read again.
func (e *Environment) Lookup(name string) (string, bool) {
	if value, ok := e.hidden.Load(name); ok {
		return value.(string), true
	}
	return os.LookupEnv(name)
}

// Hide removes variables from the process. Only Lookup knows them from then on. The
// kernel still keeps the environment of the start.
func (e *Environment) Hide(names []string) error {
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if !ok {
			continue
		}
		e.hidden.Store(name, value)
		if err := os.Unsetenv(name); err != nil {
			return fmt.Errorf("hiding the variable %s: %w", name, err)
		}
	}
	return nil
}

// EnvFile is the name of the file with variables that the environment lacks.
const EnvFile = ".env"

// maxEnvFile bounds an EnvFile, in bytes.
const maxEnvFile = 64 << 10

// WithEnvFile adds the variables of the EnvFile in folder to env, which looks up a
// variable as os.LookupEnv does. A variable of env wins, and the environment of the
// process is not changed. Without such a file the result is env. warning is not
// empty when the file is not private. The error is an Errors with the place of the
// mistake; it never shows a value.
func WithEnvFile(folder string, env func(string) (string, bool)) (with func(string) (string, bool), warning string, err error) {
	path := filepath.Join(folder, EnvFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return env, "", nil
	}
	if err != nil {
		return nil, "", Errors{{File: path, Problem: plainFileError(err).Error()}}
	}
	text, err := readBounded(path)
	if err == nil && len(text) > maxEnvFile {
		err = fmt.Errorf("is larger than %d bytes", maxEnvFile)
	}
	if err != nil {
		return nil, "", Errors{{File: path, Problem: err.Error()}}
	}
	values, wrong := parseEnv(path, string(text))
	if wrong != nil {
		return nil, "", Errors{*wrong}
	}
	const others = 0o007
	if len(values) > 0 && info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" {
		warning = path + ": may contain secrets, but everybody on this machine can read it; make it private: chmod 600 " + path
	}
	return func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := values[name]
		return value, ok
	}, warning, nil
}

// openToAll warns about a file that everybody on the machine can change, because it
// names the programs that legwork starts.
func (c *Config) openToAll(file string) {
	const others = 0o002
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&others != 0 && runtime.GOOS != "windows" {
		c.warnings = append(c.warnings, Error{File: file, Problem: "everybody on this machine can change it and so choose which programs legwork starts; remove that right: chmod o-w " + file})
	}
}

// parseEnv reads lines such as NAME=VALUE.
func parseEnv(file, text string) (map[string]string, *Error) {
	text = strings.TrimPrefix(text, "\ufeff") + "\n"
	values, err := godotenv.Parse(strings.NewReader(text))
	if err == nil && namesFit(values) {
		return values, nil
	}
	line, problem := badEnvLine(text)
	return nil, &Error{File: file, Line: line, Column: 1, Problem: problem}
}

// badEnvLine finds the first wrong entry. The library's own message repeats the
// entry, which may be a secret, so it is not used.
func badEnvLine(text string) (line int, problem string) {
	const shape = "is not a line such as NAME=VALUE; put a value with spaces or special characters in single quotes"
	entry, at, line, open := "", 1, 0, false
	for piece := range strings.Lines(text) {
		line++
		entry += piece
		if open && !strings.ContainsAny(piece, `'"`) {
			continue
		}
		values, err := godotenv.Parse(strings.NewReader(entry))
		switch {
		case err == nil && namesFit(values):
			entry, at, open = "", line+1, false
		case err == nil || !strings.HasPrefix(err.Error(), "unterminated quoted value"):
			return at, shape
		default:
			open = true
		}
	}
	return at, "a quote is opened here and never closed"
}

// namesFit reports whether all names can be names of variables.
func namesFit(values map[string]string) bool {
	for name := range values {
		if name == "" || leadingName(name) != name {
			return false
		}
	}
	return true
}

// Telemetry sets where traces go. Metrics are always at /metrics of http.listen.
type Telemetry struct {
	// OTLPEndpoint is the base address of an OpenTelemetry receiver such as a collector, Jaeger or Tempo: traces go to /v1/traces below it, by HTTP. Default: OTEL_EXPORTER_OTLP_ENDPOINT; without both there are no traces.
	OTLPEndpoint string `yaml:"otlp_endpoint,omitempty" jsonschema:"example=http://localhost:4318"`
	// OTLPHeaders are sent with every request to it, for example a key. Default: OTEL_EXPORTER_OTLP_HEADERS.
	OTLPHeaders map[string]string `yaml:"otlp_headers,omitempty"`
	// Sample is the part of the traces that is kept, from 0 to 1. For a call of a traced program, the program decides.
	Sample float64 `yaml:"sample" jsonschema:"minimum=0,maximum=1"`
}

// The variables of OpenTelemetry for all programs
// (opentelemetry.io/docs/specs/otel/protocol/exporter).
const (
	envOTLP        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envOTLPHeaders = "OTEL_EXPORTER_OTLP_HEADERS"
)

// fromEnv fills in what the file does not set. The headers of the environment are
// for its endpoint alone.
func (t *Telemetry) fromEnv(get func(string) string) {
	if t.OTLPEndpoint != "" {
		return
	}
	t.OTLPEndpoint = get(envOTLP)
	for pair := range strings.SplitSeq(get(envOTLPHeaders), ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(value); err == nil {
			value = decoded
		}
		if !found || t.OTLPHeaders[name] != "" {
			continue
		}
		if t.OTLPHeaders == nil {
			t.OTLPHeaders = map[string]string{}
		}
		t.OTLPHeaders[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
}

func (t *Telemetry) validate(l *issues) {
	if u, err := url.Parse(t.OTLPEndpoint); t.OTLPEndpoint != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		l.Add("telemetry.otlp_endpoint", "must be an address such as http://localhost:4318")
	}
}
