package inbox

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"legwork/bot"
	"legwork/internal/clip"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/policy"
)

// accessRequest is a person without access who wrote to the bot lately.
type accessRequest struct {
	Person        bot.Person `json:"person"`
	Chat          bot.Chat   `json:"chat"` // private, or where the person gave a command
	Language      string     `json:"language"`
	NotifiedAt    time.Time  `json:"notified_at"`              // when the person was last notified that they have no access
	AdminsAskedAt time.Time  `json:"admins_asked_at,omitzero"` // when the admins were last asked; zero: never
	WithoutAdmin  bool       `json:"without_admin,omitzero"`   // the notification said that there is no admin yet
}

// accessRequestList guards the stored list of access requests, which is read,
// changed and stored as a whole.
type accessRequestList struct {
	mu   sync.Mutex
	text string // the stored text of list
	list []accessRequest
}

// Limits for people without access: how often one of them is notified, how long a
// request stays open, how many people are remembered, and how many requests may
// wait for the admins at once. Above these limits, people without access get no
// answer.
const (
	notifyAgainAfter  = 24 * time.Hour
	requestKept       = 7 * 24 * time.Hour
	maxAccessRequests = 200
	maxRequests       = 20
	maxRequestField   = 200 // length of an id or name, in bytes
)

// Data of the buttons of access requests. The key of the person follows, except
// after pressAsk.
const (
	pressAsk      = "g:ask"
	pressAllow    = "g:a:"
	pressOnlyHere = "g:c:"
	pressIgnore   = "g:i:"
)

// MaxPressData is the maximum length of a button's data in bytes. It is the limit
// of the strictest platform.
const MaxPressData = 64

// unauthorized answers a person who may not talk to the bot. In a private chat the
// person gets one notification a day, with a button that asks the admins for
// access. In other chats they get no answer, except to presses and to commands of the
// platform, which Answerer answers. The inbox stores none of their messages.
func unauthorized(in *Inbox, r *Request) Reply {
	m := r.Message
	switch {
	case m.Kind == bot.MessagePress && m.Data == pressAsk:
		return Reply{Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return requestAccess(ctx, in, r) }}
	case m.Kind == bot.MessagePress:
		reply := in.ReplyAside(r, "error.not_yours")
		reply.Store = nil
		return reply
	case (m.Chat.Private || m.Token != "") && !m.Overheard && m.Kind == bot.MessageText:
		return Reply{Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return refuseAccess(ctx, in, r) }}
	}
	return Reply{}
}

// refuseAccess notifies a person once a day that they have no access. A person who
// was notified before the first admin was known is notified once more after that. A
// command of the platform is always answered, because its author waits for an answer;
// in a group its author alone sees the answer.
func refuseAccess(ctx context.Context, in *Inbox, r *Request) Notice {
	m := r.Message
	command := m.Token != ""
	refused := in.Notice(r, "error.not_allowed", nil)
	if command && !m.Chat.Private {
		refused.Audience = ToAuthor
	}
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	admins, err := in.Admins(ctx)
	if err != nil {
		in.Log.ErrorContext(ctx, "admins not read", "cause", err)
		return Notice{}
	}
	list, err := accessRequests(ctx, in)
	if err != nil {
		in.Log.ErrorContext(ctx, "access requests not read", "cause", err)
		return Notice{}
	}
	early := len(admins) == 0
	i := requestOf(list, m.From.Key())
	recent := i >= 0 && in.Now().Sub(list[i].NotifiedAt) < notifyAgainAfter && list[i].WithoutAdmin == early
	if recent && !command || ignored(ctx, in, m.From.Key()) {
		return Notice{}
	}
	if i < 0 {
		if list, i = addAccessRequest(in, list, r); i < 0 {
			in.Log.DebugContext(ctx, "access requests full", "person", m.From.Key())
			if command {
				return refused
			}
			return Notice{}
		}
	}
	list[i].NotifiedAt, list[i].WithoutAdmin = in.Now(), early
	if err := in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, list); err != nil {
		in.Log.ErrorContext(ctx, "access request not stored", "cause", err)
		return Notice{}
	}
	if early && refused.Audience != ToAuthor {
		return in.Notice(r, "error.no_admin", nil)
	}
	if !early && list[i].AdminsAskedAt.IsZero() && len(pressAllow+m.From.Key()) <= MaxPressData {
		refused.Buttons = []bot.Button{in.Button(r.Lang, "button.ask_admin", pressAsk)}
	}
	return refused
}

