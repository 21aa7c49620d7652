package llm

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"legwork/internal/clip"
)

// fault is why one attempt failed, and whether a retry can help.
type fault struct {
	problem Problem
	status  int
	retry   bool
	wait    time.Duration // the endpoint's Retry-After; 0 for none
	paid    bool          // the endpoint had begun to reply
	length  bool          // the reply reached max_output_tokens
	thought bool          // the reply is complete and holds thinking alone
	media   bool          // of a call other than chat
	partial string
	calls   []ToolCall // that had begun when the reply was cut off
	hint    string
	err     error
}

func (f *fault) Error() string { return f.err.Error() }

// statusFault makes the fault of a status that is not a success.
func (d *doer) statusFault(resp *http.Response, body []byte) *fault {
	said := readAPIError(body)
	f := d.classify(resp.StatusCode, said)
	f.status = resp.StatusCode
	f.wait = retryAfter(resp.Header, d.now())
	if resp.StatusCode/100 == 3 {
		f.hint = d.key("base_url") + " redirects to " + quote(redactURL(resp.Header.Get("Location"))) + "; use that address"
	}
	text := cmp.Or(said.message, shorten(string(body)))
	f.err = errors.New(strings.TrimSpace(fmt.Sprintf("HTTP %d %s", resp.StatusCode, d.redact(text))))
	return f
}

// classify turns a status and the error of the endpoint into a fault without err.
func (d *doer) classify(status int, said apiError) *fault {
	f := &fault{problem: Invalid}
	switch {
	case status == http.StatusForbidden && said.is("moderation", "flagged", "content_policy"):
		f.problem = Filtered
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.problem, f.hint = Refused, d.keyHint()
	case status == http.StatusPaymentRequired, said.is("insufficient_quota", "insufficient credit", "insufficient balance"):
		f.problem, f.hint = Refused, "the account has no credit left"
	case status == http.StatusTooManyRequests, status == 529:
		f.problem, f.retry = Busy, true
	case status == http.StatusRequestEntityTooLarge, said.tooLong():
		f.problem = TooLong
	case said.is("content_filter", "content_policy", "responsibleaipolicy"):
		f.problem = Filtered
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status == http.StatusGone, status/100 == 3:
		f.problem, f.hint = NotFound, d.addressHint(said)
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		f.problem, f.retry = Unreachable, status != http.StatusNotImplemented
	}
	return f
}

