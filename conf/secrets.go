package conf

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"legwork/tools"
	"legwork/tools/client"
)

// secretName matches names of keys and variables with secret values.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|credential|auth|cookie|private|signature`)

// secretArgument matches names of arguments and of values in addresses that are
// credentials themselves: --api-key, but not --key-size.
var secretArgument = regexp.MustCompile(`(?i)(key|token|secret|password|passwd|pwd|credential|credentials|auth|signature|sig)$`)

// Secrets lists every value of the config that must not appear in a log, sorted and
// each once: keys, tokens, signing secrets, headers, passwords in addresses, and
// values from a variable or file with the name of a secret. It includes short
// values; package redact decides which are too short to hide.
func (c *Config) Secrets() []string {
	found := secretSet{}
	for _, m := range c.LLM.Models {
		found.add(m.APIKey)
		found.addAddress(m.BaseURL)
		found.addNamed(m.ExtraBody)
	}
	if c.Telegram != nil {
		found.add(c.Telegram.Token, c.Telegram.Webhook.Secret)
	}
	if c.Slack != nil {
		found.add(c.Slack.BotToken, c.Slack.AppToken, c.Slack.SigningSecret)
	}
	found.add(c.HTTP.OIDC.ClientSecret)
	found.add(c.Alerts.Secrets()...)
	found.addHeaders(c.Telemetry.OTLPHeaders)
	found.addAddress(c.Telemetry.OTLPEndpoint)
	found.addAddress(c.Store.URL)
	for _, s := range c.Tools.Servers {
		found.addServer(s)
	}
	for _, f := range c.filled {
		if secretName.MatchString(f.key) || secretName.MatchString(f.reference) {
			found.add(f.text)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Credentials lists the Secrets that are certainly credentials, so that they can be
// removed from tool results without harm: no short ones, and no headers that only
// name something.
func (c *Config) Credentials() []string {
	const shortest = 12
	harmless := secretSet{}
	named := func(headers map[string]string) {
		names := maps.Clone(headers)
		maps.DeleteFunc(names, func(name, _ string) bool { return secretName.MatchString(name) })
		harmless.addHeaders(names)
	}
	named(c.Telemetry.OTLPHeaders)
	for _, s := range c.Tools.Servers {
		named(s.Headers)
		headers, _ := s.Options["headers"].(map[string]any)
		for name, value := range headers {
			if text, ok := value.(string); ok && !secretName.MatchString(name) {
				harmless.add(text)
			}
		}
	}
	return slices.DeleteFunc(c.Secrets(), func(s string) bool { return len(s) < shortest || harmless[s] })
}

// SecretVariables names the variables that the process needs only for its config:
// those of FromEnv with secrets, and those of ${NAME} whose value is or contains one of
// the Secrets. A variable that tool servers inherit, or that sets a proxy, is not one of
// them.
func (c *Config) SecretVariables() []string {
	names := []string{envKey, envURL, envTelegramToken, envTelegramSecret, envSlackBot, envSlackApp, envSlackSecret, envSearch, envOTLP, envOTLPHeaders}
	secrets := c.Secrets()
	for _, f := range c.filled {
		name, ok := strings.CutPrefix(strings.TrimSuffix(f.reference, "}"), "${")
		if !ok || strings.HasPrefix(name, "file:") || client.Inherits(name) || strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			continue
		}
		if slices.ContainsFunc(secrets, func(secret string) bool { return strings.Contains(f.text, secret) }) {
			names = append(names, name)
		}
	}
	return names
}

type secretSet map[string]bool

func (s secretSet) add(values ...string) {
	for _, value := range values {
		if value != "" {
			s[value] = true
		}
	}
}

func (s secretSet) addServer(c tools.ServerConfig) {
	s.addHeaders(c.Headers)
	s.addArguments(c.Args)
	for name, value := range c.Env {
		if secretName.MatchString(name) {
			s.add(value)
		}
		s.addAddress(value)
	}
	s.addAddress(c.URL)
	s.addNamed(c.Options)
	headers, _ := c.Options["headers"].(map[string]any)
	for _, value := range headers {
		if text, ok := value.(string); ok {
			s.add(text)
		}
	}
	for _, name := range []string{"url", "base_url"} {
		if address, ok := c.Options[name].(string); ok {
			s.addAddress(address)
		}
	}
}

// addHeaders adds the values of headers, and the credentials in them.
func (s secretSet) addHeaders(headers map[string]string) {
	for _, value := range headers {
		s.add(value)
		if _, credential, found := strings.Cut(value, " "); found { // "Bearer x"
			s.add(strings.TrimSpace(credential))
		}
	}
}

// addArguments adds the arguments of a program that have a secret name: --api-key=x,
// --api-key x, and -e API_KEY=x as for docker; the secrets in addresses; and headers
// with a secret name: --header "Authorization: Bearer x".
func (s secretSet) addArguments(args []string) {
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found && i+1 < len(args) {
			value = args[i+1]
		}
		s.addAddress(arg)
		s.addAddress(value)
		switch {
		case name == "--header" || name == "-H":
			if header, text, ok := strings.Cut(value, ":"); ok && secretName.MatchString(header) {
				s.addHeaders(map[string]string{header: strings.TrimSpace(text)})
			}
		case !secretArgument.MatchString(name) || strings.ContainsAny(name, ":/?"):
		case found || strings.HasPrefix(arg, "-") && !strings.HasPrefix(value, "-"):
			s.add(value)
		}
	}
}

// addAddress adds the password of an address, and the credentials in its query.
func (s secretSet) addAddress(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.add(password)
	}
	for name, values := range u.Query() {
		if secretArgument.MatchString(name) {
			s.add(values...)
		}
	}
}

// addNamed adds the texts with secret names, at any depth.
func (s secretSet) addNamed(values map[string]any) {
	for name, value := range values {
		switch v := value.(type) {
		case string:
			if secretName.MatchString(name) {
				s.add(v)
			}
		case map[string]any:
			s.addNamed(v)
		}
	}
}
