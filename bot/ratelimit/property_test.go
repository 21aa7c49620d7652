package ratelimit_test

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"legwork/bot"
	"legwork/bot/ratelimit"
)

// TestNeverTooMany makes random requests under random rules: no span of time
// sees more than a rule allows, everybody's turn comes, and holds are obeyed.
func TestNeverTooMany(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := &schedule{rules: drawRules(r)}
		offers := rapid.SliceOfN(rapid.Custom(drawOffer), 1, 60).Draw(r, "offers")
		synctest.Test(t, func(t *testing.T) { s.run(t, offers) })
		s.check(r)
	})
}

// offer is a request after a pause, and for how long its chat is held before.
type offer struct {
	pause, hold time.Duration
	r           bot.Request
}

func drawOffer(r *rapid.T) offer {
	o := offer{pause: time.Duration(rapid.IntRange(0, 900).Draw(r, "pause")) * ms, r: drawRequest(r)}
	if rapid.IntRange(0, 19).Draw(r, "hold") == 0 {
		o.hold = time.Duration(rapid.IntRange(1, 5000).Draw(r, "for")) * ms
	}
	return o
}

func drawRules(r *rapid.T) []ratelimit.Rule {
	return rapid.SliceOfN(rapid.Custom(func(r *rapid.T) ratelimit.Rule {
		rule := ratelimit.Rule{
			PerChat:    rapid.Bool().Draw(r, "per chat"),
			Burst:      rapid.IntRange(1, 6).Draw(r, "burst"),
			Reserve:    rapid.IntRange(0, 3).Draw(r, "reserve"),
			FramesOnly: rapid.IntRange(0, 3).Draw(r, "frames only") == 0,
		}
		span := time.Duration(rapid.IntRange(1, 3000).Draw(r, "ms")) * ms
		if rapid.Bool().Draw(r, "within") {
			rule.Window = span
		} else {
			rule.Every = span
		}
		if rapid.Bool().Draw(r, "of a method") {
			rule.Methods = []string{rapid.SampledFrom([]string{"send", "edit"}).Draw(r, "method")}
		}
		return rule
	}), 1, 4).Draw(r, "rules")
}

func drawRequest(r *rapid.T) bot.Request {
	return bot.Request{
		Account:  rapid.SampledFrom([]string{"a", "b"}).Draw(r, "account"),
		Chat:     rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "chat"),
		Method:   rapid.SampledFrom([]string{"send", "edit"}).Draw(r, "method"),
		Priority: rapid.SampledFrom([]bot.Priority{bot.PriorityFrame, bot.PriorityNormal, bot.PriorityHigh}).Draw(r, "urgency"),
	}
}

// schedule is what went out, and when.
type schedule struct {
	rules []ratelimit.Rule
	holds []hold

	mu    sync.Mutex
	sent  []sent
	wrong []error
}

type sent struct {
	at time.Duration
	r  bot.Request
}

type hold struct {
	account, chat string
	from, until   time.Duration
}

func (s *schedule) run(t *testing.T, offers []offer) {
	p, start := ratelimit.New(s.rules...), time.Now()
	var wg sync.WaitGroup
	for _, o := range offers {
		<-time.After(o.pause)
		if now := time.Since(start); o.hold > 0 {
			p.Pause(bot.Request{Account: o.r.Account, Chat: o.r.Chat}, o.hold)
			s.holds = append(s.holds, hold{o.r.Account, o.r.Chat, now, now + o.hold})
		}
		turn := func() {
			err := p.Wait(t.Context(), o.r)
			s.mu.Lock()
			defer s.mu.Unlock()
			var later *bot.LaterError
			switch {
			case err == nil:
				s.sent = append(s.sent, sent{time.Since(start), o.r})
			case o.r.Priority != bot.PriorityFrame || !errors.As(err, &later) || later.After <= 0:
				s.wrong = append(s.wrong, fmt.Errorf("Turn(%+v): %w", o.r, err))
			}
		}
		if o.r.Priority == bot.PriorityFrame {
			turn()
			continue
		}
		wg.Go(turn)
	}
	wg.Wait()
}

