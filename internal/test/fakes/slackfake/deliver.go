package slackfake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// delivery brings events to the app, over sockets or HTTP.
type delivery struct{ *workspace }

// patience is how long Slack waits for an acknowledgement.
const patience = 3 * time.Second

// What a Delivery is, as envelopes of Socket Mode name it.
const (
	KindEvent   = "events_api"
	KindCommand = "slash_commands"
	KindPress   = "interactive"
)

// Delivery is something that the app is told: an event, a command or a press.
// Events that are not acknowledged are told again, commands and presses are
// not, as with Slack; Repeat tells them again all the same.
type Delivery struct {
	ID       string          `json:"id"` // event_id; of commands and presses the trigger_id
	Kind     string          `json:"kind"`
	Name     string          `json:"name"` // "message", "app_mention", "/task", "block_actions"
	Channel  string          `json:"channel,omitempty"`
	Payload  json.RawMessage `json:"payload"`
	Attempts int             `json:"attempts"`
	Acked    bool            `json:"acked"`
	Lost     bool            `json:"lost,omitempty"`   // it was given up
	After    time.Duration   `json:"after,omitempty"`  // from the attempt that was acknowledged to that
	Answer   json.RawMessage `json:"answer,omitempty"` // what the acknowledgement carried
}

// attempt is one try to deliver.
type attempt struct {
	d        *Delivery
	n        int // 0 is the first
	reason   string
	envelope string
	socket   *socket // nil while none is open
	sent     time.Time
	acked    chan struct{}
}

// Deliveries are all so far, in order.
func (s *delivery) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Delivery, len(s.deliveries))
	for i, d := range s.deliveries {
		list[i] = *d
	}
	return list
}

// Settled reports whether every delivery was acknowledged or given up.
func (s *delivery) Settled() bool {
	return !slices.ContainsFunc(s.Deliveries(), func(d Delivery) bool { return !d.Acked && !d.Lost })
}

// Repeat delivers again what was delivered before, as a retry of Slack's own.
func (s *delivery) Repeat(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.deliveries {
		if d.ID == id {
			again := *d
			again.Acked, again.Lost, again.Attempts = false, false, 1
			s.send(&again)
			return nil
		}
	}
	return fmt.Errorf("repeating a delivery: there was none with id %q", id)
}

// send starts to deliver. First attempts reach the app in the order of send.
// The caller holds the lock.
func (s *delivery) send(d *Delivery) {
	s.deliveries = append(s.deliveries, d)
	s.change()
	first := s.prepare(d, d.Attempts, "")
	var before, after chan struct{}
	if s.app == "" {
		s.transmit(first)
	} else {
		before, after = s.tails[d.Channel], make(chan struct{})
		s.tails[d.Channel] = after
	}
	s.busy.Add(1)
	go func() {
		defer s.busy.Done()
		if before != nil {
			<-before
		}
		s.pursue(first, after)
	}()
}

// prepare makes an attempt with a new envelope. The caller holds the lock.
func (s *delivery) prepare(d *Delivery, n int, reason string) *attempt {
	d.Attempts++
	s.seq++
	a := &attempt{d: d, n: n, reason: reason, envelope: fmt.Sprintf("env-%d", s.seq), acked: make(chan struct{})}
	if d.Attempts > 1 && reason == "" {
		a.reason = "timeout"
	}
	return a
}

// pursue tries until it is acknowledged or given up. first was transmitted
// already if there are sockets. It closes after, if any, when the first
// attempt is over.
func (s *delivery) pursue(first *attempt, after chan struct{}) {
	a := first
	for {
		reason, retry := s.attempt(a)
		if after != nil {
			close(after)
			after = nil
		}
		s.mu.Lock()
		if reason == "" {
			s.mu.Unlock()
			return
		}
		s.note(Entry{Event: EventTimeout, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n, Problem: reason})
		if a.n >= len(s.o.Retries) || a.d.Kind != KindEvent || !retry || s.closing() {
			a.d.Lost = true
			s.note(Entry{Event: EventLost, Method: a.d.Name, EventID: a.d.ID})
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		select {
		case <-s.done:
		case <-time.After(s.span(s.o.Retries[a.n])):
		}
		s.mu.Lock()
		a = s.prepare(a.d, a.n+1, reason)
		if s.app == "" {
			s.transmit(a)
		}
		s.mu.Unlock()
	}
}

// attempt waits for one attempt's end and says why it failed, if it did, and
// whether another may follow.
func (s *delivery) attempt(a *attempt) (reason string, retry bool) {
	s.mu.Lock()
	app := s.app
	s.mu.Unlock()
	if app != "" {
		return s.visit(app, a)
	}
	timer := time.NewTimer(s.span(patience))
	defer timer.Stop()
	for {
		s.mu.Lock()
		sock, changed := a.socket, s.changed
		s.mu.Unlock()
		var closed chan struct{}
		if sock != nil {
			closed, changed = sock.closed, nil
		}
		select {
		case <-a.acked:
			return "", true
		case <-changed: // perhaps it has a socket now
			continue
		case <-closed:
			reason = "connection_failed"
		case <-timer.C:
			reason = "timeout"
		case <-s.done:
			reason = "closed"
		}
		return s.expire(a, reason), true
	}
}

// expire ends an attempt, unless it was acknowledged at the last moment.
func (s *delivery) expire(a *attempt, reason string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-a.acked:
		return ""
	default:
	}
	delete(s.byEnvelope, a.envelope)
	return reason
}

