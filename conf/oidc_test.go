package conf_test

import (
	"strings"
	"testing"

	"legwork/conf"
)

// TestOIDC: mistakes in http.oidc name their keys.
func TestOIDC(t *testing.T) {
	const good = `issuer: "https://login.example.com", client_id: c, `
	for _, c := range []struct{ name, oidc, key, want string }{
		{"good", good + `roles: {admin: ["group:ops"], person: ["*"]}, audience: a`, "", ""},
		{"a local provider", `issuer: "http://127.0.0.1:9000", client_id: c, roles: {viewer: ["*"]}`, "", ""},
		{"no issuer", `client_id: c`, "http.oidc.issuer", "is missing"},
		{"no address", `issuer: login, client_id: c, roles: {viewer: ["*"]}`, "http.oidc.issuer", "is not the address"},
		{"without encryption", `issuer: "http://login.example.com", client_id: c, roles: {viewer: ["*"]}`, "http.oidc.issuer", "https"},
		{"no client", `issuer: "https://login.example.com", roles: {viewer: ["*"]}`, "http.oidc.client_id", "is missing"},
		{"no roles", `issuer: "https://login.example.com", client_id: c`, "http.oidc.roles", "is missing"},
		{"an unknown role", good + `roles: {boss: ["*"]}`, "http.oidc.roles.boss", "unknown role"},
		{"everybody an admin", good + `roles: {admin: ["*"]}`, "http.oidc.roles.admin[0]", "everybody"},
		{"no claim", good + `roles: {viewer: [ops]}`, "http.oidc.roles.viewer[0]", "CLAIM:VALUE"},
		{"two scopes in one entry", good + `roles: {viewer: ["scope:a b"]}, audience: a`, "http.oidc.roles.viewer[0]", "entry of its own"},
		{"the scope for refresh tokens", good + `roles: {viewer: ["scope:offline_access"]}, audience: a`, "http.oidc.roles.viewer[0]", "refresh tokens"},
		{"a scope without access tokens", good + `roles: {viewer: ["scope:read"]}`, "http.oidc.roles.viewer[0]", "http.oidc.audience"},
		{"the client as audience", good + `roles: {viewer: ["*"]}, audience: c`, "http.oidc.audience", "of their own"},
	} {
		_, err := conf.Load(write(t, minimal+"http: {oidc: {"+c.oidc+"}}\n"), variables(nil))
		switch {
		case c.key == "" && err != nil:
			t.Errorf("%s: got %v", c.name, err)
		case c.key != "" && (err == nil || !strings.Contains(err.Error(), c.key+": ") || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q and %q", c.name, err, c.key, c.want)
		}
	}
	reachable := minimal + `http: {listen: ":8080", oidc: {` + good + `roles: {viewer: ["*"]}, audience: a}`
	if _, err := conf.Load(write(t, reachable+"}\n"), variables(nil)); err == nil || !strings.Contains(err.Error(), "http.oidc.audience: needs http.public_url") {
		t.Errorf("without a public address: got %v", err)
	}
	if _, err := conf.Load(write(t, reachable+`, public_url: "https://bot.example.com"}`+"\n"), variables(nil)); err != nil {
		t.Errorf("with a public address: got %v", err)
	}
}
