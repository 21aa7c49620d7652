package tasks_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
)

// TestAccess: legwork ignores a person or chat that is not listed.
func TestAccess(t *testing.T) {
	thread := room("hall")
	thread.Thread = "7"
	for _, c := range []struct {
		name   string
		person string
		in     bot.Chat
		change func(m *bot.Message, d *policy.PlatformAccess)
		heard  bool
	}{
		{"a listed person in private", "ann", private("ann"), nil, true},
		{"a listed person in a group that is not listed", "ann", room("yard"), nil, true},
		{"an admin", "boss", room("yard"), nil, true},
		{"anybody in a listed chat", "eve", room("hall"), nil, true},
		{"and in its threads", "eve", thread, nil, true},
		{"somebody of a listed team", "eve", room("yard"), func(m *bot.Message, _ *policy.PlatformAccess) { m.Team = "T1" }, true},
		{"of another team", "eve", room("yard"), func(m *bot.Message, _ *policy.PlatformAccess) { m.Team = "T2" }, false},
		{"a stranger in private", "eve", private("eve"), nil, false},
		{"a stranger in a group", "eve", room("yard"), nil, false},
		{"a guest in a listed chat", "eve", room("hall"), func(m *bot.Message, _ *policy.PlatformAccess) { m.External = true }, false},
		{"a guest who is named", "ann", room("hall"), func(m *bot.Message, _ *policy.PlatformAccess) { m.External = true }, true},
		{"a guest where everybody may", "eve", room("yard"), func(m *bot.Message, d *policy.PlatformAccess) { m.External, d.Users = true, []string{"*"} }, false},
		{"a guest where guests may", "eve", room("hall"), func(m *bot.Message, d *policy.PlatformAccess) { m.External, d.External = true, true }, true},
		{"everybody", "eve", room("yard"), func(_ *bot.Message, d *policy.PlatformAccess) { d.Users = []string{"*"} }, true},
		{"everybody in groups", "eve", room("yard"), func(_ *bot.Message, d *policy.PlatformAccess) { d.Chats = []string{"*"} }, true},
		{"every group is no private chat", "eve", private("eve"), func(_ *bot.Message, d *policy.PlatformAccess) { d.Chats = []string{"*"} }, false},
		{"everybody, by teams", "eve", private("eve"), func(_ *bot.Message, d *policy.PlatformAccess) { d.Teams = []string{"*"} }, true},
		{"a channel that is not a person", "", room("yard"), func(_ *bot.Message, d *policy.PlatformAccess) { d.Users = []string{""} }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := newEnv(t)
			m := o.by(c.person, c.in, "hello")
			listed := o.rules.Access.Platforms["phone"]
			if c.change != nil {
				c.change(&m, &listed)
			}
			o.rules.Access.Platforms = map[string]policy.PlatformAccess{"phone": listed}
			o.inbox.Use(o.rules)
			if admitted := o.inbox.Admits(t.Context(), m); admitted != c.heard {
				t.Errorf("Admits(%+v) = %v, want %v", m, admitted, c.heard)
			}
			o.send(m)
			if opened := len(o.live(c.in)) == 1; opened != c.heard {
				t.Errorf("%+v was heard: %v, want %v", m, opened, c.heard)
			}
		})
	}
}

// TestOpenPlatform: a platform without a list is open to everybody.
func TestOpenPlatform(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Platforms = nil
	o.inbox.Use(o.rules)
	o.opens("eve", private("eve"), "hello")
}

