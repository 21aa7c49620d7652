package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"legwork/internal/clip"
	"legwork/internal/telemetry"
	"legwork/tasks"
	"legwork/tasks/inbox"
	"legwork/tasks/policy"
	"legwork/tools"
)

// Errors of codes, which Confirm returns.
var (
	ErrCodeNeeded = errors.New("legwork has shown a code in its terminal and in the chats of the admins; send it within 10 minutes")
	ErrWrongCode  = errors.New("the code is wrong or has expired")
)

// Operations is what operators and admins see of the parts of legwork, and what they do
// about them. It is safe for concurrent use.
type Operations struct{ OperationsConfig }

// OperationsConfig is the configuration of Operations. All fields are needed.
type OperationsConfig struct {
	Inbox *inbox.Inbox // its rules hold here, too
	Tools Servers
	// Confirm returns nil when code is the one that people were shown for these
	// changes. Without a code it shows them one: ErrCodeNeeded. ErrWrongCode.
	Confirm func(ctx context.Context, changes []tools.Change, code string) error
	// ReadModels returns the models of the config, without what ReadUses has counted.
	ReadModels func() []Model
	ReadUses   func() telemetry.Uses
	ReadHealth func(ctx context.Context) (Health, error)
}

// Servers are the tool servers.
type Servers interface {
	Details() []tools.ServerDetails
	Call(ctx context.Context, c tools.Call) (tools.Result, error)
	Accept(ctx context.Context, change string) (tools.Change, error)
}

// NewOperations makes Operations.
func NewOperations(c OperationsConfig) *Operations { return &Operations{c} }

// allowed returns ErrForbidden unless the principal may do an operation that is about the
// whole process.
func (o *Operations) allowed(p Principal, op policy.Op) error {
	if err := p.Allowed(op); err != nil {
		return err
	}
	if !slices.Contains(p.Chats, "*") {
		return fmt.Errorf("%w: this is about all chats, and this token may see only some", ErrForbidden)
	}
	return nil
}

// Server is a tool server in lists.
type Server struct {
	Name        string   `json:"name" doc:"Its name in the config."`
	Kind        string   `json:"kind" doc:"How it is reached: 'builtin', 'stdio', 'http', 'sse'."`
	State       string   `json:"state" enum:"starting,ready,down" doc:"Whether it can be called now."`
	Problem     string   `json:"problem,omitempty" doc:"The reason why it cannot be called."`
	Protocol    string   `json:"protocol,omitempty" doc:"The MCP revision of the last connection."`
	Restarts    int      `json:"restarts" doc:"How often it was started or connected again."`
	RoundTripMS float64  `json:"round_trip_ms" doc:"Duration of the last listing of its tools, in milliseconds."`
	Groups      []string `json:"groups" doc:"The groups that offer its tools."`
	ToolCount   int      `json:"tool_count" doc:"The number of its tools."`
	Quarantined int      `json:"quarantined" doc:"The number of tools that legwork does not call, because the server has changed them."`
	Calls       int      `json:"calls" doc:"Calls since legwork started."`
	Failed      int      `json:"failed" doc:"Those of them that failed or were refused."`
	Latency     Latency  `json:"latency" doc:"Durations of the calls."`
}

// Latency sums up durations since legwork started, in milliseconds. All are 0 without a
// call.
type Latency struct {
	Count    int     `json:"count" doc:"The number of durations."`
	MeanMS   float64 `json:"mean_ms" doc:"The average, in milliseconds."`
	MedianMS float64 `json:"median_ms" doc:"The median, estimated."`
	P95MS    float64 `json:"p95_ms" doc:"95 % are not longer, estimated."`
}

func latencyOf(t telemetry.Times) Latency {
	return Latency{t.Count, milliseconds(t.Mean), milliseconds(t.Median), milliseconds(t.P95)}
}

func milliseconds(d time.Duration) float64 { return float64(d.Round(10*time.Microsecond)) / 1e6 }

// ServerDetails is a tool server with its tools.
type ServerDetails struct {
	Server
	Tools   []ServerTool  `json:"tools" doc:"Its tools, by name."`
	Changes []ToolChange  `json:"changes" doc:"Its tools that wait until an admin accepts their new definitions."`
	Errors  []CallFailure `json:"errors" doc:"The newest failed calls, the newest first; at most ten, since legwork started."`
}

