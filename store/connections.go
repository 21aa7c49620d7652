package store

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"legwork/internal/clip"
	"legwork/tasks"
)

// Secrets implements tasks.Connections.
type Secrets struct{ *core }

// PutConnection implements tasks.Connections.
func (s Secrets) PutConnection(ctx context.Context, c tasks.Connection) error {
	if err := checkConnection(c); err != nil {
		return err
	}
	return s.update(ctx, "storing connection", func(x *txn) {
		c.Since, c.Used = x.time, time.Time{}
		connectionRows.put(x, c.ConnectionID, c)
	})
}

// RenewConnection implements tasks.Connections.
func (s Secrets) RenewConnection(ctx context.Context, id tasks.ConnectionID, old, sealed []byte, scopes []string) error {
	return s.change(ctx, "renewing connection", id, func(x *txn, c tasks.Connection) bool {
		if !bytes.Equal(c.Sealed, old) {
			return false
		}
		c.Sealed, c.Scopes = sealed, scopes
		x.fail(checkConnection(c))
		connectionRows.put(x, id, c)
		return true
	})
}

// Connection implements tasks.Connections. A damaged one counts as missing: its person
// signs in again.
func (s Secrets) Connection(ctx context.Context, id tasks.ConnectionID) (c tasks.Connection, err error) {
	found := false
	err = s.read(ctx, "reading connection", func(x *txn) { c, found = secrets{x}.connection(id) })
	if err == nil && !found {
		err = tasks.ErrNoConnection
	}
	return c, err
}

// Connections implements tasks.Connections.
func (s Secrets) Connections(ctx context.Context) (list []tasks.Connection, err error) {
	err = s.read(ctx, "listing connections", func(x *txn) { list = secrets{x}.connections() })
	return list, err
}

// UseConnection implements tasks.Connections.
func (s Secrets) UseConnection(ctx context.Context, id tasks.ConnectionID) error {
	hour := s.now().UTC().Truncate(time.Hour)
	c, err := s.Connection(ctx, id)
	if err != nil || !c.Used.Before(hour) {
		return err
	}
	return s.change(ctx, "noting the use of a connection", id, func(x *txn, c tasks.Connection) bool {
		c.Used = hour
		connectionRows.put(x, id, c)
		return true
	})
}

// DropConnection implements tasks.Connections.
func (s Secrets) DropConnection(ctx context.Context, id tasks.ConnectionID) error {
	return s.change(ctx, "ending connection", id, func(x *txn, _ tasks.Connection) bool {
		connectionRows.drop(x, id)
		return true
	})
}

// change changes a connection. ErrNoConnection, also when do returns false.
func (s Secrets) change(ctx context.Context, doing string, id tasks.ConnectionID, do func(*txn, tasks.Connection) bool) error {
	done := false
	err := s.update(ctx, doing, func(x *txn) {
		c, found := secrets{x}.connection(id)
		done = found && do(x, c)
	})
	if err == nil && !done {
		err = tasks.ErrNoConnection
	}
	return err
}

// PutAttempt implements tasks.Connections.
func (s Secrets) PutAttempt(ctx context.Context, a tasks.Attempt) error {
	err := checkConnection(tasks.Connection{ConnectionID: a.ConnectionID, By: a.By, Sealed: a.Sealed})
	if err == nil && (a.ID == "" || len(a.ID) > MaxName) {
		err = fmt.Errorf("sign-in with an id of %d bytes: it must have 1 to %d", len(a.ID), MaxName)
	}
	if err != nil {
		return err
	}
	return s.update(ctx, "storing sign-in", func(x *txn) {
		dropChosen(x, attemptRows, func(old tasks.Attempt) bool {
			return !old.Until.After(x.time) || old.By == a.By && old.Server == a.Server
		})
		a.Until = x.time.Add(tasks.AttemptTime)
		attemptRows.put(x, a.ID, a)
	})
}

// Attempt implements tasks.Connections.
func (s Secrets) Attempt(ctx context.Context, id string) (a tasks.Attempt, err error) {
	found := false
	err = s.view(ctx, "reading sign-in", func(x *txn) {
		var damaged error
		a, found, damaged = attemptRows.get(x, id)
		found = found && damaged == nil && a.Until.After(x.time)
	})
	if err == nil && !found {
		err = tasks.ErrNoConnection
	}
	if err != nil {
		return tasks.Attempt{}, err
	}
	return a, nil
}