// TestUnlistedInGroup: in a group, legwork does not answer people without access,
// and stores nothing of their messages.
func TestUnlistedInGroup(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *bot.Message)
	}{
		{"in a group", func(m *bot.Message) { m.Chat = room("yard") }},
		{"a command in a group", func(m *bot.Message) { m.Chat, m.Text = room("yard"), "/help" }},
		{"a code in a group", func(m *bot.Message) { m.Chat, m.Text = room("yard"), "/start ABCD" }},
		{"an edit", func(m *bot.Message) { m.Kind = bot.MessageEdit }},
		{"a deletion", func(m *bot.Message) { m.Kind = bot.MessageDeletion }},
		{"overheard", func(m *bot.Message) { m.Overheard = true }},
		{"a move", func(m *bot.Message) { m.Kind, m.MovedTo = bot.MessageMove, room("new") }},
	} {
		o := newEnv(t)
		m := o.by("eve", private("eve"), "hello")
		c.change(&m)
		if got := o.send(m); got.text() != "" {
			t.Errorf("%s was answered %q, want silence", c.name, got.text())
		}
		if got := o.setting("legwork", "access_requests"); got != "" {
			t.Errorf("%s is remembered: %s", c.name, got)
		}
	}
}

// TestUnlistedPerson: a person without access gets one message a day, in their
// language, with a button that asks the admins once.
func TestUnlistedPerson(t *testing.T) {
	o := newEnv(t)
	m := o.by("eve", private("eve"), "привет")
	m.Language = "ru-RU"
	h := o.send(m)
	if want := o.texts.Text("ru", "error.not_allowed", nil); h.text() != want {
		t.Fatalf("a stranger was answered %q, want %q", h.text(), want)
	}
	ask := h.data(t, o.texts.Text("ru", "button.ask_admin", nil))
	if got := o.send(m); got.text() != "" {
		t.Errorf("the same delivery was answered again: %q", got.text())
	}
	for _, text := range []string{"hello?", "/help", "/start", "/start NOCODE", ""} {
		if got := o.say("eve", private("eve"), text); got != "" {
			t.Errorf("%q was answered a second time on that day: %q", text, got)
		}
	}
	o.restart()
	o.pass(23 * time.Hour)
	if got := o.say("eve", private("eve"), "hello?"); got != "" {
		t.Errorf("after a restart and 23 h: %q", got)
	}
	if got := o.send(o.press("eve", private("eve"), "s:01X")); got.text() != o.text("error.not_yours", nil) || len(got.posts) > 0 {
		t.Errorf("a stranger's press of another button was answered %+v, want a short note", got)
	}

	if err := o.store.PutSetting(t.Context(), "phone:chief", "language", "zh"); err != nil {
		t.Fatal(err)
	}
	h = o.send(o.press("eve", private("eve"), ask))
	var asked []string
	for _, p := range h.posts {
		asked = append(asked, p.Chat.ID+": "+p.Text)
	}
	data := map[string]any{"Name": "EVE", "Person": "phone:eve"}
	want := []string{"boss: " + o.text("notice.request", data), "chief: " + o.texts.Text("zh", "notice.request", data)}
	if slices.Sort(asked); !slices.Equal(asked, want) || h.posts[0].Kind != bot.KindQuestion {
		t.Errorf("the admins read %q, want %q", asked, want)
	}
	if !slices.Equal(h.answers, []string{o.text("notice.asked", nil)}) {
		t.Errorf("the stranger was answered %q", h.answers)
	}
	again := o.send(o.press("eve", private("eve"), ask))
	if len(again.posts) != 0 || again.text() != o.text("notice.asked", nil) {
		t.Errorf("asking twice: %+v, want a short note only", again)
	}
	o.pass(2 * time.Hour)
	if h := o.send(o.by("eve", private("eve"), "hello")); len(h.posts) != 1 || len(h.posts[0].Buttons) != 0 {
		t.Errorf("on the next day: %+v, want the sentence without its button", h.posts)
	}
}

// judged is an env in which eve has asked for access.
func judged(t *testing.T) *env {
	t.Helper()
	o := newEnv(t)
	o.send(o.by("eve", private("eve"), "hello"))
	o.send(o.press("eve", private("eve"), "g:ask"))
	return o
}

