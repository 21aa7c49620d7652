package tasks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
)

// AttemptTime is how long a person may take to sign in at a server.
const AttemptTime = 15 * time.Minute

// MaxConnection bounds the sealed secrets and scopes of a connection together, in bytes.
const MaxConnection = 64 << 10

// ErrNoSignIn means that people do not sign in at a server.
var ErrNoSignIn = errors.New("people do not sign in at this server")

// ErrDenied means that a person did not agree to a sign-in.
var ErrDenied = errors.New("the person did not agree")

// ErrNoConnection means that there is no such connection or sign-in, or no longer.
var ErrNoConnection = errors.New("no such connection")

// MaxSecret bounds a secret that a person gives for a server, in bytes.
const MaxSecret = 4 << 10

// SecretError says why a text cannot be a secret. It does not hold the text.
type SecretError struct {
	Problem string // empty, long or control; the text about it has the key "secret." + Problem
}

func (e *SecretError) Error() string { return "the text cannot be a secret: " + e.Problem }

// CheckSecret removes spaces around a secret, and checks the rest. Its error is a
// *SecretError.
func CheckSecret(text string) (string, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", &SecretError{"empty"}
	case len(text) > MaxSecret:
		return "", &SecretError{"long"}
	case strings.ContainsFunc(text, unicode.IsControl): // no header can hold it
		return "", &SecretError{"control"}
	}
	return text, nil
}

// ConnectionID names a connection: an identity at a server.
type ConnectionID struct {
	Server string `json:"server"`           // its name in the config
	Person string `json:"person,omitempty"` // key of the person; empty: the sign-in that everybody shares
}

// About is what the secrets of a connection are sealed with, so that a sealed secret
// cannot be moved to another person or server.
func (id ConnectionID) About() []byte {
	return fmt.Appendf(nil, "connection %q %q", id.Server, id.Person)
}

// Connection is the sign-in of an identity at a server. Its secrets are encrypted: only
// the holder of the sealing key can read them.
type Connection struct {
	ConnectionID
	Kind   string    `json:"kind"`             // oauth or secret
	By     string    `json:"by"`               // key of the person who signed in
	Scopes []string  `json:"scopes,omitempty"` // that were granted, as far as the server says
	Since  time.Time `json:"since"`            // of the sign-in; set by the store
	Used   time.Time `json:"used,omitzero"`    // by a call, to the hour; zero: never
	Sealed []byte    `json:"sealed"`           // tokens or a secret, encrypted
}

// Attempt is a sign-in that has begun. It can be finished once, for AttemptTime.
type Attempt struct {
	ConnectionID
	ID     string    `json:"id"`             // SHA-256 of the state, in hexadecimal
	By     string    `json:"by"`             // key of the person who signs in
	Task   ID        `json:"task,omitempty"` // that waits for it; empty: none
	Until  time.Time `json:"until"`          // set by the store
	Sealed []byte    `json:"sealed"`         // state and verifier, encrypted
}

// Connections are the sign-ins at servers.
type Connections interface {
	// PutConnection stores a connection in place of an earlier one of the same id. It
	// counts as not used yet.
	PutConnection(ctx context.Context, c Connection) error
	// RenewConnection replaces the secrets and scopes of a connection when its secrets
	// are still old; ErrNoConnection when they are not.
	RenewConnection(ctx context.Context, id ConnectionID, old, sealed []byte, scopes []string) error
	// Connection returns a connection. ErrNoConnection.
	Connection(ctx context.Context, id ConnectionID) (Connection, error)
	// Connections lists all connections, by server and person.
	Connections(ctx context.Context) ([]Connection, error)
	// UseConnection notes that a connection was used in this hour. It writes once an hour.
	// ErrNoConnection.
	UseConnection(ctx context.Context, id ConnectionID) error
	// DropConnection ends a connection. ErrNoConnection.
	DropConnection(ctx context.Context, id ConnectionID) error

	// PutAttempt stores a sign-in that has begun, and deletes those whose time is over and
	// earlier ones of the same person at the same server.
	PutAttempt(ctx context.Context, a Attempt) error
	// Attempt returns a sign-in that has begun. ErrNoConnection also when its time is over.
	Attempt(ctx context.Context, id string) (Attempt, error)
	// SpendAttempt deletes a sign-in that has begun and returns it. ErrNoConnection also
	// when its time is over. When by is another person, it is ErrNoConnection, too, and
	// nothing is deleted.
	SpendAttempt(ctx context.Context, id, by string) (Attempt, error)

	// Reseal replaces the secrets of all connections by what seal makes of them, in one
	// transaction, and deletes all sign-ins that have begun. An error of seal leaves
	// everything as it is. seal may be called several times for a connection.
	Reseal(ctx context.Context, seal func(id ConnectionID, sealed []byte) ([]byte, error)) error
}
