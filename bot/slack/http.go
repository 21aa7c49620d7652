package slack

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	slackgo "github.com/slack-go/slack"
)

// bodyLimit is far above the largest delivery of Slack.
const bodyLimit = 4 << 20

// Handler serves Slack's deliveries of mode http: /slack/events,
// /slack/commands and /slack/interactions. Each is checked by its signature,
// stored, and acknowledged after that. Before Run, and when a message cannot be
// stored, the answer is a 5xx, and Slack delivers again.
func (s *Slack) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /slack/events", s.serve(kindEvent))
	mux.HandleFunc("POST /slack/commands", s.serve(kindCommand))
	mux.HandleFunc("POST /slack/interactions", s.serve(kindInteraction))
	return mux
}

func (s *Slack) serve(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		if err := verify(s.config.SigningSecret, r.Header, body); err != nil {
			s.log.WarnContext(r.Context(), "slack: delivery with a bad signature refused", "path", r.URL.Path, "cause", err)
			http.Error(w, "the signature is not valid", http.StatusUnauthorized)
			return
		}
		payload, err := payloadOf(kind, body)
		if err != nil {
			s.log.WarnContext(r.Context(), "slack: unreadable delivery skipped", "type", kind, "cause", err)
			return // 200: Slack would deliver the same again
		}
		if challenge := challengeOf(kind, payload); challenge != "" {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, challenge)
			return
		}
		s.storeDelivery(w, r, kind, payload)
	}
}

// storeDelivery stores a delivery, after the earlier ones of its conversation, before
// the empty 200 that acknowledges it. When that takes long, legwork keeps the
// delivery all the same: an event is refused, so that Slack repeats it, and a command
// or press is acknowledged, because Slack does not repeat those.
func (s *Slack) storeDelivery(w http.ResponseWriter, r *http.Request, kind string, payload []byte) {
	h := s.handler.Load()
	if h == nil {
		http.Error(w, "not connected yet", http.StatusServiceUnavailable)
		return
	}
	arrivals, err := s.decode(kind, payload)
	if err != nil {
		s.log.WarnContext(r.Context(), "slack: unreadable delivery skipped", "type", kind, "cause", err)
	}
	if len(arrivals) == 0 {
		return
	}
	d := delivery{arrivals: arrivals, kind: kind, ack: func() {}}
	turn, leave := s.lanes.Join(d.lane())
	stored, answered := make(chan error, 1), make(chan struct{})
	defer close(answered)
	if !h.start(func(ctx context.Context) {
		defer leave()
		err := h.in.await(ctx, turn, arrivals)
		if err == nil {
			err = h.handle(ctx, messages([]delivery{d}))
		}
		stored <- err
		if err == nil || ctx.Err() != nil {
			return
		}
		s.log.ErrorContext(ctx, "slack: messages not stored", "messages", len(arrivals), "cause", err)
		if <-answered; !d.repeats() { // it was acknowledged
			h.in.store(ctx, []delivery{d})
		}
	}) {
		leave()
		http.Error(w, "not stored", http.StatusServiceUnavailable)
		return
	}
	select {
	case err := <-stored:
		if err != nil {
			http.Error(w, "not stored", http.StatusInternalServerError)
		}
	case <-time.After(s.timings.acknowledge):
		if d.repeats() {
			http.Error(w, "not stored yet", http.StatusServiceUnavailable)
		}
	case <-r.Context().Done():
	}
}

// verify checks the signature over the raw body and that it is not older than
// five minutes.
func verify(secret string, header http.Header, body []byte) error {
	v, err := slackgo.NewSecretsVerifier(header, secret)
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
}

// payloadOf returns the JSON in a delivery: commands and interactions are forms.
func payloadOf(kind string, body []byte) ([]byte, error) {
	if kind == kindEvent {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, errors.New("reading form: not a form")
	}
	if kind == kindInteraction {
		return []byte(form.Get("payload")), nil
	}
	fields := make(map[string]string, len(form))
	for name := range form {
		fields[name] = form.Get(name)
	}
	return json.Marshal(fields)
}

// challengeOf is the answer that Slack expects when an admin enters the address
// (docs.slack.dev/reference/events/url_verification).
func challengeOf(kind string, payload []byte) string {
	var o eventDelivery
	if kind != kindEvent || json.Unmarshal(payload, &o) != nil || o.Type != "url_verification" {
		return ""
	}
	return o.Challenge
}
