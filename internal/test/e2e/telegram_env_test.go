package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"legwork/internal/test/fakes/telegramfake"
)

// Words that must not be seen anywhere.
const (
	telegramToken  = "1000:AAF-secret-token-of-the-telegram-bot-e2e"
	telegramSecret = "webhook-secret-e2e"
)

// telegramEnv is an environment in which people talk to legwork serve in a fake Telegram. Ann
// is an admin and Bob is listed by the config, unless it says otherwise.
type telegramEnv struct {
	*env
	*telegramfake.Server
	ann, bob, eve telegramfake.User
	chats         []int64 // drawn when the test has failed
}

// telegramOptions says what is special about a test.
type telegramOptions struct {
	options
	fake     telegramfake.Options
	access   string // the config's; empty: Ann and Bob
	telegram string // further keys of telegram, each after a comma
	http     string // further keys of http, each after a comma
	haste    int    // how many times faster Telegram's time goes; 0: as usual
}

func newTelegramEnv(t *testing.T, s telegramOptions) *telegramEnv {
	t.Helper()
	s.fake.Token, s.fake.NeedSecret = telegramToken, true
	if s.haste > 0 {
		s.fake.Second = time.Second / time.Duration(s.haste)
	}
	fake := telegramfake.New(t, s.fake)
	if s.access == "" {
		s.access = `{telegram: {users: ["2"]}, admins: ["telegram:1"]}`
	}
	s.more += fmt.Sprintf("telegram: {token: %q, api_url: %q%s}\naccess: %s\nhttp: {listen: \"127.0.0.1:0\"%s}\nlog: {level: debug}\n",
		telegramToken, fake.URL, s.telegram, s.access, s.http)
	b := &telegramEnv{env: newEnv(t, s.options), Server: fake}
	b.haste = s.haste
	b.ann, b.bob, b.eve = fake.User(1, "Ann", "en"), fake.User(2, "Bob", "en"), fake.User(3, "Eve", "en")
	b.chats = []int64{b.Private(b.ann), b.Private(b.bob), b.Private(b.eve)}
	t.Cleanup(func() {
		b.keptSecret()
		if t.Failed() {
			b.draw()
		}
	})
	return b
}

// keptSecret checks that no one in Telegram could read a secret.
func (b *telegramEnv) keptSecret() {
	for _, e := range b.Log() {
		for name, value := range e.Params {
			for _, secret := range []string{telegramToken, telegramSecret, "sk-secret-e2e"} {
				if name != "secret_token" && strings.Contains(value, secret) {
					b.t.Errorf("a secret went out in %s of %s: %.300q", name, e.Method, value)
				}
			}
		}
	}
}

// draw logs what was seen in all chats.
func (b *telegramEnv) draw() {
	for _, id := range b.chats {
		var text strings.Builder
		for line := range strings.Lines(b.Frames(id)) {
			fmt.Fprintf(&text, "%.200s\n", strings.TrimSuffix(line, "\n"))
		}
		if text.Len() > 0 {
			b.t.Logf("chat %d:\n%.12000s", id, text.String())
		}
	}
}

// opens starts legwork and waits until it receives.
func (b *telegramEnv) opens() *serving {
	b.t.Helper()
	s := b.serve(telegramToken, telegramSecret)
	s.readyAgain(patience)
	return s
}

// group is a chat of several people.
func (b *telegramEnv) group(id int64) int64 {
	b.chats = append(b.chats, id)
	return id
}

// until waits until something is to be seen.
func (b *telegramEnv) until(what string, holds func(v telegramfake.View) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if err := b.WaitFor(ctx, holds); err != nil {
		b.t.Fatalf("%s: not seen in %v", what, patience)
	}
}

// sees waits until a message of the bot holds all words, and returns the first
// that does.
func (b *telegramEnv) sees(chat int64, words ...string) telegramfake.Message {
	b.t.Helper()
	return b.meets(chat, fmt.Sprintf("a message with %q", words), func(m telegramfake.Message) bool { return holdsAll(m.Text, words) })
}

// meets waits until a message of the bot fits, and returns the first that does.
func (b *telegramEnv) meets(chat int64, what string, fits func(telegramfake.Message) bool) (found telegramfake.Message) {
	b.t.Helper()
	b.until(what, func(v telegramfake.View) bool {
		bots := v.Chat(chat).Bots()
		i := slices.IndexFunc(bots, fits)
		if i >= 0 {
			found = bots[i]
		}
		return i >= 0
	})
	return found
}

// offers waits until a message of the bot that holds all words has a button.
func (b *telegramEnv) offers(chat int64, button string, words ...string) telegramfake.Message {
	b.t.Helper()
	return b.meets(chat, fmt.Sprintf("a message with %q and the button %s", words, button), func(m telegramfake.Message) bool {
		return holdsAll(m.Text, words) && m.Button(button) != ""
	})
}

func holdsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// taps presses a button and waits until it no longer waits.
func (b *telegramEnv) taps(u telegramfake.User, chat int64, message int, button string) telegramfake.Press {
	b.t.Helper()
	return b.answered(b.Press(chat, message, button, u))
}

func (b *telegramEnv) answered(id string) (p telegramfake.Press) {
	b.t.Helper()
	b.until("the end of a press", func(v telegramfake.View) bool { p = v.Pressed(id); return p.Answered })
	return p
}

// once checks that exactly one message of the bot in a chat holds all words,
// and waits for the first.
func (b *telegramEnv) once(chat int64, words ...string) telegramfake.Message {
	b.t.Helper()
	m := b.sees(chat, words...)
	if n := b.count(chat, words...); n != 1 {
		b.t.Errorf("%d messages hold %q, want one", n, words)
	}
	return m
}

// count is how many messages of the bot in a chat hold all words.
func (b *telegramEnv) count(chat int64, words ...string) int {
	n := 0
	for _, m := range b.Chat(chat).Bots() {
		if holdsAll(m.Text, words) {
			n++
		}
	}
	return n
}

// silent checks that the bot has written nothing in a chat, after somebody else
// was answered twice whose messages came later.
func (b *telegramEnv) silent(chat int64) {
	b.t.Helper()
	b.passes()
	if bots := b.Chat(chat).Bots(); len(bots) > 0 {
		b.t.Errorf("the bot wrote %d messages in chat %d, the first is %q; want silence", len(bots), chat, bots[0].Text)
	}
}

// passes waits until everything that was sent so far has been taken: Ann asks
// for her status, which is answered after all that came before.
func (b *telegramEnv) passes() {
	b.t.Helper()
	for range 2 {
		before := len(b.Chat(b.ann.ID).Bots())
		b.Say(b.ann.ID, b.ann, "/status")
		b.until("the status", func(v telegramfake.View) bool { return len(v.Chat(b.ann.ID).Bots()) > before && v.Pending() == 0 })
	}
}

// goesOn checks that a person in a private chat still gets an answer, once.
func (b *telegramEnv) goesOn(u telegramfake.User) {
	b.t.Helper()
	goal := fmt.Sprintf("later%d: say hello", len(b.Chat(u.ID).Messages))
	b.Say(u.ID, u, goal)
	b.once(u.ID, "answers: "+goal)
}

// says is a text of the bot in English, as it is seen in a chat.
func (b *telegramEnv) says(key string, data map[string]any) string {
	return plain(b.texts.Text("en", key, data))
}

// plain is a text as it is seen in a chat: without the marks of Markdown.
func plain(text string) string { return strings.NewReplacer("`", "", "**", "").Replace(text) }

func chatID(id int64) string { return strconv.FormatInt(id, 10) }
