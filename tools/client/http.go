package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"legwork/internal/telemetry"
)

// Limits on reaching a remote server. An answer may take as long as the call
// has; these are about the way to it.
const (
	dialTimeout   = 10 * time.Second
	deleteTimeout = time.Second // to end a session
	replyTimeout  = 10 * time.Second
	maxRedirects  = 3
)

// connectHTTP makes the transport to a remote server: streamable HTTP, or HTTP+SSE
// when sse is set.
func (d dialer) connectHTTP(c *connection, w *capturingTransport, sse bool) error {
	address, err := url.Parse(d.cfg.URL)
	if err != nil {
		return errors.New("its url in the config is not an address; write one such as https://mcp.example.com/mcp")
	}
	k := &httpTransport{
		base: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
			TLSHandshakeTimeout: dialTimeout,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			// A reply without a body, as HTTP+SSE sends it, lets the next message have
			// the connection while the cancel of the first can still close it
			// (https://github.com/golang/go/issues/9496).
			DisableKeepAlives: sse,
		},
		address: address, headers: d.cfg.Headers, auth: d.cfg.Auth, sse: sse, maxString: d.maxString(),
		truncation: &w.truncation, onRequest: c.handleRequest, onSessionLost: c.fail, onReconnect: c.listChanged,
	}
	c.http = k
	hc := &http.Client{Transport: k, CheckRedirect: k.redirect}
	silent := slog.New(slog.DiscardHandler) // its logs may hold secrets; errors say what went wrong
	if !sse {
		// Listening does not rule out the modern revisions here: the wire does
		// not tell the library that the transport asks for an older one.
		listen := transport.WithContinuousListening() //nolint:staticcheck // what replaces it is of the modern revisions
		t, err := transport.NewStreamableHTTP(d.cfg.URL, transport.WithHTTPBasicClient(hc), transport.WithHTTPLogger(silent), listen)
		if err != nil {
			return err
		}
		w.Interface, k.session = t, t.GetSessionId
		return nil
	}
	t, err := transport.NewSSE(d.cfg.URL, transport.WithHTTPClient(hc), transport.WithSSELogger(silent), transport.WithResponseTimeout(100*time.Hour))
	if err != nil {
		return err
	}
	t.SetConnectionLostHandler(func(err error) {
		c.fail(fmt.Errorf("the event stream of the server ended: %w", err))
	})
	w.Interface, k.endpoint = t, t.GetEndpoint
	return nil
}

// httpTransport sends the requests to one remote server, and bounds the responses
// before the library reads them. It sends the headers of the config to no other
// host.
type httpTransport struct {
	base          *http.Transport
	address       *url.URL
	headers       map[string]string
	auth          Authorizer            // nil: the headers suffice
	signInFailure atomic.Pointer[error] // of the probe
	sse           bool
	maxString     int
	truncation    *truncation
	onRequest     func(ctx context.Context, raw []byte)
	onSessionLost func(error) // called when the session is over
	onReconnect   func()      // called when the stream is open again: changes may have been missed

	session     func() string   // of streamable HTTP
	endpoint    func() *url.URL // of HTTP+SSE
	protocol    atomic.Pointer[string]
	skipDelete  atomic.Bool // no goodbye
	listenPacer listenPacer
}

// RoundTrip makes one request. It turns statuses into errors, except the statuses
// that the library handles itself.
func (k *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if at := telemetry.Traceparent(r.Context()); at != "" {
		r.Header.Set("Traceparent", at)
	}
	for name, value := range k.headers {
		r.Header.Set(name, value)
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	if r.Method == http.MethodDelete && k.skipDelete.Load() {
		return nil, transport.ErrTransportClosed
	} else if r.Method == http.MethodDelete {
		ctx, cancel := context.WithTimeout(r.Context(), deleteTimeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	listening := r.Method == http.MethodGet && !k.sse && r.Header.Get("Last-Event-ID") == ""
	if listening {
		if err := k.listenPacer.wait(r.Context()); err != nil {
			return nil, err
		}
	}
	resp, err := k.send(r)
	if err != nil {
		return nil, err
	}
	if err := k.receive(r, resp, listening); err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// receive puts a bound around the body of a response, or says what is wrong
// with it.
func (k *httpTransport) receive(r *http.Request, resp *http.Response, listening bool) error {
	sent := sentRequestOf(r.Context())
	asked := func(raw []byte) { k.onRequest(r.Context(), raw) }
	switch kind := mediaType(resp.Header); {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return nil // the client follows, as redirect allows
	case resp.StatusCode >= 400:
		return k.refused(r, resp, listening)
	case r.Method == http.MethodGet && kind == "text/event-stream":
		if listening && k.listenPacer.open() {
			k.onReconnect()
		}
		resp.Body = eventBody(resp.Body, k.maxString, k.truncation, sent.id, asked)
	case sent.id != "" && !k.sse && (resp.StatusCode == http.StatusAccepted || resp.StatusCode == http.StatusNoContent):
		return badAnswerError("it accepted the request but sent no answer")
	case r.Method == http.MethodDelete, k.sse && r.Method == http.MethodPost, sent.id == "":
		resp.Body = limitBody(resp.Body) // says no more than that it was taken
	case kind == "text/event-stream":
		resp.Body = eventBody(resp.Body, k.maxString, k.truncation, sent.id, asked)
	case kind == "application/json":
		resp.Body = jsonBody(resp.Body, k.maxString, k.truncation, sent.id)
	default:
		return &statusError{code: resp.StatusCode, text: "it answered with " + typeOrUnknown(kind) + " instead of MCP; check its url in the config"}
	}
	return nil
}

// limitedBody is the beginning of a response.
type limitedBody struct {
	io.Reader
	io.Closer
}

func limitBody(b io.ReadCloser) io.ReadCloser { return limitedBody{io.LimitReader(b, 64<<10), b} }

// redirect follows to the same host only, since the headers hold secrets, and
// only where the request stays what it is.
func (k *httpTransport) redirect(r *http.Request, via []*http.Request) error {
	switch {
	case r.URL.Scheme != k.address.Scheme || r.URL.Host != k.address.Host:
		return &statusError{code: http.StatusTemporaryRedirect, text: "it redirects to another host, " + r.URL.Scheme + "://" + r.URL.Host + "; if that is right, use it as its url in the config"}
	case r.Method != via[0].Method:
		return &statusError{code: http.StatusFound, text: "it redirects in a way that loses the request; check its url in the config"}
	case len(via) > maxRedirects:
		return &statusError{code: http.StatusTemporaryRedirect, text: "it redirects in a circle; check its url in the config"}
	}
	return nil
}
