package slackfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// triggerLife is how long an app may open a form after a command or press
// (docs.slack.dev/interactivity/handling-user-interaction#modal_responses).
const triggerLife = 3 * time.Second

// trigger lets an app open one form.
type trigger struct {
	user  string
	born  time.Time
	spent bool
}

// Modal is a form that an app has opened for a person, with one field.
type Modal struct {
	ID       string          `json:"id"`
	User     string          `json:"user"`
	Title    string          `json:"title"`
	Label    string          `json:"label"`
	Callback string          `json:"callback_id"`
	Metadata string          `json:"private_metadata"`
	Block    string          `json:"block_id"`
	Action   string          `json:"action_id"`
	Most     int             `json:"max_length"`
	Sent     bool            `json:"sent,omitempty"`
	view     json.RawMessage // as the app gave it
}

// view is what views.open takes (docs.slack.dev/reference/views/modal-views).
type view struct {
	Type     string           `json:"type"`
	Title    map[string]any   `json:"title"`
	Submit   map[string]any   `json:"submit"`
	Close    map[string]any   `json:"close"`
	Callback string           `json:"callback_id"`
	Metadata string           `json:"private_metadata"`
	Blocks   []map[string]any `json:"blocks"`
}

// Limits of modal views.
const (
	maxViewTitle = 24
	maxMetadata  = 3000
	maxLabelText = 2000
	maxInput     = 3000
)

// check refuses what Slack would. The fake knows forms with one text field.
func (v view) check() *refusal {
	b := &blockCheck{ids: map[string]bool{}}
	if v.Type != "modal" {
		b.bad("/view/type", "must be modal, got %q", v.Type)
	}
	b.textObject("/view/title", any(v.Title), maxViewTitle, "plain_text")
	for name, text := range map[string]map[string]any{"submit": v.Submit, "close": v.Close} {
		if text != nil {
			b.textObject("/view/"+name, any(text), maxViewTitle, "plain_text")
		}
	}
	switch {
	case utf8.RuneCountInString(v.Callback) > maxID:
		b.bad("/view/callback_id", "must be less than %d characters", maxID+1)
	case utf8.RuneCountInString(v.Metadata) > maxMetadata:
		b.bad("/view/private_metadata", "must be less than %d characters", maxMetadata+1)
	case len(v.Blocks) != 1 || v.Blocks[0]["type"] != "input":
		b.bad("/view/blocks", "the fake knows forms with one input block")
	case v.Submit == nil:
		b.bad("/view/submit", "is required with input blocks")
	default:
		b.input("/view/blocks/0", v.Blocks[0])
	}
	return b.refused
}

func (b *blockCheck) input(at string, block map[string]any) {
	b.textObject(at+"/label", block["label"], maxLabelText, "plain_text")
	element, _ := block["element"].(map[string]any)
	if element["type"] != "plain_text_input" {
		b.bad(at+"/element", "the fake knows plain_text_input, got %v", element["type"])
	}
	if most, set := element["max_length"].(float64); set && (most < 1 || most > maxInput) {
		b.bad(at+"/element/max_length", "must be 1 to %d", maxInput)
	}
	for name, id := range map[string]any{"block_id": block["block_id"], "action_id": element["action_id"]} {
		if text, is := id.(string); !is || text == "" || utf8.RuneCountInString(text) > maxID {
			b.bad(at+"/"+name, "must be 1 to %d characters", maxID)
		}
	}
}

func (s *webAPI) openView(c call) (answer, *refusal) {
	t := s.triggers[c.text("trigger_id")]
	switch {
	case t == nil:
		return nil, blame("invalid_trigger_id", "no such trigger")
	case t.spent:
		return nil, blame("exchanged_trigger_id", "the trigger was used already")
	case s.o.Now().Sub(t.born) > s.span(triggerLife):
		return nil, refuse("expired_trigger_id")
	}
	var v view
	if err := json.Unmarshal(c.raw("view"), &v); err != nil {
		return nil, blame("invalid_arguments", "%v", err)
	}
	if refused := v.check(); refused != nil {
		return nil, refused
	}
	t.spent = true
	s.seq++
	block := v.Blocks[0]
	element, _ := block["element"].(map[string]any)
	most, _ := element["max_length"].(float64)
	m := &Modal{
		ID: fmt.Sprintf("V%d", s.seq), User: t.user, Title: plain(v.Title), Label: plain(block["label"]), Callback: v.Callback, Metadata: v.Metadata,
		Block: plainID(block["block_id"]), Action: plainID(element["action_id"]), Most: int(most), view: c.raw("view"),
	}
	s.modals = append(s.modals, m)
	s.change()
	return answer{"view": map[string]any{"id": m.ID, "team_id": Team, "type": "modal", "callback_id": m.Callback, "private_metadata": m.Metadata}}, nil
}

func plain(text any) string {
	object, _ := text.(map[string]any)
	return plainID(object["text"])
}

func plainID(v any) string { text, _ := v.(string); return text }

// Modals are the forms that a person has open, the oldest first.
func (s *workspace) Modals(user string) (open []Modal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.modals {
		if m.User == user && !m.Sent {
			open = append(open, *m)
		}
	}
	return open
}

// Submit lets a person send the newest form that they have open, with a text in its field,
// and returns the id of the form.
func (s *activity) Submit(user, text string) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range slices.Backward(s.modals) {
		switch {
		case m.User != user || m.Sent:
			continue
		case m.Most > 0 && utf8.RuneCountInString(text) > m.Most || text == "":
			return "", fmt.Errorf("sending the form %s: its text has %d characters", m.ID, utf8.RuneCountInString(text))
		}
		var view map[string]any
		if err := json.Unmarshal(m.view, &view); err != nil {
			return "", err
		}
		view["id"], view["team_id"], view["app_id"] = m.ID, Team, AppID
		view["state"] = map[string]any{"values": map[string]any{m.Block: map[string]any{m.Action: map[string]any{"type": "plain_text_input", "value": text}}}}
		u := s.users[user]
		payload, err := json.Marshal(map[string]any{
			"type": "view_submission", "token": "deprecated", "api_app_id": AppID, "trigger_id": s.newTrigger(user), "view": view,
			"team": map[string]any{"id": Team, "domain": "legwork"}, "user": map[string]any{"id": user, "username": u.Name, "name": u.Name, "team_id": u.Team},
			"response_urls": []any{}, "enterprise": nil, "is_enterprise_install": false,
		})
		if err != nil {
			return "", err
		}
		m.Sent = true
		s.send(&Delivery{ID: m.ID, Kind: KindPress, Name: "view_submission", Payload: payload})
		return m.ID, nil
	}
	return "", fmt.Errorf("%s has no form open", user)
}
