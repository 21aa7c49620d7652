package tasks

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
)

// said is what the bot says to a message. The zero value says nothing, and only
// ends the waiting of a press.
type said struct {
	text    string
	buttons []bot.Button
	aloud   bool       // a message in the chat, also when it replies to a press
	aside   bool       // only where its author alone sees it, or not at all
	instead bool       // also in place of the message whose button was pressed, as that is settled
	settles string     // id of a message that words have settled: also in place of it
	becomes *bot.Draft // with instead or settles: what that message is from now on; nil: the text
	kind    bot.DraftKind
	task    string // that the message belongs to
	words   bool   // any words may be the answer
	// file, where it can be sent, holds what text holds as well, and brief stands
	// in place of text then.
	file  *bot.File
	brief string
	// later, unless nil, finds out what is said: beside the chat, since that may
	// take a while.
	later func(ctx context.Context) said
	sent  func(ctx context.Context, id string) // learns the id of the message
}

// maxToast is how much text fits the short note that a press is answered with,
// in runes.
const maxToast = 180

// sentence says one text.
func (in *Inbox) sentence(r routed, key string, data any) said {
	return said{text: in.spell(r.message.Chat, in.Texts.Text(r.lang, key, data))}
}

// say only answers with a sentence; the message's key is kept, so that a
// redelivery does not repeat it.
func (in *Inbox) say(r *routed, key string, data any) {
	in.reply(r, in.sentence(*r, key, data))
}

// reply only answers.
func (in *Inbox) reply(r *routed, s said) {
	r.store = []Inbound{{Key: r.message.Key, Chat: r.message.Chat}}
	r.reply = func(context.Context, []Receipt) said { return s }
}

// aside answers a press or a command where only its author sees it; elsewhere
// it says nothing.
func (in *Inbox) aside(r *routed, key string) {
	s := in.sentence(*r, key, nil)
	s.aside = true
	in.reply(r, s)
}

// refuse says why something is not done: a press gets that where its author alone
// sees it, a command must not be met with silence.
func (in *Inbox) refuse(r *routed, key string) {
	if r.message.Kind == bot.MessagePress {
		in.aside(r, key)
		return
	}
	in.say(r, key, nil)
}

// tell says something to a message's author, and ends the waiting of a press.
// Platforms whose messages last may have it wait for its turn; then it goes out
// in the background, in order within its chat.
func (in *Inbox) tell(ctx context.Context, m bot.Message, s said) {
	if s.text == "" && s.later == nil && (m.Kind != bot.MessagePress || m.Token == "") {
		return
	}
	p, err := in.Chats.Platform(m.Chat)
	if err != nil {
		in.Log.WarnContext(ctx, "a notice could not be shown", "chat", m.Chat.Key(), "cause", err)
		return
	}
	if s.later != nil && p.Limits().Passing {
		s = s.later(ctx) // there is one person, who waits for it
	}
	if s.later != nil {
		in.outbox.add(ctx, m.Key, func(ctx context.Context) { in.deliver(ctx, p, m, s.later(ctx)) })
		return
	}
	if p.Limits().Passing {
		in.deliver(ctx, p, m, s)
		return
	}
	queue := m.Chat.Key()
	if m.Token != "" && in.quietly(p, m, s) {
		queue = m.Key // answered beside the chat
	}
	in.outbox.add(ctx, queue, func(ctx context.Context) { in.deliver(ctx, p, m, s) })
}

// quietly reports that something is said by answering the delivery itself.
// Buttons cannot be: what a command says comes without them where others read,
// since its text says what to write instead.
func (in *Inbox) quietly(p bot.Platform, m bot.Message, s said) bool {
	_, can := p.(bot.Answerer)
	if !can || m.Token == "" || s.aloud || len(s.buttons) > 0 && (m.Kind == bot.MessagePress || m.Chat.Private) {
		return false
	}
	return m.Kind != bot.MessagePress || utf8.RuneCountInString(s.text) <= maxToast && !strings.Contains(s.text, "\n")
}

func (in *Inbox) deliver(ctx context.Context, p bot.Platform, m bot.Message, s said) {
	answerer, can := p.(bot.Answerer)
	can = can && m.Token != ""
	var err error
	limits := p.Limits()
	pressed := s.instead && m.Kind == bot.MessagePress
	if pressed {
		s.settles = m.ID
	}
	settles := s.settles != "" && limits.Edits && !limits.Passing
	if settles && pressed && !limits.Toasts && settle(ctx, p, m.Chat, s) == nil {
		if settles = false; s.kind != bot.KindQuestion {
			s.text = "" // it would be read twice
		}
	}
	switch {
	case s.text == "" || in.quietly(p, m, s):
		if can {
			err = answerer.Answer(ctx, m, s.text)
		}
	case s.aside:
		if can && m.Kind == bot.MessagePress {
			err = answerer.Answer(ctx, m, "")
		}
	default:
		if can && m.Kind == bot.MessagePress {
			err = answerer.Answer(ctx, m, "")
		}
		if failed := in.post(ctx, p, m, s); failed != nil {
			err = failed
			if can && m.Kind != bot.MessagePress { // a command may come from where the bot cannot write
				err = answerer.Answer(ctx, m, s.text)
			}
		}
	}
	if settles && (limits.Toasts || !pressed) {
		err = errors.Join(err, settle(ctx, p, m.Chat, s))
	}
	if err != nil && ctx.Err() == nil {
		in.Log.WarnContext(ctx, "a notice could not be shown", "chat", m.Chat.Key(), "cause", err)
	}
}

