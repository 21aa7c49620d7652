package conf

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"legwork/bot/slack"
	"legwork/bot/telegram"
	"legwork/internal/loopback"
	"legwork/internal/nearest"
)

// Platforms are the chat services that the bot is on. Without its section a service
// is not used.
type Platforms struct {
	// Telegram is the bot's account.
	Telegram *telegram.Config `yaml:"telegram,omitempty"`
	// Slack is the app in one workspace.
	Slack *slack.Config `yaml:"slack,omitempty"`
	// HTTP sets where legwork listens.
	HTTP HTTP `yaml:"http,omitempty"`
	// Access lists the people and chats that may talk to the bot: none by
	// default.
	Access Access `yaml:"access,omitempty"`
}

// DefaultListen is the default of http.listen.
const DefaultListen = "127.0.0.1:8080"

// defaultRate is the default of http.rate.
const defaultRate = 100

// HTTP sets where legwork listens.
type HTTP struct {
	// Listen is the address of the API, of health checks, and of webhooks unless webhook_listen is set. Without tokens it must be local, such as 127.0.0.1:8080. Empty: none.
	Listen string `yaml:"listen"`
	// WebhookListen is an address for the platforms' webhooks alone, so that nothing else is exposed, such as :8443. Empty: webhooks are at listen.
	WebhookListen string `yaml:"webhook_listen,omitempty"`
	// PublicURL is the public address of legwork, for links and callbacks. Empty: none.
	PublicURL string `yaml:"public_url,omitempty" jsonschema:"example=https://bot.example.com"`
	// Proxies are addresses or networks of reverse proxies, such as 10.0.0.0/8, whose X-Forwarded-For header names the caller. Default: none.
	Proxies []string `yaml:"proxies,omitempty"`
	// Rate is how many requests per second each token may make on average.
	Rate int `yaml:"rate,omitempty" jsonschema:"minimum=1,maximum=100000"`
	// OIDC signs people in by an OpenID Connect provider. Default: none.
	OIDC OIDC `yaml:"oidc,omitempty"`
	// Tokens let programs use the API, and people sign in at the page; "legwork token new" makes one. Default: none.
	Tokens []Token `yaml:"tokens,omitempty"`
}

// Access lists who may talk to the bot. Admins can allow more people in the chat.
type Access struct {
	// Telegram lists people and groups.
	Telegram TelegramAccess `yaml:"telegram,omitempty"`
	// Slack lists people, channels and workspaces.
	Slack SlackAccess `yaml:"slack,omitempty"`
	// Admins are people, as PLATFORM:ID: telegram:12345, slack:U1. Without any, serve prints a code for the first admin.
	Admins []string `yaml:"admins,omitempty"`
}

// TelegramAccess lists who may talk to the bot in Telegram.
type TelegramAccess struct {
	// Users are ids of people, such as 12345; "*" lets everyone in.
	Users IDs `yaml:"users,omitempty"`
	// Chats are ids of groups, such as -100987, whose members may talk to the bot there. "*" means every group.
	Chats IDs `yaml:"chats,omitempty"`
}

// SlackAccess lists who may talk to the bot in Slack.
type SlackAccess struct {
	// Users are member ids, such as U012AB3CD; "*" lets everyone in.
	Users IDs `yaml:"users,omitempty"`
	// Channels are channel ids, such as C012AB3CD, whose members may talk to the bot there. "*" means every channel.
	Channels IDs `yaml:"channels,omitempty"`
	// Teams are workspace ids, such as T012AB3CD, whose members may talk to the bot.
	Teams IDs `yaml:"teams,omitempty"`
	// External lets teams, channels and "*" also admit guests and people of other organisations in shared channels.
	External bool `yaml:"external,omitempty"`
}

// IDs are a platform's ids of people or chats. Numbers need no quotes in YAML.
type IDs []string

var (
	wholeNumber  = regexp.MustCompile(`^-?[0-9]+$`)
	telegramUser = regexp.MustCompile(`^[1-9][0-9]{0,15}$`)
	telegramChat = regexp.MustCompile(`^-[1-9][0-9]{0,15}$`)
	slackUser    = regexp.MustCompile(`^[UW][A-Z0-9]+$`)
	slackChannel = regexp.MustCompile(`^[CGD][A-Z0-9]+$`)
	slackTeam    = regexp.MustCompile(`^[TE][A-Z0-9]+$`)
	slackThread  = regexp.MustCompile(`^[0-9]+\.[0-9]+$`)
)

// Hints on how to find an id.
const (
	findTelegramUser  = "allowed: a person's number, such as 12345 (the bot @userinfobot tells people theirs), or \"*\" for everyone"
	findTelegramAdmin = "allowed: telegram:NUMBER, such as telegram:12345 (the bot @userinfobot tells people their number)"
	findSlackAdmin    = "allowed: slack:MEMBER, such as slack:U012AB3CD (in the menu of the person's profile: Copy member ID)"
	findTelegramChat  = "allowed: a group's number, such as -1001234567890 (in the address of the open group at web.telegram.org), or \"*\" for every group"
	findSlackUser     = "allowed: a member id, such as U012AB3CD (in the menu of the person's profile: Copy member ID), or \"*\" for everyone"
	findSlackChannel  = "allowed: a channel id, such as C012AB3CD (at the end of the channel's details), or \"*\" for every channel"
	findSlackTeam     = "allowed: a workspace id, such as T012AB3CD (in the address of the workspace at app.slack.com/client/)"
)

