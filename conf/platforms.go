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
	"legwork/internal/nearest"
)

// Platforms are the chat services that the bot is on. A section that is absent
// means that the bot is not there.
type Platforms struct {
	// Telegram is the bot's account there.
	Telegram *telegram.Config `yaml:"telegram,omitempty"`
	// Slack is the app in one workspace.
	Slack *slack.Config `yaml:"slack,omitempty"`
	// HTTP says where legwork listens.
	HTTP HTTP `yaml:"http,omitempty"`
	// Access says who may talk to the bot: nobody by default.
	Access Access `yaml:"access,omitempty"`
}

// DefaultListen is where legwork listens unless the config says otherwise.
const DefaultListen = "127.0.0.1:8080"

// defaultRate is http.rate unless the config says otherwise.
const defaultRate = 100

// HTTP says where legwork listens.
type HTTP struct {
	// Listen is the address of the API, of health checks, and of webhooks unless webhook_listen is set: one of this machine's own, such as 127.0.0.1:8080; with tokens any. Empty: none.
	Listen string `yaml:"listen"`
	// WebhookListen is an address for the platforms' webhooks alone, so that only they are exposed; any address of the machine, such as :8443. Empty: they are at listen.
	WebhookListen string `yaml:"webhook_listen,omitempty"`
	// PublicURL is how others reach legwork, for links and callbacks. Empty: they do not.
	PublicURL string `yaml:"public_url,omitempty" jsonschema:"example=https://bot.example.com"`
	// Proxies are addresses of reverse proxies, or networks such as 10.0.0.0/8, whose X-Forwarded-For is believed: it tells who called. Default: none.
	Proxies []string `yaml:"proxies,omitempty"`
	// Rate is how many requests per second each token may make, over some seconds.
	Rate int `yaml:"rate,omitempty" jsonschema:"minimum=1,maximum=100000"`
	// Tokens let programs use the API; "legwork token new" makes one. None: nobody does.
	Tokens []Token `yaml:"tokens,omitempty"`
}

// Access says who may talk to the bot. What admins allow in the chat is added
// to it.
type Access struct {
	// Telegram lists people and chats there.
	Telegram TelegramAccess `yaml:"telegram,omitempty"`
	// Slack lists people, channels and workspaces there.
	Slack SlackAccess `yaml:"slack,omitempty"`
	// Admins are people with their platform before them: telegram:12345, slack:U1. With none, serve prints a code that makes the first one.
	Admins []string `yaml:"admins,omitempty"`
}

// TelegramAccess says who may talk to the bot in Telegram.
type TelegramAccess struct {
	// Users are ids of people, such as 12345; "*" lets everyone in.
	Users IDs `yaml:"users,omitempty"`
	// Chats are ids of groups, such as -100987: whoever is in them may talk to the bot there. "*" means every group.
	Chats IDs `yaml:"chats,omitempty"`
}

// SlackAccess says who may talk to the bot in Slack.
type SlackAccess struct {
	// Users are member ids, such as U012AB3CD; "*" lets everyone in.
	Users IDs `yaml:"users,omitempty"`
	// Channels are channel ids, such as C012AB3CD: whoever is in them may talk to the bot there. "*" means every channel.
	Channels IDs `yaml:"channels,omitempty"`
	// Teams are workspace ids, such as T012AB3CD, whose members may talk to the bot.
	Teams IDs `yaml:"teams,omitempty"`
	// External lets in guests and people of other organisations in shared channels, where teams, channels or "*" would let in members.
	External bool `yaml:"external,omitempty"`
}

// IDs are a platform's ids of people or chats. In YAML, those that are numbers
// need no quotes.
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

// How people find out an id.
const (
	findTelegramUser  = "allowed: a person's number, such as 12345 (the bot @userinfobot tells people theirs), or \"*\" for everyone"
	findTelegramAdmin = "allowed: telegram:NUMBER, such as telegram:12345 (the bot @userinfobot tells people their number)"
	findSlackAdmin    = "allowed: slack:MEMBER, such as slack:U012AB3CD (in the menu of the person's profile: Copy member ID)"
	findTelegramChat  = "allowed: a group's number, such as -1001234567890 (in web.telegram.org it stands in the address of the open group), or \"*\" for every group"
	findSlackUser     = "allowed: a member id, such as U012AB3CD (in the menu of the person's profile: Copy member ID), or \"*\" for everyone"
	findSlackChannel  = "allowed: a channel id, such as C012AB3CD (at the end of the channel's details), or \"*\" for every channel"
	findSlackTeam     = "allowed: a workspace id, such as T012AB3CD (in the address of the workspace at app.slack.com/client/)"
)

// ownPlatforms lists the mistakes in platforms, listeners and access.
func (c *Config) ownPlatforms(l *issues) {
	if c.Telegram != nil {
		for _, i := range c.Telegram.Validate() {
			l.add("telegram."+i.Path, "%s", i.Problem)
		}
	}
	if c.Slack != nil {
		for _, i := range c.Slack.Validate() {
			l.add("slack."+i.Path, "%s", i.Problem)
		}
	}
	c.HTTP.check(l)
	if c.HTTP.Listen == "" && c.HTTP.WebhookListen == "" {
		const nowhere = "%q needs an address where deliveries arrive; set http.webhook_listen or http.listen"
		if c.Telegram != nil && c.Telegram.Mode == telegram.ModeWebhook {
			l.add("telegram.mode", nowhere, telegram.ModeWebhook)
		}
		if c.Slack != nil && c.Slack.Mode == slack.ModeHTTP {
			l.add("slack.mode", nowhere, slack.ModeHTTP)
		}
	}
	c.Access.check(l)
}

