package slackfake

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"
)

// streams are the messages that grow while the app writes, with the status beside
// them.
type streams struct{ *activity }

// streamLife is how long a stream lives, fed or not. Slack documents none; it
// was measured at about this.
const streamLife = 5 * time.Minute

// maxCard bounds each of a task card's texts and a plan's title.
const maxCard = 256

// States of a stream, as Slack names those it tells.
const (
	StreamLive    = "in_progress"
	StreamDone    = "completed"
	StreamExpired = "expired" // Slack ended it; chat.update can still rescue the message
	StreamStopped = "stopped" // a person pressed Stop
)

// Stream is the state of a message that streams or did.
type Stream struct {
	State   string          `json:"state"`
	Mode    string          `json:"mode"`            // timeline or plan
	Form    string          `json:"form,omitempty"`  // text or chunks, by the first content; the other is refused after
	Text    string          `json:"text,omitempty"`  // Markdown
	Title   string          `json:"title,omitempty"` // of the plan
	Tasks   []Task          `json:"tasks,omitempty"`
	Blocks  json.RawMessage `json:"blocks,omitempty"` // of blocks chunks, in order
	Appends int             `json:"appends"`
	User    string          `json:"user,omitempty"` // recipient
	Team    string          `json:"team,omitempty"`
	Started time.Time       `json:"started"`
}

// Task is one card of a stream.
type Task struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Status  string `json:"status"` // pending, in_progress, complete, error
	Details string `json:"details,omitempty"`
	Output  string `json:"output,omitempty"`
}

// age lets a stream die. The caller holds the lock.
func (s *workspace) age(m *Message) {
	if st := m.Stream; st != nil && st.State == StreamLive && s.o.Now().Sub(st.Started) >= s.span(streamLife) {
		st.State = StreamExpired
	}
}

func (s *streams) startStream(c call) (answer, *refusal) {
	channel, refused := s.place(c.text("channel"))
	if refused != nil {
		return nil, refused
	}
	user, thread := s.users[c.text("recipient_user_id")], s.thread(channel, c.text("thread_ts"))
	mode := or(c.text("task_display_mode"), "timeline")
	switch {
	case mode != "timeline" && mode != "plan":
		return nil, blame("invalid_arguments", "task_display_mode %q", mode)
	case c.text("thread_ts") == "":
		return nil, blame("invalid_thread_ts", "a stream without thread_ts")
	case thread == "":
		return nil, refuse("invalid_thread_ts")
	case channel.User == "" && c.text("recipient_user_id") == "":
		return nil, blame("missing_recipient_user_id", "a stream in a channel without recipient_user_id")
	case channel.User == "" && c.text("recipient_team_id") == "":
		return nil, blame("missing_recipient_team_id", "a stream in a channel without recipient_team_id")
	case c.text("recipient_user_id") != "" && user == nil:
		return nil, refuse("user_not_found")
	case user != nil && c.text("recipient_team_id") != "" && c.text("recipient_team_id") != user.Team:
		return nil, blame("team_not_found", "%s is of team %s, not %s", user.ID, user.Team, c.text("recipient_team_id"))
	}
	m := &Message{Channel: channel.ID, User: BotUser, Thread: thread}
	m.Stream = &Stream{State: StreamLive, Mode: mode, User: c.text("recipient_user_id"), Team: c.text("recipient_team_id"), Started: s.o.Now()}
	if refused := m.Stream.feed(c, false); refused != nil {
		return nil, refused
	}
	s.checkStream(c, m.Stream)
	s.add(m)
	s.endStatus(channel.ID, m.Thread)
	s.echo(channel, m, "")
	return answer{"channel": channel.ID, "ts": m.TS}, nil
}

