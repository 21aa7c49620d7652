package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"legwork/app/control"
	"legwork/conf"
	"legwork/store/bolt"
	"legwork/tasks"
	"legwork/tools"
)

// ownerKnown owns the settings that hold what servers said of their tools, one
// for each server.
const ownerKnown = "tools"

// known keeps what servers said of their tools in the store.
type known struct{ store tasks.Store }

var _ tools.Known = known{}

// Load implements tools.Known.
func (k known) Load(ctx context.Context, server string) ([]byte, error) {
	text, err := k.store.Setting(ctx, ownerKnown, server)
	return []byte(text), err
}

// Save implements tools.Known.
func (k known) Save(ctx context.Context, server string, data []byte) error {
	return k.store.PutSetting(ctx, ownerKnown, server, string(data))
}

// remembered is what was known of tools when a command began. A command that
// looks at servers, or calls one tool, agrees to nothing in anybody's name, so
// what it sees for the first time is not saved.
type remembered map[string][]byte

var _ tools.Known = remembered{}

// Load implements tools.Known.
func (r remembered) Load(_ context.Context, server string) ([]byte, error) { return r[server], nil }

// Save implements tools.Known.
func (remembered) Save(context.Context, string, []byte) error { return nil }

// The calls on the control socket about tools.
const (
	pathKnown   = "/tools/known"
	pathChanges = "/tools/changes"
	pathAccept  = "/tools/accept"
)

// handleTools answers a second process that asks about the tools of this one.
func (a *app) handleTools(mux *http.ServeMux) {
	mux.HandleFunc("POST "+pathKnown, func(w http.ResponseWriter, r *http.Request) {
		var servers []string
		if !decodeCall(w, r, &servers) {
			return
		}
		pages, err := read(r.Context(), known{a.store}, servers)
		control.Reply(w, pages, err)
	})
	mux.HandleFunc("GET "+pathChanges, func(w http.ResponseWriter, r *http.Request) {
		control.Reply(w, a.tools.Changes(r.Context()), nil)
	})
	mux.HandleFunc("POST "+pathAccept, func(w http.ResponseWriter, r *http.Request) {
		var id string
		if !decodeCall(w, r, &id) {
			return
		}
		change, err := a.tools.Accept(r.Context(), id)
		if err == nil {
			record(r.Context(), a.store, a.log, byHand("tool.accept", change.Tool, "change "+id))
		}
		control.Reply(w, change, err)
	})
}

// decodeCall reads the body of a call; when it cannot, it has answered.
func decodeCall(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(into)
	if err != nil {
		http.Error(w, fmt.Sprintf("reading the call: %v", err), http.StatusBadRequest)
	}
	return err == nil
}

// read loads what is known of servers.
func read(ctx context.Context, from tools.Known, servers []string) (remembered, error) {
	pages := remembered{}
	for _, server := range servers {
		data, err := from.Load(ctx, server)
		if err != nil {
			return nil, fmt.Errorf("reading what is known of the server %q: %w", server, err)
		}
		if len(data) > 0 {
			pages[server] = data
		}
	}
	return pages, nil
}

// recall is what is known of servers: from the process that owns the data, or
// from the data themselves when nobody does.
func recall(ctx context.Context, config *conf.Config, servers []string) (remembered, error) {
	owner := control.NewClient(config.DataDir)
	defer owner.Close()
	var pages remembered
	err := owner.Call(ctx, http.MethodPost, pathKnown, servers, &pages)
	if !errors.Is(err, control.ErrNobody) {
		return pages, err
	}
	if _, err := os.Stat(filepath.Join(config.DataDir, bolt.FileName)); errors.Is(err, fs.ErrNotExist) {
		return remembered{}, nil
	}
	store, err := openStore(ctx, config, "legwork tools", nil)
	if err != nil {
		return nil, err
	}
	pages, err = read(ctx, known{store}, servers)
	return pages, errors.Join(err, store.Close())
}
