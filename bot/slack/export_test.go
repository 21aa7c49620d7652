package slack

import "time"

// Shorten makes every pause of s shorter by a factor, for tests that would
// have to wait otherwise. It is called before Run.
func Shorten(s *Slack, factor int) {
	p := &s.pause
	for _, d := range []*time.Duration{
		&p.ping, &p.deaf, &p.quiet, &p.linger, &p.first, &p.last, &p.denied, &p.rotate, &p.append, &p.update,
	} {
		*d /= time.Duration(factor)
	}
}

// Pause lets a test set one of the pauses.
func Pause(s *Slack, name string, d time.Duration) {
	p := map[string]*time.Duration{
		"ping": &s.pause.ping, "deaf": &s.pause.deaf, "quiet": &s.pause.quiet, "linger": &s.pause.linger,
		"rotate": &s.pause.rotate, "append": &s.pause.append, "update": &s.pause.update, "denied": &s.pause.denied, "root": &s.pause.root,
	}[name]
	*p = d
}

// Inside of the package, for tables and fuzzing.
var (
	Plain   = plain
	Command = command
	Clock   = clock
	Cut     = cut
	Steady  = steady
	Place   = place
)

// Live is how many native streams run.
func Live(s *Slack) int {
	s.live.mu.Lock()
	defer s.live.mu.Unlock()
	return len(s.live.streams)
}