// live returns the app's message that streams. The caller holds the lock.
func (s *streams) live(c call, stopping bool) (*Channel, *Message, *refusal) {
	channel, m, refused := s.own(c, "message_not_owned_by_app")
	switch {
	case refused != nil:
		return nil, nil, refused
	case m.Stream != nil && m.Stream.State == StreamStopped && stopping:
		return channel, m, nil // how the app leaves the state processing
	case m.Stream != nil && m.Stream.State == StreamStopped:
		return nil, nil, refuse("stopped_by_user")
	case m.Stream == nil || m.Stream.State != StreamLive:
		return nil, nil, refuse("message_not_in_streaming_state")
	}
	return channel, m, nil
}

func (s *streams) appendStream(c call) (answer, *refusal) {
	channel, m, refused := s.live(c, false)
	if refused == nil {
		refused = m.Stream.feed(c, true)
	}
	if refused != nil {
		return nil, refused
	}
	s.checkStream(c, m.Stream)
	m.Stream.Appends++
	s.change()
	return answer{"channel": channel.ID, "ts": m.TS}, nil
}

func (s *streams) stopStream(c call) (answer, *refusal) {
	channel, m, refused := s.live(c, true)
	if refused != nil {
		return nil, refused
	}
	if refused := checkBlocks(c.raw("blocks"), messageBlocks); refused != nil {
		return nil, refused
	}
	if refused := checkMetadata(c.raw("metadata")); refused != nil {
		return nil, refused
	}
	if refused := m.Stream.feed(c, false); refused != nil {
		return nil, refused
	}
	s.checkStream(c, m.Stream)
	if status := c.text("session_status"); status != "" {
		if !s.o.AgentView {
			return nil, refuse("not_authorized")
		}
		if refused := s.setSession(channel.ID, m.Thread, status); refused != nil {
			return nil, refused
		}
	}
	if m.Stream.State == StreamLive {
		m.Stream.State = StreamDone
	}
	if blocks := c.raw("blocks"); !empty(blocks) {
		m.Blocks = blocks
	}
	if c.has("metadata") {
		m.Metadata = c.raw("metadata")
	}
	s.change()
	s.echo(channel, m, "message_changed")
	return answer{"channel": channel.ID, "ts": m.TS, "message": m.wire(channel)}, nil
}

// address finds links, and inCode what is none because it is code.
var (
	address = regexp.MustCompile(`https?://`)
	inCode  = regexp.MustCompile("(?s)```.*?(```|$)|`[^`\n]*`")
)

// feed takes markdown_text or chunks, all of them or none.
func (st *Stream) feed(c call, needed bool) *refusal {
	text, chunks := c.text("markdown_text"), c.raw("chunks")
	switch {
	case text != "" && !empty(chunks):
		return blame("invalid_arguments", "markdown_text and chunks in one call")
	case text == "" && empty(chunks) && needed:
		return blame("no_text", "neither markdown_text nor chunks")
	case text == "" && empty(chunks):
		return nil
	}
	form := "text"
	if text == "" {
		form = "chunks"
	}
	if st.Form != "" && st.Form != form {
		return blame("streaming_mode_mismatch", "the stream was begun with %s, now %s", st.Form, form)
	}
	next := *st
	next.Form, next.Tasks = form, slices.Clone(st.Tasks)
	if refused := next.say(text); refused != nil {
		return refused
	}
	if form == "chunks" {
		var list []json.RawMessage
		_ = json.Unmarshal(chunks, &list) // an array, as was checked
		for i, raw := range list {
			if refused := next.chunk(fmt.Sprintf("chunks/%d", i), raw); refused != nil {
				return refused
			}
		}
	}
	*st = next
	return nil
}

func (st *Stream) say(text string) *refusal {
	if n := utf8.RuneCountInString(text); n > maxMarkdown {
		return blame("msg_too_long", "markdown_text of %d characters, over %d", n, maxMarkdown)
	}
	if utf8.RuneCountInString(st.Text)+utf8.RuneCountInString(text) > maxMarkdown {
		return refuse("msg_too_long") // the whole message
	}
	st.Text += text
	return nil
}

// checkStream finds links in a stream: Slack's methods for streams know no way to
// turn their previews off. The caller holds the lock.
func (s *streams) checkStream(c call, st *Stream) {
	if address.MatchString(inCode.ReplaceAllString(st.Text, "")) {
		s.violate("%s: a link in a stream, whose preview cannot be turned off", c.method)
	}
}

