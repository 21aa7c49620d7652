package e2e_test

import (
	"strings"
	"syscall"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// changes writes the config with one part replaced, and waits until the log has
// a line with all words more often than before.
func (b *telegramEnv) changes(s *serving, from, to string, words ...string) {
	b.t.Helper()
	if !strings.Contains(b.config, from) {
		b.t.Fatalf("the config has no %q: %s", from, b.config)
	}
	before := countLines(s.err.String(), words)
	b.configure(strings.Replace(b.config, from, to, 1))
	s.until("that the config was read", func() bool { return countLines(s.err.String(), words) > before })
}

func countLines(text string, words []string) int {
	n := 0
	for line := range strings.Lines(text) {
		if holdsAll(line, words) {
			n++
		}
	}
	return n
}

// TestTelegramReload: what changes in the file is in use at once, without a
// signal.
func TestTelegramReload(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.Say(b.eve.ID, b.eve, "q1: hello")
	b.sees(b.eve.ID, b.says("error.not_allowed", nil))
	b.changes(s, `users: ["2"]`, `users: ["3"]`, "config reloaded", "access")
	b.Say(b.eve.ID, b.eve, "q2: hello")
	b.once(b.eve.ID, "[q2] answers")
	b.Say(b.bob.ID, b.bob, "q3: hello")
	b.sees(b.bob.ID, b.says("error.not_allowed", nil))
	if len(b.asked("q1: hello"))+len(b.asked("q3: hello")) > 0 {
		t.Error("somebody who is not on the list was heard")
	}

	b.changes(s, "groups:\n", "groups:\n  fresh: {description: Is new here., servers: [desk], tools: [lookup], read_only: [\"*\"]}\n", "config reloaded", "groups")
	b.Say(b.ann.ID, b.ann, "/groups")
	b.sees(b.ann.ID, "fresh: Is new here.")
	b.Say(b.ann.ID, b.ann, "q4: fresh alpha; fresh beta")
	b.once(b.ann.ID, "[q4]", "value of q4 fresh alpha")

	b.changes(s, "log: {level: debug}", "log: {level: info}\nlimits: {turns: 7}", "config changes need a restart", "log")
	b.once(b.ann.ID, b.says("admin.reload_restart", map[string]any{"Keys": "log"}))

	b.changes(s, "access: ", "access: {} # ", "config reloaded", "access")
	wei := b.User(4, "Wei", "en")
	b.chats = append(b.chats, b.Private(wei))
	b.Say(wei.ID, wei, "q5: hello")
	b.sees(wei.ID, b.says("error.no_admin", nil))
	b.Say(wei.ID, wei, "/start "+s.claimCode())
	b.sees(wei.ID, b.says("notice.claimed", nil))
}

// TestTelegramBadReload: a config with mistakes changes nothing, and the admins
// read where they are; a mended one is in use again.
func TestTelegramBadReload(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, told string }{
		"an unknown key":     {"access: ", "acces: ", "acces"},
		"no YAML":            {"access: ", "access: [", "config.yaml:"},
		"an unknown server":  {"servers: [desk], tools: [lookup], read_only", "servers: [dsek], tools: [lookup], read_only", "dsek"},
		"a missing variable": {`users: ["2"]`, `users: ["${NO_SUCH_VARIABLE}"]`, "NO_SUCH_VARIABLE"},
		"a bad token":        {telegramToken, "1000:short-secret", "telegram.token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			s := b.opens()
			good := b.config
			b.changes(s, c.from, c.to, "level=ERROR", "config rejected")
			told := b.sees(b.ann.ID, "config.yaml has mistakes", c.told)
			if strings.Contains(told.Text, "short-secret") || strings.Contains(s.err.String(), "short-secret") {
				t.Errorf("the mistake repeats the token: %q", told.Text)
			}
			b.goesOn(b.bob)
			b.Say(b.bob.ID, b.bob, "q1: desk alpha; safe beta")
			b.once(b.bob.ID, "[q1]", "value of q1 desk alpha")
			b.configure(good)
			b.once(b.ann.ID, b.says("admin.reload_fixed", map[string]any{"Config": "config.yaml"}))
			b.goesOn(b.bob)
		})
	}
}

// TestTelegramHangup: SIGHUP reads the config again.
func TestTelegramHangup(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	s := b.opens()
	b.changes(s, `users: ["2"]`, `users: ["2", "3"]`, "config reloaded")
	s.signal(syscall.SIGHUP)
	s.signal(syscall.SIGHUP)
	b.Say(b.eve.ID, b.eve, "q1: hello")
	b.once(b.eve.ID, "[q1] answers")
	b.changes(s, `users:`, `usres:`, "config rejected")
	s.signal(syscall.SIGHUP)
	s.until("a second complaint", func() bool { return strings.Count(s.err.String(), "config rejected") >= 2 })
	b.goesOn(b.eve)
	s.stops()
}

// TestTelegramChangeWhileWorking: a task that runs goes on when the config
// changes, and a tool that is taken away is not called any more.
func TestTelegramChangeWhileWorking(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, works("3000"))
	s := b.opens()
	b.Say(b.bob.ID, b.bob, "/task first: a question")
	b.working(b.bob.ID)
	b.changes(s, "groups:\n", "groups:\n  fresh: {description: Is new here., servers: [desk], tools: [lookup], read_only: [\"*\"]}\n", "config reloaded")
	b.once(b.bob.ID, "value of quick", "at last")
	b.until("the folded board", func(v telegramfake.View) bool {
		for _, m := range v.Chat(b.bob.ID).Bots() {
			if strings.HasPrefix(m.Text, "Done: 2 sub-tasks in ") {
				return true
			}
		}
		return false
	})
	b.changes(s, "  desk: {description: Looks things up., servers", "  gone: {description: Looks things up., servers", "config reloaded")
	b.Say(b.bob.ID, b.bob, "/groups")
	b.sees(b.bob.ID, "gone: Looks things up.", "fresh")
	b.goesOn(b.bob)
}
