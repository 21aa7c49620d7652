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
	"strconv"
	"time"
)

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
func (s *Server) visit(app string, a *attempt) (reason string, retry bool) {
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
func (s *Server) webhook(a *attempt) (path string, header http.Header, body []byte) {
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
func (s *Server) Knock(ctx context.Context, url string, header http.Header, body []byte) (*http.Response, []byte, error) {
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
func (s *Server) Verify(ctx context.Context) error {
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
