package planner

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"legwork/bot"
	"legwork/files"
	"legwork/internal/clip"
	"legwork/internal/form"
	"legwork/llm"
)

// EventType says what happened.
type EventType string

// The events of a journal. "Of an action" means that Event.Action names it and
// that the event is taken only while Todo lists that action.
const (
	Opened          EventType = "opened"           // first of every journal: the goal and everything that later folds read
	Released        EventType = "released"         // the conversation's earlier tasks let this one go on
	Replied         EventType = "replied"          // of a model action: a usable reply
	Malformed       EventType = "malformed"        // of a model action: a reply that goes back to the model with a reason
	CallFailed      EventType = "call_failed"      // of a model or show action: no attempt succeeded
	Started         EventType = "started"          // of a tool action that must not run twice; with State, perhaps after one without: its server does it as a task of its own
	Returned        EventType = "returned"         // of a tool action: its result, or why there is none
	Asked           EventType = "asked"            // of a tool action: a person must decide first
	Decided         EventType = "decided"          // of an ask action: the decision of a person
	GuidanceAdded   EventType = "guidance_added"   // a person guides the task; agents cannot
	Heard           EventType = "heard"            // of an ask action about a form: a person's words that are its answer only when the person says so
	GuidanceRemoved EventType = "guidance_removed" // the person takes guidance back that no plan or reply has seen, or a part of the question
	Joined          EventType = "joined"           // a further message that is a part of the question
	PromptExpanded  EventType = "prompt_expanded"  // the server wrote out the prompt that the goal names: Text is the goal
	FileRead        EventType = "file_read"        // of a fetch action: the content of a file, or the reason why it cannot be read
	GrantRevoked    EventType = "grant_revoked"    // a person took back a standing grant of this task
	StateSet        EventType = "state_set"        // somebody outside changed the shared state
	NoteAdded       EventType = "note_added"       // somebody outside added to the context: data for the next decision, never a wish
	Answered        EventType = "answered"         // of a task that agents from outside work on: one of them hands in the answer
	Stopped         EventType = "stopped"          // a person wants the task to end
	CutOff          EventType = "cut_off"          // of a stopped task: Text is the beginning of the answer, as people had seen it
	Expired         EventType = "expired"          // the time of Deadline has come; of an ask action when a review expired
	BudgetReached   EventType = "budget_reached"   // nothing that costs starts until a person decides, or the budget is renewed
	BudgetRenewed   EventType = "budget_renewed"   // the budget has room again: it was extended elsewhere, or a new day has begun
	SendStarted     EventType = "send_started"     // of a model action: its first words go out; of a slot: its message is about to be sent
	Sent            EventType = "sent"             // of a slot: its message was sent
	Resumed         EventType = "resumed"          // a driver took the task up again: the time since the last event does not count
)

