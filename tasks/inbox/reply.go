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
	"legwork/internal/retry"
	"legwork/planner"
	"legwork/tasks"
)

// Handler handles a request, or leaves it to the next handler.
type Handler func(ctx context.Context, r *Request) (Outcome, error)

// Outcome is the result of a handler. The zero Outcome leaves the request to the
// next handler.
type Outcome struct {
	Taken bool
	Reply Reply
}

// took is the outcome of a handler that has handled its request.
func took(reply Reply, err error) (Outcome, error) { return Outcome{Taken: true, Reply: reply}, err }

// Reply is the outcome of a request: the events to store, and the notice to send
// after that. The zero Reply stores and sends nothing.
type Reply struct {
	// Store holds the deliveries to store. The first one has the message's key, by
	// which a repeated delivery is recognised.
	Store []tasks.Inbound
	// Say makes the notice after the message was stored for the first time, from
	// the receipts of Store. Nil: no notice.
	Say func(ctx context.Context, receipts []tasks.Receipt) Notice
}

// Notice is a text for the author of a message. The zero Notice sends nothing; for
// a press, it only ends the waiting sign of the button.
type Notice struct {
	bot.Draft          // an empty Kind means KindNotice
	Brief     string   // replaces Text where File, which holds the same content, can be sent
	Audience  Audience // who sees it
	Replace   Replace  // the message that the notice settles
	// Later, unless nil, makes the notice in the background because that may take
	// a while.
	Later func(ctx context.Context) Notice
	// Sent, unless nil, is called with the id of the posted message.
	Sent func(ctx context.Context, id string)
}

// Audience says who sees a notice.
type Audience int

const (
	// ToAsker answers a press with a short note, where the platform has those.
	// Otherwise it posts a message.
	ToAsker Audience = iota
	// ToChat always posts a message in the chat.
	ToChat
	// ToAuthor shows the notice to the author alone, or not at all where the
	// platform cannot do that.
	ToAuthor
)

// Replace names the message whose buttons the notice makes useless. That message
// is edited.
type Replace struct {
	Pressed bool       // the message whose button was pressed
	Message string     // the id of another message
	With    *bot.Draft // what that message becomes; nil: the notice's text
}

// maxToast is the maximum length, in runes, of the short note that answers a
// press.
const maxToast = 180

// TextNotice makes a notice of a text.
func TextNotice(text string) Notice { return Notice{Draft: bot.Draft{Text: text}} }

// Notice makes a notice of the text of a key.
func (in *Inbox) Notice(r *Request, key string, data any) Notice {
	return TextNotice(in.SpellIn(r.Message.Chat, in.Texts.Text(r.Lang, key, data)))
}

// keepKey is a delivery that stores only the message's key, so that a repeated
// delivery of the message is not answered again.
func keepKey(r *Request) []tasks.Inbound {
	return []tasks.Inbound{{Key: r.Message.Key, Chat: r.Message.Chat}}
}

// Reply makes a reply that only sends a notice.
func (in *Inbox) Reply(r *Request, n Notice) Reply {
	return Reply{Store: keepKey(r), Say: func(context.Context, []tasks.Receipt) Notice { return n }}
}

// ReplyText makes a reply that only sends the text of a key.
func (in *Inbox) ReplyText(r *Request, key string, data any) Reply {
	return in.Reply(r, in.Notice(r, key, data))
}

// ReplyLater makes a reply that only sends a notice; find makes the notice after
// the message is stored.
func (in *Inbox) ReplyLater(r *Request, find func(context.Context) Notice) Reply {
	return Reply{Store: keepKey(r), Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return find(ctx) }}
}

// ReplyAside answers a press or a command with a text that only its author can
// see. Where the platform cannot do that, it sends nothing.
func (in *Inbox) ReplyAside(r *Request, key string) Reply {
	n := in.Notice(r, key, nil)
	n.Audience = ToAuthor
	return in.Reply(r, n)
}

// Refuse says why a wish is refused. The answer to a press goes to its author
// alone; a command always gets an answer.
func (in *Inbox) Refuse(r *Request, key string) Reply {
	if r.Message.Kind == bot.MessagePress {
		return in.ReplyAside(r, key)
	}
	return in.ReplyText(r, key, nil)
}

