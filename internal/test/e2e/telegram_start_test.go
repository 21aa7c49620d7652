package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/fakes/telegramfake"
)

// noAccess is the access of a bot that was just set up.
const noAccess = "{}"

var claimCode = regexp.MustCompile(`/start ([A-Z0-9]+)`)

// code is the one that the daemon prints for the first admin.
func (s *serving) claimCode() string {
	s.t.Helper()
	s.until("the code on stdout", func() bool { return claimCode.MatchString(s.out.String()) })
	return claimCode.FindStringSubmatch(s.out.String())[1]
}

// TestTelegramFirstAdmin: the person who writes the code becomes the admin,
// and stays so after a restart, when no code is printed any more.
func TestTelegramFirstAdmin(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: noAccess})
	s := b.opens()
	code := s.claimCode()
	group := b.group(b.Group("Friends", b.ann))
	b.Say(group, b.ann, "/start "+code) // everybody reads it there
	b.Say(b.ann.ID, b.ann, "/start WRONGONE")
	b.sees(b.ann.ID, b.says("error.claim_wrong", map[string]any{"Count": 4}))
	b.Say(b.ann.ID, b.ann, "/start "+strings.ToLower(code[:4]+"-"+code[4:]))
	b.sees(b.ann.ID, b.says("notice.claimed", nil), "/help")
	b.Say(b.bob.ID, b.bob, "/start "+code)
	b.sees(b.bob.ID, b.says("error.not_allowed", nil))
	b.goesOn(b.ann)
	b.silent(group)
	s.stops()
	s = b.opens()
	b.goesOn(b.ann)
	if out := s.out.String(); claimCode.MatchString(out) {
		t.Errorf("there is an admin, and another code is printed: %q", out)
	}
}

// TestTelegramWrongCodes: after five wrong codes the right one is worth nothing.
func TestTelegramWrongCodes(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: noAccess})
	s := b.opens()
	code := s.claimCode()
	for left := 4; left > 0; left-- {
		b.Say(b.eve.ID, b.eve, "/start GUESS"+strings.Repeat("X", left))
		b.sees(b.eve.ID, b.says("error.claim_wrong", map[string]any{"Count": left}))
	}
	b.Say(b.eve.ID, b.eve, "/start GUESS")
	b.sees(b.eve.ID, b.says("error.claim_over", nil))
	b.Say(b.ann.ID, b.ann, "/start "+code)
	b.sees(b.ann.ID, b.says("error.no_admin", nil))
	s.stops()
	again := b.opens()
	if next := again.claimCode(); next == code {
		t.Errorf("the code after a restart is the same: %q", code)
	} else {
		b.Say(b.ann.ID, b.ann, "/start "+next)
		b.sees(b.ann.ID, b.says("notice.claimed", nil))
	}
}

// TestTelegramUnlisted: one sentence a day, with a button that asks the admins.
func TestTelegramUnlisted(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: `{admins: ["telegram:1", "telegram:2"]}`})
	b.opens()
	b.Say(b.bob.ID, b.bob, "/status") // the bot may write to Bob
	b.sees(b.bob.ID, b.says("statusline.none", nil))
	b.Say(b.eve.ID, b.eve, "first: hello")
	told := b.offers(b.eve.ID, b.says("button.ask_admin", nil), b.says("error.not_allowed", nil))
	b.Say(b.eve.ID, b.eve, "second: hello?")
	b.Say(b.eve.ID, b.eve, "/help")
	b.passes()
	if bots := b.Chat(b.eve.ID).Bots(); len(bots) != 1 {
		t.Errorf("the stranger read %d messages, want one", len(bots))
	}
	if n := len(b.models.Requests()); n > 0 {
		t.Errorf("the model was called %d times for a stranger", n)
	}
	for range 2 {
		if p := b.taps(b.eve, b.eve.ID, told.ID, b.says("button.ask_admin", nil)); p.Text != b.says("notice.asked", nil) {
			t.Errorf("the stranger reads %q, want that the admins were asked", p.Text)
		}
	}
	request := b.says("notice.request", map[string]any{"Name": "Eve", "Person": "telegram:3"})
	asked, other := b.offers(b.ann.ID, "Allow", request), b.offers(b.bob.ID, "Allow", request)
	first := b.Press(b.ann.ID, asked.ID, "Allow", b.ann)
	second := b.Press(b.ann.ID, asked.ID, "Allow", b.ann)
	if p := b.answered(first); p.Text != b.says("notice.allowed", map[string]any{"Name": "Eve"}) {
		t.Errorf("the admin reads %q, want whom they let in", p.Text)
	}
	for what, p := range map[string]telegramfake.Press{
		"a double tap":    b.answered(second),
		"the other admin": b.taps(b.bob, b.bob.ID, other.ID, "Ignore"),
	} {
		if p.Text != b.says("error.too_late", nil) {
			t.Errorf("%s reads %q, want that it is too late", what, p.Text)
		}
	}
	b.once(b.eve.ID, b.says("notice.admitted", nil))
	b.goesOn(b.eve)
}

