package e2e_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/telegramfake"
	"legwork/store/bolt"
	"legwork/tasks/commands"
)

// TestTelegramCommands: what each command answers in a private chat and, with
// the bot's name, in a group.
func TestTelegramCommands(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 20})
	b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob))
	tested := map[string]bool{"stop": true, "plan": true, "forget": true, "model": true, "console": true} // the latter elsewhere
	for _, c := range []struct {
		write string
		want  []string
	}{
		{"/start", []string{b.says("notice.start", nil), "/timezone CITY"}},
		{"/help", []string{"/task TEXT: ask a separate question", "/forget"}},
		{"/history", []string{b.says("history.none", nil)}},
		{"/retry", []string{b.says("error.nothing_to_retry", nil)}},
		{"/status", []string{b.says("statusline.none", nil)}},
		{"/stop", []string{b.says("error.nothing_running", nil)}},
		{"/task", []string{b.says("error.empty_task", map[string]any{"Command": "/task"})}},
		{"/plan", []string{b.says("error.empty_task", map[string]any{"Command": "/plan"})}},
		{"/task q1: hello", []string{"[q1] answers: q1: hello"}},
		{"/retry", []string{"[q1] answers: q1: hello"}},
		{"/history", []string{"q1: hello → [q1] answers: q1: hello"}},
		{"/new", []string{b.says("notice.new", nil)}},
		{"/groups", []string{b.says("groups.intro", nil), "desk: Looks things up.", "safe"}},
		{"/approvals", []string{b.says("approvals.none", nil)}},
		{"/prompt", []string{b.says("prompts.none", nil)}},
		{"/schedule", []string{b.says("schedule.none", nil), "every weekday 9:00"}},
		{"/usage", []string{"today"}},
		{"/pause", []string{b.says("error.admin_needed", nil)}},
		{"/resume", []string{b.says("error.admin_needed", nil)}},
		{"/lang", []string{"English", "en, zh, ru"}},
		{"/lang tlh", []string{b.says("error.no_language", map[string]any{"Allowed": "en, zh, ru"})}},
		{"/timezone", []string{"UTC"}},
		{"/timezone Nowhereville", []string{"There is no time zone or city called Nowhereville"}},
		{"/timezone Tokyo", []string{"Asia/Tokyo"}},
		{"/connections", []string{b.says("error.no_sign_ins", nil)}},
		{"/connect crm", []string{b.says("error.no_sign_ins", nil)}},
		{"/settings", []string{"Language: English", "Time zone: Asia/Tokyo"}},
		{"/helb", []string{b.says("error.unknown_command", map[string]any{"Command": "/helb", "Near": "/help"})}},
		{"/xyzzy", []string{b.says("error.unknown_command", map[string]any{"Command": "/xyzzy", "Near": ""})}},
	} {
		name, rest, _ := strings.Cut(c.write, " ")
		tested[name[1:]] = true
		for chat, text := range map[int64]string{b.bob.ID: c.write, group: strings.TrimSpace(name + "@legwork_bot " + rest)} {
			id := b.Say(chat, b.bob, text)
			b.meets(chat, "the reply to "+text, func(m telegramfake.Message) bool { return m.ID > id && holdsAll(m.Text, c.want) })
		}
	}
	id := b.Say(b.bob.ID, b.bob, "/console")
	b.meets(b.bob.ID, "the reply to /console", func(m telegramfake.Message) bool {
		return m.ID > id && holdsAll(m.Text, []string{"Open this link in a browser", "/console/enter#"})
	})
	for _, name := range commands.Names() {
		if !tested[name] {
			t.Errorf("the command /%s is not tested", name)
		}
	}
}

// TestTelegramMenu: the menu of commands is there in each language.
func TestTelegramMenu(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	b.opens()
	b.until("the menus", func(v telegramfake.View) bool {
		n := 0
		for _, e := range v.Log() {
			if e.Method == "setMyCommands" && e.Done {
				n++
			}
		}
		return n == 4 // three languages and all others
	})
	for _, language := range []string{"en", "zh", "ru", ""} {
		menu := b.Server.Commands("default", language)
		if len(menu) != len(commands.Names()) {
			t.Errorf("the menu of %q has %d entries, want %d", language, len(menu), len(commands.Names()))
		}
		for i, c := range menu {
			base := language
			if base == "" {
				base = "en"
			}
			if want := b.texts.Text(base, "command."+c.Command, nil); c.Command != commands.Names()[i] || c.Description != want {
				t.Errorf("entry %d of the menu of %q is %+v, want %s: %s", i, language, c, commands.Names()[i], want)
			}
		}
	}
}

// TestTelegramLanguages: people are spoken to in the language of their app,
// unless they choose another one, each in their own.
func TestTelegramLanguages(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{access: `{telegram: {users: ["*"]}, admins: ["telegram:1"]}`})
	b.opens()
	wei, olga, hans := b.User(11, "Wei", "zh-hans"), b.User(12, "Olga", "ru"), b.User(13, "Hans", "de")
	for language, u := range map[string]telegramfake.User{"zh": wei, "ru": olga, "en": hans} {
		b.chats = append(b.chats, b.Private(u))
		b.Say(u.ID, u, "/status")
		b.sees(u.ID, b.texts.Text(language, "statusline.none", nil))
		b.Say(u.ID, u, "q1: say something")
		b.once(u.ID, "[q1] answers")
	}
	for _, script := range []*unicode.RangeTable{unicode.Han, unicode.Cyrillic} {
		if !slices.ContainsFunc(b.asked("q1: say something"), func(r llmfake.Request) bool {
			return strings.ContainsFunc(r.System(), func(c rune) bool { return unicode.Is(script, c) })
		}) {
			t.Errorf("no prompt is in the language of somebody who asked: %v", script.R16[0])
		}
	}
	b.Say(hans.ID, hans, "/lang")
	choose := b.offers(hans.ID, "Русский")
	if p := b.taps(hans, hans.ID, choose.ID, "Русский"); p.Text != b.texts.Text("ru", "notice.language", map[string]any{"Name": "Русский"}) {
		t.Errorf("the tap on Русский reads %q", p.Text)
	}
	b.Say(hans.ID, hans, "/status")
	b.sees(hans.ID, b.texts.Text("ru", "statusline.none", nil))
	b.Say(hans.ID, hans, "/plan q2: desk alpha")
	b.offers(hans.ID, b.texts.Text("ru", "button.run", nil), b.texts.Text("ru", "question.plan", nil))
	b.Say(wei.ID, wei, "/status")
	b.until("the second status in Chinese", func(v telegramfake.View) bool {
		n := 0
		for _, m := range v.Chat(wei.ID).Bots() {
			if m.Text == b.texts.Text("zh", "statusline.none", nil) {
				n++
			}
		}
		return n == 2
	})
}

