package engine_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/internal/form"
	"legwork/llm"
	"legwork/planner"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/enginetest"
	"legwork/tools"
)

// reminders returns the reminders in the chat.
func (m *messenger) reminders(env *enginetest.Env) (list []bot.Draft) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, d := range m.chat {
		if isReminder(env, d) {
			list = append(list, d)
		}
	}
	return list
}

// card returns the message that asks the question, and its id.
func (m *messenger) card(t *testing.T) (id string, d bot.Draft) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.chat, func(d bot.Draft) bool { return d.Kind == bot.KindQuestion })
	if i < 0 {
		t.Fatal("the chat has no question")
	}
	return strconv.Itoa(i + 1), m.chat[i]
}

func isReminder(env *enginetest.Env, d bot.Draft) bool {
	return d.Kind == bot.KindNotice && strings.HasPrefix(d.Text, env.Texts.Text("en", "approval.again", map[string]any{"Tool": ""}))
}

// wait starts an engine again, with a call that needs an approval.
func wait(t *testing.T, env *enginetest.Env, expire time.Duration) {
	t.Helper()
	waitFor(t, env, expire, tools.Verdict{Ask: true}, calling("book", "{}"))
}

// waitFor starts an engine again, with a model and a verdict about all calls.
func waitFor(t *testing.T, env *enginetest.Env, expire time.Duration, verdict tools.Verdict, model func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)) {
	t.Helper()
	env.Stop()
	env.Expire = expire
	env.Tools.Judge = func(string, string) tools.Verdict { return verdict }
	env.Model.Answer = model
	env.Use(env.Store)
	env.Start(build)
	env.Ask(t, enginetest.Message("1", "book it", time.Now()))
}

// calling is a model whose only sub-task makes one call and tells its result.
func calling(name, arguments string) func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error) {
	return func(_ context.Context, r llm.Request, _ func(llm.Delta)) (llm.Reply, error) {
		switch last := r.Messages[len(r.Messages)-1]; {
		case r.Role == llm.RolePlan:
			return llm.Reply{Text: `{"plan":[{"name":"book","description":"one"}]}`}, nil
		case r.Role == llm.RoleWork && last.Role != llm.ToolRole:
			return llm.Reply{ToolCalls: []llm.ToolCall{{ID: "c", Name: name, Arguments: arguments}}}, nil
		default:
			return llm.Reply{Text: "done: " + last.Content}, nil
		}
	}
}

// restart ends the process and starts another one.
func restart(env *enginetest.Env) {
	env.Stop()
	env.Use(env.Store)
	env.Start(build)
}

