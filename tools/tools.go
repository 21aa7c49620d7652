// Package tools offers groups of tools from MCP servers: built-in servers in the
// process, others on standard input and output or by HTTP. The servers run in the
// background. The config sets the rules for calls. When a server changes the
// definition of a tool, the tool is quarantined until an admin accepts the change. So
// are the new tools of a server with hold_new_tools.
package tools

import (
	"context"
	"encoding/json"

	"legwork/internal/form"
	"legwork/tools/client"
)

// Group is a group of tools as the planner sees it.
type Group struct {
	Name         string
	Description  string
	Instructions string   // added to the prompts of its sub-tasks
	Model        string   // configured model for its sub-tasks; empty for the role's
	Allow        []string // keys of persons and chats that may use it; empty or "*": everybody
	ReadOnly     bool     // every tool of it is known to change nothing
	Files        bool     // its tools may be given files of the task
}

// Tool is one tool of a group.
type Tool struct {
	Name        string // "server.tool"
	Exposed     string // the same for models: [a-zA-Z0-9_-]{1,64}, distinct, and never changing for a Name
	Description string
	Schema      json.RawMessage // the server's inputSchema, whole
	ReadOnly    bool            // known to change nothing
	Repeatable  bool            // calling it again after a crash does no harm
}

// Verdict is what the rules of a group say about calling a tool.
type Verdict struct {
	Refusal     string  // not empty: the call must not be made; a sentence for the model
	SignIn      *SignIn // it is refused because a person has to sign in first
	Quarantined bool    // it is refused because the server has changed the tool, or because the tool is New
	New         bool    // it is refused because no admin has accepted the tool yet
	NotOffered  string  // it is refused because no model can use it, for this reason
	Ask         bool    // a person must approve of the exact call first
	AskTainted  bool    // Ask holds only once the task has read words of outsiders
	Remembers   bool    // it keeps its argument "text" for later conversations, which people are shown
	Never       bool    // the admin wants no question about this tool, whatever it does
	ReadOnly    bool    // known to change nothing
	Repeatable  bool    // calling it again after a crash does no harm; else `started` is journaled first
	Trusted     bool    // its results are facts of this program, not somebody's words
	AskSecrets  bool    // the forms of its server may ask people for passwords and keys
	Sources     bool    // addresses in its results may be visited: a search engine that the admin chose
	Public      bool    // its results are public
	OpenWorld   bool    // it may carry its arguments to others than this machine and its own service
	Identity    string  // whose sign-in at the server the call uses: person or shared; empty: none
	Definition  string  // hash of the tool's definition as its server gave it; an approval is bound to it

	Schema json.RawMessage // of its arguments
	Free   []string        // patterns of parameters that may carry anything out, as the admin declares
	ActFor []string        // where the call may use the asker's sign-in without asking: schedules, others
}

// Call is one call of a tool of a group.
type Call struct {
	Group     string
	Tool      string          // "server.tool"
	Arguments json.RawMessage // a JSON object; empty: {}
	// Definition is that of the Verdict: when the tool has another one by now,
	// the call is refused. Empty: any.
	Definition string

	// Files are contents that stand for values of Arguments: a text that is a key is
	// replaced. The group must allow it.
	Files map[string]File

	Chat, Person string // keys, without thread or topic; only built-in servers get them
	Private      bool   // the person is alone with legwork in the chat
	Admin        bool   // an admin calls the tool, not a model: sentences about failures speak to them
	Hops         int    // how often the work was handed on, with this call; servers that are not built in get it

	Progress func(Progress)                                            // see client.Call
	Ask      func(context.Context, form.Question) (form.Answer, error) // see client.Call
	Sample   func(context.Context, Sampling) (Sampled, error)          // see client.Call
	Resume   *Resume                                                   // goes on with a call whose Result had a Question, or whose state Began got; nil: a new call
	Began    func(ctx context.Context, state json.RawMessage) error    // see client.Call
}

// File is a file for a server: a copy that lasts until the call has ended.
type File struct {
	Path string
	Type string // MIME type
}

// Result is the outcome of a call.
type Result = client.Result

// SignIn is a sign-in that a server requires of a person.
type SignIn = client.SignIn

// Progress is how far a call is.
type Progress = client.Progress

// ReturnedFile is a content that a tool returned beside its text.
type ReturnedFile = client.ReturnedFile

// Sampling is a model call that a server asks for.
type Sampling = client.Sampling

// Sampled is the reply to a Sampling.
type Sampled = client.Sampled

// Resume answers the question of a Result, or goes on with a task of the server.
type Resume = client.Resume

// ErrWithdrawn is the cause of the end of the context of a call that is not wanted any
// more: see client.Call.
var ErrWithdrawn = client.ErrWithdrawn

// Prompt is a prompt that a server offers to people; its name is "server/prompt".
type Prompt = client.Prompt

// PromptArgument is one argument of a Prompt.
type PromptArgument = client.PromptArgument

// Change is a tool whose definition is not the accepted one: the first that was
// seen, or the last that an admin accepted. Or it is a new tool that waits for an admin.
type Change struct {
	ID         string // short; names the tool and the new definition
	Tool       string // "server.tool"
	New        bool   // no definition of it was ever accepted
	Parts      string // keys of the definition that differ: "description, inputSchema"
	Difference string // in the form of a unified diff; characters that cannot be seen are written as escapes
}

// GroupStatus is the state of a group.
type GroupStatus struct {
	Name        string
	Description string
	Approve     string // when a person is asked: never, writes, always, or patterns with commas between them
	Servers     []ServerStatus
}

// ServerStatus is the state of a server of a group, with what the group offers of it.
type ServerStatus struct {
	Name    string
	Problem string // why it cannot be used; empty: it can
	Tools   []ToolStatus
}

// ToolStatus is what the rules of a group say about a tool.
type ToolStatus struct {
	Name        string // "server.tool"
	Description string
	ReadOnly    bool // known to change nothing
	Asks        bool // a person is asked before each call
}
