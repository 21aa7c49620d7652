package tasks

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
)

// Limits of sign-ins at the page.
const (
	LinkTime    = 10 * time.Minute   // a sign-in link can be used for so long
	SessionIdle = 12 * time.Hour     // a session ends so long after its last use
	SessionTime = 7 * 24 * time.Hour // and so long after the sign-in
	MaxSessions = 50                 // of one person; the one that was used longest ago makes room for a new one
)

// ErrNoSession means that there is no such session or sign-in link, or no longer.
var ErrNoSession = errors.New("no such session")

// ChatPerson is a person at the page. Whether somebody may talk to the bot can depend
// the chat, so Chat, Team and External are those of the message that asked for the
// link.
type ChatPerson struct {
	Person   bot.Person `json:"person"`
	Chat     bot.Chat   `json:"chat,omitzero"`
	Team     string     `json:"team,omitempty"`
	External bool       `json:"external,omitempty"`
}

// Session is a sign-in of a browser: by a link when Token and Issuer are empty.
type Session struct {
	ID string `json:"id"` // SHA-256 of the secret in the cookie, in hexadecimal
	ChatPerson
	Token     string    `json:"token,omitempty"`      // name of the token that signed in
	TokenHash string    `json:"token_hash,omitempty"` // of its text, in hexadecimal: another token of that name is not this one
	Issuer    string    `json:"issuer,omitempty"`     // of an OIDC provider that signed in
	Claims    []string  `json:"claims,omitempty"`     // what it said about the person, as the config names it: "group:ops"
	Addr      string    `json:"addr,omitempty"`       // of the sign-in
	Agent     string    `json:"agent,omitempty"`      // User-Agent of the browser
	Made      time.Time `json:"made"`                 // set by the store
	Used      time.Time `json:"used"`                 // set by the store, see UseSession
}

// Expires is when a session ends without further use.
func (s Session) Expires() time.Time {
	if idle := s.Used.Add(SessionIdle); idle.Before(s.Made.Add(SessionTime)) {
		return idle
	}
	return s.Made.Add(SessionTime)
}

// SignInLink is a link that signs a person in once.
type SignInLink struct {
	ID string `json:"id"` // SHA-256 of the code in the link, in hexadecimal
	ChatPerson
	Until time.Time `json:"until"` // set by the store
}

// Sessions are the sign-ins at the page. The store keeps only hashes of their secrets.
type Sessions interface {
	// PutLink stores a link that can be used for LinkTime. Earlier links of the person
	// end.
	PutLink(ctx context.Context, l SignInLink) error
	// SpendLink deletes a link and returns it. ErrNoSession also when its time is over.
	SpendLink(ctx context.Context, id string) (SignInLink, error)
	// PutSession stores a new session, and deletes those whose time is over.
	PutSession(ctx context.Context, s Session) error
	// Session returns a session. ErrNoSession also when its time is over.
	Session(ctx context.Context, id string) (Session, error)
	// Sessions lists the sessions of a person by their key, or of all for an empty key:
	// the newest first.
	Sessions(ctx context.Context, person string) ([]Session, error)
	// UseSession notes that a session was used now. ErrNoSession.
	UseSession(ctx context.Context, id string) error
	// DropSession ends a session. ErrNoSession.
	DropSession(ctx context.Context, id string) error
}