// Event is one entry of a journal. Exactly the body that belongs to its Type
// is set. Seq counts from 1 without gaps and is given by the store.
type Event struct {
	Seq    int       `json:"seq"`
	At     time.Time `json:"at"`
	Type   EventType `json:"type"`
	Action ActionID  `json:"action,omitzero"`
	By     string    `json:"by,omitempty"` // person's key, "agent:NAME", or empty for legwork itself

	Opening   *Opening                   `json:"opening,omitempty"`
	Reply     *Reply                     `json:"reply,omitempty"`
	Problem   *Problem                   `json:"problem,omitempty"` // malformed, call_failed
	Result    *Result                    `json:"result,omitempty"`
	Question  *Question                  `json:"question,omitempty"`
	Decision  *Decision                  `json:"decision,omitempty"`
	Note      *Note                      `json:"note,omitempty"`      // note_added
	Read      *ReadFile                  `json:"read,omitempty"`      // file_read
	Files     []bot.Attachment           `json:"files,omitempty"`     // guidance_added, joined, heard, decided, note_added: files that it brings along
	Text      string                     `json:"text,omitempty"`      // guidance_added, joined, heard, prompt_expanded, answered, cut_off
	Message   string                     `json:"message,omitempty"`   // guidance_added, joined, heard, decided: platform id of the message; sent: id of the sent message
	Earlier   []bot.Quoted               `json:"earlier,omitempty"`   // guidance_added, joined, heard: messages that it brings along, as material
	Unread    string                     `json:"unread,omitempty"`    // heard: what follows Text in a question, about media that legwork cannot read
	Until     time.Time                  `json:"until,omitzero"`      // joined: as Opening.Until
	Part      string                     `json:"part,omitempty"`      // guidance_added: of a correction of a part of the question: the new text of that part
	Of        int                        `json:"of,omitempty"`        // guidance_added: seq of the event whose text it corrects; guidance_removed: of the guidance or the part; grant_revoked: of the decision
	Grant     string                     `json:"grant,omitempty"`     // started: which standing grant let the call be made
	State     json.RawMessage            `json:"state,omitempty"`     // started: by which the call goes on at its server after a restart
	Instead   string                     `json:"instead,omitempty"`   // sent: id of the slot's earlier message, which Message replaces
	Values    map[string]json.RawMessage `json:"values,omitempty"`    // state_set, and decided or expired of a review: null deletes
	Budget    string                     `json:"budget,omitempty"`    // budget_reached: key of the budget
	Overdraft *Overdraft                 `json:"overdraft,omitempty"` // budget_reached: limit and amounts
	Request   *llm.RequestHash           `json:"request,omitempty"`   // replied, malformed, call_failed: hash of the request that the model got
	Slot      string                     `json:"slot,omitempty"`      // send_started, sent: "board" or "answer.1"
	Last      bool                       `json:"last,omitempty"`      // sent: the whole outcome is sent
}

// Opening is the body of Opened.
type Opening struct {
	Goal     string           `json:"goal"`
	Chat     bot.Chat         `json:"chat"`
	From     bot.Person       `json:"from"`
	Message  string           `json:"message,omitempty"`  // platform id of the asking message
	Until    time.Time        `json:"until,omitzero"`     // what the person sends until then is a part of the question; zero: nothing is
	Earlier  []bot.Quoted     `json:"earlier,omitempty"`  // messages that it brings along, as material
	Files    []bot.Attachment `json:"files,omitempty"`    // that it brings along
	Wordless bool             `json:"wordless,omitempty"` // it is nothing but files: Goal only names them, and a person is asked what to do with them
	Language string           `json:"language"`           // of the texts: en, zh, ru
	Timezone string           `json:"timezone"`           // IANA name
	Limits   Limits           `json:"limits"`
	Queued   bool             `json:"queued,omitempty"`  // set by the store: waits for Released before its first decision
	Preview  bool             `json:"preview,omitempty"` // a person decides about the first plan before anything runs
	Model    string           `json:"model,omitempty"`   // configured model that the person has chosen; empty for the usual ones
	Groups   []string         `json:"groups,omitzero"`   // tool groups that were open to the person: once the task has read what outsiders wrote, it gains no others
	Prompt   *PromptRef       `json:"prompt,omitempty"`  // the goal is to be written out by a server first
	Intro    string           `json:"intro,omitempty"`   // a line that the outcome begins with, where no message asked for it

	External bool     `json:"external,omitempty"` // no model works on it: agents from outside do, and one hands in the answer
	Notify   *Notify  `json:"notify,omitempty"`   // where the outcome goes, too
	Only     []string `json:"only,omitzero"`      // of the tool groups that are open to the asker, only these
	Trace    string   `json:"trace,omitempty"`    // W3C traceparent of what asked for it
	Hops     int      `json:"hops,omitempty"`     // how often the work was handed on from one legwork to the next before
	Request  string   `json:"request,omitempty"`  // hash of a program's request with a key: the same key cannot be used for another request

	Parts []Part `json:"parts,omitempty"` // of a question of several messages that is asked again, or of a message without words; see Whole
}

// maxPointed is how much of a message that the person pointed at the history of the
// conversation holds, in bytes.
const maxPointed = 1 << 10

// Brought are the messages that the question brings along, as the history of the
// conversation holds them. A goal without words of its own quotes them already.
func (o *Opening) Brought() (list []bot.Quoted) {
	for _, q := range o.Earlier {
		if strings.Contains(o.Goal, q.Quotation()) {
			continue
		}
		if q.Pointed {
			q.Text = clip.Marked(q.Text, maxPointed)
		}
		list = append(list, q)
	}
	return list
}

