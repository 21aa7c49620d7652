package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"legwork/bot"
	"legwork/files"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/input"
	"legwork/tasks/policy"
)

// NewTask is a task to start.
type NewTask struct {
	Goal     string
	Groups   []string // nil: all that the principal may use; empty: none
	Language string   // empty: that of the config
	Notify   *Notify
	External bool   // run: false
	Key      string // idempotency key; empty: none
	Files    []files.ID
	Hops     int // how often one legwork has passed the work to the next
}

// Notify names the chat or webhook for an outcome.
type Notify struct {
	Chat    string // such as "slack:C1"; the principal must see it
	Webhook string
}

// maxHops is how often legworks may pass work on: more hops are most likely a loop.
const maxHops = 4

// maxKey is the longest idempotency key, in bytes.
const maxKey = 200

// Start starts a task. again is true when the idempotency key was used before for
// the same request; t is then the task of that request. *InvalidError, ErrForbidden,
// ErrBusy, ErrKeyReused, tasks.ErrFull.
func (s *Service) Start(ctx context.Context, p Principal, n NewTask) (t Task, again bool, err error) {
	if err := p.Allowed(policy.OpStart); err != nil {
		return Task{}, false, err
	}
	order, err := s.order(ctx, p, n)
	if err != nil {
		return Task{}, false, err
	}
	receipt, err := inbox.StartTask(ctx, s.Inbox, order)
	return s.started(ctx, order, receipt, err)
}

// order makes an order of a request, if the principal may ask for all of it.
func (s *Service) order(ctx context.Context, p Principal, n NewTask) (inbox.TaskRequest, error) {
	o := inbox.TaskRequest{From: p.person(), Goal: input.Clean(n.Goal), External: n.External, Hops: n.Hops}
	switch {
	case n.Hops > maxHops:
		return o, &InvalidError{"goal", fmt.Sprintf("was handed on from one legwork to the next %d times, which is too often: do it with other tools, or say that it cannot be done", n.Hops)}
	case o.Goal == "":
		return o, &InvalidError{"goal", "is empty: say what is to be done"}
	case len(o.Goal) > inbox.MaxGoal:
		return o, &InvalidError{"goal", fmt.Sprintf("has %d bytes; at most %d are allowed", len(o.Goal), inbox.MaxGoal)}
	}
	var ok bool
	if o.Language, ok = inbox.LanguageNamed(s.Inbox, n.Language); !ok {
		return o, &InvalidError{"language", fmt.Sprintf("%q is not known; %s are", n.Language, languages())}
	}
	var err error
	if o.Only, err = s.allowedGroups(ctx, p, n.Groups); err != nil {
		return o, err
	}
	if o.Notify, err = s.notify(p, n.Notify); err != nil {
		return o, err
	}
	if o.Files, err = s.Attachments(ctx, p, n.Files); err != nil {
		return o, err
	}
	o.Key, err = p.key(n.Key)
	if o.Key != "" {
		request := []any{"start", n.Goal, n.Groups, n.Language, n.Notify, n.External}
		if len(n.Files) > 0 {
			request = append(request, n.Files)
		}
		o.Request = requestHash(request...)
	}
	return o, err
}

// started returns the task of an order.
func (s *Service) started(ctx context.Context, o inbox.TaskRequest, receipt tasks.Receipt, err error) (Task, bool, error) {
	if err == nil {
		err = receipt.Err
	}
	switch {
	case errors.Is(err, inbox.ErrOverloaded):
		return Task{}, false, fmt.Errorf("%w: %w", ErrBusy, err)
	case errors.Is(err, files.ErrNone): // it was deleted a moment ago
		return Task{}, false, &InvalidError{"files", err.Error()}
	case err != nil:
		return Task{}, false, err
	}
	if receipt.Again {
		before, err := s.opening(ctx, receipt.Task)
		if errors.Is(err, ErrNotFound) {
			return Task{}, false, fmt.Errorf("%w: its task was deleted", ErrKeyReused)
		}
		if err == nil && (before.Request != o.Request || before.From.Key() != o.From.Key()) {
			err = ErrKeyReused
		}
		if err != nil {
			return Task{}, false, err
		}
	}
	t, err := s.task(ctx, receipt.Task)
	return t, receipt.Again, err
}

