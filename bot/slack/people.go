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

// Facts about people are kept for an hour, so that a guest who becomes a member
// is soon treated as one.
const (
	maxPeople     = 10_000
	personTTL     = time.Hour
	personTimeout = 2500 * time.Millisecond // how long a message waits for its author's name
	personRetry   = 5 * time.Second
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
	known, err := lru.New[string, person](maxPeople)
	return &people{s: s, known: known}, err
}

// name is the name of a person who was looked up; empty otherwise.
func (p *people) name(id string) string {
	who, _ := p.known.Peek(id)
	return who.name
}

// lookUpAll looks up the authors of a batch, each once and all at the same time.
func (p *people) lookUpAll(ctx context.Context, batch []bot.Message) {
	var lookups sync.WaitGroup
	asked := map[string]bool{}
	for _, m := range batch {
		if who, ok := p.known.Peek(m.From.ID); asked[m.From.ID] || ok && !p.s.now().After(who.until) {
			continue
		}
		asked[m.From.ID] = true
		lookups.Go(func() { p.lookUp(ctx, m) })
	}
	lookups.Wait()
}

// lookUp looks up one author. When that fails, the last known facts count for a
// moment; without any, the author counts as external.
func (p *people) lookUp(ctx context.Context, m bot.Message) {
	who, err := p.fetch(ctx, m)
	if tooEarly(err) {
		return // the message does not address the bot; the next one that does looks up again
	}
	if err != nil {
		p.s.log.WarnContext(ctx, "slack: person not looked up", "person", m.From.Key(), "cause", err)
		before, known := p.known.Peek(m.From.ID)
		who = before
		who.external = who.external || !known
		who.until = p.s.now().Add(personRetry)
	}
	p.known.Add(m.From.ID, who)
}

// identify fills in the author of m. An unknown author counts as external.
func (p *people) identify(ctx context.Context, m *bot.Message) {
	p.lookUpAll(ctx, []bot.Message{*m})
	who, known := p.known.Get(m.From.ID)
	who.external = who.external || !known
	m.From.Name, m.Language, m.External = who.name, who.locale, who.external
}

func (p *people) fetch(ctx context.Context, m bot.Message) (person, error) {
	ctx, cancel := context.WithTimeout(ctx, personTimeout)
	defer cancel()
	me, err := p.s.me(ctx)
	if err != nil {
		return person{}, err
	}
	level := bot.PriorityHigh
	if m.Overheard { // messages of a busy channel must not use up the limit
		level = bot.PriorityFrame
	}
	u, err := p.fetchUser(ctx, m.From.ID, level)
	if err != nil {
		return person{}, err
	}
	elsewhere := u.TeamID != "" && u.TeamID != me.team && (me.enterprise == "" || u.Enterprise.EnterpriseID != me.enterprise)
	return person{
		name:     cmp.Or(u.Profile.DisplayName, u.RealName, u.Name),
		locale:   u.Locale,
		external: u.IsRestricted || u.IsUltraRestricted || u.IsStranger || elsewhere,
		until:    p.s.now().Add(personTTL),
	}, nil
}

// fetchUser asks Slack about a person. It tries again after errors that may pass,
// because the bot may ignore a person who counts as external.
func (p *people) fetchUser(ctx context.Context, id string, level bot.Priority) (u *slackgo.User, err error) {
	for pauses := p.s.timings.retries(); ; {
		err = p.s.call(ctx, request{method: "users.info", urgency: level}, func(ctx context.Context) (err error) {
			u, err = p.s.api.GetUserInfoContext(ctx, id, slackgo.GetUserInfoOptionIncludeLocale(true))
			return err
		})
		if err == nil || tooEarly(err) || code(err) != "" && code(err) != "internal_error" || pauses.Sleep(ctx) != nil {
			return u, err
		}
	}
}
