package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"legwork/bot"
	"legwork/bot/ratelimit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// step is a request at a time, and what comes of it.
type step struct {
	at   time.Duration
	r    bot.Request
	want time.Duration // when it goes; of a frame that does not, when to offer the next
	late bool          // the frame does not go
}

func TestTurn(t *testing.T) {
	first := bot.Request{Account: "a", Chat: "1", Method: "send", Priority: bot.PriorityHigh}
	with := func(change func(*bot.Request)) bot.Request {
		r := first
		change(&r)
		return r
	}
	plain := with(func(r *bot.Request) { r.Priority = bot.PriorityNormal })
	frame := with(func(r *bot.Request) { r.Priority = bot.PriorityFrame })
	fresh := with(func(r *bot.Request) { r.Priority = bot.PriorityFirstFrame })
	other := with(func(r *bot.Request) { r.Chat = "2" })
	account := with(func(r *bot.Request) { r.Account = "b" })
	edit := with(func(r *bot.Request) { r.Method = "edit" })
	noChat := with(func(r *bot.Request) { r.Chat = "" })
	second := ratelimit.Rule{PerChat: true, Every: 1000 * ms, Burst: 2}
	for _, c := range []struct {
		name  string
		rules []ratelimit.Rule
		steps []step
	}{
		{"no rules", nil, []step{{r: first}, {r: first}, {r: frame}}},
		{
			"burst, then one after the other",
			[]ratelimit.Rule{second},
			[]step{{r: first}, {r: first}, {r: first, want: 1000 * ms}, {r: first, want: 2000 * ms}, {at: 10000 * ms, r: first, want: 10000 * ms}},
		},
		{
			"the first frame of a message takes what the others leave, and never waits",
			[]ratelimit.Rule{{PerChat: true, Every: 1000 * ms, Burst: 3, Reserve: 1}, {PerChat: true, Every: 5000 * ms, FramesOnly: true}},
			[]step{
				{r: frame},
				{r: first},
				{r: frame, late: true, want: 5000 * ms},
				{r: fresh},
				{r: fresh, late: true, want: 1000 * ms},
				{at: 1000 * ms, r: fresh, want: 1000 * ms},
			},
		},
		{
			"chats by themselves",
			[]ratelimit.Rule{{PerChat: true, Every: 1000 * ms}},
			[]step{{r: first}, {r: other}, {r: account}, {r: noChat}, {r: noChat}, {at: 1 * ms, r: first, want: 1000 * ms}},
		},
		{
			"chats together",
			[]ratelimit.Rule{{Every: 1000 * ms}},
			[]step{{r: first}, {r: account}, {at: 1 * ms, r: other, want: 1000 * ms}, {at: 2 * ms, r: noChat, want: 2000 * ms}},
		},
		{
			"methods and matches",
			[]ratelimit.Rule{
				{Methods: []string{"send"}, Every: 1000 * ms},
				{Match: func(r bot.Request) bool { return r.Group }, Every: 3000 * ms},
			},
			[]step{{r: first}, {r: edit}, {r: edit}, {at: 1 * ms, r: with(func(r *bot.Request) { r.Group = true }), want: 1000 * ms}},
		},
		{
			"all rules that match",
			[]ratelimit.Rule{{Every: 1000 * ms, Burst: 3}, {PerChat: true, Every: 700 * ms}},
			[]step{{r: first}, {r: other}, {at: 1 * ms, r: first, want: 700 * ms}, {at: 700 * ms, r: other, want: 1000 * ms}},
		},
		{
			"a span",
			[]ratelimit.Rule{{Window: 1000 * ms, Burst: 2}},
			[]step{{r: first}, {at: 400 * ms, r: first, want: 400 * ms}, {at: 500 * ms, r: first, want: 1000 * ms}, {at: 600 * ms, r: first, want: 1400 * ms}},
		},
		{
			"frames leave some",
			[]ratelimit.Rule{{Every: 1000 * ms, Burst: 3, Reserve: 2}},
			[]step{
				{r: frame},
				{at: 100 * ms, r: frame, want: 1000 * ms, late: true},
				{at: 200 * ms, r: first, want: 200 * ms},
				{at: 300 * ms, r: frame, want: 2000 * ms, late: true},
				{at: 2000 * ms, r: frame, want: 2000 * ms},
			},
		},
		{
			"frames leave some of a span",
			[]ratelimit.Rule{{Window: 1000 * ms, Burst: 3, Reserve: 2}},
			[]step{
				{r: first},
				{at: 100 * ms, r: frame, want: 1000 * ms, late: true},
				{at: 200 * ms, r: first, want: 200 * ms},
				{at: 300 * ms, r: frame, want: 1200 * ms, late: true},
				{at: 1200 * ms, r: frame, want: 1200 * ms},
			},
		},
		{
			"a reserve of everything",
			[]ratelimit.Rule{{Every: 1000 * ms, Burst: 1, Reserve: 9}},
			[]step{{r: frame}, {at: 1 * ms, r: frame, want: 1000 * ms, late: true}},
		},
		{
			"a rule for frames",
			[]ratelimit.Rule{{Every: 1000 * ms, Burst: 2, FramesOnly: true}},
			[]step{
				{r: first},
				{r: first},
				{r: first},
				{r: first},
				{at: 500 * ms, r: frame, want: 1000 * ms, late: true},
				{at: 1000 * ms, r: frame, want: 1000 * ms},
				{at: 1000 * ms, r: plain, want: 1000 * ms},
			},
		},
		{
			"a frame behind those that wait",
			[]ratelimit.Rule{second},
			[]step{
				{r: first},
				{r: first},
				{at: 100 * ms, r: first, want: 1000 * ms},
				{at: 200 * ms, r: plain, want: 2000 * ms},
				{at: 300 * ms, r: frame, want: 3000 * ms, late: true},
				{at: 300 * ms, r: with(func(r *bot.Request) { r.Chat, r.Priority = "2", bot.PriorityFrame }), want: 300 * ms},
				{at: 3000 * ms, r: frame, want: 3000 * ms},
			},
		},
		{
			"a frame behind those that wait in a span",
			[]ratelimit.Rule{{Window: 1000 * ms, Burst: 2}},
			[]step{
				{r: first},
				{at: 100 * ms, r: first, want: 100 * ms},
				{at: 200 * ms, r: first, want: 1000 * ms},
				{at: 300 * ms, r: frame, want: 1100 * ms, late: true},
				{at: 1100 * ms, r: frame, want: 1100 * ms},
			},
		},
		{
			"outcomes before others",
			[]ratelimit.Rule{second},
			[]step{
				{r: plain},
				{r: plain},
				{at: 100 * ms, r: plain, want: 3000 * ms},
				{at: 200 * ms, r: first, want: 1000 * ms},
				{at: 300 * ms, r: first, want: 2000 * ms},
			},
		},
		{
			"chats in turn",
			[]ratelimit.Rule{{Every: 1000 * ms}},
			[]step{
				{r: first},
				{at: 1 * ms, r: first, want: 1000 * ms},
				{at: 2 * ms, r: first, want: 3000 * ms},
				{at: 3 * ms, r: first, want: 4000 * ms},
				{at: 4 * ms, r: other, want: 2000 * ms},
			},
		},
		{
			"a caller that waits for another limit holds up no other",
			[]ratelimit.Rule{{Every: 1000 * ms, Burst: 2}, {PerChat: true, Every: 5000 * ms}},
			[]step{
				{r: first},
				{at: 1 * ms, r: first, want: 5000 * ms},
				{at: 2 * ms, r: other, want: 2 * ms},
				{at: 3 * ms, r: with(func(r *bot.Request) { r.Chat = "3" }), want: 1000 * ms},
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, ratelimit.New(c.rules...), c.steps) })
		})
	}
}

