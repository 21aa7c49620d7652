package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"legwork/bot"
	"legwork/bot/ratelimit"
	"legwork/bot/telegram"
	"legwork/internal/test/fakes/telegramfake"
)

// reaction is the bot's reaction to a message; empty for none.
func (r *env) reaction(chat int64, id int) string {
	for _, m := range r.fake.Chat(chat).Messages {
		if m.ID == id {
			return m.Reaction
		}
	}
	return ""
}

// TestTakenQuestions: a question in a group is marked while legwork works on it.
func TestTakenQuestions(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	chat := chatOf(team)
	asked := r.fake.Say(team, ann, "@legwork_bot what is it?")
	m := r.next()
	board := bot.Draft{Kind: bot.KindBoard, Task: "1", ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}}
	id := r.post(chat, board)
	r.until("the question is marked", func() bool { return r.reaction(team, asked) == "👀" })
	if err := r.tg.Edit(context.Background(), chat, id, board); err != nil {
		t.Fatal(err)
	}
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It", Partial: true})
	if got := r.reaction(team, asked); got != "👀" {
		t.Errorf("the mark is %q while the answer grows", got)
	}
	r.post(chat, bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It rains."})
	r.until("the mark is gone", func() bool { return r.reaction(team, asked) == "" })
	if n := r.count("setMessageReaction"); n != 2 {
		t.Errorf("%d reactions were set or removed, want 2", n)
	}
}

// TestRefusedReactions: a chat that forbids reactions is not asked again, and others
// are.
func TestRefusedReactions(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	team, other := r.fake.Group("Team", ann), r.fake.Group("Other", ann)
	r.fake.ForbidReactions(team)
	ask := func(chat int64) (asked int) {
		asked = r.fake.Say(chat, ann, "@legwork_bot what is it?")
		m := r.next()
		r.post(chatOf(chat), bot.Draft{Kind: bot.KindBoard, Task: m.ID, ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}})
		return asked
	}
	ask(team)
	r.until("the reaction is refused", func() bool { return r.count("setMessageReaction") == 1 })
	marked := ask(other)
	r.until("the question in the other group is marked", func() bool { return r.reaction(other, marked) == "👀" })
	ask(team)
	r.post(chatOf(team), bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: "1", Text: "It rains."})
	marked = ask(other)
	r.until("the next one is marked, too", func() bool { return r.reaction(other, marked) == "👀" })
	if n := r.count("setMessageReaction"); n != 3 {
		t.Errorf("Telegram was asked for %d reactions, want 3", n)
	}
}

// TestTypingEndsWithTheWork: the last change of a board shows no typing.
func TestTypingEndsWithTheWork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var mu sync.Mutex
	r := start(t, telegramfake.Options{NoLimits: true}, func(_ *telegram.Config, o *telegram.Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return now
		}
	})
	ann := r.fake.User(7, "Ann", "en")
	team := r.fake.Group("Team", ann)
	board := bot.Draft{Kind: bot.KindBoard, Task: "1", Partial: true, Board: &bot.Board{Status: "Planning"}}
	id := r.post(chatOf(team), board)
	r.until("typing is shown", func() bool { return r.count("sendChatAction") == 1 })
	change := func(status string, partial bool) {
		mu.Lock()
		now = now.Add(time.Minute)
		mu.Unlock()
		board.Board, board.Partial = &bot.Board{Status: status}, partial
		if err := r.tg.Edit(context.Background(), chatOf(team), id, board); err != nil {
			t.Fatal(err)
		}
	}
	change("Working", true)
	r.until("typing is shown while it works", func() bool { return r.count("sendChatAction") == 2 })
	change("Done", false)
	r.stop()
	if n := r.count("sendChatAction"); n != 2 {
		t.Errorf("typing was shown %d times, want 2: none at the end", n)
	}
}

// TestNoMarkBesideDrafts: in a private chat, the draft shows that the bot is at work.
func TestNoMarkBesideDrafts(t *testing.T) {
	t.Parallel()
	r := start(t, telegramfake.Options{NoLimits: true})
	ann := r.fake.User(7, "Ann", "en")
	dm := r.fake.Private(ann)
	r.fake.Say(dm, ann, "what is it?")
	m := r.next()
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindBoard, Task: "1", ReplyTo: m.ID, Partial: true, Board: &bot.Board{Status: "Planning"}})
	r.post(chatOf(dm), bot.Draft{Kind: bot.KindAnswer, Task: "1", ReplyTo: m.ID, Text: "It rains."})
	r.stop()
	if n := r.count("setMessageReaction"); n != 0 {
		t.Errorf("%d reactions in a private chat, want none", n)
	}
}

// busy is what Telegram answers to a call that it wants later.
func busy(after time.Duration) string {
	return fmt.Sprintf(`{"ok":false,"error_code":429,"description":"Too Many Requests: retry after %[1]d","parameters":{"retry_after":%[1]d}}`, int(after.Seconds()))
}

