package slack

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/issue"
)

// The values of Config.Mode.
const (
	ModeSocket = "socket"
	ModeHTTP   = "http"
)

// DefaultAPIURL is Slack's own Web API.
const DefaultAPIURL = "https://slack.com/api/"

// Config is this package's part of the config file. A zero value stands for
// the default named at each field; WithDefaults fills them in.
type Config struct {
	// BotToken is the app's bot token (xoxb-...). Required.
	BotToken string `yaml:"bot_token" jsonschema:"required" jsonschema_description:"The app's bot token, xoxb-..., from the page OAuth & Permissions."`
	// AppToken opens Socket Mode (xapp-...). Required in mode socket.
	AppToken string `yaml:"app_token,omitempty" jsonschema_description:"The app-level token, xapp-..., with the scope connections:write. Needed in mode socket."`
	// SigningSecret proves that Slack sent a delivery. Required in mode http.
	SigningSecret string `yaml:"signing_secret,omitempty" jsonschema_description:"What Slack signs its deliveries with, from the page Basic Information. Needed in mode http."`
	// APIURL is the Web API up to, and without, a method's name. Default:
	// DefaultAPIURL.
	APIURL string `yaml:"api_url,omitempty" jsonschema:"example=https://slack.com/api/" jsonschema_description:"The Web API without a method's name. Default: https://slack.com/api/."`
	// Mode is how events arrive: over a connection that legwork opens (socket,
	// the default) or by deliveries to /slack/... of legwork (http).
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=socket,enum=http" jsonschema_description:"How messages arrive: socket opens a connection to Slack, http has them delivered to /slack/events, /slack/commands and /slack/interactions. Default: socket."`
	// Commands are the names of the slash commands, which all apps of a workspace
	// share.
	Commands Commands `yaml:"commands,omitempty" jsonschema_description:"The names of the slash commands; all apps of a workspace share one namespace."`
}

// Commands are the names of the slash commands, with their slash.
type Commands struct {
	// Main takes a verb: /legwork status. Default: /legwork.
	Main string `yaml:"main,omitempty" jsonschema:"example=/legwork" jsonschema_description:"Takes a verb: /legwork status. Default: /legwork."`
	// Task takes a task's text. Default: /task.
	Task string `yaml:"task,omitempty" jsonschema:"example=/task" jsonschema_description:"Takes what is to be done: /task TEXT. Default: /task."`
}

// WithDefaults returns a copy in which every zero value is replaced by its
// default. APIURL ends in a slash.
func (c Config) WithDefaults() Config {
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, DefaultAPIURL), "/") + "/"
	c.Mode = cmp.Or(c.Mode, ModeSocket)
	c.Commands.Main = cmp.Or(c.Commands.Main, "/legwork")
	c.Commands.Task = cmp.Or(c.Commands.Task, "/task")
	return c
}

var (
	botTokenShape  = regexp.MustCompile(`^xoxb-[A-Za-z0-9-]+$`)
	appTokenShape  = regexp.MustCompile(`^xapp-[A-Za-z0-9-]+$`)
	commandShape   = regexp.MustCompile(`^/[a-z0-9_-]{1,31}$`)
	blankOrControl = regexp.MustCompile(`[^!-~]`)
)

// ownCommands are the commands of Slack itself.
func ownCommands() []string {
	return []string{
		"/active", "/apps", "/archive", "/away", "/call", "/canvas", "/collapse", "/contract", "/dm", "/dnd", "/expand", "/feed",
		"/feedback", "/huddle", "/invite", "/invite_people", "/join", "/keys", "/kick", "/leave", "/list", "/me", "/msg", "/mute",
		"/open", "/prefs", "/remind", "/remove", "/rename", "/search", "/shortcuts", "/shrug", "/star", "/status", "/topic",
		"/trigger", "/unarchive", "/who", "/workflow",
	}
}