// Notify says where the outcome of a task that was started by a program goes.
// At most one of its fields is set.
type Notify struct {
	Chat    *bot.Chat `json:"chat,omitempty"`
	Webhook string    `json:"webhook,omitempty"` // name in the config
}

// Note is the body of NoteAdded.
type Note struct {
	Type    string          `json:"type"` // of the message: "thought", "observation", ...
	Content json.RawMessage `json:"content"`
}

// PromptRef names a prompt of a server.
type PromptRef struct {
	Group     string            `json:"group"`
	Name      string            `json:"name"` // "server/prompt"
	Arguments map[string]string `json:"arguments,omitempty"`
}

// Limits bound one task. They are written into its Opening, so that a change
// of the config never changes an old journal.
type Limits struct {
	Rounds           int           `json:"rounds"`
	Subtasks         int           `json:"subtasks"`
	Parallel         int           `json:"parallel"`
	Turns            int           `json:"turns"`
	MalformedReplies int           `json:"malformed_replies"`      // refused replies in a row before giving up
	TaskTimeout      time.Duration `json:"task_timeout"`           // working time
	AnswerTime       time.Duration `json:"answer_time"`            // for the closing answer after it
	StateKeys        int           `json:"state_keys,omitempty"`   // of the shared state; 0: no limit
	StateBytes       int           `json:"state_bytes,omitempty"`  // of all its keys and values together; 0: no limit
	Asks             int           `json:"asks,omitempty"`         // ask_person calls; 0: no limit
	Reads            int           `json:"reads,omitempty"`        // read_result calls of earlier tasks' results; 0: no limit
	Notes            int           `json:"notes,omitempty"`        // messages of others in the context; 0: no limit
	Changes          int           `json:"changes,omitempty"`      // of the shared state, after which it takes none from outside; 0: no limit
	Reviews          int           `json:"reviews,omitempty"`      // how often people may be asked to review the shared state; 0: never, so that older journals fold as they did
	ReviewTime       time.Duration `json:"review_time,omitempty"`  // how long a review waits for a person, but for that of an External task; 0: for ever
	IdleTimeout      time.Duration `json:"idle_timeout,omitempty"` // of an External task: it ends after so long without an event; 0: never
	Parts            int           `json:"parts,omitempty"`        // messages of one question; 0: one, so that older journals fold as they did
	Made             int           `json:"made,omitempty"`         // files that are made; 0: no limit
}

// DefaultLimits are those of a config that names none: six rounds of twelve
// sub-tasks.
func DefaultLimits() Limits {
	return Limits{
		Rounds: 6, Subtasks: 12, Parallel: 6, Turns: 20, MalformedReplies: 2, TaskTimeout: 15 * time.Minute, AnswerTime: 2 * time.Minute,
		StateKeys: 100, StateBytes: 64 << 10, Asks: 5, Reads: 40, Notes: 1000, Changes: 10_000, Reviews: 100, ReviewTime: 72 * time.Hour, IdleTimeout: 7 * 24 * time.Hour,
		Parts: 20, Made: 20,
	}
}

// Reply is the body of Replied: the parsed reply of a model. In Decided about a plan it
// holds the plan as a person changed it.
type Reply struct {
	Text      string    `json:"text,omitempty"`
	Plan      []Subtask `json:"plan,omitempty"`
	IsPlan    bool      `json:"is_plan,omitempty"`    // an empty Plan with IsPlan means that nothing is left to do
	WantsFile bool      `json:"wants_file,omitempty"` // of a plan: the person wants a file, which the answer makes
	Queued    bool      `json:"queued,omitempty"`     // set by the store: the plan waits for Released
	Calls     []Call    `json:"calls,omitempty"`
	Usage     llm.Usage `json:"usage,omitzero"`
	Model     string    `json:"model,omitempty"`

	Shown    string    `json:"shown,omitempty"`    // Text as chats show it as an answer; empty: as Text
	Past     Labels    `json:"past,omitzero"`      // of the earlier conversation that stood in the prompt
	Thought  string    `json:"thought,omitempty"`  // the text beside a plan or calls; shortened
	Estimate *Estimate `json:"estimate,omitempty"` // of a plan: what carrying it out may cost
	Confirm  bool      `json:"confirm,omitempty"`  // of a plan: it is so large that a person decides about it first; counts for the first plan alone
}

