package app

import (
	"context"
	"net/http"
	"time"

	"legwork/app/data"
	"legwork/bot"
	"legwork/bot/terminal"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web"
	webapi "legwork/web/api"
	"legwork/web/connect"
	"legwork/web/console"
	"legwork/web/mcp"
)

// listen connects core to the platforms and opens the addresses. Long requests end
// when ctx ends.
func (d *daemon) listen(ctx context.Context, config *conf.Config, hooks map[string]http.Handler) error {
	platforms := make([]bot.Platform, 0, len(d.platforms))
	for _, p := range d.platforms {
		platforms = append(platforms, p)
	}
	if d.seat != nil {
		d.seat.terminal = d.seat.talk.terminal(ctx, d.core, d.seat.screen)
		platforms = append(platforms, d.seat.terminal)
	} else {
		d.core.hub = terminal.NewHub(terminal.Login())
		platforms = append(platforms, d.core.hub)
	}
	if config.HTTP.Listen != "" {
		d.core.webChat = d.core.newWebChat(ctx.Done())
		platforms = append(platforms, d.core.webChat)
	}
	d.core.connect(d.models, platforms...)
	if config.HTTP.Listen == "" && config.HTTP.WebhookListen == "" {
		return nil
	}
	refused := web.OncePerMinute(d.refused, time.Now)
	server := d.core.serverConfig(ctx, config, d.webhooks, webapi.Config{Operations: d.core.operations(d.models.describe, d.health), ConfigFile: d.configFile(config)})
	server.WebhookListen, server.Webhooks, server.Health = config.HTTP.WebhookListen, hooks, d.health
	server.MCP = mcp.New(mcp.Config{
		Service: d.core.service, Version: telemetry.ReadBuild().Version, Stop: ctx.Done(), Log: d.log,
		Refused: func(ctx context.Context, p api.Principal, tool string) { refused(ctx, p, "/mcp "+tool) },
	})
	server.Metrics, server.Tracer, server.Refused, server.Served = d.core.metrics.Handler(), d.core.tracer, refused, d.core.served
	var err error
	d.web, err = d.core.openServer(server)
	return err
}

// serverConfig is what the HTTP server of every command serves: the page and the API, also
// for those who sign in. core is connected. programs holds what only the daemon has. Long
// requests end when ctx ends.
func (a *core) serverConfig(ctx context.Context, config *conf.Config, webhooks func() []string, programs webapi.Config) web.Config {
	a.service = api.New(api.Config{Store: a.store, Inbox: a.inbox, Webhooks: webhooks, Now: a.clock.Now, Files: a.fileLimits})
	programs.Service, programs.Models, programs.Version, programs.Public = a.service, a.executor, telemetry.ReadBuild().Version, config.HTTP.PublicURL
	programs.Stop, programs.Log, programs.Metrics = ctx.Done(), a.log, a.metrics
	calls := webapi.New(programs)
	signIns, forms := connect.Handlers(connect.Config{Connections: a.signedIn, Texts: a.texts, Log: a.log})
	return web.Config{
		Listen: config.HTTP.Listen, PublicURL: config.HTTP.PublicURL, Docs: calls.Docs(), Open: signIns, Forms: forms, Console: console.Handler(), Access: access(config),
		SignIn: a.signIn(programs.ConfigFile != nil), Streams: webapi.IsUpload, API: redact.Replies(withChat(a.webChat, calls.Handler()), a.hidden, false), Log: a.log,
	}
}

// openServer opens the addresses of the HTTP server.
func (a *core) openServer(config web.Config) (*web.Server, error) {
	server, err := web.New(config)
	if err == nil {
		a.page = func() string { return pageAddress(config.PublicURL, server.Address("http.listen")) }
	}
	return server, err
}

// refused adds the attempt of a token that its role does not allow to the audit log.
func (d *daemon) refused(ctx context.Context, p api.Principal, route string) {
	data.Record(ctx, d.core.store, d.log, tasks.AuditEntry{Who: p.Key(), Role: string(p.Role), Action: "token.refused", Target: route, From: p.Addr})
}
