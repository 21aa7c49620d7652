package main

import (
	"context"
	"encoding/hex"
	"net/http"
	"time"

	"legwork/bot"
	"legwork/conf"
	"legwork/internal/redact"
	"legwork/tasks"
	"legwork/tasks/api"
	"legwork/web"
	webapi "legwork/web/api"
	"legwork/web/mcp"
)

// listen connects the tasks to the platforms and opens the addresses. What waits
// for something is told at the end of ctx.
func (d *daemon) listen(ctx context.Context, config *conf.Config, hooks map[string]http.Handler) error {
	platforms := make([]bot.Platform, 0, len(d.platforms))
	for _, p := range d.platforms {
		platforms = append(platforms, p)
	}
	d.app.connect(d.models, platforms...)
	if config.HTTP.Listen == "" && config.HTTP.WebhookListen == "" {
		return nil
	}
	service := api.New(api.Config{Store: d.app.store, Inbox: d.app.inbox, Webhooks: d.webhooks, Now: d.app.clock.Now})
	programs := webapi.New(webapi.Config{
		Service: service, Version: readBuild().version, Public: config.HTTP.PublicURL, Stop: ctx.Done(), Log: d.log,
		Metrics: d.app.metrics,
	})
	refused := web.OncePerMinute(d.refused, time.Now)
	var err error
	d.web, err = web.New(web.Config{
		Listen: config.HTTP.Listen, WebhookListen: config.HTTP.WebhookListen, PublicURL: config.HTTP.PublicURL,
		Health: d.health, Webhooks: hooks, Docs: programs.Docs(), Access: access(config),
		API: redact.Replies(programs.Handler(), d.hidden, false), MCP: mcp.New(mcp.Config{
			Service: service, Version: readBuild().version, Stop: ctx.Done(), Log: d.log,
			Refused: func(ctx context.Context, p api.Principal, tool string) { refused(ctx, p, "/mcp "+tool) },
		}),
		Metrics: d.app.metrics.Handler(), Tracer: d.app.tracer, Refused: refused, Served: d.app.served, Log: d.log,
	})
	return err
}

// refused notes what a token tried that its role may not.
func (d *daemon) refused(ctx context.Context, p api.Principal, route string) {
	record(ctx, d.app.store, d.log, tasks.AuditEntry{Who: p.Key(), Role: string(p.Role), Action: "token.refused", Target: route, From: p.Addr})
}

// access is who may call, by a config that was checked.
func access(config *conf.Config) web.Access {
	a := web.Access{Rate: config.HTTP.Rate}
	for _, t := range config.HTTP.Tokens {
		token := web.Token{Principal: api.Principal{Name: t.Name, Role: api.Role(t.Role), Chats: t.Visible(), Groups: t.Groups, Webhooks: t.Notifies()}}
		if hash, err := hex.DecodeString(t.SHA256); err == nil && len(hash) == len(token.Hash) {
			copy(token.Hash[:], hash)
			a.Tokens = append(a.Tokens, token)
		}
	}
	for _, proxy := range config.HTTP.Proxies {
		if network, err := conf.ParseProxy(proxy); err == nil {
			a.Proxies = append(a.Proxies, network)
		}
	}
	return a
}

// deciders are the keys of programs whose tokens may decide about calls.
func deciders(config *conf.Config) []string {
	var keys []string
	for _, t := range config.HTTP.Tokens {
		if t.Role == conf.RoleOperator || t.Role == conf.RoleAdmin {
			keys = append(keys, api.Principal{Name: t.Name, Role: api.Role(t.Role)}.Key())
		}
	}
	return keys
}