// Estimate is the most that a plan may cost, the answer included.
type Estimate struct {
	Tokens int64 `json:"tokens"`
	Cost   int64 `json:"cost,omitempty"` // millionths of a US dollar; without those of models whose price is not known
	// Unpriced means that the price of at least one of the models is not known.
	Unpriced bool `json:"unpriced,omitempty"`
}

// Overdraft is the body of BudgetReached: a budget that has no room for the next
// call. Amounts of budgets in money are millionths of a US dollar, of others
// tokens.
type Overdraft struct {
	Budget string `json:"budget"`           // its key in the config: "task_usd"
	Day    string `json:"day,omitempty"`    // of a day's budget: "2026-11-20"
	Who    string `json:"who,omitempty"`    // of a person's or a chat's: whose
	Limit  int64  `json:"limit"`            // as it is now, extensions included
	Spent  int64  `json:"spent"`            // the amount that calls have spent or reserved
	Wanted int64  `json:"wanted,omitempty"` // the most that the next call may take
	Extend int64  `json:"extend,omitempty"` // by how much a yes extends it

	Expires time.Time `json:"expires,omitzero"` // when without a decision, the answer is no; zero: never
}

// Subtask is one entry of a plan after it was read and its dependencies were
// resolved. Ids are qualified by round: "2/a".
type Subtask struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"` // tool group or llm_tool
	Description string   `json:"description"`
	After       []string `json:"after,omitempty"` // qualified ids
}

// Call is one tool call of a sub-task's model turn. Either Tool is set, or one
// of the machine's own tools, or Refusal.
type Call struct {
	ID        string    `json:"id"`   // the model's id of the call, unique within its turn
	Name      string    `json:"name"` // as the model wrote it
	Arguments string    `json:"arguments"`
	Tool      string    `json:"tool,omitempty"`    // "server.tool"
	Refusal   string    `json:"refusal,omitempty"` // why it is not made: unknown tool, unreadable arguments
	Update    *Update   `json:"update,omitempty"`
	Get       *Get      `json:"get,omitempty"`
	Read      *Read     `json:"read,omitempty"`
	Look      *Look     `json:"look,omitempty"`
	Make      *Make     `json:"make,omitempty"`
	Ask       *Question `json:"ask,omitempty"`
	Delegate  *Subtask  `json:"delegate,omitempty"` // ID and After are given by the fold
}

// Update is a call of the machine's tool update_state.
type Update struct {
	Values map[string]json.RawMessage `json:"values"`
}

// Get is a call of the machine's tool get_state.
type Get struct {
	Keys []string `json:"keys,omitempty"` // none: all
}

// Read is a call of the machine's tool read_result: of a result of this task,
// by Result, or of an earlier task of the same chat, by Earlier. What an earlier
// task says is copied into the event, since it may be forgotten meanwhile.
type Read struct {
	Result int `json:"result,omitempty"` // seq of the event that holds it
	Offset int `json:"offset"`           // in bytes

	Earlier   string  `json:"earlier,omitempty"`   // reference of the result, as the prompt lists it
	Text      string  `json:"text,omitempty"`      // of Earlier, from Offset on
	Bytes     int     `json:"bytes,omitempty"`     // of the whole of it
	Untrusted bool    `json:"untrusted,omitempty"` // it holds words of outsiders
	Private   Origins `json:"private,omitempty"`   // where its private data came from
}

// Look is a call of the machine's tool read_attachment. What it shows is copied into
// the event.
type Look struct {
	File   string `json:"file"`             // its name in prompts: "f1"
	Parts  string `json:"parts,omitempty"`  // "3", "3-7", or a name such as "sheet Sales"; empty: all
	Find   string `json:"find,omitempty"`   // only parts with these words
	Offset int    `json:"offset,omitempty"` // in bytes of what would be shown
	Text   string `json:"text"`
	Bytes  int    `json:"bytes,omitempty"` // of the whole of it
}

