package slackfake

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// hookUses and hookLife bound a response URL.
const (
	hookUses = 5
	hookLife = 30 * time.Minute
)

// hook is a response URL.
type hook struct {
	id      string
	channel string
	thread  string
	user    string
	origin  string // ts of the message whose button was pressed
	born    time.Time
	uses    int
}

// newHook makes a response URL. The caller holds the lock.
func (s *activity) newHook(h hook) string {
	s.seq++
	h.id, h.born = fmt.Sprintf("h%d", s.seq), s.o.Now()
	s.hooks[h.id] = &h
	return s.URL + "/hook/" + h.id
}

// Slash lets a person use a slash command, also in channels that the app is not
// in, and returns the trigger id. Slack has no slash commands in threads.
func (s *activity) Slash(command, text, channel, user string) (trigger string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.stage(channel, user)
	if err != nil {
		return "", err
	}
	trigger = s.newTrigger(user)
	fields := map[string]string{
		"token": "deprecated", "team_id": s.users[user].Team, "team_domain": "legwork", "channel_id": c.ID, "channel_name": c.Name,
		"user_id": user, "user_name": s.users[user].Name, "command": command, "text": text, "api_app_id": AppID,
		"is_enterprise_install": "false", "trigger_id": trigger, "response_url": s.newHook(hook{channel: c.ID, user: user}),
	}
	if c.User != "" {
		fields["channel_name"] = "directmessage"
	}
	payload, _ := json.Marshal(fields) // of strings
	s.send(&Delivery{ID: trigger, Kind: KindCommand, Name: command, Channel: c.ID, Payload: payload})
	return trigger, nil
}

// Shortcut lets a person use a shortcut of the app on a message, also in channels that
// the app is not in, and returns the trigger id.
func (s *activity) Shortcut(channel, ts, callback, user string) (trigger string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil {
		return "", fmt.Errorf("using %q: there is no message %s in %s", callback, ts, channel)
	}
	c, err := s.stage(channel, user)
	if err != nil {
		return "", err
	}
	trigger, u := s.newTrigger(user), s.users[user]
	payload, err := json.Marshal(map[string]any{
		"type": "message_action", "token": "deprecated", "action_ts": s.newTS(), "callback_id": callback, "trigger_id": trigger,
		"team":    map[string]any{"id": Team, "domain": "legwork"},
		"user":    map[string]any{"id": user, "username": u.Name, "name": u.Name, "team_id": u.Team},
		"channel": map[string]any{"id": c.ID, "name": or(c.Name, "directmessage")}, "message_ts": ts, "message": m.wire(c),
		"response_url": s.newHook(hook{channel: c.ID, user: user}), "enterprise": nil, "is_enterprise_install": false,
	})
	if err != nil {
		return "", err
	}
	s.send(&Delivery{ID: trigger, Kind: KindPress, Name: "message_action", Channel: c.ID, Payload: payload})
	return trigger, nil
}

// newTrigger is unique. The caller holds the lock.
func (s *activity) newTrigger(user string) string {
	s.seq++
	id := fmt.Sprintf("%d.1.%016x", time.Now().UnixMilli(), s.seq)
	s.triggers[id] = &trigger{user: user, born: s.o.Now()}
	return id
}

// Press lets a person press a button of a message. which is the button's
// action_id, its value or its label. It returns the trigger id.
func (s *activity) Press(channel, ts, which, user string) (trigger string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.find(channel, ts)
	if m == nil {
		return "", fmt.Errorf("pressing %q: there is no message %s in %s", which, ts, channel)
	}
	c, err := s.stage(channel, user)
	if err != nil {
		return "", err
	}
	block, button := m.button(which)
	if button == nil {
		return "", fmt.Errorf("pressing %q: the message has the buttons %q", which, m.Buttons())
	}
	return s.press(c, m, block, button, user), nil
}

// press sends a block_actions payload. The caller holds the lock.
func (s *activity) press(c *Channel, m *Message, block string, button map[string]any, user string) string {
	trigger, u, at := s.newTrigger(user), s.users[user], s.newTS()
	action := map[string]any{"type": "button", "block_id": block, "action_ts": at}
	for _, name := range []string{"action_id", "value", "text", "style", "url"} {
		if value, set := button[name]; set {
			action[name] = value
		}
	}
	container := map[string]any{"type": "message", "message_ts": m.TS, "channel_id": c.ID, "is_ephemeral": m.To != ""}
	if m.Thread != "" {
		container["thread_ts"] = m.Thread
	}
	fields := map[string]any{
		"type": "block_actions", "token": "deprecated", "api_app_id": AppID, "trigger_id": trigger, "container": container,
		"team":         map[string]any{"id": Team, "domain": "legwork"},
		"user":         map[string]any{"id": user, "username": u.Name, "name": u.Name, "team_id": u.Team},
		"channel":      map[string]any{"id": c.ID, "name": or(c.Name, "directmessage")},
		"response_url": s.newHook(hook{channel: c.ID, thread: m.Thread, user: user, origin: m.TS}),
		"state":        map[string]any{"values": map[string]any{}}, "actions": []any{action},
		"enterprise": nil, "is_enterprise_install": false,
	}
	if m.To == "" {
		fields["message"] = m.wire(c)
	}
	payload, err := json.Marshal(fields)
	if err != nil {
		panic(err) // of plain values
	}
	s.send(&Delivery{ID: trigger, Kind: KindPress, Name: "block_actions", Channel: c.ID, Payload: payload})
	return trigger
}

