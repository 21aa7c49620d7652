package slackfake_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"legwork/internal/test/fakes/slackfake"
	"legwork/internal/test/watch"
)

// client is the library that most bots in Go use, as a second opinion on what
// the fake takes and tells.
func client(s *slackfake.Server) *slack.Client {
	return slack.New(slackfake.BotToken, slack.OptionAPIURL(s.APIURL), slack.OptionAppLevelToken(slackfake.AppToken))
}

func TestLibraryTalks(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{AgentView: true})
	api, ctx := client(s), t.Context()
	who, err := api.AuthTestContext(ctx)
	if err != nil || who.UserID != slackfake.BotUser || who.BotID != slackfake.BotID {
		t.Fatalf("auth.test: got %+v, %v", who, err)
	}
	asked := s.Say("C1", "U1", "hello", "")
	_, ts, err := api.PostMessageContext(ctx, "C1", slack.MsgOptionText("hi", false), slack.MsgOptionTS(asked),
		slack.MsgOptionMetadata(slack.SlackMetadata{EventType: "mark", EventPayload: map[string]any{"mark": "m1"}}))
	if err != nil {
		t.Fatal(err)
	}
	section := slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, "*new*", false, false), nil, nil)
	if _, _, _, err := api.UpdateMessageContext(ctx, "C1", ts, slack.MsgOptionText("new", false), slack.MsgOptionBlocks(section)); err != nil {
		t.Fatal(err)
	}
	thread, _, _, err := api.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
		ChannelID: "C1", Timestamp: asked, IncludeAllMetadata: true,
	})
	if err != nil || len(thread) != 2 || thread[1].Metadata.EventPayload["mark"] != "m1" || thread[1].Text != "new" {
		t.Fatalf("conversations.replies: got %+v, %v; want the question and the answer with its metadata", thread, err)
	}
	_, stream, err := api.StartStreamContext(ctx, "C1", slack.MsgOptionTS(asked), slack.MsgOptionRecipientUserID("U1"),
		slack.MsgOptionRecipientTeamID(slackfake.Team), slack.MsgOptionTaskDisplayMode(slack.TaskDisplayModePlan),
		slack.MsgOptionChunks(slack.NewPlanUpdateChunk("Working"), slack.NewTaskUpdateChunk("1", "Look it up")))
	if err != nil {
		t.Fatal(err)
	}
	done := slack.NewTaskUpdateChunk("1", "Look it up")
	done.Status = slack.TaskCardStatusComplete
	if _, _, err := api.AppendStreamContext(ctx, "C1", stream, slack.MsgOptionChunks(done, slack.NewMarkdownTextChunk("**Yes**"))); err != nil {
		t.Fatal(err)
	}
	if _, _, err := api.StopStreamContext(ctx, "C1", stream); err != nil {
		t.Fatal(err)
	}
	m, _ := s.Message("C1", stream)
	if m.Stream.State != slackfake.StreamDone || m.Stream.Text != "**Yes**" || len(m.Stream.Tasks) != 1 || m.Stream.Tasks[0].Status != "complete" {
		t.Errorf("got the stream %+v, want one complete task and the text", m.Stream)
	}
	status, err := api.SetAgentSessionStatusContext(ctx, slack.AgentSessionSetStatusParameters{Status: "processing", ChannelID: "C1", ThreadTS: asked})
	if err != nil || status.Status != "processing" {
		t.Errorf("agents.sessions.setStatus: got %+v, %v", status, err)
	}
	if err := api.SetAssistantThreadsStatusContext(ctx, slack.AssistantThreadsSetStatusParameters{ChannelID: "C1", ThreadTS: asked, Status: "thinks"}); err != nil {
		t.Error(err)
	}
	user, err := api.GetUserInfoContext(ctx, "U3")
	if err != nil || !user.IsRestricted || user.Locale != "en-US" {
		t.Errorf("users.info: got %+v, %v; want a guest", user, err)
	}
	dm, _, _, err := api.OpenConversationContext(ctx, &slack.OpenConversationParameters{Users: []string{"U1"}})
	if err != nil || dm.ID != s.DM("U1") {
		t.Errorf("conversations.open: got %+v, %v, want %s", dm, err, s.DM("U1"))
	}
}

