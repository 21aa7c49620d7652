package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	slackgo "github.com/slack-go/slack"

	"legwork/bot"
)

// The form for a secret. Slack has no field that hides what is typed
// (docs.slack.dev/reference/block-kit/block-elements/plain-text-input-element).
const (
	secretForm     = "legwork_secret" // its callback id
	secretBlock    = "secret"
	secretAction   = "value"
	maxFormTitle   = 24
	maxSecretInput = 3000
)

// formOrigin is what a form carries: where it was asked for, and its Data.
type formOrigin struct {
	Channel string `json:"channel"`
	Thread  string `json:"thread,omitempty"`
	Data    string `json:"data"`
}

// AskSecret implements bot.SecretAsker. Slack opens a form within three seconds after a
// command or press (docs.slack.dev/surfaces/modals).
func (s *Slack) AskSecret(ctx context.Context, m bot.Message, f bot.SecretForm) error {
	if m.Trigger == "" {
		return fmt.Errorf("showing a form: %w", bot.ErrGone)
	}
	origin, err := json.Marshal(formOrigin{m.Chat.ID, m.Chat.Thread, f.Data})
	if err != nil {
		return fmt.Errorf("showing a form: %w", err)
	}
	field := slackgo.NewPlainTextInputBlockElement(nil, secretAction).WithMaxLength(maxSecretInput)
	view := slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: secretForm, PrivateMetadata: string(origin),
		Title: plainText(cut(f.Title, maxFormTitle)), Submit: plainText(cut(f.Submit, maxFormTitle)), Close: plainText(cut(f.Cancel, maxFormTitle)),
		Blocks: slackgo.Blocks{BlockSet: []slackgo.Block{slackgo.NewInputBlock(secretBlock, plainText(f.Label), nil, field)}},
	}
	err = s.call(ctx, request{method: "views.open", urgency: bot.PriorityHigh}, func(ctx context.Context) error {
		_, err := s.api.OpenViewContext(ctx, m.Trigger, view)
		return err
	})
	switch code(err) {
	case "expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id":
		return fmt.Errorf("showing a form: %w: %w", bot.ErrGone, err)
	}
	return err
}

// submission is a form that a person sends
// (docs.slack.dev/reference/interaction-payloads/view-interactions-payload).
type submission struct {
	User pressUser `json:"user"`
	Team idField   `json:"team"`
	View struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Metadata string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// decodeSubmission reads the form for a secret. Its errors do not hold the secret.
func decodeSubmission(body []byte) ([]inbound, error) {
	var s submission
	if err := json.Unmarshal(body, &s); err != nil {
		return nil, errors.New("reading form: it is not as Slack describes it")
	}
	if s.View.Callback != secretForm {
		return nil, nil
	}
	var from formOrigin
	if err := json.Unmarshal([]byte(s.View.Metadata), &from); err != nil || s.User.ID == "" || s.View.ID == "" || from.Channel == "" {
		return nil, errors.New("reading form: user, id or channel is missing")
	}
	return []inbound{{message: bot.Message{
		Kind: bot.MessageSecret,
		Key:  "slack:form:" + s.View.ID,
		Chat: bot.Chat{Platform: Name, ID: from.Channel, Thread: from.Thread, Private: strings.HasPrefix(from.Channel, "D")},
		From: bot.Person{Platform: Name, ID: s.User.ID},
		Data: from.Data,
		Text: s.View.State.Values[secretBlock][secretAction].Value,
		Team: cmp.Or(s.User.Team, s.Team.ID),
	}}}, nil
}
