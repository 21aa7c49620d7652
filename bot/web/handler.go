package web

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/web/problem"
)

// Bounds of requests.
const (
	idLength  = 26 // of the id of a conversation: a ULID, or 128 random bits in base 32
	maxKey    = 64 // bytes
	maxPage   = 200
	usualPage = 50
	maxWords  = 200 // bytes of a search
)

// Handler serves the paths below /v1/chat/.
func (w *Web) Handler() http.Handler {
	mux := http.NewServeMux()
	for pattern, do := range map[string]func(*call) error{
		"GET /v1/chat/events":                          w.events,
		"GET /v1/chat/conversations":                   w.conversations,
		"DELETE /v1/chat/conversations/{id}":           w.forget,
		"GET /v1/chat/conversations/{id}/posts":        w.posts,
		"POST /v1/chat/conversations/{id}/messages":    w.message,
		"POST /v1/chat/conversations/{id}/press":       w.press,
		"POST /v1/chat/conversations/{id}/read":        w.markRead,
		"GET /v1/chat/conversations/{id}/files/{file}": w.file,
	} {
		mux.HandleFunc(pattern, func(to http.ResponseWriter, r *http.Request) { w.serve(to, r, do) })
	}
	mux.HandleFunc("/v1/chat/", func(to http.ResponseWriter, _ *http.Request) {
		problem.New(problem.NotFound, "The web chat has no such call.").Write(to)
	})
	return mux
}

// call is one request of a person.
type call struct {
	w    http.ResponseWriter
	r    *http.Request
	who  tasks.ChatPerson
	chat bot.Chat // of the conversation in the path; zero when there is none
}

func (w *Web) serve(to http.ResponseWriter, r *http.Request, do func(*call) error) {
	who, may := w.cfg.Caller(r)
	if !may {
		problem.New(problem.Forbidden, "You may not chat here: the role of your token does not include it.").Write(to)
		return
	}
	c := &call{w: to, r: r, who: who}
	if id := r.PathValue("id"); id != "" {
		if !validID(id) {
			invalid("path.id", fmt.Sprintf("%d characters of 0-9 and a-z", idLength)).Write(to)
			return
		}
		c.chat = chatOf(id)
	}
	if err := do(c); err != nil {
		w.fail(c, err)
	}
}

func validID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// fail answers with the problem of an error.
func (w *Web) fail(c *call, err error) {
	var p *problem.Error
	var refused *bot.RefusedError
	switch {
	case errors.As(err, &refused):
		p = problem.New(problem.Invalid, "See errors for what to correct.")
		for _, m := range refused.Mistakes {
			place := "body.plan"
			if m.Field != "" {
				place = "body.form." + m.Field
			}
			p.Errors = append(p.Errors, problem.Mistake{Location: place, Message: m.Reason})
		}
	case errors.As(err, &p):
	case errors.Is(err, tasks.ErrNoConversation), errors.Is(err, tasks.ErrNoPost), errors.Is(err, files.ErrNone):
		p = problem.New(problem.NotFound, "There is no such conversation, post or file, or it is another person's.")
	case errors.Is(err, errStopped), c.r.Context().Err() != nil:
		p = problem.New(problem.Stopping, "legwork is stopping; try again when it is back.")
	case errors.Is(err, tasks.ErrFull):
		p = problem.New(problem.Full, "The disk of legwork is full; nothing was stored.")
	default:
		w.cfg.Log.ErrorContext(c.r.Context(), "web chat request failed", "path", c.r.Pattern, "cause", err)
		p = problem.New(problem.Internal, "Something went wrong inside legwork; its log says what. Try again.")
	}
	p.Write(c.w)
}

// invalid is the problem of one wrong value.
func invalid(location, message string) *problem.Error {
	p := problem.New(problem.Invalid, "Correct the values that are listed.")
	p.Errors = []problem.Mistake{{Location: location, Message: message}}
	return p
}

// reply answers with JSON.
func (c *call) reply(status int, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("writing the reply: %w", err)
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // the browser may be gone
	return nil
}

