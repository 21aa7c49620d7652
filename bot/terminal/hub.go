package terminal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
)

// Hub is the terminal platform of a process that has no terminal of its own.
// Terminals of other processes attach to it: each shows the frames of the
// conversations that it names, and hands on messages. An answer waits until a terminal
// shows its conversation.
type Hub struct {
	person string
	opened chan struct{} // closed when Run begins
	closed chan struct{} // closed when Run ends
	handle handler       // of Run

	mu       sync.Mutex
	viewers  map[string]*viewer // by the name of their session
	attached chan struct{}      // closed when a viewer names a conversation, then replaced
	open     []Frame            // the boards and questions of running tasks, for terminals that attach later
}

// Frame is a draft on its way to an attached terminal.
type Frame struct {
	Chat    bot.Chat        `json:"chat,omitzero"`
	ID      string          `json:"id,omitempty"`      // of the message
	Again   bool            `json:"again,omitempty"`   // the message was shown before
	Elapsed []time.Duration `json:"elapsed,omitempty"` // of the items of the draft's board, which JSON omits
	Waiting bool            `json:"waiting,omitempty"` // of that board
	Draft   *bot.Draft      `json:"draft,omitempty"`
	Idle    string          `json:"idle,omitempty"` // instead of a draft: the call of Hub.Idle that is over
}

func newFrame(to bot.Chat, id string, d bot.Draft, again bool) Frame {
	f := Frame{Chat: to, ID: id, Draft: &d, Again: again}
	if d.Board != nil {
		f.Waiting = d.Board.Waiting
		for _, it := range d.Board.Items {
			f.Elapsed = append(f.Elapsed, it.Elapsed)
		}
	}
	return f
}

// draft returns the draft with what JSON omits.
func (f *Frame) draft() bot.Draft {
	d := *f.Draft
	if d.Board != nil && len(d.Board.Items) == len(f.Elapsed) {
		d.Board.Waiting = f.Waiting
		for i := range d.Board.Items {
			d.Board.Items[i].Elapsed = f.Elapsed[i]
		}
	}
	return d
}

// viewer is an attached terminal.
type viewer struct {
	mu    sync.Mutex // keeps frames in order
	show  func(Frame) error
	chats []string        // ids of its conversations; Hub.mu guards them
	sent  map[string]bool // ids of its messages; Hub.mu guards them
	left  context.CancelCauseFunc
}

// send shows a frame. A terminal that fails is detached.
func (v *viewer) send(f Frame) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.show(f)
	if err != nil {
		v.left(err)
	}
	return err
}

// NewHub makes a hub. Everybody who attaches is person.
func NewHub(person string) *Hub {
	return &Hub{person: person, opened: make(chan struct{}), closed: make(chan struct{}), viewers: map[string]*viewer{}, attached: make(chan struct{})}
}

// Run implements bot.Platform. When it ends, all terminals are detached.
func (h *Hub) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	h.handle = handle
	close(h.opened)
	<-ctx.Done()
	close(h.closed)
	return nil
}

// Attach shows the frames of a conversation until ctx ends, begin or show fails or Run
// ends. session names the terminal. begin is called before the first frame, when Handle
// knows the session.
func (h *Hub) Attach(ctx context.Context, session, chat string, begin func() error, show func(Frame) error) error {
	ctx, left := context.WithCancelCause(ctx)
	defer left(nil)
	v := &viewer{show: show, left: left, sent: map[string]bool{}}
	h.mu.Lock()
	if h.viewers[session] != nil {
		h.mu.Unlock()
		return fmt.Errorf("the session %q is attached already", session)
	}
	h.viewers[session] = v
	h.mu.Unlock()
	if err := begin(); err != nil {
		left(err)
	} else {
		h.follow(v, chat)
	}
	select {
	case <-ctx.Done():
	case <-h.closed:
	}
	h.mu.Lock()
	delete(h.viewers, session)
	h.mu.Unlock()
	v.mu.Lock() // a frame that is being shown ends first
	defer v.mu.Unlock()
	v.show = func(Frame) error { return ErrClosed }
	return context.Cause(ctx)
}

// follow adds a conversation to a terminal, and shows what is open in it.
func (h *Hub) follow(v *viewer, chat string) {
	h.mu.Lock()
	if slices.Contains(v.chats, chat) {
		h.mu.Unlock()
		return
	}
	v.chats = append(v.chats, chat)
	var open []Frame
	for _, f := range h.open {
		if f.Chat.ID == chat {
			open = append(open, f)
		}
	}
	v.mu.Lock() // no later frame comes before these
	close(h.attached)
	h.attached = make(chan struct{})
	h.mu.Unlock()
	defer v.mu.Unlock()
	for _, f := range open {
		if err := v.show(f); err != nil {
			v.left(err)
			return
		}
	}
}

// viewer returns the terminal of a session.
func (h *Hub) viewer(session string) (*viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.viewers[session]
	if v == nil {
		return nil, fmt.Errorf("the session %q is not attached", session)
	}
	return v, nil
}

