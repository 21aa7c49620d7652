package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/tasks"
	"legwork/tasks/commands"
	"legwork/tasks/enginetest"
)

// schedules lists the schedules of the store.
func (o *env) schedules() []tasks.Schedule {
	o.t.Helper()
	list, err := o.store.Schedules(o.t.Context(), "")
	if err != nil {
		o.t.Fatal(err)
	}
	return list
}

// presses presses a button of the newest message that has one of that label, and
// returns what is said and what the message is from then on.
func (o *env) presses(person string, in bot.Chat, label string) (heard, enginetest.Post) {
	o.t.Helper()
	m, edits := o.press(person, in, o.button(label)), len(o.phone.edits)
	h := o.send(m)
	o.phone.mu.Lock()
	defer o.phone.mu.Unlock()
	if len(o.phone.edits) == edits {
		return h, enginetest.Post{}
	}
	return h, o.phone.edits[len(o.phone.edits)-1]
}

// button is the data of the newest button of that label.
func (o *env) button(label string) string {
	o.t.Helper()
	o.phone.mu.Lock()
	defer o.phone.mu.Unlock()
	for _, posts := range [][]enginetest.Post{o.phone.edits, o.phone.posts} {
		for _, p := range slices.Backward(posts) {
			for _, b := range p.Buttons {
				if b.Label == label {
					return b.Data
				}
			}
		}
	}
	o.t.Fatalf("there is no button %q", label)
	return ""
}

func labels(p enginetest.Post) string {
	var all []string
	for _, b := range p.Buttons {
		all = append(all, b.Label)
	}
	return strings.Join(all, " | ")
}

// TestScheduleByButtons: a schedule is made, listed, paused, resumed, run and
// deleted with buttons. The message of each press shows the new state.
func TestScheduleByButtons(t *testing.T) {
	o := newEnv(t)
	chat := private("ann")
	o.say("ann", chat, "/timezone Europe/Berlin")
	made := o.send(o.by("ann", chat, "/schedule every weekday 9:00 sum up the *news*")).notice(t)
	want := "Scheduled.\n\nEvery weekday at 09:00 (Europe/Berlin): sum up the \\*news\\*\n- next: Monday, 2026-11-23 09:00\n- owner: ANN"
	if made.Text != want || labels(made) != "Pause | Run now | Delete | All schedules" {
		t.Errorf("said %q with %s, want %q", made.Text, labels(made), want)
	}
	h, list := o.presses("ann", chat, "All schedules")
	if h.text() != "" || !strings.Contains(list.Text, "1. Every weekday at 09:00: sum up the \\*news\\* · next: Monday, 2026-11-23 09:00") || labels(list) != "1" {
		t.Errorf("the list is %q with %s, and %q is said", list.Text, labels(list), h.text())
	}
	_, card := o.presses("ann", chat, "1")
	if !strings.HasPrefix(card.Text, "Every weekday at 09:00") {
		t.Errorf("the card is %q", card.Text)
	}
	h, card = o.presses("ann", chat, "Pause")
	if h.text() != "Paused." || !strings.Contains(card.Text, "- paused") || labels(card) != "Resume | Run now | Delete | All schedules" || !o.schedules()[0].Paused {
		t.Errorf("after Pause: %q, card %q with %s", h.text(), card.Text, labels(card))
	}
	h, card = o.presses("ann", chat, "Resume")
	if h.text() != "Resumed." || !strings.Contains(card.Text, "next: Monday, 2026-11-23 09:00") || o.schedules()[0].Paused {
		t.Errorf("after Resume: %q, card %q", h.text(), card.Text)
	}
	h, _ = o.presses("ann", chat, "Run now")
	live := o.live(chat)
	if h.text() != "It runs now." || len(live) != 1 || o.schedules()[0].LastTask != live[0] {
		t.Fatalf("after Run now: %q, tasks %v", h.text(), live)
	}
	opening := o.event(live[0], 1).Opening
	if opening.Goal != "sum up the *news*" || opening.Message != "" || opening.Timezone != "Europe/Berlin" || opening.Intro != "_Scheduled, run now: Every weekday at 09:00_ · **sum up the \\*news\\***" {
		t.Errorf("the task begins with %+v", opening)
	}
	if h, _ := o.presses("ann", chat, "Run now"); !strings.Contains(h.text(), "still going") || len(o.live(chat)) != 1 {
		t.Errorf("a second Run now says %q", h.text())
	}
	o.ends(live[0], "news")
	_, asked := o.presses("ann", chat, "Delete")
	if !strings.HasPrefix(asked.Text, "Delete this schedule?") || labels(asked) != "Delete | Keep" {
		t.Fatalf("Delete asks %q with %s", asked.Text, labels(asked))
	}
	if _, card = o.presses("ann", chat, "Keep"); !strings.Contains(card.Text, "last: Friday, 2026-11-20 13:00, Done") || len(o.schedules()) != 1 {
		t.Errorf("after Keep the card is %q", card.Text)
	}
	o.presses("ann", chat, "Delete")
	h, gone := o.presses("ann", chat, "Delete")
	if !strings.HasPrefix(gone.Text, "Deleted: Every weekday at 09:00") || labels(gone) != "" || len(o.schedules()) != 0 {
		t.Errorf("after the second Delete: %q, and the message is %q", h.text(), gone.Text)
	}
	m := o.press("ann", chat, o.button("Pause"))
	if got := o.send(m).text(); got != o.text("error.schedule_gone", nil) {
		t.Errorf("pausing one that is gone says %q", got)
	}
}

