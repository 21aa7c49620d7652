package inbox

import (
	"context"
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

// accessRequest is a person without access who wrote lately.
type accessRequest struct {
	Person   bot.Person `json:"person"`
	Chat     bot.Chat   `json:"chat"` // private
	Language string     `json:"language"`
	Told     time.Time  `json:"told"`           // when they last read that they are not on the list
	Asked    time.Time  `json:"asked,omitzero"` // when the admins were last asked; zero for never
	Early    bool       `json:"early,omitzero"` // what they read was that there is no admin
}

// accessRequestsKept guards what is decided about strangers, which is read, changed and
// stored as one.
type accessRequestsKept struct {
	mu   sync.Mutex
	text string // as it was stored when it was read last
	list []accessRequest
}

// Bounds of what strangers can make the bot do: how often one of them is told,
// how long a request stays open, and how many are remembered and may wait for
// the admins at once. Beyond that strangers get silence.
const (
	toldAgainAfter    = 24 * time.Hour
	requestKept       = 7 * 24 * time.Hour
	maxAccessRequests = 200
	maxRequests       = 20
	maxRequestField   = 200 // length of an id or name, in bytes
)

// What the buttons about strangers carry; the person's key follows.
const (
	pressAsk      = "g:ask"
	pressAllow    = "g:a:"
	pressOnlyHere = "g:c:"
	pressIgnore   = "g:i:"
)

// MaxPressData is how long a button's data may be, in bytes, as the narrowest
// platform wants it.
const MaxPressData = 64

// unauthorized answers somebody who may not talk to the bot: in private chats with
// one sentence a day and a button that asks the admins, elsewhere with nothing.
// None of their messages is stored.
func unauthorized(in *Inbox, r *Request) Reply {
	m := r.Message
	switch {
	case m.Kind == bot.MessagePress && m.Data == pressAsk && m.Chat.Private:
		return Reply{Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return requestAccess(ctx, in, r) }}
	case m.Kind == bot.MessagePress:
		reply := in.ReplyAside(r, "error.not_yours")
		reply.Store = nil
		return reply
	case m.Chat.Private && !m.Overheard && m.Kind == bot.MessageText:
		return Reply{Say: func(ctx context.Context, _ []tasks.Receipt) Notice { return refuseAccess(ctx, in, r) }}
	}
	return Reply{}
}

// refuseAccess tells a person once a day that they have no access, and who
// came before there was an admin once more when there is one.
func refuseAccess(ctx context.Context, in *Inbox, r *Request) Notice {
	m := r.Message
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
	told := i >= 0 && in.Now().Sub(list[i].Told) < toldAgainAfter && list[i].Early == early
	if told || ignored(ctx, in, m.From.Key()) {
		return Notice{}
	}
	if i < 0 {
		if list, i = addAccessRequest(in, list, r); i < 0 {
			in.Log.DebugContext(ctx, "too many people without access, no answer", "person", m.From.Key())
			return Notice{}
		}
	}
	list[i].Told, list[i].Early = in.Now(), early
	if err := in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, list); err != nil {
		in.Log.ErrorContext(ctx, "access request not stored", "cause", err)
		return Notice{}
	}
	if early {
		return in.Notice(r, "error.no_admin", nil)
	}
	s := in.Notice(r, "error.not_allowed", nil)
	if list[i].Asked.IsZero() && len(pressAllow+m.From.Key()) <= MaxPressData {
		s.Buttons = []bot.Button{in.Button(r.Lang, "button.ask_admin", pressAsk)}
	}
	return s
}

// requestAccess asks the admins about a person who pressed the button for it.
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
	if in.Admits(ctx, m) { // an admin was faster than a second press
		return quiet("notice.admitted")
	}
	i := requestOf(list, m.From.Key())
	if i >= 0 && !list[i].Asked.IsZero() {
		return quiet("notice.asked")
	}
	waiting := 0
	for _, v := range list {
		if !v.Asked.IsZero() {
			waiting++
		}
	}
	if i < 0 {
		list, i = addAccessRequest(in, list, r)
	}
	if waiting >= maxRequests || i < 0 {
		return quiet("error.ask_later")
	}
	list[i].Asked = in.Now()
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

// requestDraft asks an admin about a person without access.
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

