package slack

import (
	"time"

	"legwork/bot"
)

// Shorten makes every pause of s shorter by a factor, for tests that would
// have to wait otherwise. It is called before Run.
func Shorten(s *Slack, factor int) {
	p := &s.timings
	for _, d := range []*time.Duration{
		&p.ping, &p.silence, &p.idle, &p.overlap, &p.firstRetry, &p.maxRetry, &p.badToken, &p.rotate, &p.append, &p.update,
	} {
		*d /= time.Duration(factor)
	}
}

// Pause lets a test set one of the pauses.
func Pause(s *Slack, name string, d time.Duration) {
	p := map[string]*time.Duration{
		"greet": &s.timings.hello, "ping": &s.timings.ping, "deaf": &s.timings.silence, "quiet": &s.timings.idle, "linger": &s.timings.overlap,
		"rotate": &s.timings.rotate, "append": &s.timings.append, "update": &s.timings.update, "denied": &s.timings.badToken, "root": &s.timings.root, "stall": &s.timings.stall, "sent": &s.timings.sent,
	}[name]
	*p = d
}

// Inside of the package, for tables and fuzzing.
var (
	Plain   = plain
	Command = command
	Cut     = cut
	Steady  = stablePrefix
	Fit     = fit
)

// Decode reads a payload as each kind of delivery.
func Decode(payload []byte) []bot.Message {
	s, err := New(Config{BotToken: "xoxb-1", AppToken: "xapp-1"}, Options{})
	if err != nil {
		panic(err)
	}
	s.identity.Store(&identity{team: "T1", user: "UBOT", bot: "B1"})
	var all []bot.Message
	for _, kind := range []string{kindEvent, kindCommand, kindInteraction} {
		arrivals, _ := s.decode(kind, payload) // an error is a message that is not understood
		all = append(all, messages([]delivery{{arrivals: arrivals}})...)
	}
	return all
}

// Live is how many native streams run.
func Live(s *Slack) int {
	s.active.mu.Lock()
	defer s.active.mu.Unlock()
	return len(s.active.streams)
}