// requestAccess asks the admins to admit a person who pressed the button for it.
func requestAccess(ctx context.Context, in *Inbox, r *Request) Notice {
	m := r.Message
	quiet := func(key string) Notice {
		s := in.Notice(r, key, nil)
		s.Audience = ToAuthor
		return s
	}
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	list, err := accessRequests(ctx, in)
	if err != nil || ignored(ctx, in, m.From.Key()) || len(pressAllow+m.From.Key()) > MaxPressData {
		return Notice{}
	}
	if in.Admits(ctx, m) { // an admin admitted the person before this press
		return quiet("notice.admitted")
	}
	i := requestOf(list, m.From.Key())
	if i >= 0 && !list[i].AdminsAskedAt.IsZero() {
		return quiet("notice.asked")
	}
	waiting := 0
	for _, v := range list {
		if !v.AdminsAskedAt.IsZero() {
			waiting++
		}
	}
	if i < 0 {
		list, i = addAccessRequest(in, list, r)
	}
	if waiting >= maxRequests || i < 0 {
		return quiet("error.ask_later")
	}
	list[i].AdminsAskedAt = in.Now()
	if err := in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, list); err != nil {
		in.Log.ErrorContext(ctx, "access request not stored", "cause", err)
		return quiet("problem.internal")
	}
	v := list[i]
	in.QueueForAdmins(ctx, func(ctx context.Context) {
		_, _ = in.PostToAdmins(ctx, func(to PrivateChat) (bot.Draft, string) { return requestDraft(in, v, to.Lang), "" })
	})
	return quiet("notice.asked")
}

// requestDraft is the question to an admin about an access request.
func requestDraft(in *Inbox, v accessRequest, lang string) bot.Draft {
	key := v.Person.Key()
	return bot.Draft{
		Kind: bot.KindQuestion,
		Text: in.Texts.Text(lang, "notice.request", map[string]any{"Name": v.name(), "Person": key}),
		Buttons: []bot.Button{
			in.Button(lang, "button.allow", pressAllow+key),
			in.Button(lang, "button.only_here", pressOnlyHere+key),
			in.Button(lang, "button.ignore", pressIgnore+key),
		},
	}
}

// name is the person's name on one line, without formatting.
func (v accessRequest) name() string {
	name := strings.Join(strings.Fields(strings.ReplaceAll(v.Person.Name, "`", "'")), " ")
	if name == "" {
		return v.Person.ID
	}
	return cards.Line(name)
}

// accessRequests lists the access requests that have not expired. The caller holds
// the lock of in.accessList.
func accessRequests(ctx context.Context, in *Inbox) ([]accessRequest, error) {
	text, err := in.Settings.Get(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests)
	if err != nil {
		return nil, err
	}
	if known := &in.accessList; text != known.text {
		known.text, known.list = text, nil
		if err := in.Settings.Read(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, &known.list); err != nil {
			return nil, err
		}
	}
	now := in.Now()
	return slices.DeleteFunc(slices.Clone(in.accessList.list), func(v accessRequest) bool {
		return now.Sub(v.NotifiedAt) >= notifyAgainAfter && (v.AdminsAskedAt.IsZero() || now.Sub(v.AdminsAskedAt) >= requestKept)
	}), nil
}

func requestOf(list []accessRequest, person string) int {
	return slices.IndexFunc(list, func(v accessRequest) bool { return v.Person.Key() == person })
}

// addAccessRequest adds the author of a message to a list. The index is -1 when
// the list is full or when the ids are too long.
func addAccessRequest(in *Inbox, list []accessRequest, r *Request) ([]accessRequest, int) {
	m := r.Message
	if len(list) >= maxAccessRequests || len(m.From.ID) > maxRequestField || len(m.Chat.Key()) > maxRequestField {
		return list, -1
	}
	v := accessRequest{Person: m.From, Chat: m.Chat, Language: r.Lang, NotifiedAt: in.Now()}
	v.Person.Name = clip.Bytes(v.Person.Name, maxRequestField)
	return append(list, v), len(list)
}

// ignored reports whether an admin decided that a person gets no answer.
func ignored(ctx context.Context, in *Inbox, person string) bool {
	var g accessDecision
	return in.Settings.Read(ctx, person, tasks.SettingAccess, &g) == nil && g.Ignored
}

