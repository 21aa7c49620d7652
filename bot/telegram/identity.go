package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"legwork/internal/retry"
)

var errConnecting = errors.New("connecting to Telegram")

// connection is how the connection stands. It is safe for concurrent use.
type connection struct {
	known chan struct{} // closed when me is set

	mu       sync.Mutex
	me       user
	identity error // why me is not set
	receiver error // why no messages arrive
}

func newConnection() *connection {
	return &connection{known: make(chan struct{}), identity: errConnecting, receiver: errConnecting}
}

func (c *connection) ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.identity != nil {
		return c.identity
	}
	return c.receiver
}

// setReceiver notes whether messages arrive, and reports whether that changed.
func (c *connection) setReceiver(problem error) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = (problem == nil) != (c.receiver == nil) || problem != nil && problem.Error() != c.receiver.Error()
	c.receiver = problem
	return changed
}

// setUnknown notes why the bot's name is not known.
func (c *connection) setUnknown(problem error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = problem
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
	logged := ""
	if !t.retry(ctx, "getMe", nil, &me, func(err error) (again bool) {
		problem := explain(err)
		t.connection.setUnknown(problem)
		if text := problem.Error(); text != logged {
			logged = text
			t.log.WarnContext(ctx, "telegram: bot unknown", "cause", problem)
		}
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
	t.retry(ctx, "setMyCommands", p, nil, func(err error) (again bool) {
		t.log.WarnContext(ctx, "telegram: commands not registered", "language", language, "cause", err)
		refused, ok := asRefusal(err)
		return !ok || refused.code != http.StatusBadRequest
	})
}

// How long legwork waits between calls that fail.
const (
	maxRetryPause   = 25 * time.Second // a random part comes on top
	badTokenPause   = time.Minute
	minConflictWait = 5 * time.Second // after another program polled
)

// newPauses returns the pauses between tries.
func newPauses() *retry.Pauses { return retry.New(250*time.Millisecond, maxRetryPause, 0.2) }

// pauseAfter is how long to wait after an error.
func pauseAfter(err error, pauses *retry.Pauses) time.Duration {
	after := pauses.Next()
	refused, ok := asRefusal(err)
	switch {
	case !ok:
	case refused.badToken():
		after = badTokenPause
	case refused.rateLimited():
		after = max(after, refused.after)
	case isConflict(err):
		after = max(after, minConflictWait)
	}
	return after
}

// isConflict reports whether another program polls too.
func isConflict(err error) bool {
	refused, ok := asRefusal(err)
	return ok && refused.code == http.StatusConflict
}

// retry calls a method until it succeeds, or until failed, which gets each
// error, returns false. It returns false then, and when ctx ended before.
func (t *Telegram) retry(ctx context.Context, method string, p tgbotapi.Params, result any, failed func(error) (again bool)) bool {
	for pauses := newPauses(); ; {
		err := t.api.call(ctx, callTimeout, method, p, result)
		if err == nil || ctx.Err() != nil {
			return ctx.Err() == nil
		}
		if !failed(err) || retry.Sleep(ctx, pauseAfter(err, pauses)) != nil {
			return false
		}
	}
}
