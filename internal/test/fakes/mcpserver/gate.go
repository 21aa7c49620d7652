package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// gate is strict about what clients send: it refuses what breaks the protocol
// and logs a violation. What a client may rightly try, such as a greeting of
// the other era, it refuses without one.
type gate struct {
	options
	log *journal

	mu       sync.Mutex
	sessions map[string]*session // of the legacy era; "" on stdio
}

// session is what a client of the legacy era has agreed on.
type session struct {
	version string
	can     mcp.ClientCapabilities
	ready   bool // notifications/initialized came
	ended   bool
	ids     map[string]bool
}

func newGate(o options, j *journal) *gate {
	return &gate{options: o, log: j, sessions: map[string]*session{}}
}

// admit returns nil for a message that may pass.
func (g *gate) admit(x *exchange) *refusal {
	if x.http != nil {
		if wrong := x.http.wrong(x.message); wrong != "" {
			return g.violation(x, http.StatusBadRequest, wrong)
		}
	}
	switch {
	case x.Method == http.MethodGet || x.Method == http.MethodDelete:
		return g.listening(x)
	case x.wrong != "":
		r := g.violation(x, http.StatusBadRequest, x.wrong)
		if !json.Valid(x.raw) {
			r.code = mcp.PARSE_ERROR
		}
		return r
	case x.Method != "" && mcp.IsModernProtocol(x.version()):
		return g.modern(x)
	default:
		return g.legacy(x)
	}
}

// violation logs what a client did wrong.
func (g *gate) violation(x *exchange, status int, text string) *refusal {
	g.log.write(entry{Event: "violation", ID: validID(x.ID), Tool: x.params.Name, Note: strings.TrimSpace(x.Method + ": " + text)})
	return &refusal{code: mcp.INVALID_REQUEST, status: status, text: text, final: true}
}

func validID(id json.RawMessage) json.RawMessage {
	if json.Valid(id) {
		return id
	}
	return nil
}

// modern judges a message that declares revision 2026-07-28 or later.
func (g *gate) modern(x *exchange) *refusal {
	switch {
	case g.era == "legacy" || g.sse != "":
		return g.old(x)
	case !mcp.IsValidProtocolVersion(x.version()):
		return &refusal{code: mcp.UNSUPPORTED_PROTOCOL_VERSION, status: http.StatusBadRequest, text: "unknown version " + x.version(), data: g.supported(x.version())}
	case slices.Contains([]string{"initialize", "notifications/initialized", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}, x.Method):
		return g.violation(x, http.StatusBadRequest, "revision "+x.version()+" has no such method")
	case kind(x.params.Meta[mcp.MetaKeyClientCapabilities]) != '{':
		return g.violation(x, http.StatusBadRequest, "_meta has no "+mcp.MetaKeyClientCapabilities)
	default:
		return nil
	}
}

// old refuses a modern message the way that servers of the legacy era do.
func (g *gate) old(x *exchange) *refusal {
	if g.http != "" {
		return &refusal{code: -32000, status: http.StatusBadRequest, text: "no session: send initialize first"}
	}
	return &refusal{code: mcp.METHOD_NOT_FOUND, status: http.StatusBadRequest, text: "unknown method " + x.Method}
}

func (g *gate) supported(requested string) any {
	return map[string]any{"supported": g.versions(), "requested": requested}
}

