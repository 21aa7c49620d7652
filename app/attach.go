package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"legwork/app/cli"
	"legwork/app/control"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/i18n"
	"legwork/tasks"
)

// A chat beside a running "legwork serve" attaches to it through the control socket:
//
//	GET /chat?session=S&chat=NAME  a hello, then each terminal.Frame, as JSON lines
//	POST /chat/messages            messages of the person, in a delivery
//	POST /chat/idle                waits for the tasks of the chat; then the frame Idle comes

// hello is the first line of the stream of an attached chat.
type hello struct {
	Language string `json:"language"`
}

// delivery holds messages of an attached chat, or the name of a wait.
type delivery struct {
	Session  string        `json:"session"`
	Messages []bot.Message `json:"messages,omitempty"`
	Idle     string        `json:"idle,omitempty"`
}

// handled is the reply to a delivery.
type handled struct {
	Language string `json:"language"`
	Error    string `json:"error,omitempty"`
	Notified bool   `json:"notified,omitempty"` // the person has read the cause
}

// frameTime is how long an attached chat may take to receive a frame.
const frameTime = 10 * time.Second

// handleChats answers the calls of chats that attach to this process.
func (a *core) handleChats(mux *http.ServeMux) {
	language := func(ctx context.Context) string { return a.ownersLanguage(ctx, a.inbox.CurrentRules().Language) }
	mux.HandleFunc("GET /chat", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		out := http.NewResponseController(w)
		write := func(v any) error {
			_ = out.SetWriteDeadline(time.Now().Add(frameTime)) // the write reports it
			if err := json.NewEncoder(w).Encode(v); err != nil {
				return err
			}
			return out.Flush()
		}
		err := a.hub.Attach(r.Context(), r.FormValue("session"), r.FormValue("chat"),
			func() error { return write(hello{language(r.Context())}) },
			func(f terminal.Frame) error { return write(f) })
		if err != nil && r.Context().Err() == nil {
			a.log.WarnContext(r.Context(), "attached chat ended", "cause", err)
		}
	})
	control.Handle(mux, "/chat/messages", func(ctx context.Context, d delivery) (handled, error) {
		err := a.hub.Handle(ctx, d.Session, d.Messages)
		reply := handled{Language: language(ctx), Notified: errors.Is(err, bot.ErrNotified)}
		if err != nil {
			reply.Error = err.Error()
		}
		return reply, nil
	})
	control.Handle(mux, "/chat/idle", func(ctx context.Context, d delivery) (struct{}, error) {
		return struct{}{}, a.hub.Idle(ctx, d.Session, d.Idle, func(ctx context.Context, conversation string) error { return tasks.Idle(ctx, a.store, conversation) })
	})
}

// attached is a chat whose tasks run in another process.
type attached struct {
	client   *control.Client
	session  string
	language atomic.Pointer[string]
	waits    sync.Map    // of chan struct{} by name; each is closed by its frame
	lost     atomic.Bool // the other process has ended the stream
}

// attach works as talk.run does, in the process that client reaches.
func (talk conversation) attach(ctx context.Context, c cli.Console, config *conf.Config, client *control.Client) error {
	texts, err := i18n.Load(config.TextsDir)
	if err != nil {
		return fmt.Errorf("loading texts: %w", err)
	}
	screen, err := talk.screen(c, config)
	if err != nil {
		return err
	}
	r := &attached{client: client, session: rand.Text()}
	outer := ctx
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	stream, err := client.Stream(ctx, "/chat?"+url.Values{"session": {r.session}, "chat": {talk.Name}}.Encode())
	if err != nil {
		return fmt.Errorf("attaching to the running legwork: %w", err)
	}
	defer stream.Close()
	frames := json.NewDecoder(stream)
	var first hello
	if err := frames.Decode(&first); err != nil {
		return fmt.Errorf("attaching to the running legwork: %w", err)
	}
	r.language.Store(&first.Language)
	screen.Texts, screen.Language = texts, func() string { return *r.language.Load() }
	screen.Wait, screen.Attached = r.wait, true
	screen.Unfinished = func() string {
		if r.lost.Load() {
			return "" // what follows says it
		}
		return "terminal.goes_on"
	}
	screen.Banner = talk.greeting(screen, append(talk.banner, "terminal.attached"))
	t := terminal.New(screen)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r.show(ctx, t, frames)
		leave()
	}()
	err = t.Run(ctx, r.handle)
	leave()
	<-read
	switch {
	case outer.Err() == nil && r.lost.Load():
		_, _ = fmt.Fprintln(c.Err, texts.Text(screen.Language(), "terminal.lost", nil))
		return cli.ErrFailed
	case err == nil && t.Failed() && !screen.Interactive:
		return cli.ErrFailed
	}
	return err
}

// show shows frames until ctx or the stream ends.
func (r *attached) show(ctx context.Context, t *terminal.Terminal, frames *json.Decoder) {
	for {
		var f terminal.Frame
		if err := frames.Decode(&f); err != nil {
			r.lost.Store(ctx.Err() == nil)
			return
		}
		if over, ok := r.waits.LoadAndDelete(f.Idle); ok {
			close(over.(chan struct{}))
		} else if f.Idle == "" && t.Show(ctx, f) != nil && (f.Draft == nil || !f.Draft.IsFile()) {
			return // the terminal reports it; of a file that was not saved, the person has read why
		}
	}
}

// handle hands messages to the other process.
func (r *attached) handle(ctx context.Context, messages []bot.Message) error {
	var reply handled
	if err := r.client.Call(ctx, http.MethodPost, "/chat/messages", delivery{Session: r.session, Messages: messages}, &reply); err != nil {
		return err
	}
	r.language.Store(&reply.Language)
	switch {
	case reply.Notified:
		return fmt.Errorf("%s: %w", reply.Error, bot.ErrNotified)
	case reply.Error != "":
		return errors.New(reply.Error)
	}
	return nil
}

// wait returns when the tasks of the chat are over and all their frames are shown.
func (r *attached) wait(ctx context.Context) error {
	name, over := rand.Text(), make(chan struct{})
	r.waits.Store(name, over)
	defer r.waits.Delete(name)
	if err := r.client.Call(ctx, http.MethodPost, "/chat/idle", delivery{Session: r.session, Idle: name}, nil); err != nil {
		return err
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