// acknowledge ends an attempt well. The caller holds the lock.
func (s *delivery) acknowledge(a *attempt, payload json.RawMessage) {
	delete(s.byEnvelope, a.envelope)
	a.d.Acked, a.d.After, a.d.Answer = true, time.Since(a.sent), payload
	number := 0
	if a.socket != nil {
		number = a.socket.number
	}
	s.note(Entry{
		Event: EventAck, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n,
		Socket: number, After: a.d.After, Payload: payload,
	})
	close(a.acked)
	if len(payload) > 0 && string(payload) != "null" {
		s.respondAtOnce(a.d, payload)
	}
}

// The paths under the app's base URL.
const (
	pathEvents       = "/slack/events"
	pathCommands     = "/slack/commands"
	pathInteractions = "/slack/interactions"
)

// Sign returns the headers of a webhook's body: a timestamp and the signature
// by the secret.
func Sign(secret string, at time.Time, body []byte) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", stamp, body)
	header := http.Header{}
	header.Set("X-Slack-Request-Timestamp", stamp)
	header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	return header
}

// visit makes one attempt over HTTP and says why it failed, if it did, and
// whether another may follow.
func (s *delivery) visit(app string, a *attempt) (reason string, retry bool) {
	path, header, body := s.webhook(a)
	s.mu.Lock()
	a.sent = time.Now()
	s.note(Entry{Event: EventDeliver, Method: a.d.Name, EventID: a.d.ID, Envelope: a.envelope, Attempt: a.n})
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.busy.Go(func() {
		defer cancel()
		select {
		case <-s.done:
		case <-ctx.Done():
		}
	})
	response, text, err := s.Knock(ctx, app+path, header, body)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "http_timeout", true
	case err != nil:
		return "connection_failed", true
	case response.StatusCode != http.StatusOK:
		return "http_error", response.Header.Get("X-Slack-No-Retry") != "1"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acknowledge(a, answerOf(response, text))
	return "", true
}

// webhook is an attempt as a request: its path, headers and body.
func (s *delivery) webhook(a *attempt) (path string, header http.Header, body []byte) {
	path, kind, body := pathEvents, "application/json", []byte(a.d.Payload)
	switch a.d.Kind {
	case KindCommand:
		path, kind, body = pathCommands, "application/x-www-form-urlencoded", formOf(a.d.Payload)
	case KindPress:
		path, kind = pathInteractions, "application/x-www-form-urlencoded"
		body = []byte(url.Values{"payload": {string(a.d.Payload)}}.Encode())
	}
	header = Sign(s.o.SigningSecret, time.Now(), body)
	header.Set("Content-Type", kind)
	if a.n > 0 && a.d.Kind == KindEvent {
		header.Set("X-Slack-Retry-Num", strconv.Itoa(a.n))
		header.Set("X-Slack-Retry-Reason", or(a.reason, "http_timeout"))
	}
	return path, header, body
}

// Knock posts any body with any headers to the app, for forged signatures and
// stale timestamps, and waits for the answer as long as Slack does.
func (s *delivery) Knock(ctx context.Context, url string, header http.Header, body []byte) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.span(patience))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, fmt.Errorf("calling the app: %w", err)
	}
	request.Header = header
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, nil, fmt.Errorf("calling the app: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("calling the app: %w", err)
	}
	return response, text, nil
}

// Verify does what Slack does when a URL for events is saved: it sends a
// challenge, which must come back.
func (s *delivery) Verify(ctx context.Context) error {
	s.mu.Lock()
	app := s.app
	s.mu.Unlock()
	const challenge = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
	body := fmt.Appendf(nil, `{"token":"deprecated","challenge":%q,"type":"url_verification"}`, challenge)
	header := Sign(s.o.SigningSecret, time.Now(), body)
	header.Set("Content-Type", "application/json")
	response, text, err := s.Knock(ctx, app+pathEvents, header, body)
	if err != nil {
		return err
	}
	var reply struct{ Challenge string }
	_ = json.Unmarshal(text, &reply)
	if response.StatusCode != http.StatusOK || reply.Challenge != challenge && string(text) != challenge {
		return fmt.Errorf("verifying the URL for events: got %d %.200s, want the challenge", response.StatusCode, text)
	}
	return nil
}

// answerOf is what an acknowledgement over HTTP carries, as JSON.
func answerOf(response *http.Response, text []byte) json.RawMessage {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil
	case json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return text
	}
	said, _ := json.Marshal(map[string]string{"text": string(text)}) // of strings
	return said
}

func formOf(payload json.RawMessage) []byte {
	var fields map[string]string
	_ = json.Unmarshal(payload, &fields) // of strings, made here
	form := url.Values{}
	for name, value := range fields {
		form.Set(name, value)
	}
	return []byte(form.Encode())
}
