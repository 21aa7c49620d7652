package tooladmin

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"

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

// The calls on the control socket about tools.
const (
	pathKnown   = "/tools/known"
	pathChanges = "/tools/changes"
	pathAccept  = "/tools/accept"
)

// acceptance asks for the acceptance of changes. The reply is whether they are
// accepted: without Code, people are shown one.
type acceptance struct {
	IDs  []string `json:"ids"`
	Code string   `json:"code"`
}

// Confirm reports whether code is the one that people were shown for changes. Without
// a code it shows them one.
type Confirm func(ctx context.Context, changes []tools.Change, code string) (bool, error)

// Handle answers a second process that asks about the tools of this one.
func Handle(mux *http.ServeMux, manager *tools.Manager, store tasks.Store, log *slog.Logger, confirm Confirm) {
	control.Handle(mux, pathKnown, func(ctx context.Context, servers []string) (map[string][]byte, error) {
		return read(ctx, store, servers)
	})
	control.Handle(mux, pathChanges, func(ctx context.Context, _ struct{}) ([]tools.Change, error) {
		return manager.Changes(ctx), nil
	})
	control.Handle(mux, pathAccept, func(ctx context.Context, a acceptance) (bool, error) {
		var wanted []tools.Change
		for _, c := range manager.Changes(ctx) {
			if slices.Contains(a.IDs, c.ID) {
				wanted = append(wanted, c)
			}
		}
		if len(wanted) > 0 {
			if ok, err := confirm(ctx, wanted, a.Code); err != nil || !ok {
				return false, err
			}
		}
		for _, id := range a.IDs {
			change, err := manager.Accept(ctx, id) // fails for a change that is gone
			if err != nil {
				return false, err
			}
			data.Record(ctx, store, log, data.ByHand("tool.accept", change.Tool, "change "+id))
		}
		return true, nil
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

// loadKnown returns a copy of the stored definitions of a config's tools. It asks the
// process that owns the data, or reads the data when there is none. Lists and calls
// are useful without the definitions, so that it prints an error and does not return
// it. A command accepts nothing in a person's name: a tool that it sees for the first
// time stays in the copy.
func loadKnown(ctx context.Context, config *conf.Config, c cli.Console) *tools.MemoryKnown {
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
	return tools.NewMemoryKnown(pages)
}
