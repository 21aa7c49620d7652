package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/policy"
)

// Platform is the platform of the chats of tasks that programs start:
// bot.Chat{Platform: Platform, ID: name of the token, Thread: id of the task}.
const Platform = tasks.PlatformAPI

// Principal is the caller: a token of the config, or a person who signed in at the
// page.
type Principal struct {
	Name string // of the token; empty for a person
	Role policy.Role
	// Person is the caller in chats, the web chat among them: the person who signed in,
	// or "web:NAME" for a token that may start tasks and decide. Zero: the caller has
	// no chats.
	Person bot.Person
	// Team and External are those of the person in the chat that the sign-in link came
	// from: see bot.Message.
	Team     string
	External bool
	// Chats are the rooms (bot.Chat.Room) whose tasks it may see and change; "*": all,
	// "api:*": all tasks that programs started.
	Chats []string
	// Groups are the tool groups that its tasks may use, as far as groups.X.allow permits
	// them for "api:NAME"; nil: all of those.
	Groups []string
	// Webhooks are the webhooks that it may name for an outcome; "*": all.
	Webhooks []string
	Addr     string // of the request, for the audit log
	Session  string // id of the session of the request; empty for a token
	Wider    string // of an access token: the scope with which it would have more rights; empty: none
}

// Key is the key of the principal in journals and the ledger: "agent:NAME",
// "api:NAME", or that of the person.
func (p Principal) Key() string { return p.person().Key() }

// Title is what people call the principal.
func (p Principal) Title() string { return cmp.Or(p.Name, p.Person.Name, p.Person.ID) }

// Owns reports whether the principal has started what a person has started.
func (p Principal) Owns(from bot.Person) bool {
	return from.Key() == p.Key() || p.Person.ID != "" && from.Key() == p.Person.Key()
}

// SeesTask reports whether the principal may see a task of a chat that a person has
// started. People see their own, as /status and the cards in chats are for them.
func (p Principal) SeesTask(chat bot.Chat, from bot.Person) bool {
	return p.Sees(chat) || p.Role.May(policy.OpRead) == policy.Own && p.Owns(from)
}

// Sees reports whether the principal may see all tasks of a chat.
func (p Principal) Sees(chat bot.Chat) bool {
	for _, c := range p.Chats {
		if platform, ok := strings.CutSuffix(c, ":*"); c == "*" || c == chat.Room() || ok && platform == chat.Platform {
			return true
		}
	}
	return false
}

// notifies reports whether the principal may have an outcome sent to a webhook.
func (p Principal) notifies(webhook string) bool {
	return slices.Contains(p.Webhooks, webhook) || slices.Contains(p.Webhooks, "*")
}

type callerKey struct{}

// With returns a context with the caller of a request.
func With(ctx context.Context, p Principal) context.Context {
	ctx = tasks.WithOrigin(ctx, tasks.Origin{Role: string(p.Role), Addr: p.Addr})
	return context.WithValue(ctx, callerKey{}, p)
}

// Caller is the caller in a context of With. Without one it sees nothing.
func Caller(ctx context.Context) Principal {
	p, _ := ctx.Value(callerKey{}).(Principal)
	return p
}

// WaitContext returns a context for a caller that waits: it ends with the request,
// after a while, or when stop is closed, so that the caller gets the current state.
// end must be called.
func WaitContext(ctx context.Context, wait time.Duration, stop <-chan struct{}) (waiting context.Context, end func()) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-stop:
			cancel()
		case <-waiting.Done():
		}
	})
	return waiting, func() { cancel(); watching.Wait() }
}

// Allowed returns ErrForbidden when the role of the principal may never do an
// operation.
func (p Principal) Allowed(op policy.Op) error {
	if p.Role.May(op) == policy.Never {
		return fmt.Errorf("%w: the role %s may not %s; these roles may: %s", ErrForbidden, p.Role, op.Words(), policy.AllowedRoles(op))
	}
	return nil
}

// person is the principal as the person who asks for a task.
func (p Principal) person() bot.Person {
	switch {
	case p.Name == "" && p.Person.ID != "":
		return p.Person
	case p.Role == policy.RoleAgent:
		return bot.Person{Platform: tasks.PlatformAgent, ID: p.Name, Name: p.Name}
	}
	return bot.Person{Platform: Platform, ID: p.Name, Name: p.Name}
}

// Room is the chat around the tasks that the principal starts at the API. Its key is
// the owner of the files that the principal uploads.
func (p Principal) Room() bot.Chat { return tasks.ProgramRoom(p.person()) }

// query selects the tasks of a chat, or of all for an empty one, that the principal
// sees.
func (p Principal) query(chat string) tasks.TaskQuery {
	if p.Role.May(policy.OpRead) != policy.Own {
		return tasks.TaskQuery{Rooms: p.rooms(chat)}
	}
	q := tasks.TaskQuery{From: p.Key()}
	if chat != "" {
		q.Rooms = []string{chat}
	}
	return q
}

// rooms are the rooms selected by chat that the principal sees, for tasks.TaskQuery:
// nil for all, an empty list for none.
func (p Principal) rooms(chat string) []string {
	platform, all := strings.CutSuffix(chat, ":*")
	rooms := []string{}
	for _, seen := range p.Chats {
		name, _, _ := strings.Cut(seen, ":")
		switch {
		case seen == "*" && chat == "":
			return nil
		case seen == "*", seen == chat, !all && chat != "" && p.Sees(parseRoom(chat)):
			return []string{chat}
		case chat == "", all && name == platform:
			rooms = append(rooms, seen)
		}
	}
	return rooms
}

// parseRoom parses the key of a room.
func parseRoom(key string) bot.Chat {
	platform, id, _ := strings.Cut(key, ":")
	return bot.Chat{Platform: platform, ID: id}
}
