package web

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

// The calls with which people sign in and out, and the MCP endpoint.
const (
	pathSession  = "/v1/session"
	pathWays     = "/v1/session/ways"
	pathOIDC     = "/v1/session/oidc"
	pathCallback = "/v1/session/oidc/callback"
	pathSessions = "/v1/sessions"
	pathMCP      = "/mcp"
)

// maxSignIn is the largest body of a sign-in, in bytes.
const maxSignIn = 4 << 10

// maxAgent bounds the User-Agent that is kept, in bytes.
const maxAgent = 200

// Me is who has signed in, for the page.
type Me struct {
	Name     string      `json:"name"`
	Role     policy.Role `json:"role"`
	Person   string      `json:"person"` // key of the caller in chats; empty: none
	Chats    []string    `json:"chats"`
	Groups   []string    `json:"groups,omitzero"`
	Webhooks []string    `json:"webhooks"`
	Preferences
	Can     []policy.Op `json:"can"`    // what the role may do, at least with its own tasks
	Chat    bool        `json:"chat"`   // the web chat is open to the caller
	Config  bool        `json:"config"` // the caller may read and change the config file
	Session *MySession  `json:"session,omitempty"`
	Version string      `json:"version"`
}

// MySession is the session of a request.
type MySession struct {
	ID      string   `json:"id"`
	Expires api.Time `json:"expires_at"` // if it is not used until then
}

// SessionRow is a session in a list.
type SessionRow struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Person  string   `json:"person"`
	Way     string   `json:"way"` // "token", "link" or "oidc"
	Made    api.Time `json:"made_at"`
	Used    api.Time `json:"used_at"`
	Expires api.Time `json:"expires_at"`
	Address string   `json:"address"`
	Browser string   `json:"browser"`
	Current bool     `json:"current"` // the request came with it
}

// signInOpen returns the handler of a call that needs neither token nor session, or
// nil.
func (a *auth) signInOpen(r *http.Request) http.HandlerFunc {
	if a.signIn == nil {
		return nil
	}
	switch r.Method + " " + r.URL.Path {
	case "POST " + pathSession:
		return a.postSession
	case "DELETE " + pathSession:
		return a.deleteSession
	case "GET " + pathWays:
		return a.getWays
	case "GET " + pathOIDC:
		return a.beginOIDC
	case "GET " + pathCallback:
		return a.endOIDC
	}
	return nil
}

// signInCalls serves the other calls about sessions.
func (a *auth) signInCalls(w http.ResponseWriter, r *http.Request) {
	id, one := strings.CutPrefix(r.URL.Path, pathSessions+"/")
	allow := "GET, HEAD"
	switch {
	case r.URL.Path == pathSession:
		allow = "GET, HEAD, POST, PATCH, DELETE"
		switch {
		case isRead(r):
			a.getSession(w, r)
			return
		case r.Method == http.MethodPatch:
			a.patchSession(w, r)
			return
		}
	case r.URL.Path == pathSessions:
		if isRead(r) {
			a.getSessions(w, r)
			return
		}
	case r.URL.Path == pathWays, r.URL.Path == pathOIDC, r.URL.Path == pathCallback:
	case !one:
		problem.New(problem.NotFound, "").Write(w)
		return
	default:
		r.Pattern = "DELETE " + pathSessions + "/{id}"
		allow = http.MethodDelete
		if r.Method == http.MethodDelete {
			a.endSession(w, r, id)
			return
		}
	}
	problem.WriteMethod(w, r, allow)
}

func isRead(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }

// checkOrigin answers a request of a page of another origin, and reports whether the
// request may continue.
func (a *auth) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	if err := a.origins.Check(r); err != nil {
		problem.New(problem.Origin, "A page of another origin may not change anything here.").Write(w)
		return false
	}
	return true
}