// play makes the requests and holds what comes of them against the steps.
func play(t *testing.T, p *ratelimit.Limiter, steps []step) {
	t.Helper()
	start := time.Now()
	var wg sync.WaitGroup
	for i, s := range steps {
		<-time.After(s.at - time.Since(start))
		wg.Go(func() {
			err := p.Wait(t.Context(), s.r)
			got := time.Since(start)
			var later *bot.LaterError
			late := errors.As(err, &later)
			if late {
				got += later.After
			}
			if err != nil && !late || late != s.late || got != max(s.want, s.at) {
				t.Errorf("step %d, %+v at %v: got %v, %v, want %v, late %t", i, s.r, s.at, got, err, max(s.want, s.at), s.late)
			}
		})
		synctest.Wait() // what arrives at one time arrives in this order
	}
	wg.Wait()
}

func TestHold(t *testing.T) {
	send := bot.Request{Account: "a", Chat: "1", Method: "send", Priority: bot.PriorityHigh}
	for _, c := range []struct {
		name   string
		hold   bot.Request
		frozen []bot.Request
		free   []bot.Request
	}{
		{
			"an account",
			bot.Request{Account: "a"},
			[]bot.Request{send, {Account: "a", Chat: "2", Method: "edit", Priority: bot.PriorityNormal}, {Account: "a", Method: "me"}},
			[]bot.Request{{Account: "b", Chat: "1", Method: "send"}},
		},
		{
			"a chat",
			bot.Request{Account: "a", Chat: "1"},
			[]bot.Request{send, {Account: "a", Chat: "1", Method: "edit"}},
			[]bot.Request{{Account: "a", Chat: "2", Method: "send"}, {Account: "a", Method: "send"}, {Account: "b", Chat: "1"}},
		},
		{
			"a method",
			bot.Request{Account: "a", Method: "send"},
			[]bot.Request{send, {Account: "a", Chat: "2", Method: "send"}, {Account: "a", Method: "send"}},
			[]bot.Request{{Account: "a", Chat: "1", Method: "edit"}},
		},
		{
			"a method in a chat",
			bot.Request{Account: "a", Chat: "1", Method: "send", Priority: bot.PriorityHigh},
			[]bot.Request{send},
			[]bot.Request{{Account: "a", Chat: "1", Method: "edit"}, {Account: "a", Chat: "2", Method: "send"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ratelimit.New(ratelimit.Rule{Every: ms, Burst: 100})
				p.Pause(c.hold, 7*time.Second)
				p.Pause(c.hold, 2*time.Second) // a shorter one ends nothing
				var steps []step
				for _, r := range c.frozen {
					steps = append(steps, step{r: r, want: 7 * time.Second, late: r.Priority == bot.PriorityFrame})
				}
				for _, r := range c.free {
					steps = append(steps, step{r: r})
				}
				play(t, p, steps)
			})
		})
	}
}

