package e2e_test

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"legwork/internal/test/fakes/oauthfake"
)

// rekeyMoments are those between the steps of a change of the sealing key.
var rekeyMoments = []string{"rekey.before.seal", "rekey.before.rename", "rekey.after.rename"}

// TestRekeyKilled: a sign-in is lost by no kill during a change of the sealing key, be it
// made by the command itself or by the legwork that runs beside it.
func TestRekeyKilled(t *testing.T) {
	t.Parallel()
	hasty(t) // is built before the time counts
	crm := oauthfake.New(t, "crm")
	o := newSlackEnv(t, slackOptions{options: options{think: whoami}})
	o.haste = 1
	o.configure(strings.Replace(strings.Replace(o.config, "groups:\n", "groups:\n  crm: {description: Knows customers., servers: [crm], approve: never}\n", 1), "servers:\n", fmt.Sprintf("servers:\n  crm: {url: %q, auth: {type: oauth, identity: person}}\n", crm.URL+"/mcp"), 1))
	s := o.opens()
	o.slash("/legwork", "connect crm", annDM, ann)
	text := o.Shown(o.answers(in(annDM), "Open this address"))
	at := oauthfake.Agree(t, regexp.MustCompile(`http://\S+/authorize\?[^\s>|]+`).FindString(text), ann)
	o.Say(annDM, ann, at.String(), "")
	o.answers(in(annDM), "Connected to", "crm")
	s.stops()

	for _, moment := range rekeyMoments {
		cmd := o.command("data", "rekey")
		cmd.Env = append(cmd.Env, "LEGWORK_FAILPOINT="+moment+":1")
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: got %v, %s, want a kill", moment, err, out)
		}
		o.runs([]string{"Sealed 1 sign-ins with the key"}, "data", "rekey")
	}
	vars := o.vars
	for _, moment := range rekeyMoments {
		o.vars = append(vars[:len(vars):len(vars)], "LEGWORK_FAILPOINT="+moment+":1")
		s := o.opens()
		if code, out, said := o.finish("", "data", "rekey"); code != 1 || !strings.Contains(said, "legwork ended before it answered") {
			t.Errorf("%s: got exit code %d, %q, %q; want 1, and that legwork has ended", moment, code, out, said)
		}
		if s.code(); s.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: legwork ended with %v, want a kill", moment, s.cmd.ProcessState)
		}
		o.vars = vars
		o.runs([]string{"Sealed 1 sign-ins with the key"}, "data", "rekey")
	}
	s = o.opens()
	o.runs([]string{"Sealed 1 sign-ins with the key"}, "data", "rekey")
	o.Say(annDM, ann, "who am I?", "")
	o.answers(in(annDM), "You are "+ann+".")
	s.stops()
}