func (h HTTP) check(l *issues) {
	host, problem := listenProblem(h.Listen)
	switch {
	case problem != "":
		l.add("http.listen", "%s", problem)
	case h.Listen != "" && !loopback(host) && len(h.Tokens) == 0:
		l.add("http.listen", "would be open to other machines without any token; allowed: an address of this machine alone, such as %s, or tokens (\"legwork token new\"); webhooks can have an open one at webhook_listen", DefaultListen)
	case h.Listen == "" && len(h.Tokens) > 0:
		l.add("http.tokens", "are of no use without http.listen; allowed: an address there, such as %s, or no tokens", DefaultListen)
	}
	l.upTo("http.rate", h.Rate, 100_000)
	l.ids("http.proxies", h.Proxies, proxyProblem)
	_, problem = listenProblem(h.WebhookListen)
	switch {
	case problem != "":
		l.add("http.webhook_listen", "%s", problem)
	case h.WebhookListen != "" && h.WebhookListen == h.Listen:
		l.add("http.webhook_listen", "is the same as listen; allowed: another port, or nothing")
	}
	if h.PublicURL == "" {
		return
	}
	u, err := url.Parse(h.PublicURL)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "http" && u.Scheme != "https" {
		l.add("http.public_url", "is not the address of a server; allowed: one such as https://bot.example.com")
	}
}

// listenProblem takes the host out of an address to listen at, or says why it
// is none. Nothing is an address, too.
func listenProblem(address string) (host, problem string) {
	if address == "" {
		return "", ""
	}
	host, port, err := net.SplitHostPort(address)
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
		return fmt.Sprintf("%s is neither an address nor a network; allowed: such as 127.0.0.1 or 10.0.0.0/8", shown(proxy))
	case prefix.Bits() == 0:
		return fmt.Sprintf("%s would believe everybody; allowed: the proxies alone, such as 127.0.0.1 or 10.0.0.0/8", shown(proxy))
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

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func (a Access) check(l *issues) {
	l.ids("access.telegram.users", a.Telegram.Users, telegramUserProblem)
	l.ids("access.telegram.chats", a.Telegram.Chats, telegramChatProblem)
	l.ids("access.slack.users", a.Slack.Users, slackUserProblem)
	l.ids("access.slack.channels", a.Slack.Channels, slackChannelProblem)
	l.ids("access.slack.teams", a.Slack.Teams, slackTeamProblem)
	l.ids("access.admins", a.Admins, AdminProblem)
}

func (l *issues) ids(path string, ids []string, problem func(string) string) {
	for i, id := range ids {
		if p := problem(id); p != "" {
			l.add(path+"["+strconv.Itoa(i)+"]", "%s", p)
		}
	}
}

func telegramUserProblem(id string) string {
	switch {
	case id == "*" || telegramUser.MatchString(id):
		return ""
	case telegramChat.MatchString(id):
		return fmt.Sprintf("%s is the number of a group, which belongs to chats; %s", id, findTelegramUser)
	case strings.HasPrefix(id, "@"):
		return fmt.Sprintf("%s is a name, which its owner can change; %s", shown(id), findTelegramUser)
	}
	return fmt.Sprintf("%s is not the number of a person; %s", shown(id), findTelegramUser)
}

func telegramChatProblem(id string) string {
	switch {
	case id == "*" || telegramChat.MatchString(id):
		return ""
	case telegramUser.MatchString(id):
		return fmt.Sprintf("%s is the number of a person, which belongs to users, or lacks its minus sign; %s", id, findTelegramChat)
	case strings.HasPrefix(id, "@"):
		return fmt.Sprintf("%s is a name, which its owner can change; %s", shown(id), findTelegramChat)
	}
	return fmt.Sprintf("%s is not the number of a group; %s", shown(id), findTelegramChat)
}

func slackUserProblem(id string) string {
	if id == "*" || slackUser.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s is not a member id; %s", shown(id), findSlackUser)
}

func slackChannelProblem(id string) string {
	if id == "*" || slackChannel.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s is not a channel id; %s", shown(id), findSlackChannel)
}

func slackTeamProblem(id string) string {
	if slackTeam.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s is not a workspace id; %s", shown(id), findSlackTeam)
}

// AdminProblem says why a text is not the key of one person, as access.admins
// takes it, and what is allowed; empty when it is one.
func AdminProblem(key string) string {
	const allowed = "allowed: telegram:NUMBER and slack:MEMBER, such as telegram:12345 or slack:U012AB3CD"
	platform, id, found := strings.Cut(key, ":")
	switch {
	case !found && telegramUser.MatchString(key):
		return fmt.Sprintf("%s lacks its platform; write telegram:%s", shown(key), key)
	case !found && slackUser.MatchString(key):
		return fmt.Sprintf("%s lacks its platform; write slack:%s", shown(key), key)
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

// chatKeyProblem says why a text is not the key of a chat.
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
		return "this version does not have the platform web yet; " + allowed
	default:
		if near := nearest.Of(platform, platforms()); strings.Contains(key, ":") {
			return fmt.Sprintf("unknown platform %s, the nearest known one is %s; %s", shown(platform), near, allowed)
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
	if platform, id, _ := strings.Cut(who, ":"); platform == "slack" && slackUser.MatchString(id) || platform == "agent" && tokenName.MatchString(id) {
		return ""
	}
	return fmt.Sprintf("%s is neither a person nor a chat; allowed: \"*\", and PLATFORM:ID of one, such as telegram:12345, telegram:-1001234567890, slack:U012AB3CD or slack:C012AB3CD; of tokens api:NAME, agent:NAME for those of role agent", shown(who))
}

// platforms are those that a chat can be on.
func platforms() []string { return []string{"api", "slack", "telegram", "terminal"} }
