package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"legwork/tools/client/skill"
)

// capturingTransport is a transport that keeps results as they came. The library
// negotiates, pages and frames, but its types lose parts of a tool's schema and
// refuse a whole result over one odd entry.
type capturingTransport struct {
	transport.Interface
	truncation truncation
	conn       *connection
	noCommon   error // why no revision is common, found by server/discover
}

// remoteTransport is a capturingTransport to a remote server. The library tells it
// which revision was agreed on.
type remoteTransport struct{ *capturingTransport }

// captured is one request whose result is kept as it came.
type captured struct {
	params  map[string]any // members of params to add or to replace
	method  string         // sent in place of the library's; empty: the library's is right
	task    string         // id of the server's task that the request is about; empty: none
	pages   [][]byte       // raw results, several for a list
	size    int            // of pages
	more    bool           // there were more pages than are read
	dropped int            // bytes that were left out of the results
	call    *inFlightCall  // the call that it is part of; nil: none

	readHeaders bool            // arguments may have to go into headers
	badHeaders  map[string]bool // the tools that ask for it
}

// result is the result of a request that is no list.
func (c *captured) result() []byte {
	if len(c.pages) == 0 {
		return nil
	}
	return c.pages[len(c.pages)-1]
}

type capturedKey struct{}

func withCapture(ctx context.Context, c *captured) context.Context {
	return context.WithValue(ctx, capturedKey{}, c)
}

// sentRequest is the request that a response answers.
type sentRequest struct {
	id, method string
	call       *inFlightCall
}

type sentRequestKey struct{}

func sentRequestOf(ctx context.Context) sentRequest {
	s, _ := ctx.Value(sentRequestKey{}).(sentRequest)
	return s
}

// rpcError is an error of JSON-RPC (https://www.jsonrpc.org/specification#error_object).
type rpcError struct {
	code    int
	message string
	data    json.RawMessage
}

func (e *rpcError) Error() string { return withoutEcho(clean(e.message)) }

// withoutEcho leaves out the end of an error text that only repeats words before it:
// "tool 'x' not found: tool not found" is a common one.
func withoutEcho(text string) string {
	at := strings.LastIndex(text, ": ")
	if at < 0 {
		return text
	}
	said, again := strings.Fields(text[:at]), strings.Fields(text[at+1:])
	if len(again) < 2 || slices.ContainsFunc(again, func(word string) bool { return !slices.Contains(said, word) }) {
		return text
	}
	return text[:at]
}

// Bounds on the pages of a list.
const (
	maxPages    = 100
	maxListSize = 8 << 20
)

// SendRequest passes the request on, keeps a captured result, and gives the
// library an empty one in its place. When the server refuses the revision of the
// request, SendRequest sends it once more with one that the server lists, or ends a
// connection that cannot do that.
func (w *capturingTransport) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	c, _ := ctx.Value(capturedKey{}).(*captured)
	resp, err := w.send(ctx, r, c)
	if supported := supportedRevisions(r.Method, resp); err == nil && supported != nil {
		again, refused := w.withRevision(r, supported)
		switch {
		case refused == nil:
			resp, err = w.send(ctx, again, c)
		case w.conn.initialized:
			w.conn.fail(refused)
			return nil, refused
		case r.Method == string(mcp.MethodServerDiscover):
			if commonRevision(refused) == "" {
				w.noCommon = refused
			}
			return resp, nil // the library goes on with initialize
		default:
			return nil, refused
		}
	}
	switch {
	case w.noCommon != nil && r.Method == string(mcp.MethodInitialize) && (err != nil || resp.Error != nil):
		return nil, w.noCommon
	case err != nil:
		return nil, err
	case c == nil:
		return resp, nil
	case resp.Error != nil:
		data, err := json.Marshal(resp.Error.Data)
		if err != nil {
			data = nil
		}
		return nil, &rpcError{code: resp.Error.Code, message: resp.Error.Message, data: data}
	}
	resp.Result = c.keep(resp.Result, r.Method)
	return resp, nil
}