// TestTelegramModel: a person chooses who answers, by name or by button, and
// the time zone goes with what they ask.
func TestTelegramModel(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{})
	b.configure(strings.Replace(b.config, "models:\n", "models:\n  spare: {base_url: \""+b.models.URL+"\", api_key: sk-secret-e2e, model: spare-one}\n", 1) + "roles: {plan: main, review: main, work: main, answer: main}\n")
	b.opens()
	b.Say(b.bob.ID, b.bob, "/model nonsense")
	choose := b.offers(b.bob.ID, "spare", b.says("error.no_model", map[string]any{"Allowed": "main, spare"}))
	b.taps(b.bob, b.bob.ID, choose.ID, "spare")
	b.Say(b.bob.ID, b.bob, "/timezone Tokyo")
	b.sees(b.bob.ID, "Asia/Tokyo")
	b.Say(b.bob.ID, b.bob, "q1: hello")
	b.once(b.bob.ID, "[q1] answers")
	b.Say(b.ann.ID, b.ann, "q2: hello")
	b.once(b.ann.ID, "[q2] answers")
	b.Say(b.bob.ID, b.bob, "/model default")
	b.sees(b.bob.ID, b.says("notice.model", map[string]any{"Name": "main (fake)"}))
	b.Say(b.bob.ID, b.bob, "q3: hello")
	b.once(b.bob.ID, "[q3] answers")
	for goal, model := range map[string]string{"q1: hello": "spare-one", "q2: hello": "fake", "q3: hello": "fake"} {
		for _, r := range b.models.Requests() {
			if got, _ := r.Tagged("goal"); got == goal && r.Model != model {
				t.Errorf("%q was answered by %s, want %s", goal, r.Model, model)
			}
		}
		if len(b.asked(goal)) == 0 {
			t.Errorf("no one was asked %q", goal)
		}
	}
	if asked := b.asked("q1: hello"); !strings.Contains(prompt(asked[0]), "Asia/Tokyo") {
		t.Errorf("the prompt does not name the time zone: %.3000s", prompt(asked[0]))
	}
}

// TestTelegramForget: after a confirmation nothing of what was said is left, in
// the chat's history, in later prompts, or in the data file.
func TestTelegramForget(t *testing.T) {
	t.Parallel()
	b := newTelegramEnv(t, telegramOptions{haste: 10})
	s := b.opens()
	group := b.group(b.Supergroup("Friends", b.ann, b.bob))
	b.Say(b.bob.ID, b.bob, "q1: my number is 4711-0815")
	b.once(b.bob.ID, "[q1] answers")
	b.Say(b.bob.ID, b.bob, "/forget")
	sure := b.offers(b.bob.ID, "Forget everything", "/forget yes")
	if p := b.taps(b.bob, b.bob.ID, sure.ID, "Keep"); p.Text != b.says("notice.kept", nil) {
		t.Errorf("Keep reads %q", p.Text)
	}
	b.Say(b.bob.ID, b.bob, "/history")
	b.sees(b.bob.ID, "4711", "→")
	b.Say(b.bob.ID, b.bob, "/forget")
	sure = b.offers(b.bob.ID, "Forget everything", "/forget yes")
	yes := sure.Button("Forget everything")
	b.taps(b.bob, b.bob.ID, sure.ID, yes)
	b.once(b.bob.ID, b.says("notice.forgotten", map[string]any{"Count": 1, "Text": ""}))
	b.Say(b.bob.ID, b.bob, "/history")
	b.once(b.bob.ID, b.says("history.none", nil))
	b.Say(b.bob.ID, b.bob, "q2: what was it?")
	b.once(b.bob.ID, "[q2] answers")
	if asked := b.asked("q2: what was it?"); strings.Contains(prompt(asked[0]), "4711") {
		t.Errorf("a prompt after it holds what was forgotten: %.2000s", prompt(asked[0]))
	}
	b.taps(b.bob, b.bob.ID, sure.ID, yes) // once more forgets nothing more
	b.Say(b.bob.ID, b.bob, "/history")
	b.sees(b.bob.ID, "q2: what was it?", "→")

	b.Say(group, b.bob, "/forget@legwork_bot")
	b.sees(group, b.says("error.admins_only", nil))
	b.Say(group, b.ann, "/forget@legwork_bot yes")
	b.once(group, b.says("notice.forgotten", map[string]any{"Count": 0, "Text": ""}))
	s.stops()
	if data, err := os.ReadFile(b.file("data/" + bolt.FileName)); err != nil || strings.Contains(string(data), "4711-0815") {
		t.Errorf("the data file still holds what was forgotten, or: %v", err)
	}
}
