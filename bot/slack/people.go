package slack

import (
	"cmp"
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"

	slackgo "github.com/slack-go/slack"
)

// What is known of people is kept for an hour: a guest who becomes a member is
// one soon after.
const (
	keptPeople  = 10_000
	personKept  = time.Hour
	personAsked = time.Second // for how long a message waits to learn who wrote it
)

type person struct {
	name     string
	locale   string
	external bool
	until    time.Time
}

// people looks up who somebody is.
type people struct {
	s     *Slack
	known *lru.Cache[string, person]
}

func newPeople(s *Slack) (*people, error) {
	known, err := lru.New[string, person](keptPeople)
	return &people{s: s, known: known}, err
}

// name is the name of a person who is known already; empty otherwise.
func (p *people) name(id string) string {
	who, _ := p.known.Peek(id)
	return who.name
}

// identify says in m who its author is. Whoever cannot be looked up counts as
// external.
func (p *people) identify(ctx context.Context, m *bot.Message) {
	who, ok := p.known.Get(m.From.ID)
	if !ok || p.s.now().After(who.until) {
		var err error
		if who, err = p.look(ctx, m.From.ID); err != nil {
			p.s.log.WarnContext(ctx, "a person could not be looked up and counts as external", "person", m.From.Key(), "cause", err)
			m.From.Name, m.External = who.name, true
			return
		}
		p.known.Add(m.From.ID, who)
	}
	m.From.Name, m.Language, m.External = who.name, who.locale, who.external
}

func (p *people) look(ctx context.Context, id string) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, personAsked)
	defer cancel()
	me, err := p.s.me(ctx)
	if err != nil {
		return person{}, err
	}
	var u *slackgo.User
	err = p.s.call(ctx, request{method: "users.info", urgency: bot.First}, func(ctx context.Context) (err error) {
		u, err = p.s.api.GetUserInfoContext(ctx, id, slackgo.GetUserInfoOptionIncludeLocale(true))
		return err
	})
	if err != nil {
		return person{}, err
	}
	elsewhere := u.TeamID != "" && u.TeamID != me.team && (me.enterprise == "" || u.Enterprise.EnterpriseID != me.enterprise)
	return person{
		name:     cmp.Or(u.Profile.DisplayName, u.RealName, u.Name),
		locale:   u.Locale,
		external: u.IsRestricted || u.IsUltraRestricted || u.IsStranger || elsewhere,
		until:    p.s.now().Add(personKept),
	}, nil
}