// ServerTool is a tool of a server.
type ServerTool struct {
	Name        string          `json:"name" doc:"The server's name of it."`
	Title       string          `json:"title,omitempty" doc:"Its name for people, as the server says."`
	Description string          `json:"description" doc:"What it does, as the server says."`
	Schema      json.RawMessage `json:"schema,omitempty" doc:"JSON Schema of its arguments."`
	Says        Annotations     `json:"annotations" doc:"What the server says about it. legwork believes this only where the config trusts the server."`
	Rules       []ToolRule      `json:"rules" doc:"The groups that offer it, and their rules."`
	Quarantined bool            `json:"quarantined,omitempty" doc:"The server has changed it, so that legwork does not call it."`
	NotOffered  string          `json:"not_offered,omitempty" doc:"The reason why no model can use it."`
	Calls       map[string]int  `json:"calls" doc:"Its calls since legwork started, by outcome: 'ok', 'failed', 'refused', 'unavailable', 'unknown', 'given_up'."`
}

// Annotations are what a server says about a tool.
type Annotations struct {
	ReadOnly    bool  `json:"read_only,omitempty" doc:"It changes nothing."`
	Idempotent  bool  `json:"idempotent,omitempty" doc:"Calling it twice does what calling it once does."`
	Destructive *bool `json:"destructive,omitempty" nullable:"false" doc:"It may destroy something. Omitted: the server does not say."`
	OpenWorld   *bool `json:"open_world,omitempty" nullable:"false" doc:"It reaches things outside of its own service. Omitted: the server does not say."`
}

// ToolRule is what the rules of a group say about a tool.
type ToolRule struct {
	Group    string `json:"group" doc:"The name of the group."`
	ReadOnly bool   `json:"read_only" doc:"The tool is known to change nothing."`
	Asks     bool   `json:"asks" doc:"A person is asked before each call."`
}

// ToolChange is a tool whose server has changed its definition.
type ToolChange struct {
	ID         string `json:"id" doc:"Names the tool and its new definition."`
	Tool       string `json:"tool" doc:"'server.tool'."`
	Difference string `json:"difference" doc:"From the accepted definition to the new one, as a unified diff."`
}

// CallFailure is a call that failed.
type CallFailure struct {
	At      Time   `json:"at" doc:"When."`
	Tool    string `json:"tool" doc:"'server.tool'."`
	Outcome string `json:"outcome" doc:"'failed', 'refused', 'unavailable', 'unknown'."`
	Text    string `json:"text" doc:"The beginning of what the model was told."`
}

// Servers lists the tool servers, by name.
func (o *Operations) Servers(_ context.Context, p Principal) ([]Server, error) {
	if err := o.allowed(p, policy.OpServers); err != nil {
		return nil, err
	}
	uses, list := o.ReadUses(), []Server{}
	for _, d := range o.Tools.Details() {
		list = append(list, serverOf(d, uses))
	}
	return list, nil
}

// Server returns a tool server with its tools. ErrNotFound.
func (o *Operations) Server(_ context.Context, p Principal, name string) (ServerDetails, error) {
	if err := o.allowed(p, policy.OpServers); err != nil {
		return ServerDetails{}, err
	}
	d, err := o.server(name)
	if err != nil {
		return ServerDetails{}, err
	}
	uses := o.ReadUses()
	out := ServerDetails{Server: serverOf(d, uses), Tools: make([]ServerTool, len(d.Tools)), Changes: make([]ToolChange, len(d.Changes)), Errors: make([]CallFailure, len(d.Failures))}
	for i, t := range d.Tools {
		out.Tools[i] = ServerTool{
			Name: t.Name, Title: t.Title, Description: t.Description, Schema: t.Schema, Says: Annotations(t.Annotations),
			Rules: make([]ToolRule, len(t.Groups)), Quarantined: t.Quarantined, NotOffered: t.NotOffered, Calls: uses.Tools[name+"."+t.Name],
		}
		for n, rule := range t.Groups {
			out.Tools[i].Rules[n] = ToolRule(rule)
		}
		if out.Tools[i].Calls == nil {
			out.Tools[i].Calls = map[string]int{}
		}
	}
	for i, c := range d.Changes {
		out.Changes[i] = ToolChange{c.ID, c.Tool, c.Difference}
	}
	for i, f := range d.Failures {
		out.Errors[i] = CallFailure{Time{f.At}, f.Tool, f.Outcome, f.Text}
	}
	return out, nil
}

