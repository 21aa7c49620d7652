package engine_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/llm"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tasks/scheduler"
)

// planned is a legwork whose wall clock the test sets, in simulated time.
type planned struct {
	*enginetest.Env
	t         *testing.T
	chat      *messenger
	ahead     atomic.Int64 // of the wall clock before the simulated one
	scheduler func()       // stops it
	n         int

	mu    sync.Mutex
	fired []string // "TIME GOAL" of each call of a model
}

// wall is what the clock shows; it knows no monotonic time.
func (p *planned) wall() time.Time {
	return time.Now().Round(0).Add(time.Duration(p.ahead.Load())).UTC()
}

// withSchedules runs a test at a time of the wall clock, with a scheduler.
func withSchedules(t *testing.T, start string, talk func(t *testing.T, p *planned)) {
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &planned{Env: enginetest.NewEnv(t, memory.New(nil)), t: t, chat: &messenger{}}
		p.ahead.Store(int64(time.Until(at)))
		p.Now, p.Chats = p.wall, tasks.Chats{p.chat.Name(): p.chat}
		p.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			p.mu.Lock()
			p.fired = append(p.fired, p.wall().Format("2006-01-02 15:04")+" "+enginetest.Between(r.Messages[len(r.Messages)-1].Content, "goal"))
			p.mu.Unlock()
			return enginetest.Plain("done")(ctx, r, s)
		}
		p.Use(memory.New(p.wall))
		p.Start(build)
		p.schedules()
		talk(t, p)
		p.scheduler()
		if err := tasks.Idle(t.Context(), p.Store, ""); err != nil {
			t.Errorf("a task never ends: %v", err)
		}
		p.Stop()
		p.Inbox.Flush(context.Background())
		synctest.Wait()
	})
}

// schedules starts the scheduler.
func (p *planned) schedules() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = scheduler.New(p.Inbox, p.wall).Run(ctx)
	}()
	p.scheduler = func() { cancel(); <-done }
}

// say sends a text and returns what is said to it.
func (p *planned) say(text string) string { return p.said(bot.Message{Text: text}) }

func (p *planned) said(m bot.Message) string {
	p.t.Helper()
	p.n++
	m.Key, m.Chat, m.From, m.ID, m.At = fmt.Sprintf("m%d", p.n), enginetest.Chat, enginetest.Person, fmt.Sprintf("i%d", p.n), p.wall()
	before := len(p.drafts())
	p.Ask(p.t, m)
	p.Inbox.Flush(context.Background())
	synctest.Wait()
	var all []string
	for _, d := range p.drafts()[before:] {
		if d.Task == "" {
			all = append(all, d.Text)
		}
	}
	return strings.Join(all, " | ")
}

func (p *planned) drafts() []bot.Draft {
	p.chat.mu.Lock()
	defer p.chat.mu.Unlock()
	return slices.Clone(p.chat.chat)
}

// answers are the texts of the outcomes.
func (p *planned) answers() []string {
	var all []string
	for _, d := range p.drafts() {
		if d.Kind == bot.KindAnswer {
			all = append(all, d.Text)
		}
	}
	return all
}

func (p *planned) times() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.fired)
}

// until lets time go by until the wall clock shows a time.
func (p *planned) until(at string) {
	p.t.Helper()
	to, err := time.Parse(time.RFC3339, at)
	if err != nil {
		p.t.Fatal(err)
	}
	pass(to.Sub(p.wall()))
	synctest.Wait()
}

// set sets the wall clock.
func (p *planned) set(by time.Duration) { p.ahead.Add(int64(by)) }

