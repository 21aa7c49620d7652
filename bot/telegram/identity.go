package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

var errConnecting = errors.New("connecting to Telegram")

// connection is how the connection stands. It logs changes. It is safe for concurrent
// use.
type connection struct {
	log   *slog.Logger
	known chan struct{} // closed when me is set

	mu       sync.Mutex
	me       user
	identity error // why me is not set
	receiver error // why no messages arrive
}

func newConnection(log *slog.Logger) *connection {
	return &connection{log: log, known: make(chan struct{}), identity: errConnecting, receiver: errConnecting}
}

func (c *connection) ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity != nil {
		return c.identity
	}
	return c.receiver
}

// setReceiver notes whether messages arrive.
func (c *connection) setReceiver(ctx context.Context, problem error) {
	switch {
	case !c.change(&c.receiver, problem):
	case problem != nil:
		c.log.WarnContext(ctx, "telegram: no messages arrive", "cause", problem)
	default:
		c.log.InfoContext(ctx, "telegram: messages arrive")
	}
}

// receiverFailed is what retry does with errors that keep messages away.
func (c *connection) receiverFailed(ctx context.Context) func(error) bool {
	return func(err error) (again bool) {
		c.setReceiver(ctx, explain(err))
		return true
	}
}

// setUnknown notes why the bot's name is not known.
func (c *connection) setUnknown(ctx context.Context, problem error) {
	if c.change(&c.identity, problem) {
		c.log.WarnContext(ctx, "telegram: bot unknown", "cause", problem)
	}
}

// change sets one of the connection's problems, and reports whether that is news.
func (c *connection) change(old *error, problem error) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	news = (problem == nil) != (*old == nil) || problem != nil && problem.Error() != (*old).Error()
	*old = problem
	return news
}

// setKnown notes who the bot is. It is called once.
func (c *connection) setKnown(me user) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me, c.identity = me, nil
	close(c.known)
}

// self waits until the bot knows who it is.
func (c *connection) self(ctx context.Context) (user, error) {
	select {
	case <-c.known:
	case <-ctx.Done():
		return user{}, ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.me, nil
}

// identify asks who the bot is until Telegram answers, and then registers the
// commands. Polling runs beside it.
func (t *Telegram) identify(ctx context.Context) {
	var me user
	if !t.api.retry(ctx, "getMe", nil, &me, func(err error) (again bool) {
		t.connection.setUnknown(ctx, explain(err))
		return true
	}) {
		return
	}
	t.connection.setKnown(me)
	t.log.InfoContext(ctx, "telegram: connected", "bot", me.Username)
	if t.cfg.Overhear && !me.ReadsAll {
		t.log.WarnContext(ctx, "telegram: privacy mode hides messages of groups from telegram.overhear; turn it off by /setprivacy at @BotFather, then add the bot to each group again")
	}
	commands := t.commands()
	for _, language := range slices.Sorted(maps.Keys(commands)) {
		t.register(ctx, language, commands[language])
	}
	if _, given := commands[""]; !given {
		t.register(ctx, "", commands["en"])
	}
}

// knows reports whether a command, without its slash, is one of the bot's. Where
// Options name none, all are.
func (t *Telegram) knows(command string) bool {
	commands := t.commands()
	for _, menu := range commands {
		if slices.ContainsFunc(menu, func(c Command) bool { return strings.EqualFold(c.Name, command) }) {
			return true
		}
	}
	return len(commands) == 0
}

// register sets the command menu of a language. A menu that Telegram refuses is
// logged and left out: everything else works without it.
func (t *Telegram) register(ctx context.Context, language string, commands []Command) {
	if len(commands) == 0 {
		return
	}
	type entry struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	list := make([]entry, 0, len(commands))
	for _, c := range commands {
		list = append(list, entry{strings.ToLower(c.Name), cut(cmp.Or(c.Description, c.Name), 256)})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return // of texts only
	}
	p := tgbotapi.Params{"commands": string(data)}
	base, _, _ := strings.Cut(language, "-") // Telegram knows languages, no regions
	p.AddNonEmpty("language_code", base)
	t.api.retry(ctx, "setMyCommands", p, nil, func(err error) (again bool) {
		t.log.WarnContext(ctx, "telegram: commands not registered", "language", language, "cause", err)
		refused, ok := asRefusal(err)
		return !ok || refused.code != http.StatusBadRequest
	})
}
