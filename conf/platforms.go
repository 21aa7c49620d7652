package conf

import (
	"legwork/bot/slack"
	"legwork/bot/telegram"
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