// TestScheduleByWords: commands can do everything that buttons do.
func TestScheduleByWords(t *testing.T) {
	o := newEnv(t)
	chat := room("hall")
	for _, c := range []struct{ text, want string }{
		{"/schedule", "There are no schedules here."},
		{"/schedule every day at 9 look", "Every day at 09:00 (UTC): look"},
		{"/schedule every other day at 9 look", "Every 2 days at 09:00 (UTC): look"},
		{"/schedule list", "2. Every 2 days at 09:00: look · next: Saturday, 2026-11-21 09:00"},
		{"/timezone Tokyo", "Asia/Tokyo"},
		{"/schedule list", "2. Every 2 days at 09:00 (UTC): look · next: Saturday, 2026-11-21 18:00"},
		{"/timezone UTC", "UTC"},
		{"/schedule pause 2", "Paused."},
		{"/schedule list", "look · paused"},
		{"/schedule resume 2", "Resumed."},
		{"/schedule run 1", "It runs now."},
		{"/schedule run 1", "still going"},
		{"/schedule show 1", "last: Friday, 2026-11-20 12:00, Planning"},
		{"/schedule delete 3", "There is no schedule with that number here."},
		{"/schedule pause", "There is no schedule with that number here."},
		{"/schedule delete 2", "`/schedule delete 2 yes`"},
		{"/schedule delete 2 yes", "Deleted: Every 2 days at 09:00: look"},
		{"/schedule run every day", "I found no time"},
		{"/schedule every day at 9", "what should I do then?"},
		{"/schedule every day look", "has no time of day"},
		{"/schedule 99 9 * * * look", "The cron field minute (0 to 59) cannot be"},
		{"/schedule next sunday 9:00 rest", "may mean several days: 2026-11-22, 2026-11-29."},
		{"/schedule 2026-11-01 9:00 look", "is in the past"},
	} {
		if got := o.send(o.by("ann", chat, c.text)).words(); !strings.Contains(got, c.want) {
			t.Errorf("%s says %q, want %q", c.text, got, c.want)
		}
	}
	if n := len(o.schedules()); n != 1 {
		t.Errorf("%d schedules are left, want 1", n)
	}
}

// TestWhoChangesSchedules: the person who made a schedule and admins can change it;
// everybody can see it.
func TestWhoChangesSchedules(t *testing.T) {
	o := newEnv(t)
	chat := room("hall")
	o.say("ann", chat, "/schedule every day at 9 look")
	for _, verb := range []string{"pause", "run", "delete", "resume"} {
		if got := o.say("bob", chat, "/schedule "+verb+" 1"); got != o.text("error.not_your_schedule", nil) {
			t.Errorf("to another one's %s it says %q", verb, got)
		}
	}
	if got := o.send(o.press("bob", chat, o.button("Pause"))).text(); got != o.text("error.not_your_schedule", nil) || o.schedules()[0].Paused {
		t.Errorf("to another one's press it says %q", got)
	}
	card := o.send(o.by("bob", chat, "/schedule show 1")).notice(t)
	if !strings.Contains(card.Text, "owner: ANN") || labels(card) != "All schedules" {
		t.Errorf("another one sees %q with %s", card.Text, labels(card))
	}
	if got := o.say("boss", chat, "/schedule pause 1"); !strings.Contains(got, "Paused.") {
		t.Errorf("to an admin it says %q", got)
	}
	if got := o.say("ann", private("ann"), "/schedule pause 1"); got != o.text("error.no_schedule", nil) {
		t.Errorf("in another chat it says %q", got)
	}
}

// TestScheduleOfAThread: one that was made in a thread answers there, and is
// listed in all of the chat.
func TestScheduleOfAThread(t *testing.T) {
	o := newEnv(t)
	thread := bot.Chat{Platform: "phone", ID: "hall", Thread: "7"}
	o.say("ann", thread, "/schedule every day at 9 look")
	if got := o.say("ann", room("hall"), "/schedule"); !strings.Contains(got, "· elsewhere in this chat") || strings.Contains(got, "phone:") {
		t.Errorf("the list of the chat is %q", got)
	}
	o.say("ann", room("hall"), "/schedule run 1")
	if live := o.live(thread); len(live) != 1 {
		t.Errorf("the thread has the tasks %v, want one", live)
	}
}

