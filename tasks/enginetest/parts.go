// Package enginetest is the suite that every engine must pass, and the parts
// it works with: a platform that records, and models and tools that follow a
// script.
package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/tools"
)

// Chat is the conversation of the suite; Person is who asks in it.
var (
	Chat   = bot.Chat{Platform: "recorder", ID: "room", Private: true}
	Person = bot.Person{Platform: "recorder", ID: "ann", Name: "Ann"}
)

// Post is one draft that a Recorder took.
type Post struct {
	bot.Draft
	Chat bot.Chat
	ID   string
	Edit bool
}

// Recorder is a platform that keeps what it was given.
type Recorder struct {
	// Refuse, when set, decides whether a post fails.
	Refuse func(d bot.Draft) error
	// KeepsSending makes it post even when the caller has gone, as a request that is
	// on its way already does.
	KeepsSending atomic.Bool
	// Keeps makes it a chat whose messages last and can be changed.
	Keeps bool
	// Give writes the content of a file that a message brought along; nil: there is none.
	Give func(ctx context.Context, a bot.Attachment, w io.Writer) error

	mu     sync.Mutex
	posts  []Post
	stream []string
	heard  chan struct{} // closed and replaced at each post
}

// NewRecorder makes an empty recorder.
func NewRecorder() *Recorder { return &Recorder{heard: make(chan struct{})} }

// Name is the platform of Chat.
func (r *Recorder) Name() string { return Chat.Platform }

// Limits are those of a terminal, where nothing lasts, unless it Keeps.
func (r *Recorder) Limits() bot.Limits { return bot.Limits{Ephemeral: !r.Keeps, Edits: r.Keeps} }

// Run is not used: the suite hands messages to the inbox itself.
func (r *Recorder) Run(ctx context.Context, _ func(context.Context, []bot.Message) error) error {
	<-ctx.Done()
	return nil
}

// Post records a draft.
func (r *Recorder) Post(ctx context.Context, to bot.Chat, d bot.Draft) (string, error) {
	if r.Refuse != nil {
		if err := r.Refuse(d); err != nil {
			return "", err
		}
	}
	if err := ctx.Err(); err != nil && !r.KeepsSending.Load() {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	id := fmt.Sprintf("m%d", len(r.posts)+1)
	r.add(Post{Draft: d, Chat: to, ID: id})
	return id, nil
}

// Fetch implements bot.Fetcher.
func (r *Recorder) Fetch(ctx context.Context, _ bot.Chat, a bot.Attachment, w io.Writer) error {
	if r.Give == nil {
		return bot.ErrFileGone
	}
	return r.Give(ctx, a, w)
}

// Edit records a change.
func (r *Recorder) Edit(_ context.Context, to bot.Chat, id string, d bot.Draft) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(Post{Draft: d, Chat: to, ID: id, Edit: true})
	return nil
}

// Streams says that it can in every chat.
func (r *Recorder) Streams(bot.Chat) bool { return true }

// Stream records a frame of a growing answer.
func (r *Recorder) Stream(_ context.Context, _ bot.Chat, d bot.Draft) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stream = append(r.stream, d.Text)
	close(r.heard)
	r.heard = make(chan struct{})
	return nil
}

func (r *Recorder) add(p Post) {
	r.posts = append(r.posts, p)
	close(r.heard)
	r.heard = make(chan struct{})
}

// Posts returns what was posted so far of that kind.
func (r *Recorder) Posts(kind bot.DraftKind) []Post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.posts), func(p Post) bool { return p.Kind != kind })
}

// Streamed returns the frames of growing answers so far.
func (r *Recorder) Streamed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.stream)
}

// Await returns when ok holds, asked again after each post; its error is the
// context's.
func (r *Recorder) Await(ctx context.Context, ok func() bool) error {
	for {
		r.mu.Lock()
		heard := r.heard
		r.mu.Unlock()
		if ok() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-heard:
		}
	}
}

// Model is a model that follows a script. It refuses requests that a real one
// would refuse, and keeps them all.
type Model struct {
	// Answer makes the reply; it may wait for ctx.
	Answer func(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error)
	// Hear writes down what is said in a recording; nil: the model cannot.
	Hear func(ctx context.Context, r llm.Transcription) (llm.Transcript, error)

	mu       sync.Mutex
	requests []llm.Request
	invalid  error
}

// Call implements llm.Model.
func (m *Model) Call(ctx context.Context, r llm.Request, stream func(llm.Delta)) (llm.Reply, error) {
	err := llm.Check(r)
	m.mu.Lock()
	m.requests = append(m.requests, r)
	if err != nil && m.invalid == nil {
		m.invalid = err
	}
	m.mu.Unlock()
	if err != nil {
		return llm.Reply{}, &llm.Error{Problem: llm.Invalid, Err: err}
	}
	if stream == nil {
		stream = func(llm.Delta) {}
	}
	return m.Answer(ctx, r, stream)
}

// Transcribe implements executor.Listener.
func (m *Model) Transcribe(ctx context.Context, r llm.Transcription) (llm.Transcript, error) {
	return m.Hear(ctx, r)
}

