package telegram

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
)

// Name is the platform of the chats and persons made here.
const Name = "telegram"

// general is the topic of a forum that messages without a topic are in.
const general = 1

// reader turns updates into messages. It is a value: all it knows is fixed.
type reader struct {
	account string // the bot's id, as the token begins with it
	me      user
	knows   func(command string) bool // that it is one of the bot's, without the slash
	now     func() time.Time
}

// read returns the message that an update brings; ok is false when it brings
// none: it is not addressed to the bot, or nothing that a person said.
func (r reader) read(u update) (m bot.Message, ok bool) {
	switch {
	case u.Callback != nil:
		m, ok = r.press(*u.Callback)
	case u.Message != nil:
		m, ok = r.said(*u.Message)
	case u.Edited != nil:
		m, ok = r.said(*u.Edited)
		ok = ok && m.Kind == bot.MessageText && m.Text != ""
		m.Kind, m.At = bot.MessageEdit, when(cmp.Or(u.Edited.EditDate, u.Edited.Date))
	}
	m.Key = Name + ":" + r.account + ":update:" + strconv.FormatInt(u.ID, 10)
	return m, ok
}

// press is the press of a button.
func (r reader) press(c callback) (bot.Message, bool) {
	if c.Message == nil || c.Data == "" || c.Message.Chat.ID == 0 {
		return bot.Message{}, false
	}
	return bot.Message{
		Chat: place(*c.Message), From: person(c.From), ID: number(c.Message.ID),
		Kind: bot.MessagePress, Data: c.Data, Token: c.ID, Language: c.From.Language, At: r.now(),
	}, true
}

// said is what a person wrote.
func (r reader) said(m message) (bot.Message, bool) {
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
	if !out.Chat.Private && (m.forwarded() || to == another || to == nobody && !mentioned && !r.wrote(replied)) {
		return bot.Message{}, false
	}
	if m.forwarded() { // what somebody else said commands nothing
		text = quote(text)
	}
	if text == "" {
		out.Media = m.name()
	}
	if text == "" && out.Media == "" && !mentioned {
		return bot.Message{}, false // somebody joined, a message was pinned
	}
	out.Text = within(text, r.quoted(m, replied))
	return out, true
}

// author is who wrote a message: a person, or a chat that somebody writes as
// (an anonymous admin, a channel). Bots and posts of channels have none.
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
	if m.InTopic && m.Thread > general {
		c.Thread = number(m.Thread)
	}
	return c
}

// repliedTo is the message that m replies to. In a topic every message replies
// at least to the one that opened it, which means nothing.
func repliedTo(m message) *message {
	if m.ReplyTo == nil || m.InTopic && m.ReplyTo.ID == m.Thread {
		return nil
	}
	return m.ReplyTo
}

// quoted is what the person points at and the bot may not have seen: the part
// of a message that they selected, or in a group somebody's message that they
// reply to.
func (r reader) quoted(m message, replied *message) string {
	switch {
	case m.Quote != nil && m.Quote.Manual:
		return m.Quote.Text
	case replied == nil || m.Chat.Type == "private":
		return ""
	case r.wrote(replied):
		return ""
	}
	return cmp.Or(replied.Text, replied.Caption)
}

// wrote reports that a message, which may be nil, is the bot's own.
func (r reader) wrote(m *message) bool { return m != nil && m.From != nil && m.From.ID == r.me.ID }

// takesText are the commands whose rest is a question.
var takesText = regexp.MustCompile(`(?is)^/(task|plan)(\s+|$)`)

// within puts a text below what it quotes. Of a command, only one that takes a
// question can quote.
func within(text, quoted string) string {
	quoted = strings.TrimSpace(quoted)
	if quoted == "" {
		return text
	}
	head := ""
	if strings.HasPrefix(text, "/") {
		found := takesText.FindStringSubmatch(text)
		if found == nil {
			return text
		}
		head, text = "/"+found[1]+" ", text[len(found[0]):]
	}
	return strings.TrimSpace(head + quote(quoted) + "\n\n" + text)
}

// quote marks words as somebody else's.
func quote(words string) string {
	if words == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(words, "\n", "\n> ")
}

// addressee is whom a command is for.
type addressee uint8

const (
	nobody  addressee = iota // it is no command, or none that is known
	us                       // it names the bot, or is one of its own
	another                  // it names another bot
)

// command is what a text begins with that is one, and the name of the bot it is
// meant for.
var command = regexp.MustCompile(`^/([A-Za-z0-9_]+)(@[A-Za-z0-9_]+)?(\s|$)`)

// command takes the bot's name out of a command and says whom it is for.
func (r reader) command(text string) (_ string, to addressee) {
	found := command.FindStringSubmatch(text)
	switch {
	case found == nil:
		return text, nobody
	case found[2] == "" && r.knows(strings.ToLower(found[1])):
		return text, us
	case found[2] == "":
		return text, nobody
	}
	text = "/" + found[1] + text[1+len(found[1])+len(found[2]):]
	if !strings.EqualFold(found[2][1:], r.me.Username) {
		return text, another
	}
	return text, us
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func when(unix int64) time.Time { return time.Unix(unix, 0).UTC() }
