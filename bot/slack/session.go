package slack

import (
	"context"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	slackgo "github.com/slack-go/slack"

	"legwork/bot"
)

// typingGap is how often the status of a thread is set again; Slack removes it
// after two minutes
// (docs.slack.dev/reference/methods/assistant.threads.setStatus).
const typingGap = time.Minute

// sessionState is what Slack shows about a conversation's agent session.
type sessionState struct {
	status   string
	typingAt time.Time // when the thread's status was set last
}

// sessions tells Slack what the bot does in a thread: the state of its agent session
// and, in direct messages, the thread's status.
type sessions struct {
	*webClient
	background background
	askers     *lru.Cache[string, asker]        // the last person who asked, by conversation
	shown      *lru.Cache[string, sessionState] // by conversation
	none       atomic.Bool                      // Slack said that this app has no sessions
	noTyping   atomic.Bool                      // likewise for the status of a thread
}

func newSessions(c *webClient, b background, askers *lru.Cache[string, asker]) (*sessions, error) {
	shown, err := lru.New[string, sessionState](10_000)
	return &sessions{webClient: c, background: b, askers: askers, shown: shown}, err
}

// show tells Slack the state that follows from a draft: Slack shows a Stop button
// while the bot works. It never waits. Workspaces without sessions are asked once.
func (s *sessions) show(to bot.Chat, d bot.Draft) {
	status := sessionStatus(d)
	if to.Thread == "" || status == "" {
		return
	}
	was, _ := s.shown.Get(to.Key())
	now := sessionState{status, was.typingAt}
	types := to.Private && status == slackgo.AgentSessionStatusProcessing && d.Board != nil && s.now().Sub(was.typingAt) >= typingGap && !s.noTyping.Load()
	if types {
		now.typingAt = s.now()
	}
	s.shown.Add(to.Key(), now)
	if was.status != status {
		s.background.add(func(ctx context.Context) { s.setStatus(ctx, to, d, status) })
	}
	if types {
		s.background.add(func(ctx context.Context) { s.setTyping(ctx, to, cut(oneLine(d.Board.Status), 100)) })
	}
}

// sessionStatus is the status that follows from a draft; empty for no change.
func sessionStatus(d bot.Draft) string {
	switch {
	case d.Kind == bot.KindQuestion:
		return slackgo.AgentSessionStatusSuspended
	case d.Kind == bot.KindAnswer && !d.Partial:
		return slackgo.AgentSessionStatusActive
	case d.Kind != bot.KindBoard || d.Board == nil:
		return ""
	case d.Board.Waiting:
		return slackgo.AgentSessionStatusSuspended
	}
	for _, item := range d.Board.Items {
		if item.State == "waiting" {
			return slackgo.AgentSessionStatusSuspended
		}
	}
	if len(d.Board.Items) == 0 && len(d.Buttons) == 0 {
		return "" // folded
	}
	return slackgo.AgentSessionStatusProcessing
}

func (s *sessions) setStatus(ctx context.Context, to bot.Chat, d bot.Draft, status string) {
	if s.none.Load() {
		return
	}
	p := slackgo.AgentSessionSetStatusParameters{Status: status, ChannelID: to.ID, ThreadTS: to.Thread}
	if d.Board != nil {
		p.Title = cut(oneLine(d.Board.Title), 150)
	}
	if who, ok := s.askers.Get(to.Key()); ok {
		p.InitiatorUserID = who.user
	}
	err := s.call(ctx, request{method: "agents.sessions.setStatus", urgency: bot.PriorityNormal}, func(ctx context.Context) error {
		_, err := s.api.SetAgentSessionStatusContext(ctx, p)
		return err
	})
	switch {
	case err == nil || ctx.Err() != nil:
	case unavailable(err):
		s.none.Store(true)
		s.log.InfoContext(ctx, "slack: agent sessions not available; the manifest of \"legwork slack manifest\" enables them", "cause", err)
	default:
		s.log.DebugContext(ctx, "slack: session status not set", "chat", to.Key(), "cause", err)
	}
}

func (s *sessions) setTyping(ctx context.Context, to bot.Chat, words string) {
	if now, _ := s.shown.Get(to.Key()); now.status != slackgo.AgentSessionStatusProcessing {
		return // the answer, which removes the status, was sent in the meantime
	}
	err := s.call(ctx, request{method: "assistant.threads.setStatus", urgency: bot.PriorityFrame}, func(ctx context.Context) error {
		return s.api.SetAssistantThreadsStatusContext(ctx, slackgo.AssistantThreadsSetStatusParameters{ChannelID: to.ID, ThreadTS: to.Thread, Status: words})
	})
	if unavailable(err) {
		s.noTyping.Store(true)
		s.log.InfoContext(ctx, "slack: thread status not available", "cause", err)
	}
}

// unavailable reports whether Slack's refusal holds for all conversations.
func unavailable(err error) bool {
	switch code(err) {
	case "not_authorized", "missing_scope", "unknown_method", "not_allowed_token_type", "feature_not_enabled", "method_deprecated", "access_denied":
		return true
	}
	return false
}
