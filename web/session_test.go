package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"legwork/bot"
	"legwork/store/memory"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web"
	"legwork/web/problem"
)

// signInEnv is a server at which people sign in.
type signInEnv struct {
	*testing.T
	at     string
	store  tasks.Store
	server *web.Server
	passed atomic.Int64 // of the clock

	mu     sync.Mutex
	access map[string]policy.Role // by the keys of people
	audit  []string
	prefer map[string]web.Preferences // by the keys of people
}

// prefers returns the preferences of a person, and sets them unless nil.
func (e *signInEnv) prefers(person string, set *web.Preferences) web.Preferences {
	e.mu.Lock()
	defer e.mu.Unlock()
	if set != nil {
		e.prefer[person] = *set
	}
	return e.prefer[person]
}

// newSignInEnv makes a server; tell, unless nil, changes its config.
func newSignInEnv(t *testing.T, tell func(*web.Config)) *signInEnv {
	t.Helper()
	e := &signInEnv{T: t, access: map[string]policy.Role{"telegram:1": policy.RolePerson, "telegram:2": policy.RoleAdmin}, prefer: map[string]web.Preferences{"web:ops": {Language: "en", Timezone: "UTC"}}}
	e.store = memory.New(e.now)
	c := web.WithClock(web.Config{
		Listen: "127.0.0.1:0", PublicURL: "https://bot.example.com", API: whoAmI,
		SignIn: &web.SignIn{
			Store: e.store, Rights: e.rights, Version: "1.0",
			Preferences: func(_ context.Context, person string) (web.Preferences, error) { return e.prefers(person, nil), nil },
			Prefer: func(_ context.Context, person string, p web.Preferences) error {
				if p.Language == "xx" {
					return problem.New(problem.Invalid, "no such language")
				}
				e.prefers(person, &p)
				return nil
			},
			Record: func(_ context.Context, a tasks.AuditEntry) {
				e.mu.Lock()
				defer e.mu.Unlock()
				e.audit = append(e.audit, a.Who+" "+a.Action+" "+a.Target)
			},
		},
	}, e.now)
	if tell != nil {
		tell(&c)
	}
	s, err := web.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait(); http.DefaultClient.CloseIdleConnections() })
	e.at, e.server = s.Address("http.listen"), s
	return e
}

func (e *signInEnv) now() time.Time {
	return time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC).Add(time.Duration(e.passed.Load()))
}

func (e *signInEnv) rights(_ context.Context, v tasks.ChatPerson) (api.Principal, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	role, ok := e.access[v.Person.Key()]
	if !ok {
		return api.Principal{}, api.ErrForbidden
	}
	return api.Principal{Role: role, Person: v.Person}, nil
}

// link makes a sign-in link of a person of Telegram, and returns its code.
func (e *signInEnv) link(id string) string {
	e.Helper()
	code := "code-of-" + id
	err := e.store.PutLink(e.Context(), tasks.SignInLink{ID: web.SecretID(code), ChatPerson: tasks.ChatPerson{Person: bot.Person{Platform: "telegram", ID: id, Name: "N" + id}}})
	if err != nil {
		e.Fatal(err)
	}
	return code
}

// post signs in with a body, and returns the answer and the cookie as NAME=SECRET.
func (e *signInEnv) post(body string, headers ...string) (answer, string) {
	e.Helper()
	got := ask(e.T, "POST", "http://"+e.at+"/v1/session", body, append([]string{"Content-Type: application/json"}, headers...)...)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	return got, cookie
}

// signIn signs a person of Telegram in.
func (e *signInEnv) signIn(id string) (cookie string) {
	e.Helper()
	got, cookie := e.post(`{"link": "` + e.link(id) + `"}`)
	if got.status != http.StatusNoContent || cookie == "" {
		e.Fatalf("signing in %s: got %+v", id, got)
	}
	return cookie
}

// get sends a request with a cookie.
func (e *signInEnv) call(method, path, cookie string, headers ...string) answer {
	e.Helper()
	if cookie != "" {
		headers = append(headers, "Cookie: "+cookie)
	}
	return ask(e.T, method, "http://"+e.at+path, "", headers...)
}

// is expects the status of a request with a cookie.
func (e *signInEnv) is(what, method, path, cookie string, status int, headers ...string) answer {
	e.Helper()
	got := e.call(method, path, cookie, headers...)
	if got.status != status {
		e.Errorf("%s: %s %s: got %d %s, want %d", what, method, path, got.status, got.body, status)
	}
	return got
}

