package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"legwork/bot"
)

// events is the mode for programs: each line of input is a message, each line
// of output an event, written at once.
type events struct {
	t  *Terminal
	mu sync.Mutex // guards the fields below and keeps events whole

	streamed map[string]string // streamed text by task
	shown    shownDrafts       // final answers
	sent     map[string]bool   // ids of boards and questions
	open     []question        // without an answer
	ended    bool              // the input has ended
	wake     chan struct{}     // signals that open questions must be declined
}

// event is one line of output. Fields of other types are
// omitted.
type event struct {
	Type    string       `json:"type"` // accepted, board, delta, answer, question, notice, file, error
	Message string       `json:"message,omitempty"`
	Chat    string       `json:"chat,omitempty"` // name of the conversation; omitted for the terminal's own
	Task    string       `json:"task,omitempty"`
	ID      string       `json:"id,omitempty"`
	ReplyTo string       `json:"reply_to,omitempty"`
	Text    *string      `json:"text,omitempty"`
	Reset   bool         `json:"reset,omitempty"` // delta: text replaces what came before
	Failed  *bool        `json:"failed,omitempty"`
	Footer  string       `json:"footer,omitempty"`
	Board   *checklist   `json:"board,omitempty"`
	Buttons []bot.Button `json:"buttons,omitempty"`
	Calls   []bot.Call   `json:"calls,omitempty"` // question: the calls to allow or deny
	File    *bot.File    `json:"file,omitempty"`  // its content in base64
	Files   []string     `json:"files,omitempty"` // file: the paths where made files were saved
	Line    int          `json:"line,omitempty"`
}

// checklist is a bot.Board in an event, with its times in milliseconds.
type checklist struct {
	*bot.Board
	Items []listItem `json:"items,omitempty"`
}

type listItem struct {
	bot.Item
	Elapsed int64 `json:"elapsed_ms,omitempty"`
}

func checklistOf(b *bot.Board) *checklist {
	if b == nil {
		return nil
	}
	list := &checklist{Board: b}
	for _, it := range b.Items {
		list.Items = append(list.Items, listItem{it, it.Elapsed.Milliseconds()})
	}
	return list
}

// request is one line of input.
type request struct {
	ID         string   `json:"id"`
	Text       string   `json:"text"`
	Files      []string `json:"files"`      // paths
	Chat       string   `json:"chat"`       // name of the conversation; empty for the terminal's own
	Standalone *bool    `json:"standalone"` // false: may be guidance for a running task; default: true unless it is a reply
	Press      string   `json:"press"`      // data of a question's button
	ReplyTo    string   `json:"reply_to"`   // id of an earlier event
	Language   string   `json:"language"`   // BCP 47
}

func newEvents(t *Terminal) *events {
	return &events{t: t, streamed: map[string]string{}, shown: shownDrafts{}, sent: map[string]bool{}, wake: make(chan struct{}, 1)}
}

func (e *events) run(ctx context.Context, handle handler) error {
	e.t.reportResumed()
	e.t.open()
	lines, stop := startReading(ctx, e.t.cfg.In)
	for {
		all, more := batch(ctx, lines)
		if err := e.handleLines(ctx, handle, all); err != nil {
			_ = stop() // the write error is what ended it
			return err
		}
		if !more {
			break
		}
	}
	if err := stop(); err != nil {
		return fmt.Errorf("reading input: %w", err)
	}
	return e.finish(ctx, handle)
}

// handleLines hands lines on as one batch and reports which messages are stored.
func (e *events) handleLines(ctx context.Context, handle handler, lines []inputLine) error {
	var messages []bot.Message
	for _, l := range lines {
		m, id, err := e.readRequest(l)
		if err != nil {
			if err := e.write(event{Type: "error", Message: id, Line: l.number, Text: ptr(err.Error())}); err != nil {
				return err
			}
			continue
		}
		if m.Key != "" {
			messages = append(messages, m)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	failed := handle(ctx, messages)
	for _, m := range messages {
		ev := event{Type: "accepted", Message: m.ID}
		if failed != nil {
			ev = event{Type: "error", Message: m.ID, Text: ptr(failed.Error())}
		}
		if err := e.write(ev); err != nil {
			return err
		}
	}
	return nil
}

// readRequest makes a message from a line, a JSON object. On an error, id is the
// object's id if it can be read. A blank line is not a message.
func (e *events) readRequest(l inputLine) (m bot.Message, id string, err error) {
	text := strings.TrimSpace(strings.TrimPrefix(l.text, "\uFEFF"))
	if l.tooLong {
		return m, readID(text), fmt.Errorf("line %d is longer than %d bytes", l.number, maxLine)
	}
	if text == "" {
		return m, "", nil
	}
	if text[0] != '{' {
		return m, "", fmt.Errorf("line %d is not a JSON object with id and text", l.number)
	}
	var r request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return m, readID(text), fmt.Errorf("line %d: %s is a %s; it must be a %s", l.number, wrong.Field, wrong.Value, wrong.Type)
		}
		return m, readID(text), fmt.Errorf("line %d is not a JSON object with id and text: %w", l.number, err)
	}
	if r.Press == "" && strings.TrimSpace(r.Text) == "" && len(r.Files) == 0 {
		return m, r.ID, fmt.Errorf("line %d has no text", l.number)
	}
	var files []bot.Attachment
	for _, path := range r.Files {
		a, err := Attach(path)
		if err != nil {
			return m, r.ID, fmt.Errorf("line %d: %w", l.number, err)
		}
		files = append(files, a)
	}
	m = e.message(r)
	m.Files = files
	return m, "", nil
}

