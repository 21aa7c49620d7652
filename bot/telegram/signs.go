package telegram

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"
	lru "github.com/hashicorp/golang-lru/v2"

	"legwork/bot"
	"legwork/internal/retry"
)

const (
	typingGap   = 5 * time.Second // how long Telegram shows one action (core.telegram.org/bots/api#sendchataction)
	signTimeout = 5 * time.Second

	// endFor is how long the removal of a reaction is tried.
	endFor = time.Hour

	// takenTries is how often legwork tries to set a reaction.
	takenTries = 3

	// maxSigns is how many signs may be under way, and how many more may wait.
	maxSigns = 256
)

// takenEmoji is the reaction to a question that legwork works on. Telegram allows
// certain emojis only (core.telegram.org/bots/api#reactiontypeemoji).
const takenEmoji = `[{"type":"emoji","emoji":"👀"}]`

const reactionMethod = "setMessageReaction"

// sign shows people without a message that the bot is at work: "is typing", or a
// reaction to their message.
type sign struct {
	to      bot.Chat
	message string // that the reaction is to; empty: "is typing"
	taken   bool   // the reaction is set, not removed
}

// signs are shown beside the messages. They are a courtesy: those that do not fit the
// queue are left out. It is safe for concurrent use.
type signs struct {
	api    *client
	caller *caller
	chats  *chats
	now    func() time.Time
	log    *slog.Logger

	queue chan sign
	taken *lru.Cache[string, bool] // questions that were marked as taken
}

func newSigns(api *client, caller *caller, chats *chats, now func() time.Time, log *slog.Logger) *signs {
	return &signs{api: api, caller: caller, chats: chats, now: now, log: log, queue: make(chan sign, maxSigns), taken: newCache[bool]()}
}

// send has a sign shown soon. It never waits.
func (s *signs) send(one sign) {
	select {
	case s.queue <- one:
	default: // many at once; it is a courtesy
	}
}

// startTyping shows that the bot is at work. It is called for tasks only, so that people
// whom the bot does not answer see nothing.
func (s *signs) startTyping(to bot.Chat) { s.send(sign{to: to}) }

// showTaken marks a question as taken, once.
func (s *signs) showTaken(to bot.Chat, question string) {
	if question == "" || s.chats.refused(reactionMethod, to.ID) {
		return
	}
	if seen, _ := s.taken.ContainsOrAdd(to.ID+"/"+question, true); !seen {
		s.send(sign{to, question, true})
	}
}

// endTaken removes the mark, also one of an earlier process.
func (s *signs) endTaken(to bot.Chat, question string) {
	if positive(question) && !s.chats.refused(reactionMethod, to.ID) {
		s.send(sign{to, question, false})
	}
}

// run shows signs until ctx ends, "is typing" at most once per typingGap and chat. Only
// signs of the same message wait for each other.
func (s *signs) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	var lanes bot.Lanes
	typed, underWay := newCache[time.Time](), make(chan struct{}, maxSigns)
	for {
		var one sign
		select {
		case one = <-s.queue:
		case <-ctx.Done():
			return
		}
		if one.message == "" {
			key, now := one.to.Key(), s.now()
			if before, ok := typed.Get(key); ok && now.Sub(before) < typingGap {
				continue
			}
			typed.Add(key, now)
		}
		select {
		case underWay <- struct{}{}:
		case <-ctx.Done():
			return
		}
		turn, leave := lanes.Join(one.to.Key() + "/" + one.message)
		all.Go(func() {
			defer func() { leave(); <-underWay }()
			select {
			case <-turn:
				s.show(ctx, one)
			case <-ctx.Done():
			}
		})
	}
}

func (s *signs) show(ctx context.Context, one sign) {
	if one.message == "" {
		s.showTyping(ctx, one.to)
	} else {
		s.react(ctx, one)
	}
}

func (s *signs) showTyping(ctx context.Context, to bot.Chat) {
	r := s.caller.request(to, "sendChatAction", bot.PriorityFrame)
	p := tgbotapi.Params{"chat_id": r.Chat, "action": "typing"}
	p.AddNonEmpty("message_thread_id", to.Thread)
	if to.Thread == "" && s.chats.isForum(to.ID) {
		p.AddNonZero("message_thread_id", generalTopic)
	}
	if err := s.call(ctx, r, p); err != nil && ctx.Err() == nil {
		s.log.DebugContext(ctx, "telegram: typing not shown", "chat", to.ID, "cause", err)
	}
}

// react sets a reaction, or removes it, again where that fails for a reason that may
// pass: its removal for endFor, since the reaction would stay otherwise. A chat that refuses reactions is left alone for a while.
func (s *signs) react(ctx context.Context, one sign) {
	priority, reaction := bot.PriorityNormal, "[]"
	if one.taken {
		priority, reaction = bot.PriorityFrame, takenEmoji
	}
	ctx, cancel := context.WithTimeout(ctx, endFor)
	defer cancel()
	pauses := newPauses()
	for try := 1; ; try++ {
		r := s.caller.request(one.to, reactionMethod, priority)
		err := s.call(ctx, r, tgbotapi.Params{"chat_id": r.Chat, "message_id": one.message, "reaction": reaction})
		refused, ok := asRefusal(err)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case ok && (refused.code == http.StatusNotFound || refused.says("reaction", "not enough rights")):
			s.chats.noteRefused(reactionMethod, one.to.ID)
			s.log.InfoContext(ctx, "telegram: reactions refused in this chat", "chat", one.to.ID, "for", refusedFor, "cause", err)
			return
		}
		s.log.DebugContext(ctx, "telegram: reaction not shown", "chat", one.to.ID, "cause", err)
		lasts := ok && !refused.rateLimited() && refused.code < http.StatusInternalServerError
		if one.taken && try == takenTries || lasts || retry.Sleep(ctx, pauseAfter(err, pauses)) != nil {
			return
		}
	}
}

func (s *signs) call(ctx context.Context, r bot.Request, p tgbotapi.Params) error {
	return s.caller.call(ctx, r, func() error { return s.api.call(ctx, signTimeout, r.Method, p, nil) })
}