// TestHoldWhileWaiting: a hold also stops callers that wait already, and its
// waiters hold up no other caller.
func TestHoldWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.New(ratelimit.Rule{Every: time.Second, Burst: 1})
		one, two := bot.Request{Account: "a", Chat: "1", Priority: bot.PriorityHigh}, bot.Request{Account: "a", Chat: "2", Priority: bot.PriorityNormal}
		time.AfterFunc(500*ms, func() { p.Pause(bot.Request{Account: "a", Chat: "1"}, 10*time.Second) })
		play(t, p, []step{
			{r: one},
			{at: 100 * ms, r: one, want: 10500 * ms},
			{at: 200 * ms, r: two, want: 1000 * ms},
			{at: 1100 * ms, r: two, want: 2000 * ms},
			{at: 5000 * ms, r: bot.Request{Account: "a", Chat: "2"}, want: 5000 * ms},
			{at: 5500 * ms, r: bot.Request{Account: "a", Chat: "1"}, want: 11500 * ms, late: true},
		})
	})
}

func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.New(ratelimit.Rule{Every: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 { // three that post outcomes all the time
			wg.Go(func() {
				for p.Wait(ctx, bot.Request{Account: "a", Chat: "1", Priority: bot.PriorityHigh}) == nil {
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		if err := p.Wait(ctx, bot.Request{Account: "a", Chat: "2", Priority: bot.PriorityNormal}); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got < 5*time.Second || got > 15*time.Second {
			t.Errorf("a notice among outcomes waited for %v, want about 10 s", got)
		}
		cancel()
		wg.Wait()
	})
}

func TestContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.New(ratelimit.Rule{Every: 10 * time.Second})
		r := bot.Request{Account: "a", Priority: bot.PriorityHigh}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.Wait(over, r); !errors.Is(err, context.Canceled) {
			t.Fatalf("Turn with an ended context: got %v", err)
		}
		soon, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		play(t, p, []step{{r: r}})
		if err := p.Wait(soon, r); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Fatalf("Turn whose context ends: got %v after %v", err, time.Since(start))
		}
		if err := p.Wait(t.Context(), r); err != nil || time.Since(start) != 10*time.Second {
			t.Fatalf("Turn after one that gave up: got %v after %v, want 10 s", err, time.Since(start))
		}
	})
}

// TestBurstOverChats: an answer of three parts in 50 chats at once waits for
// nothing.
func TestBurstOverChats(t *testing.T) {
	for name, rules := range map[string][]ratelimit.Rule{"telegram": ratelimit.Telegram(), "slack": ratelimit.Slack()} {
		method := map[string]string{"telegram": "sendMessage", "slack": "chat.postMessage"}[name]
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ratelimit.New(rules...)
				start := time.Now()
				var wg sync.WaitGroup
				for c := range 50 {
					wg.Go(func() {
						for range 3 {
							if err := p.Wait(t.Context(), bot.Request{Account: "a", Chat: fmt.Sprint(c), Method: method, Priority: bot.PriorityHigh}); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				if got := time.Since(start); got != 0 {
					t.Errorf("150 posts took %v, want 0", got)
				}
			})
		})
	}
}

