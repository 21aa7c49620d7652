package store

import (
	"context"
	"fmt"
	"slices"

	"legwork/internal/clip"
	"legwork/tasks"
)

// SignIns implements tasks.Sessions.
type SignIns struct{ *core }

// PutLink implements tasks.Sessions.
func (s SignIns) PutLink(ctx context.Context, l tasks.SignInLink) error {
	if err := checkSignIn(l.ID, l.Person.Key()); err != nil {
		return err
	}
	return s.update(ctx, "storing sign-in link", func(x *txn) {
		dropChosen(x, linkRows, func(old tasks.SignInLink) bool { return old.Person.Key() == l.Person.Key() || !old.Until.After(x.time) })
		l.Until = x.time.Add(tasks.LinkTime)
		linkRows.put(x, l.ID, l)
	})
}

// SpendLink implements tasks.Sessions.
func (s SignIns) SpendLink(ctx context.Context, id string) (l tasks.SignInLink, err error) {
	found := false
	err = s.update(ctx, "spending sign-in link", func(x *txn) {
		var damaged error
		if l, found, damaged = linkRows.get(x, id); found {
			linkRows.drop(x, id)
		}
		found = found && damaged == nil && l.Until.After(x.time)
	})
	if err == nil && !found {
		err = tasks.ErrNoSession
	}
	if err != nil {
		return tasks.SignInLink{}, err
	}
	return l, nil
}

// PutSession implements tasks.Sessions.
func (s SignIns) PutSession(ctx context.Context, v tasks.Session) error {
	if err := checkSignIn(v.ID, v.Person.Key()); err != nil {
		return err
	}
	return s.update(ctx, "storing session", func(x *txn) {
		v.Made, v.Used = x.time, x.time
		var own []tasks.Session
		dropChosen(x, sessionRows, func(old tasks.Session) bool {
			if !old.Expires().After(x.time) {
				return true
			}
			if old.Person.Key() == v.Person.Key() && old.ID != v.ID {
				own = append(own, old)
			}
			return false
		})
		slices.SortFunc(own, func(a, b tasks.Session) int { return b.Used.Compare(a.Used) })
		for len(own) >= tasks.MaxSessions {
			sessionRows.drop(x, own[len(own)-1].ID)
			own = own[:len(own)-1]
		}
		sessionRows.put(x, v.ID, v)
	})
}

// Session implements tasks.Sessions. A damaged one counts as missing: its browser
// signs in again.
func (s SignIns) Session(ctx context.Context, id string) (v tasks.Session, err error) {
	found := false
	err = s.read(ctx, "reading session", func(x *txn) { v, found = signIns{x}.session(id) })
	if err == nil && !found {
		err = tasks.ErrNoSession
	}
	return v, err
}

// Sessions implements tasks.Sessions.
func (s SignIns) Sessions(ctx context.Context, person string) (list []tasks.Session, err error) {
	err = s.read(ctx, "listing sessions", func(x *txn) {
		list = nil
		for e := range sessionRows.sound(x, nil, nil, Ascending) {
			if v := e.value; v.Expires().After(x.time) && (person == "" || v.Person.Key() == person) {
				list = append(list, v)
			}
		}
	})
	slices.SortStableFunc(list, func(a, b tasks.Session) int { return b.Made.Compare(a.Made) })
	return list, err
}

// UseSession implements tasks.Sessions.
func (s SignIns) UseSession(ctx context.Context, id string) error {
	return s.change(ctx, "noting the use of a session", id, func(x *txn, v tasks.Session) {
		v.Used = x.time
		sessionRows.put(x, id, v)
	})
}

// DropSession implements tasks.Sessions.
func (s SignIns) DropSession(ctx context.Context, id string) error {
	return s.change(ctx, "ending session", id, func(x *txn, _ tasks.Session) { sessionRows.drop(x, id) })
}

// change changes a session. ErrNoSession.
func (s SignIns) change(ctx context.Context, doing, id string, do func(*txn, tasks.Session)) error {
	found := false
	err := s.update(ctx, doing, func(x *txn) {
		var v tasks.Session
		if v, found = (signIns{x}).session(id); found {
			do(x, v)
		}
	})
	if err == nil && !found {
		err = tasks.ErrNoSession
	}
	return err
}

// checkSignIn checks the id and the person of a session or link.
func checkSignIn(id, person string) error {
	if id == "" || len(id) > MaxName || len(person) > MaxName {
		return fmt.Errorf("session of %q with an id of %d bytes: both must have 1 to %d", clip.Marked(person, 80), len(id), MaxName)
	}
	return nil
}

// signIns are the sessions and the sign-in links, within a transaction.
type signIns struct{ *txn }

// session returns a session whose time is not over.
func (x signIns) session(id string) (tasks.Session, bool) {
	v, found, damaged := sessionRows.get(x, id)
	if damaged != nil {
		x.skip(TableSessions, []byte(id), damaged)
		return tasks.Session{}, false
	}
	return v, found && v.Expires().After(x.time)
}

// dropChosen deletes the chosen records of a table whose keys are names. It deletes
// damaged ones, too.
func dropChosen[V any](x *txn, t table[string, V], chosen func(V) bool) {
	var ids []string
	for e := range t.scan(x, nil, nil, Ascending) {
		if e.damaged != nil || chosen(e.value) {
			ids = append(ids, string(e.key))
		}
	}
	for _, id := range ids {
		t.drop(x, id)
	}
}