// TestTelegramGrants: what each of the admin's taps lets a stranger do.
func TestTelegramGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, key    string
		private, group bool // where the stranger is heard afterwards
	}{
		"allowed":        {"button.allow", "notice.allowed", true, true},
		"only this chat": {"button.only_here", "notice.allowed_here", true, false},
		"ignored":        {"button.ignore", "notice.ignored", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{})
			b.opens()
			group := b.group(b.Group("Friends", b.eve))
			b.Say(b.eve.ID, b.eve, "hello")
			told := b.offers(b.eve.ID, b.says("button.ask_admin", nil))
			b.taps(b.eve, b.eve.ID, told.ID, b.says("button.ask_admin", nil))
			asked := b.offers(b.ann.ID, b.says(c.button, nil), "Eve")
			if p, want := b.taps(b.ann, b.ann.ID, asked.ID, b.says(c.button, nil)), b.says(c.key, map[string]any{"Name": "Eve"}); p.Text != want {
				t.Errorf("the admin reads %q, want %q", p.Text, want)
			}
			b.Say(group, b.eve, "q1: hello in the group @legwork_bot")
			b.Say(b.eve.ID, b.eve, "q2: hello in private")
			for _, where := range []struct {
				chat  int64
				heard bool
				want  string
			}{{b.eve.ID, c.private, "[q2] answers"}, {group, c.group, "[q1] answers"}} {
				if where.heard {
					b.once(where.chat, where.want)
					continue
				}
				b.passes()
				if n := b.count(where.chat, where.want); n > 0 {
					t.Errorf("%q was answered in chat %d", where.want, where.chat)
				}
			}
			if n := len(b.asked("q1: hello")); n > 0 != c.group {
				t.Errorf("the model was asked %d times for the group, want it to be asked: %v", n, c.group)
			}
		})
	}
}

// TestTelegramListed: the people who are heard by the config's lists.
func TestTelegramListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access         string
		private, group bool // where Eve is heard
	}{
		"a listed user":             {`{telegram: {users: ["3"]}, admins: ["telegram:1"]}`, true, true},
		"a listed chat":             {`{telegram: {chats: ["-1"]}, admins: ["telegram:1"]}`, false, true},
		"everybody":                 {`{telegram: {users: ["*"]}, admins: ["telegram:1"]}`, true, true},
		"a group full of strangers": {`{telegram: {users: ["2"]}, admins: ["telegram:1"]}`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTelegramEnv(t, telegramOptions{access: c.access})
			group := b.group(b.Group("Friends", b.eve, b.bob))
			b.configure(strings.ReplaceAll(b.config, `chats: ["-1"]`, `chats: ["`+chatID(group)+`"]`))
			b.opens()
			b.Say(group, b.eve, "/start")
			b.Say(group, b.eve, "/task q1: hello in the group")
			b.Say(b.eve.ID, b.eve, "q2: hello in private")
			if c.group {
				b.once(group, "[q1] answers")
			} else {
				b.silent(group)
			}
			if c.private {
				b.once(b.eve.ID, "[q2] answers")
			} else {
				b.once(b.eve.ID, b.says("error.not_allowed", nil))
			}
		})
	}
}