// QuoteUsage implements executor.Listener: nothing costs money.
func (m *Model) QuoteUsage(_ string, u llm.Usage) llm.Usage { return u }

// Requests returns the calls so far, of one role or of all ("").
func (m *Model) Requests(role string) []llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.requests), func(r llm.Request) bool { return role != "" && r.Role != role })
}

// Invalid is the first complaint about a request; nil when all were valid.
func (m *Model) Invalid() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.invalid
}

// Tools is a toolbox with two groups: "look", whose tool look.up only reads,
// and "book", whose tool book.it must not run twice. A third, "locked", must
// not be called at all.
type Tools struct {
	// Make makes the call; it may wait for ctx.
	Make func(ctx context.Context, tool, arguments string) (tools.Result, error)
	// Serve, when set, makes the call in its place.
	Serve func(ctx context.Context, c tools.Call) (tools.Result, error)
	// Judge, when set, judges tools in place of the rules above.
	Judge func(group, tool string) tools.Verdict
	// NeedSignIn, when set, lists the sign-ins that a group's servers require.
	NeedSignIn func(group, person string) []tools.SignIn
	// Many, when set, are the tools of the group "look".
	Many []tools.Tool
	// Written, when set, writes prompts out.
	Written func(name string, arguments map[string]string) (string, error)

	mu    sync.Mutex
	calls []string
}

// Groups implements tasks.Toolbox.
func (t *Tools) Groups() []tools.Group {
	return []tools.Group{
		{Name: "book", Description: "Books things."},
		{Name: "locked", Description: "Is locked."},
		{Name: "look", Description: "Looks things up.", ReadOnly: true},
		{Name: "secret", Description: "For others.", Allow: []string{"recorder:bob"}},
	}
}

// Tools implements tasks.Toolbox.
func (t *Tools) Tools(_ context.Context, group, person string) ([]tools.Tool, error) {
	if group == "look" && t.Many != nil {
		return t.Many, nil
	}
	names := map[string]string{"look": "look.up", "book": "book.it", "locked": "locked.away", "secret": "secret.it"}
	name, ok := names[group]
	if !ok {
		return nil, fmt.Errorf("no group %q", group)
	}
	if needs := t.SignIns(group, person); len(needs) > 0 {
		return nil, fmt.Errorf("%s requires a sign-in", needs[0].Server)
	}
	return []tools.Tool{{Name: name, Exposed: group, Description: "A tool.", Schema: json.RawMessage(`{"type":"object"}`)}}, nil
}

// SignIns implements tasks.Toolbox.
func (t *Tools) SignIns(group, person string) []tools.SignIn {
	if t.NeedSignIn == nil {
		return nil
	}
	return t.NeedSignIn(group, person)
}

// Verdict implements tasks.Toolbox.
func (t *Tools) Verdict(_ context.Context, group, _, tool string, _ json.RawMessage) tools.Verdict {
	if t.Judge != nil {
		return t.Judge(group, tool)
	}
	switch group {
	case "look", "secret":
		return tools.Verdict{Repeatable: true}
	case "book":
		return tools.Verdict{}
	}
	return tools.Verdict{Refusal: "locked.away needs an approval"}
}

// Call implements tasks.Toolbox.
func (t *Tools) Call(ctx context.Context, c tools.Call) (tools.Result, error) {
	t.mu.Lock()
	t.calls = append(t.calls, c.Tool+string(c.Arguments))
	t.mu.Unlock()
	if t.Serve != nil {
		return t.Serve(ctx, c)
	}
	return t.Make(ctx, c.Tool, string(c.Arguments))
}

// Find implements tasks.Toolbox: it finds the tools that have a word of the
// query in their names.
func (t *Tools) Find(_ context.Context, _, _, query string) ([]string, error) {
	var names []string
	for _, tool := range t.Many {
		if slices.ContainsFunc(strings.Fields(query), func(w string) bool { return strings.Contains(tool.Name, w) }) {
			names = append(names, tool.Name)
		}
	}
	return names, nil
}

// Prompts implements tasks.Toolbox.
func (t *Tools) Prompts(context.Context, string) ([]tools.Prompt, error) { return nil, nil }

// Prompt implements tasks.Toolbox.
func (t *Tools) Prompt(_ context.Context, _, name string, arguments map[string]string) (string, error) {
	if t.Written != nil {
		return t.Written(name, arguments)
	}
	return "", fmt.Errorf("no prompt %q", name)
}

// Changes implements tasks.Toolbox.
func (t *Tools) Changes(context.Context) []tools.Change { return nil }

// Accept implements tasks.Toolbox.
func (t *Tools) Accept(_ context.Context, change string) (tools.Change, error) {
	return tools.Change{}, fmt.Errorf("no change %q", change)
}

// Calls returns the calls so far as tool name and arguments.
func (t *Tools) Calls() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Message is a text of Person in Chat.
func Message(key, text string, at time.Time) bot.Message {
	return bot.Message{Key: key, Chat: Chat, From: Person, ID: key, Text: text, At: at}
}
