// Package contexts is what programs can do with tasks: start them, follow them,
// read and write their context, decide what waits for a person. The context of a
// task is its journal, told as messages; nothing of it is kept a second time.
// The HTTP API and the MCP server are thin layers over it.
package contexts

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/planner"
	"legwork/tasks"
)

// Role is what a token may do.
type Role string

// The roles. Each of the first three may do what those before it may.
const (
	RoleViewer   Role = "viewer"   // read what its chats let it see
	RoleOperator Role = "operator" // start, steer and end tasks, and decide about approvals
	RoleAdmin    Role = "admin"    // extend budgets of all, read the audit log
	RoleAgent    Role = "agent"    // work on tasks as an outside agent; never decides
)

// Platform names the chats of tasks that programs start: bot.Chat{Platform:
// Platform, ID: name of the token, Thread: id of the task}.
const Platform = "api"

// Principal is who calls: a token of the config.
type Principal struct {
	Name string
	Role Role
	// Chats are rooms (bot.Chat.Room) whose tasks it may see and touch; "*" is
	// all, "api:*" every task that a program started.
	Chats []string
	// Groups are the tool groups that its tasks may use, as far as they are open to
	// "api:NAME" at all (groups.X.allow); nil: all of those.
	Groups []string
	Addr   string // of the request, for the audit log
}

// Key names the principal in journals and the ledger: "agent:NAME" or
// "api:NAME".
func (p Principal) Key() string {
	if p.Role == RoleAgent {
		return "agent:" + p.Name
	}
	return Platform + ":" + p.Name
}

// Sees reports whether it may know of tasks in that chat.
func (p Principal) Sees(chat bot.Chat) bool {
	for _, c := range p.Chats {
		if platform, ok := strings.CutSuffix(c, ":*"); c == "*" || c == chat.Room() || ok && platform == chat.Platform {
			return true
		}
	}
	return false
}

// Errors that callers branch on. What is wrong with a request comes as
// *InvalidError; tasks.ErrFull, tasks.ErrDamaged and others pass through.
var (
	ErrNotFound     = errors.New("no such task, or not one that this token may see")
	ErrForbidden    = errors.New("the token's role may not do this")
	ErrConflict     = errors.New("the task no longer takes this")
	ErrPrecondition = errors.New("the shared state has changed since it was read")
	ErrBusy         = errors.New("there is too much to do; try again later")
	ErrPaused       = errors.New("legwork is paused")
	ErrKeyReused    = errors.New("the idempotency key was used for another request")
)

// InvalidError says what is wrong with a value of a request and what is allowed.
type InvalidError struct {
	Field  string // JSON name, such as "goal" or "notify.chat"
	Detail string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

// Task is a task as programs read it.
type Task struct {
	ID       tasks.ID        `json:"id"`
	State    string          `json:"state"` // queued, planning, working, waiting, answering, done, failed, stopped
	Goal     string          `json:"goal"`
	Chat     string          `json:"chat"` // bot.Chat.Key
	From     string          `json:"from"` // key of who asked
	Run      bool            `json:"run"`  // legwork works on it; otherwise agents from outside do
	Rounds   int             `json:"rounds"`
	Subtasks []Subtask       `json:"subtasks"`
	Answer   *string         `json:"answer"`
	Problem  string          `json:"problem,omitempty"` // sentence of what cut it short or made it fail
	Notify   json.RawMessage `json:"notify,omitempty"`
	Waiting  []string        `json:"waiting,omitempty"` // ids of the approvals that it waits for
	Usage    Usage           `json:"usage"`
	Version  int             `json:"version"` // of the shared state
	Seq      int             `json:"seq"`     // of its newest message
	Created  time.Time       `json:"created_at"`
	Updated  time.Time       `json:"updated_at"`
	Finished *time.Time      `json:"finished_at"`
	Worked   float64         `json:"worked_seconds"`
}

// Subtask is a sub-task as programs read it.
type Subtask struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	After       []string         `json:"after"`
	State       planner.SubState `json:"state"`
	Round       int              `json:"round"`
	Result      *string          `json:"result"` // shortened; whole in the context
	Problem     string           `json:"problem,omitempty"`
	Started     *time.Time       `json:"started_at"`
	Ended       *time.Time       `json:"ended_at"`
}

// Usage is what calls cost.
type Usage struct {
	Calls        int     `json:"calls,omitempty"`
	InputTokens  int     `json:"input_tokens"`
	CachedTokens int     `json:"cached_input_tokens"`
	OutputTokens int     `json:"output_tokens"`
	USD          float64 `json:"usd"`
}

// usageOf is Usage of what the ledger and journals hold.
func usageOf(u llm.Usage) Usage {
	return Usage{InputTokens: u.Input, CachedTokens: u.CachedInput, OutputTokens: u.Output, USD: float64(u.Cost) / 1e6}
}

// Message is one entry of a task's context: one event of its journal.
type Message struct {
	Seq        int             `json:"seq"` // from 1, without gaps
	SenderID   string          `json:"sender_id"`
	SenderType string          `json:"sender_type"` // human, agent, tool, system
	Type       string          `json:"type"`        // goal, plan, thought, ...: see Types
	Content    json.RawMessage `json:"content"`
	// Bytes is set when Content had to be shortened: how long the whole of it is.
	// Service.Content reads it in parts.
	Bytes     int       `json:"content_bytes,omitempty"`
	Timestamp time.Time `json:"timestamp"`
}

// Types are the types of messages.
func Types() []string {
	return []string{
		"goal", "plan", "thought", "action", "tool_call", "tool_result", "observation", "human_input", "approval",
		"delegation", "status_update", "answer", "error",
	}
}

// Context is a part of a task's context.
type Context struct {
	TaskID   tasks.ID                   `json:"task_id"`
	Created  time.Time                  `json:"created_at"`
	Messages []Message                  `json:"messages"`
	Shared   map[string]json.RawMessage `json:"shared_state"`
	Version  int                        `json:"version"`
	Next     *int                       `json:"next_after"` // seq to go on after when there is more now; nil when there is not
}

// Approval is something that waits for a person: calls of tools, a question of a
// model or a server, a plan, a budget, a review.
type Approval struct {
	ID       string          `json:"id"` // names task and question; one decision each
	TaskID   tasks.ID        `json:"task_id"`
	Kind     string          `json:"kind"` // calls, question, form, plan, budget, review
	Text     string          `json:"text,omitempty"`
	Choices  []string        `json:"choices,omitempty"`
	Calls    []ApprovalCall  `json:"calls,omitempty"`
	Details  json.RawMessage `json:"details,omitempty"` // of a form, a plan, a budget
	Asked    time.Time       `json:"asked_at"`
	Expires  *time.Time      `json:"expires_at"`
	Goal     string          `json:"goal"`
	Chat     string          `json:"chat"`
	AskedFor string          `json:"asked_for"` // key of who started the task
}

// ApprovalCall is one call of a tool that is to be allowed.
type ApprovalCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Reason    string          `json:"reason,omitempty"`
}
