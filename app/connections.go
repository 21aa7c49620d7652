package app

import (
	"context"
	"strings"

	"legwork/bot/terminal"
	botweb "legwork/bot/web"
	"legwork/conf"
	"legwork/internal/loopback"
	"legwork/tasks"
	"legwork/tasks/connections"
	"legwork/tasks/inbox"
	"legwork/web/connect"
)

// newConnections prepares the sign-ins at servers of tools. The store and the sealing keys
// are open.
func (a *core) newConnections(config *conf.Config) *connections.Connections {
	page := pageAddress(config.HTTP.PublicURL, config.HTTP.Listen)
	if page == "" {
		page = "http://" + conf.DefaultListen // no browser gets there: people send the address
	}
	page = strings.TrimSuffix(page, "/")
	document := ""
	if strings.HasPrefix(config.HTTP.PublicURL, "https://") {
		document = page + connect.PathClient
	}
	return connections.New(connections.Config{
		Store: a.store, Sealer: a.keys, Redirect: page + connect.PathCallback, Document: document, Now: a.clock.Now, Log: a.log,
		SignsIn: func(server string) bool { return a.tools.SignsIn(server) }, // the tools are made with the connections
		Changed: func(ctx context.Context, id tasks.ConnectionID) {
			a.tools.SignedIn(id.Server, id.Person)
			if a.inbox != nil { // commands have none
				inbox.SignedIn(ctx, a.inbox, id)
			}
		},
		Hide: func(secret string) { a.hide(secret) },
	})
}

// signIns implements inbox.SignIns.
type signIns struct {
	*connections.Connections
	core *core
}

// Begin implements inbox.SignIns. Where the person's browser may not reach legwork, the
// link is that of the authorization server, and the person sends the address at the end;
// there is none for a secret.
// The address of a request at the page says whether its browser is on this machine.
func (s signIns) Begin(ctx context.Context, w inbox.SignIn) (link string, paste bool, err error) {
	b, err := s.Connections.Begin(ctx, connections.Wish{
		ConnectionID: w.ID, By: w.By.Key(), Task: w.Task, Scopes: w.Scopes, Reader: connections.Reader{Name: w.By.Name, Language: w.Language},
	})
	if err != nil {
		return "", false, err
	}
	page := s.core.pageURL()
	here := w.By.Platform == terminal.Name || w.By.Platform == botweb.Name // the browser is on this machine, or has the page open
	if from := tasks.OriginOf(ctx).Addr; from != "" {
		here = loopback.Host(from)
	}
	if page == "" || loopback.Address(page) && !here {
		return b.URL, b.URL != "", nil
	}
	return connect.StartAddress(page, b.State), false, nil
}

// Callback implements inbox.SignIns.
func (s signIns) Callback() string { return s.Redirect }
