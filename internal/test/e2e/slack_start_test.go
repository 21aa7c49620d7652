package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/fakes/telegramfake"
)

// finish runs legwork to its end.
func (w *env) finish(stdin string, args ...string) (code int, out, said string) {
	w.t.Helper()
	cmd := w.command(args...)
	var stdout, stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// TestSlackManifest: the printed manifest has everything that legwork uses, in
// both modes, and names of commands that Slack keeps for itself are refused.
func TestSlackManifest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string // empty: none
		args   []string
		want   []string // in the manifest
		refuse string   // in the error; empty: it works
	}{
		"without a config": {"", nil, []string{`"/task"`, `"/legwork"`, `"agent_view"`, `"socket_mode_enabled": true`, `"chat:write"`, `"message.im"`, `"agent_session_stopped"`, `"app_mention"`}, ""},
		"other commands":   {"slack: {commands: {main: /lw, task: /do}}", nil, []string{`"/do"`, `"/lw"`}, ""},
		"HTTP":             {"slack: {mode: http}\nhttp: {public_url: \"https://bot.example/\"}", nil, []string{`"https://bot.example/slack/events"`, `"https://bot.example/slack/commands"`, `"https://bot.example/slack/interactions"`, `"socket_mode_enabled": false`}, ""},
		"HTTP, by a flag":  {"slack: {mode: http}", []string{"--url", "https://other.example"}, []string{`"https://other.example/slack/events"`}, ""},
		"HTTP, nowhere":    {"slack: {mode: http}", nil, nil, "public_url"},
		"Slack's command":  {"slack: {commands: {main: /status}}", nil, nil, "commands.main"},
		"a remindful task": {"slack: {commands: {task: /remind}}", nil, nil, "commands.task"},
		"twice the same":   {"slack: {commands: {main: /task}}", nil, nil, "commands.task"},
		"no slash":         {"slack: {commands: {main: legwork}}", nil, nil, "commands.main"},
		"no YAML":          {"slack: {", nil, nil, "config"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{})
			if err := os.Remove(w.file("config.yaml")); err != nil {
				t.Fatal(err)
			}
			if c.config != "" {
				w.configure(c.config)
			}
			code, out, stderr := w.finish("", append([]string{"slack", "manifest"}, c.args...)...)
			if c.refuse != "" {
				if code != 1 || out != "" || !strings.Contains(stderr, c.refuse) {
					t.Errorf("got exit code %d, %q and %q, want 1 and %q", code, out, stderr, c.refuse)
				}
				return
			}
			if code != 0 || !json.Valid([]byte(out)) || !holdsAll(out, c.want) {
				t.Errorf("got exit code %d, %q and\n%s, want JSON with %q", code, stderr, out, c.want)
			}
		})
	}
}

// TestSlackConfigMistakes: serve names every mistake before it begins.
func TestSlackConfigMistakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ slack, want string }{
		"no bot token":           {`{app_token: xapp-1}`, "slack.bot_token"},
		"no app token":           {`{bot_token: xoxb-1}`, "slack.app_token"},
		"tokens in wrong places": {`{bot_token: xapp-1-secret, app_token: xoxb-1-secret}`, "belongs to app_token"},
		"no signing secret":      {`{bot_token: xoxb-1, mode: http}`, "slack.signing_secret"},
		"a mode that is none":    {`{bot_token: xoxb-1, app_token: xapp-1, mode: carrier}`, "slack.mode"},
		"Slack's own command":    {`{bot_token: xoxb-1, app_token: xapp-1, commands: {main: /remind}}`, "slack.commands.main"},
		"an unknown key":         {`{bot_token: xoxb-1, app_tokn: xapp-1}`, "app_token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newEnv(t, options{more: "slack: " + c.slack + "\n"})
			code, _, stderr := w.finish("", "serve")
			if code != 1 || !strings.Contains(stderr, c.want) || !strings.Contains(stderr, "config.yaml:") || strings.Contains(stderr, "-secret") {
				t.Errorf("got exit code %d and %q, want 1, the place and %q", code, stderr, c.want)
			}
		})
	}
}

// TestProbeSlack: check --probe says who the tokens belong to, or what is wrong.
func TestProbeSlack(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	code, out, stderr := o.finish("", "check", "--probe")
	if code != 0 || !strings.Contains(out, "@legwork in Legwork Inc") {
		t.Errorf("got exit code %d, %q, %q; want who the tokens belong to", code, out, stderr)
	}
	o.Revoke(slackSecrets[0], "invalid_auth")
	code, out, stderr = o.finish("", "check", "--probe")
	if code != 1 || !strings.Contains(out+stderr, "invalid_auth") || strings.Contains(out+stderr, "secret") {
		t.Errorf("with a wrong token: got exit code %d, %q, %q", code, out, stderr)
	}
}

