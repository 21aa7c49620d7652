// Package memory is the built-in MCP server that remembers what people ask to
// be remembered: for one person in one chat, or for all people of a chat.
package memory

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"legwork/tools/builtin/caller"
)

// Options are what the config says about a server. The zero value is valid.
type Options struct {
	MaxTextBytes int `json:"max_text_bytes"` // of one note; 0: 4000
	MaxNotes     int `json:"max_notes"`      // of one person, and of one chat; 0: 500
}

func (o Options) withDefaults() (Options, error) {
	if o.MaxTextBytes < 0 || o.MaxNotes < 0 {
		return o, errors.New("max_text_bytes and max_notes must not be negative; leave them out for the default")
	}
	if o.MaxTextBytes == 0 {
		o.MaxTextBytes = 4000
	}
	if o.MaxNotes == 0 {
		o.MaxNotes = 500
	}
	return o, nil
}

// FileName is the file in dir that holds all notes.
const FileName = "memory.db"

// memory serves the tools.
type memory struct {
	o    Options
	now  func() time.Time
	file *noteFile
}

// New makes the server. The file in dir is made by the first note, and is open
// only while a tool runs, so that several processes can use it in turn.
func New(o Options, dir string, now func() time.Time) (*server.MCPServer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &memory{o: o, now: now, file: &noteFile{path: filepath.Join(dir, FileName)}}
	s := server.NewMCPServer("legwork-memory", "1", server.WithToolCapabilities(false), server.WithRecovery(), server.WithInputSchemaValidation(),
		server.WithInstructions("Keeps notes for later conversations. Remember what people ask for, and facts about them that will matter again; recall before asking them."))
	m.addTools(s)
	return s, nil
}

// The scopes of notes, as tools name them.
const (
	ofPerson = "person"
	ofChat   = "chat"
)

func (m *memory) addTools(s *server.MCPServer) {
	strict := mcp.WithSchemaAdditionalProperties(false)
	scope := func(what string) mcp.ToolOption {
		return mcp.WithString("scope", mcp.Enum(ofPerson, ofChat), mcp.Description(what))
	}
	s.AddTool(mcp.NewTool("remember", mcp.WithTitleAnnotation("Remember"), hints(false, false), strict,
		mcp.WithDescription("Keeps a note for later conversations."),
		mcp.WithString("text", mcp.Required(), mcp.Description("A sentence that can be understood by itself.")),
		mcp.WithArray("about", mcp.MaxItems(maxAbout), mcp.WithStringItems(mcp.MaxLength(maxWord)), mcp.Description("Words to find it by.")),
		scope("Who sees it: the person, in this chat, or everybody in this chat. Default: person.")), answer(m.remember))
	s.AddTool(mcp.NewTool("recall", mcp.WithTitleAnnotation("Recall"), hints(true, false), strict,
		mcp.WithDescription("Finds notes by their words, best match first, or the latest ones."),
		mcp.WithString("query", mcp.MaxLength(maxQuery), mcp.Description("What to find. Default: the latest notes.")),
		scope("Default: both."),
		mcp.WithInteger("limit", mcp.Min(1), mcp.Max(maxRecalled), mcp.Description("Default: 10."))), answer(m.recall))
	s.AddTool(mcp.NewTool("forget", mcp.WithTitleAnnotation("Forget"), hints(false, true), strict,
		mcp.WithDescription("Deletes a note by its id, or the only one that matches a query, or all notes of a scope."),
		mcp.WithString("id", mcp.Description(`As recall shows it, such as "p3".`)),
		mcp.WithString("query", mcp.MaxLength(maxQuery)),
		mcp.WithBoolean("everything"),
		scope("For query and everything. Default: person.")), answer(m.forget))
}

// hints are the annotations of a tool. Each of them can be called again with
// the same arguments without doing more.
func hints(reads, destroys bool) mcp.ToolOption {
	return func(t *mcp.Tool) {
		yes, no := true, false
		t.Annotations.ReadOnlyHint, t.Annotations.DestructiveHint = &reads, &destroys
		t.Annotations.IdempotentHint, t.Annotations.OpenWorldHint = &yes, &no
	}
}

// answer serves a tool; its error is given to the model.
func answer(do func(who caller.Caller, r mcp.CallToolRequest) (string, error)) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		text, err := do(caller.From(r), r)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return mcp.NewToolResultError(modelError(err).Error()), nil
		}
		return mcp.NewToolResultText(text), nil
	}
}

const (
	maxAbout = 10  // words to find a note by
	maxWord  = 50  // characters of one
	maxQuery = 500 // characters
)

func (m *memory) remember(who caller.Caller, r mcp.CallToolRequest) (string, error) {
	n := note{
		Text: cleanText(r.GetString("text", "")), About: r.GetStringSlice("about", nil),
		Chat: who.Chat, At: m.now().UTC(), scope: r.GetString("scope", ofPerson),
	}
	switch {
	case n.Text == "":
		return "", errors.New("the text is empty; write what to remember")
	case len(n.Text) > m.o.MaxTextBytes:
		return "", fmt.Errorf("the text has %d bytes, and %d is the most; shorten it or make several notes", len(n.Text), m.o.MaxTextBytes)
	}
	known := false
	err := m.file.write(func(p *noteTx) error {
		for _, old := range p.notes(n.scope, who) {
			if old.Text == n.Text && old.Chat == n.Chat {
				n.id, known = old.id, true
				return p.put(n, who)
			}
		}
		if have := p.count(n.scope, who); have >= m.o.MaxNotes {
			return fmt.Errorf("%d notes are kept for a %s, and that is the most; forget some first, here or in the other chats where they were told", have, n.scope)
		}
		var err error
		n.id, err = p.add(n, who)
		return err
	})
	if err != nil {
		return "", err
	}
	if known {
		return "Was known already, as " + n.name() + ".", nil
	}
	return "Remembered as " + n.name() + ".", nil
}

// cleanText is a text without what surrounds it and what cannot be shown.
func cleanText(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.TrimSpace(text)
}
