package slack_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"legwork/bot"
	"legwork/bot/slack"
	"legwork/internal/test/fakes/slackfake"
)

// lookUps counts the requests for a person.
func lookUps(p *env) (n int) {
	for _, e := range p.Entries() {
		if e.Method == "users.info" {
			n++
		}
	}
	return n
}

// TestAuthorNotKnownYet: a message waits until Slack says who wrote it. It keeps its
// place in its conversation, and holds up no other one.
func TestAuthorNotKnownYet(t *testing.T) {
	t.Parallel()
	modes := map[string]func(*testing.T) *env{
		"socket": func(t *testing.T) *env { return start(t, set{}).ready(t) },
		"http":   func(t *testing.T) *env { return httpEnv(t, set{}) },
	}
	faults := map[string]slackfake.Fault{
		"limited":     {Kind: slackfake.FaultBusy, Count: 1},
		"unavailable": {Kind: slackfake.FaultStatus, Status: 500, Count: 6},
		"fatal":       {Kind: slackfake.FaultError, Error: "fatal_error", Count: 6},
		"cut off":     {Kind: slackfake.FaultDropBefore, Count: 6},
	}
	for mode, begin := range modes {
		for name, fault := range faults {
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				p := begin(t)
				p.Say("DU2", "U2", "I am known", "")
				p.next(t, 1)
				fault.Method = "users.info"
				p.Break(fault)
				looked := lookUps(p)
				p.Say("DU1", "U1", "one", "")
				p.until(t, "the look-up of the author", func() bool { return lookUps(p) > looked })
				p.Say("DU1", "U1", "two", "")
				p.Say("DU2", "U2", "elsewhere", "")
				var got []string
				for _, m := range p.next(t, 4)[1:] {
					if m.External || m.From.Name == "" {
						t.Errorf("%q came as one of an outsider: %+v", m.Text, m)
					}
					got = append(got, m.Text)
				}
				if want := []string{"elsewhere", "one", "two"}; !slices.Equal(got, want) {
					t.Errorf("the messages came as %q, want %q", got, want)
				}
				p.until(t, "acknowledgements", p.Settled)
			})
		}
	}
}

// TestCommandOfAnAuthorNotKnownYet: Slack does not repeat a command, so it is
// acknowledged in time, and answered later.
func TestCommandOfAnAuthorNotKnownYet(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	p.Break(slackfake.Fault{Method: "users.info", Kind: slackfake.FaultStatus, Count: -1})
	if _, err := p.Slash("/task", "find it", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	p.until(t, "the acknowledgement", func() bool { return p.Deliveries()[0].Acked })
	if got := p.got(); len(got) > 0 {
		t.Errorf("got %+v before the author was known", got)
	}
	p.Heal()
	if m := p.next(t, 1)[0]; m.External || m.From.Name != "ann" || m.Text != "/task find it" || m.Chat.Thread == "" {
		t.Errorf("got %+v", m)
	}
}

// TestAuthorWhoNeedNotBeKnown: somebody who may use the bot even as an outsider, such as
// a person whom the config lists, does not wait until Slack says who that is.
func TestAuthorWhoNeedNotBeKnown(t *testing.T) {
	t.Parallel()
	p := start(t, set{options: slack.Options{Admit: func(_ context.Context, m bot.Message) bool {
		return m.From.ID == "U1" || !m.External
	}}}).ready(t)
	p.Break(slackfake.Fault{Method: "users.info", Kind: slackfake.FaultStatus, Count: -1})
	p.Say("DU2", "U2", "who am I?", "")
	if _, err := p.Slash("/task", "find it", "C1", "U1"); err != nil {
		t.Fatal(err)
	}
	p.Say("DU1", "U1", "and this", "")
	got := p.next(t, 2)
	for _, m := range got {
		if m.From.ID != "U1" || m.From.Name != "" || !m.External {
			t.Errorf("got %+v before anybody was known, want what Ann wrote, without facts about her", m)
		}
	}
	p.Heal()
	if m := p.next(t, 3)[2]; m.From.Name != "ben" || m.External {
		t.Errorf("got %+v, want what Slack said later", m)
	}
	p.Say("DU1", "U1", "and now?", "")
	if m := p.next(t, 4)[3]; m.From.Name != "ann" || m.External {
		t.Errorf("got %+v, want what Slack said later", m)
	}
}

// TestPeopleOutliveARestart: a person who addressed the bot is known after a restart,
// while Slack says nothing about people.
func TestPeopleOutliveARestart(t *testing.T) {
	t.Parallel()
	kept := &smallStore{values: map[[2]string]string{}}
	first := start(t, set{options: slack.Options{People: kept}}).ready(t)
	root := first.Say("C1", "U1", "<@UBOT> hi", "")
	first.next(t, 1)
	first.Say("C1", "U2", "only talk", root)
	first.next(t, 2)
	first.stop()
	if len(kept.values) != 1 {
		t.Errorf("the store holds %v, want what is known of Ann alone", kept.values)
	}

	second := start(t, set{options: slack.Options{People: kept}}).ready(t)
	second.Break(slackfake.Fault{Method: "users.info", Kind: slackfake.FaultError, Error: "fatal_error", Count: -1})
	second.Say("DU1", "U1", "again", "")
	if m := second.next(t, 1)[0]; m.External || m.From.Name != "ann" || m.Language != "en-US" {
		t.Errorf("got %+v, want what was known of her before the restart", m)
	}
	second.Say("DU2", "U2", "who am I?", "")
	second.Heal()
	if m := second.next(t, 2)[1]; m.External || m.From.Name != "ben" {
		t.Errorf("got %+v, want what Slack said later", m)
	}
}

// TestPeopleWithoutAStore: a store that fails costs nothing but what it would keep.
func TestPeopleWithoutAStore(t *testing.T) {
	t.Parallel()
	p := start(t, set{options: slack.Options{People: &smallStore{err: errors.New("the disk is full")}}}).ready(t)
	p.Say("DU1", "U1", "hi", "")
	if m := p.next(t, 1)[0]; m.External || m.From.Name != "ann" {
		t.Errorf("got %+v", m)
	}
}

// smallStore keeps small values, or fails.
type smallStore struct {
	mu     sync.Mutex
	values map[[2]string]string
	err    error
}

func (s *smallStore) Setting(_ context.Context, owner, name string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[[2]string{owner, name}], s.err
}

func (s *smallStore) PutSetting(_ context.Context, owner, name, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.values[[2]string{owner, name}] = value
	}
	return s.err
}
