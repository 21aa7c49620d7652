package conf

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"legwork/internal/loopback"
)

// OIDC is an OpenID Connect provider that signs people in at the page.
type OIDC struct {
	// Issuer is the address of the provider, as its tokens name it. Empty: none. The provider must allow the redirect address PUBLIC_URL/v1/session/oidc/callback.
	Issuer string `yaml:"issuer,omitempty" jsonschema:"example=https://login.example.com"`
	// ClientID is the id of legwork at the provider.
	ClientID string `yaml:"client_id,omitempty"`
	// ClientSecret is the secret of legwork at the provider. Empty: a client without one.
	ClientSecret string `yaml:"client_secret,omitempty"`
	// Roles lists for each role the claims that give it: "group:ops" for people whose claim group or groups holds ops, "realm_access.roles:ops" for a claim inside another, "*" for everybody, "scope:legwork.read" for access tokens with that scope. Roles are those of tokens, and person for people who only chat. The role with the most rights counts; of an access token, where scopes are listed, that of its person or that of its scopes, whichever has fewer rights. People without a role cannot sign in.
	Roles map[string][]string `yaml:"roles,omitempty"`
	// Audience of access tokens of the provider that the API and /mcp take in place of tokens. They also take those for PUBLIC_URL and for PUBLIC_URL/mcp. Empty: they take none.
	Audience string `yaml:"audience,omitempty" jsonschema:"example=https://legwork.example.com"`
}

// RolePerson is the role of people who may do what they may in chats.
const RolePerson = "person"

// check lists the mistakes in http.oidc.
func (o OIDC) check(l *issues, listen, public string) {
	if o.Issuer == "" {
		if o.ClientID != "" || o.ClientSecret != "" || o.Audience != "" || len(o.Roles) > 0 {
			l.Add("http.oidc.issuer", "is missing; set the address of the provider, or remove http.oidc")
		}
		return
	}
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		l.Add("http.oidc.issuer", "is not the address of a provider; allowed: an address such as https://login.example.com")
	case u.Scheme != "https" && (u.Scheme != "http" || !loopback.Host(u.Hostname())):
		l.Add("http.oidc.issuer", "must begin with https, so that no other server can answer in place of the provider")
	case listen == "":
		l.Add("http.oidc.issuer", "needs http.listen; set an address such as %s, or remove http.oidc", DefaultListen)
	}
	if o.ClientID == "" {
		l.Add("http.oidc.client_id", "is missing; the provider gives it when legwork is registered there")
	}
	if o.Audience != "" && o.Audience == o.ClientID {
		l.Add("http.oidc.audience", "is the client_id, which ID tokens of other programs may name; access tokens need an audience of their own")
	}
	if host, _, err := net.SplitHostPort(listen); o.Audience != "" && public == "" && err == nil && !loopback.Host(host) {
		l.Add("http.oidc.audience", "needs http.public_url, so that programs find out where they get access tokens")
	}
	if len(o.Roles) == 0 {
		l.Add("http.oidc.roles", `is missing, so that all people would be refused; for example {admin: ["group:ops"], person: ["*"]}`)
	}
	roles := append(Roles(), RolePerson)
	for _, role := range slices.Sorted(maps.Keys(o.Roles)) {
		l.known("http.oidc.roles."+role, "role", role, roles)
		for i, entry := range o.Roles[role] {
			claim, value, _ := strings.Cut(entry, ":")
			key := fmt.Sprintf("http.oidc.roles.%s[%d]", role, i)
			switch {
			case entry == "*" && (role == RoleAdmin || role == RoleOperator):
				l.Add(key, `would make everybody at the provider an %s; allowed: a claim such as "group:ops"`, role)
			case entry != "*" && (claim == "" || value == ""):
				l.Add(key, `%s names no claim; allowed: CLAIM:VALUE such as "group:ops", and "*" for everybody`, shown(entry))
			case claim == "scope" && strings.ContainsAny(value, " \"\\"):
				l.Add(key, `%s names no scope; write each scope as an entry of its own, without spaces and quotation marks`, shown(entry))
			case claim == "scope" && value == "offline_access":
				l.Add(key, "is the scope for refresh tokens, which says nothing about rights; allowed: a scope such as scope:legwork.read")
			case claim == "scope" && o.Audience == "":
				l.Add(key, "counts for access tokens alone, and they are not taken without http.oidc.audience")
			}
		}
	}
}