// TestAdminsTap: each of the three buttons works once; late presses and presses of
// others do nothing.
func TestAdminsTap(t *testing.T) {
	name := map[string]any{"Name": "EVE"}
	for _, c := range []struct {
		verb, note          string
		inPrivate, inAGroup bool
	}{
		{"g:a:", "notice.allowed", true, true},
		{"g:c:", "notice.allowed_here", true, false},
		{"g:i:", "notice.ignored", false, false},
	} {
		t.Run(c.note, func(t *testing.T) {
			o := judged(t)
			press := o.press("boss", private("boss"), c.verb+"phone:eve")
			if h := o.send(o.press("ann", room("hall"), press.Data)); h.text() != o.text("error.not_yours", nil) {
				t.Errorf("the tap of one who is no admin was answered %q", h.text())
			}
			if h := o.send(o.press("eve", room("hall"), press.Data)); h.text() != o.text("error.not_yours", nil) {
				t.Errorf("the stranger's own tap was answered %q", h.text())
			}
			h := o.send(press)
			if want := []string{o.text(c.note, name)}; !slices.Equal(h.answers, want) {
				t.Errorf("the admin was answered %q, want %q", h.answers, want)
			}
			if told := len(h.posts) == 1 && h.posts[0].Chat == private("eve") && h.posts[0].Text == o.text("notice.admitted", nil); told != c.inPrivate {
				t.Errorf("the stranger reads %+v", h.posts)
			}
			if h := o.send(press); len(h.posts) > 0 || h.text() != "" || len(h.answers) != 1 {
				t.Errorf("the same delivery again: %+v, want only the end of the press", h)
			}
			o.restart()
			for _, admin := range []string{"boss", "chief"} {
				if h := o.send(o.press(admin, private(admin), c.verb+"phone:eve")); h.text() != o.text("error.too_late", nil) {
					t.Errorf("a later tap of %s was answered %+v", admin, h)
				}
			}
			o.pass(48 * time.Hour)
			if got := o.say("eve", private("eve"), "hi"); (got == "") != (c.inPrivate || c.verb == "g:i:") {
				t.Errorf("later the stranger was answered %q", got)
			}
			if opened := len(o.live(private("eve"))) == 1; opened != c.inPrivate {
				t.Errorf("heard in private: %v, want %v", opened, c.inPrivate)
			}
			o.say("eve", room("yard"), "hi")
			if opened := len(o.live(room("yard"))) == 1; opened != c.inAGroup {
				t.Errorf("heard in a group: %v, want %v", opened, c.inAGroup)
			}
			if c.verb != "g:i:" {
				return
			}
			if h := o.send(o.press("eve", private("eve"), "g:ask")); h.text() != "" {
				t.Errorf("one who is ignored asks again and is answered %q", h.text())
			}
			if h := o.send(o.press("chief", private("chief"), "g:a:phone:eve")); h.text() != o.text("notice.admitted", nil)+" | "+o.text("notice.allowed", name) {
				t.Errorf("letting in somebody who was ignored: %q", h.text())
			}
			o.opens("eve", private("eve"), "at last")
		})
	}
}

// TestGuestLetIn: an admin's decision is about the person, so that they get in
// although they are a guest.
func TestGuestLetIn(t *testing.T) {
	o := judged(t)
	o.send(o.press("boss", private("boss"), "g:a:phone:eve"))
	m := o.by("eve", room("yard"), "hi")
	m.External = true
	if o.send(m); len(o.live(room("yard"))) != 1 {
		t.Error("a guest whom an admin let in was not heard")
	}
}

