package data

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"legwork/app/control"
	"legwork/internal/failpoint"
	"legwork/internal/seal"
	"legwork/store/bolt"
)

// RekeyRequest changes the sealing key.
type RekeyRequest struct {
	// To is a file with the new key. It is made when there is none. Empty: a new key, or
	// with Old the key in use.
	To string `json:"to,omitempty"`
	// Old is a file with a key that sealed some of the sign-ins; empty: none.
	Old string `json:"old,omitempty"`
}

// Rekeyed is what Rekey did.
type Rekeyed struct {
	Sealed
	Key  string `json:"key"`  // id of the key that seals now
	File string `json:"file"` // that holds it; empty: the config does
}

// Rekey changes the sealing key and seals all stored sign-ins with the new one. running
// tells that another process did it.
func (o Owner) Rekey(ctx context.Context, in RekeyRequest) (out Rekeyed, err error) {
	out, _, err = Call(ctx, o, pathRekey, in, func(a Admin, ctx context.Context, in RekeyRequest) (Rekeyed, error) {
		var err error
		if a.Keys, err = OpenKeys(ctx, o.Config, a.Store, a.Log, nil); err != nil {
			return Rekeyed{}, err
		}
		return a.rekey(ctx, in)
	})
	return out, err
}

// rekey is Owner.Rekey in the process that holds the data.
func (a Admin) rekey(ctx context.Context, in RekeyRequest) (out Rekeyed, err error) {
	k := a.Keys
	k.changing.Lock()
	defer k.changing.Unlock()
	if k.configReads(NextKeyFile) {
		return out, fmt.Errorf("the config reads its sealing key from %s, which this command writes: move the key to another file first", k.path(NextKeyFile))
	}
	if in.Old != "" {
		old, err := seal.ReadFile(in.Old)
		if err != nil {
			return out, err
		}
		k.Also(old)
		k.hidden(old)
	}
	to, err := k.target(in)
	if err != nil {
		return out, err
	}
	k.hidden(to)
	if err := seal.WriteFile(k.path(NextKeyFile), to); err != nil {
		return out, err
	}
	failpoint.Hit("rekey.before.seal")
	if err := k.change(ctx, to); err != nil {
		return out, err
	}
	found, err := readKeys(k.config)
	if err == nil && k.config.SealingKey != "" && !found.pending() { // the config has this key already
		err = os.Remove(k.path(NextKeyFile))
	}
	if err != nil {
		return out, err
	}
	if out.Sealed, err = k.state(ctx); err != nil {
		return out, err
	}
	out.Key, out.File = to.ID(), out.Pending
	if out.Place == "" {
		out.File = k.path(KeyFile)
	}
	Record(ctx, a.Store, a.Log, ByHand("data.rekey", to.ID(), fmt.Sprintf("%d sign-ins", out.Connections-out.Lost)))
	return out, nil
}

// target is the key to change to.
func (k *Keys) target(in RekeyRequest) (seal.Key, error) {
	if in.To == "" {
		if keys := k.Keys(); in.Old != "" && len(keys) > 1 { // the last one is Old
			return keys[0], nil
		}
		return seal.NewKey(), nil
	}
	key, err := seal.ReadFile(in.To)
	if errors.Is(err, fs.ErrNotExist) {
		key = seal.NewKey()
		err = seal.WriteFile(in.To, key)
	}
	return key, err
}

// sealed says whether the stored sign-ins can be opened.
func (a Admin) sealed(ctx context.Context, _ struct{}) (Sealed, error) { return a.Keys.state(ctx) }

// Sealed says whether the stored sign-ins can be opened. It changes nothing. It does not
// look into a database on a server that no process of this machine uses.
func (o Owner) Sealed(ctx context.Context) (s Sealed, err error) {
	owner := control.NewClient(o.Config.DataDir)
	defer owner.Close()
	if err := owner.Call(ctx, http.MethodPost, pathSealed, struct{}{}, &s); !errors.Is(err, control.ErrNoProcess) {
		return s, err
	}
	found, err := readKeys(o.Config)
	if err != nil {
		return s, err
	}
	path := filepath.Join(o.Config.DataDir, bolt.FileName)
	if _, err := os.Stat(path); onServer(o.Config) || err != nil {
		return s, nil
	}
	list, err := bolt.Connections(path)
	return sealedState(o.Config, list, seal.NewKeyring(nil, found.list()...), found.pending()), err
}
