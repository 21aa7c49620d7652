package web

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// auth serves the paths that need a token or a session.
type auth struct {
	tokens            tokens
	failures          failedAuthLimiter
	origins           *http.CrossOriginProtection
	api, mcp, metrics http.Handler
	signIn            *SignIn             // nil: there are no sessions
	oidc              atomic.Pointer[idp] // nil: none
	cookies           cookies
	changed           chan struct{} // gets a value when rights may have changed; holds one
	streams           func(*http.Request) bool
	partTime          time.Duration // for a part of a body that the handler reads
	refused           func(ctx context.Context, p api.Principal, route string)
	log               *slog.Logger
	now               func() time.Time // the clock of the limits
}

func newAuth(c Config) (*auth, error) {
	a := &auth{
		origins: http.NewCrossOriginProtection(), api: c.API, mcp: c.MCP, streams: c.Streams, partTime: cmp.Or(c.requestTime, bodyTime), refused: c.Refused, log: c.Log, now: c.now,
		signIn: c.SignIn, changed: make(chan struct{}, 1),
	}
	a.cookies.proxies = a.tokens.trustedProxies
	if c.Metrics != nil {
		a.metrics = metricsHandler(c.Metrics)
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		if err := a.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("trusting the public address: %w", err)
		}
		a.cookies.public = u
	}
	a.use(c.Access)
	var err error
	a.failures, err = newFailedAuthLimiter()
	return a, err
}

// use changes who may call.
func (a *auth) use(access Access) {
	before := a.oidc.Load()
	a.useOIDC(access.OIDC)
	if a.oidc.Load() != before {
		a.tokens.endAccess()
	}
	a.tokens.use(access)
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// metricsHandler serves GET requests of the roles that may read metrics.
func metricsHandler(h http.Handler) http.Handler {
	get := route{method: http.MethodGet, Handler: h}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if api.Caller(r.Context()).Role.May(policy.OpMetrics) == policy.Never {
			problem.New(problem.Forbidden, "This role does not read metrics; take a token of role viewer.").Write(w)
			return
		}
		get.serve(w, r)
	})
}

// handler returns what serves a path that needs a token or a session, nil when nothing
// does.
func (a *auth) handler(path string) http.Handler {
	switch {
	case isSessionCall(path) && a.signIn != nil:
		return http.HandlerFunc(a.signInCalls)
	case strings.HasPrefix(path, "/v1/"):
		return a.api
	case path == pathMCP:
		return a.mcp
	case path == "/metrics":
		return a.metrics
	}
	return nil
}

// ServeHTTP implements http.Handler for the paths that have a handler.
func (a *auth) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	address := clientAddr(r, a.tokens.trustedProxies())
	t, wrong, err := a.find(r)
	switch {
	case errors.Is(err, errSignedOut):
		a.unauthorized(to, r, true, signedOut) // browsers with many tabs ask often, so that no limit counts it
		return
	case err != nil:
		if !a.refuseAccess(to, r, err) {
			a.unavailable(to, r, err)
		}
		return
	case t == nil:
		a.reject(to, r, address, wrong)
		return
	}
	markAuthorized(r)
	w := to.(*responseWriter)
	w.token = t.Title()
	if !a.checkOrigin(w, r) {
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	running, retry, err := a.tokens.begin(t, a.now(), cancel)
	switch {
	case errors.Is(err, errRevoked):
		a.unauthorized(w, r, true, tokenRevoked)
	case err != nil:
		w.Header().Set("Connection", "close")
		retryLater(w, problem.Stopping, time.Second, "legwork is stopping; try again when it is back.")
	case running == nil:
		retryLater(w, problem.Many, retry, fmt.Sprintf("There are too many requests with this token: more than http.rate of the config allows, or more than %d at once.", maxRunning))
	default:
		defer running.done()
		if isSessionCall(r.URL.Path) {
			running.done() // it may end its own session
		}
		p := t.Principal
		p.Addr = address.String()
		a.serve(w, r.WithContext(api.With(ctx, p)), running)
	}
}