// connectionFault makes the fault of an error of the connection.
func (d *doer) connectionFault(err error) *fault {
	f := &fault{problem: Unreachable, retry: true, err: errors.New(d.redact(err.Error()))}
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var dns *net.DNSError
	switch {
	case errors.Is(err, errFirstByte):
		f.hint = d.timeoutHint("first_byte_timeout", d.config.FirstByteTimeout)
	case errors.Is(err, errIdle):
		f.hint = d.timeoutHint("idle_timeout", d.config.IdleTimeout)
	case errors.Is(err, errTimeout):
		f.retry, f.hint = false, d.timeoutHint("timeout", d.config.Timeout)
	case errors.As(err, &record), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		f.retry, f.hint = false, d.key("base_url")+" speaks no TLS: it should begin with http://"
	case errors.As(err, &authority), errors.As(err, &host):
		f.retry, f.hint = false, "the certificate at "+d.key("base_url")+" is not trusted"
	case errors.As(err, &dns):
		f.hint = "the host of " + d.key("base_url") + " is not known: " + quote(dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		f.hint = "nothing listens at " + d.key("base_url") + ", " + d.address()
	}
	return f
}

// ErrSpeaksTLS is the error of an address that begins with http:// at a server that
// speaks TLS.
var ErrSpeaksTLS = errors.New("the server speaks TLS: base_url should begin with https://")

func (d *doer) key(name string) string { return "models." + d.name + "." + name }

func (d *doer) timeoutHint(name string, limit time.Duration) string {
	return d.key(name) + " is " + limit.String()
}

func (d *doer) address() string { return redactURL(d.config.BaseURL) }

func (d *doer) keyHint() string {
	if d.config.APIKey == "" {
		return "the endpoint needs a key and " + d.key("api_key") + " is empty"
	}
	return "the endpoint does not accept the key in " + d.key("api_key")
}

var versionEnd = regexp.MustCompile(`/v\d+[a-z0-9]*(/openai)?$`)

// addressHint tells the two usual causes of a 404 apart.
func (d *doer) addressHint(said apiError) string {
	model := fmt.Sprintf("check that the endpoint has a model named %s (%s)", quote(d.config.Model), d.key("model"))
	if said.code == "model_not_found" || strings.Contains(strings.ToLower(said.message), "model") {
		return model
	}
	base := strings.TrimRight(d.address(), "/")
	if !versionEnd.MatchString(base) {
		return fmt.Sprintf("%s is %s; it should probably end in /v1", d.key("base_url"), base)
	}
	return fmt.Sprintf("%s is %s, which ends as expected; %s", d.key("base_url"), base, model)
}

// minSecret is the length from which a key is hidden. A placeholder such as "x",
// used for endpoints without keys, occurs in every text.
const minSecret = 8

// redact removes the key from a text of the endpoint.
func (d *doer) redact(s string) string {
	if len(d.config.APIKey) < minSecret {
		return s
	}
	return strings.ReplaceAll(s, d.config.APIKey, "[api_key]")
}

func redactURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "an unreadable address"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// apiError is the error that an endpoint describes in its response.
type apiError struct {
	message string
	code    string
	status  int // when the error carries one inside
}

// readAPIError understands the error documents in use: {"error": {...}},
// {"error": "..."}, {"message": "..."}, {"detail": ...} and lists of them.
func readAPIError(body []byte) apiError {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var doc map[string]json.RawMessage
	if json.Unmarshal(body, &doc) != nil {
		return apiError{}
	}
	inner := doc["error"]
	if text := asText(inner); text != "" {
		return apiError{message: shorten(text), code: asText(doc["code"])}
	}
	fields := doc
	if len(inner) > 0 && json.Unmarshal(inner, &fields) != nil {
		fields = doc
	}
	c := apiError{
		code:   cmp.Or(asText(fields["code"]), asText(fields["type"])),
		status: cmp.Or(asStatus(fields["code"]), asStatus(fields["status"])),
	}
	for _, key := range []string{"message", "detail", "error_description"} {
		if c.message == "" && len(fields[key]) > 0 {
			if c.message = asText(fields[key]); c.message == "" && string(fields[key]) != "null" {
				c.message = string(fields[key])
			}
		}
	}
	c.message = shorten(c.message)
	return c
}

func asText(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

func asStatus(raw json.RawMessage) int {
	n, err := strconv.Atoi(strings.Trim(string(raw), `"`))
	if err != nil || n < 400 || n > 599 {
		return 0
	}
	return n
}

func (c apiError) is(words ...string) bool {
	return containsAny(strings.ToLower(c.code+" "+c.message), words...)
}

func containsAny(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
}

// tooLong matches the messages of the usual servers.
func (c apiError) tooLong() bool {
	return c.is("context_length", "context length", "context window", "context size", "exceed_context",
		"maximum context", "prompt is too long", "input is too long", "too many tokens",
		"reduce the length", "input token count", "string_above_max_length")
}

// maxRetryAfter is the longest wait that a Retry-After can ask for.
const maxRetryAfter = 7 * 24 * time.Hour

// retryAfter returns the wait that an endpoint asks for, or 0 (RFC 9110, 10.2.3;
// Retry-After-Ms is of Azure OpenAI). A date is compared with that of the response,
// where it has one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return seconds(s)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent // its clock may differ from ours
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func seconds(s float64) time.Duration {
	return time.Duration(min(s, maxRetryAfter.Seconds()) * float64(time.Second))
}

// shorten keeps the beginning of a text of the endpoint, on one line.
func shorten(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	if len(s) <= most {
		return s
	}
	return clip.Bytes(s, most) + "..."
}
