package inbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
)

// Handler takes a request, or leaves it to the next one.
type Handler func(ctx context.Context, r *Request) (Outcome, error)

// Outcome is what a handler makes of a request. The zero Outcome means that the
// request is for another handler.
type Outcome struct {
	Taken bool
	Reply Reply
}

// took is the outcome of a handler whose request was for it.
func took(reply Reply, err error) (Outcome, error) { return Outcome{Taken: true, Reply: reply}, err }

// Reply is the outcome of a request: the events to store, and the messages to
// send once they are stored. The zero Reply stores nothing and says nothing.
type Reply struct {
	// Store are the deliveries to store. The first one has the message's key, which
	// tells whether the message came before.
	Store []tasks.Inbound
	// Say tells what to say when the message was stored for the first time, by the
	// receipts of Store. Nil: nothing.
	Say func(ctx context.Context, receipts []tasks.Receipt) Notice
}

// Notice is a text for the author of a message. The zero Notice says nothing, and
// only ends the waiting of a press.
type Notice struct {
	bot.Draft          // Kind may be empty: a KindNotice
	Brief     string   // in place of Text where File is sent, which holds what Text holds as well
	Audience  Audience // who sees it
	Replace   Replace  // a message that is settled by it
	// Later, unless nil, makes the notice: beside the chat, since that may take a
	// while.
	Later func(ctx context.Context) Notice
	// Sent, unless nil, is told the id of the message.
	Sent func(ctx context.Context, id string)
}

// Audience says who sees a notice.
type Audience int

const (
	// ToAsker is a short note to the author of a press where the platform has them,
	// and a message otherwise.
	ToAsker Audience = iota
	// ToChat is always a message in the chat.
	ToChat
	// ToAuthor is seen by the author alone, or not at all.
	ToAuthor
)

// Replace names the message whose buttons a notice makes useless: it is edited.
type Replace struct {
	Pressed bool       // the message whose button was pressed
	Message string     // the id of another message
	With    *bot.Draft // what that message becomes; nil: the notice's text
}

// maxToast is how much text fits the short note that a press is answered with,
// in runes.
const maxToast = 180

func TextNotice(text string) Notice { return Notice{Draft: bot.Draft{Text: text}} }

// Notice is a notice of one text.
func (in *Inbox) Notice(r *Request, key string, data any) Notice {
	return TextNotice(in.Spell(r.Message.Chat, in.Texts.Text(r.Lang, key, data)))
}

// keepKey is the delivery that only keeps a message's key, so that the message is
// not answered again when it is delivered again.
func keepKey(r *Request) []tasks.Inbound {
	return []tasks.Inbound{{Key: r.Message.Key, Chat: r.Message.Chat}}
}

// Reply only says something.
func (in *Inbox) Reply(r *Request, n Notice) Reply {
	return Reply{Store: keepKey(r), Say: func(context.Context, []tasks.Receipt) Notice { return n }}
}

// ReplyText only says one text.
func (in *Inbox) ReplyText(r *Request, key string, data any) Reply {
	return in.Reply(r, in.Notice(r, key, data))
}

// ReplyLater only says something, which find finds out after the message is
// stored.
func (in *Inbox) ReplyLater(r *Request, find func(context.Context) Notice) Reply {
	return Reply{Store: keepKey(r), Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return find(ctx) }}
}

// ReplyAside answers a press or a command where only its author sees it, and
// nowhere else.
func (in *Inbox) ReplyAside(r *Request, key string) Reply {
	n := in.Notice(r, key, nil)
	n.Audience = ToAuthor
	return in.Reply(r, n)
}

// Refuse says why something is not done. A press is answered where its author
// alone sees it; a command is never met with silence.
func (in *Inbox) Refuse(r *Request, key string) Reply {
	if r.Message.Kind == bot.MessagePress {
		return in.ReplyAside(r, key)
	}
	return in.ReplyText(r, key, nil)
}

// Add stores one more event of a task, under a key of its own, since each task may
// be over by then. The first delivery has the message's key.
func (p *Reply) Add(r *Request, id tasks.ID, e planner.Event) {
	key := r.Message.Key
	if n := len(p.Store); n > 0 {
		key = fmt.Sprintf("%s#%d", key, n)
	}
	p.Store = append(p.Store, tasks.Inbound{Key: key, Chat: r.Message.Chat, To: id, Event: e})
}

// Send says something to a message's author, and ends the waiting of a press.
// Platforms whose messages last may have it wait for its turn; then it goes out
// in the background, in order within its chat.
func (in *Inbox) Send(ctx context.Context, m bot.Message, n Notice) {
	if n.Text == "" && n.Later == nil && (m.Kind != bot.MessagePress || m.Token == "") {
		return
	}
	p, err := in.Chats.Platform(m.Chat)
	if err != nil {
		in.Log.WarnContext(ctx, "notice not shown", "chat", m.Chat.Key(), "cause", err)
		return
	}
	if n.Later != nil && p.Limits().Ephemeral {
		n = n.Later(ctx) // there is one person, who waits for it
	}
	if n.Later != nil {
		in.outbox.add(ctx, m.Key, func(ctx context.Context) { deliver(ctx, in, p, m, n.Later(ctx)) })
		return
	}
	if p.Limits().Ephemeral {
		deliver(ctx, in, p, m, n)
		return
	}
	queue := m.Chat.Key()
	if m.Token != "" && answersDelivery(p, m, n) {
		queue = m.Key // answered beside the chat
	}
	in.outbox.add(ctx, queue, func(ctx context.Context) { deliver(ctx, in, p, m, n) })
}