// Buttons are the labels of a message's buttons, in order.
func (m Message) Buttons() []string {
	var labels []string
	m.eachButton(func(_ string, button map[string]any) bool {
		labels = append(labels, label(button))
		return true
	})
	return labels
}

func (m Message) button(which string) (block string, button map[string]any) {
	m.eachButton(func(b string, e map[string]any) bool {
		if e["action_id"] == which || e["value"] == which || label(e) == which {
			block, button = b, e
		}
		return button == nil
	})
	return block, button
}

func label(button map[string]any) string {
	text, _ := button["text"].(map[string]any)
	said, _ := text["text"].(string)
	return said
}

// eachButton visits the buttons of actions and sections until yield says stop.
func (m Message) eachButton(yield func(block string, button map[string]any) bool) {
	var blocks []map[string]any
	_ = json.Unmarshal(m.allBlocks(), &blocks) // checked before
	for i, block := range blocks {
		id, _ := block["block_id"].(string)
		elements, _ := block["elements"].([]any)
		for _, element := range append(slices.Clone(elements), block["accessory"]) {
			if e, is := element.(map[string]any); is && e["type"] == "button" && !yield(or(id, fmt.Sprintf("auto%d", i)), e) {
				return
			}
		}
	}
}

// serveHook takes what the app answers through a response URL.
func (s *activity) serveHook(w http.ResponseWriter, r *http.Request) {
	var raw json.RawMessage
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	seq := s.seq
	var args map[string]any
	_ = json.Unmarshal(raw, &args) // shown as far as it can be read
	s.note(Entry{Seq: seq, Event: EventCall, Method: "response_url", Args: args})
	fault := s.fault("response_url")
	if fault.before() {
		s.note(Entry{Seq: seq, Event: EventFault, Method: "response_url"})
		panic(http.ErrAbortHandler)
	}
	isJSON := err == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	status, text := s.useHook(s.hooks[r.PathValue("id")], raw, isJSON)
	e := Entry{Seq: seq, Event: EventAnswer, Method: "response_url", Performed: status == http.StatusOK}
	if !e.Performed {
		e.Error = text
	}
	s.note(e)
	if fault != nil {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, text)
}

// useHook takes one answer and returns the status and text for it. The caller
// holds the lock.
func (s *activity) useHook(h *hook, raw json.RawMessage, isJSON bool) (status int, text string) {
	switch {
	case !isJSON:
		s.violate("response_url: the body is no JSON")
		return http.StatusBadRequest, "invalid_payload"
	case h == nil || s.o.Now().Sub(h.born) > s.span(hookLife):
		return http.StatusNotFound, "expired_url"
	case h.uses >= hookUses:
		s.violate("response_url: used %d times", h.uses+1)
		return http.StatusNotFound, "used_url"
	}
	h.uses++
	if refused := s.respondTo(h, raw); refused != nil {
		s.violate("response_url: %s: %s", refused.code, refused.blame)
		return http.StatusBadRequest, refused.code
	}
	return http.StatusOK, "ok"
}

// respondAtOnce shows what an acknowledgement of a command or press carried.
// The caller holds the lock.
func (s *delivery) respondAtOnce(d *Delivery, payload json.RawMessage) {
	if d.Kind == KindEvent {
		return
	}
	if d.Name == "view_submission" {
		s.violate("the answer to a form: %s; only an empty one is supported", payload)
		return
	}
	var asked struct {
		URL string `json:"response_url"`
	}
	_ = json.Unmarshal(d.Payload, &asked)
	h := s.hooks[asked.URL[strings.LastIndex(asked.URL, "/")+1:]]
	if refused := s.respondTo(h, payload); refused != nil {
		s.violate("the answer in an acknowledgement: %s: %s", refused.code, refused.blame)
	}
}

// response is what an app answers to a command or press.
type response struct {
	Text    string          `json:"text"`
	Blocks  json.RawMessage `json:"blocks"`
	Type    string          `json:"response_type"`
	Replace bool            `json:"replace_original"`
	Delete  bool            `json:"delete_original"`
	Thread  string          `json:"thread_ts"`
}

// respondTo shows an answer to a command or press: to its author alone, or to
// the channel, or in place of the message that was pressed. The caller holds
// the lock.
func (s *delivery) respondTo(h *hook, raw json.RawMessage) *refusal {
	var r response
	if err := json.Unmarshal(raw, &r); err != nil {
		return blame("invalid_payload", "%v", err)
	}
	if string(r.Blocks) == "null" {
		r.Blocks = nil
	}
	origin := s.find(h.channel, h.origin)
	switch {
	case r.Delete && origin != nil:
		origin.Deleted = true
		s.change()
		return nil
	case r.Text == "" && empty(r.Blocks):
		return blame("no_text", "neither text nor blocks: %.200s", raw)
	case r.Type != "" && r.Type != "ephemeral" && r.Type != "in_channel":
		return blame("invalid_payload", "response_type %q", r.Type)
	}
	if refused := checkBlocks(r.Blocks, messageBlocks); refused != nil {
		return refused
	}
	if r.Replace && origin != nil {
		origin.Text, origin.Blocks, origin.Hooked = r.Text, r.Blocks, true
		origin.Edits++
		s.change()
		return nil
	}
	m := &Message{Channel: h.channel, User: BotUser, Text: r.Text, Blocks: r.Blocks, Thread: or(r.Thread, h.thread), Hooked: true}
	if r.Type != "in_channel" {
		m.To = h.user
	}
	s.add(m)
	if c := s.channels[h.channel]; m.To == "" {
		s.echo(c, m, "")
	}
	return nil
}
