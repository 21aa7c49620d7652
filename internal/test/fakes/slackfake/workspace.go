package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The workspace and the app.
const (
	Team    = "T1"
	AppID   = "A1"
	BotUser = "UBOT"
	BotID   = "B1"
	BotName = "legwork"
)

// World is who and what there is in a workspace.
type World struct {
	Users    []User    `json:"users"`
	Channels []Channel `json:"channels"`
}

func (w World) empty() bool { return len(w.Users) == 0 && len(w.Channels) == 0 }

// User is a person.
type User struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Team     string `json:"team"`                // empty: Team
	Locale   string `json:"locale,omitempty"`    // empty: en-US
	TZ       string `json:"tz,omitempty"`        // empty: Etc/UTC
	Guest    bool   `json:"guest,omitempty"`     // of some channels
	OneGuest bool   `json:"one_guest,omitempty"` // of a single channel
	Gone     bool   `json:"gone,omitempty"`      // deactivated
}

// Channel is a channel or a direct conversation with the app.
type Channel struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Private  bool   `json:"private,omitempty"`
	Archived bool   `json:"archived,omitempty"`
	Shared   bool   `json:"shared,omitempty"`  // with another organisation
	Outside  bool   `json:"outside,omitempty"` // the app is not a member
	User     string `json:"user,omitempty"`    // of a direct conversation: who it is with
}

// DefaultWorld has Ann (U1) and Ben (U2), Gus the guest (U3) and Eve of another
// organisation (U4); the channels general (C1), random without the app (C2),
// the archived old (C3), partners (C4), shared with Eve's organisation, and the
// private board (C5). Direct conversations are D and the user's id: DU1.
func DefaultWorld() World {
	return World{
		Users: []User{
			{ID: "U1", Name: "ann"},
			{ID: "U2", Name: "ben"},
			{ID: "U3", Name: "gus", Guest: true},
			{ID: "U4", Name: "eve", Team: "T2"},
		},
		Channels: []Channel{
			{ID: "C1", Name: "general"},
			{ID: "C2", Name: "random", Outside: true},
			{ID: "C3", Name: "old", Archived: true},
			{ID: "C4", Name: "partners", Shared: true},
			{ID: "C5", Name: "board", Private: true},
		},
	}
}

// settle moves people in. It runs before the server serves.
func (s *workspace) settle(w World) {
	bot := User{ID: BotUser, Name: BotName}
	for _, u := range append(slices.Clone(w.Users), bot) {
		u.Team = or(u.Team, Team)
		u.Locale = or(u.Locale, "en-US")
		u.TZ = or(u.TZ, "Etc/UTC")
		s.users[u.ID] = &u
	}
	for _, c := range w.Channels {
		s.channels[c.ID] = &c
	}
}

// AddUser moves a person in.
func (s *workspace) AddUser(u User) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(World{Users: []User{u}})
}

// SetChannel adds a channel, or changes one: it is archived, the app is thrown
// out of it.
func (s *workspace) SetChannel(c Channel) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.channels[c.ID] = &c
}

func or(value, usual string) string {
	if value == "" {
		return usual
	}
	return value
}

// Message is one message as people see it.
type Message struct {
	Channel   string           `json:"channel"`
	TS        string           `json:"ts"`
	Thread    string           `json:"thread,omitempty"` // ts of the message it stands under
	User      string           `json:"user"`
	Text      string           `json:"text,omitempty"`     // mrkdwn, or Markdown if Markdown is set
	Markdown  bool             `json:"markdown,omitempty"` // Text came as markdown_text
	Blocks    json.RawMessage  `json:"blocks,omitempty"`
	Metadata  json.RawMessage  `json:"metadata,omitempty"`
	Shared    []map[string]any `json:"attachments,omitempty"` // messages that its author shares
	Files     []File           `json:"files,omitempty"`
	To        string           `json:"to,omitempty"`     // of an ephemeral message: who alone sees it
	Hooked    bool             `json:"hooked,omitempty"` // it came through a response URL
	Subtype   string           `json:"subtype,omitempty"`
	Edits     int              `json:"edits,omitempty"`
	Deleted   bool             `json:"deleted,omitempty"`
	Stream    *Stream          `json:"stream,omitempty"` // of a message that was begun by chat.startStream
	Reactions []string         `json:"reactions,omitempty"`
	At        time.Time        `json:"at"`
}

func (m Message) clone() Message {
	c := m
	c.Reactions = slices.Clone(m.Reactions)
	if m.Stream != nil {
		stream := *m.Stream
		stream.Tasks = slices.Clone(stream.Tasks)
		c.Stream = &stream
	}
	return c
}

// Messages are a channel's messages in order, with those that only one person
// sees, without those that were deleted.
func (s *workspace) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Message
	for _, m := range s.messages[channel] {
		s.age(m)
		if !m.Deleted {
			list = append(list, m.clone())
		}
	}
	return list
}

// Thread are the messages under a message, in order.
func (s *workspace) Thread(channel, ts string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.Thread != ts })
}

// Posted are the app's messages of a channel, in order.
func (s *workspace) Posted(channel string) []Message {
	return slices.DeleteFunc(s.Messages(channel), func(m Message) bool { return m.User != BotUser })
}

// Message returns one message that was not deleted.
func (s *workspace) Message(channel, ts string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil {
		return Message{}, false
	}
	s.age(m)
	return m.clone(), true
}

// find returns a message that was not deleted. The caller holds the lock.
func (s *workspace) find(channel, ts string) *Message {
	list := s.messages[channel]
	i, found := slices.BinarySearchFunc(list, ts, func(m *Message, ts string) int { return strings.Compare(m.TS, ts) })
	if !found || list[i].Deleted {
		return nil
	}
	return list[i]
}

// add gives a message its ts and shows it. The caller holds the lock.
func (s *workspace) add(m *Message) *Message {
	m.TS, m.At = s.newTS(), s.o.Now()
	s.messages[m.Channel] = append(s.messages[m.Channel], m)
	s.change()
	return m
}

// newTS is unique and later than all before. The caller holds the lock.
func (s *workspace) newTS() string {
	s.lastTS = max(s.o.Now().UnixMicro(), s.lastTS+1)
	return fmt.Sprintf("%d.%06d", s.lastTS/1e6, s.lastTS%1e6)
}

// direct returns the conversation of the app with a person, opened if need be.
// The caller holds the lock.
func (s *workspace) direct(user string) *Channel {
	id := "D" + user
	if s.channels[id] == nil {
		s.channels[id] = &Channel{ID: id, User: user}
	}
	return s.channels[id]
}

// DM is the id of the conversation of the app with a person.
func (s *workspace) DM(user string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.direct(user).ID
}
