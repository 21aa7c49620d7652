// Package telegram is the chat platform of Telegram: it receives by long
// polling or a webhook, shows boards by edits, streams text as drafts in
// private chats, and keeps the token out of every error.
package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/telemetry"
)

// textLimit is what one message holds, in UTF-16 code units after entities
// are parsed.
const textLimit = 4096

// groupMessages is how many messages a minute a bot may send to a group
// (core.telegram.org/bots/faq, "My bot is hitting limits").
const groupMessages = 20

// Command is an entry of the menu that Telegram's apps show for "/".
type Command struct {
	Name        string // without the slash: 1 to 32 of a-z, 0-9 and _
	Description string // 1 to 256 characters
}

// Options connect a Telegram to the rest of the program.
type Options struct {
	RateLimiter bot.RateLimiter  // required; Account of its requests is the bot's id
	Log         *slog.Logger     // nil: none
	Now         func() time.Time // nil: time.Now
	// Commands returns the commands to register, by language ("en"). It is called
	// once, after the first poll has begun. Commands under "" are for all other
	// languages; without them, the English ones are. In groups the bot ignores
	// other commands that do not name it; without Commands, it ignores none.
	Commands func() map[string][]Command
	Metrics  *telemetry.Metrics // count calls of the Bot API; may be nil

	transport http.RoundTripper // of tests; nil: the usual one
}

// Telegram is a bot.Platform, and a bot.Streamer, Splitter, Filer, Fetcher, Answerer
// and Director.
type Telegram struct {
	cfg      Config
	log      *slog.Logger
	commands func() map[string][]Command
	api      *client
	caller   *caller // of api, about chats
	account  string  // the bot's id

	connection *connection
	chats      *chats
	receiver   *receiver
	streams    *streams
	uploads    bot.Uploads
	signs      *signs
}

// New makes a Telegram. It does nothing until Run. It refuses an invalid
// config.
func New(cfg Config, o Options) (*Telegram, error) {
	if err := cfg.Validate().Err("telegram."); err != nil {
		return nil, err
	}
	if o.RateLimiter == nil {
		return nil, errors.New("making telegram: RateLimiter is missing")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Commands == nil {
		o.Commands = func() map[string][]Command { return nil }
	}
	cfg = cfg.WithDefaults()
	account, _, _ := strings.Cut(cfg.Token, ":")
	api, chats := newClient(cfg, o.transport), newChats(o.Now)
	api.metrics = o.Metrics
	caller := &caller{limiter: o.RateLimiter, account: account, chats: chats}
	t := &Telegram{
		cfg: cfg, log: o.Log, commands: sync.OnceValue(o.Commands), account: account, api: api, caller: caller,
		connection: newConnection(o.Log), chats: chats, signs: newSigns(api, caller, chats, o.Now, o.Log),
	}
	t.streams = newStreams(t.sendDraft)
	t.receiver = &receiver{
		cfg: cfg, api: api, account: account, connection: t.connection, chats: chats, overheard: newOverheard(), albums: newAlbums(), knows: t.knows, now: o.Now, log: o.Log,
	}
	return t, nil
}

// Name implements bot.Platform.
func (t *Telegram) Name() string { return Name }

// String names the bot and nothing secret.
func (t *Telegram) String() string { return Name + ":" + t.account }

// GoString is String, so that no way of printing shows the token.
func (t *Telegram) GoString() string { return t.String() }

// Limits implements bot.Platform. The least gap between frames is that of
// drafts; the rate limiter keeps the longer ones.
func (t *Telegram) Limits() bot.Limits {
	return bot.Limits{Text: textLimit, Edits: true, EditGap: time.Second, Toasts: true, CanReply: true, GroupMessages: groupMessages}
}

// Ready is nil while the bot is known and its messages arrive; otherwise the
// error says what is wrong and what to do.
func (t *Telegram) Ready() error { return t.connection.ready() }

// Handler takes Telegram's deliveries in mode webhook: 401 without the secret,
// 503 when a message was not stored and has to come again, 200 otherwise.
func (t *Telegram) Handler() http.Handler { return http.HandlerFunc(t.receiver.serveDelivery) }

// Run implements bot.Platform. It can be called once, and returns nil after ctx
// ended and all it started is over. It tries again
// what Telegram refuses, with longer and longer pauses; Ready returns the cause.
func (t *Telegram) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { t.identify(ctx) })
	all.Go(func() { t.streams.run(ctx) })
	all.Go(func() { t.signs.run(ctx) })
	t.receiver.run(ctx, handle)
	cancel()
	all.Wait()
	t.api.close()
	return nil
}

// Direct implements bot.Director: the private chat with a person has their id.
// Only posting a message shows whether they ever wrote to the bot.
func (t *Telegram) Direct(_ context.Context, person string) (bot.Chat, error) {
	if !positive(person) {
		return bot.Chat{}, fmt.Errorf("opening a private chat with %q, not the id of a person: %w", person, bot.ErrGone)
	}
	return bot.Chat{Platform: Name, ID: person, Private: true}, nil
}

// positive reports whether an id is that of a person or a message: ids of groups
// are negative.
func positive(id string) bool {
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && n > 0
}

// Try says in one call whom the token belongs to: "@name (Name)".
func Try(ctx context.Context, cfg Config) (who string, err error) {
	if err := cfg.Validate().Err("telegram."); err != nil {
		return "", err
	}
	api := newClient(cfg.WithDefaults(), nil)
	defer api.close()
	var me user
	if err := api.call(ctx, callTimeout, "getMe", nil, &me); err != nil {
		return "", explain(err)
	}
	return fmt.Sprintf("@%s (%s)", me.Username, strings.TrimSpace(me.FirstName+" "+me.LastName)), nil
}
