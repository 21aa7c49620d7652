package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// revisionError means that a server refused the protocol revision of a request and
// did not carry the request out (UnsupportedProtocolVersionError, MCP 2026-07-28,
// "Versioning").
type revisionError struct {
	supported []string // by the server
	allowed   []string // that legwork may use with this server, newest first
	fixed     string   // protocol in the config; empty: legwork chooses
}

// common is the newest revision that both sides support; empty: there is none.
func (e *revisionError) common() string {
	for _, v := range e.allowed {
		if slices.Contains(e.supported, v) {
			return v
		}
	}
	return ""
}

func (e *revisionError) Error() string {
	theirs, ours := strings.Join(e.supported, ", "), strings.Join(e.allowed, ", ")
	switch {
	case e.common() != "":
		return fmt.Sprintf("it no longer supports the protocol revision of this connection, but %s", theirs)
	case e.fixed != "":
		return fmt.Sprintf("it supports the protocol revisions %s, but with protocol %s in the config legwork uses only %s; change or remove protocol", theirs, e.fixed, ours)
	}
	return fmt.Sprintf("it supports the protocol revisions %s, but legwork supports only %s; update the older of the two", theirs, ours)
}

// commonRevision is the revision that a server wants in place of the one that a
// request had; empty: err is something else, or there is no common revision.
func commonRevision(err error) string {
	if other, ok := errors.AsType[*revisionError](err); ok {
		return other.common()
	}
	return ""
}

// maxRevisions is how many revisions of a server's list are read.
const maxRevisions = 20

// supportedRevisions reads the revisions that a server lists when it refuses that of
// a request; nil: it did not refuse it. Before 2026-07-28 the refusal of initialize
// was an error of the parameters (MCP 2025-11-25, "Lifecycle", "Error Handling").
func supportedRevisions(method string, resp *transport.JSONRPCResponse) []string {
	if resp == nil || resp.Error == nil {
		return nil
	}
	code := resp.Error.Code
	if code != mcp.UNSUPPORTED_PROTOCOL_VERSION && (code != mcp.INVALID_PARAMS || method != string(mcp.MethodInitialize)) {
		return nil
	}
	raw, err := json.Marshal(resp.Error.Data)
	if err != nil {
		return nil
	}
	var data mcp.UnsupportedProtocolVersionData
	if json.Unmarshal(raw, &data) != nil || len(data.Supported) == 0 {
		return nil
	}
	list := data.Supported[:min(len(data.Supported), maxRevisions)]
	for i, v := range list {
		list[i] = fmt.Sprintf("%.20s", clean(v))
	}
	return list
}

// allowedRevisions are the revisions that legwork may use with a server: all, or
// those of the era that protocol in the config is of.
func (c Config) allowedRevisions() []string {
	return slices.DeleteFunc(slices.Clone(mcp.ValidProtocolVersions), func(v string) bool {
		return c.Protocol != "" && mcp.IsModernProtocol(v) != mcp.IsModernProtocol(c.Protocol)
	})
}

// resentID is added to the id of a request that is sent again: ids are used once.
const resentID = 1 << 40

// withRevision returns what to send when a server refused the revision of a request:
// the request again, when this connection can use a revision that the server lists.
// Otherwise err is a *revisionError.
func (w *capturingTransport) withRevision(r transport.JSONRPCRequest, supported []string) (again transport.JSONRPCRequest, err error) {
	refused := &revisionError{supported: supported, allowed: w.conn.cfg.allowedRevisions(), fixed: w.conn.cfg.Protocol}
	next := refused.common()
	switch {
	case r.Method == string(mcp.MethodInitialize) && next != "" && !mcp.IsModernProtocol(next):
		r.Params = withMembers(r.Params, map[string]any{"protocolVersion": next})
	case next == "" || next != w.conn.client.ProtocolVersion():
		return r, refused
	}
	if id, ok := r.ID.Value().(int64); ok {
		r.ID = mcp.NewRequestId(id + resentID)
	}
	return r, nil
}

// withMembers returns params with members added or replaced.
func withMembers(params any, members map[string]any) any {
	b, err := json.Marshal(params)
	all := map[string]any{}
	var have map[string]json.RawMessage
	if err != nil || json.Unmarshal(b, &have) != nil {
		return params
	}
	for k, v := range have {
		all[k] = v
	}
	maps.Copy(all, members)
	return all
}