// ownPlatforms lists the mistakes in platforms, listeners and access.
func (c *Config) ownPlatforms(l *issues) {
	if c.Telegram != nil {
		l.Include("telegram.", c.Telegram.Validate())
	}
	if c.Slack != nil {
		l.Include("slack.", c.Slack.Validate())
	}
	c.HTTP.check(l)
	if c.HTTP.Listen == "" && c.HTTP.WebhookListen == "" {
		const nowhere = "%q needs an address for webhooks; set http.webhook_listen or http.listen"
		if c.Telegram != nil && c.Telegram.Mode == telegram.ModeWebhook {
			l.Add("telegram.mode", nowhere, telegram.ModeWebhook)
		}
		if c.Slack != nil && c.Slack.Mode == slack.ModeHTTP {
			l.Add("slack.mode", nowhere, slack.ModeHTTP)
		}
	}
	c.Access.check(l)
}

func (h HTTP) check(l *issues) {
	host, problem := listenProblem(h.Listen)
	switch {
	case problem != "":
		l.Add("http.listen", "%s", problem)
	case h.Listen != "" && !loopback.Host(host) && len(h.Tokens) == 0 && h.OIDC.Issuer == "":
		l.Add("http.listen", "would be open to other machines without any token; allowed: a local address such as %s, or tokens (\"legwork token new\"); webhooks can have an open address at webhook_listen", DefaultListen)
	case h.Listen == "" && len(h.Tokens) > 0:
		l.Add("http.tokens", "need http.listen; set an address such as %s, or remove the tokens", DefaultListen)
	}
	h.OIDC.check(l, h.Listen, h.PublicURL)
	l.ids("http.proxies", h.Proxies, proxyProblem)
	_, problem = listenProblem(h.WebhookListen)
	switch {
	case problem != "":
		l.Add("http.webhook_listen", "%s", problem)
	case h.WebhookListen != "" && h.WebhookListen == h.Listen:
		l.Add("http.webhook_listen", "is the same as listen; use another port, or leave it out")
	}
	if h.PublicURL == "" {
		return
	}
	u, err := url.Parse(h.PublicURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		l.Add("http.public_url", "is not a server's address; allowed: an address such as https://bot.example.com")
	}
}

// listenProblem returns the host of an address to listen at, or why it is not one.
// An empty address is allowed.
func listenProblem(address string) (host, problem string) {
	if address == "" {
		return "", ""
	}
	host, port, err := net.SplitHostPort(address)
	if n, isPort := strconv.Atoi(address); err != nil && isPort == nil && n > 0 && n <= 65535 {
		return "", fmt.Sprintf("is only a port; write 127.0.0.1:%d for this machine alone, or :%[1]d for all that reach it", n)
	}
	if err != nil {
		return "", fmt.Sprintf("%s is not an address to listen at; allowed: HOST:PORT, such as %s", shown(address), DefaultListen)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return "", fmt.Sprintf("%s is not a port; allowed: 1 to 65535, or 0 for a free one", shown(port))
	}
	return host, ""
}

// proxyProblem says why a text is neither an address nor a network.
func proxyProblem(proxy string) string {
	prefix, err := ParseProxy(proxy)
	switch {
	case err != nil:
		return fmt.Sprintf("%s is neither an address nor a network; allowed: for example 127.0.0.1 or 10.0.0.0/8", shown(proxy))
	case prefix.Bits() == 0:
		return fmt.Sprintf("%s would trust every caller; allowed: the addresses of your proxies, such as 127.0.0.1 or 10.0.0.0/8", shown(proxy))
	}
	return ""
}

