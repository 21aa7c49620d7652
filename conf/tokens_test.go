package conf_test

import (
	"slices"
	"strings"
	"testing"

	"legwork/conf"
)

func TestTokens(t *testing.T) {
	config, err := conf.Load(write(t, minimal+`
http:
  listen: 0.0.0.0:8080
  tokens:
    - {name: ops, role: admin, sha256: "`+conf.HashToken("lw_ops")+`"}
    - {name: scout, role: agent, sha256: "`+strings.ToUpper(conf.HashToken("lw_scout"))+`"}
    - {name: eye, role: viewer, sha256: "`+conf.HashToken("eye")+`", chats: ["slack:C1"]}
    - {name: hand, role: operator, sha256: "`+conf.HashToken("lw_hand")+`", chats: ["slack:C1"], webhooks: [ops]}
    - {name: tea, role: viewer, sha256: "`+conf.HashToken("password\n")+`", webhooks: []}
alerts: {webhooks: {ops: {url: "http://localhost:1", secret: twenty-four-characters-at-least}}}
`), variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"*"}, {"api:scout"}, {"slack:C1"}, {"slack:C1", "api:hand"}, {"*"}}
	named := [][]string{{"*"}, {"*"}, {"*"}, {"ops"}, nil}
	for i, token := range config.HTTP.Tokens {
		if got := token.Visible(); !slices.Equal(got, want[i]) {
			t.Errorf("the token %s sees %q, want %q", token.Name, got, want[i])
		}
		if got := token.Notifies(); !slices.Equal(got, named[i]) {
			t.Errorf("the token %s may name the webhooks %q, want %q", token.Name, got, named[i])
		}
	}
	var warned []string
	for _, w := range config.Warnings() {
		warned = append(warned, w.Key)
		if w.Line == 0 {
			t.Errorf("a warning without a place: %v", w)
		}
	}
	if want := []string{"http.tokens[2].sha256", "http.tokens[4].sha256", "http.listen"}; !slices.Equal(warned, want) {
		t.Errorf("got warnings of %q, want %q", warned, want)
	}
}

// TestAllowOfMissingToken: a group that allows a token under a wrong name gets a
// warning.
func TestAllowOfMissingToken(t *testing.T) {
	config, err := conf.Load(write(t, minimal+`
servers: {math: {builtin: math}}
groups:
  sums: {servers: [math], description: Sums., allow: ["api:scout", "agent:scout", "api:ops", "agent:ops", "api:gone", "telegram:1", "*"]}
http:
  tokens:
    - {name: ops, role: admin, sha256: "`+conf.HashToken("lw_ops")+`"}
    - {name: scout, role: agent, sha256: "`+conf.HashToken("lw_scout")+`"}
`), variables(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"groups.sums.allow[0]": "write agent:scout", "groups.sums.allow[3]": "write api:ops", "groups.sums.allow[4]": `http.tokens has no token named "gone"`}
	for _, w := range config.Warnings() {
		if want[w.Key] == "" || !strings.Contains(w.Problem, want[w.Key]) || w.Line == 0 {
			t.Errorf("got the warning %v, want one of %q", w, want)
		}
		delete(want, w.Key)
	}
	if len(want) > 0 {
		t.Errorf("there are no warnings of %q", want)
	}
}

// TestTokenWithoutGroups: an empty list of groups is not the same as none at all.
func TestTokenWithoutGroups(t *testing.T) {
	for groups, none := range map[string]bool{`, groups: []`: true, ``: false} {
		config, err := conf.Load(write(t, minimal+`http: {tokens: [{name: ops, role: admin, sha256: "`+conf.HashToken("lw_ops")+`"`+groups+`}]}`), variables(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := config.HTTP.Tokens[0].Groups; len(got) != 0 || (got != nil) != none {
			t.Errorf("with %q the token has the groups %#v", groups, got)
		}
	}
}

// TestTokenWithoutChats: an empty list of chats is none, not all; what a token
// starts it sees all the same.
func TestTokenWithoutChats(t *testing.T) {
	for role, want := range map[string][]string{conf.RoleOperator: {"api:ops"}, conf.RoleAdmin: {"api:ops"}, conf.RoleAgent: {"api:ops"}} {
		config, err := conf.Load(write(t, minimal+`http: {tokens: [{name: ops, role: `+role+`, chats: [], sha256: "`+conf.HashToken("lw_ops")+`"}]}`), variables(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := config.HTTP.Tokens[0].Visible(); !slices.Equal(got, want) {
			t.Errorf("role %s sees %q, want %q", role, got, want)
		}
	}
	_, err := conf.Load(write(t, minimal+`http: {tokens: [{name: eye, role: viewer, chats: [], sha256: "`+conf.HashToken("lw_eye")+`"}]}`), variables(nil))
	if err == nil || !strings.Contains(err.Error(), "http.tokens[0].chats: is empty") {
		t.Errorf("a viewer of no chat: got %v", err)
	}
	if got := (conf.Token{Name: "eye", Role: conf.RoleViewer, Chats: []string{}}).Visible(); len(got) != 0 {
		t.Errorf("it sees %q", got)
	}
}

// TestUnknownRole: a suggestion never names a mightier role than the one that
// may have been meant.
func TestUnknownRole(t *testing.T) {
	if got, want := conf.RoleProblem("boss"), `unknown role "boss"; allowed: viewer, operator, admin, agent`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTokenAtLoopback: an address of this machine alone is no oddity.
func TestTokenAtLoopback(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0"} {
		config, err := conf.Load(write(t, minimal+`http: {listen: "`+listen+`", tokens: [{name: ops, role: admin, sha256: "`+conf.HashToken("lw_ops")+`"}]}`), variables(nil))
		if err != nil {
			t.Fatal(err)
		}
		if w := config.Warnings(); len(w) > 0 {
			t.Errorf("at %s: got warnings %v", listen, w)
		}
	}
}
