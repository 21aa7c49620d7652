package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// Authorizer signs the requests to one remote server in the name of one identity. Its
// methods are safe for concurrent use.
type Authorizer interface {
	// Sign sets headers of a request. Without a sign-in it sets none.
	Sign(ctx context.Context, r *http.Request) error
	// Refused handles a response with the status 401 or 403. It returns nil when the
	// request should be signed and sent again, ErrNotAuth when the response is about
	// something else, and a *SignInError when a person has to sign in first. The
	// response's body stays with the caller.
	Refused(ctx context.Context, r *http.Request, resp *http.Response) error
}

// ErrNotAuth means that a response is not about signing in.
var ErrNotAuth = errors.New("the response is not about signing in")

// SignInError means that a server takes requests only after a person has signed in.
type SignInError struct {
	Server    string
	Challenge []string // values of the header WWW-Authenticate
	Status    int      // 401, or 403 when the scopes of an earlier sign-in do not suffice
	Scopes    []string // that the server requires now; may be empty
	Advice    string   // what people have to do; may be empty
}

func (e *SignInError) Error() string {
	text := "it requires a sign-in"
	if len(e.Scopes) > 0 && e.Status == http.StatusForbidden {
		text = "it requires a sign-in with more rights (" + strings.Join(e.Scopes, " ") + ")"
	}
	if e.Advice != "" {
		text += ": " + e.Advice
	}
	return text
}

// SignIn is a sign-in that a server requires of a person.
type SignIn struct {
	Server string   // its name in the config
	Shared bool     // an admin signs in, for everybody
	Scopes []string // rights that an earlier sign-in lacks; may be empty
}

// maxSignings bounds how often one request is sent: after a refresh, with a nonce of the
// server, and with more rights.
const maxSignings = 4

// send signs a request and sends it. A response that refuses it reaches the caller when
// signing again does not help.
func (k *httpTransport) send(r *http.Request) (*http.Response, error) {
	if k.auth == nil {
		return k.base.RoundTrip(r)
	}
	if err := k.signInFailure.Load(); err != nil {
		return nil, *err
	}
	for n := 1; ; n++ {
		next := r.Clone(r.Context())
		if r.GetBody != nil {
			body, err := r.GetBody()
			if err != nil {
				return nil, err
			}
			next.Body = body
		}
		if err := k.auth.Sign(r.Context(), next); err != nil {
			return nil, k.authFailed(r, err)
		}
		resp, err := k.base.RoundTrip(next)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden || r.Method == http.MethodDelete {
			return resp, err
		}
		err = k.auth.Refused(r.Context(), next, resp)
		switch {
		case errors.Is(err, ErrNotAuth), err == nil && (n == maxSignings || r.Body != nil && r.GetBody == nil):
			return resp, nil
		case err != nil:
			_ = resp.Body.Close()
			return nil, k.authFailed(r, err)
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // the connection is used again
		_ = resp.Body.Close()
	}
}

// authFailed wraps an error so that the library passes it on as it is. Of the probe that
// begins a session, it is the error of the whole session: the library would try an older
// protocol revision, without a sign-in, too.
func (k *httpTransport) authFailed(r *http.Request, err error) error {
	if r.Header.Get("Last-Event-ID") != "" {
		return err // the server has the request already, whose response this one wants to go on with
	}
	err = &statusError{code: http.StatusUnauthorized, text: err.Error(), cause: err}
	if sentRequestOf(r.Context()).method == string(mcp.MethodServerDiscover) {
		k.signInFailure.Store(&err)
	}
	return err
}
