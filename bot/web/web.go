// Package web is the chat platform of the page in the browser: the store keeps the posts,
// and an HTTP handler gives them to browsers and takes messages from them.
package web

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/tasks"
)

// Name is the platform of the chats made here.
const Name = "web"

// editGap is the least time between two frames of a post: twenty a second read as a
// stream.
const editGap = 50 * time.Millisecond

// keepFiles is how long the file of a post stays that belongs to no task.
const keepFiles = 90 * 24 * time.Hour

// Store is what the web chat needs of tasks.Store.
type Store interface {
	tasks.Posts
	Known(ctx context.Context, key string) (tasks.Receipt, bool, error)
	Live(ctx context.Context, conversation string) ([]tasks.Live, error)
	Row(ctx context.Context, id tasks.ID) (tasks.Row, error)
	Forget(ctx context.Context, conversation string) (int, error)
	KeepFile(ctx context.Context, r io.Reader, k tasks.Keep) (files.File, error)
	OpenFile(ctx context.Context, id files.ID) (io.ReadSeekCloser, error)
	FileOf(ctx context.Context, id files.ID, match func(tasks.FileUse) bool) (tasks.FileUse, error)
}

// Config is what a Web needs. All fields but Log are required.
type Config struct {
	Store Store
	// Caller is the person who sends a request, as in the chat that the sign-in link came
	// from; false when the caller may not chat.
	Caller func(*http.Request) (tasks.ChatPerson, bool)
	// Attach returns the uploads with these ids that the caller may use. The error is a
	// *problem.Error if the caller can mend it.
	Attach func(r *http.Request, ids []string) ([]bot.Attachment, error)
	// Stop ends all streams of events when it is closed.
	Stop <-chan struct{}
	Now  func() time.Time
	Log  *slog.Logger
}

// Web is a bot.Platform, a bot.Filer, a bot.Answerer, a bot.Director and a bot.Forgetter. A conversation
// belongs to the person who began it.
type Web struct {
	cfg    Config
	hub    hub
	notes  notes
	opened chan struct{} // closed when Run begins
	closed chan struct{} // closed when Run ends
	handle func(context.Context, []bot.Message) error
}

// New makes the platform. It delivers no message before Run.
func New(cfg Config) *Web {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Web{cfg: cfg, opened: make(chan struct{}), closed: make(chan struct{})}
}

// Name implements bot.Platform.
func (w *Web) Name() string { return Name }

// Limits implements bot.Platform: any length, and edits.
func (w *Web) Limits() bot.Limits {
	return bot.Limits{Edits: true, EditGap: editGap, Toasts: true, CanReply: true, ShowsTasks: true}
}

// Run implements bot.Platform.
func (w *Web) Run(ctx context.Context, handle func(context.Context, []bot.Message) error) error {
	w.handle = handle
	close(w.opened)
	<-ctx.Done()
	close(w.closed)
	return nil
}

// deliver hands a message of a browser to the handler of Run.
func (w *Web) deliver(ctx context.Context, m bot.Message) error {
	select {
	case <-w.closed:
		return errStopped
	default:
	}
	select {
	case <-w.opened:
		return w.handle(ctx, []bot.Message{m})
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errStopped = errors.New("the web chat has stopped")

// chatOf is the chat of a conversation.
func chatOf(id string) bot.Chat { return bot.Chat{Platform: Name, ID: id, Private: true} }

// idOf is the id of a conversation in its key.
func idOf(key string) string { return strings.TrimPrefix(key, Name+":") }

// Post implements bot.Platform. A draft with the mark of an earlier one replaces that, so
// that nothing comes twice after a crash.
func (w *Web) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	return w.put(ctx, to, 0, d)
}

// Edit implements bot.Platform. The frames of a growing answer are not stored, but for the
// first one.
func (w *Web) Edit(ctx context.Context, to bot.Chat, id string, d bot.Draft) error {
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return fmt.Errorf("there is no post %q: %w", id, bot.ErrGone)
	}
	if grows(d) && w.hub.grow(to.ID, id, d.Text) {
		return nil
	}
	d.File = nil
	_, err = w.put(ctx, to, number, d)
	return err
}

// grows reports whether a draft is a frame of an answer.
func grows(d bot.Draft) bool { return d.Kind == bot.KindAnswer && d.Partial }

