package record

import (
	"encoding/json"
	"time"
)

// Request is a request of a program, with its reply.
type Request struct {
	At, Done time.Time
	Life     int // index into Record.Lives
	Token    string
	Method   string
	Path     string
	Key      string // idempotency key
	Match    string // If-Match
	Body     string
	Status   int // 0: the reply was cut off
	Reply    string
}

// StreamEvent is one event of a stream.
type StreamEvent struct {
	At     time.Time
	Life   int    // index into Record.Lives
	Stream string // the id of the followed task, or "all"
	ID     string // of the event
	Event  string
	Task   string
	Seq    int
	Data   string
}

// All is the stream of all tasks.
const All = "all"

// Message is one message of a context, as in replies and events.
type Message struct {
	TaskID    string          `json:"task_id"`
	Seq       int             `json:"seq"`
	SenderID  string          `json:"sender_id"`
	Type      string          `json:"type"`
	Content   json.RawMessage `json:"content"`
	Timestamp time.Time       `json:"timestamp"`
	Files     []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"files"`
}

// Task is a task in a reply, with the fields that are needed here.
type Task struct {
	ID       string     `json:"id"`
	State    string     `json:"state"`
	Goal     string     `json:"goal"`
	Chat     string     `json:"chat"`
	From     string     `json:"from"`
	Answer   *string    `json:"answer"`
	Version  int        `json:"version"`
	Seq      int        `json:"seq"`
	Finished *time.Time `json:"finished_at"`
}

// Context is a task's context at the end.
type Context struct {
	Messages []Message                  `json:"messages"`
	State    map[string]json.RawMessage `json:"shared_state"`
	Version  int                        `json:"version"`
	Next     *int                       `json:"next_after"`
	Task     Task                       `json:"-"`
}

// Upload is a file that a program brought to legwork.
type Upload struct {
	Input string
	Token string
	ID    string
	Life  int    // of the reply
	Sent  string // the content
	Found string // what stood under the id at the end; empty when there was nothing
}

// Webhook is one request that the webhook got.
type Webhook struct {
	At     time.Time
	ID     string
	Type   string
	Task   Task
	Status int    // the answer; 0: the connection was broken
	Misuse string // why legwork should not have sent it
}

// The webhook of the config.
const (
	WebhookName   = "ops"
	WebhookSecret = "whsec_bGVnd29yaydzIGNyYXNoIGhhcm5lc3MgaGFzIG9uZQ=="
)

// Keys and values of the shared state.
const (
	KeyLog    = "log" // a list that programs append to
	KeyReady  = "ready"
	KeyStatus = "status"

	NeedsReview = "NEEDS_HUMAN_REVIEW"
)

// LogOf is the log that the agents of a context keep in its shared state.
func LogOf(state map[string]json.RawMessage) []string {
	list := []string{}
	_ = json.Unmarshal(state[KeyLog], &list) // it is not there at first
	return list
}

// ReviewOf is how a review ends.
func ReviewOf(in Input) string {
	if Hash(in.ID+" review")%2 == 0 {
		return "approve"
	}
	return "deny"
}
