package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"legwork/llm"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"

	"legwork/bot"
	"legwork/i18n"
	"legwork/internal/clip"
	"legwork/planner"
	"legwork/tasks"
)

// Task is a task.
type Task struct {
	ID       tasks.ID        `json:"id" doc:"Unguessable, and sortable by time."`
	State    string          `json:"state" doc:"'queued', 'planning', 'working', 'waiting' (for a person), 'answering', 'done', 'failed', 'stopped'."`
	Goal     string          `json:"goal" doc:"The question or what to do."`
	Earlier  []Quoted        `json:"earlier,omitempty" doc:"The messages that the question brought along as material, oldest first. Left out when there are none."`
	Chat     string          `json:"chat" doc:"The chat of the task: 'telegram:...', 'slack:...', or 'api:TOKEN'."`
	From     string          `json:"from" doc:"Who asked: 'telegram:12345', 'api:TOKEN', 'agent:TOKEN'."`
	FromName string          `json:"from_name,omitempty" doc:"Name of that person, when the platform told it."`
	Run      bool            `json:"run" doc:"'true': legwork works on it; 'false': agents from outside do."`
	Rounds   int             `json:"rounds" doc:"The number of plans so far."`
	Subtasks []Subtask       `json:"subtasks" doc:"Sub-tasks of all plans, in order."`
	Answer   *string         `json:"answer" doc:"The answer, in Markdown; null before there is one."`
	Files    []File          `json:"files,omitempty" doc:"The files that it has made for the person; '/v1/files/{id}' gives them."`
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

// Quoted is a message that a question brought along.
type Quoted struct {
	From    string `json:"from,omitempty" doc:"The display name of its author, if known."`
	Text    string `json:"text" doc:"Its text, in Markdown."`
	At      *Time  `json:"at,omitempty" doc:"When it was written, if known."`
	Pointed bool   `json:"pointed" doc:"True if the person quoted it, replied to it or forwarded it; false if it is part of the thread or of the chat before the question."`
}

// quoted converts the messages that a question brought along.
func quoted(list []bot.Quoted) (out []Quoted) {
	for _, q := range list {
		one := Quoted{From: q.From, Text: q.Text, Pointed: q.Pointed}
		if !q.At.IsZero() {
			one.At = &Time{q.At}
		}
		out = append(out, one)
	}
	return out
}

// Subtask is a sub-task of a task.
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

// Usage is what model calls used.
type Usage struct {
	InputTokens  int `json:"input_tokens" doc:"Tokens of prompts, including those from a cache."`
	CachedTokens int `json:"cached_input_tokens" doc:"Those tokens of prompts that came from a cache."`
	OutputTokens int `json:"output_tokens" doc:"Tokens of replies."`
	Images       int `json:"images,omitempty" doc:"Pictures that were made."`
	AudioSeconds int `json:"audio_seconds,omitempty" doc:"Seconds of audio that were transcribed."`
	Characters   int `json:"spoken_characters,omitempty" doc:"Characters of text that were spoken."`
	// USD is nil where no price is known.
	USD      *float64 `json:"usd" doc:"The cost in US dollars as far as prices are known. Null if no price is known."`
	Unpriced bool     `json:"unpriced" doc:"True if the price of some of it is not known: the real cost is higher than 'usd'."`
}

// usageOf converts the usage of the ledger and of journals.
func usageOf(u llm.Usage) Usage {
	out := Usage{
		InputTokens: u.Input, CachedTokens: u.CachedInput, OutputTokens: u.Output, Unpriced: u.Unpriced,
		Images: u.Images, AudioSeconds: u.AudioSeconds, Characters: u.Characters,
	}
	if u.Cost > 0 || !u.Unpriced {
		cost := usd(u.Cost)
		out.USD = &cost
	}
	return out
}

// shownResult is the longest result of a sub-task in a task, in bytes.
const shownResult = 2000

// Get reads a task. ErrNotFound.
func (s *Service) Get(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	if _, err := s.authorize(ctx, p, policy.OpRead, id); err != nil {
		return Task{}, err
	}
	return s.task(ctx, id)
}

// Wait is Get when the task is over, or when ctx ends, without an error.
func (s *Service) Wait(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	reading := context.WithoutCancel(ctx)
	if _, err := s.authorize(reading, p, policy.OpRead, id); err != nil {
		return Task{}, err
	}
	for {
		changed := s.Store.Changed(id)
		state, err := s.foldedState(reading, id)
		if err != nil {
			return Task{}, err
		}
		if state.Finished() {
			return s.task(reading, id)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return s.task(reading, id)
		}
	}
}

// task reads a task that was seen.
func (s *Service) task(ctx context.Context, id tasks.ID) (Task, error) {
	row, err := s.Store.Row(ctx, id)
	if err != nil {
		return Task{}, readError(id, err)
	}
	state, err := s.foldedState(ctx, id)
	if err != nil {
		return Task{}, err
	}
	opening, err := s.opening(ctx, id)
	if err != nil {
		return Task{}, err
	}
	t := Task{
		ID: id, State: state.Status(), Goal: opening.Goal, Earlier: quoted(opening.Earlier), Chat: row.Chat.Key(), From: row.From.Key(), FromName: row.From.Name, Run: !opening.External,
		Rounds: state.Round, Waiting: waiting(id, state), Usage: usageOf(state.Usage), Version: state.Version, Seq: state.Seq,
		Created: Time{state.Opened}, Updated: Time{state.Last}, Worked: state.Worked.Seconds(),
	}
	if state.Finished() {
		t.Finished = &Time{state.Last}
	} else if s.Inbox.Pause != nil && !opening.External {
		_, t.Paused = s.Inbox.Pause.State()
	}
	if t.Notify, err = notifyJSON(opening.Notify); err != nil {
		return Task{}, err
	}
	j := journal{store: s.Store, id: id}
	read := j.read(ctx)
	t.Subtasks = subtasks(state, read)
	for _, f := range planner.Made(state, read) {
		t.Files = append(t.Files, File(f.File))
	}
	if state.Answer > 0 {
		answer := planner.AnswerOf(read(state.Answer))
		t.Answer = &answer
	}
	if state.Settled() {
		t.Reason = state.Reason
		if t.Problem, err = inbox.ProblemText(ctx, s.Inbox, id, state, opening); err != nil {
			return Task{}, err
		}
	}
	return t, j.err
}

// notifyJSON describes the target of an outcome; nil for none.
func notifyJSON(n *planner.Notify) ([]byte, error) {
	switch {
	case n == nil:
		return nil, nil
	case n.Chat != nil:
		return encode(fields{"chat": n.Chat.Key()})
	}
	return encode(fields{"webhook": n.Webhook})
}

// subtasks describes the sub-tasks of a state.
func subtasks(s planner.State, read planner.Journal) []Subtask {
	list := make([]Subtask, len(s.Subtasks))
	for i, w := range s.Subtasks {
		t := Subtask{ID: w.ID, Name: w.Name, After: make([]string, len(w.After)), State: w.State, Round: w.Round, Reason: w.Reason}
		for n, at := range w.After {
			t.After[n] = s.Subtasks[at].ID
		}
		if read(w.Source).Reply != nil {
			t.Description = planner.Description(w, read)
		}
		if e := read(w.EndSeq); w.State == planner.SubDone && e.Reply != nil {
			result := clip.Marked(e.Reply.Text, shownResult)
			t.Result = &result
		}
		t.Started, t.Ended = timeOrNil(w.StartedAt), timeOrNil(w.EndedAt)
		list[i] = t
	}
	return list
}

// timeOrNil is nil for the zero time.
func timeOrNil(at time.Time) *Time {
	if at.IsZero() {
		return nil
	}
	return &Time{at}
}

// Query selects tasks.
type Query struct {
	States []string
	Chat   string   // room, or a platform such as "slack:*"; empty: all that the principal sees
	Person string   // key of who asked; empty: everybody
	Group  string   // a tool group of one of its sub-tasks; empty: any
	Words  string   // all of them are in the beginning of its goal, in any case
	Before tasks.ID // the last of the page before
	Limit  int      // 1 to 200; 0: 50
}

// filters reports whether rows are to be looked through, for what the store has no
// index of.
func (q Query) filters() bool { return q.Person != "" || q.Group != "" || q.Words != "" }

// matches reports whether a row has what the store has no index of.
func (q Query) matches(r tasks.Row) bool {
	if q.Person != "" && r.From.Key() != q.Person || q.Group != "" && !r.Uses(q.Group) {
		return false
	}
	goal := strings.ToLower(r.Goal)
	return !slices.ContainsFunc(strings.Fields(strings.ToLower(q.Words)), func(w string) bool { return !strings.Contains(goal, w) })
}

// TaskSummary is a task in a list.
type TaskSummary struct {
	ID      tasks.ID `json:"id" doc:"Id of the task."`
	State   string   `json:"state" doc:"As in Task."`
	Goal    string   `json:"goal" doc:"The beginning of the goal."`
	Chat    string   `json:"chat" doc:"The chat of the task."`
	From    string   `json:"from" doc:"Who asked."`
	Name    string   `json:"from_name,omitempty" doc:"Name of that person, when the platform told it."`
	Run     bool     `json:"run" doc:"'true': legwork works on it; 'false': agents from outside do."`
	Groups  []string `json:"groups" doc:"The tool groups of its sub-tasks."`
	Rounds  int      `json:"rounds" doc:"The number of plans so far."`
	Waits   bool     `json:"waits_for_person" doc:"The task waits for the decision of a person."`
	Created Time     `json:"created_at" doc:"When the task was opened."`
	Updated Time     `json:"updated_at" doc:"When its state last changed."`
}

// Limits of lists.
const (
	maxListed     = 200
	defaultListed = 50
	maxLooked     = 10_000 // rows that one page looks through
)

// States are the states of tasks.
func States() []string { return append(inbox.LiveStatuses(), "done", "failed", "stopped") }

// List lists tasks, the newest first. next is the Before of the next page, empty at
// the end. A page that filters may be short, or empty, although there is a next one: it
// looks through so many tasks at most.
func (s *Service) List(ctx context.Context, p Principal, q Query) (list []TaskSummary, next tasks.ID, err error) {
	if err := p.Allowed(policy.OpRead); err != nil {
		return nil, "", err
	}
	for _, state := range q.States {
		if !slices.Contains(States(), state) {
			return nil, "", &InvalidError{"state", fmt.Sprintf("%q is none; there are %s", state, strings.Join(States(), ", "))}
		}
	}
	limit, err := checkLimit(q.Limit, defaultListed, maxListed)
	if err == nil {
		err = checkChat(q.Chat)
	}
	if err != nil {
		return nil, "", err
	}
	if _, made := q.Before.Time(); !made && q.Before != "" {
		return nil, "", &InvalidError{"cursor", "is none that a list gave"}
	}
	page := p.query(q.Chat)
	page.Statuses, page.Before, page.Limit = q.States, q.Before, limit
	if q.filters() {
		page.Limit = maxListed
	}
	list = []TaskSummary{}
	for looked := 0; ; {
		rows, more, err := s.Store.Tasks(ctx, page)
		if err != nil {
			return nil, "", fmt.Errorf("listing tasks: %w", err)
		}
		for i, r := range rows {
			page.Before = r.Task
			if q.matches(r) {
				list = append(list, summary(r))
			}
			if more := more || i < len(rows)-1; len(list) == limit && more {
				return list, r.Task, nil
			}
		}
		if looked += len(rows); !more || len(rows) == 0 {
			return list, "", nil
		}
		if looked >= maxLooked {
			return list, page.Before, nil
		}
	}
}

// summary is a row for programs.
func summary(r tasks.Row) TaskSummary {
	return TaskSummary{
		ID: r.Task, State: r.Status, Goal: r.Goal, Chat: r.Chat.Key(), From: r.From.Key(), Name: r.From.Name, Run: !r.External, Groups: append([]string{}, r.Groups...),
		Rounds: r.Round, Waits: r.Waits, Created: Time{r.Opened}, Updated: Time{r.Changed},
	}
}

// checkChat returns an *InvalidError for a text that is neither a room nor a
// platform; empty is allowed.
func checkChat(chat string) error {
	platform, id, _ := strings.Cut(chat, ":")
	room, _, threaded := strings.Cut(chat, "/")
	switch {
	case chat == "":
		return nil
	case platform == "" || id == "":
		return &InvalidError{"chat", fmt.Sprintf(`%q is no key of a chat; allowed: one such as "slack:C1", and "slack:*" for a whole platform`, clip.Marked(chat, 100))}
	case threaded:
		return &InvalidError{"chat", fmt.Sprintf("%q names a thread; write %q for its whole chat", clip.Marked(chat, 100), clip.Marked(room, 100))}
	}
	return nil
}

// checkLimit returns the limit of a request, or the default for 0.
func checkLimit(n, usual, most int) (int, error) {
	if n < 0 || n > most {
		return 0, &InvalidError{"limit", fmt.Sprintf("is %d; 1 to %d are allowed", n, most)}
	}
	if n == 0 {
		return usual, nil
	}
	return n, nil
}

// languages names the languages of legwork.
func languages() string {
	var codes []string
	for _, l := range i18n.Languages() {
		codes = append(codes, l.Code)
	}
	return strings.Join(codes, ", ")
}
