package data

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"legwork/app/control"
	"legwork/conf"
	"legwork/store/bolt"
	"legwork/tools/builtin/memory"
)

// The calls on the control socket.
const (
	pathBackup  = "/data/backup"
	pathVerify  = "/data/verify"
	pathCompact = "/data/compact"
	pathForget  = "/data/forget"
	pathRekey   = "/data/rekey"
	pathSealed  = "/data/sealed"
	pathSignIns = "/data/connections"
)

// Handle lets a second process work on the data.
func (a Admin) Handle(mux *http.ServeMux) {
	control.Handle(mux, pathBackup, a.Backup)
	control.Handle(mux, pathVerify, a.verify)
	control.Handle(mux, pathCompact, a.compactByHand)
	control.Handle(mux, pathForget, a.Forget)
	control.Handle(mux, pathRekey, a.rekey)
	control.Handle(mux, pathSealed, a.sealed)
	control.Handle(mux, pathSignIns, a.connections)
}

// Owner reaches the data of a config from a second process.
type Owner struct {
	Config *conf.Config
	Log    *slog.Logger
	// Create opens the store even when there is no data yet.
	Create bool
}

// Call lets the process that holds the data answer a call. When there is no such
// process, it opens the store and calls here; then running is false. Without any
// data it returns a zero Out, unless Create is set.
func Call[In, Out any](ctx context.Context, o Owner, path string, in In, here func(Admin, context.Context, In) (Out, error)) (out Out, running bool, err error) {
	owner := control.NewClient(o.Config.DataDir)
	defer owner.Close()
	err = owner.Call(ctx, http.MethodPost, path, in, &out)
	if !errors.Is(err, control.ErrNoProcess) {
		return out, true, err
	}
	if !o.Create && Empty(o.Config) {
		return out, false, nil
	}
	store, err := Open(ctx, o.Config, "legwork"+strings.ReplaceAll(path, "/", " "), nil, o.Log)
	if err != nil {
		return out, false, err
	}
	out, err = here(Admin{Dir: o.Config.DataDir, Store: store, Log: o.Log}, ctx, in)
	return out, false, errors.Join(err, store.Close())
}

// Backup copies the data to a file at once.
func (o Owner) Backup(ctx context.Context, path string) ([]File, error) {
	list, _, err := Call(ctx, o, pathBackup, path, Admin.Backup)
	return list, err
}

// Verify reads all of the data.
func (o Owner) Verify(ctx context.Context) ([]File, error) {
	list, _, err := Call(ctx, o, pathVerify, struct{}{}, Admin.verify)
	return list, err
}

// Compact makes the data files as small as they can be.
func (o Owner) Compact(ctx context.Context) ([]Compacted, error) {
	list, _, err := Call(ctx, o, pathCompact, struct{}{}, Admin.compactByHand)
	return list, err
}

// Forget deletes everything that is stored about a person or a chat.
func (o Owner) Forget(ctx context.Context, in ForgetRequest) (Forgotten, error) {
	out, _, err := Call(ctx, o, pathForget, in, Admin.Forget)
	return out, err
}

// Empty reports that there is no data yet. Of a database on a server it is not known.
func Empty(config *conf.Config) bool { return !onServer(config) && empty(config.DataDir) }

// empty reports that a directory holds neither data nor backups.
func empty(dir string) bool {
	for _, name := range []string{filepath.Join(dir, bolt.FileName), filepath.Join(dir, memory.FileName), BackupFolder(dir)} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
}

// VerifyFile reads one data file that no process is using. A quick look leaves
// the checksums of the records out. The store also runs it in a child process.
func VerifyFile(path string, quick bool) error {
	switch {
	case strings.Contains(filepath.Base(path), strings.TrimSuffix(memory.FileName, ".db")) && !bolt.IsDataFile(path):
		return memory.Verify(path)
	case quick:
		return bolt.VerifyQuick(path)
	}
	return bolt.Verify(path)
}
