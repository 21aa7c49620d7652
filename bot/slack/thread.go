package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
	"legwork/internal/clip"
)

// How much of a thread goes along with a mention in it, in bytes, and how much of
// that is for the message above the thread.
const (
	maxThread = 16 << 10
	maxRoot   = 4 << 10
)

// settingThreadRead names the ts of the newest message of a thread that went along
// with a question.
const settingThreadRead = "slack_thread_read"

// threads reads what stood in a thread of a channel before a question in it.
type threads struct {
	*webClient
	people    *people
	admit     func(context.Context, bot.Message) bool
	followsUp func(context.Context, bot.Message) bool
	store     PeopleStore                      // how far threads were read; nil: nothing outlives the process
	added     *lru.Cache[string, []bot.Quoted] // what went along with a message, by its key
	read      *lru.Cache[string, string]       // see lastRead, by conversation
}

func newThreads(c *webClient, p *people, o Options) (*threads, error) {
	added, err := lru.New[string, []bot.Quoted](100)
	read, err2 := lru.New[string, string](10_000)
	return &threads{webClient: c, people: p, admit: o.Admit, followsUp: o.FollowsUp, store: o.People, added: added, read: read}, errors.Join(err, err2)
}

// joinsThread reports whether m may ask something in a thread, where there may be
// messages that the conversation's history does not hold.
func joinsThread(m bot.Message) bool {
	command, _, _ := strings.Cut(m.Text, " ")
	return m.InThread && (m.Kind == bot.MessageText || m.Kind == bot.MessageEdit && !m.Overheard) && m.Token == "" &&
		(!strings.HasPrefix(command, "/") || command == "/task" || command == "/plan")
}

// add adds what stood in the thread before m: the message above it and the
// newest replies, and at a later question what is new. When Slack does not give it in
// time, the question says that the thread was not read. It reports whether the thread
// was read: the caller then stores the message, and calls setLastRead.
func (t *threads) add(ctx context.Context, m *bot.Message) (wasRead bool) {
	if !joinsThread(*m) || !t.admit(ctx, *m) || m.Overheard && !t.followsUp(ctx, *m) {
		return false
	}
	read := t.lastRead(ctx, m.Chat)
	if m.Chat.Private && read != "" { // the history holds the messages since
		return false
	}
	if before, ok := t.added.Get(m.Key); ok { // the same message came as another event
		m.Earlier = append(before[:len(before):len(before)], m.Earlier...)
		return len(before) == 0 || before[0].Media != unreadThread
	}
	ctx, cancel := context.WithTimeout(ctx, t.timings.root)
	defer cancel()
	list, err := t.replies(ctx, *m, read)
	var said []bot.Quoted
	if err == nil {
		said = t.quote(ctx, *m, read, list)
	} else {
		t.log.WarnContext(ctx, "slack: thread not read, the question goes on without it", "chat", m.Chat.Key(), "cause", err)
		said = []bot.Quoted{{Media: unreadThread}}
	}
	t.added.Add(m.Key, said)
	m.Earlier = append(said[:len(said):len(said)], m.Earlier...)
	return err == nil
}

// unreadThread is the Media of a quotation in place of a thread that was not read.
const unreadThread = "thread"

