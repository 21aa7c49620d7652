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
	d.core.hub = terminal.NewHub(terminal.Login())
	platforms = append(platforms, d.core.hub)
	if config.HTTP.Listen != "" {
		d.core.webChat = d.core.newWebChat(ctx.Done())
		platforms = append(platforms, d.core.webChat)
	}
	d.core.connect(d.models, platforms...)
	if config.HTTP.Listen == "" && config.HTTP.WebhookListen == "" {
		return nil
	}
	d.core.service = api.New(api.Config{Store: d.core.store, Inbox: d.core.inbox, Webhooks: d.webhooks, Now: d.core.clock.Now, Files: d.core.fileLimits})
	programs := webapi.New(webapi.Config{
		Service: d.core.service, Operations: d.operations(), Version: telemetry.ReadBuild().Version, Public: config.HTTP.PublicURL, Stop: ctx.Done(), Log: d.log,
		Metrics: d.core.metrics,
	})
	d.core.page = func() string { return pageAddress(config.HTTP.PublicURL, d.web.Address("http.listen")) }
	refused := web.OncePerMinute(d.refused, time.Now)
	var err error
	d.web, err = web.New(web.Config{
		Listen: config.HTTP.Listen, WebhookListen: config.HTTP.WebhookListen, PublicURL: config.HTTP.PublicURL,
		Health: d.health, Webhooks: hooks, Docs: programs.Docs(), Console: console.Handler(), Access: access(config), SignIn: d.core.signIn(),
		Streams: webapi.IsUpload,
		API:     redact.Replies(withChat(d.core.webChat, programs.Handler()), d.hidden, false), MCP: mcp.New(mcp.Config{
			Service: d.core.service, Version: telemetry.ReadBuild().Version, Stop: ctx.Done(), Log: d.log,
			Refused: func(ctx context.Context, p api.Principal, tool string) { refused(ctx, p, "/mcp "+tool) },
		}),
		Metrics: d.core.metrics.Handler(), Tracer: d.core.tracer, Refused: refused, Served: d.core.served, Log: d.log,
	})
	return err
}

// refused adds the attempt of a token that its role does not allow to the audit log.
func (d *daemon) refused(ctx context.Context, p api.Principal, route string) {
	data.Record(ctx, d.core.store, d.log, tasks.AuditEntry{Who: p.Key(), Role: string(p.Role), Action: "token.refused", Target: route, From: p.Addr})
}