func (o *Operations) server(name string) (tools.ServerDetails, error) {
	all := o.Tools.Details()
	if i := slices.IndexFunc(all, func(d tools.ServerDetails) bool { return d.Name == name }); i >= 0 {
		return all[i], nil
	}
	return tools.ServerDetails{}, notFoundError("no server of this name is configured")
}

func serverOf(d tools.ServerDetails, uses telemetry.Uses) Server {
	s := Server{
		Name: d.Name, Kind: d.Kind, State: string(d.State), Problem: d.Problem, Protocol: d.Protocol, Restarts: d.Restarts, RoundTripMS: milliseconds(d.RoundTrip),
		Groups: append([]string{}, d.Groups...), ToolCount: len(d.Tools), Quarantined: len(d.Changes), Latency: latencyOf(uses.Servers[d.Name]),
	}
	if s.State == "ready" && s.Problem != "" { // the accepted definitions of its tools cannot be read
		s.State = "down"
	}
	for _, t := range d.Tools {
		for outcome, n := range uses.Tools[d.Name+"."+t.Name] {
			s.Calls += n
			if outcome != telemetry.OK && outcome != telemetry.Given {
				s.Failed += n
			}
		}
	}
	return s
}

// Accept accepts changes of the tools of a server by their ids: the tools can be called
// again, as they are now. A change needs a code that people were shown (see Confirm). A
// change that is gone, because its tool has changed again, accepts nothing: ErrConflict.
func (o *Operations) Accept(ctx context.Context, p Principal, server string, ids []string, code string) (ServerDetails, error) {
	if err := o.allowed(p, policy.OpTools); err != nil {
		return ServerDetails{}, err
	}
	d, err := o.server(server)
	if err != nil {
		return ServerDetails{}, err
	}
	var changes []tools.Change
	for _, c := range d.Changes {
		if slices.Contains(ids, c.ID) {
			changes = append(changes, c)
		}
	}
	switch {
	case len(ids) == 0:
		return ServerDetails{}, &InvalidError{"changes", "name one or more changes of the server"}
	case len(changes) < len(ids):
		return ServerDetails{}, fmt.Errorf("%w: a tool has changed again, or its change was accepted meanwhile; read the server again", ErrConflict)
	}
	switch err := o.Confirm(ctx, changes, code); {
	case errors.Is(err, ErrCodeNeeded):
		return ServerDetails{}, cmp.Or(o.record(ctx, p, "tool.code", server, ""), err)
	case errors.Is(err, ErrWrongCode):
		wrong := &InvalidError{"code", "is wrong or has expired; leave it out to be shown another one"}
		return ServerDetails{}, cmp.Or[error](o.record(ctx, p, "code.wrong", server, ""), wrong)
	case err != nil:
		return ServerDetails{}, err
	}
	for _, c := range changes {
		if _, err := o.Tools.Accept(ctx, c.ID); err != nil {
			return ServerDetails{}, fmt.Errorf("%w: %w", ErrConflict, err)
		}
		if err := o.record(ctx, p, "tool.accept", c.Tool, "change "+c.ID); err != nil {
			return ServerDetails{}, err
		}
	}
	return o.Server(ctx, p, server)
}

// record adds an entry to the audit log.
func (o *Operations) record(ctx context.Context, p Principal, action, target, detail string) error {
	err := o.Inbox.Store.Record(ctx, tasks.AuditEntry{Who: p.Key(), Role: string(p.Role), Action: action, Target: target, Detail: detail, From: p.Addr})
	if err != nil {
		return fmt.Errorf("writing the audit log: %w", err)
	}
	return nil
}