// chunk takes one chunk.
func (st *Stream) chunk(at string, raw json.RawMessage) *refusal {
	var c struct {
		Type, Text, ID, Title, Status, Details, Output string
		Blocks                                         json.RawMessage
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return blame("invalid_chunks", "%s: %v", at, err)
	}
	switch c.Type {
	case "markdown_text":
		if c.Text == "" {
			return blame("invalid_chunks", "%s: no text", at)
		}
		return st.say(c.Text)
	case "plan_update":
		if bad := cardText(c.Title, true); bad != "" {
			return blame("invalid_chunks", "%s: title %s", at, bad)
		}
		st.Title = c.Title
		return nil
	case "task_update":
		return st.task(at, Task{ID: c.ID, Title: c.Title, Status: c.Status, Details: c.Details, Output: c.Output})
	case "blocks":
		return st.blocks(at, c.Blocks)
	}
	return blame("invalid_chunks", "%s: type %q", at, c.Type)
}

// task puts a card up, or changes it: title and status are replaced, details
// and output added to, as was measured.
func (st *Stream) task(at string, t Task) *refusal {
	switch {
	case t.ID == "":
		return blame("invalid_chunks", "%s: no id", at)
	case t.Status != "" && !slices.Contains([]string{"pending", "in_progress", "complete", "error"}, t.Status):
		return blame("invalid_chunks", "%s: status %q", at, t.Status)
	}
	for name, bad := range map[string]string{"title": cardText(t.Title, true), "details": cardText(t.Details, false), "output": cardText(t.Output, false)} {
		if bad != "" {
			return blame("invalid_chunks", "%s: %s %s", at, name, bad)
		}
	}
	i := slices.IndexFunc(st.Tasks, func(other Task) bool { return other.ID == t.ID })
	if i < 0 {
		t.Status = or(t.Status, "pending")
		st.Tasks = append(st.Tasks, t)
		return nil
	}
	old := st.Tasks[i]
	t.Status, t.Details, t.Output = or(t.Status, old.Status), old.Details+t.Details, old.Output+t.Output
	st.Tasks[i] = t
	return nil
}

func cardText(text string, needed bool) string {
	switch n := utf8.RuneCountInString(text); {
	case n == 0 && needed:
		return "is empty"
	case n > maxCard:
		return fmt.Sprintf("has %d characters, over %d", n, maxCard)
	}
	return ""
}

func (st *Stream) blocks(at string, raw json.RawMessage) *refusal {
	if empty(raw) {
		return blame("invalid_chunks", "%s: no blocks", at)
	}
	var all, more []json.RawMessage
	if err := json.Unmarshal(raw, &more); err != nil {
		return blame("invalid_chunks", "%s: %v", at, err)
	}
	if len(st.Blocks) > 0 {
		_ = json.Unmarshal(st.Blocks, &all) // joined here
	}
	joined, err := json.Marshal(append(all, more...))
	if err != nil {
		return blame("invalid_chunks", "%s: %v", at, err)
	}
	if refused := checkBlocks(joined, streamBlocks); refused != nil {
		return refused
	}
	st.Blocks = joined
	return nil
}

// statusLife is how long the status of a thread is shown.
const statusLife = 2 * time.Minute

// Status is what Slack shows at the foot of a thread.
type Status struct {
	Text    string    `json:"text,omitempty"`    // of assistant.threads.setStatus; gone after 2 minutes or with the next post
	At      time.Time `json:"at"`                // of Text
	Session string    `json:"session,omitempty"` // processing, active, suspended or closed
	Title   string    `json:"title,omitempty"`   // of the session
}

// StatusOf is what is shown at the foot of a thread now.
func (s *streams) StatusOf(channel, thread string) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := *s.status(channel, thread)
	if s.o.Now().Sub(st.At) > s.span(statusLife) {
		st.Text = ""
	}
	return st
}

