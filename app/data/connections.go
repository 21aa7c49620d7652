package data

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"legwork/app/control"
	"legwork/store/bolt"
	"legwork/tasks"
)

// connections lists the stored sign-ins without their secrets.
func (a Admin) connections(ctx context.Context, _ struct{}) ([]tasks.Connection, error) {
	list, err := a.Store.Connections(ctx)
	return withoutSecrets(list), err
}

func withoutSecrets(list []tasks.Connection) []tasks.Connection {
	for i := range list {
		list[i].Sealed = nil
	}
	return list
}

// ErrElsewhere says that the data is in a database on a server that no process of this
// machine uses.
var ErrElsewhere = errors.New("no legwork on this machine uses the database")

// Connections lists the stored sign-ins at servers without their secrets. It changes
// nothing. ErrElsewhere.
func (o Owner) Connections(ctx context.Context) (list []tasks.Connection, err error) {
	owner := control.NewClient(o.Config.DataDir)
	defer owner.Close()
	if err := owner.Call(ctx, http.MethodPost, pathSignIns, struct{}{}, &list); !errors.Is(err, control.ErrNoProcess) {
		return list, err
	}
	if onServer(o.Config) {
		return nil, ErrElsewhere
	}
	path := filepath.Join(o.Config.DataDir, bolt.FileName)
	if _, err := os.Stat(path); err != nil {
		return nil, nil // there is no data yet
	}
	list, err = bolt.Connections(path)
	return withoutSecrets(list), err
}