// TriedCall is the outcome of a call that an admin made by hand.
type TriedCall struct {
	Group   string         `json:"group" doc:"The group by whose rules the tool was called."`
	Failed  bool           `json:"failed" doc:"'text' says what went wrong."`
	Unknown bool           `json:"unknown,omitempty" doc:"The call was sent, and may have taken effect."`
	Text    string         `json:"text" doc:"The result."`
	Bytes   int            `json:"bytes,omitempty" doc:"Size of the whole result, when 'text' is only its beginning."`
	TookMS  float64        `json:"took_ms" doc:"Duration, in milliseconds."`
	Images  []TriedImage   `json:"images" doc:"Pictures in the result."`
	Files   []TriedContent `json:"files" doc:"Other contents in the result, which are not kept."`
}

// TriedImage is a picture in the result of a call.
type TriedImage struct {
	Type string `json:"type" doc:"MIME type."`
	Data []byte `json:"data" doc:"The content in base64."`
}

// TriedContent is a content in the result of a call that is no text.
type TriedContent struct {
	Name  string `json:"name" doc:"Its name."`
	Type  string `json:"type" doc:"MIME type."`
	Bytes int    `json:"bytes" doc:"Its size."`
}

// maxTriedText bounds the text of a TriedCall, in bytes. The group's max_result_bytes
// may be less.
const maxTriedText = 256 << 10

// Try calls a tool for an admin, who has seen the exact arguments and so approves of
// them. The rules of a group that offers it hold; of several groups, one that asks before
// calls. A failure of the tool is a result. ErrConflict: it cannot be called now.
func (o *Operations) Try(ctx context.Context, p Principal, server, tool string, arguments json.RawMessage) (TriedCall, error) {
	if err := o.allowed(p, policy.OpTools); err != nil {
		return TriedCall{}, err
	}
	d, err := o.server(server)
	if err != nil {
		return TriedCall{}, err
	}
	i := slices.IndexFunc(d.Tools, func(t tools.ToolDetail) bool { return t.Name == tool })
	if i < 0 {
		return TriedCall{}, notFoundError("the server has no tool of this name now")
	}
	t, full := d.Tools[i], server+"."+tool
	switch {
	case o.Inbox.Pause.Gate() != nil:
		return TriedCall{}, fmt.Errorf("%w: everything is paused, resume legwork first", ErrConflict)
	case t.Quarantined:
		return TriedCall{}, fmt.Errorf("%w: the server has changed the tool, accept the change first", ErrConflict)
	case t.NotOffered != "":
		return TriedCall{}, fmt.Errorf("%w: no model can use the tool: %s", ErrConflict, t.NotOffered)
	case len(t.Groups) == 0:
		return TriedCall{}, fmt.Errorf("%w: no group offers the tool", ErrConflict)
	}
	group := t.Groups[0].Group
	if i := slices.IndexFunc(t.Groups, func(r tools.ToolRule) bool { return r.Asks }); i >= 0 {
		group = t.Groups[i].Group
	}
	if err := o.record(ctx, p, "tool.call", full, "by hand, group "+group); err != nil {
		return TriedCall{}, err
	}
	begun := o.Inbox.Now()
	result, err := o.Tools.Call(ctx, tools.Call{Group: group, Tool: full, Arguments: arguments, Chat: p.Room().Room(), Person: p.Key(), Private: true, Admin: true})
	if err != nil {
		return TriedCall{}, fmt.Errorf("calling tool %q: %w", full, err)
	}
	return triedCall(group, result, o.Inbox.Now().Sub(begun)), nil
}

func triedCall(group string, r tools.Result, took time.Duration) TriedCall {
	c := TriedCall{Group: group, Failed: r.Failed, Unknown: r.Unknown, Text: clip.Bytes(r.Text, maxTriedText), Bytes: r.Bytes, TookMS: milliseconds(took), Images: []TriedImage{}, Files: []TriedContent{}}
	if r.Question != nil {
		c.Failed, c.Text = true, "The server asks a person something before it goes on, which is possible only in a chat."
	}
	if len(c.Text) < len(r.Text) {
		c.Bytes = cmp.Or(r.Bytes, len(r.Text))
	}
	for _, image := range r.Images {
		c.Images = append(c.Images, TriedImage{image.Type, image.Data})
	}
	for _, f := range r.Files {
		c.Files = append(c.Files, TriedContent{f.Name, f.Type, len(f.Data)})
	}
	return c
}