// answersDelivery reports that a notice is said by answering the delivery itself.
// Buttons cannot be: what a command says comes without them where others read,
// since its text says what to write instead.
func answersDelivery(p bot.Platform, m bot.Message, n Notice) bool {
	_, can := p.(bot.Answerer)
	if !can || m.Token == "" || n.Audience == ToChat || len(n.Buttons) > 0 && (m.Kind == bot.MessagePress || m.Chat.Private) {
		return false
	}
	return m.Kind != bot.MessagePress || utf8.RuneCountInString(n.Text) <= maxToast && !strings.Contains(n.Text, "\n")
}

func deliver(ctx context.Context, in *Inbox, p bot.Platform, m bot.Message, n Notice) {
	answerer, can := p.(bot.Answerer)
	can = can && m.Token != ""
	var err error
	limits := p.Limits()
	pressed := n.Replace.Pressed && m.Kind == bot.MessagePress
	if pressed {
		n.Replace.Message = m.ID
	}
	replaces := n.Replace.Message != "" && limits.Edits && !limits.Ephemeral
	if replaces && pressed && !limits.Toasts && replace(ctx, p, m.Chat, n) == nil {
		if replaces = false; n.Kind != bot.KindQuestion {
			n.Text = "" // it would be read twice
		}
	}
	switch {
	case n.Text == "" || answersDelivery(p, m, n):
		if can {
			err = answerer.Answer(ctx, m, n.Text)
		}
	case n.Audience == ToAuthor:
		if can && m.Kind == bot.MessagePress {
			err = answerer.Answer(ctx, m, "")
		}
	default:
		if can && m.Kind == bot.MessagePress {
			err = answerer.Answer(ctx, m, "")
		}
		if failed := post(ctx, p, m, n); failed != nil {
			err = failed
			if can && m.Kind != bot.MessagePress { // a command may come from where the bot cannot write
				err = answerer.Answer(ctx, m, n.Text)
			}
		}
	}
	if replaces && (limits.Toasts || !pressed) {
		err = errors.Join(err, replace(ctx, p, m.Chat, n))
	}
	if err != nil && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "notice not shown", "chat", m.Chat.Key(), "cause", err)
	}
}

// replace edits the message that a notice settles, so that its buttons are not
// pressed again.
func replace(ctx context.Context, p bot.Platform, in bot.Chat, n Notice) error {
	d := bot.Draft{Kind: bot.KindNotice, Text: n.Text}
	if n.Replace.With != nil {
		d = *n.Replace.With
	}
	err := p.Edit(ctx, in, n.Replace.Message, d)
	if _, moved := errors.AsType[*bot.MovedError](err); moved {
		return nil
	}
	return err
}

func post(ctx context.Context, p bot.Platform, m bot.Message, n Notice) error {
	d := n.Draft
	d.ReplyTo = m.ID
	if d.Kind == "" {
		d.Kind = bot.KindNotice
	}
	id, err := postWhole(ctx, p, m.Chat, d, n.Brief)
	if err == nil && n.Sent != nil {
		n.Sent(ctx, id)
	}
	return err
}

// postWhole posts a draft in as many messages as it takes, or where its file can
// be sent with that and the brief text; it returns the id of the last one.
func postWhole(ctx context.Context, p bot.Platform, to bot.Chat, d bot.Draft, brief string) (id string, err error) {
	file, full := d.File, d.Text
	if f, ok := p.(bot.Filer); ok && file != nil && f.Files(to) {
		d.Text = brief
		if id, err = postParts(ctx, p, to, d); !errors.Is(err, bot.ErrNoFiles) {
			return id, err
		}
	}
	d.File, d.Text = nil, full
	return postParts(ctx, p, to, d)
}

func postParts(ctx context.Context, p bot.Platform, to bot.Chat, d bot.Draft) (id string, err error) {
	parts := []bot.Draft{d}
	if s, ok := p.(bot.Splitter); ok {
		parts = s.Split(d)
	}
	for _, part := range parts {
		if id, err = p.Post(ctx, to, part); err != nil {
			return "", err
		}
	}
	return id, nil
}

// notifiedOnce remembers which notices were given of late, so that they are not
// given with every message.
type notifiedOnce struct{ given *lru.Cache[string, time.Time] }

// noticesKept is how many notices are remembered.
const noticesKept = 16 << 10

// ever is the longest span: a notice is given once as long as it is remembered.
const ever = time.Duration(math.MaxInt64)

func newNotifiedOnce() *notifiedOnce {
	given, err := lru.New[string, time.Time](noticesKept)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &notifiedOnce{given}
}

// first reports that a notice was not given within the time until now, and notes
// that it is given now.
func (o *notifiedOnce) first(notice string, within time.Duration, now time.Time) bool {
	if at, ok := o.given.Get(notice); ok && now.Sub(at) < within {
		return false
	}
	o.given.Add(notice, now)
	return true
}
