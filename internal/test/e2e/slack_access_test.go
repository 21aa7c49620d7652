package e2e_test

import (
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/fakes/slackfake"
)

// Kim is not in the config.
const (
	kim   = "U5"
	kimDM = "DU5"
)

// newStreet is an environment with Kim in its workspace.
func newStreet(t *testing.T, r slackOptions) *slackEnv {
	t.Helper()
	o := newSlackEnv(t, r)
	o.AddUser(slackfake.User{ID: kim, Name: "kim"})
	return o
}

var slackClaim = regexp.MustCompile(`"claim ([A-Z0-9]+)"`)

// TestSlackFirstAdmin: the person who writes the code in direct messages
// becomes the admin.
func TestSlackFirstAdmin(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.access = noAccess
		o := newSlackEnv(t, r)
		s := o.opens()
		s.until("the code on stdout", func() bool { return slackClaim.MatchString(s.out.String()) })
		code := slackClaim.FindStringSubmatch(s.out.String())[1]
		o.asks(general, ann, "claim "+code) // everybody reads it there
		o.until("all that was delivered", o.Settled)
		o.Say(annDM, ann, "claim WRONGONE", "")
		o.sees(in(annDM), o.text("error.claim_wrong", map[string]any{"Count": 4}))
		o.Say(annDM, ann, "Claim "+strings.ToLower(code), "")
		o.sees(in(annDM), o.text("notice.claimed", nil))
		o.Say(benDM, ben, "claim "+code, "")
		o.sees(in(benDM), o.text("error.not_allowed", nil))
		o.goesOn(ann)
		o.silent(in(general))
		s.stops()
		s = o.opens()
		o.goesOn(ann)
		if out := s.out.String(); slackClaim.MatchString(out) {
			t.Errorf("there is an admin, and another code is printed: %q", out)
		}
	})
}

// TestSlackFirstAdminByCommand: the code works as a command as well.
func TestSlackFirstAdminByCommand(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{access: noAccess})
	s := o.opens()
	s.until("the code on stdout", func() bool { return slackClaim.MatchString(s.out.String()) })
	o.slash("/legwork", "claim "+slackClaim.FindStringSubmatch(s.out.String())[1], annDM, ann)
	o.sees(in(annDM), o.text("notice.claimed", nil))
	o.goesOn(ann)
}

// TestSlackGrants: a stranger asks, an admin taps, and the tap holds.
func TestSlackGrants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		button, key     string
		private, public bool // where the stranger is heard afterwards
	}{
		"everywhere":     {"button.allow", "notice.allowed", true, true},
		"only this chat": {"button.only_here", "notice.allowed_here", true, false},
		"nowhere":        {"button.ignore", "notice.ignored", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newStreet(t, slackOptions{})
			s := o.opens()
			o.Say(kimDM, kim, "one: hello", "")
			told := o.offers(in(kimDM), o.text("button.ask_admin", nil), o.text("error.not_allowed", nil))
			o.Say(kimDM, kim, "two: hello?", "")
			o.taps(told, o.text("button.ask_admin", nil), kim)
			o.sees(in(kimDM), o.text("notice.asked", nil))
			o.taps(told, o.text("button.ask_admin", nil), kim)
			request := o.offers(in(annDM), o.text(c.button, nil), "kim", "slack:U5")
			o.taps(request, o.text(c.button, nil), ann)
			o.until("the outcome in place of the request", func() bool {
				m, _ := o.Message(annDM, request.TS)
				return len(m.Buttons()) == 0 && plain(o.Shown(m)) == plain(o.text(c.key, map[string]any{"Name": "kim"}))
			})
			o.passes()
			if n := o.count(in(kimDM), o.text("error.not_allowed", nil)); n != 1 {
				t.Errorf("the stranger was turned away %d times, want once a day", n)
			}
			if n := o.count(in(annDM), "slack:U5"); n > 0 {
				t.Errorf("the admin was asked %d times more", n)
			}
			if c.private {
				o.sees(in(kimDM), "You may use this bot now.")
			}
			s.stops()
			o.opens()
			if c.private {
				o.goesOn(kim)
			} else {
				return
			}
			thread := o.asks(general, kim, "later: in a channel")
			if c.public {
				o.once(thread, "answers: later: in a channel")
				return
			}
			o.silent(thread)
		})
	}
}