// TestManySchedules: the number of schedules of a chat is limited, without those
// that have no further run.
func TestManySchedules(t *testing.T) {
	o := newEnv(t)
	chat := private("ann")
	for i := range commands.MaxSchedules {
		o.say("ann", chat, fmt.Sprintf("/schedule every %d hours look", i+1))
	}
	if got := o.say("ann", chat, "/schedule every day at 9 look"); got != o.text("error.many_schedules", map[string]any{"Count": commands.MaxSchedules}) {
		t.Errorf("one too many says %q", got)
	}
	list := o.send(o.by("ann", chat, "/schedule")).notice(t)
	if strings.Count(list.Text, "next: ") != commands.MaxSchedules || len(list.Buttons) != commands.MaxSchedules {
		t.Errorf("the list has %d entries and %d buttons", strings.Count(list.Text, "next: "), len(list.Buttons))
	}
	o.say("ann", chat, "/schedule delete 1 yes")
	if got := o.say("ann", chat, "/schedule every day at 9 look"); !strings.HasPrefix(got, "Scheduled.") {
		t.Errorf("with room again it says %q", got)
	}
	for i := range commands.MaxAllSchedules {
		hall := bot.Chat{Platform: "phone", ID: "hall", Thread: fmt.Sprint(i)}
		if err := o.store.PutSchedule(t.Context(), tasks.Schedule{ID: fmt.Sprint(i), Chat: hall, Next: o.clock(), Timezone: "UTC", Spec: "cron 0 9 * * *"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := o.say("bob", private("bob"), "/schedule every day at 9 look"); got != o.text("error.all_schedules", map[string]any{"Count": commands.MaxAllSchedules}) {
		t.Errorf("one too many of all says %q", got)
	}
}

// TestScheduleLanguages: texts about times are in the person's language, whatever
// language the times were written in.
func TestScheduleLanguages(t *testing.T) {
	specs := []string{
		"every weekday 9:00", "weekends 10:00", "по понедельникам и четвергам в 18:30", "每月1号8:00", "каждый год 24 декабря в 18:00",
		"every 2 hours", "every minute", "every 3 days at 7:00", "on the last day of every month at 20:00", "*/5 8-18 * * *", "tomorrow 9:00", "every day at 9:00 and 17:30", "every first monday of the month at 8:00", "every last friday at 8:00",
	}
	want := map[string][]string{
		"en": {
			"Every weekday at 09:00", "Every Saturday and Sunday at 10:00", "Every Monday, Thursday at 18:30", "On day 1 of every month at 08:00", "Every year on 24 December at 18:00",
			"Every 2 hours", "Every minute", "Every 3 days at 07:00", "On the last day of every month at 20:00", "Cron expression `*/5 8-18 * * *`", "Once, Saturday, 2026-11-21 09:00", "Every day at 09:00, 17:30", "On the first Monday of every month at 08:00", "On the last Friday of every month at 08:00",
		},
		"ru": {
			"По будням в 09:00", "По субботам и воскресеньям в 10:00", "По понедельникам, четвергам в 18:30", "1 числа каждого месяца в 08:00", "Каждый год 24 декабря в 18:00",
			"Каждые 2 часа", "Каждую 1 минуту", "Каждые 3 дня в 07:00", "В последний день каждого месяца в 20:00", "Выражение cron `*/5 8-18 * * *`", "Один раз, ", "Каждый день в 09:00, 17:30", "По понедельникам (1-й раз в месяце) в 08:00", "По пятницам (последний раз в месяце) в 08:00",
		},
		"zh": {
			"每个工作日 09:00", "每周六、周日 10:00", "每逢周一、周四 18:30", "每月 1 日 08:00", "每年12月24日 18:00",
			"每 2 小时", "每 1 分钟", "每 3 天 07:00", "每月最后一天 20:00", "cron 表达式 `*/5 8-18 * * *`", "一次，", "每天 09:00、17:30", "每月第一个周一 08:00", "每月最后一个周五 08:00",
		},
	}
	for lang, words := range want {
		o := newEnv(t)
		o.say("ann", private("ann"), "/lang "+lang)
		for i, spec := range specs {
			if got := o.say("ann", private("ann"), "/schedule "+spec+" GOAL"); !strings.Contains(got, words[i]) || !strings.Contains(got, "GOAL") {
				t.Errorf("in %s, %q is read back as %q, want %q", lang, spec, got, words[i])
			}
		}
		if got := o.say("ann", private("ann"), "/schedule whenever GOAL"); strings.Contains(got, "schedule.") || !strings.Contains(got, "/schedule") {
			t.Errorf("in %s, what is not understood says %q", lang, got)
		}
	}
}

// TestScheduleAgainDelivered: a message that is delivered again makes no second
// schedule and runs nothing twice.
func TestScheduleAgainDelivered(t *testing.T) {
	o := newEnv(t)
	make1 := o.by("ann", private("ann"), "/schedule every day at 9 look")
	o.send(make1)
	if got := o.send(make1).text(); got != "" || len(o.schedules()) != 1 {
		t.Errorf("delivered again it says %q; there are %d schedules", got, len(o.schedules()))
	}
	run := o.by("ann", private("ann"), "/schedule run 1")
	o.send(run)
	id := o.live(private("ann"))[0]
	o.ends(id, "done")
	o.send(run)
	if live := o.live(private("ann")); len(live) != 0 {
		t.Errorf("delivered again it opened %v", live)
	}
}
