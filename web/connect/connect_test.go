package connect_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"legwork/i18n"
	"legwork/internal/seal"
	"legwork/internal/test/fakes/oauthfake"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tools"
	"legwork/web/connect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// env is legwork with the pages, a server crm at which each person signs in, and a wiki for
// which each gives a secret.
type env struct {
	t           *testing.T
	connections *connections.Connections
	page        *httptest.Server
	log         bytes.Buffer
}

func newEnv(t *testing.T) *env {
	t.Helper()
	crm := oauthfake.New(t, "crm")
	texts, err := i18n.Load("")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	e := &env{t: t, page: httptest.NewServer(mux)}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		e.page.Close()
	})
	e.connections = connections.New(connections.Config{
		Store: memory.New(nil), Sealer: seal.NewKeyring(nil, seal.NewKey()), Redirect: e.page.URL + connect.PathCallback,
		Document: "https://legwork.example.com" + connect.PathClient, SignsIn: func(string) bool { return true }, Now: time.Now,
	})
	e.connections.Authorizer("crm", "", tools.ServerConfig{URL: crm.URL + "/mcp", Auth: &tools.Auth{Type: "oauth", Identity: tools.IdentityPerson}})
	e.connections.Authorizer("wiki", "", tools.ServerConfig{URL: "https://wiki.example.com/mcp", Auth: &tools.Auth{Type: "secret", Identity: tools.IdentityPerson, Header: "X-Key: {secret}"}})
	open, forms := connect.Handlers(connect.Config{Connections: e.connections, Texts: texts, Log: slog.New(slog.NewTextHandler(&e.log, nil))})
	for path, h := range open {
		mux.Handle("GET "+path, h)
	}
	for path, h := range forms {
		mux.Handle("POST "+path, h)
	}
	return e
}

// begin begins a sign-in of ann at the crm.
func (e *env) begin(language string) connections.Begun {
	e.t.Helper()
	return e.beginAt("crm", language)
}

func (e *env) beginAt(server, language string) connections.Begun {
	e.t.Helper()
	b, err := e.connections.Begin(e.t.Context(), connections.Wish{ConnectionID: tasks.ConnectionID{Server: server, Person: "slack:U1"}, By: "slack:U1", Reader: connections.Reader{Name: "Ann <b>", Language: language}})
	if err != nil {
		e.t.Fatal(err)
	}
	return b
}

// browser is an empty browser.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

func (e *env) opens(b *http.Client, address string, status int, texts ...string) string {
	e.t.Helper()
	resp, err := b.Get(address)
	return e.shows(resp, err, address, status, texts...)
}

// sends sends the form of a page with a secret.
func (e *env) sends(b *http.Client, state, secret string, status int, texts ...string) string {
	e.t.Helper()
	address := e.page.URL + connect.PathSecret
	resp, err := b.PostForm(address, url.Values{"state": {state}, "secret": {secret}})
	return e.shows(resp, err, address, status, texts...)
}

// shows checks a page.
func (e *env) shows(resp *http.Response, err error, address string, status int, texts ...string) string {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, text := range texts {
		if !strings.Contains(string(page), text) {
			e.t.Errorf("%s: the page lacks %q:\n%s", address, text, page)
		}
	}
	if resp.StatusCode != status || resp.Header.Get("Cache-Control") != "no-store" && status != 0 {
		e.t.Errorf("%s: got %s and Cache-Control %q, want status %d and no-store", address, resp.Status, resp.Header.Get("Cache-Control"), status)
	}
	return string(page)
}

func TestPages(t *testing.T) {
	e := newEnv(t)
	begun, ann := e.begin("en"), browser(t)
	start := connect.StartAddress(e.page.URL, begun.State)
	page := e.opens(ann, start, http.StatusOK, "Connect crm", "in the name of Ann &lt;b&gt; (slack:U1)", "127.0.0.1:", "Continue")
	if strings.Contains(page, "<b>") {
		t.Errorf("a name is not escaped:\n%s", page)
	}
	back := oauthfake.Agree(t, begun.URL, "ann").String()

	// Somebody whose browser has not read the first page may be somebody else.
	e.opens(browser(t), back, http.StatusForbidden, "One step is left", "copy the address of this page", "Do not give the address to other people")
	e.opens(ann, back, http.StatusOK, "crm is connected", "You can close this page")
	e.opens(ann, back, http.StatusNotFound, "This sign-in is not known")
	e.opens(ann, start, http.StatusNotFound, "This sign-in is not known")
	list, err := e.connections.Store.Connections(t.Context())
	if err != nil || len(list) != 1 || list[0].Person != "slack:U1" {
		t.Errorf("got %+v, %v, want ann's connection", list, err)
	}
}