// Add adds an event of a task to the reply. Each event has a key of its own
// because each task may have ended by then. The first delivery has the message's
// key.
func (p *Reply) Add(r *Request, id tasks.ID, e planner.Event) {
	key := r.Message.Key
	if n := len(p.Store); n > 0 {
		key = fmt.Sprintf("%s#%d", key, n)
	}
	p.Store = append(p.Store, tasks.Inbound{Key: key, Chat: r.Message.Chat, To: id, Event: e})
}

// Send sends a notice to a message's author, and ends the waiting sign of a press.
// On platforms whose messages last, the notice goes out in the background, in
// order within its chat, because the platform may delay it.
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
		n = n.Later(ctx) // one person waits at a terminal
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
		queue = m.Key // this answer does not wait for the chat's queue
	}
	in.outbox.add(ctx, queue, func(ctx context.Context) { deliver(ctx, in, p, m, n) })
}

// answersDelivery reports whether a notice is sent as the answer to the delivery
// itself. Such an answer has no buttons. The answer to a command in a group is
// sent without its buttons because its text names the commands to use instead, unless
// the notice is for the author alone.
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
			n.Text = "" // the edited message shows the text already
		}
	}
	switch {
	case n.Text == "" || answersDelivery(p, m, n):
		if with, ok := p.(bot.ButtonAnswerer); can && ok && n.Audience == ToAuthor && len(n.Buttons) > 0 {
			err = with.AnswerWith(ctx, m, n.Draft)
		} else if can {
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
			if can && m.Kind != bot.MessagePress { // the bot may be unable to post in the command's chat
				err = answerer.Answer(ctx, m, n.Text)
			}
		}
	}
	if replaces && (limits.Toasts || !pressed) {
		err = errors.Join(err, repeat(ctx, p, func() error { return replace(ctx, p, m.Chat, n) }))
	}
	if err != nil && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "notice not shown", "chat", m.Chat.Key(), "task", n.Task, "cause", err)
	}
}

// replace edits the message that a notice settles. The edit removes its buttons,
// which do nothing any more.
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

// postWhole posts a draft in as many messages as needed. Where its file can be
// sent, it posts the file with the brief text instead. It returns the id of the
// last message.
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
		if id, err = postPart(ctx, p, to, part); err != nil {
			return "", err
		}
	}
	return id, nil
}

// How often a message of a notice, or a change of one, is tried, and the first and longest
// pause in between.
const (
	noticeTries      = 6
	firstNoticePause = 500 * time.Millisecond
	lastNoticePause  = 30 * time.Second
)

// postPart posts one message, and tries again where that may help.
func postPart(ctx context.Context, p bot.Platform, to bot.Chat, d bot.Draft) (id string, err error) {
	err = repeat(ctx, p, func() (err error) {
		id, err = p.Post(ctx, to, d)
		return err
	})
	return id, err
}

// repeat calls do again where that may help.
func repeat(ctx context.Context, p bot.Platform, do func() error) error {
	pauses := retry.New(firstNoticePause, lastNoticePause, 0)
	for try := 1; ; try++ {
		err := do()
		if err == nil || errors.Is(err, bot.ErrGone) || errors.Is(err, bot.ErrNoFiles) || p.Limits().Ephemeral || try == noticeTries || pauses.Sleep(ctx) != nil {
			return err
		}
	}
}

// notifiedOnce remembers recent notices, so that the same notice is not sent with
// every message.
type notifiedOnce struct{ sentAt *lru.Cache[string, time.Time] }

// maxNotices is the number of notices that are remembered.
const maxNotices = 16 << 10

// ever is the longest time: the notice is sent once, as long as it is remembered.
const ever = time.Duration(math.MaxInt64)

func newNotifiedOnce() *notifiedOnce {
	given, err := lru.New[string, time.Time](maxNotices)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &notifiedOnce{given}
}

// first reports whether a notice was not sent within the given time, and remembers
// that it is sent now.
func (o *notifiedOnce) first(notice string, within time.Duration, now time.Time) bool {
	if at, ok := o.sentAt.Get(notice); ok && now.Sub(at) < within {
		return false
	}
	o.sentAt.Add(notice, now)
	return true
}
