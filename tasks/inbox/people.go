package inbox

import (
	"context"
	"errors"
	"time"

	"legwork/bot"
	"legwork/tasks"
)

// AccessRequest is a person without access who asked the admins for it.
type AccessRequest struct {
	Person bot.Person
	Chat   bot.Chat // where they wrote: "only this chat" means this one
	At     time.Time
}

// Decided is what admins have decided about a person, beside the config.
type Decided struct {
	Person  string   // key
	Name    string   // may be empty
	Allowed bool     // everywhere on the platform
	Chats   []string // keys of the chats where the person is allowed
	Ignored bool     // the person gets no answer
}

// AccessRequests lists the people who wait for a decision of an admin.
func AccessRequests(ctx context.Context, in *Inbox) ([]AccessRequest, error) {
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	list, err := accessRequests(ctx, in)
	open := make([]AccessRequest, 0, len(list))
	for _, v := range list {
		if !v.AdminsAskedAt.IsZero() {
			open = append(open, AccessRequest{v.Person, v.Chat, v.AdminsAskedAt})
		}
	}
	return open, err
}

// AccessDecisions lists the people about whom admins have decided, by key. It leaves
// out damaged decisions.
func AccessDecisions(ctx context.Context, in *Inbox) ([]Decided, error) {
	owners, err := in.Store.SettingOwners(ctx, tasks.SettingAccess)
	list := make([]Decided, 0, len(owners))
	for _, person := range owners {
		g, err := storedAccess(ctx, in, person)
		switch {
		case errors.Is(err, tasks.ErrDamaged):
			in.Log.ErrorContext(ctx, "access decision not read", "person", person, "cause", err)
			continue
		case err != nil:
			return nil, err
		}
		d := Decided{Person: person, Allowed: g.Allowed, Chats: g.Chats, Ignored: g.Ignored}
		if g.Person != nil {
			d.Name = g.Person.Person.Name
		}
		list = append(list, d)
	}
	return list, err
}

// The decisions about a person.
const (
	AccessAllow  = "allow"  // everywhere on the platform
	AccessChat   = "chat"   // only in the chat where the person asked
	AccessIgnore = "ignore" // no answer from now on
	AccessRemove = "remove" // as before the first decision: a stranger who can ask again
)

// DecideAccess stores an admin's decision about a person as a press of the button in a
// chat does. The first decision counts: only a person who was ignored can be admitted
// later, and AccessRemove takes any decision back. The caller writes the audit log.
// ErrDecided.
func DecideAccess(ctx context.Context, in *Inbox, decision, person string) error {
	if decision == AccessRemove {
		return removeAccess(ctx, in, person)
	}
	verb := map[string]string{AccessAllow: pressAllow, AccessChat: pressOnlyHere, AccessIgnore: pressIgnore}[decision]
	v, _, err := storeAccess(ctx, in, verb, person, "")
	if err == nil && decision != AccessIgnore {
		in.QueueForAdmins(ctx, func(ctx context.Context) { welcome(ctx, in, v) })
	}
	return err
}

// removeAccess deletes the decision about a person.
func removeAccess(ctx context.Context, in *Inbox, person string) error {
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	g, err := storedAccess(ctx, in, person)
	if err != nil && !errors.Is(err, tasks.ErrDamaged) {
		return err
	}
	if err == nil && !g.Allowed && !g.Ignored && len(g.Chats) == 0 {
		return ErrDecided
	}
	return in.Settings.Put(ctx, person, tasks.SettingAccess, "")
}
