package telegram

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"legwork/bot"
)

// Name is the platform of the chats and persons made here.
const Name = "telegram"

// generalTopic is the topic of a forum that messages without a topic are in.
const generalTopic = 1

// reader turns updates into messages. It is a value: its fields do not change.
type reader struct {
	account string // the bot's id, as the token begins with it
	me      user
	albums  *albums
	knows   func(command string) bool // that it is one of the bot's, without the slash
	now     func() time.Time
}

// read returns the message that an update brings. ok is false when it brings
// none: the bot is not addressed, or a person said nothing.
func (r reader) read(u update) (m bot.Message, ok bool) {
	switch {
	case u.Callback != nil:
		m, ok = r.readPress(*u.Callback)
	case u.Message != nil:
		m, ok = r.readText(*u.Message)
	case u.Edited != nil:
		m, ok = r.readText(*u.Edited)
		ok = ok && m.Kind == bot.MessageText && m.Text != ""
		m.Kind, m.At = bot.MessageEdit, when(cmp.Or(u.Edited.EditDate, u.Edited.Date))
	}
	m.Key = Name + ":" + r.account + ":update:" + strconv.FormatInt(u.ID, 10)
	return m, ok
}

// readPress reads the press of a button.
func (r reader) readPress(c callback) (bot.Message, bool) {
	if c.Message == nil || c.Data == "" || c.Message.Chat.ID == 0 {
		return bot.Message{}, false
	}
	return bot.Message{
		Chat: place(*c.Message), From: person(c.From), ID: number(c.Message.ID),
		Kind: bot.MessagePress, Data: c.Data, Token: c.ID, Language: c.From.Language, At: r.now(),
	}, true
}

// readText reads what a person wrote.
func (r reader) readText(m message) (bot.Message, bool) {
	if m.MigrateTo != 0 {
		to := bot.Chat{Platform: Name, ID: number(m.MigrateTo)}
		return bot.Message{Chat: bot.Chat{Platform: Name, ID: number(m.Chat.ID)}, Kind: bot.MessageMove, MovedTo: to, At: when(m.Date)}, true
	}
	from, language, ok := author(m)
	if !ok || m.Chat.ID == 0 || m.Chat.Type == "channel" {
		return bot.Message{}, false
	}
	out := bot.Message{Chat: place(m), From: from, ID: number(m.ID), At: when(m.Date), Language: language}
	replied := repliedTo(m)
	if replied != nil {
		out.ReplyTo = number(replied.ID)
	}
	text, mentioned := readable(m.Text+m.Caption, append(m.Entities, m.CaptionEntities...), r.me)
	text, to := r.command(text)
	if !out.Chat.Private && (m.forwarded() || to == forOtherBot || to == notACommand && !mentioned && !r.isOwn(replied) && !r.albums.of(m).heard) {
		return bot.Message{}, false
	}
	out.Earlier = r.pointedAt(m, replied)
	out.Files = r.sentFiles(m)
	out.Media, out.MediaName = m.name(), m.fileName()
	switch {
	case len(out.Files) > 0:
		out.Media, out.MediaName = "", ""
	case m.Album != "":
		out.Media, out.MediaName = "album", ""
	}
	if out.Media == "" && m.OfStory != nil {
		out.Media = "story"
	}
	out.Facts = m.facts(out.Media)
	if text == "" && out.Media == "" && len(out.Files) == 0 && !mentioned {
		return bot.Message{}, false // somebody joined, a message was pinned
	}
	if m.forwarded() { // words of somebody else are never an order
		text, out.Facts = "", bot.Facts{}
	}
	out.Text, out.Full = text, units(m.Text) > textLimit-textLimit/16
	return out, true
}

// author is the author of a message: a person, or the chat in whose name
// somebody writes (an anonymous admin, a channel). Messages of bots and posts of
// channels have none.
func author(m message) (p bot.Person, language string, ok bool) {
	switch {
	case m.Linked || m.From == nil && m.SenderChat == nil:
		return bot.Person{}, "", false
	case m.SenderChat != nil:
		return bot.Person{Platform: Name, ID: number(m.SenderChat.ID), Name: m.SenderChat.Title}, "", true
	case m.From.IsBot:
		return bot.Person{}, "", false
	}
	return person(*m.From), m.From.Language, true
}

