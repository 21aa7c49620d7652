package contexts

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"legwork/tasks"
)

// Service does what programs ask for. It is safe for concurrent use.
type Service struct{ Config }

// Config is what a Service works with. All fields are needed.
type Config struct {
	Store tasks.Store
	Inbox *tasks.Inbox // whose rules hold for programs, too
	// Webhooks lists the names that notify may use.
	Webhooks func() []string
	Now      func() time.Time
}

// New makes a Service.
func New(c Config) *Service { return &Service{c} }

var errNotYet = errors.New("not there yet")

// NewTask is a task to be started.
type NewTask struct {
	Goal     string
	Groups   []string // none: all that the principal may use
	Language string   // empty: the config's
	Notify   *Notify
	External bool   // run: false
	Key      string // idempotency key; empty: none
}

// Notify is where the outcome goes, by name.
type Notify struct {
	Chat    string // "slack:C1"; one that the principal sees
	Webhook string
}

// Start starts a task; again is true when the idempotency key was used before
// for the same request: then it is that task. *InvalidError, ErrForbidden,
// ErrBusy, ErrKeyReused, tasks.ErrFull.
func (s *Service) Start(ctx context.Context, p Principal, n NewTask) (t Task, again bool, err error) {
	return Task{}, false, errNotYet
}

// Get reads a task. ErrNotFound.
func (s *Service) Get(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	return Task{}, errNotYet
}

// Wait is Get as soon as the task is over, or ctx ends: then it is the task as it
// stands, without an error.
func (s *Service) Wait(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	return Task{}, errNotYet
}

// Query chooses tasks.
type Query struct {
	States []string
	Chat   string   // room; empty: all that the principal sees
	Before tasks.ID // the last of the page before
	Limit  int      // 1 to 200; 0: 50
}