// listen runs the library's socket client and acknowledges everything.
func listen(t *testing.T, s *slackfake.Server) <-chan socketmode.Event {
	t.Helper()
	sock := socketmode.New(client(s))
	ctx, cancel := context.WithCancel(t.Context())
	ended, seen := make(chan struct{}), make(chan socketmode.Event, 100)
	go func() {
		defer close(ended)
		_ = sock.RunContext(ctx) // ends with ctx
	}()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case event := <-sock.Events:
				if event.Request != nil && event.Request.EnvelopeID != "" {
					if err := sock.AckCtx(ctx, event.Request.EnvelopeID, nil); err != nil {
						return
					}
					seen <- event
				}
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return seen
}

func TestLibraryListens(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{})
	seen := listen(t, s)
	ts := s.Say("C1", "U1", "<@UBOT> hello", "")
	var types []string
	for range 2 {
		event := next(t, seen)
		inner := event.Data.(slackevents.EventsAPIEvent).InnerEvent
		types = append(types, inner.Type)
		if m, is := inner.Data.(*slackevents.MessageEvent); is && (m.TimeStamp != ts || m.User != "U1" || m.ChannelType != "channel") {
			t.Errorf("got the message %+v, want %s of U1", m, ts)
		}
	}
	if types[0] != "message" || types[1] != "app_mention" {
		t.Errorf("got the events %q, want message and app_mention", types)
	}
	if _, err := s.Slash("/task", "do it", "C2", "U1"); err != nil {
		t.Fatal(err)
	}
	if command := next(t, seen).Data.(slack.SlashCommand); command.Text != "do it" || command.ChannelID != "C2" || command.ResponseURL == "" {
		t.Errorf("got the command %+v", command)
	}
	button := slack.NewButtonBlockElement("act", "stop:1", slack.NewTextBlockObject(slack.PlainTextType, "Stop", false, false))
	_, posted, err := client(s).PostMessageContext(t.Context(), "C1", slack.MsgOptionText("working", false),
		slack.MsgOptionBlocks(slack.NewActionBlock("b", button)))
	if err != nil {
		t.Fatal(err)
	}
	next(t, seen) // its own message
	if _, err := s.Press("C1", posted, "Stop", "U1"); err != nil {
		t.Fatal(err)
	}
	press := next(t, seen).Data.(slack.InteractionCallback)
	if a := press.ActionCallback.BlockActions; len(a) != 1 || a[0].Value != "stop:1" || press.Container.MessageTs != posted || press.User.ID != "U1" {
		t.Errorf("got the press %+v, want stop:1 by U1", press)
	}
	if err := s.WaitFor(t.Context(), "all acknowledgements", s.Settled); err != nil {
		t.Error(err)
	}
}

func next(t *testing.T, seen <-chan socketmode.Event) socketmode.Event {
	t.Helper()
	select {
	case event := <-seen:
		return event
	case <-time.After(watch.Patience):
		t.Fatal("nothing came within 10 s")
	}
	return socketmode.Event{}
}

// TestRefreshUnderLoad has the library's client listen through 20 refreshes and
// counts what it heard: every message at least once. Doubles have the event id
// of the first. Slack waits three of its seconds for an acknowledgement; they are
// long enough here for a busy machine.
func TestRefreshUnderLoad(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: 200 * time.Millisecond, Quiet: true})
	seen := listen(t, s)
	ids := map[string]string{}
	for round := range 20 {
		for i := range 10 {
			s.Say("C1", "U1", fmt.Sprintf("%d/%d", round, i), "")
		}
		s.Refresh()
		for len(ids) < (round+1)*10 {
			data := next(t, seen).Data.(slackevents.EventsAPIEvent)
			text, id := data.InnerEvent.Data.(*slackevents.MessageEvent).Text, data.Data.(*slackevents.EventsAPICallbackEvent).EventID
			if known := ids[text]; known != "" && known != id {
				t.Errorf("message %s came as event %s and as %s", text, known, id)
			}
			ids[text] = id
		}
	}
	until(t, s, "all acknowledgements", s.Settled)
	for _, d := range s.Deliveries() {
		if d.Lost {
			t.Errorf("lost %s after %d attempts", d.ID, d.Attempts)
		}
	}
}

// BenchmarkPost is what the fake itself costs in the figures of others.
func BenchmarkPost(b *testing.B) {
	s, err := slackfake.Start(slackfake.Options{Limits: map[string][]slackfake.Limit{}, Quiet: true})
	if err != nil {
		b.Fatal(err)
	}
	api := client(s)
	for b.Loop() {
		if _, _, err := api.PostMessageContext(b.Context(), "C1", slack.MsgOptionText("hi", false)); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}