// Validate lists every mistake.
func (c Config) Validate() issue.List {
	var issues issue.List
	mode := c.WithDefaults().Mode
	issues.Unless("bot_token", botTokenProblem(c.BotToken))
	issues.Unless("app_token", appTokenProblem(c.AppToken, mode))
	issues.Unless("signing_secret", signingSecretProblem(c.SigningSecret, mode))
	issues.Unless("api_url", bot.AddressProblem(c.APIURL))
	if mode != ModeSocket && mode != ModeHTTP {
		issues.Add("mode", "unknown value %q; allowed: %s, %s", mode, ModeSocket, ModeHTTP)
	}
	full := c.WithDefaults().Commands
	issues.Unless("commands.main", commandProblem(full.Main))
	issues.Unless("commands.task", commandProblem(full.Task))
	if full.Main == full.Task {
		issues.Add("commands.task", "is the same as commands.main; allowed: another name")
	}
	return issues
}

func botTokenProblem(token string) string {
	const allowed = "allowed: the bot token xoxb-... from the app's page OAuth & Permissions"
	switch {
	case token == "":
		return "is missing; " + allowed
	case strings.HasPrefix(token, "xapp-"):
		return "is the app-level token, which belongs to app_token; " + allowed
	case strings.HasPrefix(token, "xoxp-"):
		return "is a person's token; " + allowed
	case strings.HasPrefix(token, "xoxe"):
		return "is a token that expires; turn token rotation off in the app; " + allowed
	case !botTokenShape.MatchString(token):
		return "is not a bot token; " + allowed
	}
	return ""
}

func appTokenProblem(token, mode string) string {
	const allowed = "allowed: the app-level token xapp-... with the scope connections:write from the app's page Basic Information"
	switch {
	case token == "" && mode == ModeSocket:
		return "is missing, but mode socket needs it; " + allowed + "; or mode http with signing_secret"
	case token == "":
		return ""
	case strings.HasPrefix(token, "xoxb-"):
		return "is the bot token, which belongs to bot_token; " + allowed
	case !appTokenShape.MatchString(token):
		return "is not an app-level token; " + allowed
	}
	return ""
}

func signingSecretProblem(secret, mode string) string {
	const allowed = "allowed: the signing secret from the app's page Basic Information"
	switch {
	case secret == "" && mode == ModeHTTP:
		return "is missing, but mode http needs it to know that deliveries are Slack's; " + allowed
	case blankOrControl.MatchString(secret):
		return "contains a space, a line break or another invalid character; " + allowed
	case strings.HasPrefix(secret, "xoxb-"), strings.HasPrefix(secret, "xapp-"):
		return "is a token; " + allowed
	}
	return ""
}

func commandProblem(name string) string {
	switch {
	case slices.Contains(ownCommands(), name):
		return fmt.Sprintf("%s is a command of Slack; allowed: another name, such as /legwork-%s", name, strings.TrimPrefix(name, "/"))
	case !commandShape.MatchString(name):
		return fmt.Sprintf("%q is not a valid command; allowed: a slash and up to 31 of a-z, 0-9, - and _, such as /task", name)
	}
	return ""
}

// botScopes are the permissions that the platform uses.
func botScopes() []string {
	return []string{
		"app_mentions:read", "assistant:write", "channels:history", "chat:write", "commands", "files:read", "files:write",
		"groups:history", "im:history", "im:write", "mpim:history", "reactions:write", "users:read",
	}
}