// decideAccess stores an admin's decision about a person, and notifies the person
// when they are admitted. The first decision counts. Only a person who was ignored
// can be admitted later.
func decideAccess(ctx context.Context, in *Inbox, r *Request, verb, person string) (Reply, error) {
	if !r.Admin {
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	v, fresh, err := storeAccess(ctx, in, verb, person, r.Message.Key)
	if errors.Is(err, ErrDecided) {
		return in.ReplyText(r, "error.too_late", nil), nil
	}
	if err != nil {
		return Reply{}, err
	}
	if fresh {
		action := map[string]string{pressAllow: "access.allow", pressOnlyHere: "access.allow_here", pressIgnore: "access.ignore"}[verb]
		in.Audit(ctx, r, action, person, v.Chat.Key())
	}
	return announceAccess(in, r, verb, v), nil
}

// ErrDecided means that a person has not asked for access, or that an admin has decided
// already.
var ErrDecided = errors.New("the person does not wait for a decision")

// storeAccess stores a decision about a person, and returns their request. by is the
// key of the decision: fresh is false when the same one was stored before.
func storeAccess(ctx context.Context, in *Inbox, verb, person, by string) (v accessRequest, fresh bool, err error) {
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	list, err := accessRequests(ctx, in)
	if err != nil {
		return v, false, err
	}
	g, err := storedAccess(ctx, in, person)
	if err != nil {
		return v, false, err
	}
	if i := requestOf(list, person); i >= 0 {
		v = list[i]
		list = slices.Delete(list, i, i+1)
	} else if g.Person != nil {
		v = *g.Person
	}
	if g.By != "" && g.By == by {
		return v, false, nil
	}
	if v.Person.Key() != person || g.Allowed || len(g.Chats) > 0 || g.Ignored && verb == pressIgnore {
		return v, false, ErrDecided
	}
	if err := in.Settings.Write(ctx, person, tasks.SettingAccess, newAccessDecision(verb, v, by)); err != nil {
		return v, false, err
	}
	return v, true, in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, list)
}

// storedAccess reads the stored decision about a person, not a cached one.
func storedAccess(ctx context.Context, in *Inbox, person string) (g accessDecision, err error) {
	in.Settings.cache.Remove([2]string{person, tasks.SettingAccess})
	return g, in.Settings.Read(ctx, person, tasks.SettingAccess, &g)
}

// newAccessDecision makes the decision of an admin's press. It keeps the request, so that the
// admin can decide again.
func newAccessDecision(verb string, v accessRequest, by string) accessDecision {
	g := accessDecision{By: by, Person: &v}
	switch verb {
	case pressAllow:
		g.Allowed = true
	case pressOnlyHere:
		g.Chats = []string{policy.ChatKey(v.Chat)}
	default:
		g.Ignored = true
	}
	return g
}

// announceAccess confirms the decision to the admin, and welcomes the person when
// they have access.
func announceAccess(in *Inbox, r *Request, verb string, v accessRequest) Reply {
	key := map[string]string{pressAllow: "notice.allowed", pressOnlyHere: "notice.allowed_here", pressIgnore: "notice.ignored"}[verb]
	n := in.Notice(r, key, map[string]any{"Name": v.name()})
	n.Replace.Pressed = true
	if verb == pressIgnore {
		return in.Reply(r, n)
	}
	return in.ReplyLater(r, func(ctx context.Context) Notice {
		welcome(ctx, in, v)
		return n
	})
}

// welcome notifies a person in private that they are admitted.
func welcome(ctx context.Context, in *Inbox, v accessRequest) {
	to := v.Chat
	if !to.Private { // the others of that chat are not concerned
		reached, err := in.reach(ctx, v.Person.Key())
		if err != nil {
			in.Log.WarnContext(ctx, "notice not shown", "person", v.Person.Key(), "cause", err)
			return
		}
		to = reached.Chat
	}
	in.Send(ctx, bot.Message{Chat: to, From: v.Person}, TextNotice(in.SpellIn(to, in.Texts.Text(v.Language, "notice.admitted", nil))))
}

// Button makes a button whose label is the text of a key.
func (in *Inbox) Button(lang, key, data string) bot.Button {
	return bot.Button{Label: in.Texts.Text(lang, key, nil), Data: data}
}

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
