package commands

import (
	"context"

	"legwork/tasks/inbox"
)

// secretCommand takes a secret that somebody wrote behind the command. Wherever that was,
// and whatever comes of it, the message is deleted.
func secretCommand(ctx context.Context, in *inbox.Inbox, r *inbox.Request, server, secret string) (inbox.Reply, error) {
	if _, ok := connectionsHere(in, r, "/connect"); ok && in.SignIns.TakesSecret(server) {
		return in.TakeSecret(ctx, r, server, secret)
	}
	reply, err := connect(ctx, in, r, server)
	if err != nil || reply.Say == nil {
		return reply, err
	}
	return in.WithoutMessage(r, reply.Say(ctx, nil)), nil
}