// TestReminder: people are reminded once of a question that has waited for a day, in a
// reply to its card, also over restarts.
func TestReminder(t *testing.T) {
	which := form.Question{Message: "Which?", Fields: []form.Field{{Name: "colour"}, {Name: "size"}}}
	for name, c := range map[string]struct {
		names string
		judge tools.Verdict
		model func(context.Context, llm.Request, func(llm.Delta)) (llm.Reply, error)
	}{
		"approval":   {"`book.it`", tools.Verdict{Ask: true}, calling("book", "{}")},
		"form":       {"a question of the server `book`", tools.Verdict{}, calling("book", "{}")},
		"ask_person": {"a question", tools.Verdict{}, calling(planner.ToolAskPerson, `{"question":"Which?"}`)},
		"review":     {"a review of the shared state", tools.Verdict{}, calling(planner.ToolUpdateState, `{"values":{"status":"NEEDS_HUMAN_REVIEW"}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
				env.Tools.Serve = func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{Question: &which}, nil }
				asked := time.Now()
				waitFor(t, env, 72*time.Hour, c.judge, c.model)
				pass(24*time.Hour - time.Minute)
				if got := m.reminders(env); len(got) > 0 {
					t.Fatalf("after less than a day the chat has %+v", got)
				}
				restart(env)
				pass(2 * time.Minute)
				got := m.reminders(env)
				if len(got) != 1 {
					t.Fatalf("%d reminders after a day, want one\n%s", len(got), m.picture())
				}
				card, _ := m.card(t)
				if d := got[0]; !strings.Contains(d.Text, ": "+c.names+"\n") || !strings.Contains(d.Text, asked.Add(72*time.Hour).UTC().Format("2006-01-02 15:04")) || d.ReplyTo != card {
					t.Errorf("the reminder is %+v, want %s, the expiry, and a reply to the card", d, c.names)
				}
				restart(env)
				pass(47 * time.Hour)
				if got := m.reminders(env); len(got) != 1 {
					t.Errorf("%d reminders in all, want one\n%s", len(got), m.picture())
				}
			})
		})
	}
}

// TestNoReminder: a question that expires soon, or has its decision, has no reminder.
func TestNoReminder(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		wait(t, env, 25*time.Hour)
		pass(26 * time.Hour)
		if got := m.reminders(env); len(got) > 0 {
			t.Errorf("an hour before the expiry, the chat has %+v", got)
		}
	})
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		wait(t, env, 72*time.Hour)
		pass(23 * time.Hour)
		_, card := m.card(t)
		press := enginetest.Message("2", "", time.Now())
		press.Kind, press.Data = bot.MessagePress, card.Buttons[0].Data
		env.Ask(t, press)
		pass(24 * time.Hour)
		if got := m.reminders(env); len(got) > 0 || len(env.Tools.Calls()) != 1 {
			t.Errorf("after the decision, the chat has %+v; calls %q", got, env.Tools.Calls())
		}
	})
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		wait(t, env, 72*time.Hour)
		pass(time.Hour)
		env.Stop()
		pass(70*time.Hour + 30*time.Minute) // until half an hour before the expiry
		env.Use(env.Store)
		env.Start(build)
		pass(time.Hour)
		if got := m.reminders(env); len(got) > 0 {
			t.Errorf("shortly before the expiry, the chat has %+v", got)
		}
	})
}

// TestReminderOverACrash: a reminder is in the chat once if the process ends while it
// is sent.
func TestReminderOverACrash(t *testing.T) {
	for _, at := range []planner.EventType{planner.SendStarted, planner.Sent} {
		for name, after := range map[string]bool{"before": false, "after": true} {
			t.Run(name+" "+string(at)+" is stored", func(t *testing.T) {
				converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
					store := env.Store.(*memory.Store)
					crashed := make(chan struct{})
					var once sync.Once
					env.Store = &ending{store, func() { once.Do(func() { store = store.Reopen(); close(crashed) }) }, after, func(e planner.Event) bool {
						return e.Type == at && strings.HasPrefix(e.Slot, "again ")
					}}
					wait(t, env, 72*time.Hour)
					<-crashed
					env.Stop()
					env.Use(store)
					env.Start(build)
					pass(time.Hour)
					restart(env)
					pass(time.Hour)
					if got := m.reminders(env); len(got) != 1 {
						t.Errorf("%d reminders, want one\n%s", len(got), m.picture())
					}
				})
			})
		}
	}
}

// TestReminderWaitsForTheChat: a reminder comes when the chat can be reached again, and
// a reply to it answers the question.
func TestReminderWaitsForTheChat(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		waitFor(t, env, 72*time.Hour, tools.Verdict{}, calling(planner.ToolAskPerson, `{"question":"Which?"}`))
		pass(time.Hour)
		m.from(func(_ bool, d bot.Draft) error {
			if isReminder(env, d) {
				return context.DeadlineExceeded
			}
			return nil
		})
		pass(25 * time.Hour)
		m.from(nil)
		pass(time.Hour)
		if got := m.reminders(env); len(got) != 1 {
			t.Fatalf("%d reminders, want one\n%s", len(got), m.picture())
		}
		m.mu.Lock()
		reminder := len(m.chat)
		m.mu.Unlock()
		reply := enginetest.Message("2", "red", time.Now())
		reply.ReplyTo = strconv.Itoa(reminder)
		env.Ask(t, reply)
		pass(time.Minute)
		if got := m.picture(); !strings.Contains(got, "answer: done: ") || !strings.Contains(got, "red") {
			t.Errorf("the chat is\n%s", got)
		}
	})
}

// directed is a messenger on which the bot can write to people first.
type directed struct {
	*messenger
	sentTo []string // the chat of each message
}

func (d *directed) Direct(_ context.Context, person string) (bot.Chat, error) {
	return bot.Chat{Platform: enginetest.Chat.Platform, ID: "private " + person, Private: true}, nil
}

func (d *directed) Post(ctx context.Context, to bot.Chat, draft bot.Draft) (string, error) {
	id, err := d.messenger.Post(ctx, to, draft)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sentTo = append(d.sentTo, to.ID)
	return id, err
}

// TestPrivateReminder: the reminder of a card in a private chat is in that chat.
func TestPrivateReminder(t *testing.T) {
	converse(t, func(t *testing.T, env *enginetest.Env, m *messenger) {
		d := &directed{messenger: m}
		env.Chats = tasks.Chats{m.Name(): d}
		env.Stop()
		env.Expire = 72 * time.Hour
		env.Tools.Judge = func(string, string) tools.Verdict { return tools.Verdict{Ask: true} }
		env.Model.Answer = calling("book", "{}")
		private := func() {
			env.Use(env.Store)
			env.Presenters.Use(tasks.PromptRules{Approvals: tasks.Approvals{Expire: env.Expire, Private: true}})
			env.Start(build)
		}
		private()
		message := enginetest.Message("1", "book it", time.Now())
		message.Chat = bot.Chat{Platform: enginetest.Chat.Platform, ID: "hall"}
		env.Ask(t, message)
		pass(25 * time.Hour)
		env.Stop()
		private()
		pass(time.Hour)
		got := m.reminders(env)
		if card, _ := m.card(t); len(got) != 1 || got[0].ReplyTo != card {
			t.Fatalf("the reminders are %+v\n%s", got, m.picture())
		}
		if last := d.sentTo[len(d.sentTo)-1]; last != "private ann" {
			t.Errorf("the reminder is in %q", last)
		}
	})
}

// TestReminderInATerminal: where messages do not last, the reminder is a notice, once.
func TestReminderInATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := enginetest.NewEnv(t, memory.New(nil))
		env.Start(build)
		defer func() { env.Stop() }()
		synctest.Wait()
		wait(t, env, 72*time.Hour)
		pass(25 * time.Hour)
		restart(env)
		pass(2 * time.Hour)
		n := 0
		for _, p := range env.Platform.Posts(bot.KindNotice) {
			if isReminder(env, p.Draft) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d reminders, want one: %+v", n, env.Platform.Posts(bot.KindNotice))
		}
	})
}