// TestSlackUnlisted: strangers get silence in channels, whatever they do, and
// may not steer what others asked for.
func TestSlackUnlisted(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.held = newGate(t)
		o := newStreet(t, r)
		o.opens()
		thread := o.asks(general, ben, "q1: desk held")
		card := o.offers(thread, "Stop", "q1 desk held")
		r.held.reached()
		o.asks(general, kim, "hello")
		o.asks(general, kim, "")
		o.Say(general, kim, "stop", thread.thread)
		o.Say(general, kim, bots+"add this", thread.thread)
		o.slash("/task", "do something", general, kim)
		o.slash("/task", "do something", random, kim)
		o.slash("/legwork", "stop", general, kim)
		if err := o.Stop(general, thread.thread, kim); err != nil {
			t.Error(err)
		}
		o.taps(card, "Stop", kim)
		o.meets(in(general), "a word to Kim alone", func(m slackfake.Message) bool {
			return m.To == kim && o.Shown(m) == o.text("error.not_yours", nil)
		})
		o.passes()
		if n := len(o.said(in(random))); n > 0 {
			t.Errorf("a stranger made legwork write %d messages in a channel where it is not", n)
		}
		for _, m := range o.said(in(general)) {
			if m.To != kim && m.Thread != thread.thread {
				t.Errorf("a stranger made legwork write %q", o.Shown(m))
			}
		}
		r.held.opens()
		o.answers(thread, "value of q1 desk held")
		if n := len(o.asked("do something")) + len(o.asked("add this")); n > 0 {
			t.Errorf("the model was called %d times for a stranger", n)
		}
	})
}

// TestSlackAccess: the people who are heard by the config, and where.
func TestSlackAccess(t *testing.T) {
	t.Parallel()
	const (
		benPrivate  = "Ben in direct messages"
		benGeneral  = "Ben in general"
		benBoard    = "Ben in board"
		gusPrivate  = "the guest in direct messages"
		gusGeneral  = "the guest in general"
		evePartners = "Eve in the shared channel"
	)
	says := map[string][2]string{
		benPrivate: {benDM, ben}, benGeneral: {general, ben}, benBoard: {board, ben},
		gusPrivate: {gusDM, gus}, gusGeneral: {general, gus}, evePartners: {partners, eve},
	}
	for name, c := range map[string]struct {
		slack string
		heard []string
	}{
		"unknown":                  {`{}`, nil},
		"a person":                 {`{users: [U2]}`, []string{benPrivate, benGeneral, benBoard}},
		"everybody":                {`{users: ["*"]}`, []string{benPrivate, benGeneral, benBoard}},
		"a channel":                {`{channels: [C1]}`, []string{benGeneral}},
		"a channel with guests":    {`{channels: [C1, C4], external: true}`, []string{benGeneral, gusGeneral, evePartners}},
		"the workspace":            {`{teams: [T1]}`, []string{benPrivate, benGeneral, benBoard}},
		"another workspace":        {`{teams: [T2]}`, nil},
		"another with externals":   {`{teams: [T2], external: true}`, []string{evePartners}},
		"the workspace with guest": {`{teams: [T1], external: true}`, []string{benPrivate, benGeneral, benBoard, gusPrivate, gusGeneral}},
		"a guest by name":          {`{users: [U3]}`, []string{gusPrivate, gusGeneral}},
		"everybody and externals":  {`{users: ["*"], external: true}`, []string{benPrivate, benGeneral, benBoard, gusPrivate, gusGeneral, evePartners}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newSlackEnv(t, slackOptions{access: "{slack: " + c.slack + `, admins: ["slack:U1"]}`})
			o.opens()
			for who, at := range says {
				o.Say(at[0], at[1], bots+"from "+who, "")
			}
			for _, who := range c.heard {
				o.answers(in(says[who][0]), "answers: from "+who)
			}
			o.passes()
			if n := len(o.models.Requests()); n != len(c.heard) {
				t.Errorf("the model was asked %d times, want %d: %q", n, len(c.heard), c.heard)
			}
		})
	}
}