// TestTwoAdminsTap at once: exactly one of them decides.
func TestTwoAdminsTap(t *testing.T) {
	for range 20 {
		o := judged(t)
		taps := []bot.Message{o.press("boss", private("boss"), "g:a:phone:eve"), o.press("chief", private("chief"), "g:i:phone:eve")}
		var both sync.WaitGroup
		for _, m := range taps {
			both.Go(func() {
				if err := o.inbox.Handle(t.Context(), []bot.Message{m}); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		o.inbox.Flush(t.Context())
		late := 0
		for _, a := range o.phone.answers {
			if strings.HasSuffix(a, o.text("error.too_late", nil)) {
				late++
			}
		}
		allowed := strings.Contains(o.setting("phone:eve", "access"), `"allowed":true`)
		ignored := strings.Contains(o.setting("phone:eve", "access"), `"ignored":true`)
		if allowed && ignored || !allowed && !ignored {
			t.Fatalf("stored: %s", o.setting("phone:eve", "access"))
		}
		overruled := allowed && strings.Contains(fmt.Sprint(o.phone.answers), o.text("notice.ignored", map[string]any{"Name": "EVE"}))
		if late > 1 || late == 0 && !overruled {
			t.Fatalf("%d taps came too late: %q; stored: %s", late, o.phone.answers, o.setting("phone:eve", "access"))
		}
	}
}

// TestFloodOfUnlistedPeople: above a limit people without access get no answer, and
// legwork stores little about them.
func TestFloodOfUnlistedPeople(t *testing.T) {
	o := newEnv(t)
	told, asked := 0, 0
	for i := range 500 {
		who := fmt.Sprintf("s%d", i)
		m := o.by(who, private(who), "hello")
		m.From.Name = strings.Repeat("x", 100000)
		if h := o.send(m, o.by(who, private(who), "hello"), o.by(who, private(who), "hello")); len(h.posts) > 1 {
			t.Fatalf("%d answers to %s", len(h.posts), who)
		} else if len(h.posts) == 1 {
			told++
		}
		if h := o.send(o.press(who, private(who), "g:ask")); len(h.posts) > 0 {
			asked++
		}
	}
	if told != 200 || asked != 20 {
		t.Errorf("%d strangers were told and %d were asked for; want 200 and 20", told, asked)
	}
	if n := len(o.setting("legwork", "access_requests")); n > 200*1000 {
		t.Errorf("%d bytes are stored of strangers", n)
	}
	o.pass(25 * time.Hour)
	if got := o.say("late", private("late"), "hello"); got == "" {
		t.Error("on the next day a stranger got no answer")
	}
}

// TestNoAdminToAsk: without admins the message has no button, and says what to do.
func TestNoAdminToAsk(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Admins = nil
	o.inbox.Use(o.rules)
	h := o.send(o.by("eve", private("eve"), "hello"))
	if want := o.text("error.no_admin", nil); len(h.posts) != 1 || len(h.posts[0].Buttons) != 0 || h.text() != want {
		t.Errorf("posts = %+v, want one without a button: %q", h.posts, want)
	}
}

// TestUnlistedCommands: each command of the platform is answered, since its author
// waits for an answer.
func TestUnlistedCommands(t *testing.T) {
	o := newEnv(t)
	command := func() heard {
		m := o.by("eve", private("eve"), "/task go")
		m.Token = "token"
		return o.send(m)
	}
	want := o.text("error.not_allowed", nil)
	o.say("eve", private("eve"), "hello")
	for range 2 {
		if h := command(); h.text() != want || len(h.posts) != 1 || len(h.posts[0].Buttons) != 1 {
			t.Errorf("a command was answered %+v, want %q with a button", h, want)
		}
	}
	o.send(o.press("eve", private("eve"), "g:ask"))
	if h := command(); h.text() != want || len(h.posts) != 0 {
		t.Errorf("after the admins were asked, a command was answered %+v, want %q without a button", h, want)
	}
	o.send(o.press("chief", private("chief"), "g:i:phone:eve"))
	if h := command(); h.text() != "" {
		t.Errorf("an ignored person's command was answered %q", h.text())
	}
}

// TestUnlistedBeforeTheFirstAdmin: a person who wrote before there was an admin can
// ask once there is one, and gets each message only once.
func TestUnlistedBeforeTheFirstAdmin(t *testing.T) {
	o := newEnv(t)
	with := o.rules.Access.Admins
	o.rules.Access.Admins = nil
	o.inbox.Use(o.rules)
	o.say("eve", private("eve"), "hello")
	if got := o.say("eve", private("eve"), "again"); got != "" {
		t.Errorf("the second answer without an admin = %q, want none", got)
	}
	o.rules.Access.Admins = with
	o.inbox.Use(o.rules)
	h := o.send(o.by("eve", private("eve"), "and now"))
	if want := o.text("error.not_allowed", nil); len(h.posts) != 1 || len(h.posts[0].Buttons) != 1 || h.text() != want {
		t.Errorf("posts with an admin = %+v, want one with a button: %q", h.posts, want)
	}
	if got := o.say("eve", private("eve"), "once more"); got != "" {
		t.Errorf("the second answer with an admin = %q, want none", got)
	}
}

// TestNamesAreHarmless: the name of a person without access is shown as plain text.
func TestNamesAreHarmless(t *testing.T) {
	o := newEnv(t)
	m := o.by("eve", private("eve"), "hello")
	m.From.Name = "`*x*`\n[click](https://evil.example) " + strings.Repeat("é", 300)
	o.send(m)
	h := o.send(o.press("eve", private("eve"), "g:ask"))
	text := h.posts[0].Text
	if strings.Count(text, "`") != 4 || strings.Contains(text, "\n") || len(text) > 300 {
		t.Errorf("an admin reads %q", text)
	}
}

// TestTellAdmins: each admin gets notices in the language that they chose or that
// their platform reports. An admin who cannot be reached delays no other.
func TestTellAdmins(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Admins = []string{"phone:gone", "slack:U1", "phone:boss", "phone:chief", "nonsense"}
	o.inbox.Use(o.rules)
	o.say("chief", private("chief"), "/lang ru")
	m := o.by("boss", room("yard"), "/status")
	m.Language = "zh-CN"
	o.send(m)
	o.restart()
	o.inbox.NotifyAdmins(t.Context(), "notice.model", map[string]any{"Name": "X"})
	o.inbox.Flush(t.Context())
	var got []string
	for _, p := range o.phone.posts[2:] {
		got = append(got, p.Chat.ID+": "+p.Text)
	}
	want := []string{"boss: " + o.texts.Text("zh", "notice.model", map[string]any{"Name": "X"}), "chief: " + o.texts.Text("ru", "notice.model", map[string]any{"Name": "X"})}
	if !slices.Equal(got, want) {
		t.Errorf("the admins read %q, want %q", got, want)
	}
}

// unreadable is a store whose settings are damaged.
type unreadable struct{ tasks.Store }

func (unreadable) Setting(context.Context, string, string) (string, error) {
	return "", tasks.ErrDamaged
}

// TestTellAdminsOfDamage: the configured admins get notices even when the settings
// cannot be read.
func TestTellAdminsOfDamage(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Admins = []string{"phone:boss"}
	o.inbox.Use(o.rules)
	o.seen = unreadable{o.store}
	o.restart()
	o.inbox.NotifyAdmins(t.Context(), "admin.disk_low", map[string]any{"Path": "data"})
	o.inbox.Flush(t.Context())
	if posts := o.phone.posts; len(posts) != 1 || posts[0].Chat.ID != "boss" || posts[0].Text != o.text("admin.disk_low", map[string]any{"Path": "data"}) {
		t.Errorf("the admins read %+v", posts)
	}
}

// TestClaim: the first admin.
func TestClaim(t *testing.T) {
	o := newEnv(t)
	if code, err := inbox.NewClaim(t.Context(), o.inbox); code != "" || err != nil {
		t.Fatalf("Claim with an admin in the config = %q, %v; want none", code, err)
	}
	o.rules.Access.Admins = nil
	o.inbox.Use(o.rules)
	claim := func() string {
		t.Helper()
		code, err := inbox.NewClaim(t.Context(), o.inbox)
		if err != nil || len(code) != 8 || strings.ContainsAny(code, "01ILO") {
			t.Fatalf("Claim = %q, %v; want 8 unambiguous letters and digits", code, err)
		}
		return code
	}
	first := claim()
	code := claim()
	if first == code {
		t.Fatalf("the same code twice: %q", code)
	}
	o.say("eve", room("yard"), "/start "+code)
	wrong := o.by("eve", private("eve"), "/start "+first)
	if got := o.send(wrong).text(); got != o.text("error.claim_wrong", map[string]any{"Count": 4}) {
		t.Errorf("a code that was replaced: %q", got)
	}
	if got := o.send(wrong).text(); got != "" {
		t.Errorf("the same wrong code delivered again: %q", got)
	}
	typed := strings.ToLower(code[:4] + "-" + code[4:])
	m := o.by("eve", private("eve"), "/start "+typed)
	if got := o.send(m).text(); got != o.text("notice.claimed", nil)+"\n\n"+o.text("help.chat", nil) {
		t.Errorf("the right code: %q", got)
	}
	o.send(m)
	o.restart()
	o.opens("eve", room("yard"), "I may")
	if code, err := inbox.NewClaim(t.Context(), o.inbox); code != "" || err != nil {
		t.Errorf("Claim after that = %q, %v; want none", code, err)
	}
	if h := o.send(o.by("mallory", private("mallory"), "/start "+code)); h.text() != o.text("error.not_allowed", nil) || len(h.posts[0].Buttons) != 1 {
		t.Errorf("a used code: %q", h.text())
	}
}

// TestClaimEnds: the claim ends after five wrong codes in all, and after an hour.
func TestClaimEnds(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Admins = nil
	o.inbox.Use(o.rules)
	code, err := inbox.NewClaim(t.Context(), o.inbox)
	if err != nil {
		t.Fatal(err)
	}
	for i, who := range []string{"a", "b", "c", "d", "e"} {
		want := o.text("error.claim_wrong", map[string]any{"Count": 4 - i})
		if i == 4 {
			want = o.text("error.claim_over", nil)
		}
		if got := o.say(who, private(who), "/start WRONG"); got != want {
			t.Errorf("wrong code %d: %q, want %q", i+1, got, want)
		}
	}
	if got := o.say("f", private("f"), "/start "+code); got != o.text("error.no_admin", nil) {
		t.Errorf("the right code after five wrong ones: %q", got)
	}
	if code, err = inbox.NewClaim(t.Context(), o.inbox); err != nil {
		t.Fatal(err)
	}
	o.pass(time.Hour)
	if got := o.say("g", private("g"), "/start "+code); got != o.text("error.claim_over", nil) {
		t.Errorf("after an hour: %q", got)
	}
}

// TestAccessOfSchedules: the schedule of a conversation in the page runs while its owner
// can sign in there.
func TestAccessOfSchedules(t *testing.T) {
	o := newEnv(t)
	o.rules.Access.Tokens, o.rules.Access.Provider = []string{"ops"}, "id.example.com"
	o.restart()
	for person, want := range map[string]bool{
		"web:ops": true, "web:gone": false, "web:u@1@id.example.com": true, "web:u1@old.example.com": false, "web:u1@": false,
		"phone:ann": true, "phone:boss": true, "phone:eve": false,
	} {
		platform, id, _ := strings.Cut(person, ":")
		s := tasks.Schedule{ID: "s1", Chat: bot.Chat{Platform: tasks.PlatformWeb, ID: "c1", Private: true}, From: bot.Person{Platform: platform, ID: id}, Goal: "look", Timezone: "UTC"}
		if _, admitted, err := inbox.ScheduleOpening(t.Context(), o.inbox, s); admitted != want || err != nil {
			t.Errorf("the schedule of %s runs: %v, %v; want %v", person, admitted, err, want)
		}
	}
	direct := bot.Chat{Platform: "phone", ID: "D1", Private: true} // as in Slack, with an id of its own
	o.send(o.by("eve", direct, "hello"))
	o.send(o.press("eve", direct, "g:ask"))
	o.send(o.press("boss", private("boss"), "g:c:phone:eve"))
	s := tasks.Schedule{ID: "s1", Chat: bot.Chat{Platform: tasks.PlatformWeb, ID: "c1", Private: true}, From: bot.Person{Platform: "phone", ID: "eve"}, Goal: "look", Timezone: "UTC"}
	if _, admitted, err := inbox.ScheduleOpening(t.Context(), o.inbox, s); !admitted || err != nil {
		t.Errorf("the schedule of a person with access in a private chat runs: %v, %v", admitted, err)
	}
}
