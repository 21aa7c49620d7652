// Package callers names who calls an API in tests.
package callers

import (
	"legwork/bot"
	"legwork/tasks/api"
	"legwork/tasks/policy"
)

// Principal is who calls with a token that is named after its role, and sees
// what tokens of that role see unless said otherwise. "other" is a second
// agent, "narrow" an operator that sees only the tasks that it started, "ann" and
// "bob" are people who signed in, and an empty token is an unknown caller's.
func Principal(token string) api.Principal {
	p := api.Principal{Name: token, Role: policy.Role(token), Chats: []string{"*"}, Webhooks: []string{"*"}}
	switch token {
	case "":
		return api.Principal{}
	case "other":
		p.Role = policy.RoleAgent
	case "ann", "bob":
		return api.Principal{Role: policy.RolePerson, Person: bot.Person{Platform: "phone", ID: token, Name: token}}
	case "narrow":
		p.Role, p.Chats = policy.RoleOperator, []string{"api:narrow"}
	}
	if p.Role == policy.RoleAgent {
		p.Chats, p.Webhooks = []string{"api:*"}, nil
	}
	return p
}
