package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/oauthfake"
)

// whoami is a model that asks the server crm who the caller is, and answers with that.
func whoami(r llmfake.Request) llmfake.Response {
	said := regexp.MustCompile(`You are [\w.]+\.`)
	step, _ := llmfake.StepOf(r)
	found := said.FindAllString(prompt(r), -1)
	switch {
	case step == llmfake.StepPlan:
		return llmfake.Call("plan", `{"plan": [{"name": "crm", "description": "Ask who the caller is", "after": []}]}`)
	case len(found) > 0:
		return llmfake.Say("It says: " + found[len(found)-1])
	case step == llmfake.StepWork && !strings.Contains(prompt(r), "No person signed in"):
		return llmfake.Call("crm__whoami", "{}")
	}
	return llmfake.Say("It says nothing.")
}

// TestConnections: two people in one workspace ask what a server knows of them. Their
// questions wait until they have signed in, one of them over a restart, and each acts in
// their own name. Who does not want to sign in can go on without.
func TestConnections(t *testing.T) {
	t.Parallel()
	crm := oauthfake.New(t, "crm")
	o := newSlackEnv(t, slackOptions{options: options{think: whoami}})
	o.configure(strings.Replace(strings.Replace(o.config, "groups:\n", "groups:\n  crm: {description: Knows customers., servers: [crm], approve: never}\n", 1), "servers:\n", fmt.Sprintf("servers:\n  crm: {url: %q, auth: {type: oauth, identity: person}}\n", crm.URL+"/mcp"), 1))
	s := o.opens()

	o.Say(annDM, ann, "who am I?", "")
	card := o.offers(in(annDM), "Connect", "crm", "requires you to sign in")
	o.taps(card, "Connect", ann)
	o.agrees(annDM, ann)
	o.answers(in(annDM), "You are "+ann+".")
	o.sees(in(annDM), "Signed in: ann")

	o.Say(benDM, ben, "who am I?", "")
	o.taps(o.offers(in(benDM), "Go on without", "crm"), "Go on without", ben)
	o.answers(in(benDM), "It says nothing.")

	// Everybody sees that Ben's question waits, and only he can sign in for it.
	thread := o.asks(general, ben, "who am I?")
	o.sees(thread, "a question about this waits for you in our private chat")
	card = o.offers(in(benDM), "Connect", "crm", "requires you to sign in")
	s.stops()
	s = o.opens()
	o.taps(card, "Connect", ben)
	o.agrees(benDM, ben)
	o.answers(thread, "You are "+ben+".")
	o.Say(annDM, ann, "and who am I now?", "")
	o.answers(in(annDM), "You are "+ann+".")
	const both = "\ncrm: 2 people have signed in, each for their own tasks\n"
	o.finds(0, both, "tools", "list") // beside a running legwork
	s.stops()
	o.finds(0, both, "tools", "list")
}

// finds runs a command, which has to end with code and to print text.
func (w *env) finds(code int, text string, args ...string) {
	w.t.Helper()
	if got, out, said := w.finish("", args...); got != code || !strings.Contains(out, text) {
		w.t.Errorf("%v: got exit code %d, %q and\n%s\nwant %d and %q", args, got, said, out, code, text)
	}
}

// TestSignInsOfCommands: commands take a server behind a sign-in for one that works, and
// say what people have to do. They refuse one at which people could not sign in.
func TestSignInsOfCommands(t *testing.T) {
	t.Parallel()
	w := bench(t, fmt.Sprintf("  wiki: {url: %q, auth: {type: oauth}}\n  crm: {url: %q, auth: {type: oauth, identity: person}}\n", oauthfake.New(t, "wiki").URL+"/mcp", oauthfake.New(t, "crm").URL+"/mcp"))
	w.configure(strings.Replace(w.config, `"http://127.0.0.1:1/v1"`, fmt.Sprintf("%q, api_key: sk-secret-bench", llmfake.New(t, llmfake.Options{Key: "sk-secret-bench"}).URL), 1))
	const shared = "\nwiki: no person has signed in; an admin writes /connect wiki to legwork in a private chat\n"
	w.finds(0, shared, "tools", "list")
	w.finds(0, shared, "check", "--probe")
	w.finds(0, "\ncrm: no person has signed in; each person writes /connect crm", "check", "--probe")
	if l, code := w.listing(); code != 0 || len(l.Servers) != 3 || l.Servers[0].SignIn == nil || l.Servers[0].SignIn.Identity != "person" || l.Servers[1].SignIn != nil {
		t.Errorf("got exit code %d, %+v; want the sign-ins of crm and wiki", code, l.Servers)
	}
	if code, _, said := w.finish("", "tools", "call", "crm", "whoami"); code != 1 || !strings.Contains(said, "requires the sign-in of a person, which this command does not use") {
		t.Errorf("calling a tool behind a sign-in: got exit code %d, %q", code, said)
	}

	lost := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"resource": "http://" + r.Host + "/mcp", "authorization_servers": []string{"http://127.0.0.1:1"}})
	}))
	defer lost.Close()
	w.configure(strings.Replace(w.config, "  wiki: {url", fmt.Sprintf("  lost: {url: %q, auth: {type: oauth}}\n  wiki: {url", lost.URL+"/mcp"), 1))
	w.finds(1, "it requires a sign-in, which cannot work: reading the metadata of the authorization server http://127.0.0.1:1", "check", "--probe")
}

// TestSharedConnection: a question waits for the sign-in that everybody shares. Only an
// admin can sign in.
func TestSharedConnection(t *testing.T) {
	t.Parallel()
	crm := oauthfake.New(t, "crm")
	o := newSlackEnv(t, slackOptions{options: options{think: whoami}})
	o.configure(strings.Replace(strings.Replace(o.config, "groups:\n", "groups:\n  crm: {description: Knows customers., servers: [crm], approve: never}\n", 1), "servers:\n", fmt.Sprintf("servers:\n  crm: {url: %q, auth: {type: oauth}}\n", crm.URL+"/mcp"), 1))
	s := o.opens()
	o.Say(benDM, ben, "who am I?", "")
	card := o.offers(in(benDM), "Connect", "a sign-in, which everybody shares", "I have told the admins")
	o.taps(card, "Connect", ben)
	o.sees(in(benDM), "Only an admin can change it")
	o.taps(o.offers(in(annDM), "Connect", "Tasks wait for the sign-in at", "crm"), "Connect", ann)
	o.agrees(annDM, ann)
	o.answers(in(benDM), "You are "+ann+".")
	o.slash("/legwork", "connections", annDM, ann)
	o.taps(o.offers(in(annDM), "Disconnect: crm", "connected since"), "Disconnect: crm", ann)
	o.sees(in(annDM), "Disconnected from", "crm")
	s.stops()
}

// agrees signs a person in. Their browser cannot reach legwork: they send the address on
// which it ends.
func (o *slackEnv) agrees(dm, user string) {
	o.t.Helper()
	text := o.Shown(o.sees(in(dm), "Open this address"))
	link := regexp.MustCompile(`http://\S+/authorize\?[^\s>|]+`).FindString(text)
	o.Say(dm, user, oauthfake.Agree(o.t, link, user).String(), "")
	o.sees(in(dm), "Connected to", "crm")
}