// legacy judges a message that declares no revision.
func (g *gate) legacy(x *exchange) *refusal {
	switch {
	case g.era == "modern" && x.Method == "initialize":
		return &refusal{code: mcp.UNSUPPORTED_PROTOCOL_VERSION, status: http.StatusBadRequest, text: "initialize is of the past", data: g.supported(x.params.ProtocolVersion)}
	case g.era == "modern" && x.http != nil && x.http.version() != "" && !mcp.IsModernProtocol(x.http.version()): // it began with an older server
		return &refusal{code: mcp.UNSUPPORTED_PROTOCOL_VERSION, status: http.StatusBadRequest, text: "unknown version " + x.http.version(), data: g.supported(x.http.version())}
	case g.era == "modern" && x.isRequest():
		return g.violation(x, http.StatusBadRequest, "_meta has no "+mcp.MetaKeyProtocolVersion)
	case x.Method == "initialize":
		return g.greet(x)
	case !x.isRequest() && x.Method != "notifications/initialized" && (g.http == "" || mcp.IsModernProtocol(x.http.version())):
		return nil // cancels and answers declare no revision
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[x.session]
	switch {
	case g.http != "" && x.session == "":
		return g.violation(x, http.StatusBadRequest, "before initialize: no "+mcp.HeaderSessionID)
	case s == nil && g.http != "":
		return g.gone(x)
	case s == nil:
		return g.violation(x, http.StatusBadRequest, "before initialize")
	case s.ended:
		return g.gone(x)
	case x.http != nil && g.http != "" && x.http.version() != s.version && s.version >= mcp.ProtocolVersion20250618:
		return g.violation(x, http.StatusBadRequest, fmt.Sprintf("header %s is %q, agreed on %q", mcp.HeaderProtocolVersion, x.http.version(), s.version))
	case x.Method == "notifications/initialized":
		s.ready = true
	case !s.ready && x.Method != "ping":
		return g.violation(x, http.StatusBadRequest, "before notifications/initialized")
	case x.isRequest() && s.ids[string(x.ID)]:
		return g.violation(x, http.StatusBadRequest, "the id was used before: "+string(x.ID))
	case x.isRequest():
		s.ids[string(x.ID)] = true
	}
	return nil
}

// gone refuses a message to a session that is over, or that another process
// began: clients are to begin a new one.
func (g *gate) gone(x *exchange) *refusal {
	if !strings.HasPrefix(x.session, sessionPrefix) {
		return g.violation(x, http.StatusNotFound, "a session that no server gave: "+x.session)
	}
	g.log.write(entry{Event: "session", ID: x.ID, Note: "refused " + x.session})
	return &refusal{code: mcp.INVALID_REQUEST, status: http.StatusNotFound, text: "session not found", final: true}
}

// greet judges initialize, and begins the session where there is one per
// connection; for -http, sessionsOf does it.
func (g *gate) greet(x *exchange) *refusal {
	p := x.params
	switch {
	case p.ProtocolVersion == "" || kind(p.Capabilities) != '{' || p.ClientInfo.Name == "" || p.ClientInfo.Version == "":
		return g.violation(x, http.StatusBadRequest, "want protocolVersion, capabilities, and clientInfo with name and version")
	case g.http != "" && x.session != "":
		return g.violation(x, http.StatusBadRequest, "a new session asked for with the header of an old one")
	case g.http == "":
		g.begin(x.session, x)
	}
	return nil
}

// begin remembers a session and the revision that the library will agree on.
func (g *gate) begin(id string, x *exchange) {
	version := x.params.ProtocolVersion
	if !mcp.IsValidProtocolVersion(version) || mcp.IsModernProtocol(version) {
		version = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	}
	s := &session{version: version, ids: map[string]bool{string(x.ID): true}}
	_ = json.Unmarshal(x.params.Capabilities, &s.can)
	g.mu.Lock()
	g.sessions[id] = s
	g.mu.Unlock()
	g.log.write(entry{Event: "session", Note: "began " + id + " with " + version})
}

// capabilities are what the client of a session declared.
func (g *gate) capabilities(id string) mcp.ClientCapabilities {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil {
		return s.can
	}
	return mcp.ClientCapabilities{}
}

// end ends a session.
func (g *gate) end(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil && !s.ended {
		s.ended = true
		g.log.write(entry{Event: "session", Note: "ended " + id})
	}
}

// listening judges the requests of HTTP that carry no message.
func (g *gate) listening(x *exchange) *refusal {
	if g.http == "" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.sessions[x.session]
	switch {
	case g.era == "modern" || mcp.IsModernProtocol(x.http.version()):
		return &refusal{code: mcp.INVALID_REQUEST, status: http.StatusMethodNotAllowed, text: "only POST"}
	case x.session == "": // clients look for HTTP+SSE in this way
		return &refusal{code: mcp.INVALID_REQUEST, status: http.StatusMethodNotAllowed, text: "no stream without a session"}
	case s == nil || s.ended:
		return g.gone(x)
	default:
		return nil
	}
}

const sessionPrefix = "fake-"

// sessionsOf lets the library begin and end sessions on behalf of one request.
type sessionsOf struct {
	gate *gate
	x    *exchange
}

func (s sessionsOf) Generate() string {
	id := sessionPrefix + rand.Text()
	s.gate.begin(id, s.x)
	return id
}

// Validate accepts everything: the gate has judged before.
func (s sessionsOf) Validate(string) (bool, error) { return false, nil }

func (s sessionsOf) Terminate(id string) (bool, error) {
	s.gate.end(id)
	return false, nil
}
