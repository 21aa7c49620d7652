// Package api is what programs can do with tasks: start them, follow them,
// read and write their context, decide what waits for a person. The context of a
// task is its journal, told as messages; nothing of it is kept a second time.
// The HTTP API and the MCP server are thin layers over it.
package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
const Platform = tasks.PlatformAPI

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
	// Webhooks are those that it may name for an outcome; "*" is all.
	Webhooks []string
	Addr     string // of the request, for the audit log
}

// Key names the principal in journals and the ledger: "agent:NAME" or
// "api:NAME".
func (p Principal) Key() string {
	if p.Role == RoleAgent {
		return tasks.PlatformAgent + ":" + p.Name
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

// notifies reports whether it may have an outcome sent to that webhook.
func (p Principal) notifies(webhook string) bool {
	return slices.Contains(p.Webhooks, webhook) || slices.Contains(p.Webhooks, "*")
}

// Errors that callers branch on; their texts are sentences for who called. What
// is wrong with a request comes as *InvalidError; tasks.ErrFull,
// tasks.ErrDamaged and others pass through.
var (
	ErrNotFound     = errors.New("no such task, or not one that this token may see")
	ErrForbidden    = errors.New("the token's role may not do this")
	ErrConflict     = errors.New("the task does not take this")
	ErrPrecondition = errors.New("the shared state has changed since it was read")
	ErrBusy         = errors.New("there is too much to do; try again later")
	ErrKeyReused    = errors.New("the idempotency key was used for another request")
)

// PreconditionError is ErrPrecondition with the version that the shared state has.
type PreconditionError struct{ Version int }

func (e *PreconditionError) Error() string {
	return fmt.Sprintf("%v: it has version %d now", ErrPrecondition, e.Version)
}

// Is implements errors.Is.
func (*PreconditionError) Is(target error) bool { return target == ErrPrecondition }

// missingError is ErrNotFound of something within a task, or of an approval.
type missingError string

func (e missingError) Error() string { return string(e) }

// Is implements errors.Is.
func (missingError) Is(target error) bool { return target == ErrNotFound }

// InvalidError says what is wrong with a value of a request and what is allowed.
type InvalidError struct {
	Field  string // JSON name, such as "goal" or "notify.chat"
	Detail string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Detail }

// Sentence is an error as a sentence for who called.
func Sentence(err error) string {
	text := err.Error()
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(text[size:], ".") + "."
}

// Task is a task as programs read it.
type Task struct {
	ID       tasks.ID        `json:"id" doc:"Unguessable, and sortable by time."`
	State    string          `json:"state" doc:"'queued', 'planning', 'working', 'waiting' (for a person), 'answering', 'done', 'failed', 'stopped'."`
	Goal     string          `json:"goal" doc:"The question or what to do."`
	Chat     string          `json:"chat" doc:"The chat of the task: 'telegram:...', 'slack:...', or 'api:TOKEN'."`
	From     string          `json:"from" doc:"Who asked: 'telegram:12345', 'api:TOKEN', 'agent:TOKEN'."`
	Run      bool            `json:"run" doc:"'true': legwork works on it; 'false': agents from outside do."`
	Rounds   int             `json:"rounds" doc:"The number of plans so far."`
	Subtasks []Subtask       `json:"subtasks" doc:"Sub-tasks of all plans, in order."`
	Answer   *string         `json:"answer" doc:"The answer, in Markdown; null before there is one."`
	Reason   string          `json:"reason,omitempty" doc:"The key of the reason why it ended early or failed: 'stopped', 'expired', 'budget', 'idle', ..."`
	Problem  string          `json:"problem,omitempty" doc:"The same as a sentence, in the language of the task."`
	Notify   json.RawMessage `json:"notify,omitempty" doc:"Where the outcome goes, from the request."`
	Waiting  []string        `json:"waiting" doc:"The ids of the approvals that it waits for."`
	Paused   bool            `json:"paused,omitempty" doc:"Legwork is paused; the task continues when an admin resumes it."`
	Usage    Usage           `json:"usage" doc:"What its model calls used so far."`
	Version  int             `json:"version" doc:"The version of the shared state."`
	Seq      int             `json:"seq" doc:"The number of its newest message."`
	Created  Time            `json:"created_at" doc:"When the task was opened."`
	Updated  Time            `json:"updated_at" doc:"When its state last changed."`
	Finished *Time           `json:"finished_at" doc:"When it ended; null before that."`
	Worked   float64         `json:"worked_seconds" doc:"The working time, without waiting for people."`
}

// Subtask is a sub-task as programs read it.
type Subtask struct {
	ID          string           `json:"id" doc:"The number of the plan, and its id in the plan: '1/a'."`
	Name        string           `json:"name" doc:"Tool group, or 'llm_tool' for the model alone."`
	Description string           `json:"description" doc:"What to do."`
	After       []string         `json:"after" doc:"The sub-tasks whose results it sees."`
	State       planner.SubState `json:"state" doc:"'todo', 'working', 'waiting', 'done', 'failed', 'skipped'."`
	Round       int              `json:"round" doc:"The number of its plan, from 1."`
	Result      *string          `json:"result" doc:"The result, shortened; the context has all of it. Null before there is one."`
	Reason      string           `json:"reason,omitempty" doc:"The key of the reason why it failed."`
	Started     *Time            `json:"started_at" doc:"Null before it starts."`
	Ended       *Time            `json:"ended_at" doc:"Null before it ends."`
}

// Usage is what calls cost.
type Usage struct {
	InputTokens  int     `json:"input_tokens" doc:"Tokens of prompts, including those from a cache."`
	CachedTokens int     `json:"cached_input_tokens" doc:"Those tokens of prompts that came from a cache."`
	OutputTokens int     `json:"output_tokens" doc:"Tokens of replies."`
	USD          float64 `json:"usd" doc:"The cost in US dollars, where the price is known."`
}

// usageOf is Usage of what the ledger and journals hold.
func usageOf(u llm.Usage) Usage {
	return Usage{InputTokens: u.Input, CachedTokens: u.CachedInput, OutputTokens: u.Output, USD: usd(u.Cost)}
}

// Context is a part of a task's context.
type Context struct {
	TaskID   tasks.ID                   `json:"task_id" doc:"The id of the task."`
	Created  Time                       `json:"created_at" doc:"When the task was opened."`
	Messages []Message                  `json:"messages" doc:"The messages, in order."`
	Shared   map[string]json.RawMessage `json:"shared_state" doc:"Keys and values that everybody who works on the task shares."`
	Version  int                        `json:"version" doc:"The version of the shared state."`
	Next     *int                       `json:"next_after" doc:"The value of 'after' for more messages; null when there are no more now."`
}
