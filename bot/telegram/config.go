package telegram

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"legwork/bot"
	"legwork/internal/issue"
)

// The values of Config.Mode.
const (
	ModePoll    = "poll"
	ModeWebhook = "webhook"
)

// DefaultAPIURL is Telegram's own Bot API server.
const DefaultAPIURL = "https://api.telegram.org"

// Config is this package's part of the config file. A zero value stands for
// the default named at each field; WithDefaults fills them in.
type Config struct {
	// Token of the bot, as @BotFather gives it. Required.
	Token string `yaml:"token" jsonschema:"required" jsonschema_description:"The bot's token, as @BotFather gives it: 123456:AbC..."`
	// APIURL is the Bot API server. Default: DefaultAPIURL.
	APIURL string `yaml:"api_url,omitempty" jsonschema:"example=https://api.telegram.org" jsonschema_description:"The Bot API server. Default: https://api.telegram.org."`
	// Mode is how updates arrive: poll (the default) asks for them, webhook has
	// them delivered.
	Mode string `yaml:"mode,omitempty" jsonschema:"enum=poll,enum=webhook" jsonschema_description:"How messages arrive: poll asks Telegram for them, webhook has them delivered to webhook.url. Default: poll."`
	// Webhook is where updates are delivered to in mode webhook; unused otherwise.
	Webhook Webhook `yaml:"webhook,omitempty" jsonschema_description:"Where Telegram delivers messages to in mode webhook."`
	// Rich sends answers as rich messages, with tables and headings. Some older apps
	// show them as unsupported.
	Rich bool `yaml:"rich,omitempty" jsonschema_description:"Answers are rich messages, with tables and headings; some older apps show them as unsupported. Default: false."`
	// Overhear lets the bot read all messages of its groups that Telegram delivers.
	// The next question brings along what was said since the last one, as material.
	Overhear bool `yaml:"overhear,omitempty" jsonschema_description:"In groups without privacy mode, the next question brings along the messages since the bot was last asked, as material. Default: false."`
}

// Webhook is where Telegram delivers updates to.
type Webhook struct {
	// URL is the public address that leads to /telegram/webhook of legwork.
	URL string `yaml:"url,omitempty" jsonschema:"example=https://bot.example.com/telegram/webhook" jsonschema_description:"The public https address that leads to /telegram/webhook of legwork."`
	// Secret is what Telegram proves itself with: 1 to 256 of A-Z, a-z, 0-9, _
	// and -. There is no webhook without one.
	Secret string `yaml:"secret,omitempty" jsonschema_description:"What Telegram proves itself with in each delivery: 1 to 256 of A-Z, a-z, 0-9, _ and -."`
}

// WithDefaults returns a copy in which every zero value is replaced by its
// default. An address has no slash at its end.
func (c Config) WithDefaults() Config {
	c.APIURL = strings.TrimRight(cmp.Or(c.APIURL, DefaultAPIURL), "/")
	c.Mode = cmp.Or(c.Mode, ModePoll)
	return c
}

var (
	tokenShape  = regexp.MustCompile(`^[0-9]{1,20}:[A-Za-z0-9_-]{35,}$`)
	secretShape = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

// maxSecret is the longest secret that Telegram takes, in bytes. Counted in the
// pattern, it would cost a millisecond at each start.
const maxSecret = 256

// Validate lists every mistake.
func (c Config) Validate() issue.List {
	var issues issue.List
	issues.Unless("token", c.tokenProblem())
	issues.Unless("api_url", bot.AddressProblem(c.APIURL))
	mode := c.WithDefaults().Mode
	if mode != ModePoll && mode != ModeWebhook {
		issues.Add("mode", "unknown value %q; allowed: %s, %s", mode, ModePoll, ModeWebhook)
	}
	issues.Unless("webhook.url", c.webhookURLProblem(mode))
	issues.Unless("webhook.secret", c.secretProblem(mode))
	return issues
}

func (c Config) tokenProblem() string {
	const help = "@BotFather shows it as NUMBER:LETTERS when the bot is made, and again by /token"
	switch {
	case c.Token == "":
		return "is missing; " + help
	case !tokenShape.MatchString(c.Token):
		return "is not the token of a bot; " + help
	}
	return ""
}

func (c Config) secretProblem(mode string) string {
	const allowed = "allowed: 1 to 256 of A-Z, a-z, 0-9, _ and -"
	switch {
	case c.Webhook.Secret == "" && mode == ModeWebhook:
		return "is missing: without it anybody could send messages in Telegram's name; " + allowed
	case c.Webhook.Secret != "" && (len(c.Webhook.Secret) > maxSecret || !secretShape.MatchString(c.Webhook.Secret)):
		return "holds a character that Telegram does not take, or is too long; " + allowed
	}
	return ""
}

// webhookURLProblem holds the address to what Telegram calls. A Bot API server
// of one's own may call any address.
func (c Config) webhookURLProblem(mode string) string {
	const allowed = "allowed: an https address such as https://bot.example.com/telegram/webhook"
	if c.Webhook.URL == "" {
		if mode == ModeWebhook {
			return "is missing; " + allowed
		}
		return ""
	}
	if problem := bot.AddressProblem(c.Webhook.URL); problem != "" {
		return problem
	}
	u, err := url.Parse(c.Webhook.URL)
	if err != nil || c.WithDefaults().APIURL != DefaultAPIURL {
		return ""
	}
	address, isAddress := netip.ParseAddr(u.Hostname())
	switch {
	case u.Scheme != "https":
		return "is not https; " + allowed
	case u.Port() != "" && !slices.Contains([]string{"443", "80", "88", "8443"}, u.Port()):
		return fmt.Sprintf("has the port %s, which Telegram does not call; allowed: 443, 80, 88, 8443", u.Port())
	case u.Hostname() == "localhost", isAddress == nil && (address.IsLoopback() || address.IsPrivate()):
		return fmt.Sprintf("leads to %s, which Telegram cannot reach; %s", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), allowed)
	}
	return ""
}