// key is the dedupe key of an idempotency key.
func (p Principal) key(k string) (string, error) {
	if k == "" {
		return "", nil
	}
	if len(k) > maxKey || !utf8.ValidString(k) || strings.IndexFunc(k, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0 {
		return "", &InvalidError{"idempotency_key", fmt.Sprintf("must be text of at most %d bytes without control characters", maxKey)}
	}
	return p.Room().Room() + ":" + k, nil
}

// requestHash tells apart requests with the same key.
func requestHash(request ...any) string {
	text, err := json.Marshal(request)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// allowedGroups are the groups that the task is limited to; nil: no limit.
func (s *Service) allowedGroups(ctx context.Context, p Principal, wanted []string) ([]string, error) {
	if wanted == nil {
		return p.Groups, nil
	}
	open, err := s.openGroups(ctx, p)
	if err != nil {
		return nil, err
	}
	only := []string{}
	for _, name := range wanted {
		if !slices.Contains(open, name) {
			return nil, &InvalidError{"groups", fmt.Sprintf("%q is no group that this token may use; %s", name, are("no group is", open))}
		}
		if !slices.Contains(only, name) {
			only = append(only, name)
		}
	}
	return only, nil
}

// are ends a sentence about a wrong name with the list of the right names.
func are(none string, names []string) string {
	if len(names) == 0 {
		return none
	}
	return strings.Join(names, ", ") + " are"
}

// openGroups lists the names of the groups that tasks of a principal can use.
func (s *Service) openGroups(ctx context.Context, p Principal) ([]string, error) {
	groups, err := inbox.OpenGroups(ctx, s.Inbox, p.Room(), p.person())
	if err != nil {
		return nil, fmt.Errorf("listing groups: %w", err)
	}
	var names []string
	for _, g := range groups {
		if p.Groups == nil || slices.Contains(p.Groups, g.Name) {
			names = append(names, g.Name)
		}
	}
	return names, nil
}

// retryNotify is the target of the outcome of an earlier task, nil if the principal
// may not name it.
func (s *Service) retryNotify(p Principal, n *planner.Notify) *planner.Notify {
	if n == nil || n.Chat != nil && !p.Sees(*n.Chat) || n.Webhook != "" && !slices.Contains(p.nameable(s.Webhooks()), n.Webhook) {
		return nil
	}
	return n
}

// nameable lists the webhooks that the principal may name.
func (p Principal) nameable(webhooks []string) []string {
	return slices.DeleteFunc(webhooks, func(name string) bool { return !p.notifies(name) })
}

// notify finds the target of an outcome.
func (s *Service) notify(p Principal, n *Notify) (*planner.Notify, error) {
	switch {
	case n == nil:
		return nil, nil
	case *n == Notify{}:
		return nil, &InvalidError{"notify", "names neither a chat nor a webhook; leave it out, or name one of them"}
	case n.Chat != "" && n.Webhook != "":
		return nil, &InvalidError{"notify", "takes a chat or a webhook, not both"}
	case n.Webhook != "":
		if names := p.nameable(s.Webhooks()); !slices.Contains(names, n.Webhook) {
			return nil, &InvalidError{"notify.webhook", fmt.Sprintf("%q is no webhook that this token may name; %s", n.Webhook, are("no webhook is", names))}
		}
		return &planner.Notify{Webhook: n.Webhook}, nil
	}
	platform, rest, _ := strings.Cut(n.Chat, ":")
	id, thread, _ := strings.Cut(rest, "/")
	chat := bot.Chat{Platform: platform, ID: id, Thread: thread}
	switch _, connected := s.Inbox.Chats[platform]; {
	case platform == "" || id == "" || len(n.Chat) > maxKey || input.Clean(n.Chat) != n.Chat:
		return nil, &InvalidError{"notify.chat", `must be the key of a chat, such as "slack:C1"`}
	case !p.Sees(chat):
		return nil, &InvalidError{"notify.chat", fmt.Sprintf("%q is no chat that this token may see", n.Chat)}
	case !connected:
		return nil, &InvalidError{"notify.chat", fmt.Sprintf("no platform %q is connected", platform)}
	}
	return &planner.Notify{Chat: &chat}, nil
}

// Answer ends a task with run: false with its answer.
func (s *Service) Answer(ctx context.Context, p Principal, id tasks.ID, text string) (Task, error) {
	if err := p.Allowed(policy.OpAnswer); err != nil {
		return Task{}, err
	}
	text = input.Clean(text)
	switch {
	case text == "":
		return Task{}, &InvalidError{"text", "is empty"}
	case len(text) > inbox.MaxGoal:
		return Task{}, &InvalidError{"text", fmt.Sprintf("has %d bytes; at most %d are allowed", len(text), inbox.MaxGoal)}
	}
	t, err := s.authorize(ctx, p, policy.OpAnswer, id)
	if err != nil {
		return Task{}, err
	}
	if !t.row.External {
		return Task{}, fmt.Errorf("%w: legwork itself answers it (only a context with run: false takes an answer)", ErrConflict)
	}
	err = inbox.ChangeTask(ctx, s.Inbox, id, func(state planner.State) ([]planner.Event, error) {
		switch {
		case state.Settled():
			return nil, s.checkSameAnswer(ctx, p, id, state, text)
		case state.Review > 0 && p.Role == policy.RoleAgent:
			return nil, fmt.Errorf("%w: a person reviews it; send the answer after their decision", ErrConflict)
		}
		return []planner.Event{{Type: planner.Answered, By: p.Key(), Text: text}}, nil
	})
	return s.afterChange(ctx, id, err)
}

// checkSameAnswer returns nil when a task that is over already has this answer of
// this principal.
func (s *Service) checkSameAnswer(ctx context.Context, p Principal, id tasks.ID, state planner.State, text string) error {
	if state.Answer > 0 {
		e, err := s.Store.Event(ctx, id, state.Answer)
		if err != nil {
			return readError(id, err)
		}
		if e.Type == planner.Answered && e.By == p.Key() && e.Text == text {
			return nil
		}
	}
	return fmt.Errorf("%w: it is over", ErrConflict)
}

// afterChange reads a task after a change.
func (s *Service) afterChange(ctx context.Context, id tasks.ID, err error) (Task, error) {
	if errors.Is(err, tasks.ErrRefused) {
		return Task{}, ErrConflict
	}
	if err != nil {
		return Task{}, notFound(err)
	}
	return s.task(ctx, id)
}

// Cancel stops a task; its answer says what was found. Cancelling it again changes
// nothing.
func (s *Service) Cancel(ctx context.Context, p Principal, id tasks.ID) (Task, error) {
	if _, err := s.authorize(ctx, p, policy.OpCancel, id); err != nil {
		return Task{}, err
	}
	err := inbox.ChangeTask(ctx, s.Inbox, id, func(state planner.State) ([]planner.Event, error) {
		switch {
		case state.Reason == planner.ReasonStopped:
			return nil, nil
		case state.Settled():
			return nil, fmt.Errorf("%w: it is over", ErrConflict)
		}
		return []planner.Event{{Type: planner.Stopped, By: p.Key()}}, nil
	})
	return s.afterChange(ctx, id, err)
}

// Retry starts a task again that is over: in its chat, or for a task of a program as
// a task of the principal. again is as in Start.
func (s *Service) Retry(ctx context.Context, p Principal, id tasks.ID, key string) (t Task, again bool, err error) {
	seen, err := s.authorize(ctx, p, policy.OpRetry, id)
	if err != nil {
		return Task{}, false, err
	}
	state, err := s.foldedState(ctx, id)
	if err != nil {
		return Task{}, false, err
	}
	if !state.Settled() {
		return Task{}, false, fmt.Errorf("%w: it is not over yet", ErrConflict)
	}
	before, err := s.opening(ctx, id)
	if err != nil {
		return Task{}, false, err
	}
	from := p.person()
	if p.Owns(before.From) {
		from = before.From
	}
	o := inbox.TaskRequest{From: from, Goal: before.Goal, Language: before.Language, Notify: s.retryNotify(p, before.Notify), External: before.External, Files: before.Files, Request: requestHash("retry", id)}
	if o.Key, err = p.key(key); err != nil {
		return Task{}, false, err
	}
	if o.Only = before.Only; o.Only == nil {
		o.Only = p.Groups
	} else if p.Groups != nil {
		o.Only = slices.DeleteFunc(slices.Clone(o.Only), func(g string) bool { return !slices.Contains(p.Groups, g) })
	}
	var receipt tasks.Receipt
	if seen.row.Chat.Platform == Platform {
		receipt, err = inbox.StartTask(ctx, s.Inbox, o)
	} else {
		receipt, err = inbox.StartAgain(ctx, s.Inbox, o, seen.row.Chat, before)
	}
	if errors.Is(err, tasks.ErrRefused) {
		return Task{}, false, fmt.Errorf("%w: its chat is not connected", ErrConflict)
	}
	return s.started(ctx, o, receipt, err)
}
