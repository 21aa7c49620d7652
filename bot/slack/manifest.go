package slack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	slackgo "github.com/slack-go/slack"
)

// Manifest is the app manifest as JSON, to be pasted at api.slack.com/apps: the
// scopes and events that the platform uses and no others. Mode http needs
// publicURL, the address under which Slack reaches Handler; mode socket does
// not read it. A config without tokens will do.
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
			AgentView: &slackgo.AgentView{AgentDescription: "Plans a task, does its parts with tools, and answers."},
			BotUser:   slackgo.BotUser{DisplayName: "legwork", AlwaysOnline: true},
			SlashCommands: []slackgo.ManifestSlashCommand{
				{Command: cfg.Commands.Task, Description: "Start a task", UsageHint: "what is to be done", ShouldEscape: true, Url: at("/slack/commands")},
				{Command: cfg.Commands.Main, Description: "Settings, history, help and more", UsageHint: "help", ShouldEscape: true, Url: at("/slack/commands")},
			},
		},
		OAuthConfig: slackgo.OAuthConfig{Scopes: slackgo.OAuthScopes{Bot: []string{
			"app_mentions:read", "assistant:write", "channels:history", "chat:write", "commands", "files:write",
			"groups:history", "im:history", "im:write", "mpim:history", "users:read",
		}}},
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
	text, err := explicit(m)
	if err != nil {
		return "", fmt.Errorf("making the manifest: %w", err)
	}
	return text, nil
}

// explicit writes a manifest with the switches that the library leaves out when
// they are off: without the one, Slack may forbid people to write to the bot.
func explicit(m slackgo.Manifest) (string, error) {
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
		return "", errors.New("making the manifest: http.public_url is not an address that Slack delivers to; allowed: https:// and a host")
	}
	return strings.TrimRight(address, "/"), nil
}