// put stores a draft as a post, and shows it.
func (w *Web) put(ctx context.Context, to bot.Chat, number uint64, d bot.Draft) (string, error) {
	c, err := w.cfg.Store.Conversation(ctx, to.Key())
	if err != nil {
		return "", gone(err)
	}
	p := postOf(d)
	if d.File != nil {
		if p.File, err = w.keep(ctx, to, d.File); err != nil {
			return "", err
		}
	} else if number > 0 {
		if before, err := w.cfg.Store.Post(ctx, to.Key(), number); err == nil {
			p.File = read(before).File // an edit changes the words alone
		}
	}
	p, err = w.store(ctx, c.Owner, tasks.Post{Conversation: to.Key(), Number: number, Mark: d.Mark, Text: d.Text, Body: p.body()}, grows(d))
	return p.ID, gone(err)
}

// store stores a post, and gives it to the browsers of its owner.
func (w *Web) store(ctx context.Context, owner string, post tasks.Post, grows bool) (Post, error) {
	unlock, err := w.hub.lock(ctx, owner)
	if err != nil {
		return Post{}, err
	}
	defer unlock()
	stored, err := w.cfg.Store.PutPost(ctx, post)
	if err != nil {
		return Post{}, err
	}
	p := read(stored)
	w.hub.show(owner, p, grows)
	return p, nil
}

// gone wraps bot.ErrGone around the error for a conversation or post that was deleted.
func gone(err error) error {
	if errors.Is(err, tasks.ErrNoConversation) || errors.Is(err, tasks.ErrNoPost) {
		return fmt.Errorf("%w: %w", bot.ErrGone, err)
	}
	return err
}

// keep keeps the file of a draft. One that its task keeps is not kept again.
func (w *Web) keep(ctx context.Context, to bot.Chat, f *bot.File) (*File, error) {
	if n := len(f.Content); n == 0 || n > bot.MaxFile {
		return nil, fmt.Errorf("the file %s has %d bytes, 1 to %d are allowed: %w", f.BaseName(), n, bot.MaxFile, bot.ErrNoFiles)
	}
	kept := &File{ID: files.IDOf(f.Content), Name: f.BaseName(), Type: f.MediaType(), Bytes: int64(len(f.Content)), As: f.As}
	_, err := w.cfg.Store.FileOf(ctx, kept.ID, func(u tasks.FileUse) bool { return u.Owner == to.Room() && u.Task != "" })
	if !errors.Is(err, files.ErrNone) {
		return kept, err
	}
	_, err = w.cfg.Store.KeepFile(ctx, strings.NewReader(string(f.Content)), tasks.Keep{
		Owner: to.Room(), Name: kept.Name, Type: kept.Type, Until: w.cfg.Now().Add(keepFiles),
	})
	if err != nil {
		return nil, fmt.Errorf("keeping the file of a post: %w", err)
	}
	return kept, nil
}

// Files implements bot.Filer.
func (w *Web) Files(bot.Chat) bool { return true }

// Forgot implements bot.Forgetter: open pages show the conversation as it is now.
func (w *Web) Forgot(ctx context.Context, chat bot.Chat) {
	c, err := w.cfg.Store.Conversation(ctx, chat.Key())
	if err != nil {
		w.cfg.Log.WarnContext(ctx, "open pages not emptied", "chat", chat.Key(), "cause", err)
		return
	}
	w.hub.remove(c.Owner, chat.ID, false)
}

// Direct implements bot.Director: the conversation of a person with legwork's own notices.
// There is none for a person who never wrote here.
func (w *Web) Direct(ctx context.Context, person string) (bot.Chat, error) {
	owner := bot.Person{Platform: Name, ID: person}.Key()
	list, _, err := w.cfg.Store.ConversationsOf(ctx, owner, 0, 1)
	if err != nil {
		return bot.Chat{}, err
	}
	if len(list) == 0 {
		return bot.Chat{}, fmt.Errorf("%s never wrote in the web chat: %w", owner, bot.ErrGone)
	}
	sum := sha256.Sum256([]byte(owner))
	c := chatOf(strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:idLength])
	_, err = w.cfg.Store.Begin(ctx, c.Key(), owner)
	return c, gone(err)
}

// notes are presses that wait for the note which answers them. The zero value is ready.
type notes struct {
	mu      sync.Mutex
	waiting map[string]chan string // by the token of the message
}

// expect returns a channel that gets the note for a token. forget ends the wait.
func (n *notes) expect(token string) (note <-chan string, forget func()) {
	got := make(chan string, 1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting == nil {
		n.waiting = map[string]chan string{}
	}
	n.waiting[token] = got
	return got, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.waiting, token)
	}
}

// Answer implements bot.Answerer: the reply to the request with the press holds the text.
func (w *Web) Answer(_ context.Context, m bot.Message, text string) error {
	w.notes.mu.Lock()
	defer w.notes.mu.Unlock()
	if got := w.notes.waiting[m.Token]; got != nil {
		got <- text
		delete(w.notes.waiting, m.Token)
	}
	return nil
}

// noteTime is how long a press waits for its note.
const noteTime = 5 * time.Second
