package slack_test

import (
	"errors"
	"testing"
	"time"

	"legwork/bot"
	"legwork/internal/test/fakes/slackfake"
)

var secretForm = bot.SecretForm{Data: "wiki", Title: "Connect to a wiki with a very long name", Label: "Your secret for wiki", Submit: "Connect", Cancel: "Cancel"}

// TestSecretForm: a form opens after a command and after a press, and brings the secret
// with the conversation where it was asked for.
func TestSecretForm(t *testing.T) {
	t.Parallel()
	p := start(t, set{}).ready(t)
	if _, err := p.Slash("/legwork", "connect wiki", "DU1", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	id := p.post(t, m.Chat, bot.Draft{Kind: bot.KindNotice, Text: "Press the button.", Buttons: []bot.Button{{Label: "Enter", Data: "cn:wiki"}}})
	if _, err := p.Press("DU1", id, "Enter", "U1"); err != nil {
		t.Fatal(err)
	}
	for i, m := range []bot.Message{m, p.next(t, 2)[1]} {
		if err := p.s.AskSecret(t.Context(), m, secretForm); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Submit("U1", "a <secret> & *more*"); err != nil {
			t.Fatal(err)
		}
		got := p.next(t, i+3)[i+2]
		if got.Kind != bot.MessageSecret || got.Text != "a <secret> & *more*" || got.Data != "wiki" || got.From.ID != "U1" || got.Chat != m.Chat || got.Key == "" || got.ID != "" {
			t.Errorf("got %+v, want the secret", got)
		}
	}
}

// TestSecretFormTooLate: without a trigger, or with an old one, the person has to press a
// button.
func TestSecretFormTooLate(t *testing.T) {
	t.Parallel()
	p := start(t, set{fake: slackfake.Options{Second: time.Microsecond}}).ready(t)
	if _, err := p.Slash("/legwork", "connect wiki", "DU1", "U1"); err != nil {
		t.Fatal(err)
	}
	m := p.next(t, 1)[0]
	if err := p.s.AskSecret(t.Context(), m, secretForm); !errors.Is(err, bot.ErrGone) {
		t.Errorf("too late: got %v, want ErrGone", err)
	}
	m.Trigger = ""
	if err := p.s.AskSecret(t.Context(), m, secretForm); !errors.Is(err, bot.ErrGone) {
		t.Errorf("without a trigger: got %v, want ErrGone", err)
	}
}
