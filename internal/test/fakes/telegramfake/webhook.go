package telegramfake

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// MethodWebhook is Entry.Method of a delivery to the webhook.
const MethodWebhook = "(webhook)"

// hook is the webhook that is set. Its fields but the first are guarded by the
// server's lock.
type hook struct {
	url, to, secret string
	cancel          context.CancelFunc
	connections     int64
	lastError       string
	lastErrorAt     time.Time
}

var goodSecret = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

func (s *updates) setWebhook(c *call) (any, *refusal) {
	connections, why := c.params.int("max_connections")
	if why == nil {
		why = checkWebhook(c.params["url"], c.params["secret_token"])
	}
	if why == nil {
		why = s.setAllowed(c)
	}
	if why != nil {
		return nil, why
	}
	s.unhook(c)
	if c.params["url"] == "" {
		return true, nil
	}
	if c.params["secret_token"] == "" && s.o.NeedSecret {
		s.violate("setWebhook without secret_token")
	}
	q := &s.queue
	if q.poll != nil {
		q.poll.hooked = true
		close(q.poll.ended)
		q.poll = nil
	}
	if connections == 0 {
		connections = 40
	}
	ctx, cancel := context.WithCancel(s.ctx)
	q.hook = &hook{url: c.params["url"], to: s.redirected(c.params["url"]), secret: c.params["secret_token"], cancel: cancel, connections: connections}
	s.busy.Add(1)
	go s.deliver(ctx, q.hook)
	return true, nil
}

func checkWebhook(address, secret string) *refusal {
	if address == "" {
		return nil
	}
	u, err := url.Parse(address)
	ip := net.ParseIP(hostname(u))
	switch {
	case err != nil || u.Host == "":
		return bad("bad webhook: invalid URL specified")
	case u.Scheme != "https" && (ip == nil || !ip.IsLoopback()): // the fake's own exception, for tests
		return bad("bad webhook: An HTTPS URL must be provided for webhook")
	case u.Scheme == "https" && !slices.Contains([]string{"", "443", "80", "88", "8443"}, u.Port()):
		return bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
	case secret != "" && !goodSecret.MatchString(secret):
		return bad("secret token contains unallowed characters")
	}
	return nil
}

func hostname(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.Hostname()
}

// redirected is where deliveries to an address go.
func (s *updates) redirected(address string) string {
	u, err := url.Parse(address)
	if s.o.WebhookTo == "" || err != nil {
		return address
	}
	return strings.TrimSuffix(s.o.WebhookTo, "/") + u.RequestURI()
}

// unhook ends a webhook, and forgets updates where that was asked for.
func (s *updates) unhook(c *call) {
	q := &s.queue
	if q.hook != nil {
		q.hook.cancel()
		q.hook = nil
	}
	if c.params.bool("drop_pending_updates") {
		q.pending, q.again = nil, nil
	}
}

func (s *updates) deleteWebhook(c *call) (any, *refusal) {
	s.unhook(c)
	return true, nil
}

func (s *updates) getWebhookInfo(*call) (any, *refusal) {
	q := &s.queue
	info := map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(q.pending)}
	if q.hook != nil {
		info["url"], info["max_connections"] = q.hook.url, q.hook.connections
		if q.hook.lastError != "" {
			info["last_error_date"], info["last_error_message"] = q.hook.lastErrorAt.Unix(), q.hook.lastError
		}
	}
	if len(q.allowed) > 0 {
		info["allowed_updates"] = q.allowed
	}
	return info, nil
}

// deliver sends the updates one after the other. One that is not accepted is
// sent again, later and later.
func (s *updates) deliver(ctx context.Context, h *hook) {
	defer s.busy.Done()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: s.seconds(60)}
	first := s.o.Second / 10
	for wait := first; ctx.Err() == nil; {
		u, again, changed := s.first()
		if u == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		body, problem := post(ctx, client, h, *u)
		if ctx.Err() != nil {
			return
		}
		s.delivered(h, *u, again, body, problem)
		if problem == nil {
			wait = first
			continue
		}
		pause(ctx, wait)
		wait = min(2*wait, s.seconds(10))
	}
}

// first is the next update to deliver, if the service is up.
func (s *updates) first() (u *update, again bool, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	switch {
	case s.isDown():
	case len(q.again) > 0:
		return &q.again[0], true, s.changed
	case len(q.pending) > 0:
		return &q.pending[0], false, s.changed
	}
	return nil, false, s.changed
}

// post returns the body of the reply; the refusal has the reply's status.
func post(ctx context.Context, client *http.Client, h *hook, u update) ([]byte, *refusal) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.to, bytes.NewReader(u.body))
	if err != nil {
		return nil, &refusal{Text: err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		request.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, &refusal{Text: "Connection refused: " + err.Error()}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	if err != nil {
		return nil, &refusal{Text: "Read timed out: " + err.Error()}
	}
	if response.StatusCode/100 != 2 {
		return nil, &refusal{Code: response.StatusCode, Text: "Wrong response from the webhook: " + response.Status}
	}
	return body, nil
}

// delivered notes what became of a delivery, and does what the reply asks for.
func (s *updates) delivered(h *hook, u update, again bool, body []byte, problem *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := Entry{At: time.Now(), Method: MethodWebhook, Outcome: OutcomeOK, Done: problem == nil, Updates: []int{u.id}}
	if problem != nil {
		h.lastError, h.lastErrorAt = problem.Text, s.o.Now()
		e.Outcome, e.Code, e.Error = OutcomeRefused, problem.Code, problem.Text
		s.write(e)
		return
	}
	s.write(e)
	if again {
		s.queue.again = slices.DeleteFunc(s.queue.again, func(other update) bool { return other.id == u.id })
	} else {
		s.confirm(int64(u.id) + 1)
	}
	s.inReply(body)
}

// inReply does the call that a webhook replied with.
func (s *updates) inReply(body []byte) {
	if len(bytes.TrimSpace(body)) == 0 {
		return
	}
	p := params{}
	if why := p.addJSON(body); why != nil || p["method"] == "" {
		return // any other reply is fine
	}
	name := p["method"]
	delete(p, "method")
	c := &call{params: p, entry: Entry{At: time.Now(), Method: name, Params: maps.Clone(p), Outcome: OutcomeOK}}
	if strings.EqualFold(name, "getUpdates") {
		s.violate("getUpdates in the reply of a webhook")
		return
	}
	if _, why := s.reply(c); why != nil {
		c.entry.Outcome, c.entry.Code, c.entry.Error = OutcomeRefused, why.Code, why.Text
		s.violate("%s in the reply of a webhook, where the bot cannot see its error: %s", name, why.Text)
	}
	s.write(c.entry)
}