// send sends a request once. c is nil for a request whose result is not kept.
func (w *capturingTransport) send(ctx context.Context, r transport.JSONRPCRequest, c *captured) (*transport.JSONRPCResponse, error) {
	id := fmt.Sprint(r.ID.Value()) // as it is on the wire: the library counts its requests
	s := sentRequest{id: id, method: r.Method}
	if c != nil {
		s.call = c.call
		c.changeMethod(&r)
		r.Params = c.addParams(r.Params)
		w.truncation.expect(id)
		if r.Method == string(mcp.MethodToolsList) || r.Method == skill.List {
			defer w.truncation.expectList()()
		}
	}
	resp, err := w.Interface.SendRequest(context.WithValue(ctx, sentRequestKey{}, s), r)
	if c != nil {
		a := w.truncation.take(id)
		c.dropped += a.dropped
		if a.whole != nil && err == nil {
			err = json.Unmarshal(a.whole, resp)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case !resp.ID.IsNil() && resp.ID.String() != r.ID.String():
		return nil, fmt.Errorf("it answered another request than %s", id)
	case c == nil:
		return checkDiscovery(r.Method, resp), nil
	}
	return resp, nil
}

// checkDiscovery turns an answer to server/discover that names no modern revision,
// or of those that legwork knows only older ones, into an error: some servers and
// gateways answer {} to everything.
func checkDiscovery(method string, resp *transport.JSONRPCResponse) *transport.JSONRPCResponse {
	if method != string(mcp.MethodServerDiscover) || resp.Error != nil {
		return resp
	}
	var r struct {
		Versions []string `json:"supportedVersions"`
	}
	_ = json.Unmarshal(resp.Result, &r)
	known := mcp.NegotiateMutuallySupportedVersion(r.Versions)
	if slices.ContainsFunc(r.Versions, mcp.IsModernProtocol) && (known == "" || mcp.IsModernProtocol(known)) {
		return resp
	}
	return transport.NewJSONRPCErrorResponse(resp.ID, mcp.METHOD_NOT_FOUND, "the answer to server/discover names no revision", nil)
}

// changeMethod makes another request of that of the library, which does not know its
// method. The headers are those of "Streamable HTTP: Routing Headers" of the extension
// for tasks.
func (c *captured) changeMethod(r *transport.JSONRPCRequest) {
	if c.method == "" {
		return
	}
	r.Method = c.method
	if r.Header.Get(mcp.HeaderMethod) == "" {
		return
	}
	r.Header = r.Header.Clone()
	r.Header.Set(mcp.HeaderMethod, c.method)
	if name, ok := mcp.EncodeHeaderValue(c.task); ok && c.task != "" {
		r.Header.Set(mcp.HeaderName, name)
	}
}

// addParams adds members that the library does not know.
func (c *captured) addParams(old any) any {
	if len(c.params) == 0 {
		return old
	}
	return withMembers(old, c.params)
}

// keep takes a result and returns what the library gets in its place.
func (c *captured) keep(result []byte, method string) json.RawMessage {
	c.pages = append(c.pages, result)
	c.size += len(result)
	empty := listKeys()[method]
	if empty == "" {
		return json.RawMessage(`{"content":[],"contents":[],"messages":[]}`)
	}
	var head struct {
		NextCursor json.RawMessage `json:"nextCursor,omitempty"`
	}
	_ = json.Unmarshal(result, &head)
	if head.NextCursor == nil || len(c.pages) >= maxPages || c.size > maxListSize {
		c.more = head.NextCursor != nil
		head.NextCursor = json.RawMessage("null")
	}
	items := []json.RawMessage{}
	if method == string(mcp.MethodToolsList) {
		items = c.headerTools(result)
	}
	b, err := json.Marshal(map[string]any{empty: items, "nextCursor": head.NextCursor})
	if err != nil {
		return json.RawMessage("{}")
	}
	return b
}

// listKeys names what each list holds.
func listKeys() map[string]string {
	return map[string]string{
		string(mcp.MethodToolsList):              "tools",
		string(mcp.MethodPromptsList):            "prompts",
		string(mcp.MethodResourcesList):          "resources",
		string(mcp.MethodResourcesTemplatesList): "resourceTemplates",
	}
}

// SetProtocolVersion notes the revision for the headers of requests.
func (w remoteTransport) SetProtocolVersion(version string) {
	if t, ok := w.Interface.(transport.HTTPConnection); ok {
		t.SetProtocolVersion(version)
	}
	w.conn.http.protocol.Store(&version)
}

// cancelTimeout is how long sending notifications/cancelled may take.
const cancelTimeout = 5 * time.Second

// SendRequest also cancels a request that was given up by notifications/cancelled
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation),
// which the library sends only on other transports.
func (w remoteTransport) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := w.capturingTransport.SendRequest(ctx, r)
	if err == nil || ctx.Err() == nil || w.conn.modern() || r.Method == string(mcp.MethodInitialize) || r.Method == string(mcp.MethodServerDiscover) {
		return resp, err
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION}
	n.Method = string(mcp.MethodNotificationCancelled)
	n.Params.AdditionalFields = map[string]any{"requestId": r.ID, "reason": reason(ctx)}
	w.conn.spawn(func() {
		late, cancel := context.WithTimeout(w.conn.ctx, cancelTimeout)
		defer cancel()
		_ = w.Interface.SendNotification(late, n)
	})
	return resp, err
}

func reason(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return "it took too long"
	}
	return "the result is not needed any more"
}
