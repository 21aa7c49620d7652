package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"legwork/internal/test/fakes/llmfake"
	"legwork/internal/test/fakes/oauthfake"
)

// whoami is a model that asks the server crm who the caller is, and answers with that.
func whoami(r llmfake.Request) llmfake.Response {
	said := regexp.MustCompile(`You are [\w.]+\.|requires a sign-in: [^.]+`)
	step, _ := llmfake.StepOf(r)
	found := said.FindAllString(prompt(r), -1)
	switch {
	case step == llmfake.StepPlan:
		return llmfake.Call("plan", `{"plan": [{"name": "crm", "description": "Ask who the caller is", "after": []}]}`)
	case len(found) > 0:
		return llmfake.Say("It says: " + found[len(found)-1])
	case step == llmfake.StepWork:
		return llmfake.Call("crm__whoami", "{}")
	}
	return llmfake.Say("It says nothing.")
}

// TestConnections: two people in one workspace sign in at one server, and each acts in
// their own name; without a sign-in they read what to do.
func TestConnections(t *testing.T) {
	t.Parallel()
	crm := oauthfake.New(t, "crm")
	o := newSlackEnv(t, slackOptions{options: options{think: whoami}})
	o.configure(strings.Replace(strings.Replace(o.config, "groups:\n", "groups:\n  crm: {description: Knows customers., servers: [crm], approve: never}\n", 1), "servers:\n", fmt.Sprintf("servers:\n  crm: {url: %q, auth: {type: oauth, identity: person}}\n", crm.URL+"/mcp"), 1))
	s := o.opens()

	o.Say(annDM, ann, "who am I?", "")
	o.answers(in(annDM), "the person has to write /connect crm to legwork in a private chat")

	// Ben's browser cannot reach legwork: he sends the address on which it ends.
	link := func(dm, user string) string {
		t.Helper()
		o.slash("/legwork", "connect crm", dm, user)
		text := o.Shown(o.answers(in(dm), "Open this address"))
		return regexp.MustCompile(`http://\S+/authorize\?[^\s>|]+`).FindString(text)
	}
	for dm, user := range map[string]string{annDM: ann, benDM: ben} {
		at := oauthfake.Agree(t, link(dm, user), user)
		o.Say(dm, user, at.String(), "")
		o.answers(in(dm), "Connected to", "crm")
	}
	for dm, user := range map[string]string{annDM: ann, benDM: ben} {
		o.Say(dm, user, "and who am I now?", "")
		o.answers(in(dm), "You are "+user+".")
	}
	s.stops()
}