// postSession signs a person in with a token or a link. An earlier session of the
// browser ends: the cookie always gets a new secret.
func (a *auth) postSession(w http.ResponseWriter, r *http.Request) {
	if !a.checkOrigin(w, r) {
		return
	}
	var in struct {
		Token string `json:"token"`
		Link  string `json:"link"`
	}
	if p := readSignIn(w, r, &in); p != nil {
		p.Write(w)
		return
	}
	s, err := tasks.Session{}, errSignedOut
	detail := "This token is not known here; http.tokens of the config must list its hash."
	switch {
	case (in.Token == "") == (in.Link == ""):
		problem.New(problem.Invalid, `Send a body with either "token" or "link".`).Write(w)
		return
	case in.Token != "":
		if t := a.tokens.find(strings.TrimSpace(in.Token)); t != nil {
			if t.Role == policy.RoleAgent {
				problem.New(problem.Forbidden, "A token of role agent is for programs; sign in with another one.").Write(w)
				return
			}
			s, err = tasks.Session{ChatPerson: tasks.ChatPerson{Person: webPerson(t.Name, t.Name)}, Token: t.Name, TokenHash: hex.EncodeToString(t.Hash[:])}, nil
		}
	default:
		detail = "This link was used already, or its time is over. Write /console to legwork for another."
		var l tasks.SignInLink
		if l, err = a.signIn.Store.SpendLink(r.Context(), secretID(strings.TrimSpace(in.Link))); errors.Is(err, tasks.ErrNoSession) {
			err = errSignedOut
		}
		s.ChatPerson = l.ChatPerson
	}
	if err == nil {
		err = a.openSession(w, r, s)
	}
	switch {
	case errors.Is(err, errSignedOut):
		a.refuseSignIn(w, r, detail)
	case err != nil:
		a.unavailable(w, r, err)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// readSignIn reads the body of a sign-in. A page of another origin cannot send JSON
// without asking first.
func readSignIn(w http.ResponseWriter, r *http.Request, into any) *problem.Error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		p := problem.New(problem.Media, "Send application/json.")
		p.GetHeaders().Set("Accept", "application/json")
		return p
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxSignIn))
	if tooBig := new(http.MaxBytesError); errors.As(err, &tooBig) {
		return problem.New(problem.Large, fmt.Sprintf("The body is too long; %d bytes are allowed.", maxSignIn))
	}
	if err != nil || json.Unmarshal(body, into) != nil {
		return problem.New(problem.Malformed, "The body is no JSON object.")
	}
	return nil
}

// refuseSignIn answers a failed sign-in. An address with many of them has to wait.
func (a *auth) refuseSignIn(w http.ResponseWriter, r *http.Request, detail string) {
	address := clientAddr(r, a.tokens.trustedProxies())
	if wait := a.failures.wait(address.String(), a.now()); wait > 0 {
		retryLater(w, problem.Many, wait, "There were too many failed sign-ins from this address.")
		return
	}
	a.log.WarnContext(r.Context(), "sign-in failed", "address", address.String())
	a.unauthorized(w, r, true, detail)
}

// openSession stores a session and gives its cookie to the browser. errSignedOut when
// the person may do nothing here.
func (a *auth) openSession(w http.ResponseWriter, r *http.Request, s tasks.Session) error {
	secret := newSecret()
	s.ID, s.Addr = secretID(secret), clientAddr(r, a.tokens.trustedProxies()).String()
	s.Agent = strings.ToValidUTF8(r.UserAgent()[:min(len(r.UserAgent()), maxAgent)], "")
	p, _, err := a.principal(r.Context(), s)
	if err != nil {
		return err
	}
	if err := a.signIn.Store.PutSession(r.Context(), s); err != nil {
		return err
	}
	if err := a.dropCookie(r); err != nil {
		return err
	}
	a.cookies.set(w, r, secret)
	p.Addr = s.Addr
	a.record(r.Context(), p, "session.start", wayOf(s))
	return nil
}

// dropCookie ends the session of the cookie of a request, if there is one.
func (a *auth) dropCookie(r *http.Request) error {
	secret := a.cookies.secret(r)
	if secret == "" {
		return nil
	}
	return a.drop(r.Context(), secretID(secret))
}

// drop ends a session with its running requests. A session that has ended is no error.
func (a *auth) drop(ctx context.Context, id string) error {
	err := a.signIn.Store.DropSession(ctx, id)
	if err == nil || errors.Is(err, tasks.ErrNoSession) {
		a.tokens.endSession(id)
		return nil
	}
	return err
}

// deleteSession signs out, also a browser whose session has ended.
func (a *auth) deleteSession(w http.ResponseWriter, r *http.Request) {
	if !a.checkOrigin(w, r) {
		return
	}
	if err := a.dropCookie(r); err != nil {
		a.unavailable(w, r, err)
		return
	}
	a.cookies.set(w, r, "")
	w.WriteHeader(http.StatusNoContent)
}

// getWays lists the ways to sign in, for the page.
func (a *auth) getWays(w http.ResponseWriter, _ *http.Request) {
	ways := struct {
		Token bool   `json:"token"`
		OIDC  string `json:"oidc"` // the words on the button; empty: not offered
	}{Token: a.tokens.any()}
	if p := a.oidc.Load(); p != nil {
		ways.OIDC = p.button()
	}
	replyJSON(w, http.StatusOK, ways)
}

