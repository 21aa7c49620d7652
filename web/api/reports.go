package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"legwork/tasks/api"
	"legwork/tasks/policy"
)

// Me describes the token of the request.
type Me struct {
	Name     string   `json:"name" doc:"Its name in the config."`
	Role     string   `json:"role" doc:"'viewer', 'operator', 'admin', 'agent'."`
	Chats    []string `json:"chats" doc:"Rooms whose tasks it may see; '*': all, 'api:*': all tasks that programs started."`
	Groups   []string `json:"groups,omitzero" doc:"Tool groups that its tasks may use. Omitted: the token sets no limit."`
	Webhooks []string `json:"webhooks" doc:"Webhooks of the config that 'notify' may name; '*': all."`
}

type (
	meReply struct {
		Body Me
	}
	groupsReply struct {
		Body Page[api.Group]
	}
	usageRequest struct {
		By   []string `query:"by" enum:"user,chat,model,group,day" doc:"The keys to sum up by, separated by commas: user, chat, model, group, day."`
		From string   `query:"from" format:"date" doc:"The first day, such as '2026-11-01'."`
		To   string   `query:"to" format:"date" doc:"The last day."`
	}
	usageReply struct {
		Body Page[api.UsageRow]
	}
	auditRequest struct {
		Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50" doc:"The largest number of entries in a page."`
		Cursor string `query:"cursor" maxLength:"200" doc:"The 'next_cursor' of the page before."`
	}
	auditReply struct {
		Body Page[api.AuditEntry]
	}
)

// reportCalls are the handlers of the calls that sum up: about the token, groups, usage and
// the audit log.
type reportCalls struct{ *calls }

func (c reportCalls) me(ctx context.Context, _ *struct{}) (*meReply, error) {
	p := api.Caller(ctx)
	return &meReply{Me{Name: p.Title(), Role: string(p.Role), Chats: append([]string{}, p.Chats...), Groups: p.Groups, Webhooks: append([]string{}, p.Webhooks...)}}, nil
}

func (c reportCalls) groups(ctx context.Context, _ *struct{}) (*groupsReply, error) {
	items, err := c.Service.Groups(ctx, api.Caller(ctx))
	return &groupsReply{page(items, nil)}, err
}

func (c reportCalls) usage(ctx context.Context, in *usageRequest) (*usageReply, error) {
	items, err := c.Service.Usage(ctx, api.Caller(ctx), in.By, in.From, in.To)
	return &usageReply{page(items, nil)}, err
}

func (c reportCalls) audit(ctx context.Context, in *auditRequest) (*auditReply, error) {
	text, err := after("audit", in.Cursor)
	if err != nil {
		return nil, err
	}
	var before uint64
	if text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, invalid("query.cursor", "not a next_cursor of this list; leave it out to start at the newest")
		}
	}
	items, err := c.Service.AuditLog(ctx, api.Caller(ctx), before, in.Limit)
	if err != nil {
		return nil, err
	}
	last := ""
	if n := len(items); n == in.Limit && items[n-1].Seq > 1 {
		last = strconv.FormatUint(items[n-1].Seq, 10)
	}
	return &auditReply{page(items, cursor("audit", last))}, nil
}

func (c reportCalls) register(h huma.API) {
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/me", id: "getMe", tag: "reports",
		summary: "Read about the token", text: "The name and the role of the token, and the chats that it may see.",
		answer: Me{Name: "ops", Role: "operator", Chats: []string{"*"}, Webhooks: []string{"*"}},
	}, c.me)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/groups", id: "listGroups", tag: "reports",
		summary: "List tool groups", text: "The groups that tasks of the token may use, for admins all groups, with their servers, the health of these, and their tools.", op: policy.OpGroups,
		answer: page([]api.Group{exampleGroup()}, nil),
	}, c.groups)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/usage", id: "listUsage", tag: "reports",
		summary: "Sum up tokens and money", op: policy.OpUsage,
		text:   "The spending between two days, both included (default: the last 30 days), by any of user, chat, model, group, day.",
		answer: page([]api.UsageRow{exampleUsage()}, nil),
	}, c.usage)
	register(c.calls, h, operation{
		method: http.MethodGet, path: "/v1/audit", id: "listAudit", tag: "reports",
		summary: "Read the audit log", text: "All decisions and changes with who made them, the newest first.", op: policy.OpAudit,
		answer: page([]api.AuditEntry{exampleAudit()}, cursor("audit", "41")),
	}, c.audit)
}