// TestSignInByToken: a session by a token may do what the token may, until it is gone.
func TestSignInByToken(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleOperator)
	ops.Person = bot.Person{Platform: "web", ID: "ops", Name: "ops"}
	scout, scoutText := newToken("scout", policy.RoleAgent)
	e := newSignInEnv(t, func(c *web.Config) { c.Access = access(ops, scout) })
	got, cookie := e.post(`{"token": " ` + text + ` "}`)
	port := e.at[strings.LastIndex(e.at, ":")+1:]
	want := "; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict"
	if name, rest, _ := strings.Cut(got.header.Get("Set-Cookie"), "="); got.status != 204 || name != "legwork-"+port || !strings.HasSuffix(rest, want) || len(cookie) < 50 {
		t.Fatalf("signing in: got %d %q", got.status, got.header.Get("Set-Cookie"))
	}
	if strings.Contains(cookie, text) {
		t.Errorf("the cookie holds the token: %s", cookie)
	}
	if who := e.is("a call", "GET", "/v1/tasks", cookie, 200); who.body != "api:ops operator 127.0.0.1 0 <nil>" {
		t.Errorf("the caller is %q", who.body)
	}
	var me web.Me
	if err := json.Unmarshal([]byte(e.is("me", "GET", "/v1/session", cookie, 200).body), &me); err != nil || me.Name != "ops" || me.Person != "web:ops" || !me.Chat || me.Config || me.Session == nil || me.Version != "1.0" || me.Language != "en" || me.Timezone != "UTC" {
		t.Errorf("me is %+v, %v", me, err)
	}
	for body, status := range map[string]int{`{"language": "ru", "timezone": "Asia/Tokyo"}`: 204, `{"language": "xx"}`: 422, `{`: 400} {
		if got := ask(t, "PATCH", "http://"+e.at+"/v1/session", body, "Content-Type: application/json", "Cookie: "+cookie); got.status != status {
			t.Errorf("changing the preferences by %s: got %d %s, want %d", body, got.status, got.body, status)
		}
	}
	if got := e.is("me after a change", "GET", "/v1/session", cookie, 200).body; !strings.Contains(got, `"language":"ru","timezone":"Asia/Tokyo"`) {
		t.Errorf("after a change, me is %s", got)
	}
	if got, _ := e.post(`{"token": "` + scoutText + `"}`); got.status != 403 {
		t.Errorf("an agent signs in: got %d, want 403", got.status)
	}
	next, _ := newToken("ops2", policy.RoleOperator)
	next.Name = "ops" // the same name, another text
	e.server.Use(access(next))
	e.is("a replaced token", "GET", "/v1/tasks", cookie, 401)
	e.server.Use(access(ops))
	lesser := ops
	lesser.Role = policy.RoleViewer
	e.server.Use(access(lesser))
	if who := e.is("a lesser token", "GET", "/v1/tasks", cookie, 200); !strings.Contains(who.body, "viewer") {
		t.Errorf("the caller is %q", who.body)
	}
}

// TestSignInByLink: a link works once and for some minutes.
func TestSignInByLink(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, nil)
	cookie := e.signIn("1")
	if who := e.is("a call", "GET", "/v1/tasks", cookie, 200); who.body != "telegram:1 person 127.0.0.1 0 <nil>" {
		t.Errorf("the caller is %q", who.body)
	}
	if got, _ := e.post(`{"link": "code-of-1"}`); got.status != 401 {
		t.Errorf("a link that was used: got %d, want 401", got.status)
	}
	code := e.link("1")
	e.passed.Add(int64(tasks.LinkTime))
	if got, cookie := e.post(`{"link": "` + code + `"}`); got.status != 401 || cookie != "" {
		t.Errorf("a link whose time is over: got %d %q, want 401", got.status, cookie)
	}
	if got, _ := e.post(`{"link": "` + e.link("3") + `"}`); got.status != 401 {
		t.Errorf("a stranger: got %d, want 401", got.status)
	}
	if ways := e.is("ways", "GET", "/v1/session/ways", "", 200); ways.body != `{"token":false,"oidc":""}`+"\n" {
		t.Errorf("ways: %s", ways.body)
	}
}

// TestGuessedLinks: an address that guesses has to wait.
func TestGuessedLinks(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, nil)
	limited := 0
	for i := range 30 {
		got, _ := e.post(fmt.Sprintf(`{"link": "guess %d"}`, i))
		if got.status == 429 && got.header.Get("Retry-After") != "" {
			limited++
		} else if got.status != 401 {
			t.Fatalf("a guess: got %d", got.status)
		}
	}
	if limited != 10 {
		t.Errorf("of 30 guesses %d had to wait, want 10", limited)
	}
}

