package web

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"legwork/tasks/api"
	"legwork/web/problem"
)

// door lets in who has a token.
type door struct {
	keys              keys
	strangers         strangers
	origins           *http.CrossOriginProtection
	api, mcp, metrics http.Handler
	refused           func(ctx context.Context, p api.Principal, route string)
	log               *slog.Logger
}

func newDoor(c Config) (*door, error) {
	d := &door{
		origins: http.NewCrossOriginProtection(), api: c.API, mcp: c.MCP, refused: c.Refused, log: c.Log,
	}
	if c.Metrics != nil {
		d.metrics = measured(c.Metrics)
	}
	if u, err := url.Parse(c.PublicURL); err == nil && u.Host != "" {
		if err := d.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			return nil, fmt.Errorf("trusting the public address: %w", err)
		}
	}
	d.keys.use(c.Access)
	return d, nil
}

// measured serves only reading, to the roles that may.
func measured(h http.Handler) http.Handler {
	one := route{method: http.MethodGet, Handler: h}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if api.Caller(r.Context()).Role.May(api.OpMetrics) == api.Never {
			problem.New(problem.Forbidden, "This role does not read metrics; take a token of role viewer.").Write(w)
			return
		}
		one.serve(w, r)
	})
}

// ServeHTTP implements http.Handler for paths that the door leads to.
func (d *door) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	address := caller(r, d.keys.trusted())
	token, wrong := bearer(r)
	one := d.keys.find(token)
	if wrong != "" || one == nil {
		d.turnAway(to, r, address, wrong)
		return
	}
	trusted(r)
	w := to.(*writer)
	w.token = one.Name
	if err := d.origins.Check(r); err != nil {
		problem.New(problem.Origin, "A page of another origin may not change anything here.").Write(w)
		return
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	c, later, err := d.keys.begin(one, end)
	switch {
	case errors.Is(err, errRevoked):
		unauthorized(w, true, gone)
	case err != nil:
		w.Header().Set("Connection", "close")
		tooMuch(w, problem.Stopping, time.Second, "legwork is stopping; try again when it is back.")
	case c == nil:
		tooMuch(w, problem.Many, later, fmt.Sprintf("There are too many requests with this token: more than http.rate of the config allows, or more than %d at once.", maxUnderWay))
	default:
		defer c.done()
		p := one.Principal
		p.Addr = address.String()
		d.letIn(w, r.WithContext(api.With(ctx, p)), c)
	}
}

// letIn has a request served. What is behind may take its time: reading is over,
// and each part of the reply has a deadline of its own.
func (d *door) letIn(w *writer, r *http.Request, c *call) {
	control := http.NewResponseController(w.ResponseWriter)
	if err := readWhole(w.ResponseWriter, r); err != nil {
		_ = control.SetWriteDeadline(time.Now().Add(replyTime))
		unread(w, err)
		return
	}
	_ = control.SetReadDeadline(time.Time{})
	w.before = func() error {
		if c.revoked() {
			return errRevoked
		}
		return control.SetWriteDeadline(time.Now().Add(replyTime))
	}
	r.Pattern = r.Method + " " + mounted(r.URL.Path)
	d.behind(r.URL.Path).ServeHTTP(w, r)
	w.route = r.Pattern
	w.before = nil
	_ = control.SetWriteDeadline(time.Now().Add(replyTime))
	switch {
	case c.revoked() && w.status != 0:
		panic(http.ErrAbortHandler) // so that half a reply is not taken for a whole one
	case c.revoked():
		unauthorized(w, true, gone)
	case w.status == http.StatusForbidden && d.refused != nil:
		d.refused(context.WithoutCancel(r.Context()), api.Caller(r.Context()), w.route)
	}
}

// readWhole reads the body of a request to its end, so that its deadline is over and
// the server hears when the client goes. The request holds it until it was read
// again, since some wait for long after that; of requests that have none to read, it
// holds nothing.
func readWhole(w http.ResponseWriter, r *http.Request) error {
	bounded := http.MaxBytesReader(w, r.Body, maxBody)
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		r.Body = http.NoBody
		_, err := io.Copy(io.Discard, bounded)
		return err
	}
	body, err := io.ReadAll(bounded)
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body))) // which forgets readers that are at their end
	return err
}

// mounted is the pattern of what serves a path and has no patterns of its own.
func mounted(path string) string {
	if strings.HasPrefix(path, "/v1/") {
		return "/v1/"
	}
	return path
}

// unread answers a request whose body could not be read.
func unread(w http.ResponseWriter, err error) {
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		problem.New(problem.Large, fmt.Sprintf("The body is too long; %d bytes are allowed.", maxBody)).Write(w)
		return
	}
	w.Header().Set("Connection", "close")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		problem.New(problem.Slow, fmt.Sprintf("The body did not arrive within %s.", bodyTime)).Write(w)
		return
	}
	problem.New(problem.Malformed, "The body did not arrive whole.").Write(w)
}

// knows reports that a request comes with a token that lets in.
func (d *door) knows(r *http.Request) bool {
	token, wrong := bearer(r)
	return wrong == "" && d.keys.find(token) != nil
}

// bearer is the token of a request, or what is wrong with how it came.
func bearer(r *http.Request) (token, wrong string) {
	headers := r.Header.Values("Authorization")
	if len(headers) != 1 {
		return "", missing
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", missing
	}
	token = strings.TrimSpace(token)
	if token == "" || len(token) > 512 {
		return "", unknown
	}
	return token, ""
}

// What is wrong with a request without a valid token.
const (
	missing = `Send a token as one header "Authorization: Bearer TOKEN", never in the address. "legwork token new --name NAME --role ROLE" makes one and prints the line for http.tokens of the config.`
	unknown = `This token is not known here, or no longer: its hash must stand in http.tokens of the config. "legwork token new --name NAME --role ROLE" makes another.`
	none    = `No token is configured, so nobody may use the API. "legwork token new --name NAME --role ROLE" makes one and prints the line for http.tokens of the config.`
	gone    = "This token was taken back, or may do other things now, while the request was under way."
)

// turnAway answers a request without a valid token; those who try often wait.
func (d *door) turnAway(w http.ResponseWriter, r *http.Request, address fmt.Stringer, wrong string) {
	shown := wrong != missing
	if wait := d.strangers.attempt(address.String(), time.Now()); wait > 0 {
		tooMuch(w, problem.Many, wait, "There were too many requests without a valid token from this address.")
		return
	}
	if shown {
		d.log.WarnContext(r.Context(), "a request came with a wrong token", "address", address.String(), "method", r.Method)
	}
	detail := wrong
	switch {
	case !d.keys.any():
		detail = none
	case wrong == "":
		detail = unknown
	}
	unauthorized(w, shown, detail)
}

func unauthorized(w http.ResponseWriter, shown bool, detail string) {
	challenge := `Bearer realm="legwork"`
	if shown {
		challenge += `, error="invalid_token"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	problem.New(problem.Unauthorized, detail).Write(w)
}

func tooMuch(w http.ResponseWriter, c problem.Code, wait time.Duration, detail string) {
	p := problem.New(c, detail)
	p.GetHeaders().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	p.Write(w)
}
