package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/internal/clip"
)

// statusError is a refusal in the words of HTTP. Its text holds no headers.
type statusError struct {
	code  int
	text  string
	after time.Duration // until it may be tried again; 0: not told
	cause error         // what the library calls it
}

func (e *statusError) Error() string { return e.text }
func (e *statusError) Unwrap() error { return e.cause }

// notCarriedOut tells that the server cannot have carried out the request.
func (e *statusError) notCarriedOut() bool {
	switch e.code {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusOK:
		return false
	}
	return true
}

// later tells that the server asks to try again, in that time.
func (e *statusError) later() bool {
	return e.code == http.StatusTooManyRequests || e.code == http.StatusServiceUnavailable
}

// refused reads a response of status 400 or more. nil: the library reads it.
func (k *httpTransport) refused(r *http.Request, resp *http.Response, listening bool) error {
	switch {
	case r.Method == http.MethodDelete:
		resp.Body = limitBody(resp.Body)
		return nil
	case resp.StatusCode == http.StatusNotFound && r.Header.Get(transport.HeaderKeySessionID) != "":
		if !listening || k.listenPacer.wasOpen() {
			k.onSessionLost(transport.ErrSessionTerminated)
		}
		return nil
	case listening:
		resp.Body = limitBody(resp.Body)
		return nil
	}
	begin, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("reading its answer with status %d: %w", resp.StatusCode, err)
	}
	e := &statusError{code: resp.StatusCode, text: statusText(resp, begin), after: retryAfter(resp.Header, time.Now())}
	if e.later() || e.code == http.StatusUnauthorized || e.code == http.StatusForbidden {
		return e
	}
	if sentRequestOf(r.Context()).method == string(mcp.MethodInitialize) && !isError(begin) && e.code < 500 {
		e.cause = transport.ErrLegacySSEServer
		return e
	}
	if !isError(begin) {
		return e
	}
	// An error of JSON-RPC: the library reads it as that when the status does
	// not have a meaning of its own.
	resp.StatusCode, resp.Status = http.StatusBadRequest, "400 Bad Request"
	resp.Body = limitedBody{bytes.NewReader(begin), resp.Body}
	if sentRequestOf(r.Context()).method == string(mcp.MethodInitialize) {
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Header.Set("Content-Type", "application/json")
		resp.Header.Del(transport.HeaderKeySessionID)
	}
	return nil
}

func isError(b []byte) bool {
	var m struct {
		Error *mcp.JSONRPCErrorDetails `json:"error"`
	}
	return json.Unmarshal(b, &m) == nil && m.Error != nil
}

// statusText says what a status means, and what to do.
func statusText(resp *http.Response, begin []byte) string {
	status := fmt.Sprintf("it answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	switch resp.StatusCode {
	case http.StatusUnauthorized:
		return status + ": it requires a valid token; set its headers in the config, such as Authorization"
	case http.StatusForbidden:
		return status + ": the token in its headers in the config does not allow this; use a token that does"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return status + ": check its url in the config"
	case http.StatusTooManyRequests:
		return status + ": it limits the rate of calls"
	case http.StatusProxyAuthRequired:
		return status + ": check HTTPS_PROXY"
	}
	if text := serverText(resp.Header, begin); text != "" {
		return status + ": " + text
	}
	return status
}

// serverText is what an answer says, when that is text or an error of JSON-RPC.
func serverText(h http.Header, begin []byte) string {
	var m struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	kind := mediaType(h)
	text := ""
	if json.Unmarshal(begin, &m) == nil && m.Error.Message != "" {
		text = m.Error.Message
	} else if kind == "text/plain" || strings.HasSuffix(kind, "json") {
		text = string(begin)
	}
	text = clip.Bytes(strings.Join(strings.Fields(clean(text)), " "), 300)
	return text
}

func mediaType(h http.Header) string {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind
}

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < 1e6 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}

// badAnswerError is an answer that is none, in words.
type badAnswerError string

func (e badAnswerError) Error() string { return string(e) }

// sessionError is the library's error for it, in words.
type sessionError struct{}

func (sessionError) Error() string { return "it does not know its own session any more" }
func (sessionError) Unwrap() error { return transport.ErrSessionTerminated }

// plainError unwraps an error of the library, and drops the address, which may hold
// secrets.
func plainError(err error) error {
	var status *statusError
	var address *url.Error
	var wrapped *transport.Error
	var bad badAnswerError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &status):
		return status
	case errors.As(err, &bad):
		return bad
	case errors.Is(err, transport.ErrSessionTerminated):
		return sessionError{}
	case strings.HasSuffix(err.Error(), "unexpected nil response"): // the library's word for it
		return badAnswerError("its answer ended before the result")
	case errors.As(err, &address):
		return fmt.Errorf("reaching it: %w", address.Err)
	case errors.As(err, &wrapped):
		return wrapped.Err
	}
	return err
}

// notCarriedOut tells that a request never reached the server, or that the server
// did not carry it out.
func notCarriedOut(err error) bool {
	var status *statusError
	var revision *revisionError
	var op *net.OpError
	switch {
	case errors.As(err, &status):
		return status.notCarriedOut()
	case errors.As(err, &revision):
		return true
	case errors.Is(err, transport.ErrSessionTerminated), errors.Is(err, errNotReading):
		return true
	}
	return errors.As(err, &op) && op.Op == "dial"
}