// name is what the person calls themselves, made harmless.
func (v accessRequest) name() string {
	name := strings.Join(strings.Fields(strings.ReplaceAll(v.Person.Name, "`", "'")), " ")
	if name == "" {
		return v.Person.ID
	}
	return cards.Line(name)
}

// accessRequests lists the strangers of late, without those whose time is over.
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
		return now.Sub(v.Told) >= toldAgainAfter && (v.Asked.IsZero() || now.Sub(v.Asked) >= requestKept)
	}), nil
}

func requestOf(list []accessRequest, person string) int {
	return slices.IndexFunc(list, func(v accessRequest) bool { return v.Person.Key() == person })
}

// addAccessRequest adds a message's author; the index is -1 when there is no room.
func addAccessRequest(in *Inbox, list []accessRequest, r *Request) ([]accessRequest, int) {
	m := r.Message
	if len(list) >= maxAccessRequests || len(m.From.ID) > maxRequestField || len(m.Chat.Key()) > maxRequestField {
		return list, -1
	}
	v := accessRequest{Person: m.From, Chat: m.Chat, Language: r.Lang, Told: in.Now()}
	v.Person.Name = clip.Bytes(v.Person.Name, maxRequestField)
	return append(list, v), len(list)
}

// ignored reports that an admin wants a person to get no answer.
func ignored(ctx context.Context, in *Inbox, person string) bool {
	var g accessDecision
	return in.Settings.Read(ctx, person, tasks.SettingAccess, &g) == nil && g.Ignored
}

// decideAccess stores what an admin decided about a person, and tells the person
// when they are let in. The first tap decides; only who was ignored can be let
// in later.
func decideAccess(ctx context.Context, in *Inbox, r *Request, verb, person string) (Reply, error) {
	if !r.Admin {
		return in.ReplyAside(r, "error.not_yours"), nil
	}
	in.accessList.mu.Lock()
	defer in.accessList.mu.Unlock()
	list, err := accessRequests(ctx, in)
	if err != nil {
		return Reply{}, err
	}
	var g accessDecision
	in.Settings.kept.Remove([2]string{person, tasks.SettingAccess}) // what decides is what is stored
	if err := in.Settings.Read(ctx, person, tasks.SettingAccess, &g); err != nil {
		return Reply{}, err
	}
	var v accessRequest
	if i := requestOf(list, person); i >= 0 {
		v = list[i]
		list = slices.Delete(list, i, i+1)
	} else if g.Person != nil {
		v = *g.Person
	}
	again := g.By != "" && g.By == r.Message.Key
	if !again {
		if v.Person.Key() != person || g.Allowed || len(g.Chats) > 0 || g.Ignored && verb == pressIgnore {
			return in.ReplyText(r, "error.too_late", nil), nil
		}
		if err := in.Settings.Write(ctx, person, tasks.SettingAccess, judged(verb, v, r.Message.Key)); err != nil {
			return Reply{}, err
		}
		if err := in.Settings.Write(ctx, tasks.OwnerLegwork, tasks.SettingAccessRequests, list); err != nil {
			return Reply{}, err
		}
		action := map[string]string{pressAllow: "access.allow", pressOnlyHere: "access.allow_here", pressIgnore: "access.ignore"}[verb]
		in.Audit(ctx, r, action, person, v.Chat.Key())
	}
	return announceAccess(in, r, verb, v), nil
}

// judged is the grant that an admin's tap makes. It keeps whom it is about.
func judged(verb string, v accessRequest, by string) accessDecision {
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

// announceAccess tells the admin what was decided, and the person when they have access.
func announceAccess(in *Inbox, r *Request, verb string, v accessRequest) Reply {
	key := map[string]string{pressAllow: "notice.allowed", pressOnlyHere: "notice.allowed_here", pressIgnore: "notice.ignored"}[verb]
	n := in.Notice(r, key, map[string]any{"Name": v.name()})
	n.Replace.Pressed = true
	if verb == pressIgnore {
		return in.Reply(r, n)
	}
	return in.ReplyLater(r, func(ctx context.Context) Notice {
		welcome := TextNotice(in.Spell(v.Chat, in.Texts.Text(v.Language, "notice.admitted", nil)))
		in.Send(ctx, bot.Message{Chat: v.Chat, From: v.Person}, welcome)
		return n
	})
}

// Button makes a button with a text's label.
func (in *Inbox) Button(lang, key, data string) bot.Button {
	return bot.Button{Label: in.Texts.Text(lang, key, nil), Data: data}
}