// TestBusySigns: Telegram wants no signs of a chat for a while. It gets none meanwhile,
// and other chats do.
func TestBusySigns(t *testing.T) {
	s := &script{}
	s.answer = func(method string, params map[string]string) (string, error) {
		if method == "sendChatAction" && params["chat_id"] == "-100" && len(s.of(method)) == 1 {
			return busy(time.Minute), nil
		}
		return usual(method, params)
	}
	limit := func() bot.RateLimiter { return ratelimit.New(ratelimit.Telegram()...) }
	bubbleWith(t, s, &inbox{}, limit, func(t *testing.T, tg *telegram.Telegram) {
		work := func(chat, id string) {
			d := bot.Draft{Kind: bot.KindBoard, Task: chat + id, Partial: true, Board: &bot.Board{Status: "Working"}}
			if err := tg.Edit(t.Context(), bot.Chat{Platform: "telegram", ID: chat}, id, d); err != nil {
				if _, later := errors.AsType[*bot.LaterError](err); !later {
					t.Error(err)
				}
			}
			synctest.Wait()
		}
		work("-100", "5")
		for range 5 {
			pass(10 * time.Second)
			work("-100", "5")
		}
		work("-200", "5")
		var chats []string
		for _, c := range s.of("sendChatAction") {
			chats = append(chats, c.params["chat_id"])
		}
		if want := []string{"-100", "-200"}; !slices.Equal(chats, want) {
			t.Errorf("typing was shown in %q, want %q", chats, want)
		}
		pass(20 * time.Second)
		work("-100", "5")
		if n := len(s.of("sendChatAction")); n != 3 {
			t.Errorf("typing was shown %d times, want 3: again after the wait", n)
		}
	})
}

// TestSlowSigns: a chat whose signs take long delays those of no other chat.
func TestSlowSigns(t *testing.T) {
	s := &script{answer: usual}
	s.slow = func(method string, params map[string]string) time.Duration {
		if method == "sendChatAction" && params["chat_id"] == "-100" {
			return time.Hour
		}
		return 0
	}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		for _, chat := range []string{"-100", "-200"} {
			d := bot.Draft{Kind: bot.KindBoard, Task: chat, Partial: true, Board: &bot.Board{Status: "Working"}, ReplyTo: "3"}
			if _, err := tg.Post(t.Context(), bot.Chat{Platform: "telegram", ID: chat}, d); err != nil {
				t.Error(err)
			}
		}
		synctest.Wait()
		if n := len(s.of("sendChatAction")); n != 2 {
			t.Errorf("typing was shown in %d chats, want 2 at once", n)
		}
		if n := len(s.of("setMessageReaction")); n != 2 {
			t.Errorf("%d questions were marked, want 2 at once", n)
		}
	})
}

// TestMarkIsRemovedAgain: the mark of a question goes although Telegram cannot remove it
// at first.
func TestMarkIsRemovedAgain(t *testing.T) {
	for name, problem := range map[string]struct {
		reply string
		err   error
		times int
	}{
		"busy":          {busy(time.Minute), nil, 1},
		"no connection": {"", errors.New("connection reset"), 3},
		"server error":  {`{"ok":false,"error_code":502,"description":"Bad Gateway"}`, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			s.answer = func(method string, params map[string]string) (string, error) {
				if method == "setMessageReaction" && params["reaction"] == "[]" && len(s.of(method)) <= problem.times {
					return problem.reply, problem.err
				}
				return usual(method, params)
			}
			bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
				team := bot.Chat{Platform: "telegram", ID: "-100"}
				if _, err := tg.Post(t.Context(), team, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "yes", ReplyTo: "3"}); err != nil {
					t.Error(err)
				}
				pass(5 * time.Minute)
				calls := s.of("setMessageReaction")
				if len(calls) != problem.times+1 {
					t.Errorf("%d calls, want %d: the last one removes the mark", len(calls), problem.times+1)
				} else if problem.times == 1 && calls[1].at.Sub(calls[0].at) < time.Minute {
					t.Errorf("the second call came after %s, want a minute", calls[1].at.Sub(calls[0].at))
				}
			})
		})
	}
}

// TestMarkIsSetAgain: legwork tries three times to mark a question.
func TestMarkIsSetAgain(t *testing.T) {
	for failures, want := range map[int]int{2: 3, 9: 3} {
		s := &script{}
		s.answer = func(method string, params map[string]string) (string, error) {
			if method == "setMessageReaction" && len(s.of(method)) <= failures {
				return "", errors.New("connection reset")
			}
			return usual(method, params)
		}
		bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
			d := bot.Draft{Kind: bot.KindBoard, Task: "1", Partial: true, Board: &bot.Board{Status: "Working"}, ReplyTo: "3"}
			if _, err := tg.Post(t.Context(), bot.Chat{Platform: "telegram", ID: "-100"}, d); err != nil {
				t.Error(err)
			}
			pass(5 * time.Minute)
			if n := len(s.of("setMessageReaction")); n != want {
				t.Errorf("with %d failures there were %d calls, want %d", failures, n, want)
			}
		})
	}
}

// TestMarkIsGivenUp: what Telegram refuses for good is not tried again.
func TestMarkIsGivenUp(t *testing.T) {
	s := &script{answer: func(method string, params map[string]string) (string, error) {
		if method == "setMessageReaction" {
			return `{"ok":false,"error_code":400,"description":"Bad Request: message to react not found"}`, nil
		}
		return usual(method, params)
	}}
	bubble(t, s, &inbox{}, func(t *testing.T, tg *telegram.Telegram) {
		team := bot.Chat{Platform: "telegram", ID: "-100"}
		if _, err := tg.Post(t.Context(), team, bot.Draft{Kind: bot.KindAnswer, Task: "1", Text: "yes", ReplyTo: "3"}); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		if n := len(s.of("setMessageReaction")); n != 1 {
			t.Errorf("%d calls, want one", n)
		}
	})
}