// SpendAttempt implements tasks.Connections.
func (s Secrets) SpendAttempt(ctx context.Context, id, by string) (a tasks.Attempt, err error) {
	found := false
	err = s.update(ctx, "finishing sign-in", func(x *txn) {
		var damaged error
		a, found, damaged = attemptRows.get(x, id)
		if found = found && damaged == nil && a.By == by; found {
			attemptRows.drop(x, id)
		}
		found = found && a.Until.After(x.time)
	})
	if err == nil && !found {
		err = tasks.ErrNoConnection
	}
	if err != nil {
		return tasks.Attempt{}, err
	}
	return a, nil
}

// Reseal implements tasks.Connections.
func (s Secrets) Reseal(ctx context.Context, seal func(id tasks.ConnectionID, sealed []byte) ([]byte, error)) error {
	return s.update(ctx, "sealing connections again", func(x *txn) {
		for _, c := range (secrets{x}).connections() {
			sealed, err := seal(c.ConnectionID, c.Sealed)
			x.fail(err)
			if c.Sealed = sealed; x.failed != nil {
				return
			}
			connectionRows.put(x, c.ConnectionID, c)
		}
		dropChosen(x, attemptRows, func(tasks.Attempt) bool { return true })
		x.frees = true
	})
}

// ReadConnections lists the connections in a database that no store has opened.
func ReadConnections(tx Tx) ([]tasks.Connection, error) {
	x := &txn{Tx: tx, core: &core{log: slog.New(slog.DiscardHandler)}}
	list := secrets{x}.connections()
	return list, x.failed
}

// checkConnection checks the names and the size of a connection or of a sign-in.
func checkConnection(c tasks.Connection) error {
	if c.Server == "" || c.By == "" || len(c.Server) > MaxName || len(c.Person) > MaxName || len(c.By) > MaxName {
		return fmt.Errorf("connection of %q by %q at server %q: server and person must have 1 to %d bytes", clip.Marked(c.Person, 80), clip.Marked(c.By, 80), clip.Marked(c.Server, 80), MaxName)
	}
	size := len(c.Sealed) + len(strings.Join(c.Scopes, " "))
	if len(c.Sealed) == 0 || size > tasks.MaxConnection {
		return fmt.Errorf("connection of %s at server %s: it has %d bytes; allowed are 1 to %d", c.By, c.Server, size, tasks.MaxConnection)
	}
	return nil
}

// secrets are the connections, within a transaction.
type secrets struct{ *txn }

// connection returns a connection; a damaged one counts as missing.
func (x secrets) connection(id tasks.ConnectionID) (tasks.Connection, bool) {
	c, found, damaged := connectionRows.get(x, id)
	if damaged != nil {
		x.skip(TableConnections, connectionRows.key(id), damaged)
		return tasks.Connection{}, false
	}
	return c, found
}

// connections lists all, by server and person.
func (x secrets) connections() (list []tasks.Connection) {
	for e := range connectionRows.sound(x, nil, nil, Ascending) {
		list = append(list, e.value)
	}
	return list
}

// eraseConnections deletes the sign-ins of a person, or all at a server.
func (k Deletion) eraseConnections(ctx context.Context, who string, d *tasks.Deleted) error {
	server, ofServer := strings.CutPrefix(who, "server:")
	chosen := func(id tasks.ConnectionID, by string) bool {
		return id.Person == who || by == who || ofServer && id.Server == server
	}
	return k.change(ctx, d, func(x *txn, d *tasks.Deleted) {
		for _, c := range (secrets{x}).connections() {
			if chosen(c.ConnectionID, c.By) {
				connectionRows.drop(x, c.ConnectionID)
				x.frees = true
				d.Connections++
			}
		}
		dropChosen(x, attemptRows, func(a tasks.Attempt) bool { return chosen(a.ConnectionID, a.By) })
	})
}

// retainAttempts deletes sign-ins that were not finished in time.
func (k Deletion) retainAttempts(ctx context.Context, d *tasks.Deleted) error {
	return deleteFound(ctx, k, d, func(x *txn) (over []string, _ bool) {
		for e := range attemptRows.sound(x, nil, nil, Ascending) {
			if !e.value.Until.After(x.time) {
				over = append(over, string(e.key))
			}
		}
		return over, true
	}, func(x *txn, id string, _ *tasks.Deleted) { attemptRows.drop(x, id) })
}
