package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
)

// identify asks who the bot is, until it is told, and then registers the
// commands. Polling goes on beside it.
func (t *Telegram) identify(ctx context.Context) {
	pause := newPause()
	for {
		var me user
		err := t.api.call(ctx, callTimeout, "getMe", nil, &me)
		if err == nil {
			t.state.is(me)
			t.log.InfoContext(ctx, "telegram: connected", "bot", me.Username)
			break
		}
		if ctx.Err() != nil {
			return
		}
		problem := explain(err)
		t.state.unknown(problem)
		t.log.WarnContext(ctx, "telegram: the bot is not known yet", "cause", problem)
		after, _ := pauseAfter(err, pause)
		if !sleep(ctx, after) {
			return
		}
	}
	commands := t.commands()
	for _, language := range slices.Sorted(maps.Keys(commands)) {
		t.register(ctx, language, commands[language])
	}
	if _, given := commands[""]; !given {
		t.register(ctx, "", commands["en"])
	}
}

// knows reports that a command, without its slash, is one of the bot's. Where
// none were given, all are.
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
	params := tgbotapi.Params{"commands": string(data)}
	base, _, _ := strings.Cut(language, "-") // Telegram knows languages, no regions
	params.AddNonEmpty("language_code", base)
	pause := newPause()
	for {
		err := t.api.call(ctx, callTimeout, "setMyCommands", params, nil)
		if err == nil || ctx.Err() != nil {
			return
		}
		t.log.WarnContext(ctx, "telegram: the commands are not registered", "language", language, "cause", err)
		if r, ok := refused(err); ok && r.code == http.StatusBadRequest {
			return
		}
		after, _ := pauseAfter(err, pause)
		if !sleep(ctx, after) {
			return
		}
	}
}