// Make is a call of the machine's tool make_file. One of Text, Sheets, Chart and File
// says what is made.
type Make struct {
	Name   string          `json:"name"`             // "report.docx": its ending says what is made
	Text   string          `json:"text,omitempty"`   // Markdown of a document, words to be spoken, what a picture shows
	Sheets json.RawMessage `json:"sheets,omitempty"` // of a workbook or table
	Chart  json.RawMessage `json:"chart,omitempty"`
	File   string          `json:"file,omitempty"` // a file of the task that is sent as it is: its name in prompts, or that of a made one

	Caption string `json:"caption,omitempty"` // one line for the person
}

// Labels says what may have gone into a text.
type Labels struct {
	Outside bool    `json:"outside,omitempty"` // words of outsiders
	Private Origins `json:"private,omitempty"` // private data, and where it came from
}

// With returns the labels of both.
func (l Labels) With(more Labels) Labels {
	return Labels{Outside: l.Outside || more.Outside, Private: l.Private.With(more.Private)}
}

// Origins are names of servers, and names with a colon for what no server returned
// (OriginProgram), sorted, each once. Origins are never written to, only replaced.
type Origins []string

// The origins of texts that no server returned.
const (
	OriginHistory = ":history" // earlier tasks
	OriginProgram = ":program" // agents and programs from outside
	OriginPrompt  = ":prompt"  // a server's prompt
)

// Unlabelled are the labels of a text of which nothing is known.
func Unlabelled() Labels { return Labels{Outside: true, Private: Origins{OriginHistory}} }

// LabelsOf are the labels of a message that words bring along.
func LabelsOf(q bot.Quoted) Labels {
	return Labels{Outside: !q.Own || q.Outside, Private: q.Private}
}

// With returns the origins of both.
func (o Origins) With(more Origins) Origins {
	if len(more) == 0 {
		return o
	}
	all := slices.Concat(o, more)
	slices.Sort(all)
	return slices.Compact(all)
}

// Problem is the body of Malformed and CallFailed.
type Problem struct {
	Code   string    `json:"code"`             // key of the sentence for people
	Reason string    `json:"reason,omitempty"` // malformed: for the model; call_failed: for operators
	Text   string    `json:"text,omitempty"`   // malformed: the reply, shortened; call_failed: the beginning of an answer or result
	Usage  llm.Usage `json:"usage,omitzero"`

	Wait time.Duration `json:"wait,omitempty"` // call_failed: how long the model's endpoint wants to be left alone
}

// Result is the body of Returned.
type Result struct {
	Text      string       `json:"text"`
	Failed    bool         `json:"failed,omitempty"`    // the text says what went wrong
	Unknown   bool         `json:"unknown,omitempty"`   // it was started and its outcome is not known
	Bytes     int          `json:"bytes,omitempty"`     // of the whole result when Text had to be cut
	Show      int          `json:"show,omitempty"`      // how many bytes of Text go to the model at first
	Images    []llm.Image  `json:"images,omitempty"`    // for a model that can see
	Files     []files.File `json:"files,omitempty"`     // made for the person
	Caption   string       `json:"caption,omitempty"`   // of Files
	Returned  []files.File `json:"returned,omitempty"`  // that the tool returned; make_file can send them
	Offers    []string     `json:"offers,omitempty"`    // tools that are offered to the sub-task from now on
	Untrusted bool         `json:"untrusted,omitempty"` // words of outsiders: from now on the task gains nothing
	Private   Origins      `json:"private,omitempty"`   // it is private data, of this server; empty: it is public
	Sources   bool         `json:"sources,omitempty"`   // addresses in it may be visited
	Usage     llm.Usage    `json:"usage,omitzero"`      // of model calls that the server asked for
	// Identity is the sign-in that the call used; nil for none.
	Identity *Identity `json:"identity,omitempty"`
	// Remembered is a note that was kept for later conversations.
	Remembered string `json:"remembered,omitempty"`
	// Secret is the field of a server's form that legwork declined, because it asks
	// for a password or a key.
	Secret string `json:"secret,omitempty"`
}

