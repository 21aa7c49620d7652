package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/tasks/policy"
	"legwork/web/problem"
)

type (
	connectionsReply struct {
		Body Page[api.Connection]
	}
	connectionRequest struct {
		Server string `path:"server" doc:"Name of the server."`
	}
	signInsReply struct {
		Body Page[api.PersonSignIn]
	}
	begunReply struct {
		Body api.BegunSignIn
	}
	endRequest struct {
		Server string `path:"server" doc:"Name of the server."`
		Person string `query:"person" maxLength:"200" doc:"Key of the person whose sign-in is ended. Default: the caller, or everybody where the sign-in is shared."`
		All    bool   `query:"all" doc:"The sign-ins of everybody at the server."`
	}
	endedReply struct {
		Body api.EndedSignIns
	}
)

// connectionCalls are the handlers of the calls about sign-ins at servers.
type connectionCalls struct{ *calls }

func (c connectionCalls) list(ctx context.Context, _ *struct{}) (*connectionsReply, error) {
	items, err := c.Operations.Connections(ctx, api.Caller(ctx))
	return &connectionsReply{page(items, nil)}, err
}

func (c connectionCalls) people(ctx context.Context, in *connectionRequest) (*signInsReply, error) {
	items, err := c.Operations.SignIns(ctx, api.Caller(ctx), in.Server)
	return &signInsReply{page(items, nil)}, err
}

func (c connectionCalls) begin(ctx context.Context, in *connectionRequest) (*begunReply, error) {
	ctx, end := c.waitContext(ctx, maxWait)
	defer end()
	b, err := c.Operations.BeginSignIn(ctx, api.Caller(ctx), in.Server)
	return &begunReply{b}, err
}

func (c connectionCalls) end(ctx context.Context, in *endRequest) (*endedReply, error) {
	ended, err := c.Operations.EndSignIns(ctx, api.Caller(ctx), in.Server, in.Person, in.All)
	return &endedReply{ended}, err
}

func (c connectionCalls) register(h huma.API) {
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/connections", id: "listConnections", tag: "connections",
		summary: "List the servers at which people sign in", op: policy.OpConnections,
		text:   "The servers of the config at which people sign in, with the sign-in that the caller uses: its own, or the one that everybody shares. No reply contains a token or a secret.",
		answer: page([]api.Connection{exampleConnection()}, nil),
	}, c.list)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/connections/{server}", id: "listSignIns", tag: "connections",
		summary: "List the sign-ins at a server", op: policy.OpSignIns,
		text:   "The sign-ins of everybody, by person.",
		answer: page([]api.PersonSignIn{{Person: "telegram:12345", SignIn: exampleSignIn()}}, nil),
	}, c.people)
	register(c.calls, h, operation{
		method: http.MethodPost, path: "/v1/connections/{server}", id: "beginSignIn", tag: "connections",
		summary: "Begin a sign-in", op: policy.OpConnect, status: http.StatusCreated, long: true,
		text:     "Gives the address at which a person agrees in a browser, within 15 minutes. Only an admin can sign in for everybody. Where each person signs in, the caller must be a person: one who signed in at the page, or a token with a web chat. A server that does not work as it should is a conflict.",
		problems: []problem.Code{problem.Conflict}, answer: exampleBegunSignIn(),
	}, c.begin)
	register(c.calls, h, operation{
		method: http.MethodDelete, path: "/v1/connections/{server}", id: "endSignIns", tag: "connections",
		summary: "End a sign-in", op: policy.OpConnect, long: true,
		text:   "Ends the sign-in that the caller uses, also at the authorization server where that offers a way. Only an admin can end the shared one, that of another `person`, or those of `all`.",
		answer: api.EndedSignIns{Ended: 1, Revoked: 1},
	}, c.end)
}

func exampleConnection() api.Connection {
	s := exampleSignIn()
	return api.Connection{Server: "crm", Kind: "oauth", Identity: "person", SignIn: &s, MayChange: true}
}

func exampleSignIn() api.SignIn {
	used := exampleLater(0)
	return api.SignIn{Kind: "oauth", By: "telegram:12345", Scopes: []string{"read"}, Since: exampleTime(), Used: &used}
}

func exampleBegunSignIn() api.BegunSignIn {
	return api.BegunSignIn{URL: "https://legwork.example.com/connections/start?state=PXBJYTZSMN4KG2QWD6RVA3HCEL", Expires: exampleTime()}
}