func (s *schedule) check(r *rapid.T) {
	if err := errors.Join(s.wrong...); err != nil {
		r.Fatal(err)
	}
	slices.SortStableFunc(s.sent, func(a, b sent) int { return cmp.Compare(a.at, b.at) })
	for i := range s.rules {
		rule := &s.rules[i]
		places := map[string][]sent{}
		for _, one := range s.sent {
			if len(rule.Methods) > 0 && rule.Methods[0] != one.r.Method || rule.FramesOnly && one.r.Priority != bot.PriorityFrame {
				continue
			}
			place := one.r.Account
			if rule.PerChat {
				place += " " + one.r.Chat
			}
			places[place] = append(places[place], one)
		}
		for place, list := range places {
			checkRate(r, rule, place, list)
		}
	}
	for _, h := range s.holds {
		for _, one := range s.sent {
			if one.r.Account == h.account && one.r.Chat == h.chat && one.at > h.from && one.at < h.until {
				r.Fatalf("%+v went at %v, during the hold %+v", one.r, one.at, h)
			}
		}
	}
}

// checkRate looks at each span between two requests.
func checkRate(r *rapid.T, rule *ratelimit.Rule, place string, list []sent) {
	for from := range list {
		for to := from; to < len(list); to++ {
			span, most := list[to].at-list[from].at, rule.Burst
			if rule.Window == 0 {
				most += int(span / rule.Every)
			} else if span >= rule.Window {
				break
			}
			if got := to - from + 1; got > most {
				r.Fatalf("%s: %d requests within %v, want at most %d by %+v: %+v", place, got, span, most, rule, list[from:to+1])
			}
		}
	}
}

// TestLaterIsRight: a frame that is offered again when it was told to goes, unless
// one of those that were there before it went instead.
func TestLaterIsRight(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		rules := drawRules(r)
		before := rapid.SliceOfN(rapid.Custom(drawRequest), 0, 12).Draw(r, "before")
		frame := drawRequest(r)
		frame.Priority = bot.PriorityFrame
		vain := 0
		synctest.Test(t, func(t *testing.T) { vain = offerAgain(t, ratelimit.New(rules...), before, frame) })
		if vain > 1+len(before) {
			r.Fatalf("the frame %+v behind %+v was offered %d times in vain under %+v", frame, before, vain, rules)
		}
	})
}

// offerAgain returns how often a frame was offered in vain.
func offerAgain(t *testing.T, p *ratelimit.Limiter, before []bot.Request, frame bot.Request) (vain int) {
	var wg sync.WaitGroup
	for _, q := range before {
		wg.Go(func() { _ = p.Wait(t.Context(), q) }) // frames may go or not
	}
	defer wg.Wait()
	synctest.Wait()
	for {
		var later *bot.LaterError
		if !errors.As(p.Wait(t.Context(), frame), &later) {
			return vain
		}
		vain++
		<-time.After(later.After)
		synctest.Wait() // those whose turn comes in the same moment are first
	}
}

// TestMemory: chats that are quiet leave nothing behind.
func TestMemory(t *testing.T) {
	p := ratelimit.New(ratelimit.Rule{PerChat: true, Every: time.Nanosecond, Burst: 2}, ratelimit.Rule{PerChat: true, Window: time.Nanosecond, Burst: 2})
	use := func(chats int) uint64 {
		for c := range chats {
			r := bot.Request{Account: "a", Chat: fmt.Sprintf("chat number %d", c), Priority: bot.PriorityHigh}
			if err := p.Wait(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			p.Pause(r, time.Nanosecond)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := use(10_000)
	if after := use(200_000); after > before+1<<20 {
		t.Errorf("heap after 10,000 chats %d bytes, after 200,000 %d", before, after)
	}
}

func BenchmarkTurn(b *testing.B) {
	for name, urgency := range map[string]bot.Priority{"frame": bot.PriorityFrame, "first": bot.PriorityHigh} {
		b.Run(name, func(b *testing.B) {
			p := ratelimit.New(ratelimit.Telegram()...)
			chats := make([]string, 10_000)
			for i := range chats {
				chats[i] = fmt.Sprint(i)
			}
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				if urgency == bot.PriorityHigh && n%len(chats) == 0 {
					b.StopTimer()
					p = ratelimit.New(ratelimit.Telegram()...) // so that no caller waits
					b.StartTimer()
				}
				_ = p.Wait(b.Context(), bot.Request{Account: "a", Chat: chats[n%len(chats)], Method: "editMessageText", Priority: urgency})
			}
		})
	}
}
