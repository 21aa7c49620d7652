package slackfake_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"

	"legwork/internal/test/fakes/slackfake"
)

// TestRefreshUnderLoad has the library's client listen through 20 refreshes and
// counts what it heard: every message at least once. Doubles have the event id
// of the first.
func TestRefreshUnderLoad(t *testing.T) {
	s := slackfake.New(t, slackfake.Options{Second: 10 * time.Millisecond, Quiet: true})
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
