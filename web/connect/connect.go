// Package connect serves the pages on which people sign in at MCP servers: one that says
// who is about to sign in where or takes a secret, and the one to which the browser
// returns.
package connect

import (
	"cmp"
	"crypto/subtle"
	_ "embed"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"legwork/i18n"
	"legwork/tasks"
	"legwork/tasks/connections"
)

// The paths of the pages.
const (
	PathStart    = "/connections/start"
	PathCallback = "/connections/callback"
	PathClient   = "/connections/client.json"
	PathSecret   = "/connections/" + secretForm // of the form with a secret
)

// Of the form with a secret.
const (
	secretForm  = "secret" // its address, relative to the page
	secretField = "secret"
	maxForm     = 64 << 10 // bytes of what it sends
)

// cookie holds the state of the sign-in that the browser has begun.
const cookie = "legwork_connection"

// Config says whose sign-ins are served. All fields are required.
type Config struct {
	Connections *connections.Connections
	Texts       *i18n.Texts
	Log         *slog.Logger
}

// StartAddress is the address of the page that begins a sign-in. Page is the address of
// legwork.
func StartAddress(page, state string) string {
	return strings.TrimSuffix(page, "/") + PathStart + "?" + url.Values{"state": {state}}.Encode()
}

// Handlers are the pages by their paths, for GET, and what takes their forms, for POST.
func Handlers(c Config) (open, forms map[string]http.Handler) {
	p := pages{c, template.Must(template.New("page").Parse(pageText))}
	open = map[string]http.Handler{PathStart: http.HandlerFunc(p.start), PathCallback: http.HandlerFunc(p.callback), PathClient: http.HandlerFunc(p.client)}
	return open, map[string]http.Handler{PathSecret: http.HandlerFunc(p.secret)}
}

// pages are the pages of a Config.
type pages struct {
	Config
	template *template.Template
}

//go:embed page.html
var pageText string

// start says who is about to sign in where. The browser keeps the state, so that the
// callback, or what takes the secret, knows that the same person has read this.
func (p pages) start(w http.ResponseWriter, r *http.Request) {
	state := r.URL.Query().Get("state")
	b, err := p.Connections.Begun(r.Context(), state)
	if err != nil {
		p.problem(w, r, "", "connect.unknown", err)
		return
	}
	at, err := url.Parse(b.URL)
	if err != nil {
		p.problem(w, r, b.Language, "connect.unknown", err)
		return
	}
	kept := http.Cookie{
		Name: cookie, Value: state, Path: PathCallback, MaxAge: int(tasks.AttemptTime.Seconds()),
		HttpOnly: true, Secure: strings.HasPrefix(p.Connections.Redirect, "https:"), SameSite: http.SameSiteLaxMode, // the server sends the browser back
	}
	if b.URL == "" {
		kept.Path, kept.SameSite = PathSecret, http.SameSiteStrictMode
		http.SetCookie(w, &kept)
		p.form(w, http.StatusOK, b, "")
		return
	}
	http.SetCookie(w, &kept)
	key := "connect.start"
	if b.Person == "" {
		key = "connect.start_shared"
	}
	p.page(w, http.StatusOK, b.Language, key, map[string]any{"Server": b.Server, "Name": b.Name, "Who": b.By, "Host": at.Host}, b.URL)
}

// holds reports whether the browser has opened the page that begins a sign-in.
func holds(r *http.Request, b connections.Begun) bool {
	kept, err := r.Cookie(cookie)
	return err == nil && subtle.ConstantTimeCompare([]byte(kept.Value), []byte(b.State)) == 1
}

// form shows the field for a secret. Problem says why the one before cannot be used; empty:
// there was none.
func (p pages) form(w http.ResponseWriter, status int, b connections.Begun, problem string) {
	key, lang := "connect.secret", cmp.Or(b.Language, i18n.Default)
	if b.Person == "" {
		key = "connect.secret_shared"
	}
	data := map[string]any{"Server": b.Server, "Name": b.Name, "Who": b.By}
	p.write(w, status, view{
		Language: lang, Title: p.Texts.Text(lang, key+".title", data), Text: p.Texts.Text(lang, key+".text", data),
		Form: &form{Action: secretForm, Field: secretField, State: b.State, Label: p.Texts.Text(lang, "secret.label", data), Problem: problem},
	})
}