// read reads the body of a request.
func (c *call) read(into any) error {
	if kind, _, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type")); kind != "application/json" {
		return problem.New(problem.Media, "Send the body as application/json.")
	}
	in := json.NewDecoder(c.r.Body)
	in.DisallowUnknownFields()
	if err := in.Decode(into); err != nil {
		return problem.New(problem.Malformed, "The body is not the JSON that this call takes: "+err.Error()+".")
	}
	return nil
}

// own returns the conversation of the path if it belongs to the person.
// tasks.ErrNoConversation.
func (w *Web) own(c *call) (tasks.Conversation, error) {
	found, err := w.cfg.Store.Conversation(c.r.Context(), c.chat.Key())
	if err == nil && found.Owner != c.who.Person.Key() {
		err = tasks.ErrNoConversation
	}
	return found, err
}

// number reads a number of the query; fallback when it is missing.
func (c *call) number(name string, fallback, most uint64) (uint64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 || n > most {
		return 0, invalid("query."+name, fmt.Sprintf("a number from 1 to %d", most))
	}
	return n, nil
}

// page is a page of a list.
type page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"` // for the query value "before"; null at the end
}

func newPage[T any](items []T, more bool, next uint64) page[T] {
	p := page[T]{Items: items}
	if p.Items == nil {
		p.Items = []T{}
	}
	if more {
		p.Next = new(string)
		*p.Next = strconv.FormatUint(next, 10)
	}
	return p
}

// bounds reads where a page begins, and how long it may be.
func (c *call) bounds() (before uint64, limit int, err error) {
	if before, err = c.number("before", 0, 1<<63); err != nil {
		return 0, 0, err
	}
	n, err := c.number("limit", usualPage, maxPage)
	return before, int(n), err
}

// conversation is a conversation as browsers get it.
type conversation struct {
	ID     string    `json:"id"`
	Title  string    `json:"title"`
	LastAt time.Time `json:"last_at"`
	Unread bool      `json:"unread"`
	Task   string    `json:"task"`            // id of a task that works on it; empty for none
	Waits  bool      `json:"waits,omitempty"` // the task waits for the decision of a person
	Found  string    `json:"found,omitempty"` // of a search: a text that holds the words
}

// conversations lists the conversations of a person, or those that hold some words.
func (w *Web) conversations(c *call) error {
	before, limit, err := c.bounds()
	if err != nil {
		return err
	}
	ctx, owner, more := c.r.Context(), c.who.Person.Key(), false
	var list []tasks.Conversation
	if words := strings.TrimSpace(c.r.URL.Query().Get("q")); words != "" {
		list, err = w.cfg.Store.SearchPosts(ctx, owner, strings.Fields(clip.Bytes(words, maxWords)), limit)
	} else {
		list, more, err = w.cfg.Store.ConversationsOf(ctx, owner, before, limit)
	}
	if err != nil {
		return err
	}
	items := make([]conversation, 0, len(list))
	var last uint64
	for _, found := range list {
		last = found.Seq
		one := conversation{ID: idOf(found.Key), Title: found.Title, LastAt: found.At, Unread: found.Seq > found.Read, Found: found.Found}
		live, err := w.cfg.Store.Live(ctx, found.Key)
		if err != nil {
			return err
		}
		if len(live) > 0 {
			row, err := w.cfg.Store.Row(ctx, live[0].Task)
			if err != nil && !errors.Is(err, tasks.ErrNoTask) { // it may have been deleted meanwhile
				return err
			}
			one.Task, one.Waits = string(live[0].Task), row.Waits
		}
		items = append(items, one)
	}
	return c.reply(http.StatusOK, newPage(items, more, last))
}