// serve runs the handler of a path. The handler may take its time: the body was
// read before, and each write of the reply has a deadline of its own.
func (a *auth) serve(w *responseWriter, r *http.Request, running *runningRequest) {
	control := http.NewResponseController(w.ResponseWriter)
	if a.streams != nil && a.streams(r) {
		r.Body = &streamedBody{r.Body, r.Context(), control, a.partTime, time.Now().Add(streamTime)}
	} else if err := readBody(w.ResponseWriter, r); err != nil {
		_ = control.SetWriteDeadline(time.Now().Add(replyTime))
		writeBodyError(w, err)
		return
	}
	if _, streamed := r.Body.(*streamedBody); !streamed {
		_ = control.SetReadDeadline(time.Time{})
	}
	w.beforeWrite = func() error {
		if running.isRevoked() {
			return errRevoked
		}
		return control.SetWriteDeadline(time.Now().Add(replyTime))
	}
	if wider := api.Caller(r.Context()).Wider; wider != "" {
		w.onForbidden = func() { w.Header().Set("WWW-Authenticate", a.challenge(r, "insufficient_scope", wider)) }
	}
	r.Pattern = r.Method + " " + fallbackPattern(r.URL.Path)
	a.handler(r.URL.Path).ServeHTTP(w, r)
	w.route = r.Pattern
	w.beforeWrite = nil
	_ = control.SetWriteDeadline(time.Now().Add(replyTime))
	switch {
	case running.isRevoked() && w.status != 0:
		panic(http.ErrAbortHandler) // so that no client takes half a reply for a whole one
	case running.isRevoked():
		a.unauthorized(w, r, true, tokenRevoked)
	case w.status == http.StatusForbidden && w.Header().Get(problem.CodeHeader) == "" && a.refused != nil:
		a.refused(context.WithoutCancel(r.Context()), api.Caller(r.Context()), w.route)
	}
}

// readBody reads the whole body of a request. After that the read deadline is no
// longer needed, and the server notices when the client disconnects. The request
// gives up the memory when the handler has read the body, since some handlers wait
// for minutes after that. A body of GET and HEAD is thrown away.
func readBody(w http.ResponseWriter, r *http.Request) error {
	bounded := http.MaxBytesReader(w, r.Body, maxBody)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Body = http.NoBody
		_, err := io.Copy(io.Discard, bounded)
		return err
	}
	body, err := io.ReadAll(bounded)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body))) // MultiReader drops a reader that is at its end
	return err
}

// streamedBody is a body that the handler reads as it arrives. Each part of it must
// arrive within a time, and all of it within streamTime.
type streamedBody struct {
	io.ReadCloser
	ctx     context.Context //nolint:containedctx // an io.Reader has no other way to get it
	control *http.ResponseController
	part    time.Duration
	end     time.Time
}

// Read implements io.Reader.
func (b *streamedBody) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil { // for example because the token was revoked
		return 0, err
	}
	deadline := time.Now().Add(b.part)
	if b.end.Before(deadline) {
		deadline = b.end
	}
	_ = b.control.SetReadDeadline(deadline) // a server without deadlines returns an error
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) { // from here on the handler may take its time
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// fallbackPattern is the pattern of a path for handlers that set none themselves.
func fallbackPattern(path string) string {
	if strings.HasPrefix(path, "/v1/") {
		return "/v1/"
	}
	return path
}

// writeBodyError answers a request whose body could not be read.
func writeBodyError(w http.ResponseWriter, err error) {
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		problem.New(problem.Large, fmt.Sprintf("The body is too long; %d bytes are allowed.", maxBody)).Write(w)
		return
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		problem.New(problem.Slow, fmt.Sprintf("The body did not arrive within %s.", bodyTime)).Write(w)
		return
	}
	problem.New(problem.Malformed, "The body did not arrive completely.").Write(w)
}