func (p *planned) want(fired ...string) {
	p.t.Helper()
	if got := p.times(); !slices.Equal(got, fired) {
		p.t.Errorf("fired at\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(fired, "\n "))
	}
}

// TestScheduleInSpring: half past two is left out on the day the clocks change,
// and comes at three.
func TestScheduleInSpring(t *testing.T) {
	withSchedules(t, "2027-03-26T12:00:00Z", func(t *testing.T, p *planned) {
		p.say("/timezone Europe/Berlin")
		if got := p.say("/schedule every day at 2:30 tell a joke"); !strings.Contains(got, "Every day at 02:30 (Europe/Berlin): tell a joke") || !strings.Contains(got, "next: Saturday, 2027-03-27 02:30") {
			t.Errorf("said %q", got)
		}
		p.until("2027-03-29T12:00:00Z")
		p.want("2027-03-27 01:30 tell a joke", "2027-03-28 01:00 tell a joke", "2027-03-29 00:30 tell a joke")
		for _, text := range p.answers() {
			if text != "_Scheduled: Every day at 02:30_ · **tell a joke**\n\ndone" {
				t.Errorf("answer %q, want one that says it was scheduled", text)
			}
		}
	})
}

// TestScheduleInAutumn: half past two comes twice on the day the clocks change,
// and runs once; a schedule for every two hours keeps its distance.
func TestScheduleInAutumn(t *testing.T) {
	withSchedules(t, "2026-10-24T20:00:00Z", func(t *testing.T, p *planned) {
		p.say("/timezone Europe/Berlin")
		p.say("/schedule по будням и выходным в 2:30 x") // refused
		p.say("/schedule ежедневно в 2:30 шутка")
		p.say("/schedule every 2 hours look")
		p.until("2026-10-25T05:00:00Z")
		p.want("2026-10-24 22:00 look", "2026-10-25 00:00 look", "2026-10-25 00:30 шутка", "2026-10-25 02:00 look", "2026-10-25 04:00 look")
	})
}

// TestClockJumps: a clock that is set ahead a day lets the newest missed time be
// made up for, once, where that is wanted; one that is set back a day fires
// nothing again.
func TestClockJumps(t *testing.T) {
	withSchedules(t, "2026-11-20T08:59:00Z", func(t *testing.T, p *planned) {
		p.say("/schedule every day at 9:00 one")
		p.say("/schedule catch up every hour two")
		p.until("2026-11-20T09:01:00Z")
		p.set(27 * time.Hour)
		p.until("2026-11-21T12:04:00Z")
		p.want("2026-11-20 09:00 one", "2026-11-21 12:02 two")
		if last := p.answers()[1]; !strings.HasPrefix(last, "_Scheduled: Every hour. It was due on Saturday, 2026-11-21 11:59;") {
			t.Errorf("the late answer is %q, want one that says when it was due", last)
		}
		if list := p.say("/schedule"); !strings.Contains(list, "skipped: Saturday, 2026-11-21 09:00, legwork was not running") {
			t.Errorf("the list is %q, want the time that was left out", list)
		}
		p.set(-24 * time.Hour)
		p.until("2026-11-21T11:00:00Z")
		p.want("2026-11-20 09:00 one", "2026-11-21 12:02 two")
		p.until("2026-11-21T13:00:00Z")
		p.want("2026-11-20 09:00 one", "2026-11-21 12:02 two", "2026-11-21 12:59 two")
	})
}

// TestClockFarAhead: a schedule that ran while the clock was a year ahead goes on
// when the clock is right again, and not in a year.
func TestClockFarAhead(t *testing.T) {
	withSchedules(t, "2027-11-20T08:59:00Z", func(t *testing.T, p *planned) {
		p.say("/schedule every day at 9:00 look")
		p.until("2027-11-20T09:01:00Z")
		p.set(-365 * 24 * time.Hour)
		p.until("2026-11-21T09:01:00Z")
		p.want("2027-11-20 09:00 look", "2026-11-21 09:00 look")
	})
}

// TestMissedWhileDown: a run that was missed less than an hour ago is caught up once,
// older ones are skipped, and a schedule that comes only once is never lost.
func TestMissedWhileDown(t *testing.T) {
	for _, c := range []struct {
		down time.Duration
		want []string
	}{
		{50 * time.Minute, []string{"2026-11-20 09:45 minutes", "2026-11-20 09:45 daily", "2026-11-20 09:45 call"}},
		{5 * time.Hour, []string{"2026-11-20 13:55 minutes", "2026-11-20 13:55 call"}},
	} {
		t.Run(c.down.String(), func(t *testing.T) {
			withSchedules(t, "2026-11-20T08:55:00Z", func(t *testing.T, p *planned) {
				p.say("/schedule */10 * * * * minutes")
				p.say("/schedule every day 9:00 daily")
				p.say("/schedule at 9:01 call")
				p.scheduler()
				pass(c.down)
				p.schedules()
				pass(time.Second)
				synctest.Wait()
				got := p.times()
				slices.Sort(got)
				slices.Sort(c.want)
				if !slices.Equal(got, c.want) {
					t.Errorf("fired %q, want %q", got, c.want)
				}
			})
		})
	}
}

// TestScheduleStillRunning: a time that comes while the task of the one before
// still runs is left out.
func TestScheduleStillRunning(t *testing.T) {
	withSchedules(t, "2026-11-20T08:55:30Z", func(t *testing.T, p *planned) {
		answer := p.Model.Answer
		p.Model.Answer = func(ctx context.Context, r llm.Request, s func(llm.Delta)) (llm.Reply, error) {
			reply, err := answer(ctx, r, s)
			select {
			case <-time.After(150 * time.Second):
			case <-ctx.Done():
			}
			return reply, err
		}
		p.say("/schedule every minute look")
		p.until("2026-11-20T08:59:20Z")
		p.want("2026-11-20 08:56 look", "2026-11-20 08:59 look")
		if got := p.say("/schedule list"); !strings.Contains(got, "skipped: Friday, 2026-11-20 08:58, the previous run was still going") || !strings.Contains(got, "last: Friday, 2026-11-20 08:59, Planning") {
			t.Errorf("the list is %q", got)
		}
		p.say("/schedule delete 1 yes")
	})
}

// TestScheduleWithoutAccess: the schedule of a person without access does not run.
// The chat is told once.
func TestScheduleWithoutAccess(t *testing.T) {
	withSchedules(t, "2026-11-20T08:55:00Z", func(t *testing.T, p *planned) {
		rules := inbox.Rules{Limits: p.Limits, Language: "en", Timezone: "UTC"}
		p.say("/schedule every 10 minutes look")
		p.until("2026-11-20T09:06:00Z")
		closed := rules
		closed.Access = policy.Access{Platforms: map[string]policy.PlatformAccess{p.chat.Name(): {}}}
		p.Inbox.Use(closed)
		p.until("2026-11-20T10:00:00Z")
		p.want("2026-11-20 09:05 look")
		told := 0
		for _, d := range p.drafts() {
			if strings.Contains(d.Text, "is paused: ") && strings.Contains(d.Text, "may no longer use this bot here") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("the chat was told %d times, want once", told)
		}
		p.Inbox.Use(rules)
		if got := p.say("/schedule resume 1"); !strings.Contains(got, "Resumed.") || !strings.Contains(got, "next: Friday, 2026-11-20 10:05") {
			t.Errorf("said %q", got)
		}
		p.until("2026-11-20T10:06:00Z")
		p.want("2026-11-20 09:05 look", "2026-11-20 10:05 look")
	})
}

// TestScheduleUnseen: a chat that takes no answer has nothing more done for it,
// until somebody there wants it again.
func TestScheduleUnseen(t *testing.T) {
	withSchedules(t, "2026-11-20T08:55:00Z", func(t *testing.T, p *planned) {
		p.say("/schedule every 10 minutes look")
		p.chat.from(func(bool, bot.Draft) error { return fmt.Errorf("posting: %w", bot.ErrGone) })
		p.until("2026-11-20T09:40:00Z")
		p.want("2026-11-20 09:05 look")
		p.chat.from(nil)
		if got := p.say("/schedule"); !strings.Contains(got, "paused, because I could not show the last answer here") {
			t.Errorf("the list is %q", got)
		}
		p.say("/schedule resume 1")
		p.until("2026-11-20T10:00:00Z")
		p.want("2026-11-20 09:05 look", "2026-11-20 09:45 look", "2026-11-20 09:55 look")
	})
}

// TestConfigSchedules: what the config says is done, changed and taken away; what
// people did about it stays as long as its name does.
func TestConfigSchedules(t *testing.T) {
	withSchedules(t, "2026-11-20T08:55:00Z", func(t *testing.T, p *planned) {
		use := func(list ...scheduler.ConfigSchedule) {
			t.Helper()
			if err := scheduler.ApplyConfig(t.Context(), p.Inbox, list); err != nil {
				t.Fatal(err)
			}
		}
		p.Inbox.Use(inbox.Rules{Limits: p.Limits, Language: "en", Timezone: "UTC", Access: policy.Access{Admins: []string{enginetest.Person.Key()}}})
		s := scheduler.ConfigSchedule{Name: "hourly", When: "every hour", Goal: "look", Chat: enginetest.Chat, As: enginetest.Person, Timezone: "UTC", Language: "en"}
		use(s)
		p.until("2026-11-20T09:30:00Z")
		s.Goal = "look well"
		use(s) // the interval is not counted anew
		p.until("2026-11-20T10:00:00Z")
		p.want("2026-11-20 09:55 look well")
		if got := p.say("/schedule delete 1 yes"); !strings.Contains(got, "comes from the configuration") {
			t.Errorf("deleting one of the config says %q", got)
		}
		if got := p.say("/schedule show 1"); !strings.Contains(got, "from the configuration: hourly") {
			t.Errorf("the card is %q", got)
		}
		p.say("/schedule pause 1")
		s.When = "every day 10:30"
		use(s)
		p.until("2026-11-20T11:00:00Z")
		p.want("2026-11-20 09:55 look well")
		p.say("/schedule resume 1")
		p.until("2026-11-21T11:00:00Z")
		p.want("2026-11-20 09:55 look well", "2026-11-21 10:30 look well")
		use()
		if got := p.say("/schedule"); !strings.Contains(got, "There are no schedules here.") {
			t.Errorf("the list is %q after the config's schedule was taken out", got)
		}
	})
}
