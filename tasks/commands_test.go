package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"legwork/bot"
	"legwork/planner"
	"legwork/tasks"
	"legwork/tasks/cards"
	"legwork/tasks/commands"
	"legwork/tasks/inbox"
)

// TestCommandNames: each command has a description in every language.
func TestCommandNames(t *testing.T) {
	o := newEnv(t)
	want := strings.Fields("start task plan stop status retry new forget history groups approvals schedule prompt model lang timezone usage settings console connections connect pause resume help")
	if got := commands.Names(); !slices.Equal(got, want) {
		t.Errorf("CommandNames = %q, want %q", got, want)
	}
	for _, name := range want {
		for _, lang := range []string{"en", "zh", "ru"} {
			if text := o.texts.Text(lang, "command."+name, nil); text == "command."+name {
				t.Errorf("/%s has no description in %s", name, lang)
			}
		}
		if help := o.text("help.chat", nil); name != "start" && !strings.Contains(help, "`/"+name) {
			t.Errorf("the help does not name /%s", name)
		}
	}
}

// TestWordsOfCommands: the spellings of commands, and texts that are no commands.
func TestWordsOfCommands(t *testing.T) {
	o := newEnv(t)
	unknown := func(command, near string) string {
		return o.text("error.unknown_command", map[string]any{"Command": command, "Near": near})
	}
	for _, c := range []struct{ text, want string }{
		{"/help", o.text("help.chat", nil)},
		{"/HELP", o.text("help.chat", nil)},
		{"/help@legwork_bot", o.text("help.chat", nil)},
		{"/help\nme", o.text("help.chat", nil)},
		{"/start", o.text("notice.start", nil) + "\n\n" + o.text("help.chat", nil)},
		{"/start payload", o.text("notice.start", nil) + "\n\n" + o.text("help.chat", nil)},
		{"/statsu", unknown("/statsu", "/status")},
		{"/hlep", unknown("/hlep", "/help")},
		{"/tsak do it", unknown("/tsak", "/task")},
		{"/dance", unknown("/dance", "")},
		{"/помощь", unknown("/помощь", "")},
		{"/" + strings.Repeat("x", 100000), unknown("/"+strings.Repeat("x", 40), "")},
		{"/status", o.text("statusline.none", nil)},
		{"/stop", o.text("error.nothing_running", nil)},
		{"/new", o.text("notice.new", nil)},
		{"/retry", o.text("error.nothing_to_retry", nil)},
		{"/history", o.text("history.none", nil)},
		{"/task", o.text("error.empty_task", map[string]any{"Command": "/task"})},
		{"/plan  ", o.text("error.empty_task", map[string]any{"Command": "/plan"})},
		{"/task " + strings.Repeat("x", inbox.MaxGoal+1), o.text("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal})},
		{"/groups", o.text("groups.intro", nil) + "\n\n- **book**: Books things.\n- **locked**: Is locked.\n- **look**: Looks things up."},
		{"", o.text("error.empty_goal", nil)},
		{strings.Repeat("x", inbox.MaxGoal+1), o.text("error.goal_too_long", map[string]any{"Max": inbox.MaxGoal})},
	} {
		if got := o.say("ann", private("ann"), c.text); got != c.want {
			t.Errorf("%.60q was answered %.300q, want %q", c.text, got, c.want)
		}
	}
	if goals := o.goals(private("ann")); len(goals) != 0 {
		t.Errorf("commands opened the tasks %q", goals)
	}
	for _, text := range []string{"/usr/bin is full", "//", "/", "/ help", "👍", "שלום עולם", strings.Repeat("ж", 50000), "/a.b", "/5 of them"} {
		o.pass(time.Minute)
		o.opens("ann", room("hall"), text)
	}
}

// TestGroupsByPerson: /groups does not show a group of somebody else.
func TestGroupsByPerson(t *testing.T) {
	o := newEnv(t)
	m := o.by("bob", private("bob"), "/groups")
	if got := o.send(m).text(); strings.Contains(got, "secret") {
		t.Errorf("a group of another platform's person is shown: %q", got)
	}
}

// TestMedia: a message without text gets an answer that says so. With a text, the
// person and the model read that the file was not read.
func TestMedia(t *testing.T) {
	o := newEnv(t)
	m := o.by("ann", private("ann"), "")
	m.Media = "sticker"
	if got := o.send(m).text(); got != o.text("error.no_text_in_media", nil) {
		t.Errorf("a sticker was answered %q", got)
	}
	m = o.by("ann", private("ann"), "")
	m.Media = "rich_message"
	if got := o.send(m).text(); got != o.text("error.rich_message", nil) {
		t.Errorf("a message with rich formatting was answered %q", got)
	}
	m = o.by("ann", private("ann"), "what is this?")
	m.Media, m.MediaName = "document", "a`b.pdf"
	unread := map[string]any{"Media": "file", "Name": "`a'b.pdf`"}
	if got := o.send(m).text(); got != o.text("notice.unread", unread) {
		t.Errorf("a caption was answered %q", got)
	}
	goal := "what is this?\n\n> " + o.text("prompt.unread", unread)
	if goals := o.goals(private("ann")); !slices.Equal(goals, []string{goal}) {
		t.Errorf("goals = %q, want the caption and a line about the file", goals)
	}
	if title := cards.Title(goal); title != "what is this?" {
		t.Errorf("the title is %q", title)
	}
	id := o.live(private("ann"))[0]
	o.plans(id)
	o.pass(time.Minute)
	m = o.by("ann", private("ann"), "and this")
	m.Media = "photo"
	unread = map[string]any{"Media": "photo"}
	if got := o.send(m).text(); got != o.text("notice.added", nil)+"\n\n"+o.text("notice.unread", unread) {
		t.Errorf("guidance with a photo was answered %q", got)
	}
	if got := o.said(id); !slices.Equal(got, []string{"and this\n\n> " + o.text("prompt.unread", unread)}) {
		t.Errorf("guidance = %q", got)
	}
	m = o.by("ann", private("ann"), "/status")
	m.Media = "photo"
	if got := o.send(m).text(); strings.Contains(got, o.text("notice.unread", unread)) {
		t.Errorf("a command was answered %q", got)
	}
}

// TestTaskApart: /task starts a separate task beside a running plan, with all lines
// of the message.
func TestTaskApart(t *testing.T) {
	o := newEnv(t)
	first := o.opens("ann", private("ann"), "go")
	o.plans(first)
	id := o.opens("ann", private("ann"), "/task compare\n\n- a\n- b")
	if got := o.event(id, 1).Opening; got.Goal != "compare\n\n- a\n- b" || got.Preview {
		t.Errorf("opening = %+v", got)
	}
	if heard := o.said(first); len(heard) != 0 {
		t.Errorf("the running task heard %q", heard)
	}
}

// TestPlanFirst: /plan shows the plan with Run, Edit and Cancel.
func TestPlanFirst(t *testing.T) {
	for _, in := range []bot.Chat{private("ann"), room("hall")} {
		o := newEnv(t)
		id := o.opens("ann", in, "/plan travel")
		if !o.event(id, 1).Opening.Preview {
			t.Fatal("the plan is not shown first")
		}
		o.plans(id)
		button := func(choice int) string {
			plan := o.state(id).Planned[0]
			return fmt.Sprintf("a:%s:plan.%d.0:%d", id, plan, choice)
		}
		old := button(0)
		h := o.send(o.press("ann", in, button(1)))
		if len(h.posts) != 1 || h.posts[0].Text != o.text("notice.edit_plan", nil) || !slices.Equal(h.answers, []string{""}) {
			t.Fatalf("Edit was answered %+v, want a message and the end of the press", h)
		}
		if h := o.send(o.press("ann", in, button(1))); len(h.posts) != 0 || h.text() != o.text("notice.edit_plan", nil) {
			t.Errorf("Edit again: %+v, want a short note", h)
		}
		o.pass(time.Minute)
		reply := o.by("ann", in, "by train")
		if !in.Private {
			reply.ReplyTo = h.posts[0].ID
		}
		o.send(reply)
		if heard := o.said(id); !slices.Equal(heard, []string{"by train"}) || o.state(id).Phase != planner.PhaseDeciding {
			t.Fatalf("heard %q, phase %s; want another plan to be made", heard, o.state(id).Phase)
		}
		o.add(id, planner.Event{Type: planner.Replied, Action: planner.Todo(o.state(id))[0].ID, Reply: &planner.Reply{IsPlan: true, Plan: []planner.Subtask{{ID: "1/a", Name: "look", Description: "trains"}}}})
		if h := o.send(o.press("ann", in, old)); h.text() != o.text("error.too_late", nil) {
			t.Errorf("the button of the plan before was answered %q", h.text())
		}
		if h := o.send(o.press("bob", in, button(0))); h.text() != o.text("error.not_yours", nil) {
			t.Errorf("the press of somebody else was answered %q", h.text())
		}
		run := o.press("ann", in, button(0))
		if h := o.send(run); h.text() != "" || len(h.answers) != 1 || o.state(id).Phase != planner.PhaseWorking {
			t.Errorf("Run: %+v, phase %s", h, o.state(id).Phase)
		}
		if h := o.send(run); h.text() != "" || len(h.answers) != 1 {
			t.Errorf("Run delivered again: %+v", h)
		}
		if h := o.send(o.press("ann", in, run.Data)); h.text() != o.text("error.too_late", nil) {
			t.Errorf("Run pressed again: %q", h.text())
		}
	}
}

// TestForgottenPlan: a message belongs to a plan that was just shown, and not to an
// older one, unless it replies to the plan.
func TestForgottenPlan(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", private("ann"), "/plan travel")
	o.plans(id)
	plan := o.state(id).Planned[0]
	o.send(o.press("ann", private("ann"), fmt.Sprintf("a:%s:plan.%d.0:1", id, plan)))
	o.pass(2 * time.Hour)
	other := o.opens("ann", private("ann"), "who won?")
	if heard := o.said(id); len(heard) != 0 || o.event(other, 1).Opening.Goal != "who won?" {
		t.Errorf("two hours later the plan heard %q, want a question of its own", heard)
	}
	reply, now := o.by("ann", private("ann"), "by train"), o.state(id)
	reply.ReplyTo = now.Slot(fmt.Sprintf("edit.%d", plan)).Message
	o.send(reply)
	if heard := o.said(id); !slices.Equal(heard, []string{"by train"}) {
		t.Errorf("the plan heard %q, want what replied to it", heard)
	}
}

func TestPlanCancelled(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", room("hall"), "/plan travel")
	o.plans(id)
	o.send(o.press("boss", room("hall"), fmt.Sprintf("a:%s:plan.%d.0:2", id, o.state(id).Planned[0])))
	if got := o.state(id).Outcome; got != planner.Halted {
		t.Errorf("outcome = %q, want stopped", got)
	}
}

// TestPressBeforeTheReceipt: a person can press a button before the platform has
// confirmed the message of the question. The press makes the message known.
func TestPressBeforeTheReceipt(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", room("hall"), "/plan travel")
	o.plans(id)
	ask := planner.Todo(o.state(id))[0].ID
	o.add(id, planner.Event{Type: planner.SendStarted, Slot: ask.String()})
	press := o.press("ann", room("hall"), fmt.Sprintf("a:%s:plan.%d.0:2", id, o.state(id).Planned[0]))
	o.send(press)
	after := o.state(id)
	if got := after.Slot(ask.String()).Message; got != press.ID {
		t.Errorf("the question's message = %q, want %q", got, press.ID)
	}
}

// TestSettings: people can change their settings, and the settings take effect.
func TestSettings(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	date := func(zone string) time.Time {
		at, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		return o.clock().In(at)
	}
	zone := func(name string) string {
		return o.text("notice.timezone", map[string]any{"Name": name, "Date": date(name)})
	}
	noModel := o.text("error.no_model", map[string]any{"Allowed": "main, big"})
	for _, c := range []struct{ text, want string }{
		{"/timezone", o.text("notice.timezone_now", map[string]any{"Name": "UTC", "Date": date("UTC")})},
		{"/timezone Tokyo", zone("Asia/Tokyo")},
		{"/timezone america/new_york", zone("America/New_York")},
		{"/timezone UTC+3", zone("Etc/GMT-3")},
		{"/timezone Europe/Berlin", zone("Europe/Berlin")},
		{"/timezone Local", o.text("error.no_timezone", map[string]any{"Name": "Local"})},
		{"/timezone Amsterdm", o.text("error.no_timezone", map[string]any{"Name": "Amsterdm", "Near": "Amsterdam"})},
		{"/timezone ../../etc/passwd", o.text("error.no_timezone", map[string]any{"Name": `\.\./\.\./etc/passwd`})},
		{"/model", o.text("notice.model_now", map[string]any{"Name": `main (vendor/main-1\:8b)`, "Allowed": "main, big"})},
		{"/model default", o.text("notice.model", map[string]any{"Name": `main (vendor/main-1\:8b)`})},
		{"/model BIG", o.text("notice.model", map[string]any{"Name": "big"})},
		{"/model", o.text("notice.model_now", map[string]any{"Name": "big", "Allowed": "main, big"})},
		{"/model huge", noModel},
		{"/settings", "- Language: English\n- Time zone: Europe/Berlin\n- Model: big\n- Your id: `phone:ann`; this chat: `phone:ann`. An admin needs them for legwork data forget."},
		{"/lang", o.text("notice.language_now", map[string]any{"Name": "English", "Allowed": "en, zh, ru"})},
		{"/lang klingon", o.text("error.no_language", map[string]any{"Allowed": "en, zh, ru"})},
	} {
		if got := o.say("ann", me, c.text); got != c.want {
			t.Errorf("%q was answered %q, want %q", c.text, got, c.want)
		}
	}
	o.restart()
	if got := o.event(o.opens("ann", me, "hello"), 1).Opening; got.Timezone != "Europe/Berlin" || got.Model != "big" {
		t.Errorf("opening = %+v, want the person's time zone and model", got)
	}
	o.rules.Models = []string{"main"}
	o.inbox.Use(o.rules)
	o.pass(time.Minute)
	if got := o.event(o.opens("ann", me, "hello again"), 1).Opening; got.Model != "" {
		t.Errorf("model = %q, which is no longer configured", got.Model)
	}
	if got := o.say("ann", me, "/model"); got != o.text("notice.model_only", map[string]any{"Name": `main (vendor/main-1\:8b)`}) {
		t.Errorf("/model with one model: %q", got)
	}
	if got := o.event(o.opens("bob", private("bob"), "hello"), 1).Opening; got.Timezone != "UTC" || got.Model != "" {
		t.Errorf("another person's opening = %+v", got)
	}
}

// TestSettingsByButtons: each choice has a button.
func TestSettingsByButtons(t *testing.T) {
	o := newEnv(t)
	o.rules.Models = []string{"main", "big", strings.Repeat("long", 20)}
	o.inbox.Use(o.rules)
	me := private("ann")
	h := o.send(o.by("ann", me, "/settings"))
	lang := o.send(o.press("ann", me, h.data(t, o.text("button.language", nil))))
	if got := o.send(o.press("ann", me, lang.data(t, "Русский"))); got.text() != o.texts.Text("ru", "notice.language", map[string]any{"Name": "Русский"}) || len(got.posts) != 0 {
		t.Errorf("the language button was answered %+v, want a short note", got)
	}
	models := o.send(o.press("ann", me, h.data(t, o.text("button.model", nil))))
	o.send(o.press("ann", me, models.data(t, "big")))
	if got := o.setting("phone:ann", "model"); got != "big" {
		t.Errorf("model = %q", got)
	}
	o.send(o.press("ann", me, models.data(t, o.texts.Text("ru", "button.usual", nil))))
	if got := o.setting("phone:ann", "model"); got != "" {
		t.Errorf("model = %q, want the usual one", got)
	}
	zones := o.send(o.by("ann", me, "/timezone Brazil"))
	o.send(o.press("ann", me, zones.data(t, "America/Noronha")))
	if got := o.setting("phone:ann", "timezone"); got != "America/Noronha" {
		t.Errorf("timezone = %q", got)
	}
}

// TestRetry: /retry starts the person's question that ended last again as a task.
func TestRetry(t *testing.T) {
	o := newEnv(t)
	hall := room("hall")
	long := strings.Repeat("a long question ", 1000)
	first := o.opens("ann", hall, long)
	o.ends(first, "no")
	o.pass(time.Minute)
	o.ends(o.opens("bob", hall, "of bob"), "yes")
	o.pass(time.Minute)
	running := o.opens("ann", hall, "running")
	m := o.by("ann", hall, "/retry")
	o.send(m)
	o.send(m)
	if got := o.goals(hall); !slices.Equal(got, []string{"running", strings.TrimSpace(long)}) {
		t.Errorf("goals after /retry = %.100q, want the running one and the long one, once", got)
	}
	press := func(person string, id tasks.ID) heard { return o.send(o.press(person, hall, "r:"+string(id))) }
	if h := press("ann", running); h.text() != o.text("error.still_running", nil) {
		t.Errorf("Retry of a running task: %q", h.text())
	}
	if h := press("bob", first); h.text() != o.text("error.not_yours", nil) {
		t.Errorf("Retry by somebody else: %q", h.text())
	}
	if h := o.send(o.press("ann", private("ann"), "r:"+string(first))); h.text() != o.text("error.task_gone", nil) {
		t.Errorf("Retry from another chat: %q", h.text())
	}
	for range 2 {
		if h := press("boss", first); h.text() != "" || len(h.answers) != 1 {
			t.Errorf("Retry: %+v", h)
		}
	}
	if n := len(o.live(hall)); n != 3 {
		t.Errorf("%d live tasks after pressing Retry twice, want 3", n)
	}
	if h := press("ann", "01NONSENSE"); h.text() != o.text("error.task_gone", nil) {
		t.Errorf("Retry of nothing: %q", h.text())
	}
}

// TestRetryAsksWhatEndedLast: /retry asks what the chat saw end last, also when the
// person has asked something else since then.
func TestRetryAsksWhatEndedLast(t *testing.T) {
	for name, end := range map[string]func(*env, tasks.ID){
		"answered": func(o *env, id tasks.ID) { o.ends(id, "late") },
		"failed": func(o *env, id tasks.ID) {
			for s := o.state(id); !s.Settled(); s = o.state(id) {
				o.add(id, planner.Event{Type: planner.CallFailed, Action: planner.Todo(s)[0].ID, Problem: &planner.Problem{Code: "unreachable"}})
			}
		},
		"stopped": func(o *env, id tasks.ID) { o.say("ann", private("ann"), "/stop") },
	} {
		t.Run(name, func(t *testing.T) {
			o, me := newEnv(t), private("ann")
			long := o.opens("ann", me, "a long question")
			o.plans(long)
			short := o.opens("ann", me, "/task a short question")
			o.pass(time.Minute)
			o.ends(short, "soon")
			o.pass(time.Minute)
			end(o, long)
			if s := o.state(long); !s.Settled() {
				t.Fatalf("the long task is %q", s.Status())
			}
			o.pass(time.Minute)
			before := o.live(me)
			o.say("ann", me, "/retry")
			for _, id := range o.live(me) {
				if got := o.event(id, 1).Opening.Goal; !slices.Contains(before, id) && got != "a long question" {
					t.Errorf("/retry asks %q, want the question that ended last", got)
				}
			}
			if len(o.live(me)) != len(before)+1 {
				t.Errorf("/retry opened %d tasks, want one", len(o.live(me))-len(before))
			}
		})
	}
}

// TestHistory: one line for each turn, the newest ten.
func TestHistory(t *testing.T) {
	o := newEnv(t)
	for i := range 12 {
		o.ends(o.opens("ann", room("hall"), fmt.Sprintf("question *%d*\nand more", i)), "# **An** answer\n\n- with `code`")
		o.pass(time.Hour)
	}
	o.opens("bob", room("hall"), "running")
	lines := strings.Split(o.say("bob", room("hall"), "/history"), "\n")
	if len(lines) != 10 || lines[0] != `- 9 h 0 min ago: question \*3\* and more → An answer • with code` || lines[9] != "- 0.0 s ago: running" {
		t.Errorf("history = %q", lines)
	}
}

// TestForget: /forget asks first. Only people with the right can confirm, once and
// in time.
func TestForget(t *testing.T) {
	o := newEnv(t)
	me := private("ann")
	o.ends(o.opens("ann", me, "one"), "1")
	o.pass(time.Minute)
	o.plans(o.opens("ann", me, "running"))
	h := o.send(o.by("ann", me, "/forget"))
	yes, no := h.data(t, o.text("button.forget", nil)), h.data(t, o.text("button.keep", nil))
	if got := o.send(o.press("ann", me, no)); got.text() != o.text("notice.kept", nil) {
		t.Errorf("Keep was answered %q", got.text())
	}
	want := o.text("notice.forgotten", map[string]any{"Count": 1}) + " " + o.text("notice.forgotten_running", map[string]any{"Goal": "running"})
	if got := o.send(o.press("ann", me, yes)); got.text() != want {
		t.Errorf("Forget was answered %q, want %q", got.text(), want)
	}
	if turns, err := o.store.History(t.Context(), me.Key(), "", 1000); err != nil || len(turns) != 0 {
		t.Errorf("history = %+v, %v; want none", turns, err)
	}
	if n := len(o.live(me)); n != 1 {
		t.Errorf("%d live tasks, want the running one", n)
	}
	o.pass(time.Minute)
	o.ends(o.opens("ann", me, "/task two"), "2")
	if got := o.send(o.press("ann", me, yes)); got.text() != "" {
		t.Errorf("pressed twice: %q", got.text())
	}
	if turns, err := o.store.History(t.Context(), me.Key(), "", 1000); err != nil || len(turns) != 1 {
		t.Errorf("the messages since the first press are gone: %+v, %v", turns, err)
	}
	late := o.send(o.by("ann", me, "/forget")).data(t, o.text("button.forget", nil))
	o.pass(time.Hour)
	if got := o.send(o.press("ann", me, late)); got.text() != o.text("error.too_late", nil) {
		t.Errorf("an hour later: %q", got.text())
	}
	command := o.by("ann", me, "/forget yes")
	if got := o.send(command).text(); !strings.HasPrefix(got, "Deleted: 1 question") {
		t.Errorf("/forget yes was answered %q", got)
	}
	o.pass(time.Minute)
	o.ends(o.opens("ann", me, "/task three"), "3")
	if got := o.send(command).text(); got != "" {
		t.Errorf("delivered again: %q", got)
	}
	if got := o.say("ann", room("hall"), "/forget"); got != o.text("error.admins_only", nil) {
		t.Errorf("in a group: %q", got)
	}
	h = o.send(o.by("boss", room("hall"), "/forget"))
	if got := o.send(o.press("ann", room("hall"), h.data(t, o.text("button.forget", nil)))); got.text() != o.text("error.admins_only", nil) {
		t.Errorf("the admin's button pressed by somebody else: %q", got.text())
	}
}

// TestStatusOfTheQueue: /status says how many tasks each waiting one has before it.
func TestStatusOfTheQueue(t *testing.T) {
	o := newEnv(t)
	for _, goal := range []string{"one", "two", "three"} {
		o.opens("ann", room("hall"), "/task "+goal)
	}
	got := o.say("ann", room("hall"), "/status")
	for n, goal := range map[int]string{1: "two", 2: "three"} {
		if want := o.text("status.queued", map[string]any{"Count": n}); !strings.Contains(got, goal) || !strings.Contains(got, want) {
			t.Errorf("/status = %q, want %q for %s", got, want, goal)
		}
	}
}

// TestStopPress: the stop button on a board, pressed by others, in another chat, and
// twice.
func TestStopPress(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", room("hall"), "go")
	o.plans(id)
	stop := "s:" + string(id)
	for _, c := range []struct {
		person string
		in     bot.Chat
		want   string
	}{
		{"bob", room("hall"), "error.not_yours"},
		{"ann", private("ann"), "error.too_late"},
		{"ann", room("hall"), "notice.stopping"},
		{"ann", room("hall"), "error.too_late"},
	} {
		if h := o.send(o.press(c.person, c.in, stop)); h.text() != o.text(c.want, nil) || len(h.posts) != 0 {
			t.Errorf("Stop by %s in %s: %+v, want %s", c.person, c.in.Key(), h, c.want)
		}
	}
	if got := o.state(id).Outcome; got != planner.Halted {
		t.Errorf("outcome = %q, want stopped", got)
	}
}

func TestDetails(t *testing.T) {
	o := newEnv(t)
	id := o.opens("ann", room("hall"), "go")
	o.plans(id)
	m := o.press("ann", room("hall"), "d:"+string(id))
	h := o.send(m)
	if len(h.posts) != 1 || !strings.Contains(h.posts[0].Text, "**one**") || h.posts[0].ReplyTo != m.ID || h.posts[0].Kind != bot.KindNotice || len(h.answers) != 1 {
		t.Errorf("Details: %+v, want a notice under the message, and the end of the press", h)
	}
	if h := o.send(o.press("bob", room("hall"), m.Data)); h.text() != o.text("error.not_yours", nil) {
		t.Errorf("Details by somebody else: %q", h.text())
	}
	if h := o.send(o.press("ann", room("hall"), m.Data)); len(h.posts) != 0 || len(h.answers) != 1 {
		t.Errorf("a second press of Details: %+v, want only the end of the press", h)
	}
	o.pass(time.Minute)
	if h := o.send(o.press("ann", room("hall"), m.Data)); len(h.posts) != 1 {
		t.Errorf("a press of Details a minute later: %+v, want the details again", h)
	}
}

// TestPressesThatNobodyMade: presses with invalid data are answered too.
func TestPressesThatNobodyMade(t *testing.T) {
	o := newEnv(t)
	id := string(o.opens("ann", room("hall"), "go"))
	for _, data := range []string{
		"x", ":", "a", "a:", "a:" + id, "a:" + id + ":1.1:0", "a:" + id + ":question.9.9:0", "a:" + id + ":plan.1.0:0", "a:" + id + ":budget.0.0:0", "u:" + id, "u:" + id + ":x",
		"u:" + id + ":1", "u:" + id + ":99", "x:" + id + ":-1", "c:", "c:forget", "f:yes:", "f:yes:99999999999", "g:a:unknown", "z:" + id, strings.Repeat("a:", 1000), "d:nothing", "s:",
	} {
		h := o.send(o.press("ann", room("hall"), data))
		if len(h.answers) != 1 || len(h.posts) != 0 {
			t.Errorf("%.40q: %+v, want one answer to the press", data, h)
		}
	}
	if goals := o.goals(room("hall")); !slices.Equal(goals, []string{"go"}) || o.state(tasks.ID(id)).Outcome != planner.Pending {
		t.Errorf("tasks = %q", goals)
	}
}

// TestTitlesQuoteNobody: the title of a question leaves out its quotations of
// others.
func TestTitlesQuoteNobody(t *testing.T) {
	o := newEnv(t)
	o.opens("ann", private("ann"), "> What is 11*11?\n> And 12*12?\nanswer that")
	if got := o.say("ann", private("ann"), "/status"); !strings.Contains(got, "answer that") || strings.Contains(got, "11*11") {
		t.Errorf("/status = %q, want the question without what it quotes", got)
	}
	o.opens("bob", private("bob"), "> only a quotation")
	if got := o.say("bob", private("bob"), "/status"); !strings.Contains(got, "only a quotation") {
		t.Errorf("/status = %q, want the quotation where there is nothing else", got)
	}
}

// TestHelpInThePage: the help in the page names neither replies to a message nor the
// link to the page.
func TestHelpInThePage(t *testing.T) {
	o := newEnv(t)
	got := inbox.HelpText(o.inbox, "en", bot.Chat{Platform: tasks.PlatformWeb, ID: "c1", Private: true})
	if !strings.Contains(got, "you can add to it: just write.") || strings.Contains(got, "/console") || !strings.Contains(got, "`/settings`") {
		t.Errorf("the help in the page is %q", got)
	}
}