// hasToken reports whether a request has a valid token, or a session that was used
// lately.
func (a *auth) hasToken(r *http.Request) bool {
	if secret := a.cookies.secret(r); a.signIn != nil && secret != "" && a.tokens.knows(secretID(secret)) {
		return true
	}
	text, wrong := bearerToken(r)
	return wrong == "" && a.tokens.find(text) != nil
}

// maxToken bounds a token, in bytes: access tokens of OIDC providers are long.
const maxToken = 8 << 10

// bearerToken returns the token of a request, or what is wrong with its header.
func bearerToken(r *http.Request) (token, wrong string) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", tokenMissing
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", tokenMissing
	}
	token = strings.TrimSpace(token)
	if token == "" || len(token) > maxToken {
		return "", tokenUnknown
	}
	return token, ""
}

// Details of the replies to requests without a valid token.
const (
	tokenMissing = `Send a token as one header "Authorization: Bearer TOKEN", never in the address. "legwork token new --name NAME --role ROLE" makes one and prints the line for http.tokens of the config.`
	tokenUnknown = `This token is not known here, or no longer: http.tokens of the config must list its hash. "legwork token new --name NAME --role ROLE" makes another.`
	tokenNone    = `No token is configured, so the API refuses every caller. "legwork token new --name NAME --role ROLE" makes one and prints the line for http.tokens of the config.`
	tokenRevoked = "This token or session was revoked, or its rights were changed, while the request was running."
	signedOut    = "This browser is not signed in, or no longer: sign in again."
)

// reject answers a request without a valid token. An address that sends many of
// them has to wait.
func (a *auth) reject(w http.ResponseWriter, r *http.Request, address fmt.Stringer, wrong string) {
	hadToken := wrong != tokenMissing
	if wait := a.failures.wait(address.String(), a.now()); wait > 0 {
		retryLater(w, problem.Many, wait, "There were too many requests without a valid token from this address.")
		return
	}
	if hadToken {
		a.log.WarnContext(r.Context(), "request with wrong token", "address", address.String(), "method", r.Method)
	}
	detail := wrong
	p := a.oidc.Load()
	access := p != nil && p.Audience != ""
	switch {
	case !a.tokens.any() && !access:
		detail = tokenNone
	case wrong == "" && access:
		detail = tokenUnknown + " An access token must be a JWT that " + p.Issuer + " has signed for " + p.Audience + ", and must not have expired; the log of legwork says what is wrong."
	case wrong == "":
		detail = tokenUnknown
	}
	a.unauthorized(w, r, hadToken, detail)
}

func (a *auth) unauthorized(w http.ResponseWriter, r *http.Request, hadToken bool, detail string) {
	wrong, scopes := "", ""
	if hadToken {
		wrong = "invalid_token"
	}
	if p := a.oidc.Load(); p != nil {
		scopes = p.leastScopes()
	}
	w.Header().Set("WWW-Authenticate", a.challenge(r, wrong, scopes))
	problem.New(problem.Unauthorized, detail).Write(w)
}

func retryLater(w http.ResponseWriter, c problem.Code, wait time.Duration, detail string) {
	p := problem.New(c, detail)
	p.GetHeaders().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	p.Write(w)
}

// OncePerMinute returns a function for Config.Refused that calls report at most
// once a minute for the same token and action, since programs try again and again.
func OncePerMinute(report func(ctx context.Context, p api.Principal, action string), now func() time.Time) func(context.Context, api.Principal, string) {
	type refusal struct{ token, action string }
	var mu sync.Mutex
	reported := map[refusal]time.Time{}
	due := func(r refusal) bool {
		mu.Lock()
		defer mu.Unlock()
		at := now()
		maps.DeleteFunc(reported, func(_ refusal, last time.Time) bool { return at.Sub(last) >= time.Minute })
		if _, known := reported[r]; known {
			return false
		}
		reported[r] = at
		return true
	}
	return func(ctx context.Context, p api.Principal, action string) {
		if due(refusal{p.Key(), action}) {
			report(ctx, p, action)
		}
	}
}