// TestBadSignIns: bodies and headers that no page sends.
func TestBadSignIns(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	e := newSignInEnv(t, func(c *web.Config) { c.Access = access(ops) })
	right := `{"token": "` + text + `"}`
	for _, c := range []struct {
		name, body string
		headers    []string
		status     int
	}{
		{"nothing", "", nil, 400},
		{"no object", "[]", nil, 400},
		{"neither", "{}", nil, 422},
		{"both", `{"token": "x", "link": "y"}`, nil, 422},
		{"a number", `{"token": 7}`, nil, 400},
		{"much", `{"token": "` + strings.Repeat("x", 5000) + `"}`, nil, 413},
		{"the hash", fmt.Sprintf(`{"token": "%x"}`, ops.Hash), nil, 401},
		{"another origin", right, []string{"Origin: https://evil.example.com"}, 403},
		{"a neighbour", right, []string{"Sec-Fetch-Site: same-site"}, 403},
		{"another host", right, []string{"Host: evil.example.com"}, 421},
	} {
		if got, cookie := e.post(c.body, c.headers...); got.status != c.status || cookie != "" {
			t.Errorf("%s: got %d %q %s, want %d and no cookie", c.name, got.status, cookie, got.body, c.status)
		}
	}
	if got := ask(t, "POST", "http://"+e.at+"/v1/session", right, "Content-Type: text/plain"); got.status != 415 {
		t.Errorf("a form: got %d, want 415", got.status)
	}
	e.is("another method", "PUT", "/v1/session", "", 401)
	e.is("an unknown path", "GET", "/v1/session/other", "", 401)
}

// TestForeignCookies: a cookie opens only the legwork that it was made by, and only
// under the name that fits the connection.
func TestForeignCookies(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, func(c *web.Config) { c.Access.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} })
	other := newSignInEnv(t, nil)
	cookie := e.signIn("1")
	name, secret, _ := strings.Cut(cookie, "=")
	_, foreign, _ := strings.Cut(other.signIn("1"), "=")
	e.is("of another legwork", "GET", "/v1/tasks", name+"="+foreign, 401)
	e.is("under the name of another", "GET", "/v1/tasks", "legwork-1="+secret, 401)
	e.is("a chosen one", "GET", "/v1/tasks", name+"="+strings.Repeat("A", 52), 401)
	e.is("its hash", "GET", "/v1/tasks", name+"="+web.SecretID(secret), 401)
	e.is("an endless one", "GET", "/v1/tasks", name+"="+strings.Repeat("A", 5000), 401)

	got, secure := e.post(`{"link": "`+e.link("1")+`"}`, "Host: bot.example.com", "Origin: https://bot.example.com")
	if text := got.header.Get("Set-Cookie"); !strings.HasPrefix(text, "__Host-legwork=") || !strings.Contains(text, "; Secure") {
		t.Fatalf("over https: got %d %q", got.status, text)
	}
	e.is("over https", "GET", "/v1/tasks", secure, 200, "Host: bot.example.com")
	e.is("set over http, for https", "GET", "/v1/tasks", strings.TrimPrefix(secure, "__Host-"), 401, "Host: bot.example.com")
	got, _ = e.post(`{"link": "`+e.link("1")+`"}`, "X-Forwarded-Proto: https")
	if text := got.header.Get("Set-Cookie"); !strings.HasPrefix(text, "__Host-legwork-") {
		t.Errorf("behind a trusted proxy: got %q", text)
	}
}

// TestSessionFixation: signing in never keeps a secret that the browser had before.
func TestSessionFixation(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, nil)
	first := e.signIn("1")
	got, second := e.post(`{"link": "`+e.link("2")+`"}`, "Cookie: "+first)
	if got.status != 204 || second == first {
		t.Fatalf("signing in again: got %d %q", got.status, second)
	}
	e.is("the first session", "GET", "/v1/tasks", first, 401)
	e.is("the second session", "GET", "/v1/tasks", second, 200)
	e.is("a page of another origin", "POST", "/v1/tasks", second, 403, "Origin: https://evil.example.com")
	e.is("a page of another origin signs out", "DELETE", "/v1/session", second, 403, "Sec-Fetch-Site: cross-site")
	if out := e.is("signing out", "DELETE", "/v1/session", second, 204); !strings.Contains(out.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("signing out: the cookie is %q", out.header.Get("Set-Cookie"))
	}
	e.is("signed out", "GET", "/v1/session", second, 401)
	e.is("signing out again", "DELETE", "/v1/session", second, 204)
	for range 60 { // as many tabs ask
		e.is("signed out", "GET", "/v1/session", second, 401)
	}
}