// ParseProxy reads an entry of http.proxies.
func ParseProxy(proxy string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(proxy); err == nil {
		return netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(proxy)
	return prefix.Masked(), err
}

func (a Access) check(l *issues) {
	l.ids("access.telegram.users", a.Telegram.Users, telegramUserProblem)
	l.ids("access.telegram.chats", a.Telegram.Chats, telegramChatProblem)
	l.ids("access.slack.users", a.Slack.Users, slackProblem(slackUser, "member", findSlackUser))
	l.ids("access.slack.channels", a.Slack.Channels, slackProblem(slackChannel, "channel", findSlackChannel))
	l.ids("access.slack.teams", a.Slack.Teams, slackProblem(slackTeam, "workspace", findSlackTeam))
	l.ids("access.admins", a.Admins, AdminProblem)
}

func (l *issues) ids(path string, ids []string, problem func(string) string) {
	for i, id := range ids {
		l.Unless(path+"["+strconv.Itoa(i)+"]", problem(id))
	}
}

func telegramUserProblem(id string) string {
	switch {
	case id == "*" || telegramUser.MatchString(id):
		return ""
	case telegramChat.MatchString(id):
		return fmt.Sprintf("%s is the number of a group and belongs under chats; %s", id, findTelegramUser)
	case strings.HasPrefix(id, "@"):
		return fmt.Sprintf("%s is a name, and its owner can change it; %s", shown(id), findTelegramUser)
	}
	return fmt.Sprintf("%s is not the number of a person; %s", shown(id), findTelegramUser)
}

func telegramChatProblem(id string) string {
	switch {
	case id == "*" || telegramChat.MatchString(id):
		return ""
	case telegramUser.MatchString(id):
		return fmt.Sprintf("%s is the number of a person and belongs under users, or its minus sign is missing; %s", id, findTelegramChat)
	case strings.HasPrefix(id, "@"):
		return fmt.Sprintf("%s is a name, and its owner can change it; %s", shown(id), findTelegramChat)
	}
	return fmt.Sprintf("%s is not the number of a group; %s", shown(id), findTelegramChat)
}

// slackProblem returns a check of ids that Slack gives to one kind of things.
func slackProblem(fits *regexp.Regexp, kind, find string) func(id string) string {
	return func(id string) string {
		if fits.MatchString(id) || id == "*" && fits != slackTeam {
			return ""
		}
		return fmt.Sprintf("%s is not a %s id; %s", shown(id), kind, find)
	}
}

// AdminProblem says why a text is not the key of one person for access.admins, and
// what is allowed. It is empty when the text is one.
func AdminProblem(key string) string {
	const allowed = "allowed: telegram:NUMBER and slack:MEMBER, such as telegram:12345 or slack:U012AB3CD"
	platform, id, found := strings.Cut(key, ":")
	switch {
	case !found && telegramUser.MatchString(key):
		return fmt.Sprintf("%s has no platform; write telegram:%s", shown(key), key)
	case !found && slackUser.MatchString(key):
		return fmt.Sprintf("%s has no platform; write slack:%s", shown(key), key)
	case platform == "web":
		return fmt.Sprintf("%s is a person of the page, whose role comes from the sign-in; write role: admin for their token under http.tokens, or name a claim of theirs under http.oidc.roles.admin; %s", shown(key), allowed)
	case id == "*":
		return fmt.Sprintf("%s would make everyone an admin; %s", shown(key), allowed)
	case platform == "telegram" && telegramUser.MatchString(id), platform == "slack" && slackUser.MatchString(id):
		return ""
	case platform == "telegram":
		return fmt.Sprintf("%s does not name a person by number; %s", shown(key), findTelegramAdmin)
	case platform == "slack":
		return fmt.Sprintf("%s does not name a person by member id; %s", shown(key), findSlackAdmin)
	}
	return fmt.Sprintf("%s is not the key of a person; %s", shown(key), allowed)
}

// chatKeyProblem says why a text is not the key of a chat. It is empty when it is.
func chatKeyProblem(key string) string {
	const allowed = "allowed: telegram:NUMBER, telegram:NUMBER/TOPIC, slack:CHANNEL, slack:CHANNEL/THREAD, terminal:NAME, api:TOKEN"
	platform, id, _ := strings.Cut(key, ":")
	id, thread, threaded := strings.Cut(id, "/")
	fits := false
	switch platform {
	case "telegram":
		fits = (telegramUser.MatchString(id) || telegramChat.MatchString(id)) && (!threaded || telegramUser.MatchString(thread))
	case "slack":
		fits = slackChannel.MatchString(id) && (!threaded || slackThread.MatchString(thread))
	case "terminal":
		fits = id != ""
	case "api":
		fits = tokenName.MatchString(id) && !threaded
	case "web":
		return "conversations in the browser cannot be named here, since people begin them as they like; " + allowed
	default:
		if strings.Contains(key, ":") {
			return fmt.Sprintf("unknown platform %s%s; %s", shown(platform), nearest.Hint(platform, platforms()), allowed)
		}
	}
	if fits {
		return ""
	}
	return "is not the key of a chat; " + allowed
}

// allowProblem says why a text names neither a person nor a chat.
func allowProblem(who string) string {
	if who == "*" || chatKeyProblem(who) == "" {
		return ""
	}
	if platform, id, _ := strings.Cut(who, ":"); platform == "slack" && slackUser.MatchString(id) || (platform == "agent" || platform == "web") && tokenName.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s is neither a person nor a chat; allowed: \"*\", or PLATFORM:ID, such as telegram:12345, telegram:-1001234567890, slack:U012AB3CD or slack:C012AB3CD; for a token api:NAME, agent:NAME if its role is agent, or web:NAME for the person who signs in with it in the browser", shown(who))
}

// platforms are the platforms of chats.
func platforms() []string { return []string{"api", "slack", "telegram", "terminal"} }