// replies are the messages of m's thread before m and after the one that was read
// last, the oldest first, in some pages at most.
func (t *threads) replies(ctx context.Context, m bot.Message, read string) (all []slackgo.Message, err error) {
	cursor := ""
	for range findPages {
		var page []slackgo.Message
		err := t.call(ctx, request{method: "conversations.replies", urgency: bot.PriorityNormal}, func(ctx context.Context) (err error) {
			page, _, cursor, err = t.api.GetConversationRepliesContext(ctx, &slackgo.GetConversationRepliesParameters{
				ChannelID: m.Chat.ID, Timestamp: m.Chat.Thread, Oldest: read, Latest: m.ID, Cursor: cursor, Limit: findPage,
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); cursor == "" {
			break
		}
	}
	return all, nil
}

// assistantThread is the subtype of Slack's own message above a thread with an assistant
// (docs.slack.dev/reference/events/message/assistant_app_thread).
const assistantThread = "assistant_app_thread"

// quote turns messages into quotations: the first message and the newest ones
// that fit. It leaves out commands, and what the conversation's history holds: messages
// that address the bot, and the bot's own except the one above the thread.
func (t *threads) quote(ctx context.Context, m bot.Message, read string, list []slackgo.Message) []bot.Quoted {
	me := t.identity.Load()
	var all []bot.Quoted
	for i := range list {
		said := &list[i]
		own := said.User == me.user || said.BotID != "" && said.BotID == me.bot
		if own && said.Timestamp != m.Chat.Thread || said.SubType == assistantThread || said.Timestamp <= read || said.Timestamp >= m.ID || mentions(said.Text, me.user) {
			continue
		}
		text := plain(wordsOf(said), "", t.people.name)
		if command(text, false, true) != text { // "!status"
			continue
		}
		q := bot.Quoted{From: t.authorOf(ctx, said), Text: text, At: timeOf(said.Timestamp), Own: own || said.User == m.From.ID, Bot: own, ID: said.Timestamp}
		files := messageFiles(said)
		q.Media, q.Files = unread(files), attachments(files, m.From.ID, said.User)
		nameOwners(q.Files, func(id string) string {
			if id == said.User {
				return q.From
			}
			return t.people.name(id)
		})
		if !q.Empty() {
			all = append(all, q)
		}
	}
	return fitThread(all)
}

// fitThread keeps the first message and the newest ones, and marks the gap.
func fitThread(all []bot.Quoted) []bot.Quoted {
	if len(all) == 0 {
		return nil
	}
	all[0].Text = clip.Marked(all[0].Text, maxRoot)
	room := maxThread - len(all[0].Text)
	from := len(all)
	for from > 1 && room >= len(all[from-1].Text) {
		from--
		room -= len(all[from].Text)
	}
	if from == 1 {
		return all
	}
	kept := []bot.Quoted{all[0], {Text: "[…]", Own: true}}
	if from == len(all) { // the newest one alone is too long
		from--
		all[from].Text = clip.Marked(all[from].Text, room)
	}
	return append(kept, all[from:]...)
}

// wordsOf is the text of a message in Slack's markup. A message of an app may have
// attachments or blocks alone.
func wordsOf(m *slackgo.Message) string {
	lines := []string{}
	if m.Text != "" {
		lines = append(lines, m.Text)
	}
	raw, err := json.Marshal(m.Attachments)
	var list []attachment
	if err == nil && json.Unmarshal(raw, &list) == nil {
		for _, a := range list {
			lines = append(lines, a.words())
		}
	}
	if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" {
		return text
	}
	if raw, err = json.Marshal(m.Blocks); err != nil {
		return ""
	}
	return blockText(raw)
}

// authorOf is the name of a message's author, or what is known instead.
func (t *threads) authorOf(ctx context.Context, m *slackgo.Message) string {
	if m.User == "" || m.BotID != "" {
		name := m.Username
		if name == "" && m.BotProfile != nil {
			name = m.BotProfile.Name
		}
		return cmp.Or(name, m.BotID)
	}
	return t.people.nameOf(ctx, m.User)
}

// lastRead is the ts of the newest message of a thread that went along with a
// question; empty for none.
func (t *threads) lastRead(ctx context.Context, of bot.Chat) string {
	if read, ok := t.read.Get(of.Key()); ok || t.store == nil {
		return read
	}
	read, err := t.store.Setting(ctx, of.Key(), settingThreadRead)
	if err != nil {
		t.log.WarnContext(ctx, "slack: last message of a thread not read from the store", "chat", of.Key(), "cause", err)
	}
	return read
}

// setLastRead stores how far a thread was read. It comes after the message that holds
// what was read is stored: a kill in between brings the same again, and loses nothing.
func (t *threads) setLastRead(ctx context.Context, of bot.Chat, ts string) {
	if ts <= t.lastRead(ctx, of) {
		return
	}
	t.read.Add(of.Key(), ts)
	if t.store == nil {
		return
	}
	if err := t.store.PutSetting(ctx, of.Key(), settingThreadRead, ts); err != nil {
		t.log.WarnContext(ctx, "slack: last message of a thread not stored", "chat", of.Key(), "cause", err)
	}
}