func person(u user) bot.Person {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	return bot.Person{Platform: Name, ID: number(u.ID), Name: cmp.Or(name, u.Username)}
}

// place is the conversation that a message is in.
func place(m message) bot.Chat {
	c := bot.Chat{Platform: Name, ID: number(m.Chat.ID), Private: m.Chat.Type == "private"}
	if m.InTopic && m.Thread > generalTopic {
		c.Thread = number(m.Thread)
	}
	return c
}

// repliedTo is the message that m replies to. A reply to the message that opened
// the topic does not count: in a topic every message has it.
func repliedTo(m message) *message {
	if m.ReplyTo == nil || m.InTopic && m.ReplyTo.ID == m.Thread {
		return nil
	}
	return m.ReplyTo
}

// isOwn reports whether a message, which may be nil, is the bot's own.
func (r reader) isOwn(m *message) bool { return m != nil && m.From != nil && m.From.ID == r.me.ID }

// commandTarget is the bot that a command is for.
type commandTarget uint8

const (
	notACommand commandTarget = iota // not a command, or an unknown one
	forUs                            // it names the bot, or is one of its own
	forOtherBot                      // it names another bot
)

// command matches a command at the beginning of a text, and the bot it names.
var command = regexp.MustCompile(`^/([A-Za-z0-9_]+)(@[A-Za-z0-9_]+)?(\s|$)`)

// command removes the bot's name from a command and says which bot it is for.
func (r reader) command(text string) (_ string, to commandTarget) {
	found := command.FindStringSubmatch(text)
	switch {
	case found == nil:
		return text, notACommand
	case found[2] == "" && r.knows(strings.ToLower(found[1])):
		return text, forUs
	case found[2] == "":
		return text, notACommand
	}
	text = "/" + found[1] + text[1+len(found[1])+len(found[2]):]
	if !strings.EqualFold(found[2][1:], r.me.Username) {
		return text, forOtherBot
	}
	return text, forUs
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func when(unix int64) time.Time { return time.Unix(unix, 0).UTC() }

// date is when, or the zero time for none.
func date(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return when(unix)
}

// readable is a message's text without mentions of the bot and with the
// addresses of links, which Telegram keeps in entities
// (core.telegram.org/bots/api#messageentity). Entities are
// counted in UTF-16 code units; those that do not fit the text are ignored.
func readable(text string, entities []entity, me user) (_ string, mentioned bool) {
	if len(entities) == 0 {
		return strings.TrimSpace(text), false
	}
	units := utf16.Encode([]rune(text))
	entities = slices.Clone(entities)
	slices.SortStableFunc(entities, func(a, b entity) int { return cmp.Compare(a.Offset, b.Offset) })
	var out strings.Builder
	at := 0
	for _, e := range entities {
		if e.Offset < at || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		words := string(utf16.Decode(units[e.Offset:end]))
		switch {
		case names(e, words, me):
			out.WriteString(string(utf16.Decode(units[at:e.Offset])))
			at, mentioned = skip(units, end, out.String()), true
		case e.Type == "text_link" && e.URL != "" && e.URL != words:
			out.WriteString(string(utf16.Decode(units[at:end])) + " (" + e.URL + ")")
			at = end
		}
	}
	out.WriteString(string(utf16.Decode(units[at:])))
	return strings.TrimSpace(out.String()), mentioned
}

// names reports whether an entity mentions the bot.
func names(e entity, words string, me user) bool {
	switch e.Type {
	case "mention":
		return me.Username != "" && strings.EqualFold(words, "@"+me.Username)
	case "text_mention":
		return e.User != nil && e.User.ID == me.ID
	}
	return false
}

// skip returns where the text continues after a mention that ended at end. At the
// beginning of a message it skips a comma or colon, elsewhere a double space.
func skip(units []uint16, end int, before string) int {
	if strings.TrimSpace(before) == "" {
		for end < len(units) && strings.ContainsRune(" ,:;", rune(units[end])) {
			end++
		}
		return end
	}
	if end < len(units) && units[end] == ' ' && strings.HasSuffix(before, " ") {
		end++
	}
	return end
}
