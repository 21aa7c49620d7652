package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/internal/test/harness/record"
)

// Steady is a constant load without kills: people in Telegram who ask, decide,
// stop, plan ahead and forget for a long time.
type Steady struct {
	For    time.Duration // how long
	Warm   time.Duration // samples before it do not count; 0: a sixth of For
	Every  time.Duration // between looks at the process; 0: 10 s, or a hundredth of For when that is less
	People int           // 0: 24
	Seed   int64
	Log    func(format string, a ...any) // progress; nil: none
}

// patience is how long a person waits for an answer before it counts as lost.
const patience = 90 * time.Second

// load are the people of a Steady and what they wait for.
type load struct {
	Steady
	fake  *telegramfake.Server
	rand  *rand.Rand
	began time.Time

	people []*loadUser
	seen   int            // entries of Telegram's log
	plans  map[string]int // how often a schedule brought its answer, by the mark of that
	report *SteadyReport
}

// loadUser is one of them, in a private chat.
type loadUser struct {
	telegramfake.User
	asked int
	doing string    // what they wait for; empty: they write at due
	mark  string    // that the answer begins with; empty: anything is one
	due   time.Time // when they lose patience, or write again
	stops bool      // they press Stop as soon as they can
	said  string    // the id in what they said last
}

// Steady runs legwork under load and samples it until the time is over.
func (h *Harness) Steady(ctx context.Context, o Steady) (report *SteadyReport, err error) {
	o = o.usual()
	dir, err := os.MkdirTemp(h.Dir, "steady-")
	if err != nil {
		return nil, err
	}
	slack, err := slackfake.Start(slackfake.Options{AgentView: true, Quiet: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, slack.Close()) }()
	telegram, err := telegramfake.Start(telegramfake.Options{Token: telegramToken})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, telegram.Close()) }()
	brain := llmfake.Brain{First: 200 * time.Millisecond, PerToken: 5 * time.Millisecond}
	model, err := llmfake.Start(llmfake.Options{Models: []string{"fake"}, Respond: brain.Respond})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.Close()) }()
	s := &session{h: h, dir: dir, client: steadyClient{telegram: telegram, slack: slack}}
	if err := s.configure(model.URL, 0); err != nil {
		return nil, err
	}
	c := &load{Steady: o, fake: telegram, rand: rand.New(rand.NewPCG(uint64(o.Seed), 3)), began: time.Now(), plans: map[string]int{}, report: &SteadyReport{Order: o}}
	if err := c.over(ctx, s); err != nil {
		return nil, err
	}
	for id, n := range c.plans {
		c.report.Fired += min(n, 1)
		if n > 1 {
			c.report.Lost = append(c.report.Lost, fmt.Sprintf("one schedule, but %d to that of %s", n, id))
		}
	}
	c.report.Rude = append(append(telegram.Violations(), slack.Violations()...), model.Violations()...)
	return c.report, nil
}