// Handle hands on messages of an attached terminal.
func (h *Hub) Handle(ctx context.Context, session string, messages []bot.Message) error {
	v, err := h.viewer(session)
	if err != nil {
		return err
	}
	select {
	case <-h.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	for i := range messages {
		m := &messages[i]
		if slices.ContainsFunc(m.Files, func(a bot.Attachment) bool { return !filepath.IsAbs(a.Ref) }) {
			return errors.New("the path of a file is not absolute")
		}
		m.Chat = bot.Chat{Platform: Name, ID: cmp.Or(m.Chat.ID, "main"), Private: true}
		m.Key, m.From = m.Chat.Key()+":"+m.ID, h.Person()
		h.follow(v, m.Chat.ID)
		h.mu.Lock()
		v.sent[m.ID] = true
		h.mu.Unlock()
	}
	return h.handle(ctx, messages)
}

// Idle calls idle for each conversation of a terminal, and then shows a frame with the
// name of the call: all frames of the tasks that are over come before it.
func (h *Hub) Idle(ctx context.Context, session, call string, idle func(ctx context.Context, conversation string) error) error {
	v, err := h.viewer(session)
	if err != nil {
		return err
	}
	h.mu.Lock()
	chats := slices.Clone(v.chats)
	h.mu.Unlock()
	for _, id := range chats {
		if err := idle(ctx, bot.Chat{Platform: Name, ID: id}.Key()); err != nil {
			return err
		}
	}
	return v.send(Frame{Idle: call})
}

// deliver shows a draft on the terminals of its conversation. An answer waits for one.
func (h *Hub) deliver(ctx context.Context, to bot.Chat, id string, d bot.Draft, again bool) error {
	if again {
		d.File = nil
	}
	f := newFrame(to, id, d, again)
	for {
		h.mu.Lock()
		h.keep(f)
		attached := h.attached
		viewers := h.viewersOf(to, d)
		h.mu.Unlock()
		shown := false
		for _, v := range viewers {
			if shown = v.send(f) == nil || shown; shown && d.IsFile() {
				break // one terminal saves it
			}
		}
		switch {
		case shown || again || d.Partial || !d.IsFile() && d.Task != "" && (d.Kind == bot.KindBoard || d.Kind == bot.KindQuestion):
			return nil
		case d.Kind != bot.KindAnswer && !d.IsFile():
			return fmt.Errorf("no terminal shows %s: %w", to.Key(), bot.ErrGone)
		}
		select {
		case <-attached:
		case <-h.closed:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// viewersOf are the terminals that show a draft; mu is held. A notice that replies to a
// message, and a question about it that belongs to no task, are shown by the terminal
// that sent the message alone, while it is attached: under a line of another
// terminal, people would take them for the reply to that line. So it is with a
// made file.
func (h *Hub) viewersOf(to bot.Chat, d bot.Draft) (all []*viewer) {
	replies := d.Kind == bot.KindNotice || d.Kind == bot.KindQuestion && d.Task == "" || d.IsFile()
	for _, v := range h.viewers {
		switch {
		case !slices.Contains(v.chats, to.ID):
		case replies && v.sent[d.ReplyTo]:
			return []*viewer{v}
		default:
			all = append(all, v)
		}
	}
	return all
}

// keep notes what a terminal that attaches later has to show; mu is held.
func (h *Hub) keep(f Frame) {
	d := f.Draft
	if d.IsFile() {
		return
	}
	ended := d.Kind == bot.KindAnswer && !d.Partial
	h.open = slices.DeleteFunc(h.open, func(old Frame) bool {
		return f.ID != "" && old.ID == f.ID || ended && old.Draft.Task == d.Task
	})
	asks := d.Kind == bot.KindQuestion && (len(d.Buttons) > 0 || !f.Again)
	if d.Task != "" && (d.Kind == bot.KindBoard || asks) {
		h.open = append(h.open, f)
	}
}

// Name implements bot.Platform.
func (h *Hub) Name() string { return Name }

// Limits implements bot.Platform: those of a Terminal.
func (h *Hub) Limits() bot.Limits { return new(Terminal).Limits() }

// Person is the person at the attached terminals.
func (h *Hub) Person() bot.Person { return bot.Person{Platform: Name, ID: h.person, Name: h.person} }

// Post implements bot.Platform. The id is random.
func (h *Hub) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	id := newID()
	return id, h.deliver(ctx, to, id, d, false)
}

// newID is a random id of a message.
func newID() string { return "m" + strings.ToLower(rand.Text()[:16]) }

// Edit implements bot.Platform.
func (h *Hub) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	return h.deliver(ctx, to, id, d, true)
}

// Files implements bot.Filer.
func (h *Hub) Files(bot.Chat) bool { return true }

// Direct implements bot.Director.
func (h *Hub) Direct(_ context.Context, person string) (bot.Chat, error) {
	if person != h.person {
		return bot.Chat{}, fmt.Errorf("only %q uses this terminal: %w", h.person, bot.ErrGone)
	}
	return bot.Chat{Platform: Name, ID: "main", Private: true}, nil
}

// Streams implements bot.Streamer.
func (h *Hub) Streams(bot.Chat) bool { return true }

// Stream implements bot.Streamer.
func (h *Hub) Stream(ctx context.Context, to bot.Chat, d bot.Draft) error {
	d.Kind, d.Partial = bot.KindAnswer, true
	return h.deliver(ctx, to, "", d, true)
}

// Show shows a frame of a hub on a terminal that is attached to it.
func (t *Terminal) Show(ctx context.Context, f Frame) error {
	if f.Draft == nil {
		return errors.New("the frame has no draft")
	}
	return t.deliver(ctx, f.Chat, f.ID, f.draft(), f.Again)
}