// TestBadRedirects: what did not work out is said in the language of the person.
func TestBadRedirects(t *testing.T) {
	e := newEnv(t)
	for name, c := range map[string]struct {
		change func(url.Values)
		status int
		text   string
	}{
		"denied":        {func(q url.Values) { q.Set("error", "access_denied") }, http.StatusOK, "Не подключено"},
		"other issuer":  {func(q url.Values) { q.Set("iss", "https://evil.example") }, http.StatusBadGateway, "Вход не удался"},
		"invented code": {func(q url.Values) { q.Set("code", "x") }, http.StatusBadGateway, "Вход не удался"},
	} {
		t.Run(name, func(t *testing.T) {
			begun, ann := e.begin("ru"), browser(t)
			e.opens(ann, connect.StartAddress(e.page.URL, begun.State), http.StatusOK, "Подключить crm")
			back := oauthfake.Agree(t, begun.URL, "ann")
			q := back.Query()
			c.change(q)
			back.RawQuery = q.Encode()
			e.opens(ann, back.String(), c.status, c.text)
		})
	}
	e.opens(browser(t), e.page.URL+connect.PathCallback+"?state=x&code=y", http.StatusNotFound, "This sign-in is not known")
	e.opens(browser(t), e.page.URL+connect.PathCallback, http.StatusNotFound, "This sign-in is not known")
	if list, err := e.connections.Store.Connections(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("got %+v, %v, want no connection", list, err)
	}
}

func TestClientDocument(t *testing.T) {
	e := newEnv(t)
	resp, err := http.Get(e.page.URL + connect.PathClient)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	for _, want := range []string{`"client_id":"https://legwork.example.com/connections/client.json"`, `"redirect_uris":["` + e.page.URL + `/connections/callback"]`, `"token_endpoint_auth_method":"none"`} {
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("got %s, %v, want it to hold %s", text, err, want)
		}
	}
}

// TestSecretPage: ann enters her secret in the browser that has read the page, once.
func TestSecretPage(t *testing.T) {
	e := newEnv(t)
	const secret = "canary-<of>-ann"
	begun, ann := e.beginAt("wiki", "en"), browser(t)
	start := connect.StartAddress(e.page.URL, begun.State)
	e.sends(ann, begun.State, secret, http.StatusNotFound, "This sign-in is not known") // a page of another origin made the browser send it
	e.opens(ann, start, http.StatusOK, "Connect wiki", "in the name of Ann &lt;b&gt; (slack:U1)", `<input type="password"`, "Your secret for wiki", `action="secret"`)
	e.sends(browser(t), begun.State, secret, http.StatusNotFound, "This sign-in is not known")
	e.sends(ann, "x", secret, http.StatusNotFound, "This sign-in is not known")
	for bad, says := range map[string]string{" ": "it is empty", "a\nb": "it has a line break", strings.Repeat("x", tasks.MaxSecret+1): "more than 4096 bytes"} {
		if page := e.sends(ann, begun.State, bad, http.StatusUnprocessableEntity, says, `type="password"`); strings.Contains(page, "xxx") {
			t.Error("the page repeats what was entered")
		}
	}
	if page := e.sends(ann, begun.State, secret, http.StatusOK, "wiki is connected", "You can close this page"); strings.Contains(page, "canary") {
		t.Errorf("the page repeats the secret:\n%s", page)
	}
	e.sends(ann, begun.State, secret, http.StatusNotFound, "This sign-in is not known")
	e.opens(ann, start, http.StatusNotFound, "This sign-in is not known")
	list, err := e.connections.Store.Connections(t.Context())
	if err != nil || len(list) != 1 || list[0].Person != "slack:U1" || list[0].Kind != "secret" {
		t.Errorf("got %+v, %v, want ann's connection", list, err)
	}
	if strings.Contains(e.log.String(), "canary") {
		t.Errorf("the secret is logged:\n%s", &e.log)
	}
	for language, says := range map[string]string{"ru": "Ваш секрет для wiki", "zh": "您的 wiki 密钥"} {
		e.opens(browser(t), connect.StartAddress(e.page.URL, e.beginAt("wiki", language).State), http.StatusOK, says)
	}
}