// TestInitWithBoth: init asks for both platforms, tries each answer, and what it
// writes serves both.
func TestInitWithBoth(t *testing.T) {
	t.Parallel()
	telegram := telegramfake.New(t, telegramfake.Options{Token: telegramToken})
	slack := slackfake.New(t, slackfake.Options{BotToken: slackSecrets[0], AppToken: slackSecrets[1], AgentView: true})
	w := newEnv(t, options{})
	model := llmfake.New(t, llmfake.Options{Key: "sk-secret-e2e", Models: []string{"fake"}})
	if err := os.Remove(w.file("config.yaml")); err != nil {
		t.Fatal(err)
	}
	answers := []string{
		"en", model.URL, "sk-secret-e2e", "fake",
		telegramToken[:len(telegramToken)-3] + "xyz", "", // wrong: asked again
		telegramToken,
		slackSecrets[0], "xapp-1-A1-2-wrong", "", slackSecrets[0], slackSecrets[1],
		"slack:U1,telegram:1", "", "Europe/Berlin", "", "",
	}
	code, out, stderr := w.finish(strings.Join(answers, "\n")+"\n", "init", "--telegram-api", telegram.URL, "--slack-api", slack.APIURL)
	if code != 0 {
		t.Fatalf("init: exit code %d\n%s\n%s", code, out, stderr)
	}
	config, err := os.ReadFile(w.file("config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	env, err := os.Stat(w.file(".env"))
	if err != nil || env.Mode().Perm() != 0o600 {
		t.Errorf(".env: %v, %v, want it readable by its owner alone", env, err)
	}
	for _, secret := range append(slackSecrets, telegramToken, "sk-secret-e2e") {
		if strings.Contains(string(config)+out+stderr, secret) {
			t.Errorf("a secret is seen in\n%s\n%s\n%s", config, out, stderr)
		}
	}
	// The fakes' addresses and a free port, as somebody would write them by hand.
	if err := os.WriteFile(w.file("config.yaml"), fmt.Appendf(nil, "%s\nhttp: {listen: \"127.0.0.1:0\"}\n", config), 0o600); err != nil {
		t.Fatal(err)
	}
	s := w.serve(append(slackSecrets, telegramToken)...)
	s.readyAgain(patience)
	o, b := &slackEnv{env: w, Server: slack}, &telegramEnv{env: w, Server: telegram}
	o.Say(annDM, ann, "one: hello", "")
	o.answers(in(annDM), "answers: one: hello")
	b.ann = telegram.User(1, "Ann", "en")
	b.Private(b.ann)
	b.Say(b.ann.ID, b.ann, "two: hello")
	b.sees(b.ann.ID, "answers: two: hello")
}

// TestSlackFromEnvironment: a token in the wrong place is named by its variable.
func TestSlackFromEnvironment(t *testing.T) {
	t.Parallel()
	o := newSlackEnv(t, slackOptions{})
	if err := os.Remove(o.file("config.yaml")); err != nil {
		t.Fatal(err)
	}
	cmd := o.command("serve")
	cmd.Env = append(cmd.Env, "OPENAI_API_KEY=sk-secret-e2e", "OPENAI_BASE_URL="+o.models.URL, "OPENAI_MODEL=fake",
		"SLACK_BOT_TOKEN=xapp-in-the-wrong-place", "SLACK_APP_TOKEN="+slackSecrets[1])
	p := o.launch(cmd)
	if code := p.code(); code != 1 || !strings.Contains(p.err.String(), "environment: SLACK_BOT_TOKEN:") || strings.Contains(p.err.String(), "wrong-place") {
		t.Errorf("got exit code %d and %q, want what is wrong with the token", code, p.err.String())
	}
}

// Kim is not in the config.
const (
	kim   = "U5"
	kimDM = "DU5"
)

// newSlackEnvWithKim is an environment with Kim in its workspace.
func newSlackEnvWithKim(t *testing.T, r slackOptions) *slackEnv {
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
			o := newSlackEnvWithKim(t, slackOptions{})
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

// TestSlackUnlisted: strangers get silence in channels, except for their commands,
// whose answer they alone see, and may not steer what others asked for.
func TestSlackUnlisted(t *testing.T) {
	inBothModes(t, func(t *testing.T, r slackOptions) {
		r.held = newGate(t)
		o := newSlackEnvWithKim(t, r)
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
		refused := o.meets(in(random), "a word to Kim alone", func(m slackfake.Message) bool {
			return m.To == kim && strings.HasPrefix(o.Shown(m), o.text("error.not_allowed", nil))
		})
		if n := len(o.said(in(random))); n > 1 {
			t.Errorf("a stranger made legwork write %d messages in a channel where it is not", n)
		}
		o.taps(refused, o.text("button.ask_admin", nil), kim)
		o.meets(in(random), "a confirmation for Kim alone", func(m slackfake.Message) bool {
			return m.To == kim && o.Shown(m) == o.text("notice.asked", nil)
		})
		o.taps(o.offers(in(annDM), o.text("button.allow", nil), "slack:"+kim), o.text("button.allow", nil), ann)
		o.sees(in(o.DM(kim)), plain(o.text("notice.admitted", nil))[:20])
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
