// Package callers names who calls an API in tests.
package callers

import "legwork/tasks/contexts"

// Principal is who calls with a token that is named after its role, and sees what
// tokens of that role see unless said otherwise. "other" is a second agent, "narrow" an
// operator that sees nothing but what it started, and an empty token nobody's.
func Principal(token string) contexts.Principal {
	p := contexts.Principal{Name: token, Role: contexts.Role(token), Chats: []string{"*"}, Webhooks: []string{"*"}}
	switch token {
	case "":
		return contexts.Principal{}
	case "other":
		p.Role = contexts.RoleAgent
	case "narrow":
		p.Role, p.Chats = contexts.RoleOperator, []string{"api:narrow"}
	}
	if p.Role == contexts.RoleAgent {
		p.Chats, p.Webhooks = []string{"api:*"}, nil
	}
	return p
}