// getSession describes the caller.
func (a *auth) getSession(w http.ResponseWriter, r *http.Request) {
	p := api.Caller(r.Context())
	me := Me{
		Name: p.Title(), Role: p.Role, Chats: append([]string{}, p.Chats...), Groups: p.Groups, Webhooks: append([]string{}, p.Webhooks...),
		Can: []policy.Op{}, Chat: p.Person.ID != "", Config: a.signIn.ConfigFile && p.Role.May(policy.OpConfig) == policy.Always, Version: a.signIn.Version,
	}
	if me.Chat {
		me.Person = p.Person.Key()
	}
	var err error
	if me.Preferences, err = a.signIn.Preferences(r.Context(), holder(p)); err != nil {
		a.unavailable(w, r, err)
		return
	}
	for _, op := range policy.Ops() {
		if p.Role.May(op) != policy.Never {
			me.Can = append(me.Can, op)
		}
	}
	if p.Session != "" {
		s, err := a.signIn.Store.Session(r.Context(), p.Session)
		if err != nil {
			a.unavailable(w, r, err)
			return
		}
		me.Name = cmp.Or(s.Person.Name, me.Name)
		me.Session = &MySession{s.ID, api.Time{Time: s.Expires()}}
	}
	replyJSON(w, http.StatusOK, me)
}

// patchSession changes the preferences of the caller.
func (a *auth) patchSession(w http.ResponseWriter, r *http.Request) {
	var in Preferences
	if p := readSignIn(w, r, &in); p != nil {
		p.Write(w)
		return
	}
	err := a.signIn.Prefer(r.Context(), holder(api.Caller(r.Context())), in)
	if wrong, ok := errors.AsType[*problem.Error](err); ok {
		wrong.Write(w)
		return
	}
	if err != nil {
		a.unavailable(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// holder is the key of the person of a caller's sessions.
func holder(p api.Principal) string {
	if p.Name != "" {
		return webPerson(p.Name, "").Key()
	}
	return p.Person.Key()
}

// getSessions lists the sessions of the caller, and with all=true those of everybody.
func (a *auth) getSessions(w http.ResponseWriter, r *http.Request) {
	p := api.Caller(r.Context())
	person := holder(p)
	if r.URL.Query().Get("all") == "true" {
		if p.Role != policy.RoleAdmin {
			problem.New(problem.Forbidden, "Only admins see the sessions of others.").Write(w)
			return
		}
		person = ""
	}
	list, err := a.signIn.Store.Sessions(r.Context(), person)
	if err != nil {
		a.unavailable(w, r, err)
		return
	}
	page := struct {
		Items []SessionRow `json:"items"`
		Next  *string      `json:"next_cursor"`
	}{Items: make([]SessionRow, len(list))}
	for i, s := range list {
		page.Items[i] = SessionRow{
			ID: s.ID, Name: cmp.Or(s.Person.Name, s.Person.ID), Person: s.Person.Key(), Way: wayOf(s), Made: api.Time{Time: s.Made}, Used: api.Time{Time: s.Used},
			Expires: api.Time{Time: s.Expires()}, Address: s.Addr, Browser: s.Agent, Current: s.ID == p.Session,
		}
	}
	replyJSON(w, http.StatusOK, page)
}

// endSession revokes a session of the caller; admins may revoke every session.
func (a *auth) endSession(w http.ResponseWriter, r *http.Request, id string) {
	p := api.Caller(r.Context())
	s, err := a.signIn.Store.Session(r.Context(), id)
	if errors.Is(err, tasks.ErrNoSession) || err == nil && p.Role != policy.RoleAdmin && s.Person.Key() != holder(p) {
		problem.New(problem.NotFound, "There is no such session, or it is not yours.").Write(w)
		return
	}
	if err == nil {
		err = a.signIn.Store.DropSession(r.Context(), id)
	}
	if err != nil && !errors.Is(err, tasks.ErrNoSession) {
		a.unavailable(w, r, err)
		return
	}
	a.record(r.Context(), p, "session.end", s.Person.Key())
	if id == p.Session {
		a.cookies.set(w, r, "")
	}
	w.WriteHeader(http.StatusNoContent)
	a.tokens.endSession(id) // after the reply, which may be to this very session
}

// record adds an entry about sessions to the audit log.
func (a *auth) record(ctx context.Context, p api.Principal, action, target string) {
	if a.signIn.Record == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	a.signIn.Record(ctx, tasks.AuditEntry{Who: p.Key(), Role: string(p.Role), Action: action, Target: target, From: p.Addr})
}

// wayOf names how a person signed in.
func wayOf(s tasks.Session) string {
	switch {
	case s.Token != "":
		return "token"
	case s.Issuer != "":
		return "oidc"
	}
	return "link"
}
