package slackfake

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

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
func (s *Server) StatusOf(channel, thread string) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := *s.status(channel, thread)
	if s.o.Now().Sub(st.At) > s.span(statusLife) {
		st.Text = ""
	}
	return st
}

// status returns a thread's, made if need be. The caller holds the lock.
func (s *Server) status(channel, thread string) *Status {
	key := channel + " " + thread
	if s.statuses[key] == nil {
		s.statuses[key] = &Status{}
	}
	return s.statuses[key]
}

// endStatus takes the text away, as every post does. The caller holds the lock.
func (s *Server) endStatus(channel, thread string) {
	if st := s.statuses[channel+" "+thread]; st != nil {
		st.Text = ""
	}
}

func (s *Server) setThreadStatus(c call) (answer, *refusal) {
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
func (s *Server) threadOf(c call) (channel, thread string, refused *refusal) {
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

func (s *Server) setSessionStatus(c call) (answer, *refusal) {
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
func (s *Server) setSession(channel, thread, status string) *refusal {
	if !slices.Contains([]string{"processing", "active", "suspended", "closed"}, status) {
		return blame("invalid_status", "status %q of a session", status)
	}
	s.status(channel, thread).Session = status
	s.change()
	return nil
}

func (s *Server) renameSession(c call) (answer, *refusal) {
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
func (s *Server) Stop(channel, thread, user string) error {
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