// Identity is a sign-in at a server that a call used.
type Identity struct {
	Tool   string `json:"tool"`             // "server.tool"
	Person string `json:"person,omitempty"` // key of the person; empty: the sign-in that everybody shares
}

// Question is something a person must decide: the body of Asked, and an
// ask_person call. An asked question is about approvals (Calls), or it is the
// server's own (Form).
type Question struct {
	Text    string    `json:"text,omitempty"` // ask_person
	Choices []string  `json:"choices,omitempty"`
	Expires time.Time `json:"expires,omitzero"`

	Calls  []Approval `json:"calls,omitempty"`  // calls of one turn that are decided together; none: the action's own
	Person string     `json:"person,omitempty"` // key of the only person who may allow Calls, since they use that person's sign-in; empty: anyone who may decide

	Server string          `json:"server,omitempty"` // that asks Form
	Form   *form.Question  `json:"form,omitempty"`
	State  json.RawMessage `json:"state,omitempty"` // the server's, for going on with the answer; opaque
	Live   bool            `json:"live,omitempty"`  // the call is under way and waits for the answer

	SignIn *SignIn `json:"sign_in,omitempty"` // Server waits for a person to sign in; Form then has no fields
}

// SignIn is a sign-in that the server of a call requires.
type SignIn struct {
	Person string   `json:"person,omitempty"` // key of the person who has to sign in; empty: an admin, for everybody
	Scopes []string `json:"scopes,omitempty"` // rights that an earlier sign-in lacks
}

// Approval is one call that a person is to allow: exactly this one.
type Approval struct {
	Call       int    `json:"call"`             // index in its turn
	Tool       string `json:"tool"`             // "server.tool"
	Definition string `json:"definition"`       // hash of the tool's definition
	Hash       string `json:"hash"`             // of tool, definition and arguments
	Values     string `json:"values,omitempty"` // hash of the arguments without free parameters

	Leaves []Leaves `json:"leaves,omitempty"` // what it can carry out; empty: it is asked because it may change things
}

// Leaves is a value of a call that can carry private data out.
type Leaves struct {
	Parameter string   `json:"parameter"`
	To        string   `json:"to"`             // a host, a recipient, or the tool ("server.tool")
	From      []Origin `json:"from,omitempty"` // where the private data came from, the likeliest first
}

// Origin is where private data came from.
type Origin struct {
	Name  string `json:"name"`            // a server, or a name with a colon
	Lines int    `json:"lines,omitempty"` // how many lines of the value stand there; 0: none as it is
}

// Decision is the body of Decided.
type Decision struct {
	Approve bool            `json:"approve,omitempty"`
	Text    string          `json:"text,omitempty"`   // the answer, or why not
	Value   json.RawMessage `json:"value,omitempty"`  // of a form's field; null: left out
	Scope   string          `json:"scope,omitempty"`  // of an approval: this call, or more (ScopeTask, ScopeChat)
	Grants  []Grant         `json:"grants,omitempty"` // what more it lets be called
	Queued  bool            `json:"queued,omitempty"` // set by the store: the plan that is agreed to waits for Released
	Name    string          `json:"name,omitempty"`   // display name of the person who decided; Event.By is their key
}

// The scopes of an approval; empty is this call alone.
const (
	ScopeTask = "task" // the same tool again, in this task
	ScopeChat = "chat" // and in every later task of the chat
)

// Grant is a standing permission to call a tool as long as its definition
// stays the same.
type Grant struct {
	Tool       string `json:"tool"`
	Definition string `json:"definition"`
	Values     string `json:"values,omitempty"` // hash of the arguments that were shown; binds calls that can carry private data out
}

// Usage is the usage of the calls that the event ends.
func (e Event) Usage() llm.Usage {
	switch {
	case e.Reply != nil:
		return e.Reply.Usage
	case e.Problem != nil:
		return e.Problem.Usage
	case e.Result != nil:
		return e.Result.Usage
	case e.Read != nil:
		return e.Read.Usage
	}
	return llm.Usage{}
}