// status returns a thread's, made if need be. The caller holds the lock.
func (s *streams) status(channel, thread string) *Status {
	key := channel + " " + thread
	if s.statuses[key] == nil {
		s.statuses[key] = &Status{}
	}
	return s.statuses[key]
}

// endStatus takes the text away, as every post does. The caller holds the lock.
func (s *streams) endStatus(channel, thread string) {
	if st := s.statuses[channel+" "+thread]; st != nil {
		st.Text = ""
	}
}

func (s *streams) setThreadStatus(c call) (answer, *refusal) {
	channel, thread, refused := s.threadOf(c)
	if refused != nil {
		return nil, refused
	}
	st := s.status(channel, thread)
	st.Text, st.At = c.text("status"), s.o.Now()
	s.change()
	return nil, nil
}

// threadOf finds the thread that a status belongs to. The caller holds the
// lock.
func (s *streams) threadOf(c call) (channel, thread string, refused *refusal) {
	place, refused := s.place(c.text("channel_id"))
	if refused != nil {
		return "", "", refused
	}
	ts := c.text("thread_ts")
	m := s.find(place.ID, ts)
	switch {
	case m == nil:
		return "", "", refuse("thread_not_found")
	case m.Thread != "":
		s.violate("%s: thread_ts %s is a reply; the message above it is %s", c.method, ts, m.Thread)
		ts = m.Thread
	}
	return place.ID, ts, nil
}

func (s *streams) setSessionStatus(c call) (answer, *refusal) {
	switch {
	case !s.o.AgentView:
		return nil, refuse("not_authorized")
	case c.text("channel_id") == "" || c.text("thread_ts") == "":
		return nil, blame("invalid_arguments", "agents.sessions.setStatus needs channel_id and thread_ts in ordinary channels")
	case utf8.RuneCountInString(c.text("title")) > 200:
		return nil, blame("title_too_long", "a title of %d characters", utf8.RuneCountInString(c.text("title")))
	}
	channel, thread, refused := s.threadOf(c)
	if refused == nil {
		refused = s.setSession(channel, thread, c.text("status"))
	}
	if refused != nil {
		return nil, refused
	}
	st := s.status(channel, thread)
	st.Title = or(st.Title, c.text("title"))
	return answer{"status": st.Session, "agent_status": st.Session, "title": st.Title}, nil
}

// setSession changes a session's status. The caller holds the lock.
func (s *streams) setSession(channel, thread, status string) *refusal {
	if !slices.Contains([]string{"processing", "active", "suspended", "closed"}, status) {
		return blame("invalid_status", "status %q of a session", status)
	}
	s.status(channel, thread).Session = status
	s.change()
	return nil
}

func (s *streams) renameSession(c call) (answer, *refusal) {
	if !s.o.AgentView {
		return nil, refuse("not_authorized")
	}
	channel, thread, refused := s.threadOf(c)
	if refused != nil {
		return nil, refused
	}
	st := s.status(channel, thread)
	if st.Session == "" {
		return nil, refuse("session_not_found")
	}
	st.Title = c.text("title")
	s.change()
	return answer{"title": st.Title}, nil
}

// Stop presses the Stop button of a session: it is there while the status is
// processing or the app streams. The app's streams in the thread end, and the
// app is told; the status stays until the app changes it.
func (s *streams) Stop(channel, thread, user string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.stage(channel, user)
	if err != nil {
		return err
	}
	ended := []string{}
	for _, m := range s.messages[channel] {
		s.age(m)
		if m.Thread == thread && m.Stream != nil && m.Stream.State == StreamLive {
			m.Stream.State = StreamStopped
			ended = append(ended, m.TS)
		}
	}
	if len(ended) == 0 && s.status(channel, thread).Session != "processing" {
		return fmt.Errorf("stopping in %s, thread %s: there is no Stop button", channel, thread)
	}
	s.change()
	s.tell(c, user, map[string]any{
		"type": "agent_session_stopped", "channel": channel, "thread_ts": thread, "user": user,
		"event_ts": s.newTS(), "streaming_message_ts": ended,
	})
	return nil
}