// TestPresets: how often frames go in a minute, and that the outcome after them
// does not wait.
func TestPresets(t *testing.T) {
	for _, c := range []struct {
		name   string
		rules  []ratelimit.Rule
		frame  bot.Request
		final  string // method of the outcome
		frames [2]int // in a minute, at least and at most
	}{
		{"telegram draft", ratelimit.Telegram(), bot.Request{Chat: "1", Method: "sendMessageDraft"}, "sendMessage", [2]int{58, 61}},
		{"telegram edit", ratelimit.Telegram(), bot.Request{Chat: "1", Method: "editMessageText"}, "sendMessage", [2]int{40, 41}},
		{"telegram group", ratelimit.Telegram(), bot.Request{Chat: "-1", Group: true, Method: "editMessageText"}, "sendMessage", [2]int{14, 15}},
		{"slack update", ratelimit.Slack(), bot.Request{Chat: "C1", Method: "chat.update"}, "chat.update", [2]int{33, 33}},
		{"slack stream", ratelimit.Slack(), bot.Request{Chat: "C1", Method: "chat.appendStream"}, "chat.stopStream", [2]int{80, 80}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ratelimit.New(c.rules...)
				sent, offers, start := 0, 0, time.Now()
				for time.Since(start) < time.Minute {
					var later *bot.LaterError
					switch err := p.Wait(t.Context(), c.frame); {
					case err == nil:
						sent++
					case errors.As(err, &later):
						<-time.After(later.After)
					default:
						t.Fatal(err)
					}
					offers++
				}
				if sent < c.frames[0] || sent > c.frames[1] || offers > 2*sent+1 {
					t.Errorf("frames in a minute: %d of %d that were offered, want %v", sent, offers, c.frames)
				}
				final := c.frame
				final.Method, final.Priority = c.final, bot.PriorityHigh
				at := time.Now()
				for range 2 {
					if err := p.Wait(t.Context(), final); err != nil {
						t.Fatal(err)
					}
				}
				if got := time.Since(at); got != 0 {
					t.Errorf("an outcome of two parts after a minute of frames waited for %v", got)
				}
			})
		})
	}
}

// TestPresetsKeepToTheLimits floods chats with outcomes: none gets more than
// the platforms' documents allow.
func TestPresetsKeepToTheLimits(t *testing.T) {
	for _, c := range []struct {
		name   string
		rules  []ratelimit.Rule
		r      bot.Request
		most   int
		within time.Duration
	}{
		{"telegram group", ratelimit.Telegram(), bot.Request{Chat: "-1", Group: true, Method: "sendMessage"}, 20, time.Minute},
		{"telegram private", ratelimit.Telegram(), bot.Request{Chat: "1", Method: "sendMessage"}, 4 + 10, 10 * time.Second},
		{"slack channel", ratelimit.Slack(), bot.Request{Chat: "C1", Method: "chat.postMessage"}, 4, 4 * time.Second},
		{"slack update", ratelimit.Slack(), bot.Request{Chat: "C1", Method: "chat.update"}, 50, time.Minute},
		{"slack start", ratelimit.Slack(), bot.Request{Chat: "C1", Method: "chat.startStream"}, 20, time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ratelimit.New(c.rules...)
				c.r.Priority = bot.PriorityHigh
				var sent []time.Time
				for range 120 {
					if err := p.Wait(t.Context(), c.r); err != nil {
						t.Fatal(err)
					}
					sent = append(sent, time.Now())
				}
				for i := range sent[:len(sent)-c.most] {
					if got := sent[i+c.most].Sub(sent[i]); got < c.within {
						t.Fatalf("requests %d to %d went within %v, want at most %d in %v", i, i+c.most, got, c.most, c.within)
					}
				}
			})
		})
	}
}

// TestOrder: what one chat waits with goes in order of arrival.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ratelimit.New(ratelimit.Rule{PerChat: true, Every: 100 * ms})
		var mu sync.Mutex
		got := map[string][]int{}
		var wg sync.WaitGroup
		for n := range 20 {
			for c := range 30 {
				chat := fmt.Sprint(c)
				wg.Go(func() {
					if err := p.Wait(t.Context(), bot.Request{Account: "a", Chat: chat, Priority: bot.PriorityNormal}); err != nil {
						t.Error(err)
					}
					mu.Lock()
					defer mu.Unlock()
					got[chat] = append(got[chat], n)
				})
			}
			synctest.Wait()
		}
		wg.Wait()
		for chat, order := range got {
			if len(order) != 20 || !slices.IsSorted(order) {
				t.Errorf("chat %s: got the order %v", chat, order)
			}
		}
	})
}