// posts lists the posts of a conversation.
func (w *Web) posts(c *call) error {
	before, limit, err := c.bounds()
	if err != nil {
		return err
	}
	if _, err := w.own(c); err != nil {
		return err
	}
	list, more, err := w.cfg.Store.PostsOf(c.r.Context(), c.chat.Key(), before, limit)
	if err != nil {
		return err
	}
	items := make([]Post, 0, len(list))
	for _, stored := range list {
		p := read(stored)
		if text, grows := w.hub.text(p.Conversation, p.ID); grows {
			p.Text = text
		}
		items = append(items, p)
	}
	var oldest uint64
	if len(list) > 0 {
		oldest = list[0].Number
	}
	return c.reply(http.StatusOK, newPage(items, more, oldest))
}

// sent is a message of a person.
type sent struct {
	Key     string   `json:"key"` // made by the browser: a message that it sends again has the same
	Text    string   `json:"text"`
	Files   []string `json:"files"` // ids of uploads
	ReplyTo string   `json:"reply_to"`
}

// message takes a message. The conversation begins with its first one.
func (w *Web) message(c *call) error {
	var in sent
	if err := c.read(&in); err != nil {
		return err
	}
	switch {
	case !validKey(in.Key):
		return invalid("body.key", fmt.Sprintf("1 to %d letters, digits or -", maxKey))
	case strings.TrimSpace(in.Text) == "" && len(in.Files) == 0:
		return invalid("body.text", "some text, or files")
	}
	ctx := c.r.Context()
	attached, err := w.cfg.Attach(c.r, in.Files)
	if err != nil {
		return err
	}
	if _, err := w.cfg.Store.Begin(ctx, c.chat.Key(), c.who.Person.Key()); err != nil {
		return err
	}
	text := strings.ReplaceAll(in.Text, "\x00", "")
	p := Post{Kind: kindText, ReplyTo: in.ReplyTo}
	for i := range attached {
		a := &attached[i]
		a.Kind = kindOf(a.Type)
		id, _ := a.Kept()
		p.Files = append(p.Files, File{ID: files.ID(id), Name: a.Name, Type: a.Type, Bytes: a.Bytes})
	}
	p, err = w.store(ctx, c.who.Person.Key(), tasks.Post{Conversation: c.chat.Key(), Mark: "sent " + in.Key, Mine: true, Text: bot.WithoutSecret(text), Body: p.body()}, false)
	if err != nil {
		return err
	}
	m := w.delivery(c, bot.MessageText, in.Key)
	m.ID, m.Text, m.Files, m.ReplyTo = p.ID, text, attached, in.ReplyTo
	if err := w.deliver(ctx, m); err != nil && !errors.Is(err, bot.ErrNotified) {
		return err
	}
	return c.reply(http.StatusAccepted, p)
}

// validKey reports whether a browser may have made a key.
func validKey(key string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-'
	}
	return key != "" && len(key) <= maxKey && strings.IndexFunc(key, odd) < 0
}

// kindOf says how a message shows a file of a type.
func kindOf(mediaType string) bot.AttachmentKind {
	switch kind, _, _ := strings.Cut(mediaType, "/"); kind {
	case "image":
		return bot.AttachPhoto
	case "audio":
		return bot.AttachAudio
	case "video":
		return bot.AttachVideo
	}
	return bot.AttachDocument
}

// delivery is a message of the person, without what it says.
func (w *Web) delivery(c *call, kind bot.MessageKind, key string) bot.Message {
	language, _, _ := strings.Cut(c.r.Header.Get("Accept-Language"), ",")
	language, _, _ = strings.Cut(language, ";")
	if len(language) > 35 { // the longest tag that RFC 5646 asks to support
		language = ""
	}
	return bot.Message{
		Kind: kind, Key: c.chat.Key() + ":" + string(kind) + ":" + key, Chat: c.chat, From: c.who.Person, At: w.cfg.Now(),
		Language: strings.TrimSpace(language), Team: c.who.Team, External: c.who.External,
	}
}

// pressed is the press of a button.
type pressed struct {
	Key  string `json:"key"`
	Post string `json:"post"`
	Data string `json:"data"` // of the button
	Text string `json:"text"` // explains it

	Plan []bot.PlanItem             `json:"plan"` // with the data of a post's plan: as the person changed it
	Form map[string]json.RawMessage `json:"form"` // with the data of a post's form: the values by field
}