func (o Steady) usual() Steady {
	if o.Warm == 0 {
		o.Warm = o.For / 6
	}
	if o.Every == 0 {
		o.Every = min(10*time.Second, o.For/100)
	}
	if o.People == 0 {
		o.People = 24
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return o
}

// steadyClient is legwork serve with both platforms.
type steadyClient struct {
	client
	telegram *telegramfake.Server
	slack    *slackfake.Server
}

func (f steadyClient) config() string {
	return fmt.Sprintf("telegram: {token: %q, api_url: %q}\nslack: {bot_token: %q, app_token: %q, api_url: %q}\n"+
		"access: {telegram: {users: [\"*\"]}, admins: [\"telegram:99\"]}\nhttp: {listen: \"127.0.0.1:0\"}\n",
		telegramToken, f.telegram.URL, slackfake.BotToken, slackfake.AppToken, f.slack.APIURL)
}

// over runs legwork for as long as the people talk.
func (c *load) over(ctx context.Context, s *session) error {
	p, err := s.launch(0, Kill{})
	if err != nil {
		return err
	}
	_ = os.Remove(p.hits) // it would only grow
	go func() {
		for range p.lines { // it says nothing
		}
	}()
	talking, stop := context.WithTimeout(ctx, c.For)
	defer stop()
	var looking sync.WaitGroup
	looking.Go(func() { c.look(talking, p.cmd.Process.Pid, filepath.Join(s.dir, "data")) })
	err = c.talk(talking)
	stop()
	looking.Wait()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	p.terminate()
	life, waited := p.wait()
	if life.Exit != 0 && waited == nil {
		waited = fmt.Errorf("legwork ended with exit code %d: see %s", life.Exit, s.dir)
	}
	return errors.Join(err, waited)
}

// talk lets each person write whenever they wait for nothing.
func (c *load) talk(ctx context.Context) error {
	for i := range c.People {
		u := c.fake.User(int64(1000+i), fmt.Sprint("P", i), "en")
		c.people = append(c.people, &loadUser{User: u, due: time.Now().Add(c.pause())})
	}
	for ctx.Err() == nil {
		soon, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		_ = c.fake.WaitFor(soon, func(v telegramfake.View) bool { // its error is the context's
			news := c.seen < len(v.Log())
			for _, e := range v.Log()[c.seen:] {
				c.seen++
				if e.Done {
					c.hear(e)
				}
			}
			return news
		})
		stop()
		for _, p := range c.people {
			c.act(p)
		}
	}
	return nil
}

func (c *load) pause() time.Duration {
	return time.Second + time.Duration(c.rand.IntN(4000))*time.Millisecond
}

// act does what a person does now.
func (c *load) act(p *loadUser) {
	switch {
	case time.Now().Before(p.due):
		return
	case p.doing != "":
		c.report.Lost = append(c.report.Lost, fmt.Sprintf("%s of P%d (%s), %v after the start", p.doing, p.ID-1000, p.mark, time.Since(c.began).Round(time.Second)))
	}
	p.asked++
	id := fmt.Sprintf("p%dq%d", p.ID-1000, p.asked)
	p.mark, p.said, p.stops, p.due = "["+id+"]", id, false, time.Now().Add(patience)
	kind, text := c.wish(p, id)
	p.doing = kind
	c.report.count(kind)
	c.fake.Say(p.ID, p.User, text)
}

// wish chooses what a person writes.
func (c *load) wish(p *loadUser, id string) (kind, text string) {
	word := func() string { return words[c.rand.IntN(len(words))] }
	switch n := c.rand.IntN(100); {
	case n < 45:
		return "question", id + ": say " + word()
	case n < 65:
		return "plan", id + ": lookup alpha; lookup beta | lookup " + word()
	case n < 77:
		return "approval", id + ": pay " + word()
	case n < 85:
		p.stops, p.mark = true, ""
		return "cancel", id + ": lookup alpha; book beta | lookup gamma | lookup delta"
	case n < 89:
		p.mark = ""
		return "forget", "/forget yes"
	case n < 92:
		p.mark = ""
		return "new", "/new"
	case n < 96:
		c.plans[p.mark] = 0
		p.mark = ""
		return "schedule", "/schedule in 1 minute " + id + ": say " + word()
	}
	p.mark = ""
	return "status", "/status"
}

// stdout takes a request that Telegram took. Telegram's lock is held.
func (c *load) hear(e telegramfake.Entry) {
	at := int(e.Chat) - 1000
	if at < 0 || at >= len(c.people) || e.Method != "sendMessage" && e.Method != "editMessageText" {
		return
	}
	p, text, keys := c.people[at], e.Params["text"], e.Params["reply_markup"]
	if _, planned := c.plans["["+record.Mark(text)+"]"]; planned && e.Method == "sendMessage" {
		c.plans["["+record.Mark(text)+"]"]++
		if p.said == "" || !strings.Contains(text, p.said) {
			return
		} // messages that came while it was decided belong to it
		c.report.Joined++
	}
	press := func(label string) { go c.fake.Press(e.Chat, e.Message, label, p.User) } // when the lock is free
	switch {
	case strings.Contains(keys, record.LabelAllow):
		press([]string{record.LabelAllow, record.LabelDeny}[c.rand.IntN(2)])
	case p.stops && strings.Contains(keys, record.StopLabel):
		p.stops = false
		press(record.StopLabel)
	case p.doing == "" || strings.Contains(keys, record.StopLabel):
	case p.mark != "" && !strings.Contains(text, strings.Trim(p.mark, "[]")) || record.Mark(text) == "" && p.mark != "":
	case p.doing == "cancel" && !strings.Contains(text, record.StoppedText) && !strings.Contains(text, "[p"):
	default:
		c.report.took(time.Since(p.due.Add(-patience)))
		p.doing, p.due = "", time.Now().Add(c.pause())
	}
}
