package tooladmin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	"legwork/app/cli"
	"legwork/app/control"
	"legwork/app/data"
	"legwork/conf"
	"legwork/tasks"
	"legwork/tools"
)

// settingsOwner owns the settings that hold what servers said about their tools, one
// setting for each server.
const settingsOwner = "tools"

// Stored is a tools.Known in the settings of the store.
type Stored struct{ Store tasks.Store }

var _ tools.Known = Stored{}

// Load implements tools.Known.
func (s Stored) Load(ctx context.Context, server string) ([]byte, error) {
	text, err := s.Store.Setting(ctx, settingsOwner, server)
	return []byte(text), err
}

// Save implements tools.Known.
func (s Stored) Save(ctx context.Context, server string, data []byte) error {
	return s.Store.PutSetting(ctx, settingsOwner, server, string(data))
}

// known is a copy of what is stored about the tools of servers. A command that
// looks at servers, or calls one tool, agrees to nothing in anybody's name, so
// what it sees for the first time stays in the copy.
type known struct {
	mu    sync.Mutex
	pages map[string][]byte // by server
}

var _ tools.Known = (*known)(nil)

// Load implements tools.Known.
func (k *known) Load(_ context.Context, server string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pages[server], nil
}

// Save implements tools.Known.
func (k *known) Save(_ context.Context, server string, data []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages[server] = data
	return nil
}

// The calls on the control socket about tools.
const (
	pathKnown   = "/tools/known"
	pathChanges = "/tools/changes"
	pathAccept  = "/tools/accept"
)

// Handle answers a second process that asks about the tools of this one.
func Handle(mux *http.ServeMux, manager *tools.Manager, store tasks.Store, log *slog.Logger) {
	control.Handle(mux, pathKnown, func(ctx context.Context, servers []string) (map[string][]byte, error) {
		return read(ctx, store, servers)
	})
	control.Handle(mux, pathChanges, func(ctx context.Context, _ struct{}) ([]tools.Change, error) {
		return manager.Changes(ctx), nil
	})
	control.Handle(mux, pathAccept, func(ctx context.Context, id string) (tools.Change, error) {
		change, err := manager.Accept(ctx, id)
		if err == nil {
			data.Record(ctx, store, log, data.ByHand("tool.accept", change.Tool, "change "+id))
		}
		return change, err
	})
}

// read loads what is stored about the tools of servers.
func read(ctx context.Context, store tasks.Store, servers []string) (map[string][]byte, error) {
	pages := map[string][]byte{}
	for _, server := range servers {
		page, err := Stored{store}.Load(ctx, server)
		if err != nil {
			return nil, fmt.Errorf("reading the known tools of the server %q: %w", server, err)
		}
		if len(page) > 0 {
			pages[server] = page
		}
	}
	return pages, nil
}

// loadKnown returns what is stored about the tools of a config: it asks the
// process that owns the data, or reads the data when there is none. Lists and
// calls are useful without it, so that it prints an error and does not return it.
func loadKnown(ctx context.Context, config *conf.Config, c cli.Console) *known {
	servers := slices.Sorted(maps.Keys(config.Tools.Servers))
	pages, _, err := data.Call(ctx, data.Owner{Config: config, Log: c.Log(config)}, pathKnown, servers, func(a data.Admin, ctx context.Context, servers []string) (map[string][]byte, error) {
		return read(ctx, a.Store, servers)
	})
	if err != nil {
		fmt.Fprintln(c.Err, "legwork: reading which tools were changed by their servers:", err)
	}
	if pages == nil {
		pages = map[string][]byte{}
	}
	return &known{pages: pages}
}