// settle says in place of the message that is settled what came of it, so that
// nobody presses its buttons again.
func settle(ctx context.Context, p bot.Platform, in bot.Chat, s said) error {
	d := bot.Draft{Kind: bot.KindNotice, Text: s.text}
	if s.becomes != nil {
		d = *s.becomes
	}
	err := p.Edit(ctx, in, s.settles, d)
	if _, moved := errors.AsType[*bot.MovedError](err); moved {
		return nil
	}
	return err
}

func (in *Inbox) post(ctx context.Context, p bot.Platform, m bot.Message, s said) error {
	d := bot.Draft{Kind: s.kind, Task: s.task, Text: s.text, ReplyTo: m.ID, Buttons: s.buttons, Words: s.words, File: s.file}
	if d.Kind == "" {
		d.Kind = bot.KindNotice
	}
	id, err := postWhole(ctx, p, m.Chat, d, s.brief)
	if err == nil && s.sent != nil {
		s.sent(ctx, id)
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

// Flush returns when everything that was to be said has gone out. When ctx ends
// before, the rest is dropped. No message may be handled meanwhile.
func (in *Inbox) Flush(ctx context.Context) { in.outbox.flush(ctx) }

// outbox does what may have to wait for its turn, in order within each queue,
// so that one chat holds up no other and nobody who brings messages.
type outbox struct {
	log    *slog.Logger
	work   sync.WaitGroup
	mu     sync.Mutex
	queues map[string]*queue
}

type queue struct {
	jobs   []func(context.Context)
	cancel context.CancelFunc
}

// How much an outbox holds: queues at once and jobs in one of them; and how long
// a job may take.
const (
	outboxQueues = 1024
	outboxJobs   = 64
	outboxTime   = 5 * time.Minute
)

func newOutbox(log *slog.Logger) *outbox { return &outbox{log: log, queues: map[string]*queue{}} }

// add puts a job at the end of a queue. ctx gives it values only. When the
// outbox is full, the job is dropped: nobody waits that long for a notice.
func (o *outbox) add(ctx context.Context, name string, job func(context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if q := o.queues[name]; q != nil {
		if len(q.jobs) >= outboxJobs {
			o.log.WarnContext(ctx, "too many notices wait in a chat", "chat", name)
			return
		}
		q.jobs = append(q.jobs, job)
		return
	}
	if len(o.queues) >= outboxQueues {
		o.log.WarnContext(ctx, "too many notices wait", "chat", name)
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	q := &queue{jobs: []func(context.Context){job}, cancel: cancel}
	o.queues[name] = q
	o.work.Go(func() {
		defer cancel()
		for job := o.next(name, q); job != nil; job = o.next(name, q) {
			if err := within(ctx, outboxTime, job); err != nil {
				o.log.ErrorContext(ctx, "a notice could not be shown", "chat", name, "cause", err)
			}
		}
	})
}

// within does a job; its error is a panic.
func within(ctx context.Context, limit time.Duration, job func(context.Context)) (err error) {
	defer catch(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	job(ctx)
	return nil
}

// next takes the first job of a queue, which ends with its last.
func (o *outbox) next(name string, q *queue) func(context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(q.jobs) == 0 {
		delete(o.queues, name)
		return nil
	}
	job := q.jobs[0]
	q.jobs = q.jobs[1:]
	return job
}

func (o *outbox) flush(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		for _, q := range o.queues {
			q.jobs = nil
			q.cancel()
		}
	})
	defer stop()
	o.work.Wait()
}

// sorry remembers the messages whose authors read an apology of late.
type sorry struct{ kept *lru.Cache[string, struct{}] }

func newSorry() *sorry {
	kept, err := lru.New[string, struct{}](1024)
	if err != nil {
		panic("tasks: " + err.Error()) // the size is not positive
	}
	return &sorry{kept}
}

// first reports that the message was not apologised for yet.
func (s *sorry) first(key string) bool {
	known, _ := s.kept.ContainsOrAdd(key, struct{}{})
	return !known
}
