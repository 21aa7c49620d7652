package policy

import (
	"slices"

	"legwork/planner"
	"legwork/tasks"
	"legwork/tools"
)

// AsksFor reports whether a question asks for the sign-in of a connection.
func AsksFor(asked planner.Event, id tasks.ConnectionID) bool {
	q := asked.Question
	return q != nil && q.SignIn != nil && id == tasks.ConnectionID{Server: q.Server, Person: q.SignIn.Person}
}

// SignedIn reports whether a connection is the sign-in that a question asks for: a newer
// one, or one by OAuth that has the rights. A secret stays stored when the server has
// refused it. The connection is of the question's server and person.
func SignedIn(asked planner.Event, c tasks.Connection) bool {
	missing := func(scope string) bool { return !slices.Contains(c.Scopes, scope) }
	return c.Since.After(asked.At) || c.Kind == tools.AuthOAuth && !slices.ContainsFunc(asked.Question.SignIn.Scopes, missing)
}
