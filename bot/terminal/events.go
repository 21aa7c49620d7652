package terminal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"legwork/bot"
)

// events is the mode for programs: each line of input is a message, each line
// of output an event, written at once.
type events struct {
	t  *Terminal
	mu sync.Mutex // guards what follows and keeps events whole

	spoken map[string]string // streamed text by task
	shown  shown             // final answers
}

// event is one line of output. Fields that do not belong to its type are left
// out.
type event struct {
	Type    string       `json:"type"` // accepted, board, delta, answer, question, notice, error
	Message string       `json:"message,omitempty"`
	Chat    string       `json:"chat,omitempty"` // name of the conversation; left out for the terminal's own
	Task    string       `json:"task,omitempty"`
	ID      string       `json:"id,omitempty"`
	ReplyTo string       `json:"reply_to,omitempty"`
	Text    *string      `json:"text,omitempty"`
	Reset   bool         `json:"reset,omitempty"` // delta: text replaces what came before
	Failed  *bool        `json:"failed,omitempty"`
	Footer  string       `json:"footer,omitempty"`
	Board   *bot.Board   `json:"board,omitempty"`
	Buttons []bot.Button `json:"buttons,omitempty"`
	Line    int          `json:"line,omitempty"`
}

// request is one line of input.
type request struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Chat     string `json:"chat"`     // name of the conversation; empty for the terminal's own
	Apart    bool   `json:"apart"`    // a question of its own, never guidance for a running task
	Press    string `json:"press"`    // data of a question's button
	ReplyTo  string `json:"reply_to"` // id of an earlier event
	Language string `json:"language"` // BCP 47
}

func newEvents(t *Terminal) *events {
	return &events{t: t, spoken: map[string]string{}, shown: shown{}}
}

func (e *events) run(ctx context.Context, handle handler) error {
	e.t.begin()
	lines, stop := startReading(ctx, e.t.cfg.In)
	for {
		all, more := batch(ctx, lines)
		if err := e.take(ctx, handle, all); err != nil {
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
	if e.t.cfg.Wait == nil {
		return nil
	}
	return e.t.cfg.Wait(ctx)
}

// take hands lines on as one batch and says which messages are stored.
func (e *events) take(ctx context.Context, handle handler, lines []inputLine) error {
	var messages []bot.Message
	for _, l := range lines {
		m, err := e.read(l)
		if err != nil {
			if err := e.write(event{Type: "error", Line: l.number, Text: ptr(err.Error())}); err != nil {
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

// read makes a message of a line: a JSON object, or the text itself. A blank
// line is no message.
func (e *events) read(l inputLine) (bot.Message, error) {
	text := strings.TrimSpace(strings.TrimPrefix(l.text, "\uFEFF"))
	switch {
	case l.tooLong:
		return bot.Message{}, fmt.Errorf("line %d is longer than %d bytes", l.number, maxLine)
	case text == "":
		return bot.Message{}, nil
	case text[0] != '{':
		return e.t.message("", text), nil
	}
	var r request
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return bot.Message{}, fmt.Errorf("line %d is no JSON object with id and text: %w", l.number, err)
	}
	if r.Press == "" && strings.TrimSpace(r.Text) == "" {
		return bot.Message{}, fmt.Errorf("line %d has no text", l.number)
	}
	m := e.t.message(r.ID, r.Text)
	m.Press, m.ReplyTo, m.Apart = r.Press, r.ReplyTo, r.Apart
	if r.Chat != "" {
		m.Chat.ID = r.Chat
		m.Key = m.Chat.Key() + ":" + m.ID
	}
	if r.Language != "" {
		m.Language = r.Language
	}
	return m, nil
}

// show shows a draft of any conversation that the program has named.
func (e *events) show(chat bot.Chat, id string, d bot.Draft, _ bool) error {
	ev := event{Type: string(d.Kind), Chat: e.name(chat), Task: d.Task, ID: id, ReplyTo: d.ReplyTo, Buttons: d.Buttons}
	switch {
	case d.Kind == bot.KindBoard:
		ev.Board = d.Board
	case d.Kind == bot.KindAnswer && d.Partial:
		return e.delta(chat, d)
	case d.Kind == bot.KindAnswer:
		if e.repeated(id, d) {
			return nil
		}
		ev.Text, ev.Failed, ev.Footer = &d.Text, &d.Failed, d.Footer
	default:
		ev.Text = &d.Text
	}
	return e.write(ev)
}

// name is how events call a conversation.
func (e *events) name(chat bot.Chat) string {
	if chat.ID == e.t.cfg.Chat {
		return ""
	}
	return chat.ID
}

// repeated notes a final answer and reports whether it was shown already.
func (e *events) repeated(id string, d bot.Draft) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.spoken, d.Task)
	return e.shown.before(id, d)
}

// delta writes what a streamed text gained.
func (e *events) delta(chat bot.Chat, d bot.Draft) error {
	e.mu.Lock()
	old := e.spoken[d.Task]
	e.spoken[d.Task] = d.Text
	e.mu.Unlock()
	ev := event{Type: "delta", Chat: e.name(chat), Task: d.Task}
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
