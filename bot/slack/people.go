package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// Facts about people are kept for an hour, so that a guest who becomes a member
// is soon treated as one.
const (
	maxPeople     = 10_000
	personTTL     = time.Hour
	personTimeout = 2500 * time.Millisecond // how long a message waits for facts that it does not need
	personRetry   = 5 * time.Second
)

// PeopleStore keeps small values of a person, or of a conversation, by a name, such as
// tasks.Store. A missing value is "".
type PeopleStore interface {
	Setting(ctx context.Context, owner, name string) (string, error)
	PutSetting(ctx context.Context, owner, name, value string) error
}

// settingPerson names what Slack said about a person last.
const settingPerson = "slack_person"

// person is what Slack says about somebody.
type person struct {
	Name     string `json:"name,omitempty"`
	Locale   string `json:"locale,omitempty"`
	External bool   `json:"external,omitempty"`

	until  time.Time // when Slack is asked again
	stored bool      // the store holds it, or need not
}

// people looks up who somebody is.
type people struct {
	*webClient
	admit func(context.Context, bot.Message) bool
	store PeopleStore // nil: nothing outlives the process
	known *lru.Cache[string, person]
	lanes bot.Lanes // look-ups, by person
}

func newPeople(c *webClient, store PeopleStore, admit func(context.Context, bot.Message) bool) (*people, error) {
	known, err := lru.New[string, person](maxPeople)
	return &people{webClient: c, admit: admit, store: store, known: known}, err
}

// name is the name of a person who was looked up; empty otherwise.
func (p *people) name(id string) string {
	who, _ := p.known.Peek(id)
	return who.Name
}

// nameOf is the name of a person who may not have addressed the bot, or the id when
// Slack does not say the name at the moment.
func (p *people) nameOf(ctx context.Context, id string) string {
	_ = p.lookUp(ctx, bot.Message{From: bot.Person{Platform: Name, ID: id}, Overheard: true}) // the id stands for the name then
	return cmp.Or(p.name(id), id)
}

// fresh reports whether a person's facts are new enough to be used without a look-up.
func (p *people) fresh(id string) bool {
	who, ok := p.known.Peek(id)
	return ok && !p.now().After(who.until)
}

// identify looks up the author of m and fills the facts in. After an error, Slack may
// say later who the author is.
func (p *people) identify(ctx context.Context, m *bot.Message) error {
	err := p.lookUp(ctx, *m)
	p.fill(m)
	return err
}

// fill fills in what is known of the author of m. An unknown person counts as external.
func (p *people) fill(m *bot.Message) {
	who, known := p.known.Get(m.From.ID)
	m.From.Name, m.Language, m.External = who.Name, who.Locale, who.External || !known
}

// lookUp asks Slack about the author of m, unless the facts are fresh. When that
// fails, the last known facts count for a moment. A message does not need the facts when
// its author may use the bot even as an outsider.
func (p *people) lookUp(ctx context.Context, m bot.Message) error {
	id := m.From.ID
	if p.fresh(id) {
		return nil
	}
	turn, leave := p.lanes.Join(id)
	defer leave()
	select {
	case <-turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.fresh(id) {
		return nil
	}
	before, known := p.recall(ctx, m.From)
	m.External = true
	needed := !known && (m.Overheard || !p.admit(ctx, m))
	who, err := p.fetch(ctx, m, needed)
	switch {
	case err == nil:
		who.stored = before.stored && who.Name == before.Name && who.Locale == before.Locale && who.External == before.External
	case tooEarly(err):
		return nil // the message does not address the bot; the next one that does looks up again
	case needed && passing(err):
		return err
	case !known && passing(err):
		p.log.WarnContext(ctx, "slack: person not looked up, the message goes on", "person", m.From.Key(), "cause", err)
		return nil // the next message looks up again
	default:
		p.log.WarnContext(ctx, "slack: person not looked up", "person", m.From.Key(), "cause", err)
		who = before
		who.External = who.External || !known
		who.until, who.stored = p.now().Add(personRetry), who.stored || !known
	}
	p.known.Add(id, who)
	return nil
}

// recall returns what was known about a person, also before a restart.
func (p *people) recall(ctx context.Context, of bot.Person) (who person, known bool) {
	if who, known = p.known.Peek(of.ID); known || p.store == nil {
		return who, known
	}
	text, err := p.store.Setting(ctx, of.Key(), settingPerson)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &who)
		known = err == nil
		who.stored = known
	}
	if err != nil {
		p.log.WarnContext(ctx, "slack: person not read from the store", "person", of.Key(), "cause", err)
	}
	return who, known
}

// remember stores what Slack said about the author of m, who addresses the bot.
func (p *people) remember(ctx context.Context, m bot.Message) {
	who, known := p.known.Peek(m.From.ID)
	if p.store == nil || m.Overheard || !known || who.stored || who.until.IsZero() {
		return
	}
	text, err := json.Marshal(who)
	if err == nil {
		err = p.store.PutSetting(ctx, m.From.Key(), settingPerson, string(text))
	}
	if err != nil {
		p.log.WarnContext(ctx, "slack: person not stored", "person", m.From.Key(), "cause", err)
		return
	}
	who.stored = true
	p.known.Add(m.From.ID, who)
}

// fetch asks Slack about the author of m. It does not wait long for facts that are not
// needed.
func (p *people) fetch(ctx context.Context, m bot.Message, needed bool) (person, error) {
	if !needed {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, personTimeout)
		defer cancel()
	}
	me, err := p.me(ctx)
	if err != nil {
		return person{}, err
	}
	level := bot.PriorityHigh
	if m.Overheard { // messages of a busy channel must not use up the limit
		level = bot.PriorityFrame
	}
	var u *slackgo.User
	err = p.call(ctx, request{method: "users.info", urgency: level}, func(ctx context.Context) (err error) {
		u, err = p.api.GetUserInfoContext(ctx, m.From.ID, slackgo.GetUserInfoOptionIncludeLocale(true))
		return err
	})
	if err != nil {
		return person{}, err
	}
	elsewhere := u.TeamID != "" && u.TeamID != me.team && (me.enterprise == "" || u.Enterprise.EnterpriseID != me.enterprise)
	return person{
		Name:     cmp.Or(u.Profile.DisplayName, u.RealName, u.Name),
		Locale:   u.Locale,
		External: u.IsRestricted || u.IsUltraRestricted || u.IsStranger || elsewhere,
		until:    p.now().Add(personTTL),
	}, nil
}