// Manifest is the app manifest as JSON, to be pasted at api.slack.com/apps: the
// scopes and events that the platform uses and no others. Mode http needs
// publicURL, the address under which Slack reaches Handler. The config needs no
// tokens.
func Manifest(cfg Config, publicURL string) (string, error) {
	cfg = cfg.WithDefaults()
	for _, i := range cfg.Validate() {
		if i.Path == "mode" || strings.HasPrefix(i.Path, "commands.") {
			return "", fmt.Errorf("making the manifest: slack.%s %s", i.Path, i.Problem)
		}
	}
	at := func(string) string { return "" }
	if cfg.Mode == ModeHTTP {
		base, err := publicBase(publicURL)
		if err != nil {
			return "", err
		}
		at = func(path string) string { return base + path }
	}
	m := slackgo.Manifest{
		Metadata: slackgo.ManifestMetadata{MajorVersion: 2},
		Display:  slackgo.Display{Name: "legwork", Description: "Ask in chat, it does the legwork."},
		Features: slackgo.Features{
			AgentView: &slackgo.AgentView{
				AgentDescription: "Plans a task, does its parts with tools, and answers.",
				SuggestedPrompts: []slackgo.ManifestSuggestedPrompt{
					{Title: "What can you do here?", Message: "What can you do here, and with which tools?"},
					{Title: "Compare three things", Message: "Compare Go, Rust and Zig for a small network service, with sources."},
					{Title: "Look something up", Message: "What is new in the latest release of Go? Name your sources."},
					{Title: "Show me the plan first", Message: "!plan What time is it in Tokyo and in Paris, and what is 17*23?"},
				},
			},
			Shortcuts: []slackgo.Shortcut{{
				Name: "Ask legwork about this", Type: slackgo.MessageShortcut, CallbackID: shortcutID, Description: "Ask about this message",
			}},
			BotUser: slackgo.BotUser{DisplayName: "legwork", AlwaysOnline: true},
			SlashCommands: []slackgo.ManifestSlashCommand{
				{Command: cfg.Commands.Task, Description: "Start a task", UsageHint: "your question", ShouldEscape: true, Url: at("/slack/commands")},
				{Command: cfg.Commands.Main, Description: "Settings, history, help and more", UsageHint: "help", ShouldEscape: true, Url: at("/slack/commands")},
			},
		},
		OAuthConfig: slackgo.OAuthConfig{Scopes: slackgo.OAuthScopes{Bot: botScopes()}},
		Settings: slackgo.Settings{
			EventSubscriptions: &slackgo.EventSubscriptions{
				RequestUrl: at("/slack/events"),
				BotEvents: []string{
					"agent_session_stopped", "app_mention", "app_uninstalled", "message.channels", "message.groups", "message.im",
					"message.mpim", "tokens_revoked",
				},
			},
			Interactivity:     &slackgo.Interactivity{IsEnabled: true, RequestUrl: at("/slack/interactions")},
			SocketModeEnabled: cfg.Mode == ModeSocket,
		},
	}
	text, err := withSwitches(m)
	if err != nil {
		return "", fmt.Errorf("making the manifest: %w", err)
	}
	return text, nil
}

// withSwitches adds the switches that the library omits when they are off. Without
// messages_tab_read_only_enabled, Slack may forbid people to write to the bot.
func withSwitches(m slackgo.Manifest) (string, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	var all struct {
		Metadata any            `json:"_metadata"`
		Display  any            `json:"display_information"`
		Features map[string]any `json:"features"`
		OAuth    any            `json:"oauth_config"`
		Settings map[string]any `json:"settings"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return "", err
	}
	all.Features["app_home"] = map[string]bool{"home_tab_enabled": false, "messages_tab_enabled": true, "messages_tab_read_only_enabled": false}
	all.Settings["socket_mode_enabled"] = m.Settings.SocketModeEnabled
	all.Settings["org_deploy_enabled"], all.Settings["token_rotation_enabled"] = false, false
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text) + "\n", err
}

// publicBase is an address that Slack delivers to, without a slash at its end.
func publicBase(address string) (string, error) {
	if address == "" {
		return "", errors.New("making the manifest: mode http needs http.public_url, the address under which Slack reaches legwork")
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("making the manifest: http.public_url is not an address that Slack accepts; allowed: https:// and a host")
	}
	return strings.TrimRight(address, "/"), nil
}