// TestSessionTime: a session ends without use.
func TestSessionTime(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, nil)
	cookie := e.signIn("1")
	for range 3 {
		e.passed.Add(int64(tasks.SessionIdle - time.Minute))
		e.is("in use", "GET", "/v1/tasks", cookie, 200)
	}
	e.passed.Add(int64(tasks.SessionIdle))
	e.is("idle", "GET", "/v1/tasks", cookie, 401)
}

// TestRevokedSessions: running requests of a session end with it, however it ends.
func TestRevokedSessions(t *testing.T) {
	t.Parallel()
	ops, text := newToken("ops", policy.RoleAdmin)
	e := newSignInEnv(t, func(c *web.Config) { c.API, c.Access = stream, access(ops) })
	begin := func(cookie string) *bufio.Reader {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+e.at+"/v1/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Cookie", cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		r := bufio.NewReader(resp.Body)
		if line, err := r.ReadString('\n'); err != nil || line != "begun\n" {
			t.Fatalf("a stream begins with %q, %v", line, err)
		}
		return r
	}
	idOf := func(cookie string) string {
		_, secret, _ := strings.Cut(cookie, "=")
		return web.SecretID(secret)
	}
	ann, boss := e.signIn("1"), e.signIn("2")
	_, byToken := e.post(`{"token": "` + text + `"}`)
	for _, c := range []struct {
		name, cookie string
		end          func(cookie string)
	}{
		{"signed out", e.signIn("1"), func(cookie string) { e.is("signing out", "DELETE", "/v1/session", cookie, 204) }},
		{"revoked elsewhere", e.signIn("1"), func(cookie string) { e.is("revoking", "DELETE", "/v1/sessions/"+idOf(cookie), ann, 204) }},
		{"revoked itself", e.signIn("1"), func(cookie string) { e.is("revoking", "DELETE", "/v1/sessions/"+idOf(cookie), cookie, 204) }},
		{"revoked by an admin", ann, func(cookie string) { e.is("revoking", "DELETE", "/v1/sessions/"+idOf(cookie), boss, 204) }},
		{"the token went", byToken, func(string) { e.server.Use(web.Access{Rate: 10_000}) }},
		{"the person went", boss, func(string) {
			e.mu.Lock()
			delete(e.access, "telegram:2")
			e.mu.Unlock()
			e.server.Use(web.Access{Rate: 10_000})
		}},
	} {
		r := begin(c.cookie)
		c.end(c.cookie)
		if rest, err := io.ReadAll(r); err == nil || strings.Contains(string(rest), "secret") {
			t.Errorf("%s: the stream ended with %q, %v; want it cut off", c.name, rest, err)
		}
		e.is(c.name, "GET", "/v1/session", c.cookie, 401)
	}
}

// TestListSessions: people see and end their own sessions, admins all.
func TestListSessions(t *testing.T) {
	t.Parallel()
	e := newSignInEnv(t, nil)
	ann, boss := e.signIn("1"), e.signIn("2")
	list := func(path, cookie string) (rows []web.SessionRow) {
		t.Helper()
		var page struct{ Items []web.SessionRow }
		if err := json.Unmarshal([]byte(e.is("list", "GET", path, cookie, 200).body), &page); err != nil {
			t.Fatal(err)
		}
		return page.Items
	}
	own := list("/v1/sessions", ann)
	if len(own) != 1 || own[0].Person != "telegram:1" || own[0].Name != "N1" || own[0].Way != "link" || !own[0].Current || own[0].Address != "127.0.0.1" {
		t.Errorf("the sessions of a person are %+v", own)
	}
	if all := list("/v1/sessions?all=true", boss); len(all) != 2 {
		t.Errorf("all sessions are %+v", all)
	}
	e.is("all, for a person", "GET", "/v1/sessions?all=true", ann, 403)
	var others string
	for _, s := range list("/v1/sessions?all=true", boss) {
		if s.Current {
			others = s.ID
		}
	}
	e.is("the session of another", "DELETE", "/v1/sessions/"+others, ann, 404)
	e.is("no session", "DELETE", "/v1/sessions/x", ann, 404)
	e.is("another method", "POST", "/v1/sessions", ann, 405)
	e.mu.Lock()
	defer e.mu.Unlock()
	if want := "telegram:1 session.start link"; len(e.audit) != 2 || e.audit[0] != want {
		t.Errorf("the audit log has %q", e.audit)
	}
}
