package conf

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"legwork/internal/seal"
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
	found := c.ownSecrets()
	for _, f := range c.filled {
		if secretName.MatchString(f.key) || secretName.MatchString(f.reference) {
			found.add(f.key, f.text)
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// ownSecrets are the Secrets that follow from the keys at which they stand.
func (c *Config) ownSecrets() secretSet {
	found := secretSet{}
	for name, m := range c.LLM.Models {
		key := "models." + name
		found.add(key+".api_key", m.APIKey)
		found.addAddress(key+".base_url", m.BaseURL)
		found.addNamed(key+".extra_body", m.ExtraBody)
	}
	if c.Telegram != nil {
		found.add("telegram", c.Telegram.Token, c.Telegram.Webhook.Secret)
	}
	if c.Slack != nil {
		found.add("slack", c.Slack.BotToken, c.Slack.AppToken, c.Slack.SigningSecret)
	}
	found.add("http.oidc.client_secret", c.HTTP.OIDC.ClientSecret)
	found.add("alerts.webhooks", c.Alerts.Secrets()...)
	found.addHeaders("telemetry.otlp_headers", c.Telemetry.OTLPHeaders)
	found.addAddress("telemetry.otlp_endpoint", c.Telemetry.OTLPEndpoint)
	found.addAddress("store.url", c.Store.URL)
	found.add("sealing_key", c.SealingKey)
	if k, err := seal.ParseKey(c.SealingKey); err == nil {
		found.add("sealing_key", k.Forms()...)
	}
	for name, s := range c.Tools.Servers {
		found.addServer("servers."+name, s)
	}
	return found
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
		harmless.addHeaders("", names)
	}
	named(c.Telemetry.OTLPHeaders)
	for _, s := range c.Tools.Servers {
		named(s.Headers)
		headers, _ := s.Options["headers"].(map[string]any)
		for name, value := range headers {
			if text, ok := value.(string); ok && !secretName.MatchString(name) {
				harmless.add("", text)
			}
		}
	}
	return slices.DeleteFunc(c.Secrets(), func(s string) bool { return len(s) < shortest || harmless[s] != nil })
}

// SecretVariables names the variables that the process needs only for its config:
// those of FromEnv with secrets, and those of ${NAME} whose value is or contains one of
// the Secrets. A variable that tool servers inherit, or that sets a proxy, is not one of
// them.
func (c *Config) SecretVariables() []string {
	names := []string{envKey, envURL, envTelegramToken, envTelegramSecret, envSlackBot, envSlackApp, envSlackSecret, envSearch, envSealing, envOTLP, envOTLPHeaders}
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

// secretSet holds secrets, each with the keys at which, or below which, it stands.
type secretSet map[string][]string

func (s secretSet) add(key string, values ...string) {
	for _, value := range values {
		if value != "" {
			s[value] = append(s[value], key)
		}
	}
}

func (s secretSet) addServer(key string, c tools.ServerConfig) {
	s.addHeaders(key+".headers", c.Headers)
	s.add(key+".auth", c.Auth.Secrets()...)
	s.addArguments(key+".args", c.Args)
	for name, value := range c.Env {
		if secretName.MatchString(name) {
			s.add(key+".env", value)
		}
		s.addAddress(key+".env", value)
	}
	s.addAddress(key+".url", c.URL)
	s.addNamed(key+".options", c.Options)
	headers, _ := c.Options["headers"].(map[string]any)
	for _, value := range headers {
		if text, ok := value.(string); ok {
			s.add(key+".options.headers", text)
		}
	}
	for _, name := range []string{"url", "base_url"} {
		if address, ok := c.Options[name].(string); ok {
			s.addAddress(key+".options."+name, address)
		}
	}
}

// addHeaders adds the values of headers, and the credentials in them.
func (s secretSet) addHeaders(key string, headers map[string]string) {
	for _, value := range headers {
		s.add(key, value)
		if _, credential, found := strings.Cut(value, " "); found { // "Bearer x"
			s.add(key, strings.TrimSpace(credential))
		}
	}
}

// addArguments adds the arguments of a program that have a secret name: --api-key=x,
// --api-key x, and -e API_KEY=x as for docker; the secrets in addresses; and headers
// with a secret name: --header "Authorization: Bearer x".
func (s secretSet) addArguments(key string, args []string) {
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if !found && i+1 < len(args) {
			value = args[i+1]
		}
		s.addAddress(key, arg)
		s.addAddress(key, value)
		switch {
		case name == "--header" || name == "-H":
			if header, text, ok := strings.Cut(value, ":"); ok && secretName.MatchString(header) {
				s.addHeaders(key, map[string]string{header: strings.TrimSpace(text)})
			}
		case !secretArgument.MatchString(name) || strings.ContainsAny(name, ":/?"):
		case found || strings.HasPrefix(arg, "-") && !strings.HasPrefix(value, "-"):
			s.add(key, value)
		}
	}
}

// addAddress adds the password of an address, and the credentials in its query.
func (s secretSet) addAddress(key, address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if u.User != nil {
		password, _ := u.User.Password()
		s.add(key, password)
	}
	for name, values := range u.Query() {
		if secretArgument.MatchString(name) {
			s.add(key, values...)
		}
	}
}

// addNamed adds the texts with secret names, at any depth.
func (s secretSet) addNamed(key string, values map[string]any) {
	for name, value := range values {
		switch v := value.(type) {
		case string:
			if secretName.MatchString(name) {
				s.add(key, v)
			}
		case map[string]any:
			s.addNamed(key, v)
		}
	}
}
