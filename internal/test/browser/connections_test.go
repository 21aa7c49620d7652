package browser_test

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/browser"
	"legwork/internal/test/fakes/oauthfake"
)

// withSignIns restarts legwork with the servers crm, at which each person signs in, and
// wiki, whose sign-in everybody shares.
func (e *env) withSignIns() {
	e.t.Helper()
	text := strings.Replace(e.config(), "http: {", fmt.Sprintf("http: {public_url: %q, ", e.URL), 1)
	for name, identity := range map[string]string{"crm": "person", "wiki": "shared"} {
		text = strings.Replace(text, "servers:\n", fmt.Sprintf("servers:\n  %s: {url: %q, auth: {type: oauth, identity: %s}}\n", name, oauthfake.New(e.t, name).URL+"/mcp", identity), 1)
	}
	e.kill()
	e.write("config.yaml", text)
	e.start()
}

// signsIn signs a role in at a server, in a browser of its own.
func (e *env) signsIn(role, server string) {
	e.t.Helper()
	code, text := e.call(role, http.MethodPost, "/v1/connections/"+server, nil)
	var begun struct{ URL string }
	if err := json.Unmarshal([]byte(text), &begun); code != http.StatusCreated || err != nil {
		e.t.Fatalf("beginning to sign %s in: got %d %s", role, code, text)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		e.t.Fatal(err)
	}
	b := &http.Client{Jar: jar}
	opens := func(address string) string {
		r, err := http.NewRequestWithContext(e.t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			e.t.Fatal(err)
		}
		response, err := b.Do(r)
		if err != nil {
			e.t.Fatal(err)
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		if err != nil {
			e.t.Fatal(err)
		}
		return string(page)
	}
	next := regexp.MustCompile(`href="([^"]+/authorize[^"]+)"`).FindStringSubmatch(opens(begun.URL))
	if next == nil {
		e.t.Fatalf("the page at %s has no link to the authorization server", begun.URL)
	}
	if page := opens(html.UnescapeString(next[1])); !strings.Contains(page, server+" is connected") {
		e.t.Fatalf("signing %s in: got %s", role, page)
	}
}

// TestConnections: a person connects a server in the page and disconnects it. An admin
// connects one for everybody, sees who has signed in, and ends that.
func TestConnections(t *testing.T) {
	e := newEnv(t, "")
	e.withSignIns()

	tab := e.enter("operator", browser.Narrow)
	tab.Go(e.URL + "/console/")
	tab.Click(browser.Button("Menu"))
	tab.Click(browser.Button("/Account and settings/"))
	tab.Click(browser.Element{Role: "menuitem", Name: "Connections"})
	tab.See(browser.Heading("Connections"))
	tab.Sees("An admin has to connect it.") // the shared wiki
	tab.Click(browser.Button("Connect"))
	tab.See(browser.Link("Go on"))
	var next string
	tab.Eval(`document.querySelector("dialog a.button").href`, &next)
	other := tab.Another()
	other.Go(next)
	other.Sees("in the name of operator (web:operator)")
	other.Click(browser.Link("Continue"))
	other.Sees("crm is connected")
	other.Close()
	tab.Sees("Connected to crm.")
	tab.Gone(browser.Link("Go on"))
	tab.Click(browser.Button("Disconnect"))
	tab.Sees("in your name no longer")
	tab.Click(browser.Element{Role: "button", Name: "Cancel"})

	for _, role := range []string{"admin", "operator"} {
		e.signsIn(role, "crm")
	}
	e.signsIn("admin", "wiki")
	e.logs(`msg="server is ready" server=wiki`) // it has used the sign-in
	admin := e.enter("admin", browser.Wide)
	admin.Go(e.URL + "/console/connections")
	for _, v := range []browser.View{browser.Wide, browser.DarkWide, browser.Narrow, browser.DarkNarrow} {
		admin.Look(v)
		admin.Reload() // colours take a moment to change
		admin.Sees("2 people have signed in")
		admin.Eval(`document.querySelector("details").open = true`, nil)
		admin.Sees("web:operator")
		admin.Until(loaded)
		var wide int
		if admin.Eval("document.documentElement.scrollWidth - innerWidth", &wide); wide > 0 {
			t.Errorf("the connections (%v) are %d pixels wider than the window", v, wide)
		}
		admin.Accessible("connections")
		admin.Resembles("connected", *update)
	}
	admin.Click(browser.Button("End all"))
	admin.Sees("End all sign-ins at crm?")
	admin.Eval(`document.querySelector("dialog .button.is-danger").click()`, nil)
	admin.Sees("Disconnected: crm.")
	admin.Sees("Nobody has signed in.")
	tab.Reload()
	tab.See(browser.Button("Connect"))

	var list struct {
		Items []struct{ Who, Action, Target, Detail string }
	}
	e.gets("admin", "/v1/audit?limit=2", &list)
	for _, entry := range list.Items {
		if entry.Who != "api:admin" || entry.Action != "connection.end" || entry.Target != "crm" {
			t.Errorf("the audit log has %+v, want that the admin ended sign-ins at crm", entry)
		}
	}
}