// Listed is a task in a list.
type Listed struct {
	ID      tasks.ID  `json:"id"`
	State   string    `json:"state"`
	Goal    string    `json:"goal"` // its beginning
	Chat    string    `json:"chat"`
	From    string    `json:"from"`
	Run     bool      `json:"run"`
	Rounds  int       `json:"rounds"`
	Waits   bool      `json:"waits_for_person"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// List lists tasks, the newest first; next is the Before of the next page, empty
// at the end.
func (s *Service) List(ctx context.Context, p Principal, q Query) (list []Listed, next tasks.ID, err error) {
	return nil, "", errNotYet
}

// ContextQuery chooses messages.
type ContextQuery struct {
	After int      // only messages with a higher seq
	Types []string // none: all
	Limit int      // 1 to 1000; 0: 200
}

// Context reads messages and the shared state.
func (s *Service) Context(ctx context.Context, p Principal, id tasks.ID, q ContextQuery) (Context, error) {
	return Context{}, errNotYet
}

// Content is a part of the whole content of one message, as JSON text: at most
// limit bytes (0: 64 KiB) from offset on, cut between characters; next is the
// offset of the next part, 0 at the end, bytes the length of it all.
func (s *Service) Content(ctx context.Context, p Principal, id tasks.ID, seq, offset, limit int) (part string, next, bytes int, err error) {
	return "", 0, 0, errNotYet
}

// NewMessage is something to be added to a context.
type NewMessage struct {
	Type    string
	Content json.RawMessage // any JSON
	Key     string          // idempotency key; empty: none
}

// Add adds a message: one of type human_input by a person is guidance for the
// next decision; everything else is data that it sees. ErrConflict when the task
// takes none any more.
func (s *Service) Add(ctx context.Context, p Principal, id tasks.ID, m NewMessage) (Message, error) {
	return Message{}, errNotYet
}

// Shared is a task's shared state.
type Shared struct {
	Values   map[string]json.RawMessage `json:"state"`
	Version  int                        `json:"version"`
	Versions map[string]int             `json:"versions"` // at which version each key was set last
	Over     bool                       `json:"over"`     // the task is over: nothing changes any more
}

// Shared reads the shared state.
func (s *Service) Shared(ctx context.Context, p Principal, id tasks.ID) (Shared, error) {
	return Shared{}, errNotYet
}

// AwaitShared is Shared as soon as one of the keys (none: any) was changed after a
// version, the task is over, or ctx ends: then it is the state as it stands,
// without an error.
func (s *Service) AwaitShared(ctx context.Context, p Principal, id tasks.ID, keys []string, since int) (Shared, error) {
	return Shared{}, errNotYet
}

// Merge sets keys of the shared state, a null deletes one. With match, which may
// be nil, only when the state has that version: ErrPrecondition. *InvalidError,
// ErrConflict, ErrForbidden.
func (s *Service) Merge(ctx context.Context, p Principal, id tasks.ID, match *int, values map[string]json.RawMessage) (Shared, error) {
	return Shared{}, errNotYet
}

// Answer hands in the answer of a task that agents from outside work on.
func (s *Service) Answer(ctx context.Context, p Principal, id tasks.ID, text string) (Task, error) {
	return Task{}, errNotYet
}

// Cancel stops a task; what was found is told by the answer.
func (s *Service) Cancel(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	return Task{}, errNotYet
}

// Retry starts a task anew that is over.
func (s *Service) Retry(ctx context.Context, p Principal, id tasks.ID, key string) (Task, error) {
	return Task{}, errNotYet
}

// Approvals lists what waits for a person, the oldest first, in a task or, with an
// empty id, in all that the principal sees.
func (s *Service) Approvals(ctx context.Context, p Principal, id tasks.ID) ([]Approval, error) {
	return nil, errNotYet
}

// Decision is what a person decides.
type Decision struct {
	Approve bool
	Comment string          // why, or the answer to a question
	Value   json.RawMessage // of a form: its fields by name
	Scope   string          // planner.ScopeTask: the same tool again in this task
}

// Decide decides about an approval. ErrForbidden for agents and viewers, and for
// operators where only an admin may; ErrConflict when it was decided already.
func (s *Service) Decide(ctx context.Context, p Principal, approval string, d Decision) (Task, error) {
	return Task{}, errNotYet
}

// Follow calls send for each message of a task after a seq, as they come, until
// the last one was sent (nil), ctx ends, or send fails. idle is called when
// nothing came for a while, as long as it returns nil.
func (s *Service) Follow(ctx context.Context, p Principal, id tasks.ID, after int, types []string, every time.Duration, send func(Message) error, idle func() error) error {
	return errNotYet
}

// FeedMessage is a message in the order of all tasks.
type FeedMessage struct {
	Cursor uint64   `json:"cursor"`
	TaskID tasks.ID `json:"task_id"`
	Message
}

// FollowAll is Follow for all tasks that the principal sees, from a cursor on;
// it does not end by itself. A nil after begins with what comes from now on.
// lost is called when entries after the cursor are no longer kept.
func (s *Service) FollowAll(ctx context.Context, p Principal, after *uint64, types []string, every time.Duration, send func(FeedMessage) error, idle func() error, lost func(newest uint64) error) error {
	return errNotYet
}

// UsageRow is what was spent by what the question groups by: empty for all.
type UsageRow struct {
	User  string `json:"user,omitempty"`
	Chat  string `json:"chat,omitempty"`
	Model string `json:"model,omitempty"`
	Day   string `json:"day,omitempty"`
	Usage
}

// Usage sums what was spent between two days, both included ("2026-11-20"; empty:
// the last 30 days), by user, chat, model, day.
func (s *Service) Usage(ctx context.Context, p Principal, by []string, from, to string) ([]UsageRow, error) {
	return nil, errNotYet
}

// Group is a tool group as programs read it.
type Group struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Approve     string        `json:"approve"`
	Servers     []GroupServer `json:"servers"`
}

// GroupServer is a server of a group.
type GroupServer struct {
	Name    string      `json:"name"`
	Healthy bool        `json:"healthy"`
	Problem string      `json:"problem,omitempty"`
	Tools   []GroupTool `json:"tools"`
}

// GroupTool is a tool of a group.
type GroupTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReadOnly    bool   `json:"read_only"`
	Asks        bool   `json:"asks"` // a person is asked before each call
}

// Groups lists the tool groups that are open to the principal; for admins all.
func (s *Service) Groups(ctx context.Context, p Principal) ([]Group, error) { return nil, errNotYet }

// AuditLog lists entries before a number, the newest first; for admins.
func (s *Service) AuditLog(ctx context.Context, p Principal, before uint64, limit int) ([]tasks.AuditEntry, error) {
	return nil, errNotYet
}