// note is the answer to a press.
type note struct {
	Note string `json:"note"` // a sentence in Markdown to show for a moment; may be empty
}

// press takes the press of a button under a post.
func (w *Web) press(c *call) error {
	var in pressed
	if err := c.read(&in); err != nil {
		return err
	}
	if !validKey(in.Key) {
		return invalid("body.key", fmt.Sprintf("1 to %d letters, digits or -", maxKey))
	}
	if _, err := w.own(c); err != nil {
		return err
	}
	number, err := strconv.ParseUint(in.Post, 10, 64)
	if err != nil {
		return invalid("body.post", "the id of a post")
	}
	ctx := c.r.Context()
	stored, err := w.cfg.Store.Post(ctx, c.chat.Key(), number)
	if err != nil {
		return err
	}
	m := w.delivery(c, bot.MessagePress, in.Key)
	if !offers(read(stored), in.Data) {
		switch _, again, err := w.cfg.Store.Known(ctx, m.Key); {
		case err != nil:
			return err
		case again:
			return c.reply(http.StatusAccepted, note{})
		}
		return problem.New(problem.Conflict, "The post has no such button any more.")
	}
	m.ID, m.Data, m.Text, m.Token = in.Post, in.Data, in.Text, rand.Text()
	m.Plan, m.Form = in.Plan, in.Form
	answer, forget := w.notes.expect(m.Token)
	defer forget()
	if err := w.deliver(ctx, m); err != nil && !errors.Is(err, bot.ErrNotified) {
		return err
	}
	select {
	case text := <-answer:
		return c.reply(http.StatusAccepted, note{text})
	case <-time.After(noteTime):
	case <-ctx.Done():
	}
	return c.reply(http.StatusAccepted, note{})
}

// offers reports whether a post has a button, or a form, with that data.
func offers(p Post, data string) bool {
	if p.Form != nil && p.Form.Data == data {
		return true
	}
	for _, b := range p.Buttons {
		if b.Data == data {
			return true
		}
	}
	return false
}

// markRead notes up to which post the person has read a conversation.
func (w *Web) markRead(c *call) error {
	var in struct {
		Seq uint64 `json:"seq"`
	}
	if err := c.read(&in); err != nil {
		return err
	}
	if _, err := w.own(c); err != nil {
		return err
	}
	if err := w.cfg.Store.ReadPosts(c.r.Context(), c.chat.Key(), in.Seq); err != nil {
		return err
	}
	w.hub.noteRead(c.who.Person.Key(), c.chat.ID, in.Seq)
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// forget deletes a conversation with its history and tasks.
func (w *Web) forget(c *call) error {
	found, err := w.own(c)
	if err != nil {
		return err
	}
	ctx, key := c.r.Context(), c.chat.Key()
	live, err := w.cfg.Store.Live(ctx, key)
	if err != nil {
		return err
	}
	if len(live) > 0 {
		return problem.New(problem.Conflict, "A task of this conversation is still running. Stop it first.")
	}
	if _, err := w.cfg.Store.Forget(ctx, key); err != nil {
		return err
	}
	if err := w.cfg.Store.EndConversation(ctx, key); err != nil {
		return err
	}
	w.hub.remove(found.Owner, c.chat.ID, true)
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// file gives the content of a file of a conversation. Browsers show it only where the page
// makes a picture of it.
func (w *Web) file(c *call) error {
	if _, err := w.own(c); err != nil {
		return err
	}
	ctx, id := c.r.Context(), files.ID(c.r.PathValue("file"))
	use, err := w.cfg.Store.FileOf(ctx, id, func(u tasks.FileUse) bool { return u.Owner == c.chat.Room() })
	if err != nil {
		return err
	}
	content, err := w.cfg.Store.OpenFile(ctx, id)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	h := c.w.Header()
	h.Set("Content-Type", use.Type)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": bot.BaseName(use.Name)}))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(c.w, c.r, "", time.Time{}, content)
	return nil
}
