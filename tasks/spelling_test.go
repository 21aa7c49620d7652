package tasks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"legwork/bot"
	"legwork/i18n"
	"legwork/tasks"
	"legwork/tasks/commands"
	"legwork/tasks/inbox"
)

// desktop is a phone whose commands have a form of their own.
type desktop struct{ *phone }

func (desktop) Spell(to bot.Chat, name string) string {
	if to.Thread != "" {
		return "!" + name
	}
	return "/lw " + name
}

// TestSpelling: texts name the commands that work where they are read.
func TestSpelling(t *testing.T) {
	o := newEnv(t)
	o.inbox.Chats = tasks.Chats{"phone": desktop{o.phone}}
	thread := room("hall")
	thread.Thread = "7"
	for _, c := range []struct {
		in         bot.Chat
		text, want string
	}{
		{private("ann"), "/timezone", "write /lw timezone and a city"},
		{private("ann"), "/forget", "write `/lw forget yes`"},
		{private("ann"), "/statsu", "There is no command /lw statsu. Did you mean /lw status? /lw help lists"},
		{private("ann"), "/task", "Add your question after /lw task, for example: /lw task compare"},
		{thread, "/help", "`!plan TEXT`"},
		{private("zoe"), "hello", "the list"},
	} {
		if got := o.say(c.in.ID, c.in, c.text); !strings.Contains(got, c.want) {
			t.Errorf("%q is answered %q, want it to hold %q", c.text, got, c.want)
		}
	}
	for _, language := range i18n.Languages() {
		for _, name := range commands.Names() {
			m := o.by("ann", private("ann"), "/help")
			m.Language = language.Code
			if got := o.send(m).text(); strings.Contains(got, "`/"+name) || name != "start" && !strings.Contains(got, "/lw "+name) {
				t.Errorf("help in %s does not name /lw %s: %q", language.Code, name, got)
			}
		}
	}
}

// TestSpellingKeepsTheRest: paths and addresses are no commands.
func TestSpellingKeepsTheRest(t *testing.T) {
	o := newEnv(t)
	o.inbox.Chats = tasks.Chats{"phone": desktop{o.phone}}
	for _, name := range []string{"https://x.example/help", "a/help", "/helper", "/usr/help", "x/../help"} {
		if got := o.say("ann", private("ann"), "/timezone "+name); !strings.Contains(got, "/help") || strings.Contains(got, "/lw") {
			t.Errorf("%q is repeated as %q", name, got)
		}
	}
}

// TestSettledButtons: what a press has settled stands in place of the buttons.
func TestSettledButtons(t *testing.T) {
	for _, c := range []struct {
		label, want string
		begin       func(o *env) (chat bot.Chat, person string, h heard)
	}{
		{"button.undo", "notice.undone", guides},
		{"button.separate", "notice.separate", guides},
		{"button.keep", "notice.kept", forgets},
		{"button.forget", "notice.forgotten", forgets},
		{"button.allow", "notice.allowed", visits},
		{"button.only_here", "notice.allowed_here", visits},
		{"button.ignore", "notice.ignored", visits},
	} {
		t.Run(c.label, func(t *testing.T) {
			o := newEnv(t)
			chat, person, h := c.begin(o)
			m := o.press(person, chat, h.data(t, o.text(c.label, nil)))
			m.ID = "asked"
			o.send(m)
			want := fmt.Sprintf("%s asked: %s []", chat.Key(), o.text(c.want, map[string]any{"Name": "EVE", "Count": 0, "Text": ""}))
			if got := o.phone.edited(); len(got) != 1 || got[0] != want {
				t.Errorf("edits: %q, want %q", got, want)
			}
		})
	}
}

// TestRefusedPressSettlesNothing: the buttons are still there for those whom
// they are for.
func TestRefusedPressSettlesNothing(t *testing.T) {
	o := newEnv(t)
	_, _, h := visits(o)
	m := o.press("ann", room("hall"), h.data(t, o.text("button.allow", nil)))
	m.ID = "asked"
	o.send(m)
	if got := o.phone.edited(); len(got) > 0 {
		t.Errorf("edits: %q, want none", got)
	}
}

func guides(o *env) (bot.Chat, string, heard) {
	me := private("ann")
	o.plans(o.opens("ann", me, "go"))
	o.pass(inbox.ClaimTime)
	return me, "ann", o.send(o.by("ann", me, "also this"))
}

func forgets(o *env) (bot.Chat, string, heard) {
	return private("ann"), "ann", o.send(o.by("ann", private("ann"), "/forget"))
}

func visits(o *env) (bot.Chat, string, heard) {
	o.say("eve", private("eve"), "hello")
	return private("boss"), "boss", o.send(o.press("eve", private("eve"), "g:ask"))
}

// edited draws the edits so far.
func (p *phone) edited() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []string
	for _, e := range p.edits {
		all = append(all, fmt.Sprintf("%s %s: %s %v", e.Chat.Key(), e.ID, e.Text, e.Buttons))
	}
	return all
}

// TestSettledElsewhere: a message that is gone is no problem.
func TestSettledElsewhere(t *testing.T) {
	o := newEnv(t)
	o.inbox.Chats = tasks.Chats{"phone": deaf{o.phone}}
	_, _, h := guides(o)
	if got := o.send(o.press("ann", private("ann"), h.data(t, o.text("button.undo", nil)))); got.text() != o.text("notice.undone", nil) {
		t.Errorf("Undo was answered %q", got.text())
	}
}

// TestSettledOnce: where an answer to a press would stay in the chat, it is read
// in place of the buttons alone, and as an answer only if that fails.
func TestSettledOnce(t *testing.T) {
	for _, c := range []struct {
		name    string
		on      func(*phone) bot.Platform
		answers int
	}{
		{"shown", func(p *phone) bot.Platform { return staying{p} }, 0},
		{"gone", func(p *phone) bot.Platform { return staying{deaf{p}} }, 1},
	} {
		o := newEnv(t)
		_, _, h := guides(o)
		o.inbox.Chats = tasks.Chats{"phone": c.on(o.phone)}
		got := o.send(o.press("ann", private("ann"), h.data(t, o.text("button.undo", nil))))
		if n := strings.Count(got.text(), o.text("notice.undone", nil)); n != c.answers || len(got.posts) > 0 {
			t.Errorf("%s: answered %+v, want %d answers", c.name, got, c.answers)
		}
	}
}

// answering is what the inbox asks of a phone.
type answering interface {
	bot.Platform
	bot.Answerer
}

// staying is a platform whose answers to presses stay in the chat.
type staying struct{ answering }

func (staying) Limits() bot.Limits { return bot.Limits{Edits: true} }

// deaf is a phone whose messages are gone when they are to be changed.
type deaf struct{ *phone }

func (deaf) Edit(context.Context, bot.Chat, string, bot.Draft) error { return bot.ErrGone }
