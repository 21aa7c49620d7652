package slack

import (
	"cmp"
	"context"
	"sync"
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
	personAsked = 2500 * time.Millisecond // for how long a message waits to learn who wrote it
	personRetry = 5 * time.Second
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

// meet looks up the authors of a batch, all at once and each of them once.
func (p *people) meet(ctx context.Context, batch []bot.Message) {
	var lookups sync.WaitGroup
	asked := map[string]bool{}
	for _, m := range batch {
		if who, ok := p.known.Peek(m.From.ID); asked[m.From.ID] || ok && !p.s.now().After(who.until) {
			continue
		}
		asked[m.From.ID] = true
		lookups.Go(func() { p.learn(ctx, m) })
	}
	lookups.Wait()
}

// learn looks up one author. Whoever cannot be looked up counts for a moment as
// what they were, or as external.
func (p *people) learn(ctx context.Context, m bot.Message) {
	who, err := p.look(ctx, m)
	if early(err) {
		return // it was not said to the bot, and the next one that is asks at once
	}
	if err != nil {
		p.s.log.WarnContext(ctx, "a person could not be looked up", "person", m.From.Key(), "cause", err)
		before, known := p.known.Peek(m.From.ID)
		who = before
		who.external = who.external || !known
		who.until = p.s.now().Add(personRetry)
	}
	p.known.Add(m.From.ID, who)
}

// identify says in m who its author is. Who is not known counts as external.
func (p *people) identify(ctx context.Context, m *bot.Message) {
	p.meet(ctx, []bot.Message{*m})
	who, known := p.known.Get(m.From.ID)
	who.external = who.external || !known
	m.From.Name, m.Language, m.External = who.name, who.locale, who.external
}

func (p *people) look(ctx context.Context, m bot.Message) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, personAsked)
	defer cancel()
	me, err := p.s.me(ctx)
	if err != nil {
		return person{}, err
	}
	level := bot.PriorityHigh
	if m.Overheard { // the talk of a large channel must not use up what others need
		level = bot.PriorityFrame
	}
	u, err := p.ask(ctx, m.From.ID, level)
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

// ask asks Slack about a person. What may pass is tried again as long as the
// message can wait: whoever counts as external for want of an answer may not be
// heard.
func (p *people) ask(ctx context.Context, id string, level bot.Priority) (u *slackgo.User, err error) {
	for pause := p.s.pauses(); ; {
		err = p.s.call(ctx, request{method: "users.info", urgency: level}, func(ctx context.Context) (err error) {
			u, err = p.s.api.GetUserInfoContext(ctx, id, slackgo.GetUserInfoOptionIncludeLocale(true))
			return err
		})
		if err == nil || early(err) || code(err) != "" && code(err) != "internal_error" || pause.Sleep(ctx) != nil {
			return u, err
		}
	}
}