// readID reads the id of a malformed object; "" when it has none before the
// error.
func readID(text string) string {
	in := json.NewDecoder(strings.NewReader(text))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return ""
		}
		var value any
		if err := in.Decode(&value); err != nil {
			return ""
		}
		if id, ok := value.(string); ok && name == "id" {
			return id
		}
	}
	return ""
}

// message is the delivery that a request asks for. A reply to an event of
// this run may answer a question or guide its task; any other message is a new
// question, unless the request says otherwise.
func (e *events) message(r request) bot.Message {
	m := e.t.message(r.ID, r.Text)
	m.ReplyTo = r.ReplyTo
	if r.Press != "" {
		m.Kind, m.Data = bot.MessagePress, r.Press
	}
	e.mu.Lock()
	m.Standalone = !e.sent[r.ReplyTo]
	m.Assumed = !slices.ContainsFunc(e.open, func(q question) bool { return q.id == r.ReplyTo }) // a reply to another event
	e.open = slices.DeleteFunc(e.open, func(q question) bool {
		pressed := slices.ContainsFunc(q.buttons, func(b bot.Button) bool { return b.Data == r.Press && r.Press != "" })
		return pressed || q.id == r.ReplyTo && !q.persists()
	})
	e.mu.Unlock()
	if r.Standalone != nil {
		m.Standalone = *r.Standalone
	}
	if r.Chat != "" {
		m.Chat.ID = r.Chat
		m.Key = m.Chat.Key() + ":" + m.ID
	}
	if r.Language != "" {
		m.Language = r.Language
	}
	return m
}

// show shows a draft of any conversation that the program has named.
func (e *events) show(chat bot.Chat, id string, d bot.Draft, _ bool) error {
	if d.IsFile() {
		path, err := e.t.save(&d)
		if err != nil {
			return errors.Join(err, e.write(event{Type: "error", Task: d.Task, Text: ptr(err.Error())}))
		}
		return e.write(event{Type: "file", Chat: e.chatName(chat), Task: d.Task, ID: id, ReplyTo: d.ReplyTo, Text: &d.Text, Files: []string{path}})
	}
	e.trackQuestion(id, d)
	if d.Kind == bot.KindBoard || d.Kind == bot.KindQuestion {
		e.mu.Lock()
		e.sent[id] = true
		e.mu.Unlock()
	}
	ev := event{Type: string(d.Kind), Chat: e.chatName(chat), Task: d.Task, ID: id, ReplyTo: d.ReplyTo, Buttons: d.Buttons, Calls: d.Calls, File: d.File}
	switch {
	case d.Kind == bot.KindBoard:
		ev.Board = checklistOf(d.Board)
	case d.Kind == bot.KindAnswer && d.Partial:
		return e.delta(chat, d)
	case d.Kind == bot.KindAnswer:
		if e.repeated(id, d) {
			return nil
		}
		if d.Failed {
			e.t.failed.Store(true)
		}
		ev.Text, ev.Failed, ev.Footer = &d.Text, &d.Failed, d.Footer
	default:
		ev.Text = &d.Text
	}
	return e.write(ev)
}

// chatName is the name of a conversation in events.
func (e *events) chatName(chat bot.Chat) string {
	if chat.ID == e.t.cfg.Chat {
		return ""
	}
	return chat.ID
}

// repeated notes a final answer and reports whether it was shown already.
func (e *events) repeated(id string, d bot.Draft) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.streamed, d.Task)
	return e.shown.seen(id, d)
}

// delta writes the text that was added to a stream.
func (e *events) delta(chat bot.Chat, d bot.Draft) error {
	e.mu.Lock()
	old := e.streamed[d.Task]
	e.streamed[d.Task] = d.Text
	e.mu.Unlock()
	ev := event{Type: "delta", Chat: e.chatName(chat), Task: d.Task}
	piece, grew := strings.CutPrefix(d.Text, old)
	if !grew {
		piece, ev.Reset = d.Text, true
	} else if piece == "" {
		return nil
	}
	ev.Text = &piece
	return e.write(ev)
}

// write writes one event with one write.
func (e *events) write(ev event) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(ev); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	_, err := e.t.cfg.Out.Write(b.Bytes())
	return err
}

func ptr[T any](v T) *T { return &v }

// finish waits until all tasks have answered, and declines questions that they
// ask meanwhile.
func (e *events) finish(ctx context.Context, handle handler) error {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	notify(e.wake)
	return e.t.waitForTasks(ctx, e.wake, func() error { return e.decline(ctx, handle) })
}

// decline answers the open questions after the end of the input.
func (e *events) decline(ctx context.Context, handle handler) error {
	e.mu.Lock()
	open := e.open
	e.open = nil
	e.mu.Unlock()
	for _, q := range open {
		if q.task == "" {
			continue
		}
		if err := handle(ctx, []bot.Message{e.t.declineMessage(q)}); err != nil && ctx.Err() == nil {
			if err := e.write(event{Type: "error", Text: ptr(err.Error())}); err != nil {
				return err
			}
		}
	}
	return nil
}

// trackQuestion notes which questions are open.
func (e *events) trackQuestion(id string, d bot.Draft) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = slices.DeleteFunc(e.open, func(q question) bool {
		return q.id == id || d.Kind == bot.KindAnswer && !d.Partial && q.task == d.Task
	})
	if d.Kind == bot.KindQuestion {
		if e.open = append(e.open, questionOf(id, d)); e.ended {
			notify(e.wake)
		}
	}
}