// secret takes the secret of the form. Pages of other origins cannot send it: the browser
// gives them no cookie, and they do not know the state.
func (p pages) secret(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	b, err := p.Connections.Begun(r.Context(), r.PostFormValue("state"))
	if err == nil && !holds(r, b) {
		err = tasks.ErrNoConnection
	}
	if err != nil {
		p.problem(w, r, "", "connect.unknown", err)
		return
	}
	b, err = p.Connections.FinishSecret(r.Context(), b.State, r.PostFormValue(secretField))
	if bad, ok := errors.AsType[*tasks.SecretError](err); ok {
		p.form(w, http.StatusUnprocessableEntity, b, p.Texts.Text(b.Language, "secret."+bad.Problem, map[string]any{"Max": tasks.MaxSecret}))
		return
	}
	if err != nil {
		p.problem(w, r, b.Language, "connect.failed", err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Path: PathSecret, MaxAge: -1})
	p.page(w, http.StatusOK, b.Language, "connect.done", map[string]any{"Server": b.Server, "Name": b.Name, "Who": b.By, "Shared": b.Person == ""}, "")
}

// callback finishes a sign-in in the browser that has begun it. Another browser is told to
// bring the address to legwork: its person may be somebody else.
func (p pages) callback(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	b, err := p.Connections.Begun(r.Context(), query.Get("state"))
	if err != nil {
		p.problem(w, r, "", "connect.unknown", err)
		return
	}
	if !holds(r, b) {
		p.page(w, http.StatusForbidden, b.Language, "connect.copy", map[string]any{"Server": b.Server}, "")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookie, Path: PathCallback, MaxAge: -1})
	attempt, err := p.Connections.Finish(r.Context(), query, b.By)
	switch {
	case err == nil:
		p.page(w, http.StatusOK, b.Language, "connect.done", map[string]any{"Server": attempt.Server, "Name": b.Name, "Who": b.By, "Shared": attempt.Person == "", "Waits": attempt.Task != ""}, "")
	case errors.Is(err, tasks.ErrDenied):
		p.page(w, http.StatusOK, b.Language, "connect.denied", map[string]any{"Server": attempt.Server}, "")
	default:
		p.problem(w, r, b.Language, "connect.failed", err)
	}
}

// client is legwork's client metadata document.
func (p pages) client(w http.ResponseWriter, r *http.Request) {
	document, err := p.Connections.ClientDocument()
	if err != nil {
		p.problem(w, r, "", "connect.failed", err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(document) // the client may be gone
}

// problem logs why a sign-in goes no further, and says so.
func (p pages) problem(w http.ResponseWriter, r *http.Request, lang, key string, err error) {
	status := http.StatusBadGateway
	if errors.Is(err, tasks.ErrNoConnection) {
		status, key = http.StatusNotFound, "connect.unknown"
	} else {
		p.Log.WarnContext(r.Context(), "sign-in failed", "cause", err)
	}
	p.page(w, status, lang, key, nil, "")
}

// page writes a page with the texts KEY.title and KEY.text, and a link on when next is
// not empty.
func (p pages) page(w http.ResponseWriter, status int, lang, key string, data map[string]any, next string) {
	lang = cmp.Or(lang, i18n.Default)
	p.write(w, status, view{Language: lang, Title: p.Texts.Text(lang, key+".title", data), Text: p.Texts.Text(lang, key+".text", data), Next: next})
}

// view is what a page shows: texts, and a link on or a form.
type view struct {
	Language, Title, Text, Next, Button string
	Form                                *form
}

// form has one field for a secret.
type form struct{ Action, Field, State, Label, Problem string }

func (p pages) write(w http.ResponseWriter, status int, v view) {
	target := "'none'"
	if v.Form != nil {
		target = "'self'"
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action "+target)
	h.Set("Referrer-Policy", "no-referrer") // addresses hold the state
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	v.Button = p.Texts.Text(v.Language, "connect.button", nil)
	_ = p.template.Execute(w, v) // the client may be gone
}
