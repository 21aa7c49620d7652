package mcp

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// heartbeat is the time between two signs of life in the stream of a client that
// listens.
const heartbeat = 15 * time.Second

// listens reports whether a client opens the stream for changes of lists.
func (r request) listens(h http.Header) bool {
	return r.method == string(mcp.MethodSubscriptionsListen) && r.id != "" && r.id != "null" && r.version != "" && r.agrees(h)
}

// listen acknowledges subscriptions/listen and keeps the stream open until the client
// leaves or legwork stops (MCP 2026-07-28, "Subscriptions"). The library ends the
// stream at once, since there is nothing to report: the tools that a token sees
// change only with its role, and then package web ends its requests.
func (e *endpoint) listen(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	flush := http.NewResponseController(w).Flush
	meta := map[string]any{mcp.MetaKeySubscriptionID: id}
	send := func(message map[string]any) error {
		text, err := json.Marshal(message)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, "event: message\ndata: "+string(text)+"\n\n"); err != nil {
			return err
		}
		return flush()
	}
	acknowledged := map[string]any{"_meta": meta, "notifications": mcp.SubscriptionFilter{}}
	if send(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": mcp.MethodNotificationSubscriptionsAcknowledged, "params": acknowledged}) != nil {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-e.stop:
			_ = send(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "id": id, "result": map[string]any{"_meta": meta, "resultType": mcp.ResultTypeComplete}}) // the client may be gone
			return
		case <-beat.C:
			if _, err := io.WriteString(w, ": heartbeat\n\n"); err != nil || flush() != nil {
				return
			}
		}
	}
}
